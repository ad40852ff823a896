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
  HrMixMember member = { plan->rules.weight, plan->rules.repeat, 0 };

  if (plan->orders.mix == NULL)
    return TRUE;
  for (guint i = 0; i < plan->tables->len; i++)
    member.length += hr_line_table_get_length (plan->tables->pdata[i]);
  if (member.length == 0)
    return fail_empty (plan, error);
  return hr_mix_run_tell (plan->orders.mix, plan->orders.member, &member, error);
}

/* Of a mix only our own places count: all others, and what fills up steps, are passed over. When a
 * whole epoch has none for this rank, none has: members keep their places, if these are not random.
 */
HrCursorNext
hr_plan_peek (HrPlan *plan, guint64 *epoch, guint64 *place)
{
  guint64 first = plan->cursor.epoch, ours;
  HrCursorNext next;

  while ((next = hr_cursor_peek (&plan->cursor, epoch, place)) == HR_CURSOR_LINE
         || next == HR_CURSOR_PAD) {
    if (plan->mix == NULL)
      return next;
    if (plan->cursor.next_unit == NULL && *epoch > first + 1)
      return hr_mix_run_get_rules (plan->orders.mix)->random ? HR_CURSOR_LATER : HR_CURSOR_END;
    ours = hr_mix_find (plan->mix, *epoch, plan->orders.member, *place);
    if (next == HR_CURSOR_LINE && ours == *place)
      return next;
    if (next == HR_CURSOR_LINE)
      hr_cursor_skip (&plan->cursor, ours);
    else
      hr_cursor_advance (&plan->cursor);
  }
  return next;
}

/* ---- packed rows ---- */

/* more are not made up beforehand, only to say how many steps they are */
#define MAX_COUNTED 20000000

guint64
hr_plan_cut_places (HrPlan *plan, guint64 epoch)
{
  HrBounds bounds = { .limit = plan->orders.limit };

  return plan->orders.next_unit != NULL
             ? (guint64)plan->n_lines
             : hr_bounds_cut (&bounds, &plan->orders.shard, epoch, (guint64)plan->n_lines);
}

/* an epoch begins, or a part of one is asked for */
static guint64
count_rows (gpointer data, guint64 epoch)
{
  HrPlan *plan = data;
  guint64 n = hr_row_plan_count (plan->rows, epoch, hr_plan_cut_places (plan, epoch));

  hr_mutex_lock (&plan->lock);
  g_hash_table_insert (plan->n_rows, GSIZE_TO_POINTER (epoch + 1), GSIZE_TO_POINTER (n));
  hr_mutex_unlock (&plan->lock);
  return n;
}

gint64
hr_plan_get_n_rows (HrPlan *plan, guint epoch)
{
  gpointer n = NULL;
  gboolean known;

  hr_mutex_lock (&plan->lock);
  known =
      g_hash_table_lookup_extended (plan->n_rows, GSIZE_TO_POINTER ((gsize)epoch + 1), NULL, &n);
  hr_mutex_unlock (&plan->lock);
  return known ? (gint64)GPOINTER_TO_SIZE (n) : -1;
}

/* steps from where this run begins; -1: without end, or too many to say */
static gint64
count_row_steps (HrPlan *plan)
{
  guint64 world = plan->orders.shard.world, end = plan->rules.epochs, n = (guint64)plan->n_lines;
  gint64 sum = 0;

  if (plan->orders.limit > 0 && n > 0)
    end = MIN (end > 0 ? end : G_MAXUINT64, (plan->orders.limit + n - 1) / n);
  if (n > 0 && (end == 0 || end - MIN (end, plan->epoch) > MAX_COUNTED / n + 1))
    return -1;
  /* the first one last: it is what the run begins with */
  for (guint64 epoch = end; epoch-- > plan->epoch;) {
    guint64 rows = hr_row_plan_count (plan->rows, epoch, hr_plan_cut_places (plan, epoch));
    guint64 first = epoch == plan->epoch ? MIN (plan->start, rows) : 0;

    sum += (gint64)((rows - first + world - 1) / world);
  }
  return sum;
}

static void
begin_rows (HrPlan *plan)
{
  gint64 n;

  plan->rows = hr_row_plan_new (plan->sequence, plan->lengths, &plan->orders.rows);
  plan->cursor.count = count_rows;
  plan->cursor.count_user = plan;
  if (plan->orders.next_unit != NULL)
    return;
  n = count_row_steps (plan);
  if (n >= 0)
    n += plan->orders.first_step;
  if (plan->orders.row_steps > 0)
    n = MIN (n >= 0 ? n : G_MAXINT64, (gint64)plan->orders.row_steps);
  hr_plan_set_n_steps (plan, n);
}

/* ---- steps that are dealt ---- */

static void
begin_balance (HrPlan *plan)
{
  HrBalance *balance = hr_balance_new (plan->sequence, plan->lengths, &plan->orders.shard);

  plan->cursor.deal = hr_balance_get_place;
  plan->cursor.deal_user = balance;
  __atomic_store_n (&plan->balance, balance, __ATOMIC_RELEASE);
}

gboolean
hr_plan_get_balance (const HrPlan *plan, HrBalanceSums *sums)
{
  HrBalance *balance = __atomic_load_n (&plan->balance, __ATOMIC_ACQUIRE);

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
