/* wire-read.c: a message as a buffer, or a mark. Nothing in it is believed: counts against the
 * bytes that are left, places against the memory that is there, shapes against their block. */
#include <string.h>
#include "crc.h"
#include "hr-letter.h"
#include "wire-bytes.h"
#include "wire-private.h"

/* limits that no pipeline comes near; without them a message could make much of little */
#define MAX_FIELDS 1024
#define MAX_NAME 255
#define MAX_NEW_NAMES 4096 /* interned ones stay for the life of the process */
/* of texts that fields and lists name, each time they do */
#define MAX_TEXT (4 * (gsize)HR_WIRE_MAX_DESCRIPTION)

#define BLOCK_SIZE 24  /* bytes of a row of the table */
#define VALUE_SIZE 5   /* the least that a value takes */
#define BUFFER_SIZE 54 /* … and a member */

#define KNOWN_FLAGS (HR_BUFFER_HOLE | HR_BUFFER_BATCH | HR_BUFFER_BLOCK_END | HR_BUFFER_DROPPED)

/* ---- the header ---- */

static gboolean bad_header (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
bad_header (GError **error, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "the message's header: %s", what);
  return FALSE;
}

gboolean
hr_wire_read_header (const guint8 *bytes, guint64 max_total, HrWireHeader *header, GError **error)
{
  HrWireBytes from = { .bytes = bytes + 4, .size = HR_WIRE_HEADER_SIZE - 4 };
  guint16 version, kind;
  guint32 reserved, sum, right;

  if (memcmp (bytes, HR_WIRE_MAGIC, 4) != 0)
    return bad_header (error,
                       "it begins with %02x %02x %02x %02x, not with \"" HR_WIRE_MAGIC
                       "\": what writes there is no Headrace, or bytes were lost",
                       bytes[0], bytes[1], bytes[2], bytes[3]);
  version = hr_wire_get_u16 (&from);
  kind = hr_wire_get_u16 (&from);
  header->total = hr_wire_get_u64 (&from);
  header->description = hr_wire_get_u32 (&from);
  header->checksum = hr_wire_get_u32 (&from);
  reserved = hr_wire_get_u32 (&from);
  sum = hr_wire_get_u32 (&from);
  right = (guint32)hr_crc (HR_CRC32C, 0, bytes, HR_WIRE_HEADER_SIZE - sizeof sum);
  if (version != HR_WIRE_VERSION)
    return bad_header (error,
                       "it has version %u, this side reads %u; use the same Headrace on both",
                       version, HR_WIRE_VERSION);
  if (sum != right)
    return bad_header (error, "its checksum is %08x, that of its bytes %08x", sum, right);
  if (kind < HR_WIRE_BUFFER || kind >= HR_WIRE_N_KINDS || reserved != 0)
    return bad_header (error, "kind %u and reserved bytes %08x, expected 1 to %d and 0", kind,
                       reserved, HR_WIRE_N_KINDS - 1);
  header->kind = kind;
  if (header->description > HR_WIRE_MAX_DESCRIPTION)
    return bad_header (error, "a description of %u bytes, at most %u are taken",
                       header->description, HR_WIRE_MAX_DESCRIPTION);
  if (header->total > max_total)
    return bad_header (
        error, "a message of %" G_GUINT64_FORMAT " bytes, at most %" G_GUINT64_FORMAT " are taken",
        header->total, max_total);
  if (header->total != HR_WIRE_HEADER_SIZE + (guint64)header->description
      && (header->total <= hr_wire_payload_offset (header) || kind != HR_WIRE_BUFFER))
    return bad_header (error,
                       "%" G_GUINT64_FORMAT " bytes are no length of a message of kind %u with a "
                       "description of %u",
                       header->total, kind, header->description);
  return TRUE;
}

gboolean
hr_wire_check_description (const HrWireHeader *header, const guint8 *description, GError **error)
{
  guint32 right = (guint32)hr_crc (HR_CRC32C, 0, description, header->description);

  if (header->checksum == right)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
               "the message's description of %u bytes has the checksum %08x, expected %08x",
               header->description, right, header->checksum);
  return FALSE;
}

/* ---- blocks and values ---- */

typedef struct {
  HrFieldType type;
  gpointer value;
} Value;

static void
value_clear (gpointer data)
{
  Value *value = data;

  if (value->value == NULL)
    return;
  if (value->type == HR_FIELD_TENSOR)
    hr_tensor_unref (value->value);
  else if (value->type == HR_FIELD_JSON)
    json_node_unref (value->value);
  else
    g_free (value->value);
}

