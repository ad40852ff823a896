/* small-elements.c: the elements */
#include "small.h"
#include <poll.h>
#include <string.h>

typedef struct {
  SmallHook hook;
  gpointer data;
  gint64 n; /* of a source, a batch, a prefetchqueue, a join */
  gint64 warm_up;
  guint64 flights; /* of an asynchronous one */
  SmallSink *sink;
} Self;

HrBuffer *
small_buffer (gint64 value)
{
  HrBuffer *buffer = hr_buffer_new ();

  hr_buffer_set_tensor (buffer, "x",
                        hr_tensor_new_bytes (hr_memory_new_copy (&value, sizeof value)));
  return buffer;
}

gint64
small_value (const HrBuffer *buffer)
{
  HrTensor *tensor = hr_buffer_get_tensor (buffer, "x");
  gint64 value;

  g_assert_nonnull (tensor);
  memcpy (&value, hr_tensor_get_data (tensor), sizeof value);
  return value;
}

static gboolean
call_hook (const Self *self, gint64 value, HrOut *out, GError **error)
{
  return self->hook == NULL || self->hook (self->data, value, out, error);
}

/* ---- sources ---- */

static HrFlow
source_create (gconstpointer data, gpointer worker, HrOut *out, GError **error)
{
  const Self *self = data;
  gint64 *next = worker;

  if (*next == self->n)
    return HR_FLOW_END;
  if (!call_hook (self, *next, out, error))
    return HR_FLOW_ERROR;
  hr_out_push (out, small_buffer ((*next)++));
  return HR_FLOW_MORE;
}

static const HrElementDef source_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "source",
  .summary = "Counts",
  .self_size = sizeof (Self),
  .worker_size = sizeof (gint64),
  .light = TRUE,
  .create = source_create,
};
static const HrElementDef push_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "push",
  .summary = "What the program pushes",
  .self_size = sizeof (Self),
  .pushable = TRUE,
};

/* ---- transforms ---- */

static gboolean
pass_process (gconstpointer data, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
              GError **error)
{
  const Self *self = data;

  if (!call_hook (self, hr_buffer_get_n_members (in) > 0 ? in->sample : small_value (in), out,
                  error)) {
    hr_buffer_unref (in);
    return FALSE;
  }
  hr_out_push (out, in);
  return TRUE;
}

#define PASS(word, ...)                                                                            \
  {                                                                                                \
    .abi_size = sizeof (HrElementDef), .name = word, .summary = "Passes on",                       \
    .self_size = sizeof (Self), .parallel = HR_PARALLEL_YES, .process = pass_process, __VA_ARGS__  \
  }
static const HrElementDef light_def = PASS ("light", .light = TRUE);
static const HrElementDef compute_def = PASS ("compute");
static const HrElementDef waits_def = PASS ("waits", .waits = TRUE);

static gboolean
filter_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
                HrOut *out, GError **error G_GNUC_UNUSED)
{
  if (small_value (in) % 2 == 0)
    hr_out_push (out, in);
  else
    hr_buffer_unref (in);
  return TRUE;
}

static const HrElementDef filter_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "filter",
  .summary = "Drops odd ones",
  .self_size = sizeof (Self),
  .light = TRUE,
  .process = filter_process,
};

static gboolean
each_prepare (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *sample,
              HrOut *out G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  gint64 n = small_value (sample) % 4;
  HrList *list = hr_list_new ((guint)n);

  for (gint64 i = 0; i < n; i++)
    hr_list_append_tensor (list, hr_tensor_new_bytes (hr_memory_new_copy (&i, sizeof i)));
  hr_buffer_set_list (sample, "list", list);
  return TRUE;
}

static gboolean
each_each (gconstpointer self, gpointer worker G_GNUC_UNUSED, const HrBuffer *sample, guint index,
           HrTensor **member, HrOut *out, GError **error)
{
  gint64 value;

  memcpy (&value, hr_tensor_get_data (*member), sizeof value);
  g_assert_cmpint (value, ==, index);
  if (!call_hook (self, small_value (sample), out, error))
    return FALSE;
  value++;
  hr_tensor_unref (*member);
  *member = hr_tensor_new_bytes (hr_memory_new_copy (&value, sizeof value));
  return TRUE;
}

static const HrElementDef each_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "each",
  .summary = "Adds one",
  .self_size = sizeof (Self),
  .parallel = HR_PARALLEL_YES,
  .light = TRUE,
  .prepare = each_prepare,
  .each = each_each,
  .each_field = "list",
};

/* ---- with costs ---- */

guint64
small_cost (gint64 value, gint64 modulus)
{
  return (guint64)(value * 37 % modulus);
}

