/* test-wire.c: messages: what was written is read, and nothing that was not */
#include <string.h>
#include <sys/uio.h>
#include "crc.h"
#include "random-buffer.h"
#include "wire-bytes.h"
#include "wire-private.h"

#define N_ROUNDS 400

/* the message as it would come out of a socket; aligned as one is read */
static HrMemory *
flatten (const HrWireMessage *message)
{
  HrMemory *bytes = hr_memory_new (message->total);
  gsize at = message->head->len;

  memcpy (bytes->data, message->head->data, at);
  for (guint i = 0; i < message->parts->len; i++) {
    const struct iovec *part = &g_array_index (message->parts, struct iovec, i);

    memcpy (bytes->data + at, part->iov_base, part->iov_len);
    at += part->iov_len;
  }
  g_assert_cmpuint (at, ==, message->total);
  return bytes;
}

/* all that a reader does with such bytes */
static HrBuffer *
read_message (HrMemory *bytes, HrWireMap map, gpointer user, HrWirePosition *position,
              GError **error)
{
  HrWireHeader header;
  g_autoptr (HrMemory) payload = NULL;
  const guint8 *description = bytes->data + HR_WIRE_HEADER_SIZE;

  *position = (HrWirePosition){ .n_steps = -1 };
  if (!hr_wire_read_header (bytes->data, bytes->size, &header, error)
      || !hr_wire_check_description (&header, description, error))
    return NULL;
  g_assert_cmpint (header.kind, ==, HR_WIRE_BUFFER);
  if (header.total > HR_WIRE_HEADER_SIZE + (guint64)header.description)
    payload = hr_memory_view (bytes, hr_wire_payload_offset (&header),
                              header.total - hr_wire_payload_offset (&header));
  return hr_wire_read_buffer (description, header.description, payload, map, user, position, error);
}

static void
test_by_value (void)
{
  gint memories = hr_memory_live (), buffers = hr_buffer_live ();

  for (guint32 seed = 0; seed < N_ROUNDS; seed++) {
    g_autoptr (HrBuffer) buffer = random_buffer_new (seed), copy = NULL;
    g_auto (HrWirePosition) read = { .n_steps = -1 };
    HrWirePosition position = { (char *)"{\"checkpoint\": 1}", NULL, seed };
    g_autoptr (GError) error = NULL;
    g_autoptr (HrWireMessage) message =
        hr_wire_write_buffer (buffer, seed % 3 ? &position : NULL, NULL, NULL, &error);
    g_autoptr (HrMemory) bytes = NULL;

    g_assert_no_error (error);
    bytes = flatten (message);
    copy = read_message (bytes, NULL, NULL, &read, &error);
    g_assert_no_error (error);
    random_buffer_assert_equal (buffer, copy);
    g_assert_cmpstr (read.checkpoint, ==, seed % 3 ? position.checkpoint : NULL);
    g_assert_cmpint (read.n_steps, ==, seed % 3 ? (gint64)seed : -1);
  }
  g_assert_cmpint (hr_memory_live (), ==, memories);
  g_assert_cmpint (hr_buffer_live (), ==, buffers);
}