typedef struct {
  HrWireBytes from;
  HrMemory *payload;
  HrWireMap map;
  gpointer user;
  GPtrArray *blocks; /* HrMemory */
  GArray *values;    /* Value */
  gsize n_text;      /* bytes of texts that have been copied */
} Reader;

static void
keep_error (Reader *reader, GError *error)
{
  if (reader->from.error == NULL && error != NULL)
    hr_wire_fail (&reader->from, "%s", error->message);
  g_clear_error (&error);
}

static HrMemory *
get_block (Reader *reader, guint index)
{
  guint32 pool = hr_wire_get_u32 (&reader->from);
  guint32 reserved = hr_wire_get_u32 (&reader->from);
  guint64 offset = hr_wire_get_u64 (&reader->from), size = hr_wire_get_u64 (&reader->from);
  guint64 room = reader->payload != NULL ? reader->payload->size : 0;
  HrMemory *block;
  GError *error = NULL;

  if (reader->from.error != NULL)
    return NULL;
  if (reserved != 0)
    hr_wire_fail (&reader->from, "reserved bytes of block %u are %08x, expected 0", index,
                  reserved);
  else if (size == 0)
    return hr_memory_new (0);
  else if (pool != HR_WIRE_INLINE && reader->map == NULL)
    hr_wire_fail (&reader->from, "block %u lies in shared memory, and this connection has none",
                  index);
  else if (pool == HR_WIRE_INLINE && (offset > room || size > room - offset))
    hr_wire_fail (&reader->from,
                  "block %u: %" G_GUINT64_FORMAT " bytes from %" G_GUINT64_FORMAT
                  " on, the payload has %" G_GUINT64_FORMAT,
                  index, size, offset, room);
  if (reader->from.error != NULL)
    return NULL;
  if (pool == HR_WIRE_INLINE)
    return hr_memory_view (reader->payload, offset, size);
  block = reader->map (reader->user, index, pool, offset, size, &error);
  keep_error (reader, error);
  return block;
}

static HrTensor *
get_tensor (Reader *reader)
{
  HrWireBytes *from = &reader->from;
  HrDType dtype = { .code = hr_wire_get_u8 (from) };
  gint64 shape[HR_WIRE_MAX_DIMS], strides[HR_WIRE_MAX_DIMS];
  gboolean strided;
  guint n_dims;
  guint32 index;
  gsize first;
  HrMemory *block;
  HrTensor *tensor;

  dtype.bits = hr_wire_get_u8 (from);
  strided = hr_wire_get_u8 (from);
  dtype.lanes = hr_wire_get_u16 (from);
  n_dims = hr_wire_get_u16 (from);
  index = hr_wire_get_u32 (from);
  first = hr_wire_get_u64 (from);
  if (g_str_equal (hr_dtype_get_name (dtype), "unknown"))
    hr_wire_fail (from, "code %u, %u bits, %u lanes: no dtype of a tensor", dtype.code, dtype.bits,
                  dtype.lanes);
  else if (n_dims > HR_WIRE_MAX_DIMS)
    hr_wire_fail (from, "a tensor of %u dimensions, at most %d are taken", n_dims,
                  HR_WIRE_MAX_DIMS);
  else if (index >= reader->blocks->len)
    hr_wire_fail (from, "a tensor in block %u of %u", index, reader->blocks->len);
  for (guint i = 0; from->error == NULL && i < n_dims; i++)
    shape[i] = hr_wire_get_i64 (from);
  for (guint i = 0; from->error == NULL && strided && i < n_dims; i++)
    strides[i] = hr_wire_get_i64 (from);
  if (from->error != NULL)
    return NULL;
  block = reader->blocks->pdata[index];
  if (!hr_tensor_fits (block->size, first, dtype, n_dims, shape, strided ? strides : NULL)) {
    hr_wire_fail (from,
                  "a tensor of %u dimensions does not lie in its block of %" G_GSIZE_FORMAT
                  " bytes from %" G_GSIZE_FORMAT " on",
                  n_dims, block->size, first);
    return NULL;
  }
  if ((guintptr)(block->data + first) % (dtype.bits / 8) != 0) {
    hr_wire_fail (from, "a tensor of %s begins at an address that is no multiple of %u",
                  hr_dtype_get_name (dtype), dtype.bits / 8);
    return NULL;
  }
  hr_memory_ref (block);
  if (!strided)
    return hr_tensor_new (block, first, dtype, n_dims, shape);
  tensor = hr_tensor_new_strided (block, first, dtype, n_dims, shape, strides);
  if (hr_wire_find_span (tensor, &first) < hr_tensor_get_n_bytes (tensor)) {
    hr_wire_fail (from, "a tensor with elements that lie on each other");
    g_clear_pointer (&tensor, hr_tensor_unref);
  }
  return tensor;
}