gint64
small_member (gint64 value, guint index)
{
  return value * 4 + index;
}

static guint64
weighed_cost (gconstpointer self, const HrBuffer *in, guint index G_GNUC_UNUSED)
{
  return small_cost (small_value (in), ((const Self *)self)->n);
}

static const HrElementDef weighed_def = PASS ("weighed", .waits = TRUE, .cost = weighed_cost);
static const HrElementDef weighed_compute_def = PASS ("weighedcompute", .cost = weighed_cost);

static gboolean
lists_process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  in = hr_buffer_make_writable (in);
  each_prepare (self, worker, in, out, error);
  hr_out_push (out, in);
  return TRUE;
}

static const HrElementDef lists_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "lists",
  .summary = "Adds lists",
  .self_size = sizeof (Self),
  .light = TRUE,
  .process = lists_process,
};

static guint64
weighed_each_cost (gconstpointer self, const HrBuffer *in, guint index)
{
  return small_cost (small_member (small_value (in), index), ((const Self *)self)->n);
}

static gboolean
weighed_each_each (gconstpointer self, gpointer worker G_GNUC_UNUSED, const HrBuffer *sample,
                   guint index, HrTensor **member G_GNUC_UNUSED, HrOut *out, GError **error)
{
  return call_hook (self, small_member (small_value (sample), index), out, error);
}

static const HrElementDef weighed_each_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "weighedeach",
  .summary = "Looks at members",
  .self_size = sizeof (Self),
  .parallel = HR_PARALLEL_YES,
  .waits = TRUE,
  .each = weighed_each_each,
  .each_field = "list",
  .cost = weighed_each_cost,
};

/* ---- asynchronous: every second ticket is done before the one before it ---- */

typedef struct {
  HrTicket *ticket;
  HrBuffer *buffer;
} Flying;

typedef struct {
  GQueue flying;
} AsyncState;

static void
async_submit (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrBuffer *in, HrTicket *ticket)
{
  AsyncState *state = worker;
  Flying *flying = g_new (Flying, 1);

  *flying = (Flying){ ticket, in };
  if (state->flying.length % 2 == 1)
    g_queue_push_head (&state->flying, flying);
  else
    g_queue_push_tail (&state->flying, flying);
}

static gboolean
async_poll (gconstpointer self G_GNUC_UNUSED, gpointer worker, int wake_fd,
            int timeout_ms G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  AsyncState *state = worker;
  struct pollfd fd = { wake_fd, POLLIN, 0 };
  struct timespec soon = { 0, 20000 };
  Flying *flying;

  ppoll (&fd, 1, state->flying.length > 0 ? &soon : NULL, NULL);
  flying = g_queue_pop_head (&state->flying);
  if (flying != NULL) {
    hr_ticket_done (flying->ticket, flying->buffer, NULL);
    g_free (flying);
  }
  return TRUE;
}

static void
flying_free (gpointer data)
{
  Flying *flying = data;

  hr_buffer_unref (flying->buffer);
  g_free (flying);
}

static void
async_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  g_queue_clear_full (&((AsyncState *)worker)->flying, flying_free);
}

static guint
async_concurrency (gconstpointer self)
{
  return (guint)hr_live_uint (&((const Self *)self)->flights);
}

static const HrProp async_props[] = { HR_PROP_UINT (Self, flights, 1, 64, 4,
                                                    "Transfers at once: its window is 8 times that",
                                                    .flags = HR_PROP_LIVE | HR_PROP_AUTO),
                                      HR_PROP_END };

static const HrElementDef async_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "async",
  .summary = "Several in flight",
  .self_size = sizeof (Self),
  .props = async_props,
  .worker_size = sizeof (AsyncState),
  .submit = async_submit,
  .poll = async_poll,
  .concurrency = async_concurrency,
  .worker_stop = async_stop,
};

/* ---- batch and prefetchqueue ---- */

static gboolean
batch_process (gconstpointer data, gpointer worker, HrBuffer *in, HrOut *out,
               GError **error G_GNUC_UNUSED)
{
  HrBuffer **open = worker;

  if (*open == NULL)
    *open = hr_buffer_new ();
  hr_buffer_add_member (*open, in);
  if (hr_buffer_get_n_members (*open) == ((const Self *)data)->n)
    hr_out_push (out, g_steal_pointer (open));
  return TRUE;
}

static gboolean
batch_finish (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrOut *out,
              GError **error G_GNUC_UNUSED)
{
  HrBuffer **open = worker;

  if (*open != NULL)
    hr_out_push (out, g_steal_pointer (open));
  return TRUE;
}

