/* wire-write.c: a buffer, or a mark, as a message */
#include <string.h>
#include <sys/uio.h>
#include "crc.h"
#include "hr-letter.h"
#include "wire-bytes.h"
#include "wire-private.h"

static const guint8 zeros[HR_WIRE_ALIGNMENT];

typedef struct {
  GByteArray *blocks; /* the table of them, as it is written … */
  GByteArray *values; /* … and that of the values */
  guint n_blocks, n_values;
  GHashTable *known_blocks; /* Span: its number + 1 */
  GHashTable *known_values; /* its pointer: its number + 1 */
  GArray *parts;            /* struct iovec */
  guint64 n_inline;         /* bytes of them, filled up */
  HrWireShare share;
  gpointer user;
  GError *error; /* the first */
} Writer;

typedef struct {
  const guint8 *data;
  gsize size;
} Span;

static guint
hash_span (gconstpointer data)
{
  const Span *span = data;

  return g_direct_hash (span->data) ^ (guint)span->size;
}

static gboolean
equal_spans (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, sizeof (Span)) == 0;
}

/* ---- blocks of bytes ---- */

static HrWirePlace
put_inline (Writer *writer, const Span *span)
{
  HrWirePlace place = { HR_WIRE_INLINE, writer->n_inline };
  struct iovec bytes = { (void *)span->data, span->size };
  gsize rest = -span->size % HR_WIRE_ALIGNMENT;
  struct iovec fill = { (void *)zeros, rest };

  g_array_append_val (writer->parts, bytes);
  if (rest > 0)
    g_array_append_val (writer->parts, fill);
  writer->n_inline += span->size + rest;
  return place;
}

/* the same bytes are one block, however many tensors are views of them */
static guint
put_block (Writer *writer, HrMemory *memory, Span span)
{
  gpointer known = g_hash_table_lookup (writer->known_blocks, &span);
  HrWirePlace place = { HR_WIRE_INLINE, 0 };

  if (known != NULL)
    return GPOINTER_TO_UINT (known) - 1;
  if (span.size > 0 && writer->share == NULL)
    place = put_inline (writer, &span);
  else if (span.size > 0 && writer->error == NULL)
    writer->share (writer->user, writer->n_blocks, memory, span.data, span.size, &place,
                   &writer->error);
  if (span.size > 0 && place.pool == HR_WIRE_INLINE && writer->share != NULL)
    place = put_inline (writer, &span);
  hr_wire_put_u32 (writer->blocks, place.pool);
  hr_wire_put_u32 (writer->blocks, 0);
  hr_wire_put_u64 (writer->blocks, place.offset);
  hr_wire_put_u64 (writer->blocks, span.size);
  g_hash_table_insert (writer->known_blocks, g_memdup2 (&span, sizeof span),
                       GUINT_TO_POINTER (writer->n_blocks + 1));
  return writer->n_blocks++;
}

/* ---- values ---- */

gsize
hr_wire_find_span (const HrTensor *tensor, gsize *first)
{
  gssize item = hr_tensor_get_dtype (tensor).bits / 8;
  gssize low = 0, high = 0;

  *first = 0;
  if (hr_tensor_get_n_bytes (tensor) == 0)
    return 0;
  for (guint i = 0; i < hr_tensor_get_n_dims (tensor); i++) {
    gssize reach = (hr_tensor_get_dim (tensor, i) - 1) * hr_tensor_get_strides (tensor)[i] * item;

    *(reach < 0 ? &low : &high) += reach;
  }
  *first = (gsize)-low;
  return (gsize)(high - low + item);
}

/* what no reader takes */
static void
check_tensor (Writer *writer, const HrTensor *tensor, gsize span)
{
  const HrMemory *memory = hr_tensor_get_memory (tensor);
  const char *why = NULL;

  if (hr_tensor_get_n_bytes (tensor) > 0 && hr_tensor_get_data (tensor) == NULL)
    why = "in memory that the CPU cannot read; put what moves it there behind the other process";
  else if (hr_tensor_get_n_bytes (tensor) > span)
    why = "with elements that lie on each other";
  else if (hr_tensor_get_n_dims (tensor) > HR_WIRE_MAX_DIMS)
    why = "of more than 64 dimensions";
  if (why != NULL && writer->error == NULL)
    g_set_error (&writer->error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "a tensor of %s (%s) does not go into a message: it is one %s",
                 hr_tensor_get_dtype_name (tensor),
                 memory->allocator != NULL ? memory->allocator->name : "a part of memory", why);
}