/* what shares a memory is sent once, and is a view of the message when it has come */
static void
test_once (void)
{
  gint64 shape[] = { 1000 };
  g_autoptr (HrBuffer) buffer = hr_buffer_new (), copy = NULL;
  HrTensor *tensor = hr_tensor_new (hr_memory_new (1000), 0, HR_UINT8, 1, shape);
  HrBuffer *member = hr_buffer_new ();
  HrList *list = hr_list_new (2);
  g_auto (HrWirePosition) position = { .n_steps = -1 };
  g_autoptr (HrWireMessage) message = NULL;
  g_autoptr (HrMemory) bytes = NULL;
  g_autoptr (GError) error = NULL;

  memset (hr_tensor_get_data (tensor), 7, 1000);
  hr_list_append_tensor (list, hr_tensor_ref (tensor));
  hr_list_append_tensor (
      list, hr_tensor_new (hr_memory_ref (hr_tensor_get_memory (tensor)), 0, HR_UINT8, 1, shape));
  hr_buffer_set_list (buffer, "images", list);
  hr_buffer_set_tensor (member, "image", tensor);
  hr_buffer_add_member (buffer, member);
  message = hr_wire_write_buffer (buffer, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (message->n_blocks, ==, 1);
  g_assert_cmpuint (message->n_inline, ==, 1024);
  bytes = flatten (message);
  copy = read_message (bytes, NULL, NULL, &position, &error);
  g_assert_no_error (error);
  tensor = hr_buffer_get_tensor (hr_buffer_get_member (copy, 0), "image");
  g_assert_true (tensor == hr_list_get_tensor (hr_buffer_get_list (copy, "images"), 0));
  g_assert_true ((const guint8 *)hr_tensor_get_data (tensor) > bytes->data);
  g_assert_true ((const guint8 *)hr_tensor_get_data (tensor) < bytes->data + bytes->size);
  g_assert_cmpuint ((guintptr)hr_tensor_get_data (tensor) % HR_WIRE_ALIGNMENT, ==, 0);
}

/* ---- by reference ---- */

#define POOL_SIZE (1 << 20)

typedef struct {
  HrMemory *pool;
  gsize used;
  guint n_blocks;
  guint n_mapped;
} Shared;

static gboolean
share (gpointer user, guint block, HrMemory *memory, const guint8 *data, gsize size,
       HrWirePlace *place, GError **error G_GNUC_UNUSED)
{
  Shared *shared = user;

  g_assert_cmpuint (block, >=, shared->n_blocks); /* empty ones are not asked for */
  g_assert_true (data >= memory->data && data + size <= memory->data + memory->size);
  shared->n_blocks = block + 1;
  *place = (HrWirePlace){ 3, shared->used };
  memcpy (shared->pool->data + shared->used, data, size);
  shared->used += (size + 63) / 64 * 64;
  g_assert_cmpuint (shared->used, <=, POOL_SIZE);
  return TRUE;
}

static HrMemory *
map (gpointer user, guint block G_GNUC_UNUSED, guint32 pool, guint64 offset, guint64 size,
     GError **error)
{
  Shared *shared = user;

  if (pool != 3 || offset > POOL_SIZE || size > POOL_SIZE - offset) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "no such pool, or outside");
    return NULL;
  }
  shared->n_mapped++;
  return hr_memory_view (shared->pool, offset, size);
}

static void
test_by_reference (void)
{
  g_autoptr (HrMemory) pool = hr_memory_new (POOL_SIZE);

  for (guint32 seed = 0; seed < N_ROUNDS; seed++) {
    Shared shared = { .pool = pool };
    g_autoptr (HrBuffer) buffer = random_buffer_new (seed), copy = NULL;
    g_auto (HrWirePosition) position = { .n_steps = -1 };
    g_autoptr (GError) error = NULL;
    g_autoptr (HrWireMessage) message = hr_wire_write_buffer (buffer, NULL, share, &shared, &error);
    g_autoptr (HrMemory) bytes = NULL;

    g_assert_no_error (error);
    g_assert_cmpuint (message->n_inline, ==, 0);
    bytes = flatten (message);
    copy = read_message (bytes, map, &shared, &position, &error);
    g_assert_no_error (error);
    random_buffer_assert_equal (buffer, copy);
    /* who has no pools takes no message that names them */
    if (shared.n_mapped > 0) {
      g_clear_pointer (&copy, hr_buffer_unref);
      hr_wire_position_clear (&position);
      g_assert_null (read_message (bytes, NULL, NULL, &position, &error));
      g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
      g_assert_nonnull (strstr (error->message, "this connection has none"));
    }
  }
}

/* ---- bytes that are not what they were ---- */

/* with checksums that are right: what comes is then somebody's evil will */
static void
seal (HrMemory *bytes)
{
  g_autoptr (GByteArray) header = g_byte_array_new ();
  guint32 size, sum;

  memcpy (&size, bytes->data + 16, sizeof size);
  size = GUINT32_FROM_LE (size);
  if (size <= bytes->size - HR_WIRE_HEADER_SIZE) {
    sum = GUINT32_TO_LE ((guint32)hr_crc (HR_CRC32C, 0, bytes->data + HR_WIRE_HEADER_SIZE, size));
    memcpy (bytes->data + 20, &sum, sizeof sum);
  }
  g_byte_array_append (header, bytes->data, HR_WIRE_HEADER_SIZE);
  hr_wire_seal (header);
  memcpy (bytes->data, header->data, HR_WIRE_HEADER_SIZE);
}

