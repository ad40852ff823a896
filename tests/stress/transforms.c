/* transforms.c: pools, each, asynchronous elements and the cutter of the stress */
#include "stress.h"
#include <poll.h>
#include <string.h>

enum { SALT_DROP = 1, SALT_STOP, SALT_ESTIMATE, SALT_GROWN };

static Node *
node_of (gconstpointer self)
{
  return ((const Self *)self)->node;
}

/* ---- how many are at work ---- */

static void
note_most (gint *most, gint n)
{
  gint before = g_atomic_int_get (most);

  while (n > before && !g_atomic_int_compare_and_exchange (most, before, n))
    before = g_atomic_int_get (most);
}

static gboolean
takes_permit (const Node *node)
{
  return node->run->pipeline->cpus != NULL && !node->light && !node->sleeps;
}

/* written down once more, so that the core's own is checked */
gint64
stress_window (const Node *node)
{
  if (node->window > 0)
    return node->window;
  if (node->behind)
    return node->arg;
  return node->arg == 1 && node->kind != 'A' ? 128 : 8 * node->arg;
}

static void
check_window (const Node *node)
{
  HrLink *link = node->element->inputs->pdata[0];
  gint64 out;

  if (node->run->config->live != 0 || node->run->serial)
    return;
  hr_mutex_lock (&link->lock);
  out = link->popped - link->emitted;
  hr_mutex_unlock (&link->lock);
  if (out > stress_window (node))
    stress_die ("%" G_GINT64_FORMAT " tickets are out, and the window is smaller", out);
}

/* this thread is one of run->computing */
static _Thread_local gboolean counted;

/* A worker that computes. One of an element that is closed may do without a permit: not counted. */
static void
begin_computing (Node *node, HrOut *out)
{
  Run *run = node->run;
  gint n;

  if (!takes_permit (node) || hr_out_is_closed (out))
    return;
  n = g_atomic_int_add (&run->computing, 1) + 1;
  note_most (&run->most_computing, n);
  if (n > run->config->cpus && run->config->live == 0)
    stress_die ("%d workers compute at once", n);
  counted = TRUE;
}

static void
end_computing (Node *node)
{
  if (!counted)
    return;
  counted = FALSE;
  g_atomic_int_add (&node->run->computing, -1);
}

void
stress_enter (Node *node, HrOut *out)
{
  gint n = g_atomic_int_add (&node->inside, 1) + 1;

  g_atomic_int_inc (&stress_progress);
  note_most (&node->most_inside, n);
  begin_computing (node, out);
  check_window (node);
  /* a rendezvous: whoever comes first waits for the others */
  while (g_atomic_int_get (&node->most_inside) < node->together && !node->run->serial
         && !hr_out_is_closed (out))
    g_usleep (200);
}

void
stress_leave (Node *node)
{
  end_computing (node);
  g_atomic_int_add (&node->inside, -1);
  stress_note_choice (node);
}

static void
work (Node *node, HrOut *out, gint64 microseconds)
{
  if (microseconds <= 0)
    return;
  if (node->sleeps)
    hr_out_sleep (out, microseconds * 1000);
  else
    stress_compute (microseconds);
}

static gboolean
reserve (Node *node, HrOut *out, gint64 id, gsize size, HrTensor **tensor, GError **error)
{
  HrMemory *memory;

  /* in here the permit may be given back and taken again */
  end_computing (node);
  memory = hr_out_alloc (out, "p", size, error);
  begin_computing (node, out);
  if (memory == NULL)
    return FALSE;
  memset (memory->data, (int)(id * 7 + node->id), size);
  stress_note_bytes (node, id, size);
  *tensor = hr_tensor_new_bytes (memory);
  return TRUE;
}

static gboolean
must_stop (const Node *node, gint64 id)
{
  const Config *config = node->run->config;

  return config->stop == STOP_INSIDE && !node->run->serial
         && stress_hash (node, id, SALT_STOP) % (guint64)(config->n / 2 + 1) == 0;
}

static gboolean
fail (const Node *node, gint64 id, GError **error)
{
  if (stress_is_fatal (node, id)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "broken, as asked for");
    return TRUE;
  }
  if (stress_fails (node, id)) {
    hr_set_data_error (error, HR_DATA_ERROR_OTHER, "sample %" G_GINT64_FORMAT " is bad", id);
    return TRUE;
  }
  return FALSE;
}