static void
put_tensor (Writer *writer, const HrTensor *tensor)
{
  HrDType dtype = hr_tensor_get_dtype (tensor);
  guint n_dims = hr_tensor_get_n_dims (tensor);
  gboolean strided = !hr_tensor_is_contiguous (tensor);
  GByteArray *into = writer->values;
  gsize first, size = hr_wire_find_span (tensor, &first);
  Span span = { NULL, size };
  guint block;

  check_tensor (writer, tensor, size);
  if (writer->error != NULL)
    return;
  if (size > 0)
    span.data = (const guint8 *)hr_tensor_get_data (tensor) - first;
  block = put_block (writer, hr_tensor_get_memory (tensor), span);
  hr_wire_put_u8 (into, HR_WIRE_VALUE_TENSOR);
  hr_wire_put_u8 (into, dtype.code);
  hr_wire_put_u8 (into, dtype.bits);
  hr_wire_put_u8 (into, strided);
  hr_wire_put_u16 (into, dtype.lanes);
  hr_wire_put_u16 (into, (guint16)n_dims);
  hr_wire_put_u32 (into, block);
  hr_wire_put_u64 (into, first);
  for (guint i = 0; i < n_dims; i++)
    hr_wire_put_i64 (into, hr_tensor_get_dim (tensor, i));
  for (guint i = 0; strided && i < n_dims; i++)
    hr_wire_put_i64 (into, hr_tensor_get_strides (tensor)[i]);
}

/* what the batch and its members both have goes once */
static guint
put_value (Writer *writer, HrFieldType type, gconstpointer value)
{
  gpointer known = g_hash_table_lookup (writer->known_values, value);

  if (known != NULL)
    return GPOINTER_TO_UINT (known) - 1;
  if (type == HR_FIELD_TENSOR) {
    put_tensor (writer, value);
  } else if (type == HR_FIELD_JSON) {
    hr_wire_put_u8 (writer->values, HR_WIRE_VALUE_JSON);
    if (writer->error == NULL)
      hr_wire_put_json (writer->values, (JsonNode *)value, &writer->error);
  } else {
    hr_wire_put_u8 (writer->values, HR_WIRE_VALUE_STRING);
    hr_wire_put_text (writer->values, value);
  }
  g_hash_table_insert (writer->known_values, (gpointer)value,
                       GUINT_TO_POINTER (writer->n_values + 1));
  return writer->n_values++;
}

static void
put_list (Writer *writer, GByteArray *into, const HrList *list)
{
  guint n = hr_list_get_length (list);

  hr_wire_put_u32 (into, n);
  for (guint i = 0; i < n; i++) {
    HrFieldType type = hr_list_get_item_type (list, i);
    gconstpointer item = type == HR_FIELD_TENSOR ? (gconstpointer)hr_list_get_tensor (list, i)
                         : type == HR_FIELD_JSON ? (gconstpointer)hr_list_get_json (list, i)
                                                 : (gconstpointer)hr_list_get_string (list, i);

    hr_wire_put_u32 (into, put_value (writer, type, item));
  }
}

static void
put_field (Writer *writer, GByteArray *into, const HrBuffer *buffer, guint index)
{
  HrFieldType type;
  const char *name = hr_buffer_get_field (buffer, index, &type);
  gconstpointer value = type == HR_FIELD_TENSOR ? (gconstpointer)hr_buffer_get_tensor (buffer, name)
                        : type == HR_FIELD_JSON
                            ? (gconstpointer)hr_buffer_get_json (buffer, name)
                            : (gconstpointer)hr_buffer_get_string (buffer, name);

  hr_wire_put_text (into, name);
  hr_wire_put_u8 (into, type == HR_FIELD_LIST);
  if (type == HR_FIELD_LIST)
    put_list (writer, into, hr_buffer_get_list (buffer, name));
  else
    hr_wire_put_u32 (into, put_value (writer, type, value));
}

/* ---- where it came from, and why it is not there ---- */

