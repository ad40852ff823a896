/* hr-buffer.c: what flows: one sample, later one batch of them */
#include "hr-buffer.h"
#include <string.h>
#include "hr-field.h"
#include "hr-foreign.h"
#include "hr-ref.h"
#include "hr-reservation.h"

typedef struct _HrField Field;

#define N_INLINE 6

/* most samples have few fields: they lie in the buffer's own block */
typedef struct {
  HrBuffer buffer;
  Field fields[N_INLINE];
} Block;

static HrLive live;

G_DEFINE_BOXED_TYPE (HrBuffer, hr_buffer, hr_buffer_ref, hr_buffer_unref)

/**
 * hr_buffer_new:
 *
 * Makes an empty buffer.
 *
 * Returns: (transfer full): a buffer without fields; the core stamps its numbers when it is pushed
 */
HrBuffer *
hr_buffer_new (void)
{
  Block *block = g_malloc (sizeof (Block));

  block->buffer =
      (HrBuffer){ .ref_count = 1, .place = -1, .n_room = N_INLINE, .fields = block->fields };
  hr_live_add (&live, 1);
  return &block->buffer;
}

/**
 * hr_buffer_ref:
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @buffer, which is shared and read-only now
 */
HrBuffer *
hr_buffer_ref (HrBuffer *buffer)
{
  hr_ref_inc (&buffer->ref_count);
  return buffer;
}

static void
clear_fields (HrBuffer *buffer)
{
  for (guint i = 0; i < buffer->n_fields; i++)
    hr_value_clear (&buffer->fields[i].value);
  buffer->n_fields = 0;
}

/**
 * hr_buffer_unref:
 * @buffer: (transfer full): a buffer
 *
 * Gives a reference back; with the last one it dies.
 */
void
hr_buffer_unref (HrBuffer *buffer)
{
  if (buffer == NULL || !hr_ref_dec (&buffer->ref_count))
    return;
  clear_fields (buffer);
  if (buffer->fields != ((Block *)buffer)->fields)
    g_free (buffer->fields);
  hr_origin_unref (buffer->origin);
  hr_rows_unref (buffer->rows);
  if (buffer->members != NULL)
    g_ptr_array_unref (buffer->members);
  hr_reservation_unref (buffer->reservation);
  g_clear_error (&buffer->error);
  g_clear_pointer (&buffer->left_out, g_ptr_array_unref);
  g_clear_pointer (&buffer->foreign, hr_foreign_unref);
  g_free (buffer);
  hr_live_add (&live, -1);
}

/**
 * hr_buffer_is_writable:
 *
 * Tells whether it may be changed.
 *
 * Returns: %TRUE if you are its only owner
 */
gboolean
hr_buffer_is_writable (HrBuffer *buffer)
{
  return hr_ref_is_one (&buffer->ref_count);
}

static HrBuffer *
copy_header (const HrBuffer *buffer)
{
  HrBuffer *copy = hr_buffer_new ();

  hr_buffer_stand_for (copy, buffer);
  copy->flags = buffer->flags;
  copy->origin = buffer->origin != NULL ? hr_origin_ref (buffer->origin) : NULL;
  copy->error = buffer->error != NULL ? g_error_copy (buffer->error) : NULL;
  copy->left_out = buffer->left_out != NULL ? g_ptr_array_ref (buffer->left_out) : NULL;
  copy->foreign = buffer->foreign != NULL ? hr_foreign_ref (buffer->foreign) : NULL;
  return copy;
}

static HrBuffer *
copy_buffer (const HrBuffer *buffer)
{
  HrBuffer *copy = copy_header (buffer);

  hr_buffer_copy_fields (copy, buffer);
  copy->rows = buffer->rows != NULL ? hr_rows_ref (buffer->rows) : NULL;
  if (buffer->reservation != NULL)
    copy->reservation = hr_reservation_ref (buffer->reservation);
  if (buffer->members != NULL) {
    copy->members = g_ptr_array_new_full (buffer->members->len, (GDestroyNotify)hr_buffer_unref);
    for (guint i = 0; i < buffer->members->len; i++)
      g_ptr_array_add (copy->members, hr_buffer_ref (g_ptr_array_index (buffer->members, i)));
  }
  return copy;
}

