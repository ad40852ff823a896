/* fuzz-wire.c: any bytes as the description of a message, with a payload and a pool that are there,
 * as a header, and as marks */
#include <string.h>
#include <sys/uio.h>
#include "wire-private.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

#define ROOM 4096

static HrMemory *
new_room (void)
{
  HrMemory *room = hr_memory_new (ROOM);

  memset (room->data, 42, ROOM);
  return room;
}

static HrMemory *
map (gpointer user, guint block G_GNUC_UNUSED, guint32 pool, guint64 offset, guint64 size,
     GError **error)
{
  if (pool == 0 && offset <= ROOM && size <= ROOM - offset)
    return hr_memory_view (user, offset, size);
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "not there");
  return NULL;
}

/* it says why, in one line, or everything can be read, written, and is read again as the same */
static void
try_buffer (const guint8 *data, gsize size)
{
  g_autoptr (HrMemory) payload = new_room (), pool = new_room (), bytes = NULL;
  g_auto (HrWirePosition) position = { .n_steps = -1 }, again_position = { .n_steps = -1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (HrBuffer) buffer =
      hr_wire_read_buffer (data, size, payload, map, pool, &position, &error);
  g_autoptr (HrBuffer) again = NULL;
  g_autoptr (HrWireMessage) message = NULL;
  g_autofree char *first = NULL, *second = NULL;

  if (buffer == NULL) {
    g_assert_nonnull (error);
    return;
  }
  g_assert_no_error (error);
  message = hr_wire_write_buffer (buffer, &position, NULL, NULL, &error);
  g_assert_no_error (error);
  bytes = hr_memory_new (message->n_inline);
  for (gsize i = 0, at = 0; i < message->parts->len; i++) {
    const struct iovec *part = &g_array_index (message->parts, struct iovec, i);

    memcpy (bytes->data + at, part->iov_base, part->iov_len);
    at += part->iov_len;
  }
  again = hr_wire_read_buffer (message->head->data + HR_WIRE_HEADER_SIZE,
                               GUINT32_FROM_LE (*(guint32 *)(message->head->data + 16)), bytes,
                               NULL, NULL, &again_position, &error);
  g_assert_no_error (error);
  first = hr_buffer_get_digest (buffer);
  second = hr_buffer_get_digest (again);
  g_assert_cmpstr (first, ==, second);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  try_buffer (data, size);
  for (HrWireKind kind = HR_WIRE_EPOCH; kind <= HR_WIRE_FAILED; kind++) {
    g_auto (HrWireMark) mark = { 0 };

    hr_wire_read_mark (kind, data, size, &mark, NULL);
  }
  if (size >= HR_WIRE_HEADER_SIZE) {
    g_autoptr (GByteArray) header = g_byte_array_new ();
    HrWireHeader read;

    hr_wire_read_header (data, G_MAXUINT64, &read, NULL);
    g_byte_array_append (header, data, HR_WIRE_HEADER_SIZE);
    memcpy (header->data, HR_WIRE_MAGIC "\1", 5); /* or no byte behind it is looked at */
    header->data[5] = 0;
    hr_wire_seal (header);
    if (hr_wire_read_header (header->data, G_MAXUINT64, &read, NULL))
      g_assert_cmpuint (read.total, >=, HR_WIRE_HEADER_SIZE + (guint64)read.description);
  }
  return 0;
}