static void
put_origin (GByteArray *into, const HrOrigin *origin)
{
  hr_wire_put_u8 (into, origin != NULL);
  if (origin == NULL)
    return;
  hr_wire_put_text (into, origin->uri);
  hr_wire_put_text (into, origin->root);
  hr_wire_put_text (into, origin->id);
  hr_wire_put_i64 (into, origin->byte);
  hr_wire_put_i64 (into, origin->length);
  hr_wire_put_i64 (into, origin->line);
}

static void
put_error (GByteArray *into, const GError *error)
{
  const HrLetter *letter = error != NULL ? hr_letter_of (error) : NULL;

  hr_wire_put_u8 (into, error == NULL                        ? HR_WIRE_ERROR_NONE
                        : error->domain == HR_PARSE_ERROR    ? HR_WIRE_ERROR_PARSE
                        : error->domain == HR_RESOURCE_ERROR ? HR_WIRE_ERROR_RESOURCE
                        : error->domain == HR_DATA_ERROR     ? HR_WIRE_ERROR_DATA
                                                             : HR_WIRE_ERROR_CORE);
  if (error == NULL)
    return;
  hr_wire_put_i64 (into, error->domain == HR_PARSE_ERROR || error->domain == HR_RESOURCE_ERROR
                                 || error->domain == HR_DATA_ERROR || error->domain == HR_CORE_ERROR
                             ? error->code
                             : HR_CORE_ERROR_FAILED);
  hr_wire_put_text (into, error->message);
  hr_wire_put_text (into, letter != NULL ? letter->name : NULL);
  hr_wire_put_text (into, letter != NULL ? letter->what : NULL);
  hr_wire_put_text (into, letter != NULL ? letter->image : NULL);
  hr_wire_put_i64 (into, letter != NULL ? letter->index : -1);
}

static void
put_buffer (Writer *writer, GByteArray *into, const HrBuffer *buffer)
{
  guint n_left_out = buffer->left_out != NULL ? buffer->left_out->len : 0;
  guint n_fields = hr_buffer_get_n_fields (buffer), n_members = hr_buffer_get_n_members (buffer);

  hr_wire_put_i64 (into, buffer->number);
  hr_wire_put_i64 (into, buffer->sample);
  hr_wire_put_i64 (into, buffer->place);
  hr_wire_put_i64 (into, buffer->row);
  hr_wire_put_u32 (into, buffer->epoch);
  hr_wire_put_u32 (into, buffer->flags);
  put_origin (into, hr_buffer_get_origin (buffer));
  put_error (into, hr_buffer_get_error (buffer));
  hr_wire_put_u32 (into, n_fields);
  for (guint i = 0; i < n_fields; i++)
    put_field (writer, into, buffer, i);
  hr_wire_put_u32 (into, n_members);
  for (guint i = 0; i < n_members; i++)
    put_buffer (writer, into, hr_buffer_get_member (buffer, i));
  hr_wire_put_u32 (into, n_left_out);
  for (guint i = 0; i < n_left_out; i++)
    put_buffer (writer, into, buffer->left_out->pdata[i]);
}

/* ---- messages ---- */

HrWireMessage *
hr_wire_message_new (HrWireKind kind, GByteArray *description)
{
  HrWireMessage *message = g_new0 (HrWireMessage, 1);

  message->head = g_byte_array_new ();
  message->parts = g_array_new (FALSE, FALSE, sizeof (struct iovec));
  message->total = HR_WIRE_HEADER_SIZE + (guint64)description->len;
  g_byte_array_append (message->head, (const guint8 *)HR_WIRE_MAGIC, 4);
  hr_wire_put_u16 (message->head, HR_WIRE_VERSION);
  hr_wire_put_u16 (message->head, (guint16)kind);
  hr_wire_put_u64 (message->head, message->total);
  hr_wire_put_u32 (message->head, description->len);
  hr_wire_put_u32 (message->head,
                   (guint32)hr_crc (HR_CRC32C, 0, description->data, description->len));
  hr_wire_put_u32 (message->head, 0);
  hr_wire_put_u32 (message->head, 0);
  g_byte_array_append (message->head, description->data, description->len);
  g_byte_array_unref (description);
  hr_wire_seal (message->head);
  return message;
}

/* @bytes begin with a header: it is complete now */
void
hr_wire_seal (GByteArray *bytes)
{
  guint32 sum =
      GUINT32_TO_LE ((guint32)hr_crc (HR_CRC32C, 0, bytes->data, HR_WIRE_HEADER_SIZE - sizeof sum));

  memcpy (bytes->data + HR_WIRE_HEADER_SIZE - sizeof sum, &sum, sizeof sum);
}

