/* elements.c: sources, batch, prefetchqueue, joins and sinks of the stress */
#include "stress.h"
#include <string.h>

static Node *
node_of (gconstpointer self)
{
  return ((const Self *)self)->node;
}

/* ---- sources ---- */

typedef struct {
  gint64 next;
} SourceState;

static gboolean
reserve (Node *node, HrOut *out, HrBuffer *buffer, gint64 id, GError **error)
{
  gsize size = stress_size (node, id, 0);
  HrMemory *memory = hr_out_alloc (out, "p", size, error);

  if (memory == NULL)
    return FALSE;
  memset (memory->data, (int)id, size);
  stress_note_bytes (node, id, size);
  hr_buffer_set_tensor (buffer, "p", hr_tensor_new_bytes (memory));
  return TRUE;
}

static HrFlow
source_create (gconstpointer self, gpointer worker, HrOut *out, GError **error)
{
  Node *node = node_of (self);
  SourceState *state = worker;
  gint64 burst =
      node->run->serial || node->sure ? 1 : 1 + (gint64)(stress_hash (node, state->next, 7) % 9);

  if (node->sure && state->next == 0 && !node->run->serial)
    hr_out_sleep (out, node->time * 1000);
  for (gint64 i = 0; i < burst; i++) {
    HrBuffer *buffer;

    if (state->next == node->n)
      return HR_FLOW_END;
    g_atomic_int_inc (&stress_progress);
    if (node->sleeps && !hr_out_sleep (out, stress_time (node, state->next) * 1000))
      return HR_FLOW_END;
    buffer = stress_sample (node, node->first_id + state->next);
    if (node->reserves && !reserve (node, out, buffer, node->first_id + state->next, error)) {
      hr_buffer_unref (buffer);
      return HR_FLOW_ERROR;
    }
    state->next++;
    hr_out_push (out, buffer);
  }
  return HR_FLOW_MORE;
}

static HrFlow
raw_create (gconstpointer self, gpointer worker, HrOut *out, GError **error)
{
  Node *node = node_of (self);
  SourceState *state = worker;
  gint64 count = 1 + (gint64)(stress_hash (node, state->next, 8) % (guint64)MAX (node->arg, 1));
  HrMemory *memory;
  gsize size;

  count = MIN (count, node->n - state->next);
  if (count == 0)
    return HR_FLOW_END;
  g_atomic_int_inc (&stress_progress);
  size = (gsize)count * sizeof (gint64);
  memory = node->reserves ? hr_out_alloc (out, "block", size, error) : hr_memory_new (size);
  if (memory == NULL)
    return HR_FLOW_ERROR;
  hr_out_push (out, stress_block (node, state->next, (guint)count, memory));
  state->next += count;
  return HR_FLOW_MORE;
}

static const HrElementDef source_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "source",
  .summary = "Samples",
  .self_size = sizeof (Self),
  .worker_size = sizeof (SourceState),
  .create = source_create,
};
static const HrElementDef light_source_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "lightsource",
  .summary = "Samples",
  .self_size = sizeof (Self),
  .worker_size = sizeof (SourceState),
  .create = source_create,
  .light = TRUE,
};
static const HrElementDef raw_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "raw",
  .summary = "Blocks",
  .self_size = sizeof (Self),
  .worker_size = sizeof (SourceState),
  .create = raw_create,
  .light = TRUE,
};
static const HrElementDef pushed_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "pushed",
  .summary = "What the program pushes",
  .self_size = sizeof (Self),
  .pushable = TRUE,
};

/* ---- batch and prefetchqueue ---- */

typedef struct {
  HrBuffer *open;
} BatchState;

static void
flush (Node *node, BatchState *state, HrOut *out)
{
  HrBuffer *batch = g_steal_pointer (&state->open);
  Value value = { 5, hr_buffer_get_member (batch, 0)->sample };

  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    const HrBuffer *member = hr_buffer_get_member (batch, i);

    value.hash =
        stress_mix (value.hash ^ (member->flags & HR_BUFFER_HOLE ? 77 : stress_get (member).hash));
  }
  g_atomic_int_inc (&stress_progress);
  stress_set (batch, node->run->any_order ? (Value){ 0 } : value);
  hr_out_push (out, batch);
}

static gboolean
batch_process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out,
               GError **error G_GNUC_UNUSED)
{
  Node *node = node_of (self);
  BatchState *state = worker;

  if (state->open == NULL)
    state->open = hr_buffer_new ();
  hr_buffer_add_member (state->open, in);
  if (hr_buffer_get_n_members (state->open) == node->arg)
    flush (node, state, out);
  return TRUE;
}

