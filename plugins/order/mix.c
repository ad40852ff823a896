/* mix.c: the lines of several sources as one order */
#include "headrace.h"
#include "order-props.h"
#include "row-queue.h"

/* rows that are collected before they are given on */
#define MAX_ROWS 4096

typedef struct {
  gint shuffle;
  guint64 seed;
  guint64 epochs;
  gint weights;
  gdouble temperature;
  gint end;
  gint pattern;
  guint64 block_bytes;
} Mix;

enum { PATTERN_EVEN, PATTERN_RANDOM };

/* in the order of HrMixWeights and HrMixEnd */
static const char *const weights[] = { "ratio", "epochs", "temperature", NULL };
static const char *const ends[] = { "longest", "shortest", NULL };
static const char *const patterns[] = { "even", "random", NULL };

static const HrProp props[] = {
  HR_PROP_ENUM (Mix, weights, weights, HR_MIX_RATIO,
                "What the weights of the members say: ratio: samples of one beside those of the "
                "others; epochs: how often each is given in an epoch of the mix; temperature: "
                "weight x (its number of samples) ^ (1 / temperature) is its ratio",
                .flags = HR_PROP_STREAM),
  HR_PROP_DOUBLE (
      Mix, temperature, 0.01, 1e6, 1,
      "For weights=temperature: 1 is in proportion to the numbers of samples, higher is "
      "nearer to equal shares",
      .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Mix, end, ends, HR_MIX_LONGEST,
                "An epoch ends when every member has given as many samples as it has (longest), or "
                "when the first of them has (shortest); of weights=epochs, when all have as often "
                "as their weights say",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (
      Mix, pattern, patterns, PATTERN_EVEN,
      "even: members take turns as evenly as their shares allow; random: in random order, "
      "with the same shares in any 4096 samples",
      .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Mix, shuffle, HR_SHUFFLES, HR_SHUFFLE_NONE,
                "If set, that of the members that do not set their own", .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Mix, seed, 0, G_MAXINT64, 0,
                "Another seed makes another order; the members that do not set their own derive "
                "theirs from it",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Mix, epochs, 0, G_MAXINT32, 1, "Epochs of the mix; 0: without end",
                .unit = "epochs", .flags = HR_PROP_STREAM | HR_PROP_BOUND),
  HR_PROP_SIZE (Mix, block_bytes, 1, HR_GIB, HR_MIB, "Bytes given on at once"),
  HR_PROP_END
};

/* what has come from a member and is not used up */
typedef struct {
  HrBuffer *block; /* NULL: nothing */
  guint next;      /* of its rows */
  gboolean ended;
} Member;

typedef struct {
  GArray *members; /* Member */
  RowQueue *ready;
  guint n_ready;
} State;

static void
mix_mixes (gconstpointer selfp, HrMixRules *rules)
{
  const Mix *self = selfp;

  *rules = (HrMixRules){ .weights = (HrMixWeights)self->weights,
                         .temperature = self->temperature,
                         .end = (HrMixEnd)self->end,
                         .random = self->pattern == PATTERN_RANDOM,
                         .seed = self->seed,
                         .epochs = self->epochs,
                         .shuffle = (HrShuffle)self->shuffle };
}

static gboolean
mix_check_place (gconstpointer selfp, HrElement *element, GError **error)
{
  const Mix *self = selfp;

  if (hr_element_is_set (element, "temperature") && self->weights != HR_MIX_TEMPERATURE) {
    g_set_error_literal (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                         "temperature is for weights=temperature");
    return FALSE;
  }
  if (hr_element_is_set (element, "end") && self->weights == HR_MIX_PASSES) {
    g_set_error_literal (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                         "with weights=epochs the weights say when an epoch ends: leave end out");
    return FALSE;
  }
  return TRUE;
}

static gboolean
mix_worker_start (gconstpointer self, gpointer shared G_GNUC_UNUSED, gpointer worker,
                  GError **error G_GNUC_UNUSED)
{
  State *state = worker;

  state->members = g_array_new (FALSE, TRUE, sizeof (Member));
  state->ready = row_queue_new (((const Mix *)self)->block_bytes);
  row_queue_set_complete (state->ready, G_MAXINT64);
  return TRUE;
}

static void
mix_worker_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  State *state = worker;

  for (guint i = 0; i < state->members->len; i++)
    g_clear_pointer (&g_array_index (state->members, Member, i).block, hr_buffer_unref);
  g_array_unref (state->members);
  row_queue_free (state->ready);
}

static Member *
get_member (State *state, guint input)
{
  if (input >= state->members->len)
    g_array_set_size (state->members, input + 1);
  return &g_array_index (state->members, Member, input);
}