/* the payload that @writer has collected belongs to it */
static void
add_payload (HrWireMessage *message, Writer *writer)
{
  guint64 total;

  message->n_blocks = writer->n_blocks;
  message->n_inline = writer->n_inline;
  if (writer->n_inline == 0)
    return;
  g_byte_array_append (message->head, zeros, -message->head->len % HR_WIRE_ALIGNMENT);
  message->total = message->head->len + writer->n_inline;
  total = GUINT64_TO_LE (message->total);
  memcpy (message->head->data + 8, &total, sizeof total);
  hr_wire_seal (message->head);
  g_array_append_vals (message->parts, writer->parts->data, writer->parts->len);
}

static GByteArray *
describe (Writer *writer, const HrBuffer *buffer, const HrWirePosition *position)
{
  g_autoptr (GByteArray) body = g_byte_array_new ();
  GByteArray *description = g_byte_array_new ();

  put_buffer (writer, body, buffer);
  hr_wire_put_text (body, position != NULL ? position->checkpoint : NULL);
  hr_wire_put_text (body, position != NULL ? position->refusal : NULL);
  hr_wire_put_i64 (body, position != NULL ? position->n_steps : -1);
  hr_wire_put_u32 (description, writer->n_blocks);
  g_byte_array_append (description, writer->blocks->data, writer->blocks->len);
  hr_wire_put_u32 (description, writer->n_values);
  g_byte_array_append (description, writer->values->data, writer->values->len);
  g_byte_array_append (description, body->data, body->len);
  return description;
}

HrWireMessage *
hr_wire_write_buffer (const HrBuffer *buffer, const HrWirePosition *position, HrWireShare share,
                      gpointer user, GError **error)
{
  g_autoptr (GByteArray) blocks = g_byte_array_new (), values = g_byte_array_new ();
  g_autoptr (GHashTable) known_blocks =
      g_hash_table_new_full (hash_span, equal_spans, g_free, NULL);
  g_autoptr (GHashTable) known_values = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (struct iovec));
  Writer writer = { .blocks = blocks,
                    .values = values,
                    .known_blocks = known_blocks,
                    .known_values = known_values,
                    .parts = parts,
                    .share = share,
                    .user = user };
  g_autoptr (GByteArray) description = describe (&writer, buffer, position);
  HrWireMessage *message;

  if (writer.error == NULL && description->len > HR_WIRE_MAX_DESCRIPTION)
    g_set_error (&writer.error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "names, texts and JSON of one buffer take %u bytes in a message, at most %u go "
                 "into one; make smaller batches",
                 description->len, HR_WIRE_MAX_DESCRIPTION);
  if (writer.error != NULL) {
    g_propagate_error (error, writer.error);
    return NULL;
  }
  message = hr_wire_message_new (HR_WIRE_BUFFER, g_steal_pointer (&description));
  add_payload (message, &writer);
  return message;
}

HrWireMessage *
hr_wire_write_epoch (guint epoch)
{
  GByteArray *description = g_byte_array_new ();

  hr_wire_put_u32 (description, epoch);
  return hr_wire_message_new (HR_WIRE_EPOCH, description);
}

static GByteArray *
describe_end (guint64 n_buffers, const char *stats)
{
  GByteArray *description = g_byte_array_new ();

  hr_wire_put_u64 (description, n_buffers);
  hr_wire_put_text (description, stats);
  return description;
}

HrWireMessage *
hr_wire_write_end (guint64 n_buffers, const char *stats)
{
  return hr_wire_message_new (HR_WIRE_END, describe_end (n_buffers, stats));
}

HrWireMessage *
hr_wire_write_failed (guint64 n_buffers, const GError *why, const char *stats)
{
  GByteArray *description = describe_end (n_buffers, stats);

  put_error (description, why);
  return hr_wire_message_new (HR_WIRE_FAILED, description);
}

void
hr_wire_message_free (HrWireMessage *message)
{
  if (message == NULL)
    return;
  g_byte_array_unref (message->head);
  g_array_unref (message->parts);
  g_free (message);
}

void
hr_wire_position_clear (HrWirePosition *position)
{
  g_clear_pointer (&position->checkpoint, g_free);
  g_clear_pointer (&position->refusal, g_free);
  position->n_steps = -1;
}