static gboolean
batch_finish (gconstpointer self, gpointer worker, HrOut *out, GError **error G_GNUC_UNUSED)
{
  BatchState *state = worker;

  if (state->open != NULL)
    flush (node_of (self), state, out);
  return TRUE;
}

static void
batch_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  g_clear_pointer (&((BatchState *)worker)->open, hr_buffer_unref);
}

static guint
batch_group (gconstpointer self)
{
  return (guint)node_of (self)->arg;
}

static const HrElementDef batch_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "batch",
  .summary = "Several samples in one buffer",
  .self_size = sizeof (Self),
  .worker_size = sizeof (BatchState),
  .light = TRUE,
  .takes_holes = TRUE,
  .process = batch_process,
  .finish = batch_finish,
  .worker_stop = batch_stop,
  .group = batch_group,
};

static gboolean
prefetch_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
                  HrOut *out, GError **error G_GNUC_UNUSED)
{
  hr_out_push (out, in);
  return TRUE;
}

static void
prefetch_lookahead (gconstpointer self, guint *steps, guint64 *bytes, guint *warm_up)
{
  const Node *node = node_of (self);

  *steps = (guint)__atomic_load_n (&node->arg, __ATOMIC_RELAXED); /* live */
  *bytes = 0;
  *warm_up = (guint)node->warm_up;
}

static const HrElementDef prefetch_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "prefetch",
  .summary = "Look-ahead",
  .self_size = sizeof (Self),
  .light = TRUE,
  .takes_holes = TRUE,
  .process = prefetch_process,
  .lookahead = prefetch_lookahead,
};

/* ---- tee and joins ---- */

static guint64
tee_route (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED,
           const HrBuffer *in G_GNUC_UNUSED, guint n_out)
{
  g_atomic_int_inc (&stress_progress);
  return (1u << n_out) - 1;
}

static const HrElementDef tee_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "tee",
  .summary = "Everything to everybody",
  .self_size = sizeof (Self),
  .light = TRUE,
  .route = tee_route,
};

static HrJoin
join_join (gconstpointer self)
{
  return (HrJoin)node_of (self)->arg;
}

static HrBuffer *
join_merge (gconstpointer self, gpointer worker G_GNUC_UNUSED, HrBuffer **in, guint n_in,
            GError **error)
{
  Node *node = node_of (self);
  HrBuffer *merged = hr_buffer_make_writable (in[0]);
  Value value = stress_get (merged);

  for (guint i = 1; i < n_in; i++) {
    HrTensor *tensor = hr_buffer_get_tensor (in[i], "p");

    value.hash = stress_mix (value.hash + 3 * stress_get (in[i]).hash);
    if (tensor != NULL)
      hr_buffer_set_tensor (merged, "q", hr_tensor_ref (tensor));
    hr_buffer_unref (in[i]);
  }
  g_atomic_int_inc (&stress_progress);
  if (stress_fails (node, value.id)) {
    hr_buffer_unref (merged);
    hr_set_data_error (error, HR_DATA_ERROR_OTHER, "cannot be joined");
    return NULL;
  }
  stress_set (merged, value);
  return merged;
}

static const HrElementDef join_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "join",
  .summary = "Several inputs to one",
  .self_size = sizeof (Self),
  .light = TRUE,
  .join = join_join,
  .merge = join_merge,
};

/* ---- sinks ---- */

static gboolean
trainer_consume (gconstpointer self, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
                 GError **error G_GNUC_UNUSED)
{
  Node *node = node_of (self);
  gint64 time = node->run->config->train;

  stress_record (node, in);
  if (time > 0 && !node->run->serial)
    hr_out_sleep (out, time * 1000);
  return TRUE;
}

static const HrElementDef trainer_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "trainer",
  .summary = "Takes steps",
  .self_size = sizeof (Self),
  .light = TRUE,
  .consume = trainer_consume,
};
static const HrElementDef pulled_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "pulled",
  .summary = "The program takes steps",
  .self_size = sizeof (Self),
  .pullable = TRUE,
};

const HrElementDef *
stress_def (const Node *node)
{
  switch (node->kind) {
  case 'S':
    return node->light ? &light_source_def : &source_def;
  case 'R':
    return node->mixed ? &stress_member_def : &raw_def;
  case 'M':
    return &stress_mix_def;
  case 'U':
    return &pushed_def;
  case 'X':
    return node->light ? &stress_light_cutter_def : &stress_cutter_def;
  case 'P':
    return stress_pool_def (node);
  case 'E':
    return stress_each_def (node);
  case 'A':
    return &stress_async_def;
  case 'B':
    return &batch_def;
  case 'G':
    return &stress_packer_def;
  case 'Q':
    return &prefetch_def;
  case 'T':
    return &tee_def;
  case 'J':
    return &join_def;
  case 'L':
    return &pulled_def;
  default:
    return &trainer_def;
  }
}
