/* hr-row-plan.c */
#include "hr-row-plan.h"
#include "hr-error.h"
#include "hr-pack.h"
#include "hr-sums.h"

/* of a sample that is in no row */
#define NO_ROW G_MAXUINT

struct _HrRowPlan {
  HrSequence *sequence;
  GPtrArray *lengths;
  HrRowRules rules;

  GArray
      *rows_of; /* sums: of the rows of each block of the epoch at hand; NULL: there is none yet */
  guint64 epoch, n; /* … which is this */

  /* the block at hand */
  guint64 block;
  guint n_members;
  guint n_rows;
  HrRowMember *members;
  guint *rows; /* of each, within the block */
  HrPackSize *sizes;
};

HrRowPlan *
hr_row_plan_new (HrSequence *sequence, GPtrArray *lengths, const HrRowRules *rules)
{
  HrRowPlan *plan = g_new0 (HrRowPlan, 1);

  plan->sequence = sequence;
  plan->lengths = lengths;
  plan->rules = *rules;
  plan->members = g_new (HrRowMember, rules->window);
  plan->rows = g_new (guint, rules->window);
  plan->sizes = g_new (HrPackSize, rules->window);
  return plan;
}

void
hr_row_plan_free (HrRowPlan *plan)
{
  g_clear_pointer (&plan->rows_of, g_array_unref);
  g_free (plan->members);
  g_free (plan->rows);
  g_free (plan->sizes);
  g_free (plan);
}

/* ---- a block ---- */

static void
judge (const HrRowPlan *plan, const HrLength *length, HrRowMember *member)
{
  const HrRowRules *rules = &plan->rules;

  member->kind = -1;
  if (length->tokens == HR_LENGTH_HOLE) {
    member->hole = TRUE;
    member->dropped = length->decoded != 0;
    if (length->image_tokens != HR_LENGTH_NO_KIND)
      member->kind = (gint)length->image_tokens;
  } else if (!hr_row_rules_fit (rules, length)) {
    member->hole = member->dropped = TRUE;
    member->kind = HR_DATA_ERROR_OVERLONG;
  }
}

/* what makes no sample goes with the last one before it that does, or else with the first */
static void
place_holes (HrRowPlan *plan)
{
  guint row = NO_ROW;

  for (guint i = 0; i < plan->n_members && row == NO_ROW; i++)
    row = plan->rows[i];
  for (guint i = 0; i < plan->n_members; i++)
    if (plan->rows[i] != NO_ROW)
      row = plan->rows[i];
    else
      plan->rows[i] = row;
}

static void
pack (HrRowPlan *plan, guint64 block)
{
  guint64 first = block * plan->rules.window;
  guint n = (guint)MIN (plan->rules.window, plan->n - first), n_sizes = 0;
  g_autofree guint *row_of = g_new (guint, n + 1);

  plan->block = block;
  plan->n_members = n;
  for (guint i = 0; i < n; i++) {
    HrRowMember *member = &plan->members[i];
    const HrLength *length;

    *member = (HrRowMember){ .place = first + i };
    hr_sequence_locate (plan->sequence, plan->epoch, member->place, &member->object, &member->line);
    length = (const HrLength *)g_bytes_get_data (plan->lengths->pdata[member->object], NULL)
             + member->line;
    judge (plan, length, member);
    if (!member->hole)
      plan->sizes[n_sizes++] = (HrPackSize){ length->tokens, length->image_tokens };
  }
  plan->n_rows = hr_pack_block (plan->sizes, n_sizes, plan->rules.max_tokens,
                                plan->rules.max_image_tokens, row_of);
  for (guint i = 0, k = 0; i < n; i++)
    plan->rows[i] = plan->members[i].hole ? NO_ROW : row_of[k++];
  place_holes (plan);
}

static guint64
count_blocks (const HrRowPlan *plan)
{
  return (plan->n + plan->rules.window - 1) / plan->rules.window;
}

static void
need_block (HrRowPlan *plan, guint64 block)
{
  if (plan->block != block)
    pack (plan, block);
}

/* ---- an epoch ---- */

static void
number_rows (HrRowPlan *plan, guint64 epoch, guint64 n)
{
  if (plan->rows_of != NULL && plan->epoch == epoch && plan->n == n)
    return;
  plan->epoch = epoch;
  plan->n = n;
  g_clear_pointer (&plan->rows_of, g_array_unref);
  plan->rows_of = hr_sums_new ();
  for (guint64 block = 0; block < count_blocks (plan); block++) {
    pack (plan, block);
    hr_sums_add (plan->rows_of, plan->n_rows);
  }
  plan->block = G_MAXUINT64;
}

guint64
hr_row_plan_count (HrRowPlan *plan, guint64 epoch, guint64 n)
{
  number_rows (plan, epoch, n);
  return hr_sums_get_last (plan->rows_of);
}

static void
add_members (HrRowPlan *plan, guint64 block, guint row, GArray *members)
{
  need_block (plan, block);
  for (guint i = 0; i < plan->n_members; i++)
    if (plan->rows[i] == row)
      g_array_append_val (members, plan->members[i]);
}

/* Blocks of which nothing is left have no row: what they lack is told with the last row before
 * them, or with the first of all. */
void
hr_row_plan_get (HrRowPlan *plan, guint64 epoch, guint64 n, guint64 row, GArray *members)
{
  guint64 block, last;

  number_rows (plan, epoch, n);
  g_array_set_size (members, 0);
  block = hr_sums_find (plan->rows_of, row);
  for (guint64 before = 0; row == 0 && before < block; before++)
    add_members (plan, before, NO_ROW, members);
  add_members (plan, block, (guint)(row - hr_sums_get (plan->rows_of, block)), members);
  last = hr_sums_get (plan->rows_of, block + 1) - 1;
  for (guint64 behind = block + 1; row == last && behind < count_blocks (plan)
                                   && hr_sums_get (plan->rows_of, behind + 1) == last + 1;
       behind++)
    add_members (plan, behind, NO_ROW, members);
}

gboolean
hr_row_rules_fit (const HrRowRules *rules, const HrLength *length)
{
  return length->tokens != HR_LENGTH_HOLE && length->tokens <= rules->max_tokens
         && (rules->max_image_tokens == 0 || length->image_tokens <= rules->max_image_tokens);
}