static void
mix_accept (gconstpointer self G_GNUC_UNUSED, gpointer worker, guint input, HrBuffer *in)
{
  Member *member = get_member (worker, input);

  member->block = in;
  member->next = 0;
  member->ended = in == NULL;
}

/* the line that stands at @place is the next one of its member, or something is very wrong */
static gboolean
take_row (State *state, Member *member, const HrMixPlace *place, GError **error)
{
  const HrRows *rows = hr_buffer_get_rows (member->block);
  const HrRow *row = rows != NULL ? hr_rows_get (rows, member->next) : NULL;
  gint64 given = row != NULL ? row->place : member->block->place;
  FoundLine line = { .block = member->block };

  if (given != place->place || member->block->epoch != place->epoch
      || (row == NULL && !(member->block->flags & HR_BUFFER_HOLE))) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "input %u gives place %" G_GINT64_FORMAT " of epoch %u, expected was place "
                 "%" G_GINT64_FORMAT " of epoch %u",
                 place->input, given, member->block->epoch, place->place, place->epoch);
    return FALSE;
  }
  if (row == NULL) { /* the source knows that it makes no sample */
    row_queue_add_hole (state->ready, g_steal_pointer (&member->block));
    return TRUE;
  }
  line.uri = row->uri;
  line.root = row->root;
  line.offset = row->offset;
  line.length = row->length;
  line.bytes = row->bytes;
  line.byte = row->byte;
  line.line = row->line;
  row_queue_add (state->ready, &line, place->epoch, place->place, &row->row);
  if (++member->next == hr_rows_get_length (rows))
    g_clear_pointer (&member->block, hr_buffer_unref);
  return TRUE;
}

/* collects what is there, until a line of a member is missing */
static HrFlow
collect (State *state, HrOut *out, guint *input, GError **error)
{
  HrMixPlace place;

  for (; state->n_ready < MAX_ROWS; state->n_ready++) {
    HrPlanNext next = hr_out_peek_place (out, &place);
    Member *member;

    if (next == HR_PLAN_END)
      return HR_FLOW_END;
    if (next == HR_PLAN_LATER) {
      if (state->n_ready == 0)
        hr_out_wait_request (out);
      return HR_FLOW_MORE;
    }
    if (place.input == HR_NO_INPUT) {
      row_queue_add_padding (state->ready, place.epoch,
                             &(HrWanted){ .place = place.place, .row = place.row });
      hr_out_advance_place (out);
      continue;
    }
    member = get_member (state, place.input);
    if (member->block == NULL && member->ended) /* the run is being stopped */
      return HR_FLOW_END;
    if (member->block == NULL) {
      *input = place.input;
      return HR_FLOW_MORE;
    }
    if (!take_row (state, member, &place, error))
      return HR_FLOW_ERROR;
    hr_out_advance_place (out);
  }
  return HR_FLOW_MORE;
}

static HrFlow
mix_choose (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrOut *out, guint *input,
            GError **error)
{
  State *state = worker;
  HrFlow flow = collect (state, out, input, error);

  if (flow == HR_FLOW_ERROR)
    return flow;
  while (row_queue_can_give (state->ready))
    if (!row_queue_give (state->ready, out, error))
      return HR_FLOW_ERROR;
  state->n_ready = 0;
  return flow;
}

static const char *const examples[] = {
  "mix name=m epochs=3 ! jsonlparse ! fakesink "
  "filesrc location=tests/data/cases/21-resume-mix-empty-member/a/ weight=1 ! m. "
  "filesrc location=tests/data/cases/21-resume-mix-empty-member/b/ weight=3 ! m.",
  NULL
};

HR_ELEMENT (
    mix, Mix, .summary = "Mix the lines of several sources by weights",
    .description =
        "Its inputs are sources of lines, its members; each has `weight`, `repeat`, and an order "
        "of "
        "its own by `shuffle` and `seed`. Which member gives a sample, and which of its samples, "
        "depends on the weights, the numbers of samples, the seed and the place alone "
        "(docs/order.md), so a run can go on exactly, for any number of ranks, each of which reads "
        "its own lines only. To know how many samples there are, all members are scanned at the "
        "first start. A member without a line that is not blank ends the run at its start.",
    .examples = examples, .needs = "lines", .gives = "lines", .worker_size = sizeof (State),
    .props = props, .light = TRUE, .check_place = mix_check_place, .worker_start = mix_worker_start,
    .worker_stop = mix_worker_stop, .mixes = mix_mixes, .choose = mix_choose, .accept = mix_accept)