/**
 * hr_buffer_make_writable:
 * @buffer: (transfer full): a buffer
 *
 * Gives you a buffer that you may change. Never copies pixels.
 *
 * Returns: (transfer full): @buffer when you are its only owner, else a copy of its header and its
 *   list of fields. The data is shared, and stays read-only.
 */
HrBuffer *
hr_buffer_make_writable (HrBuffer *buffer)
{
  HrBuffer *copy;

  if (hr_buffer_is_writable (buffer))
    return buffer;
  copy = copy_buffer (buffer);
  hr_buffer_unref (buffer);
  return copy;
}

/**
 * hr_buffer_set_rows: (skip)
 * @rows: (transfer full) (nullable): which lines are samples
 *
 * Says which lines of its field "lines" are samples.
 */
void
hr_buffer_set_rows (HrBuffer *buffer, HrRows *rows)
{
  g_warn_if_fail (hr_buffer_is_writable (buffer));
  hr_rows_unref (buffer->rows);
  buffer->rows = rows;
}

/**
 * hr_buffer_get_rows: (skip)
 *
 * Tells which lines of its field "lines" are samples.
 *
 * Returns: (transfer none) (nullable): which lines are samples; %NULL: all that are not blank
 */
HrRows *
hr_buffer_get_rows (const HrBuffer *buffer)
{
  return buffer->rows;
}

/**
 * hr_buffer_set_origin:
 * @origin: (transfer full) (nullable): where it came from
 *
 * Says which line of which object it was.
 */
void
hr_buffer_set_origin (HrBuffer *buffer, HrOrigin *origin)
{
  g_warn_if_fail (hr_buffer_is_writable (buffer));
  hr_origin_unref (buffer->origin);
  buffer->origin = origin;
}

/**
 * hr_buffer_get_origin:
 *
 * Tells which line of which object it was.
 *
 * Returns: (transfer none) (nullable): where it came from
 */
HrOrigin *
hr_buffer_get_origin (const HrBuffer *buffer)
{
  return buffer->origin;
}

/* Few fields: a look at all pointers, then at all names, since a literal of another plugin is
 * another pointer. */
static Field *
find_field (const HrBuffer *buffer, const char *name)
{
  for (guint i = 0; i < buffer->n_fields; i++)
    if (buffer->fields[i].name == name)
      return &buffer->fields[i];
  for (guint i = 0; i < buffer->n_fields; i++)
    if (strcmp (buffer->fields[i].name, name) == 0)
      return &buffer->fields[i];
  return NULL;
}

static void
grow (HrBuffer *buffer, guint n_room)
{
  Field *fields = g_new (Field, n_room);

  memcpy (fields, buffer->fields, buffer->n_fields * sizeof (Field));
  if (buffer->fields != ((Block *)buffer)->fields)
    g_free (buffer->fields);
  buffer->fields = fields;
  buffer->n_room = n_room;
}

static void
set_value (HrBuffer *buffer, const char *name, HrValue value)
{
  Field *field;

  if (!hr_buffer_is_writable (buffer)) {
    g_critical ("field \"%s\" is set in a shared buffer", name);
    hr_value_clear (&value);
    return;
  }
  field = find_field (buffer, name);
  if (field != NULL) {
    hr_value_clear (&field->value);
  } else {
    if (buffer->n_fields == buffer->n_room)
      grow (buffer, buffer->n_room * 2);
    field = &buffer->fields[buffer->n_fields++];
    field->name = name;
  }
  field->value = value;
}

static gpointer
get_value (const HrBuffer *buffer, const char *name, HrFieldType type)
{
  const Field *field = find_field (buffer, name);

  return field != NULL && field->value.type == type ? field->value.pointer : NULL;
}

/**
 * hr_buffer_set_tensor:
 * @name: interned: a literal or g_intern_string()
 * @tensor: (transfer full): the value
 *
 * Sets a field, whatever was there of that name.
 */
void
hr_buffer_set_tensor (HrBuffer *buffer, const char *name, HrTensor *tensor)
{
  set_value (buffer, name, (HrValue){ HR_FIELD_TENSOR, { tensor } });
}

