/* propose-writers.c: elements that write fields, each in its own way */
#include "propose-writers.h"
#include <string.h>

typedef struct {
  char unused;
} None;

static gboolean
write_field (HrBuffer *buffer, const char *field, gsize size, guint8 value, HrOut *out,
             GError **error)
{
  HrMemory *memory = hr_out_alloc (out, field, size, error);

  if (memory == NULL)
    return FALSE;
  memset (memory->data, value, size);
  hr_buffer_set_tensor (buffer, field, hr_tensor_new_bytes (memory));
  return TRUE;
}

static HrFlow
writes_create (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrOut *out, GError **error)
{
  guint8 *next = worker;
  g_autoptr (HrBuffer) buffer = hr_buffer_new ();

  if (*next == N_SAMPLES)
    return HR_FLOW_END;
  if (!write_field (buffer, "a", A_BYTES, *next, out, error)
      || !write_field (buffer, "b", B_BYTES, *next, out, error))
    return HR_FLOW_ERROR;
  (*next)++;
  hr_out_push (out, g_steal_pointer (&buffer));
  return HR_FLOW_MORE;
}

HR_ELEMENT (writes, None, .summary = "Writes a and b", .gives = "a, b", .worker_size = 1,
            .create = writes_create)

/* writes a field anew */
static gboolean
again (HrBuffer *in, const char *field, guint8 add, HrOut *out, GError **error)
{
  g_autoptr (HrBuffer) buffer = hr_buffer_make_writable (in);
  HrTensor *tensor = hr_buffer_get_tensor (buffer, field);

  if (!write_field (buffer, field, hr_tensor_get_n_bytes (tensor),
                    *(guint8 *)hr_tensor_get_data (tensor) + add, out, error))
    return FALSE;
  hr_out_push (out, g_steal_pointer (&buffer));
  return TRUE;
}

static gboolean
twice_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
               HrOut *out, GError **error)
{
  return again (in, "a", 1, out, error);
}

HR_ELEMENT (twice, None, .summary = "Writes a anew", .gives = "a", .parallel = HR_PARALLEL_YES,
            .process = twice_process)

static gboolean
odd_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
             HrOut *out, GError **error)
{
  if (*(guint8 *)hr_tensor_get_data (hr_buffer_get_tensor (in, "a")) % 2 == 1)
    return again (in, "a", 1, out, error);
  hr_out_push (out, in);
  return TRUE;
}

HR_ELEMENT (odd, None, .summary = "Writes a anew where it is odd", .gives = "a", .passes = "a",
            .parallel = HR_PARALLEL_YES, .process = odd_process)

static const char *const *
copies_rewrites_of (gconstpointer self G_GNUC_UNUSED)
{
  static const char *const names[] = { "a", NULL };

  return names;
}

HR_ELEMENT (copies, None, .summary = "Copies a", .rewrites_of = copies_rewrites_of,
            .parallel = HR_PARALLEL_YES, .process = twice_process)

/* "a" that comes is another field than the one that goes */
static gboolean
renames_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
                 HrOut *out, GError **error G_GNUC_UNUSED)
{
  HrBuffer *buffer = hr_buffer_make_writable (in);

  hr_buffer_set_tensor (buffer, "c", hr_tensor_ref (hr_buffer_get_tensor (buffer, "a")));
  hr_buffer_remove (buffer, "a");
  hr_out_push (out, buffer);
  return TRUE;
}

HR_ELEMENT (renames, None, .summary = "Takes a, gives c", .takes = "a", .gives = "c",
            .process = renames_process)

static gboolean
wraps_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
               HrOut *out, GError **error G_GNUC_UNUSED)
{
  HrBuffer *buffer = hr_buffer_make_writable (in);
  gpointer bytes = g_malloc0 (A_BYTES);

  hr_buffer_set_tensor (
      buffer, "a", hr_tensor_new_bytes (hr_memory_new_wrapped (bytes, A_BYTES, g_free, bytes)));
  hr_out_push (out, buffer);
  return TRUE;
}