static void
mutate (GRand *rand, HrMemory *bytes, gsize from, gsize to)
{
  static const guint32 nasty[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0 };
  gsize at = from + g_rand_int (rand) % (to - from);

  if (g_rand_boolean (rand) || to - at < 4)
    bytes->data[at] ^= (guint8)(1u << g_rand_int_range (rand, 0, 8));
  else
    memcpy (bytes->data + at, &nasty[g_rand_int_range (rand, 0, G_N_ELEMENTS (nasty))], 4);
}

static gsize
description_end (const HrMemory *bytes)
{
  guint32 size;

  memcpy (&size, bytes->data + 16, sizeof size);
  return HR_WIRE_HEADER_SIZE + GUINT32_FROM_LE (size);
}

/* one bit that has changed is found by the checksums */
static void
test_flipped (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (guint32 seed = 0; seed < N_ROUNDS; seed++) {
    g_autoptr (HrBuffer) buffer = random_buffer_new (seed);
    g_auto (HrWirePosition) position = { .n_steps = -1 };
    g_autoptr (GError) error = NULL;
    g_autoptr (HrWireMessage) message = hr_wire_write_buffer (buffer, NULL, NULL, NULL, NULL);
    g_autoptr (HrMemory) bytes = flatten (message);
    gsize at = g_rand_int (rand) % description_end (bytes);

    bytes->data[at] ^= (guint8)(1u << g_rand_int_range (rand, 0, 8));
    g_assert_null (read_message (bytes, NULL, NULL, &position, &error));
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  }
}

/* with right checksums it is a buffer, or an error of one line, and nothing is left of it */
static void
test_mutated (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  g_autoptr (HrMemory) pool = hr_memory_new (POOL_SIZE);
  gint memories = hr_memory_live (), buffers = hr_buffer_live ();
  guint n_refused = 0;

  memset (pool->data, 0, POOL_SIZE);
  for (guint32 seed = 0; seed < 10 * N_ROUNDS; seed++) {
    Shared shared = { .pool = pool };
    gboolean by_value = g_rand_boolean (rand);
    g_autoptr (HrBuffer) buffer = random_buffer_new (seed % 97), copy = NULL;
    g_auto (HrWirePosition) position = { .n_steps = -1 };
    g_autoptr (GError) error = NULL;
    g_autoptr (HrWireMessage) message =
        hr_wire_write_buffer (buffer, NULL, by_value ? NULL : share, &shared, NULL);
    g_autoptr (HrMemory) bytes = flatten (message);

    for (gint n = g_rand_int_range (rand, 1, 4); n > 0; n--)
      mutate (rand, bytes, HR_WIRE_HEADER_SIZE, description_end (bytes));
    seal (bytes);
    copy = read_message (bytes, by_value ? NULL : map, &shared, &position, &error);
    g_assert_true ((copy == NULL) == (error != NULL));
    if (copy != NULL) {
      g_autofree char *digest = hr_buffer_get_digest (copy); /* all of it can be read */

      g_assert_nonnull (digest);
    } else {
      g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
      g_assert_null (strchr (error->message, '\n'));
      n_refused++;
    }
  }
  g_assert_cmpuint (n_refused, >, N_ROUNDS);
  g_assert_cmpint (hr_memory_live (), ==, memories);
  g_assert_cmpint (hr_buffer_live (), ==, buffers);
}

/* a description that ends anywhere is refused */
static void
test_cut (void)
{
  for (guint32 seed = 0; seed < 20; seed++) {
    g_autoptr (HrBuffer) buffer = random_buffer_new (seed);
    g_autoptr (HrWireMessage) message = hr_wire_write_buffer (buffer, NULL, NULL, NULL, NULL);
    g_autoptr (HrMemory) bytes = flatten (message);
    HrWireHeader header;
    g_autoptr (HrMemory) payload = NULL;

    g_assert_true (hr_wire_read_header (bytes->data, bytes->size, &header, NULL));
    if (header.total > hr_wire_payload_offset (&header))
      payload = hr_memory_view (bytes, hr_wire_payload_offset (&header),
                                header.total - hr_wire_payload_offset (&header));
    for (guint32 size = 0; size < header.description; size += 1 + size / 50) {
      g_auto (HrWirePosition) position = { .n_steps = -1 };
      g_autofree guint8 *cut = g_memdup2 (bytes->data + HR_WIRE_HEADER_SIZE, size);
      g_autoptr (GError) error = NULL;

      g_assert_null (hr_wire_read_buffer (cut, size, payload, NULL, NULL, &position, &error));
      g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
    }
  }
}