/**
 * hr_buffer_set_list:
 * @name: interned: a literal or g_intern_string()
 * @list: (transfer full): the value
 *
 * Sets a field, whatever was there of that name.
 */
void
hr_buffer_set_list (HrBuffer *buffer, const char *name, HrList *list)
{
  set_value (buffer, name, (HrValue){ HR_FIELD_LIST, { list } });
}

/**
 * hr_buffer_set_json:
 * @name: interned: a literal or g_intern_string()
 * @node: (transfer full): the value
 *
 * Sets a field, whatever was there of that name.
 */
void
hr_buffer_set_json (HrBuffer *buffer, const char *name, JsonNode *node)
{
  set_value (buffer, name, (HrValue){ HR_FIELD_JSON, { node } });
}

/**
 * hr_buffer_set_string:
 * @name: interned: a literal or g_intern_string()
 * @value: the value, copied
 *
 * Sets a field, whatever was there of that name.
 */
void
hr_buffer_set_string (HrBuffer *buffer, const char *name, const char *value)
{
  set_value (buffer, name, (HrValue){ HR_FIELD_STRING, { g_ref_string_new (value) } });
}

/**
 * hr_buffer_remove:
 * @name: a field; none of that name is fine
 *
 * Takes a field away.
 */
void
hr_buffer_remove (HrBuffer *buffer, const char *name)
{
  Field *field = find_field (buffer, name);

  g_return_if_fail (hr_buffer_is_writable (buffer));
  if (field == NULL)
    return;
  hr_value_clear (&field->value);
  buffer->n_fields--;
  memmove (field, field + 1, (gsize)(buffer->fields + buffer->n_fields - field) * sizeof (Field));
}

/**
 * hr_buffer_get_tensor:
 * @name: the field's name
 *
 * Finds a field.
 *
 * Returns: (transfer none) (nullable): the field, if there is one of that name and it is a tensor
 */
HrTensor *
hr_buffer_get_tensor (const HrBuffer *buffer, const char *name)
{
  return get_value (buffer, name, HR_FIELD_TENSOR);
}

/**
 * hr_buffer_get_list:
 * @name: the field's name
 *
 * Finds a field.
 *
 * Returns: (transfer none) (nullable): the field, if there is one of that name and it is a list
 */
HrList *
hr_buffer_get_list (const HrBuffer *buffer, const char *name)
{
  return get_value (buffer, name, HR_FIELD_LIST);
}

/**
 * hr_buffer_get_json:
 * @name: the field's name
 *
 * Finds a field.
 *
 * Returns: (transfer none) (nullable): the field, if there is one of that name and it is JSON
 */
JsonNode *
hr_buffer_get_json (const HrBuffer *buffer, const char *name)
{
  return get_value (buffer, name, HR_FIELD_JSON);
}

/**
 * hr_buffer_get_string:
 * @name: the field's name
 *
 * Finds a field.
 *
 * Returns: (transfer none) (nullable): the field, if there is one of that name and it is a string
 */
const char *
hr_buffer_get_string (const HrBuffer *buffer, const char *name)
{
  return get_value (buffer, name, HR_FIELD_STRING);
}

/**
 * hr_buffer_get_n_fields:
 *
 * Counts its fields.
 *
 * Returns: number of fields
 */
guint
hr_buffer_get_n_fields (const HrBuffer *buffer)
{
  return buffer->n_fields;
}

/**
 * hr_buffer_get_field:
 * @index: below hr_buffer_get_n_fields()
 * @type: (out) (optional): its type
 *
 * Goes through the fields.
 *
 * Returns: (transfer none): the field's name; fields keep the order in which they were first set
 */
const char *
hr_buffer_get_field (const HrBuffer *buffer, guint index, HrFieldType *type)
{
  g_return_val_if_fail (index < buffer->n_fields, NULL);
  if (type != NULL)
    *type = buffer->fields[index].value.type;
  return buffer->fields[index].name;
}

/**
 * hr_buffer_copy_fields:
 * @from: (transfer none): a buffer whose fields @buffer gets too; the data is shared
 *
 * Adds the fields of another buffer, which take the place of those of the same name.
 */