static void
batch_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  g_clear_pointer ((HrBuffer **)worker, hr_buffer_unref);
}

static guint
batch_group (gconstpointer self)
{
  return (guint)((const Self *)self)->n;
}

static const HrElementDef batch_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "batch",
  .summary = "Several in one",
  .self_size = sizeof (Self),
  .worker_size = sizeof (HrBuffer *),
  .light = TRUE,
  .takes_holes = TRUE,
  .process = batch_process,
  .finish = batch_finish,
  .worker_stop = batch_stop,
  .group = batch_group,
};

static void
prefetch_lookahead (gconstpointer data, guint *steps, guint64 *bytes, guint *warm_up)
{
  const Self *self = data;

  *steps = (guint)self->n;
  *bytes = 0;
  *warm_up = (guint)self->warm_up;
}

static const HrElementDef prefetch_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "prefetch",
  .summary = "Look-ahead",
  .self_size = sizeof (Self),
  .light = TRUE,
  .process = pass_process,
  .lookahead = prefetch_lookahead,
};

/* ---- tee and join ---- */

static guint64
tee_route (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED,
           const HrBuffer *in G_GNUC_UNUSED, guint n_out)
{
  return (1u << n_out) - 1;
}

static const HrElementDef tee_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "tee",
  .summary = "To all",
  .self_size = sizeof (Self),
  .light = TRUE,
  .route = tee_route,
};

static guint64
pick_route (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, const HrBuffer *in,
            guint n_out)
{
  return small_value (in) % 2 == 0 ? (1u << n_out) - 1 : 0;
}

static const HrElementDef pick_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "pick",
  .summary = "Even ones to all, odd ones to nobody",
  .self_size = sizeof (Self),
  .light = TRUE,
  .route = pick_route,
};

static HrJoin
join_join (gconstpointer self)
{
  return (HrJoin)((const Self *)self)->n;
}

static HrBuffer *
join_merge (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer **in,
            guint n_in, GError **error G_GNUC_UNUSED)
{
  for (guint i = 1; i < n_in; i++) {
    g_assert_cmpint (small_value (in[0]), ==, small_value (in[i]));
    hr_buffer_unref (in[i]);
  }
  return in[0];
}

static const HrElementDef join_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "join",
  .summary = "To one",
  .self_size = sizeof (Self),
  .light = TRUE,
  .join = join_join,
  .merge = join_merge,
};

/* ---- sinks ---- */

static void
collect (SmallSink *sink, const HrBuffer *buffer)
{
  gint64 value;

  if (buffer->flags & HR_BUFFER_HOLE) {
    sink->n_holes++;
  } else if (hr_buffer_get_n_members (buffer) > 0) {
    for (guint i = 0; i < hr_buffer_get_n_members (buffer); i++)
      collect (sink, hr_buffer_get_member (buffer, i));
  } else {
    value = small_value (buffer);
    g_array_append_val (sink->values, value);
  }
}

static gboolean
sink_consume (gconstpointer data, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
              GError **error)
{
  SmallSink *sink = ((const Self *)data)->sink;
  gint64 last;

  hr_mutex_lock (&sink->lock);
  sink->n_buffers++;
  collect (sink, in);
  last = sink->values->len > 0 ? g_array_index (sink->values, gint64, sink->values->len - 1) : -1;
  hr_mutex_unlock (&sink->lock);
  hr_buffer_unref (in);
  return sink->hook == NULL || sink->hook (sink->data, last, out, error);
}

static const HrElementDef sink_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "sink",
  .summary = "Collects",
  .self_size = sizeof (Self),
  .light = TRUE,
  .consume = sink_consume,
};
static const HrElementDef pull_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "pull",
  .summary = "For the program",
  .self_size = sizeof (Self),
  .pullable = TRUE,
};

/* ---- elements that do not start ---- */

static gboolean
broken_start (gconstpointer self G_GNUC_UNUSED, gpointer shared G_GNUC_UNUSED,
              HrElement *element G_GNUC_UNUSED, GError **error)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND, "no such thing");
  return FALSE;
}

static gboolean
broken_worker_start (gconstpointer self G_GNUC_UNUSED, gpointer shared G_GNUC_UNUSED,
                     gpointer worker G_GNUC_UNUSED, GError **error)
{
  return broken_start (NULL, NULL, NULL, error);
}

static const HrElementDef broken_def = PASS ("broken", .start = broken_start);
static const HrElementDef broken_worker_def =
    PASS ("brokenworker", .worker_start = broken_worker_start);

/* ---- making them ---- */