HR_ELEMENT (wraps, None, .summary = "Bytes of its own", .gives = "a", .parallel = HR_PARALLEL_YES,
            .process = wraps_process)

static void
flies_submit (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrBuffer *in, HrTicket *ticket)
{
  hr_ticket_set_data (ticket, hr_buffer_make_writable (in));
  g_queue_push_tail (worker, ticket);
}

static gboolean
flies_poll (gconstpointer self G_GNUC_UNUSED, gpointer worker, int wake_fd, int timeout_ms,
            GError **error G_GNUC_UNUSED)
{
  HrTicket *ticket = g_queue_pop_head (worker);
  GPollFD fd = { wake_fd, G_IO_IN, 0 };

  if (ticket == NULL) {
    g_poll (&fd, 1, timeout_ms);
  } else {
    HrBuffer *buffer = hr_ticket_get_data (ticket);
    HrMemory *memory = hr_ticket_alloc (ticket, "a", A_BYTES, NULL);

    memset (memory->data, 7, A_BYTES);
    hr_buffer_set_tensor (buffer, "a", hr_tensor_new_bytes (memory));
    hr_ticket_done (ticket, buffer, NULL);
  }
  return TRUE;
}

static guint
flies_concurrency (gconstpointer self G_GNUC_UNUSED)
{
  return 4;
}

HR_ELEMENT (flies, None, .summary = "Fetches a", .gives = "a", .worker_size = sizeof (GQueue),
            .submit = flies_submit, .poll = flies_poll, .concurrency = flies_concurrency)

/* what tokenize gives, as far as batch wants it */
#define N_TOKENS 5

static HrFlow
tokens_create (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrOut *out, GError **error)
{
  const gint64 shape = N_TOKENS;
  guint8 *next = worker;
  HrMemory *memory;
  HrBuffer *buffer;

  memory = hr_out_alloc (out, "input_ids", N_TOKENS * sizeof (gint64), error);
  if (memory == NULL)
    return HR_FLOW_ERROR;
  memset (memory->data, *next, memory->size);
  buffer = hr_buffer_new ();
  hr_buffer_set_tensor (buffer, "input_ids", hr_tensor_new (memory, 0, HR_INT64, 1, &shape));
  hr_out_push (out, buffer);
  return ++*next == N_SAMPLES ? HR_FLOW_END : HR_FLOW_MORE;
}

HR_ELEMENT (tokens, None, .summary = "Tokens", .gives = "input_ids", .worker_size = 1,
            .create = tokens_create)

/* a BMP of one colour; every second one has its final size already */
static HrMemory *
bmp_new (guint32 side, guint8 value)
{
  guint32 row = (side * 3 + 3) / 4 * 4, size = row * side;
  HrMemory *memory = hr_memory_new (54 + size);
  const guint32 header[] = { 54 + size, 0, 54, 40, side, side, 1 | 24 << 16, 0, size, 0, 0, 0, 0 };

  memory->data[0] = 'B', memory->data[1] = 'M';
  memcpy (memory->data + 2, header, sizeof header);
  memset (memory->data + 54, value, size);
  return memory;
}

static HrFlow
bmps_create (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrOut *out,
             GError **error G_GNUC_UNUSED)
{
  guint8 *next = worker;
  HrBuffer *buffer = hr_buffer_new ();
  HrList *images = hr_list_new (2);

  for (guint i = 0; i < 2; i++)
    hr_list_append_tensor (images, hr_tensor_new_bytes (bmp_new (i == 0 ? 64 : 70, *next * 2 + i)));
  hr_buffer_set_list (buffer, "images", images);
  hr_out_push (out, buffer);
  return ++*next == N_SAMPLES ? HR_FLOW_END : HR_FLOW_MORE;
}

HR_ELEMENT (bmps, None, .summary = "Images", .gives = "images:encoded", .worker_size = 1,
            .create = bmps_create)
