/* hr-mix-run.c */
#include "hr-mix-run.h"
#include "hr-pipeline-private.h"
#include "hr-random.h"

struct _HrMixRun {
  HrMixRules rules;
  guint n;
  HrPlanOrders orders; /* of a member: what goes for all */
  HrCursor places;
  guint64 epoch, place; /* where these begin */
  guint64 wanted_sum;   /* of lengths, by the checkpoint; 0: any */

  HrMutex lock;
  HrCond changed;
  HrMixMember *members; /* length 0: has not told … */
  HrMix *mix;           /* … once all have, and what is below is there, too */
  gboolean scanning;
  guint64 at_epoch;

  HrSequence **sequences;
  GPtrArray **lengths;
  guint64 *sums; /* of each member's lengths */
  guint64 lengths_sum;
  HrMix *order; /* the same as mix; also before that */
  HrRowPlan *rows;
  HrDealer dealer;
  gint64 n_steps;

  /* the mix's thread, of rows: that at hand */
  GArray *row; /* HrRowMember */
  guint n_given;
};

HrMixRun *
hr_mix_run_new (const HrMixRules *rules, guint n_members)
{
  HrMixRun *run = g_new0 (HrMixRun, 1);

  run->rules = *rules;
  run->n = n_members;
  run->members = g_new0 (HrMixMember, n_members);
  run->sequences = g_new0 (HrSequence *, n_members);
  run->lengths = g_new0 (GPtrArray *, n_members);
  run->sums = g_new0 (guint64, n_members);
  run->row = g_array_new (FALSE, FALSE, sizeof (HrRowMember));
  run->n_steps = -1;
  hr_mutex_init (&run->lock);
  hr_cond_init (&run->changed);
  return run;
}

void
hr_mix_run_free (HrMixRun *run)
{
  g_clear_pointer (&run->rows, hr_row_plan_free);
  g_clear_pointer (&run->dealer.balance, hr_balance_free);
  g_clear_pointer (&run->order, hr_mix_free);
  for (guint i = 0; i < run->n; i++) {
    g_clear_pointer (&run->sequences[i], hr_sequence_free);
    g_clear_pointer (&run->lengths[i], g_ptr_array_unref);
  }
  g_free (run->sequences);
  g_free (run->lengths);
  g_free (run->sums);
  g_free (run->members);
  g_array_unref (run->row);
  hr_cond_clear (&run->changed);
  hr_mutex_clear (&run->lock);
  g_free (run);
}

const HrMixRules *
hr_mix_run_get_rules (const HrMixRun *run)
{
  return &run->rules;
}

void
hr_mix_run_set_places (HrMixRun *run, const HrPlanOrders *orders)
{
  run->orders = *orders;
  run->places = (HrCursor){ .shard = orders->shard,
                            .bounds = { run->rules.epochs, orders->limit, orders->steps },
                            .next_unit = orders->next_unit,
                            .user = orders->unit_user };
}

void
hr_mix_run_set_start (HrMixRun *run, const HrPlanStart *start, guint64 lengths_sum)
{
  run->epoch = run->at_epoch = start->epoch;
  run->place = (guint64)start->place;
  run->wanted_sum = lengths_sum;
}

/* ---- the members ---- */

static gint
find_missing (const HrMixRun *run)
{
  for (guint i = 0; i < run->n; i++)
    if (run->members[i].length == 0)
      return (gint)i;
  return -1;
}

/* for rows and balance, which ask one at a time */
static void
measure (gpointer data, guint64 epoch, guint64 place, HrMeasured *at)
{
  HrMixRun *run = data;
  const HrLength *lengths;
  HrMixed mixed;

  hr_mix_locate (run->order, epoch, place, &mixed);
  at->input = mixed.member;
  hr_sequence_locate (run->sequences[mixed.member], mixed.pass, mixed.index, &at->object,
                      &at->line);
  lengths = g_bytes_get_data (run->lengths[mixed.member]->pdata[at->object], NULL);
  at->length = &lengths[at->line];
}