static void
get_tables (Reader *reader)
{
  guint n = hr_wire_get_count (&reader->from, BLOCK_SIZE, "blocks");

  for (guint i = 0; reader->from.error == NULL && i < n; i++) {
    HrMemory *block = get_block (reader, i);

    if (block != NULL)
      g_ptr_array_add (reader->blocks, block);
  }
  n = hr_wire_get_count (&reader->from, VALUE_SIZE, "values");
  for (guint i = 0; reader->from.error == NULL && i < n; i++) {
    Value value = { HR_FIELD_STRING, NULL };
    guint8 kind = hr_wire_get_u8 (&reader->from);

    if (kind == HR_WIRE_VALUE_TENSOR)
      value = (Value){ HR_FIELD_TENSOR, get_tensor (reader) };
    else if (kind == HR_WIRE_VALUE_JSON)
      value = (Value){ HR_FIELD_JSON, hr_wire_get_json (&reader->from) };
    else if (kind == HR_WIRE_VALUE_STRING)
      value.value = hr_wire_get_text (&reader->from);
    else
      hr_wire_fail (&reader->from, "%u is no kind of value, expected 0 to 2", kind);
    if (value.value == NULL)
      hr_wire_fail (&reader->from, "value %u is missing", i);
    else
      g_array_append_val (reader->values, value);
  }
}

/* NULL after a mistake */
static const Value *
get_value (Reader *reader)
{
  guint32 index = hr_wire_get_u32 (&reader->from);
  const Value *value;

  if (reader->from.error == NULL && index >= reader->values->len)
    hr_wire_fail (&reader->from, "value %u of %u", index, reader->values->len);
  if (reader->from.error != NULL)
    return NULL;
  value = &g_array_index (reader->values, Value, index);
  if (value->type == HR_FIELD_STRING)
    reader->n_text += strlen (value->value);
  if (reader->n_text > MAX_TEXT)
    hr_wire_fail (&reader->from, "texts that are named again and again come to over %zu bytes",
                  MAX_TEXT);
  return reader->from.error == NULL ? value : NULL;
}

/* ---- buffers ---- */

static const char *
get_name (Reader *reader)
{
  static gint n_new;
  g_autofree char *name = hr_wire_get_text (&reader->from);

  if (reader->from.error != NULL)
    return NULL;
  if (name == NULL || *name == '\0' || strlen (name) > MAX_NAME) {
    hr_wire_fail (&reader->from, "a field's name must have 1 to %d bytes", MAX_NAME);
    return NULL;
  }
  if (g_quark_try_string (name) == 0 && g_atomic_int_add (&n_new, 1) >= MAX_NEW_NAMES) {
    hr_wire_fail (&reader->from, "more than %d different names of fields have come", MAX_NEW_NAMES);
    return NULL;
  }
  return g_intern_string (name);
}

static HrList *
get_list (Reader *reader)
{
  guint n = hr_wire_get_count (&reader->from, 4, "items of a list");
  HrList *list = hr_list_new (n);

  for (guint i = 0; i < n; i++) {
    const Value *item = get_value (reader);

    if (item == NULL) {
      hr_list_unref (list);
      return NULL;
    }
    if (item->type == HR_FIELD_TENSOR)
      hr_list_append_tensor (list, hr_tensor_ref (item->value));
    else if (item->type == HR_FIELD_JSON)
      hr_list_append_json (list, json_node_ref (item->value));
    else
      hr_list_append_string (list, item->value);
  }
  return list;
}