static void
test_headers (void)
{
  static const struct {
    gsize at;
    guint8 value;
    const char *says;
  } cases[] = { { 0, 'G', "what writes there is no Headrace" },
                { 4, 9, "it has version 9, this side reads 1" },
                { 6, 77, "kind 77" },
                { 6, 0, "kind 0" },
                { 24, 1, "reserved bytes 00000001" },
                { 19, 0xff, "at most 67108864 are taken" },
                { 15, 0x7f, "a message of 91" },
                { 8, 1, "no length of a message of kind 2" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (HrWireMessage) message = hr_wire_write_epoch (1);
    g_autoptr (HrMemory) bytes = flatten (message);
    g_autoptr (GError) error = NULL;
    HrWireHeader header;

    g_assert_true (hr_wire_read_header (bytes->data, 1000, &header, &error));
    bytes->data[cases[i].at] = cases[i].value;
    seal (bytes);
    g_assert_false (hr_wire_read_header (bytes->data, 1000, &header, &error));
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
    g_test_message ("%s", error->message);
    g_assert_nonnull (strstr (error->message, cases[i].says));
  }
}

static void
test_marks (void)
{
  g_autoptr (GError) why = g_error_new (HR_DATA_ERROR, HR_DATA_ERROR_OVERLONG, "too long");
  g_autoptr (HrWireMessage) epoch = hr_wire_write_epoch (41),
                            end = hr_wire_write_end (17, "{\"steps\":17}"),
                            failed = hr_wire_write_failed (3, why, NULL);
  HrWireMessage *all[] = { epoch, end, failed };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++) {
    g_autoptr (HrMemory) bytes = flatten (all[i]);
    g_auto (HrWireMark) mark = { 0 };
    g_autoptr (GError) error = NULL;
    HrWireHeader header;

    g_assert_true (hr_wire_read_header (bytes->data, bytes->size, &header, &error));
    g_assert_true (hr_wire_check_description (&header, bytes->data + HR_WIRE_HEADER_SIZE, &error));
    g_assert_cmpint (header.kind, ==, HR_WIRE_EPOCH + (gint)i);
    g_assert_true (hr_wire_read_mark (header.kind, bytes->data + HR_WIRE_HEADER_SIZE,
                                      header.description, &mark, &error));
    g_assert_cmpuint (mark.epoch, ==, i == 0 ? 41 : 0);
    g_assert_cmpuint (mark.n_buffers, ==, i == 1 ? 17 : i == 2 ? 3 : 0);
    g_assert_cmpstr (mark.stats, ==, i == 1 ? "{\"steps\":17}" : NULL);
    if (i == 2)
      g_assert_error (mark.why, HR_DATA_ERROR, HR_DATA_ERROR_OVERLONG);
    for (guint32 size = 0; size < header.description; size++) {
      g_auto (HrWireMark) none = { 0 };
      g_autoptr (GError) cut = NULL;

      g_assert_false (
          hr_wire_read_mark (header.kind, bytes->data + HR_WIRE_HEADER_SIZE, size, &none, &cut));
      g_assert_error (cut, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
    }
  }
}

/* what no message can hold is said by who writes */
static void
test_refused (void)
{
  gint64 shape[] = { 1000 }, strides[] = { 0 };
  g_autoptr (HrBuffer) buffer = hr_buffer_new ();
  g_autoptr (HrMemory) device = hr_memory_new_wrapped (NULL, 1000, NULL, NULL);
  g_autoptr (GError) error = NULL;

  hr_buffer_set_tensor (buffer, "x",
                        hr_tensor_new_strided (hr_memory_new (8), 0, HR_UINT8, 1, shape, strides));
  g_assert_null (hr_wire_write_buffer (buffer, NULL, NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "lie on each other"));
  g_clear_error (&error);
  hr_buffer_set_tensor (buffer, "x", hr_tensor_new_bytes (g_steal_pointer (&device)));
  g_assert_null (hr_wire_write_buffer (buffer, NULL, NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "memory that the CPU cannot read"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/wire/by-value", test_by_value);
  g_test_add_func ("/wire/once", test_once);
  g_test_add_func ("/wire/by-reference", test_by_reference);
  g_test_add_func ("/wire/flipped", test_flipped);
  g_test_add_func ("/wire/mutated", test_mutated);
  g_test_add_func ("/wire/cut", test_cut);
  g_test_add_func ("/wire/headers", test_headers);
  g_test_add_func ("/wire/marks", test_marks);
  g_test_add_func ("/wire/refused", test_refused);
  return g_test_run ();
}