/* ---- pool ---- */

static gboolean
pool_work (Node *node, HrBuffer *in, HrOut *out, GError **error)
{
  Value value = stress_get (in);
  gint64 time = stress_time (node, value.id);
  HrTensor *tensor = NULL;

  if (must_stop (node, value.id))
    hr_pipeline_stop (node->run->pipeline);
  work (node, out, time / 2);
  if (node->reserves
      && !reserve (node, out, value.id, stress_size (node, value.id, 0), &tensor, error)) {
    hr_buffer_unref (in);
    return FALSE;
  }
  work (node, out, time - time / 2);
  if (fail (node, value.id, error)) {
    g_clear_pointer (&tensor, hr_tensor_unref);
    hr_buffer_unref (in);
    return FALSE;
  }
  if (node->drops && stress_hash (node, value.id, SALT_DROP) % 4 == 0) {
    g_clear_pointer (&tensor, hr_tensor_unref);
    hr_buffer_unref (in);
    return TRUE;
  }
  in = hr_buffer_make_writable (in);
  value.hash = stress_mix (value.hash ^ ((guint64)node->id * 0x51));
  stress_set (in, value);
  if (tensor != NULL)
    hr_buffer_set_tensor (in, "p", tensor);
  hr_out_push (out, in);
  return TRUE;
}

static gboolean
pool_process (gconstpointer self, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
              GError **error)
{
  Node *node = node_of (self);
  gboolean ok;

  stress_check_choice (node, in, 0);
  stress_enter (node, out);
  ok = pool_work (node, in, out, error);
  stress_leave (node);
  return ok;
}

#define POOL(word, ...)                                                                            \
  {                                                                                                \
    .abi_size = sizeof (HrElementDef), .name = word, .summary = "Works on samples",                \
    .self_size = sizeof (Self), .parallel = HR_PARALLEL_YES, .process = pool_process, __VA_ARGS__  \
  }
static const HrElementDef pool_defs[] = {
  POOL ("pool"),
  POOL ("weighedpool", .cost = stress_cost),
  POOL ("waitingpool", .waits = TRUE),
  POOL ("weighedwaitingpool", .waits = TRUE, .cost = stress_cost),
  POOL ("lightpool", .light = TRUE),
  POOL ("weighedlightpool", .light = TRUE, .cost = stress_cost),
};

const HrElementDef *
stress_pool_def (const Node *node)
{
  return &pool_defs[(node->light ? 4 : node->sleeps ? 2 : 0) + (node->costs ? 1 : 0)];
}

/* ---- each ---- */

static gboolean
each_work (Node *node, const HrBuffer *sample, guint index, HrTensor **member, HrOut *out,
           GError **error)
{
  gint64 id = stress_get (sample).id * 8 + index;
  gint64 time = stress_time (node, id);
  HrTensor *tensor = NULL;
  guint64 hash;

  memcpy (&hash, hr_tensor_get_data (*member), sizeof hash);
  hash = stress_mix (hash ^ ((guint64)node->id * 0x53));
  work (node, out, time);
  if (node->reserves) {
    if (!reserve (node, out, id / 8, sizeof hash + stress_size (node, id, 0), &tensor, error))
      return FALSE;
    memcpy (hr_tensor_get_data (tensor), &hash, sizeof hash);
  } else {
    tensor = hr_tensor_new_bytes (hr_memory_new_copy (&hash, sizeof hash));
  }
  if (fail (node, id, error)) {
    /* several workers may have begun with the others by now */
    for (gint64 other = id + 1; node->reserves && other < id / 8 * 8 + 6; other++)
      stress_note_bytes (node, id / 8, sizeof hash + stress_size (node, other, 0));
    hr_tensor_unref (tensor);
    return FALSE;
  }
  hr_tensor_unref (*member);
  *member = tensor;
  return TRUE;
}

static gboolean
each_each (gconstpointer self, gpointer worker G_GNUC_UNUSED, const HrBuffer *sample, guint index,
           HrTensor **member, HrOut *out, GError **error)
{
  Node *node = node_of (self);
  gboolean ok;

  stress_check_choice (node, sample, index);
  stress_enter (node, out);
  ok = each_work (node, sample, index, member, out, error);
  stress_leave (node);
  return ok;
}