static HrElement *
make (HrPipeline *pipeline, const HrElementDef *def, const char *name, Self self)
{
  HrElement *element = hr_element_new (def);

  *(Self *)element->self = self;
  small_set (element, "name", name);
  hr_pipeline_add (pipeline, element);
  return element;
}

static HrElement *
make_weighed (HrPipeline *pipeline, const HrElementDef *def, const char *name, guint workers,
              gint64 n, SmallHook hook, gpointer data)
{
  HrElement *element = make (pipeline, def, name, (Self){ .n = n, .hook = hook, .data = data });
  g_autofree char *text = g_strdup_printf ("%u", workers);

  if (workers > 0)
    small_set (element, "workers", text);
  return element;
}

static HrElement *
make_pool (HrPipeline *pipeline, const HrElementDef *def, const char *name, guint workers,
           SmallHook hook, gpointer data)
{
  return make_weighed (pipeline, def, name, workers, 0, hook, data);
}

HrElement *
small_source (HrPipeline *pipeline, const char *name, gint64 n, SmallHook hook, gpointer data)
{
  return make (pipeline, &source_def, name, (Self){ .n = n, .hook = hook, .data = data });
}

HrElement *
small_light (HrPipeline *pipeline, const char *name, guint workers, SmallHook hook, gpointer data)
{
  return make_pool (pipeline, &light_def, name, workers, hook, data);
}

HrElement *
small_compute (HrPipeline *pipeline, const char *name, guint workers, SmallHook hook, gpointer data)
{
  return make_pool (pipeline, &compute_def, name, workers, hook, data);
}

HrElement *
small_waits (HrPipeline *pipeline, const char *name, guint workers, SmallHook hook, gpointer data)
{
  return make_pool (pipeline, &waits_def, name, workers, hook, data);
}

HrElement *
small_filter (HrPipeline *pipeline, const char *name)
{
  return make (pipeline, &filter_def, name, (Self){ 0 });
}

HrElement *
small_each (HrPipeline *pipeline, const char *name, guint workers, SmallHook hook, gpointer data)
{
  return make_pool (pipeline, &each_def, name, workers, hook, data);
}

HrElement *
small_weighed (HrPipeline *pipeline, const char *name, guint workers, gint64 modulus,
               SmallHook hook, gpointer data)
{
  return make_weighed (pipeline, &weighed_def, name, workers, modulus, hook, data);
}

HrElement *
small_weighed_compute (HrPipeline *pipeline, const char *name, guint workers, gint64 modulus,
                       SmallHook hook, gpointer data)
{
  return make_weighed (pipeline, &weighed_compute_def, name, workers, modulus, hook, data);
}

HrElement *
small_weighed_each (HrPipeline *pipeline, const char *name, guint workers, gint64 modulus,
                    SmallHook hook, gpointer data)
{
  return make_weighed (pipeline, &weighed_each_def, name, workers, modulus, hook, data);
}

HrElement *
small_lists (HrPipeline *pipeline, const char *name)
{
  return make (pipeline, &lists_def, name, (Self){ 0 });
}

HrElement *
small_async (HrPipeline *pipeline, const char *name)
{
  return make (pipeline, &async_def, name, (Self){ .flights = 4 });
}

HrElement *
small_batch (HrPipeline *pipeline, const char *name, guint size)
{
  return make (pipeline, &batch_def, name, (Self){ .n = size });
}

HrElement *
small_prefetch (HrPipeline *pipeline, const char *name, guint ahead, guint warm_up)
{
  return make (pipeline, &prefetch_def, name, (Self){ .n = ahead, .warm_up = warm_up });
}

HrElement *
small_tee (HrPipeline *pipeline, const char *name)
{
  return make (pipeline, &tee_def, name, (Self){ 0 });
}

HrElement *
small_pick (HrPipeline *pipeline, const char *name)
{
  return make (pipeline, &pick_def, name, (Self){ 0 });
}

HrElement *
small_join (HrPipeline *pipeline, const char *name, HrJoin mode)
{
  return make (pipeline, &join_def, name, (Self){ .n = mode });
}

HrElement *
small_sink (HrPipeline *pipeline, const char *name, SmallSink *sink)
{
  return make (pipeline, &sink_def, name, (Self){ .sink = sink });
}

HrElement *
small_pull (HrPipeline *pipeline, const char *name)
{
  return make (pipeline, &pull_def, name, (Self){ 0 });
}

HrElement *
small_push (HrPipeline *pipeline, const char *name)
{
  return make (pipeline, &push_def, name, (Self){ 0 });
}

HrElement *
small_broken (HrPipeline *pipeline, const char *name, gboolean worker)
{
  return make (pipeline, worker ? &broken_worker_def : &broken_def, name, (Self){ 0 });
}
