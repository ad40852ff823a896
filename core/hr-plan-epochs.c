/* hr-plan-epochs.c: how long epochs are, and which places of them are ours */
#include "hr-plan-struct.h"
#include "hr-error.h"

static HrBounds
get_bounds (const HrPlan *plan)
{
  return (HrBounds){ plan->rules.epochs, plan->orders.limit, plan->orders.steps };
}

guint64
hr_plan_cut (const HrPlan *plan, guint64 n)
{
  HrBounds bounds = get_bounds (plan);

  return hr_plan_has_samples (plan) ? hr_bounds_cut (&bounds, &plan->orders.shard, plan->epoch, n)
                                    : n;
}

void
hr_plan_set_n_steps (HrPlan *plan, gint64 n_steps)
{
  __atomic_store_n (&plan->n_steps, n_steps, __ATOMIC_RELAXED);
}

gint64
hr_plan_get_n_steps (const HrPlan *plan)
{
  return __atomic_load_n (&plan->n_steps, __ATOMIC_RELAXED);
}

/* once it is known how long an epoch is, and what the rules are */
void
hr_plan_count_steps (HrPlan *plan)
{
  HrBounds bounds = get_bounds (plan);

  if (plan->orders.rows.window > 0)
    return; /* begin_rows() */
  if (hr_plan_has_samples (plan) && plan->orders.next_unit == NULL)
    hr_plan_set_n_steps (
        plan, hr_bounds_count_steps (&bounds, &plan->orders.shard, (guint64)plan->n_lines));
}

void
hr_plan_set_length (HrPlan *plan, guint64 n_lines)
{
  plan->n_known = TRUE;
  __atomic_store_n (&plan->n_lines, (gint64)n_lines, __ATOMIC_RELAXED);
  plan->n = hr_plan_cut (plan, n_lines);
}

/* ---- a mix ---- */

static gboolean
fail_empty (const HrPlan *plan, GError **error)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "%s: no sample in it (%u objects without a line that is not blank), and a mix takes "
               "some of each of its members: fill it, or take it out of the mix",
               plan->orders.name, plan->objects->len);
  return FALSE;
}

gboolean
hr_plan_settle (HrPlan *plan, GError **error)
{
  HrMixTold told = { .member = { plan->rules.weight, plan->rules.repeat, 0 } };

  if (plan->orders.mix == NULL)
    return TRUE;
  for (guint i = 0; i < plan->tables->len; i++)
    told.member.length += hr_line_table_get_length (plan->tables->pdata[i]);
  if (told.member.length == 0)
    return fail_empty (plan, error);
  if (plan->orders.lengths) {
    /* of its own: it remembers where it was asked last */
    told.sequence = hr_sequence_new (plan->objects, plan->tables, &plan->rules, plan->rules.seed);
    told.lengths = g_ptr_array_ref (plan->lengths);
    told.lengths_sum = hr_plan_get_lengths_sum (plan);
  }
  return hr_mix_run_tell (plan->orders.mix, plan->orders.member, &told, error);
}

gboolean
hr_plan_is_ours (const HrPlan *plan, const HrRowMember *member)
{
  return plan->mix == NULL || member->input == plan->orders.member;
}

gboolean
hr_plan_need_row (HrPlan *plan, guint64 epoch, guint64 row)
{
  if (plan->members->len == 0 || plan->members_epoch != epoch || plan->members_row != row)
    hr_row_plan_get (plan->rows, epoch, row, plan->members);
  plan->members_epoch = epoch;
  plan->members_row = row;
  for (guint i = 0; i < plan->members->len; i++)
    if (hr_plan_is_ours (plan, &g_array_index (plan->members, HrRowMember, i)))
      return TRUE;
  return FALSE;
}

/* Of a mix only our own places count: all others, and what fills up steps, are passed over. An
 * epoch need not have any for this rank, and there may be no end of such ones: of these no more are
 * looked at than the mix itself has come to, and the next.
 */
static gboolean
may_look_into (const HrPlan *plan, guint64 epoch)
{
  return plan->cursor.next_unit != NULL || epoch <= plan->found_epoch + 1
         || epoch <= hr_mix_run_get_epoch (plan->orders.mix) + 1;
}

static gboolean
is_ours (HrPlan *plan, guint64 epoch, guint64 place)
{
  HrMixed at;

  if (plan->rows != NULL)
    return hr_plan_need_row (plan, epoch, place);
  hr_mix_locate (plan->mix, epoch, place, &at);
  return at.member == plan->orders.member;
}

static void
pass_over (HrPlan *plan, guint64 epoch, guint64 place)
{
  /* rows, and places that are dealt, do not rise with those of a member */
  if (plan->rows != NULL || plan->cursor.deal != NULL)
    hr_cursor_advance (&plan->cursor);
  else
    hr_cursor_skip (&plan->cursor, hr_mix_find (plan->mix, epoch, plan->orders.member, place));
}