#define EACH(word, ...)                                                                            \
  {                                                                                                \
    .abi_size = sizeof (HrElementDef), .name = word, .summary = "Works on members",                \
    .self_size = sizeof (Self), .parallel = HR_PARALLEL_YES, .each = each_each, .each_field = "m", \
    __VA_ARGS__                                                                                    \
  }
static const HrElementDef each_defs[] = {
  EACH ("each"),
  EACH ("weighedeach", .cost = stress_cost),
  EACH ("waitingeach", .waits = TRUE),
  EACH ("weighedwaitingeach", .waits = TRUE, .cost = stress_cost),
};

const HrElementDef *
stress_each_def (const Node *node)
{
  return &each_defs[(node->sleeps ? 2 : 0) + (node->costs ? 1 : 0)];
}

/* ---- cutter: blocks to samples ---- */

static gboolean
cut (Node *node, HrBuffer *in, HrOut *out, GError **error)
{
  HrTensor *tensor = hr_buffer_get_tensor (in, "block");
  const gint64 *ids = hr_tensor_get_data (tensor);
  gsize n = hr_tensor_get_n_bytes (tensor) / sizeof *ids;
  gboolean ok = TRUE;

  if (must_stop (node, ids[0]))
    hr_pipeline_stop (node->run->pipeline);
  for (gsize i = 0; ok && i < n; i++) {
    GError *bad = NULL;

    work (node, out, stress_time (node, ids[i]));
    if (stress_fails (node, ids[i])) {
      hr_set_data_error (&bad, HR_DATA_ERROR_OTHER, "sample %" G_GINT64_FORMAT " is bad", ids[i]);
      ok = hr_out_reject (out, NULL, NULL, bad, error);
    } else {
      hr_out_push (out, stress_sample (node, ids[i]));
    }
  }
  hr_buffer_unref (in);
  return ok;
}

static gboolean
cutter_process (gconstpointer self, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
                GError **error)
{
  Node *node = node_of (self);
  gboolean ok;

  stress_enter (node, out);
  ok = cut (node, in, out, error);
  stress_leave (node);
  return ok;
}

#define CUTTER(word, ...)                                                                          \
  {                                                                                                \
    .abi_size = sizeof (HrElementDef), .name = word, .summary = "Cuts blocks",                     \
    .self_size = sizeof (Self), .parallel = HR_PARALLEL_YES, .stamps = TRUE,                       \
    .process = cutter_process, __VA_ARGS__                                                         \
  }
const HrElementDef stress_cutter_def = CUTTER ("cutter");
const HrElementDef stress_light_cutter_def = CUTTER ("lightcutter", .light = TRUE);

/* ---- asynchronous ---- */

typedef struct {
  HrTicket *ticket;
  HrBuffer *buffer;
  gint64 id, due;
} Transfer;

typedef struct {
  GQueue waiting; /* submitted, no connection yet */
  GQueue open;
  GQueue growing; /* stand still until they get more bytes */
} AsyncState;

static gsize
estimate_of (const Node *node, gint64 id)
{
  return 1 + stress_size (node, id, 0) * (stress_hash (node, id, SALT_ESTIMATE) % 200) / 100;
}

static guint64
async_estimate (gconstpointer self, gpointer worker G_GNUC_UNUSED, const HrBuffer *in)
{
  Node *node = node_of (self);
  gint64 id = stress_get (in).id;

  if (!node->reserves)
    return 0;
  stress_note_bytes (node, id, MAX (estimate_of (node, id), stress_size (node, id, 0)));
  return estimate_of (node, id);
}

static void
async_submit (gconstpointer self, gpointer worker, HrBuffer *in, HrTicket *ticket)
{
  Node *node = node_of (self);
  AsyncState *state = worker;
  Transfer *transfer = g_new0 (Transfer, 1);
  guint n;

  g_atomic_int_inc (&stress_progress);
  transfer->ticket = ticket;
  transfer->buffer = in;
  transfer->id = stress_get (in).id;
  hr_ticket_set_data (ticket, transfer);
  g_queue_push_tail (&state->waiting, transfer);
  n = state->waiting.length + state->open.length + state->growing.length;
  if (node->run->config->live == 0 && !node->run->serial && n > stress_window (node))
    stress_die ("%u tickets are out, and the window is smaller", n);
  if (must_stop (node, transfer->id))
    hr_pipeline_stop (node->run->pipeline);
}