void
hr_buffer_copy_fields (HrBuffer *buffer, const HrBuffer *from)
{
  if (buffer->n_fields + from->n_fields > buffer->n_room)
    grow (buffer, buffer->n_fields + from->n_fields);
  for (guint i = 0; i < from->n_fields; i++)
    set_value (buffer, from->fields[i].name, hr_value_ref (&from->fields[i].value));
}

/**
 * hr_buffer_add_member:
 * @member: (transfer full): a sample, or a hole
 *
 * Turns @buffer into a batch, if it is none yet, and appends @member. The batch takes epoch and
 * place of its first and the lowest sample number of all.
 */
void
hr_buffer_add_member (HrBuffer *buffer, HrBuffer *member)
{
  g_warn_if_fail (hr_buffer_is_writable (buffer));
  if (buffer->members == NULL) {
    buffer->members = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
    buffer->epoch = member->epoch;
    buffer->place = member->place;
    buffer->sample = member->sample;
  }
  buffer->flags |= HR_BUFFER_BATCH;
  buffer->sample = MIN (buffer->sample, member->sample);
  g_ptr_array_add (buffer->members, member);
}

/**
 * hr_buffer_get_n_members:
 *
 * Counts the samples of a batch.
 *
 * Returns: number of samples of a batch, holes too; 0 if it is none
 */
guint
hr_buffer_get_n_members (const HrBuffer *buffer)
{
  return buffer->members != NULL ? buffer->members->len : 0;
}

/**
 * hr_buffer_get_member:
 * @index: below hr_buffer_get_n_members()
 *
 * Goes through the samples of a batch.
 *
 * Returns: (transfer none): that sample of a batch
 */
HrBuffer *
hr_buffer_get_member (const HrBuffer *buffer, guint index)
{
  g_return_val_if_fail (index < hr_buffer_get_n_members (buffer), NULL);
  return g_ptr_array_index (buffer->members, index);
}

/**
 * hr_buffer_get_n_bytes:
 *
 * Adds up its tensors. Members are not followed.
 *
 * Returns: bytes of all tensors in its fields and lists, each counted once a field
 */
gsize
hr_buffer_get_n_bytes (const HrBuffer *buffer)
{
  gsize n_bytes = 0;

  for (guint i = 0; i < buffer->n_fields; i++)
    n_bytes += hr_value_get_n_bytes (&buffer->fields[i].value);
  return n_bytes;
}

void
hr_buffer_lose_member (HrBuffer *batch, guint index, GError *error)
{
  HrBuffer **member = (HrBuffer **)&g_ptr_array_index (batch->members, index);
  HrBuffer *hole = copy_header (*member);

  hr_buffer_unref (*member);
  hr_buffer_make_hole (hole, error);
  *member = hole;
}

/* A batch that fails loses all its samples: each stays as a hole, so that they can be counted and
 * named, and none keeps its data. */
static void
make_members_holes (HrBuffer *buffer, const GError *error)
{
  for (guint i = 0; i < buffer->members->len; i++)
    if (!(hr_buffer_get_member (buffer, i)->flags & HR_BUFFER_HOLE))
      hr_buffer_lose_member (buffer, i, error != NULL ? g_error_copy (error) : NULL);
}

void
hr_buffer_make_hole (HrBuffer *buffer, GError *error)
{
  g_warn_if_fail (hr_buffer_is_writable (buffer));
  clear_fields (buffer);
  g_clear_pointer (&buffer->reservation, hr_reservation_unref);
  buffer->flags |= HR_BUFFER_HOLE;
  if (buffer->members != NULL)
    make_members_holes (buffer, error);
  g_clear_error (&buffer->error);
  buffer->error = error;
}

/**
 * hr_buffer_get_error:
 *
 * Tells why a sample was skipped or left out; members of a delivered batch tell it too.
 *
 * Returns: (transfer none) (nullable): why it is a hole
 */
const GError *
hr_buffer_get_error (const HrBuffer *buffer)
{
  return buffer->error;
}

/**
 * hr_buffer_live:
 *
 * Counts the buffers of the process.
 *
 * Returns: number of buffers that exist, for leak checks in tests
 */
gint
hr_buffer_live (void)
{
  return hr_live_sum (&live);
}
