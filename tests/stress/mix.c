/* mix.c: sources that take turns as the core's own mix has it, and the element that puts their
 * lines together; each line says where it stands, and that must be the place that is next */
#include "hr-mix.h"
#include "stress.h"
#include <string.h>

enum {
  SALT_WEIGHT = 400,
  SALT_REPEAT,
  SALT_EPOCHS,
  SALT_END,
  SALT_PATTERN,
  SALT_LINES,
  SALT_BURST
};

static Node *
node_of (gconstpointer self)
{
  return ((const Self *)self)->node;
}

/* ---- members ---- */

/* where a line of a member stands in the order of the mix */
typedef struct {
  guint64 epoch, place;
} Line;

typedef struct {
  gboolean told;
  Line next;
} MemberState;

static gboolean
tell (Node *node, MemberState *state, GError **error)
{
  HrMixTold what = { .member = { .weight = (gdouble)(1 + stress_hash (node, 0, SALT_WEIGHT) % 4),
                                 .repeat = stress_hash (node, 0, SALT_REPEAT) % 2 == 0,
                                 .length = (guint64)MAX (node->n, 1) } };
  HrRun *run = node->element->run;

  if (state->told)
    return TRUE;
  state->told = TRUE;
  return hr_mix_run_tell (run->mix, run->orders.member, &what, error);
}

/* the member's next line; FALSE: there is none */
static gboolean
find_line (const Node *node, const HrMix *mix, MemberState *state)
{
  const HrRun *run = node->element->run;
  guint64 epochs = hr_mix_run_get_rules (run->mix)->epochs, length = hr_mix_get_length (mix);
  guint64 limit = (guint64)node->run->config->limit;

  for (; state->next.epoch < epochs; state->next = (Line){ state->next.epoch + 1, 0 }) {
    state->next.place = hr_mix_find (mix, state->next.epoch, run->orders.member, state->next.place);
    if (state->next.place < length)
      return limit == 0 || state->next.epoch * length + state->next.place < limit;
  }
  return FALSE;
}

static HrFlow
member_create (gconstpointer self, gpointer worker, HrOut *out, GError **error)
{
  Node *node = node_of (self);
  HrRun *run = node->element->run;
  MemberState *state = worker;
  const HrMix *mix;
  guint n = 0;
  HrMemory *memory;
  HrBuffer *buffer;
  Line lines[64];

  if (!tell (node, state, error))
    return HR_FLOW_ERROR;
  mix =
      hr_mix_run_wait (run->mix, node->run->serial ? NULL : &run->closed, &run->pipeline->stopping);
  if (mix == NULL)
    return node->run->serial ? HR_FLOW_MORE : HR_FLOW_END;
  while (n < MIN (node->arg, (gint64)G_N_ELEMENTS (lines)) && find_line (node, mix, state)) {
    lines[n++] = state->next;
    state->next.place++;
    if (stress_hash (node, (gint64)state->next.place, SALT_LINES) % 4 == 0)
      break;
  }
  g_atomic_int_inc (&stress_progress);
  if (n == 0)
    return HR_FLOW_END;
  memory = node->reserves ? hr_out_alloc (out, "lines", n * sizeof (Line), error)
                          : hr_memory_new (n * sizeof (Line));
  if (memory == NULL)
    return HR_FLOW_ERROR;
  memcpy (memory->data, lines, n * sizeof (Line));
  buffer = hr_buffer_new ();
  hr_buffer_set_tensor (buffer, "lines", hr_tensor_new_bytes (memory));
  hr_out_push (out, buffer);
  return HR_FLOW_MORE;
}

const HrElementDef stress_member_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "member",
  .summary = "Lines of one of several sources",
  .self_size = sizeof (Self),
  .worker_size = sizeof (MemberState),
  .create = member_create,
  .light = TRUE,
  .plans = TRUE,
};

/* ---- the mix ---- */

typedef struct {
  HrBuffer *block; /* NULL: nothing */
  guint next;
  gboolean ended;
} Member;

typedef struct {
  Member members[MAX_MEMBERS];
  guint n_ready;
  gint64 n_samples; /* with those that are ready */
} MixState;

static void
mix_mixes (gconstpointer self, HrMixRules *rules)
{
  const Node *node = node_of (self);

  *rules =
      (HrMixRules){ .weights = HR_MIX_RATIO,
                    .end = stress_hash (node, 0, SALT_END) % 2 ? HR_MIX_SHORTEST : HR_MIX_LONGEST,
                    .random = stress_hash (node, 0, SALT_PATTERN) % 2 == 0,
                    .seed = node->run->config->seed,
                    .epochs = 1 + stress_hash (node, 0, SALT_EPOCHS) % 2 };
}

