/* columns.c: fields of samples become lists of a batch */
#include "columns.h"
#include <string.h>

/* a field of the batch while it is made */
typedef struct {
  const char *name;
  HrList *list;
  gint32 *ranges; /* of a field that is a list in the samples: n + 1 */
} Column;

static void
column_clear (gpointer data)
{
  Column *column = data;

  if (column->list != NULL)
    hr_list_unref (column->list);
  g_free (column->ranges);
}

/* the columns, in the order in which the samples name them */
static GArray *
find_columns (const HrBuffer *batch, guint n_samples, const char *const *left_out)
{
  GArray *columns = g_array_new (FALSE, TRUE, sizeof (Column));

  g_array_set_clear_func (columns, column_clear);
  for (guint m = 0; m < hr_buffer_get_n_members (batch); m++) {
    const HrBuffer *member = hr_buffer_get_member (batch, m);

    for (guint f = 0; f < hr_buffer_get_n_fields (member); f++) {
      HrFieldType type;
      const char *name = hr_buffer_get_field (member, f, &type);
      Column *column = NULL;

      if (left_out != NULL && g_strv_contains (left_out, name))
        continue;
      for (guint c = 0; c < columns->len && column == NULL; c++)
        if (strcmp (g_array_index (columns, Column, c).name, name) == 0)
          column = &g_array_index (columns, Column, c);
      if (column == NULL) {
        g_array_append_val (columns, ((Column){ name, hr_list_new (n_samples), NULL }));
        column = &g_array_index (columns, Column, columns->len - 1);
      }
      if (type == HR_FIELD_LIST && column->ranges == NULL)
        column->ranges = g_new0 (gint32, n_samples + 1);
    }
  }
  return columns;
}

/* one item a sample: what has none gets an empty one, so that item i is sample i's */
static void
append_item (HrList *list, const HrBuffer *member, const char *name)
{
  HrTensor *tensor = hr_buffer_get_tensor (member, name);
  JsonNode *json = hr_buffer_get_json (member, name);
  const char *string = hr_buffer_get_string (member, name);

  if (tensor != NULL)
    hr_list_append_tensor (list, hr_tensor_ref (tensor));
  else if (string != NULL)
    hr_list_append_string (list, string);
  else
    hr_list_append_json (list,
                         json != NULL ? json_node_ref (json) : json_node_new (JSON_NODE_NULL));
}

static void
append_sample (Column *column, const HrBuffer *member, guint index)
{
  const HrList *items = hr_buffer_get_list (member, column->name);

  if (items != NULL)
    hr_list_append_list (column->list, items);
  else if (column->ranges == NULL)
    append_item (column->list, member, column->name);
  if (column->ranges != NULL)
    column->ranges[index + 1] = (gint32)hr_list_get_length (column->list);
}

static HrTensor *
ranges_tensor (const gint32 *ranges, guint n_samples)
{
  gint64 shape = n_samples + 1;

  return hr_tensor_new (hr_memory_new_copy (ranges, (gsize)shape * sizeof (gint32)), 0, HR_INT32, 1,
                        &shape);
}

/* "image_cu" is for everything that has one item an image; lists of other lengths have their own */
static void
set_ranges (HrBuffer *batch, GArray *columns, guint n_samples)
{
  const gint32 *images = NULL;

  for (guint c = 0; c < columns->len; c++) {
    const Column *column = &g_array_index (columns, Column, c);

    if (column->ranges != NULL && strcmp (column->name, "images") == 0)
      images = column->ranges;
  }
  if (images != NULL)
    hr_buffer_set_tensor (batch, "image_cu", ranges_tensor (images, n_samples));
  for (guint c = 0; c < columns->len; c++) {
    const Column *column = &g_array_index (columns, Column, c);

    if (column->ranges != NULL
        && (images == NULL
            || memcmp (images, column->ranges, (n_samples + 1) * sizeof (gint32)) != 0)) {
      g_autofree char *name = g_strconcat (column->name, "_cu", NULL);

      hr_buffer_set_tensor (batch, g_intern_string (name),
                            ranges_tensor (column->ranges, n_samples));
    }
  }
}

void
hr_columns_set (HrBuffer *batch, gboolean holes, guint rows, const char *const *left_out)
{
  g_autoptr (HrBuffer) nothing = hr_buffer_new ();
  g_autoptr (GArray) columns = NULL;
  guint n_samples = holes ? rows : 0, index = 0;

  for (guint m = 0; !holes && m < hr_buffer_get_n_members (batch); m++)
    n_samples += !(hr_buffer_get_member (batch, m)->flags & HR_BUFFER_HOLE);
  if (n_samples == 0)
    return;
  columns = find_columns (batch, n_samples, left_out);
  for (guint m = 0; index < n_samples; m++) {
    const HrBuffer *member =
        m < hr_buffer_get_n_members (batch) ? hr_buffer_get_member (batch, m) : nothing;

    if (!holes && (member->flags & HR_BUFFER_HOLE))
      continue;
    for (guint c = 0; c < columns->len; c++)
      append_sample (&g_array_index (columns, Column, c), member, index);
    index++;
  }
  set_ranges (batch, columns, n_samples);
  for (guint c = 0; c < columns->len; c++) {
    Column *column = &g_array_index (columns, Column, c);

    hr_buffer_set_list (batch, column->name, g_steal_pointer (&column->list));
  }
}