static void
complete (Node *node, Transfer *transfer)
{
  HrBuffer *buffer = hr_buffer_make_writable (g_steal_pointer (&transfer->buffer));
  Value value = stress_get (buffer);

  value.hash = stress_mix (value.hash ^ ((guint64)node->id * 0x57));
  stress_set (buffer, value);
  if (node->reserves) {
    gsize size = stress_size (node, value.id, 0);
    HrMemory *memory = hr_ticket_alloc (transfer->ticket, "p", size, NULL);

    memset (memory->data, (int)value.id, size);
    hr_buffer_set_tensor (buffer, "p", hr_tensor_new_bytes (memory));
  }
  hr_ticket_done (transfer->ticket, buffer, NULL);
  g_free (transfer);
}

/* its last byte has come */
static void
arrive (Node *node, AsyncState *state, Transfer *transfer)
{
  GError *error = NULL;

  g_atomic_int_inc (&stress_progress);
  g_queue_remove (&state->open, transfer);
  g_atomic_int_add (&node->inside, -1);
  if (fail (node, transfer->id, &error)) {
    hr_ticket_done (transfer->ticket, transfer->buffer, error);
    g_free (transfer);
  } else if (node->reserves
             && !hr_ticket_reserve (transfer->ticket, stress_size (node, transfer->id, 0))) {
    g_queue_push_tail (&state->growing, transfer);
  } else {
    complete (node, transfer);
  }
}

static void
async_resume (gconstpointer self, gpointer worker, HrTicket *ticket)
{
  AsyncState *state = worker;
  Transfer *transfer = hr_ticket_get_data (ticket);

  g_atomic_int_inc (&stress_progress);
  g_queue_remove (&state->growing, transfer);
  complete (node_of (self), transfer);
}

static void
open_some (Node *node, AsyncState *state)
{
  while (state->open.length < node->arg && state->waiting.length > 0) {
    Transfer *transfer = g_queue_pop_head (&state->waiting);

    transfer->due = hr_now () + stress_time (node, transfer->id) * 1000;
    g_queue_push_tail (&state->open, transfer);
    note_most (&node->most_inside, g_atomic_int_add (&node->inside, 1) + 1);
  }
}

static gboolean
may_arrive (Node *node)
{
  return node->run->serial || g_atomic_int_get (&node->most_inside) >= node->together;
}

static gboolean
async_poll (gconstpointer self, gpointer worker, int wake_fd, int timeout_ms G_GNUC_UNUSED,
            GError **error G_GNUC_UNUSED)
{
  Node *node = node_of (self);
  AsyncState *state = worker;
  struct pollfd fd = { wake_fd, POLLIN, 0 };
  gint64 due = G_MAXINT64, now = hr_now ();

  open_some (node, state);
  if (may_arrive (node))
    for (GList *l = state->open.head; l != NULL; l = l->next)
      due = MIN (due, ((Transfer *)l->data)->due);
  if (due == G_MAXINT64) {
    poll (&fd, 1, -1);
  } else {
    struct timespec time = { MAX (due - now, 0) / 1000000000, MAX (due - now, 0) % 1000000000 };

    ppoll (&fd, 1, &time, NULL);
  }
  now = hr_now ();
  for (GList *l = state->open.head, *next; l != NULL && may_arrive (node); l = next) {
    Transfer *transfer = l->data;

    next = l->next;
    if (transfer->due <= now)
      arrive (node, state, transfer);
  }
  open_some (node, state);
  return TRUE;
}

static guint
async_concurrency (gconstpointer self)
{
  return (guint)node_of (self)->arg;
}

static void
transfer_free (gpointer data)
{
  Transfer *transfer = data;

  hr_buffer_unref (transfer->buffer);
  g_free (transfer);
}

static void
async_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  AsyncState *state = worker;

  g_queue_clear_full (&state->waiting, transfer_free);
  g_queue_clear_full (&state->open, transfer_free);
  g_queue_clear_full (&state->growing, transfer_free);
}

const HrElementDef stress_async_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "async",
  .summary = "Many in flight",
  .self_size = sizeof (Self),
  .worker_size = sizeof (AsyncState),
  .estimate = async_estimate,
  .submit = async_submit,
  .resume = async_resume,
  .poll = async_poll,
  .concurrency = async_concurrency,
  .worker_stop = async_stop,
};