static void
mix_accept (gconstpointer self G_GNUC_UNUSED, gpointer worker, guint input, HrBuffer *in)
{
  MixState *state = worker;

  g_atomic_int_inc (&stress_progress);
  state->members[input] = (Member){ .block = in, .ended = in == NULL };
}

/* the next place; whether it is the last must be known before it leaves */
static void
add (Node *node, MixState *state, HrOut *out)
{
  HrMixPlace next;

  state->n_samples++;
  hr_out_advance_place (out);
  if (hr_out_peek_place (out, &next) == HR_PLAN_END)
    __atomic_store_n (&node->run->n_all, state->n_samples, __ATOMIC_RELEASE);
}

static void
flush (Node *node, MixState *state, HrOut *out)
{
  gint64 first = state->n_samples - state->n_ready;

  if (state->n_ready > 0)
    hr_out_push (out, stress_block (node, first, state->n_ready,
                                    hr_memory_new (state->n_ready * sizeof (gint64))));
  state->n_ready = 0;
}

/* a place that fills up the last step of an epoch */
static void
add_padding (Node *node, MixState *state, HrOut *out)
{
  gint64 id = state->n_samples;

  flush (node, state, out);
  add (node, state, out);
  hr_out_pad (out, 0, id, &(HrRowMark){ 0, stress_ends_row (node->run, id) });
}

static void
take_line (Node *node, MixState *state, Member *member, const HrMixPlace *place, HrOut *out)
{
  HrTensor *tensor = hr_buffer_get_tensor (member->block, "lines");
  Line line;

  memcpy (&line, (const Line *)hr_tensor_get_data (tensor) + member->next, sizeof line);
  if (line.epoch != place->epoch || line.place != (guint64)place->place)
    stress_die ("a member gives place %" G_GUINT64_FORMAT " of epoch %" G_GUINT64_FORMAT
                ", and %" G_GINT64_FORMAT " of epoch %u is next",
                line.place, line.epoch, place->place, place->epoch);
  add (node, state, out);
  state->n_ready++;
  if (++member->next == hr_tensor_get_n_bytes (tensor) / sizeof line)
    g_clear_pointer (&member->block, hr_buffer_unref);
}

static gboolean
is_ending (const Node *node, HrOut *out)
{
  const HrPipeline *pipeline = node->run->pipeline;

  return hr_out_is_closed (out) || g_atomic_int_get (&pipeline->stopping)
         || g_atomic_int_get (&pipeline->failed);
}

static HrFlow
collect (Node *node, MixState *state, HrOut *out, guint *input)
{
  guint most = 1 + (guint)(stress_hash (node, state->n_samples, SALT_BURST) % 64);
  HrMixPlace place;

  while (state->n_ready < most) {
    Member *member;

    if (hr_out_peek_place (out, &place) == HR_PLAN_END)
      return HR_FLOW_END;
    if (place.input == HR_NO_INPUT) {
      add_padding (node, state, out);
      continue;
    }
    member = &state->members[place.input];
    if (member->block == NULL && !member->ended) {
      *input = place.input;
      return HR_FLOW_MORE;
    }
    if (member->block == NULL) {
      if (!is_ending (node, out))
        stress_die ("member %u has ended, and its line is next", place.input);
      return HR_FLOW_END;
    }
    take_line (node, state, member, &place, out);
  }
  return HR_FLOW_MORE;
}

static HrFlow
mix_choose (gconstpointer self, gpointer worker, HrOut *out, guint *input,
            GError **error G_GNUC_UNUSED)
{
  Node *node = node_of (self);
  MixState *state = worker;
  HrFlow flow = collect (node, state, out, input);

  g_atomic_int_inc (&stress_progress);
  flush (node, state, out);
  return flow;
}

static void
mix_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  MixState *state = worker;

  for (guint i = 0; i < MAX_MEMBERS; i++)
    g_clear_pointer (&state->members[i].block, hr_buffer_unref);
}

const HrElementDef stress_mix_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "mix",
  .summary = "Lines of several sources in one order",
  .self_size = sizeof (Self),
  .worker_size = sizeof (MixState),
  .light = TRUE,
  .mixes = mix_mixes,
  .choose = mix_choose,
  .accept = mix_accept,
  .worker_stop = mix_stop,
};