static gboolean
begin_rows (HrMixRun *run, GError **error)
{
  const HrPlanOrders *orders = &run->orders;
  const HrBounds none = { 0 }, bounds = { run->rules.epochs, orders->limit, 0 };

  if (!hr_row_rules_check (&orders->rows, run->lengths, run->n, error))
    return FALSE;
  /* the members and the mix */
  run->rows =
      hr_row_plan_new (measure, run, &orders->rows, run->places.n_lines,
                       orders->next_unit != NULL ? &none : &bounds, &orders->shard, run->n + 1);
  run->places.count = hr_row_plan_count;
  run->places.count_user = run->rows;
  if (orders->next_unit == NULL)
    run->n_steps = hr_row_plan_count_steps (run->rows, run->epoch, run->place, orders->first_step,
                                            orders->row_steps);
  return TRUE;
}

static gboolean
begin_lengths (HrMixRun *run, GError **error)
{
  guint64 sum = 0;

  for (guint i = 0; i < run->n; i++)
    sum = hr_mix64 (sum ^ run->sums[i]);
  run->lengths_sum = MAX (sum, 1);
  if (!hr_plan_check_lengths_sum (run->lengths_sum, run->wanted_sum, error))
    return FALSE;
  if (run->orders.balance) {
    run->dealer.balance = hr_balance_new (measure, run, &run->orders.shard, run->n + 1);
    run->dealer.counts = TRUE;
    run->places.deal = hr_dealer_get_place;
    run->places.deal_user = &run->dealer;
  }
  return run->orders.rows.window == 0 || begin_rows (run, error);
}

/* by the last one to tell, without the lock: it may take a while */
static gboolean
complete (HrMixRun *run, GError **error)
{
  run->order = hr_mix_new (&run->rules, run->members, run->n, error);
  if (run->order == NULL)
    return FALSE;
  run->places.n_lines = hr_mix_get_length (run->order);
  if (run->orders.lengths && !begin_lengths (run, error))
    return FALSE;
  hr_cursor_begin (&run->places, run->epoch, run->place);
  hr_mutex_lock (&run->lock);
  run->mix = run->order;
  hr_mutex_unlock (&run->lock);
  hr_cond_broadcast (&run->changed);
  return TRUE;
}

gboolean
hr_mix_run_tell (HrMixRun *run, guint member, const HrMixTold *what, GError **error)
{
  gboolean last;

  g_return_val_if_fail (member < run->n && what->member.length > 0, FALSE);
  hr_mutex_lock (&run->lock);
  run->sequences[member] = what->sequence;
  run->lengths[member] = what->lengths;
  run->sums[member] = what->lengths_sum;
  run->members[member] = what->member;
  last = find_missing (run) < 0;
  hr_mutex_unlock (&run->lock);
  return !last || complete (run, error);
}

gint
hr_mix_run_find_missing (HrMixRun *run)
{
  gint missing;

  hr_mutex_lock (&run->lock);
  missing = find_missing (run);
  hr_mutex_unlock (&run->lock);
  return missing;
}

HrRowPlan *
hr_mix_run_get_rows (HrMixRun *run)
{
  return run->rows;
}

HrBalance *
hr_mix_run_get_balance (HrMixRun *run)
{
  return run->dealer.balance;
}

gint64
hr_mix_run_get_n_steps (HrMixRun *run)
{
  return run->n_steps;
}

guint64
hr_mix_run_get_lengths_sum (HrMixRun *run)
{
  guint64 sum;

  hr_mutex_lock (&run->lock);
  sum = run->mix != NULL ? run->lengths_sum : 0;
  hr_mutex_unlock (&run->lock);
  return sum;
}

/* ---- waiting ---- */

/* Waits, with the lock, as long as it @is_early; FALSE: the wait has been ended. */
static gboolean
wait_while (HrMixRun *run, gboolean (*is_early) (HrMixRun *run, guint64 epoch), guint64 epoch,
            const gint *closed, const gint *stopping)
{
  gboolean ready;

  hr_stall ();
  hr_worker_begin_wait (hr_worker_self, HR_WAIT_OUTSIDE, NULL);
  hr_mutex_lock (&run->lock);
  while (is_early (run, epoch) && closed != NULL && !g_atomic_int_get (closed)
         && !g_atomic_int_get (stopping))
    hr_cond_wait (&run->changed, &run->lock);
  ready = !is_early (run, epoch);
  hr_mutex_unlock (&run->lock);
  hr_worker_end_wait (hr_worker_self);
  return ready;
}

