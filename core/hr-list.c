/* hr-list.c: values, and lists of them */
#include "hr-field.h"
#include "hr-ref.h"

struct _HrList {
  gint ref_count;
  guint n_items;
  guint n_room;
  HrValue *items;
};

G_DEFINE_BOXED_TYPE (HrList, hr_list, hr_list_ref, hr_list_unref)

HrValue
hr_value_ref (const HrValue *value)
{
  switch (value->type) {
  case HR_FIELD_TENSOR:
    hr_tensor_ref (value->tensor);
    break;
  case HR_FIELD_LIST:
    hr_list_ref (value->list);
    break;
  case HR_FIELD_JSON:
    json_node_ref (value->json);
    break;
  case HR_FIELD_STRING:
    g_ref_string_acquire (value->string);
    break;
  }
  return *value;
}

void
hr_value_clear (HrValue *value)
{
  switch (value->type) {
  case HR_FIELD_TENSOR:
    hr_tensor_unref (value->tensor);
    break;
  case HR_FIELD_LIST:
    hr_list_unref (value->list);
    break;
  case HR_FIELD_JSON:
    json_node_unref (value->json);
    break;
  case HR_FIELD_STRING:
    g_ref_string_release (value->string);
    break;
  }
  value->pointer = NULL;
}

gsize
hr_value_get_n_bytes (const HrValue *value)
{
  gsize n_bytes = 0;

  if (value->type == HR_FIELD_TENSOR)
    return hr_tensor_get_n_bytes (value->tensor);
  if (value->type == HR_FIELD_LIST)
    for (guint i = 0; i < value->list->n_items; i++)
      n_bytes += hr_value_get_n_bytes (&value->list->items[i]);
  return n_bytes;
}

/**
 * hr_list_new:
 * @reserved: items to make room for; any number may be appended
 *
 * Lists are writable until they are shared: append before you give one away.
 *
 * Returns: (transfer full): an empty list
 */
HrList *
hr_list_new (guint reserved)
{
  HrList *list = g_new (HrList, 1);

  *list = (HrList){ 1, 0, reserved, reserved > 0 ? g_new (HrValue, reserved) : NULL };
  return list;
}

/**
 * hr_list_ref:
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @list
 */
HrList *
hr_list_ref (HrList *list)
{
  hr_ref_inc (&list->ref_count);
  return list;
}

/**
 * hr_list_unref:
 * @list: (transfer full): a list
 *
 * Gives a reference back; with the last one it dies, and gives back its items.
 */
void
hr_list_unref (HrList *list)
{
  if (list == NULL || !hr_ref_dec (&list->ref_count))
    return;
  for (guint i = 0; i < list->n_items; i++)
    hr_value_clear (&list->items[i]);
  g_free (list->items);
  g_free (list);
}

/**
 * hr_list_get_length:
 *
 * Counts its items.
 *
 * Returns: number of items
 */
guint
hr_list_get_length (const HrList *list)
{
  return list->n_items;
}

/**
 * hr_list_get_item_type:
 * @index: below hr_list_get_length()
 *
 * Tells what an item is.
 *
 * Returns: what item @index is
 */
HrFieldType
hr_list_get_item_type (const HrList *list, guint index)
{
  g_return_val_if_fail (index < list->n_items, HR_FIELD_TENSOR);
  return list->items[index].type;
}

static void
append (HrList *list, HrValue value)
{
  g_warn_if_fail (hr_ref_is_one (&list->ref_count));
  if (list->n_items == list->n_room) {
    list->n_room = MAX (4, list->n_room * 2);
    list->items = g_renew (HrValue, list->items, list->n_room);
  }
  list->items[list->n_items++] = value;
}

/**
 * hr_list_append_tensor:
 * @tensor: (transfer full): the item
 *
 * Appends an item.
 */
void
hr_list_append_tensor (HrList *list, HrTensor *tensor)
{
  append (list, (HrValue){ HR_FIELD_TENSOR, { tensor } });
}

/**
 * hr_list_append_string:
 * @string: the item, copied
 *
 * Appends an item.
 */
void
hr_list_append_string (HrList *list, const char *string)
{
  append (list, (HrValue){ HR_FIELD_STRING, { g_ref_string_new (string) } });
}

/**
 * hr_list_append_json:
 * @node: (transfer full): the item
 *
 * Appends an item.
 */
void
hr_list_append_json (HrList *list, JsonNode *node)
{
  append (list, (HrValue){ HR_FIELD_JSON, { node } });
}

/**
 * hr_list_append_list:
 * @other: (transfer none): a list whose items are appended; nothing is copied
 *
 * Appends all items of another list.
 */
void
hr_list_append_list (HrList *list, const HrList *other)
{
  for (guint i = 0; i < other->n_items; i++)
    append (list, hr_value_ref (&other->items[i]));
}

static gpointer
get (const HrList *list, guint index, HrFieldType type)
{
  g_return_val_if_fail (index < list->n_items, NULL);
  return list->items[index].type == type ? list->items[index].pointer : NULL;
}

/**
 * hr_list_get_tensor:
 * @index: below hr_list_get_length()
 *
 * Gives an item.
 *
 * Returns: (transfer none) (nullable): item @index if it is a tensor
 */
HrTensor *
hr_list_get_tensor (const HrList *list, guint index)
{
  return get (list, index, HR_FIELD_TENSOR);
}

/**
 * hr_list_get_string:
 * @index: below hr_list_get_length()
 *
 * Gives an item.
 *
 * Returns: (transfer none) (nullable): item @index if it is a string
 */
const char *
hr_list_get_string (const HrList *list, guint index)
{
  return get (list, index, HR_FIELD_STRING);
}

/**
 * hr_list_get_json:
 * @index: below hr_list_get_length()
 *
 * Gives an item.
 *
 * Returns: (transfer none) (nullable): item @index if it is a JSON node
 */
JsonNode *
hr_list_get_json (const HrList *list, guint index)
{
  return get (list, index, HR_FIELD_JSON);
}

/**
 * hr_list_set_tensor:
 * @index: an item that there is; it is replaced, whatever it was
 * @tensor: (transfer full): the new one
 *
 * Replaces an item.
 */
void
hr_list_set_tensor (HrList *list, guint index, HrTensor *tensor)
{
  if (index >= list->n_items) {
    g_critical ("hr_list_set_tensor: no item %u in a list of %u", index, list->n_items);
    hr_tensor_unref (tensor);
    return;
  }
  hr_value_clear (&list->items[index]);
  list->items[index] = (HrValue){ HR_FIELD_TENSOR, { tensor } };
}