static void
get_field (Reader *reader, HrBuffer *buffer)
{
  const char *name = get_name (reader);
  guint8 is_list = hr_wire_get_u8 (&reader->from);
  const Value *value = NULL;
  HrList *list = NULL;

  if (is_list > 1)
    hr_wire_fail (&reader->from, "a field is a list (1) or not (0), not %u", is_list);
  if (is_list == 1)
    list = get_list (reader);
  else
    value = get_value (reader);
  if (reader->from.error != NULL) {
    g_clear_pointer (&list, hr_list_unref);
    return;
  }
  if (list != NULL)
    hr_buffer_set_list (buffer, name, list);
  else if (value->type == HR_FIELD_TENSOR)
    hr_buffer_set_tensor (buffer, name, hr_tensor_ref (value->value));
  else if (value->type == HR_FIELD_JSON)
    hr_buffer_set_json (buffer, name, json_node_ref (value->value));
  else
    hr_buffer_set_string (buffer, name, value->value);
}

static HrOrigin *
get_origin (HrWireBytes *from)
{
  guint8 present = hr_wire_get_u8 (from);
  g_autofree char *uri = NULL, *root = NULL, *id = NULL;
  g_autoptr (GRefString) shared_uri = NULL, shared_root = NULL;
  gint64 byte, length, line;
  HrOrigin *origin;

  if (present > 1)
    hr_wire_fail (from, "an origin is there (1) or not (0), not %u", present);
  if (present != 1)
    return NULL;
  uri = hr_wire_get_text (from);
  root = hr_wire_get_text (from);
  id = hr_wire_get_text (from);
  byte = hr_wire_get_i64 (from);
  length = hr_wire_get_i64 (from);
  line = hr_wire_get_i64 (from);
  if (from->error != NULL)
    return NULL;
  shared_uri = uri != NULL ? g_ref_string_new_intern (uri) : NULL;
  shared_root = root != NULL ? g_ref_string_new_intern (root) : NULL;
  origin = hr_origin_new (shared_uri, shared_root, byte, length, line);
  origin->id = g_steal_pointer (&id);
  return origin;
}

static GError *
get_error (HrWireBytes *from)
{
  const GQuark domains[] = { 0, HR_PARSE_ERROR, HR_CORE_ERROR, HR_RESOURCE_ERROR, HR_DATA_ERROR };
  guint8 domain = hr_wire_get_u8 (from);
  g_autofree char *message = NULL, *name = NULL, *what = NULL, *image = NULL;
  gint64 code, index;
  GError *error;

  if (domain >= G_N_ELEMENTS (domains))
    hr_wire_fail (from, "%u is no domain of an error, expected 0 to 4", domain);
  if (from->error != NULL || domain == HR_WIRE_ERROR_NONE)
    return NULL;
  code = hr_wire_get_i64 (from);
  message = hr_wire_get_text (from);
  name = hr_wire_get_text (from);
  what = hr_wire_get_text (from);
  image = hr_wire_get_text (from);
  index = hr_wire_get_i64 (from);
  if (message == NULL)
    hr_wire_fail (from, "an error without a message");
  if (from->error != NULL)
    return NULL;
  if (domain == HR_WIRE_ERROR_DATA && (code < 0 || code >= HR_N_DATA_ERRORS))
    code = HR_DATA_ERROR_OTHER;
  error = g_error_new_literal (domains[domain], (int)CLAMP (code, 0, G_MAXINT), message);
  if (what != NULL && domain == HR_WIRE_ERROR_DATA) {
    HrLetter *letter = hr_letter_new ();

    letter->name = g_steal_pointer (&name);
    letter->what = g_steal_pointer (&what);
    letter->image = g_steal_pointer (&image);
    letter->index = (gint)CLAMP (index, -1, G_MAXINT);
    letter->kind = (gint)code;
    letter->message = g_steal_pointer (&message);
    hr_letter_attach (error, letter);
  }
  return error;
}

static HrBuffer *get_buffer (Reader *reader, gboolean is_member);

/* what only the outermost has */
static void
get_members (Reader *reader, HrBuffer *buffer, gboolean is_member)
{
  guint n_members = hr_wire_get_count (&reader->from, BUFFER_SIZE, "members"), n_left_out;

  for (guint i = 0; reader->from.error == NULL && i < n_members && !is_member; i++) {
    HrBuffer *member = get_buffer (reader, TRUE);

    if (member != NULL)
      hr_buffer_add_member (buffer, member);
  }
  n_left_out = hr_wire_get_count (&reader->from, BUFFER_SIZE, "samples that were left out");
  if (is_member && n_members + n_left_out > 0)
    hr_wire_fail (&reader->from, "a member has members");
  if (n_left_out > 0 && !is_member)
    buffer->left_out = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  for (guint i = 0; reader->from.error == NULL && i < n_left_out; i++) {
    HrBuffer *hole = get_buffer (reader, TRUE);

    if (hole != NULL)
      g_ptr_array_add (buffer->left_out, hole);
  }
}