HrCursorNext
hr_plan_peek (HrPlan *plan, guint64 *epoch, guint64 *place)
{
  HrCursorNext next;

  while ((next = hr_cursor_peek (&plan->cursor, epoch, place)) == HR_CURSOR_LINE
         || next == HR_CURSOR_PAD) {
    if (plan->mix == NULL)
      return next;
    if (!may_look_into (plan, *epoch))
      return HR_CURSOR_LATER;
    if (next == HR_CURSOR_PAD) {
      hr_cursor_advance (&plan->cursor);
    } else if (is_ours (plan, *epoch, *place)) {
      plan->found_epoch = *epoch;
      return next;
    } else {
      pass_over (plan, *epoch, *place);
    }
  }
  return next;
}

void
hr_plan_wait (HrPlan *plan)
{
  if (plan->mix != NULL && plan->cursor.next_unit == NULL)
    hr_mix_run_wait_epoch (plan->orders.mix, plan->cursor.epoch - 1, plan->orders.closed,
                           plan->orders.stopping);
}

/* ---- what lengths are known for ---- */

/* for rows and balance of a source alone, whose thread asks */
static void
measure (gpointer data, guint64 epoch, guint64 place, HrMeasured *at)
{
  HrPlan *plan = data;
  const HrLength *lengths;

  at->input = 0;
  hr_sequence_locate (plan->sequence, epoch, place, &at->object, &at->line);
  lengths = g_bytes_get_data (plan->lengths->pdata[at->object], NULL);
  at->length = &lengths[at->line];
}

gint64
hr_plan_get_n_rows (HrPlan *plan, guint epoch)
{
  HrRowPlan *rows = __atomic_load_n (&plan->rows, __ATOMIC_ACQUIRE);

  return rows != NULL ? hr_row_plan_get_count (rows, epoch) : -1;
}

static HrRowPlan *
new_rows (HrPlan *plan)
{
  const HrBounds none = { 0 }, bounds = { plan->rules.epochs, plan->orders.limit, 0 };

  return hr_row_plan_new (measure, plan, &plan->orders.rows, (guint64)plan->n_lines,
                          plan->orders.next_unit != NULL ? &none : &bounds, &plan->orders.shard, 1);
}

static void
begin_rows (HrPlan *plan)
{
  HrRowPlan *rows = plan->mix != NULL ? hr_mix_run_get_rows (plan->orders.mix) : new_rows (plan);

  __atomic_store_n (&plan->rows, rows, __ATOMIC_RELEASE);
  plan->cursor.count = hr_row_plan_count;
  plan->cursor.count_user = rows;
  if (plan->mix != NULL)
    hr_plan_set_n_steps (plan, hr_mix_run_get_n_steps (plan->orders.mix));
  else if (plan->orders.next_unit == NULL)
    hr_plan_set_n_steps (plan,
                         hr_row_plan_count_steps (rows, plan->epoch, plan->start,
                                                  plan->orders.first_step, plan->orders.row_steps));
}

/* ---- steps that are dealt ---- */

static void
begin_balance (HrPlan *plan)
{
  HrBalance *balance = plan->mix != NULL ? hr_mix_run_get_balance (plan->orders.mix)
                                         : hr_balance_new (measure, plan, &plan->orders.shard, 1);

  plan->dealer.counts = plan->mix == NULL; /* else the mix itself does */
  plan->cursor.deal = hr_dealer_get_place;
  plan->cursor.deal_user = &plan->dealer;
  __atomic_store_n (&plan->dealer.balance, balance, __ATOMIC_RELEASE);
}

gboolean
hr_plan_get_balance (const HrPlan *plan, HrBalanceSums *sums)
{
  HrBalance *balance = __atomic_load_n (&plan->dealer.balance, __ATOMIC_ACQUIRE);

  if (balance != NULL)
    hr_balance_get_sums (balance, sums);
  return balance != NULL;
}

/* ---- epochs ---- */

/* from here on, what is known is used */
void
hr_plan_begin_epoch (HrPlan *plan)
{
  guint64 n;

  plan->begun = TRUE;
  if (plan->sequence != NULL || !hr_plan_has_samples (plan) || !hr_plan_has_all_tables (plan))
    return;
  plan->sequence = hr_sequence_new (plan->objects, plan->tables, &plan->rules, plan->rules.seed);
  n = plan->mix != NULL ? hr_mix_get_length (plan->mix) : hr_sequence_get_length (plan->sequence);
  hr_plan_set_length (plan, n);
  hr_plan_count_steps (plan);
  plan->cursor = (HrCursor){ .shard = plan->orders.shard,
                             .bounds = get_bounds (plan),
                             .n_lines = n,
                             .next_unit = plan->orders.next_unit,
                             .user = plan->orders.unit_user };
  if (plan->orders.balance)
    begin_balance (plan);
  if (plan->orders.rows.window > 0)
    begin_rows (plan);
  hr_cursor_begin (&plan->cursor, plan->epoch, plan->start);
}