static gboolean
is_incomplete (HrMixRun *run, guint64 epoch G_GNUC_UNUSED)
{
  return run->mix == NULL;
}

const HrMix *
hr_mix_run_wait (HrMixRun *run, const gint *closed, const gint *stopping)
{
  return wait_while (run, is_incomplete, 0, closed, stopping) ? run->order : NULL;
}

/* who finds it free takes it */
static gboolean
is_scanned (HrMixRun *run, guint64 epoch G_GNUC_UNUSED)
{
  return run->scanning;
}

gboolean
hr_mix_run_begin_scan (HrMixRun *run, const gint *closed, const gint *stopping)
{
  gboolean taken = FALSE;

  while (!taken && wait_while (run, is_scanned, 0, closed, stopping)) {
    hr_mutex_lock (&run->lock);
    taken = !run->scanning;
    run->scanning = TRUE;
    hr_mutex_unlock (&run->lock);
  }
  return taken;
}

void
hr_mix_run_end_scan (HrMixRun *run)
{
  hr_mutex_lock (&run->lock);
  run->scanning = FALSE;
  hr_mutex_unlock (&run->lock);
  hr_cond_broadcast (&run->changed);
}

static gboolean
is_before (HrMixRun *run, guint64 epoch)
{
  return run->at_epoch < epoch;
}

void
hr_mix_run_wait_epoch (HrMixRun *run, guint64 epoch, const gint *closed, const gint *stopping)
{
  wait_while (run, is_before, epoch, closed, stopping);
}

guint64
hr_mix_run_get_epoch (HrMixRun *run)
{
  return __atomic_load_n (&run->at_epoch, __ATOMIC_RELAXED);
}

void
hr_mix_run_wake (HrMixRun *run)
{
  hr_mutex_lock (&run->lock);
  hr_mutex_unlock (&run->lock);
  hr_cond_broadcast (&run->changed);
}

/* ---- the mix's thread ---- */

/* members that have nothing to give before it may look further */
static void
enter_epoch (HrMixRun *run, guint64 epoch)
{
  if (hr_mix_run_get_epoch (run) == epoch)
    return;
  hr_mutex_lock (&run->lock);
  __atomic_store_n (&run->at_epoch, epoch, __ATOMIC_RELAXED);
  hr_mutex_unlock (&run->lock);
  hr_cond_broadcast (&run->changed);
}

/* the next line of the row that stands at @at */
static void
peek_row (HrMixRun *run, guint64 epoch, guint64 at, HrMixPlace *place)
{
  const HrRowMember *member;

  if (run->row->len == 0)
    hr_row_plan_get (run->rows, epoch, at, run->row);
  member = &g_array_index (run->row, HrRowMember, run->n_given);
  place->place = (gint64)member->place;
  place->input = member->input;
  place->row = (HrRowMark){ (guint)at, run->n_given + 1 == run->row->len };
}

HrPlanNext
hr_mix_run_peek (HrMixRun *run, HrMixPlace *place)
{
  guint64 epoch, at;
  HrMixed mixed;
  HrCursorNext next = hr_cursor_peek (&run->places, &epoch, &at);

  if (next == HR_CURSOR_LATER)
    return HR_PLAN_LATER;
  enter_epoch (run, next == HR_CURSOR_END ? G_MAXUINT64 - 1 : epoch);
  if (next == HR_CURSOR_END)
    return HR_PLAN_END;
  *place = (HrMixPlace){ .epoch = (guint)epoch, .place = (gint64)at, .input = HR_NO_INPUT };
  if (next == HR_CURSOR_LINE && run->rows != NULL) {
    peek_row (run, epoch, at, place);
  } else if (next == HR_CURSOR_LINE) {
    hr_mix_locate (run->mix, epoch, at, &mixed);
    place->input = mixed.member;
  } else if (run->rows != NULL) {
    place->row = (HrRowMark){ (guint)at, TRUE };
  }
  return HR_PLAN_READ;
}

void
hr_mix_run_advance (HrMixRun *run)
{
  if (run->row->len > 0 && ++run->n_given < run->row->len)
    return;
  g_array_set_size (run->row, 0);
  run->n_given = 0;
  hr_cursor_advance (&run->places);
}