static HrBuffer *
get_buffer (Reader *reader, gboolean is_member)
{
  HrWireBytes *from = &reader->from;
  gint64 number = hr_wire_get_i64 (from), sample = hr_wire_get_i64 (from),
         place = hr_wire_get_i64 (from), row = hr_wire_get_i64 (from);
  guint epoch = hr_wire_get_u32 (from), flags = hr_wire_get_u32 (from), n_fields;
  HrBuffer *buffer = hr_buffer_new ();

  if (number < -1 || sample < -1 || place < -1 || row < G_MININT || row > G_MAXINT)
    hr_wire_fail (from, "the numbers of a buffer are none");
  if ((flags & ~(guint)KNOWN_FLAGS) != 0)
    hr_wire_fail (from, "flags %08x, at most %08x are known", flags, KNOWN_FLAGS);
  hr_buffer_set_origin (buffer, get_origin (from));
  buffer->error = get_error (from);
  n_fields = hr_wire_get_count (from, 9, "fields");
  if (n_fields > MAX_FIELDS)
    hr_wire_fail (from, "%u fields, at most %d are taken", n_fields, MAX_FIELDS);
  if (n_fields > 0 && (flags & HR_BUFFER_HOLE))
    hr_wire_fail (from, "a hole with %u fields", n_fields);
  for (guint i = 0; from->error == NULL && i < n_fields; i++)
    get_field (reader, buffer);
  get_members (reader, buffer, is_member);
  if (hr_buffer_get_n_members (buffer) > 0 && !(flags & HR_BUFFER_BATCH))
    hr_wire_fail (from, "members, but it is no batch");
  buffer->number = number;
  buffer->sample = sample;
  buffer->place = place;
  buffer->row = (gint)row;
  buffer->epoch = epoch;
  buffer->flags = flags;
  if (from->error != NULL)
    g_clear_pointer (&buffer, hr_buffer_unref);
  return buffer;
}

HrBuffer *
hr_wire_read_buffer (const guint8 *description, gsize size, HrMemory *payload, HrWireMap map,
                     gpointer user, HrWirePosition *position, GError **error)
{
  Reader reader = {
    .from = { .bytes = description, .size = size }, .payload = payload, .map = map, .user = user
  };
  HrBuffer *buffer;

  *position = (HrWirePosition){ .n_steps = -1 };
  reader.blocks = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_memory_unref);
  reader.values = g_array_new (FALSE, FALSE, sizeof (Value));
  g_array_set_clear_func (reader.values, value_clear);
  get_tables (&reader);
  buffer = reader.from.error == NULL ? get_buffer (&reader, FALSE) : NULL;
  if (buffer != NULL) {
    position->checkpoint = hr_wire_get_text (&reader.from);
    position->refusal = hr_wire_get_text (&reader.from);
    position->n_steps = hr_wire_get_i64 (&reader.from);
  }
  if (!hr_wire_finish (&reader.from, error)) {
    g_clear_pointer (&buffer, hr_buffer_unref);
    hr_wire_position_clear (position);
  }
  /* blocks that nothing was made of go back as well */
  g_array_unref (reader.values);
  g_ptr_array_unref (reader.blocks);
  return buffer;
}

/* ---- marks ---- */

gboolean
hr_wire_read_mark (HrWireKind kind, const guint8 *description, gsize size, HrWireMark *mark,
                   GError **error)
{
  HrWireBytes from = { .bytes = description, .size = size };

  *mark = (HrWireMark){ 0 };
  if (kind == HR_WIRE_EPOCH) {
    mark->epoch = hr_wire_get_u32 (&from);
  } else {
    mark->n_buffers = hr_wire_get_u64 (&from);
    mark->stats = hr_wire_get_text (&from);
  }
  if (kind == HR_WIRE_FAILED) {
    mark->why = get_error (&from);
    if (mark->why == NULL)
      hr_wire_fail (&from, "a failure that does not say why");
  }
  if (hr_wire_finish (&from, error))
    return TRUE;
  hr_wire_mark_clear (mark);
  return FALSE;
}

void
hr_wire_mark_clear (HrWireMark *mark)
{
  g_clear_error (&mark->why);
  g_clear_pointer (&mark->stats, g_free);
}
