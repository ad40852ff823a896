/* hr-row-plan.c */
#include "hr-row-plan.h"
#include "hr-error.h"
#include "hr-pack.h"
#include "hr-slots.h"
#include "hr-sums.h"
#include "hr-sync.h"

/* of a sample that is in no row */
#define NO_ROW G_MAXUINT
/* more are not made up beforehand, only to say how many steps they are */
#define MAX_COUNTED 20000000

typedef struct {
  HrSlot slot;     /* which epoch */
  GArray *rows_of; /* sums: of the rows of each block; NULL: not made yet */
  guint64 n;       /* places */
} Epoch;

typedef struct {
  HrSlot slot; /* which block of which epoch */
  guint n_members;
  guint n_rows;
  HrRowMember *members;
  guint *rows; /* of each, within the block */
} Block;

struct _HrRowPlan {
  HrMeasureFunc measure;
  gpointer user;
  HrRowRules rules;
  guint64 n_lines;
  HrBounds bounds;
  HrShard shard;

  HrMutex lock;
  guint64 clock;
  guint n_slots;
  Epoch *epochs;
  Block *blocks;
  HrPackSize *sizes; /* of the block at hand */
  guint *row_of;

  HrMutex leaf;
  GHashTable *counts; /* epoch to rows */
};

HrRowPlan *
hr_row_plan_new (HrMeasureFunc measure, gpointer user, const HrRowRules *rules, guint64 n_lines,
                 const HrBounds *bounds, const HrShard *shard, guint n_readers)
{
  HrRowPlan *plan = g_new0 (HrRowPlan, 1);

  plan->measure = measure;
  plan->user = user;
  plan->rules = *rules;
  plan->n_lines = n_lines;
  plan->bounds = *bounds;
  plan->shard = *shard;
  plan->n_slots = n_readers + 1;
  plan->epochs = g_new0 (Epoch, plan->n_slots);
  plan->blocks = g_new0 (Block, plan->n_slots);
  for (guint i = 0; i < plan->n_slots; i++) {
    plan->blocks[i].members = g_new (HrRowMember, rules->window);
    plan->blocks[i].rows = g_new (guint, rules->window);
  }
  plan->sizes = g_new (HrPackSize, rules->window);
  plan->row_of = g_new (guint, rules->window);
  plan->counts = g_hash_table_new (NULL, NULL);
  hr_mutex_init (&plan->lock);
  hr_mutex_init (&plan->leaf);
  return plan;
}

void
hr_row_plan_free (HrRowPlan *plan)
{
  for (guint i = 0; i < plan->n_slots; i++) {
    g_clear_pointer (&plan->epochs[i].rows_of, g_array_unref);
    g_free (plan->blocks[i].members);
    g_free (plan->blocks[i].rows);
  }
  g_free (plan->epochs);
  g_free (plan->blocks);
  g_free (plan->sizes);
  g_free (plan->row_of);
  g_hash_table_unref (plan->counts);
  hr_mutex_clear (&plan->lock);
  hr_mutex_clear (&plan->leaf);
  g_free (plan);
}

/* ---- a line ---- */

static gboolean
fits (const HrRowRules *rules, const HrLength *length)
{
  return length->tokens != HR_LENGTH_HOLE && length->tokens <= rules->max_tokens
         && (rules->max_image_tokens == 0 || length->image_tokens <= rules->max_image_tokens);
}

static gboolean
any_fits (const HrRowRules *rules, GPtrArray *lengths, guint64 *n_lines)
{
  for (guint i = 0; i < lengths->len; i++) {
    gsize size;
    const HrLength *of = g_bytes_get_data (lengths->pdata[i], &size);

    *n_lines += size / sizeof *of;
    for (gsize k = 0; k < size / sizeof *of; k++)
      if (fits (rules, &of[k]))
        return TRUE;
  }
  return FALSE;
}

/* an epoch without a row would be followed by another for ever, and nothing would be told */
gboolean
hr_row_rules_check (const HrRowRules *rules, GPtrArray *const *lengths, guint n, GError **error)
{
  guint64 n_lines = 0;

  for (guint i = 0; i < n; i++)
    if (any_fits (rules, lengths[i], &n_lines))
      return TRUE;
  if (n_lines == 0)
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
               "no packed row can be made: of %" G_GUINT64_FORMAT
               " lines each is bad, is left out, "
               "or has more than the max-tokens=%" G_GINT64_FORMAT " of a row",
               n_lines, rules->max_tokens);
  return FALSE;
}

static void
judge (const HrRowRules *rules, const HrLength *length, HrRowMember *member)
{
  member->kind = -1;
  if (length->tokens == HR_LENGTH_HOLE) {
    member->hole = TRUE;
    member->dropped = length->decoded != 0;
    if (length->image_tokens != HR_LENGTH_NO_KIND)
      member->kind = (gint)length->image_tokens;
  } else if (!fits (rules, length)) {
    member->hole = member->dropped = TRUE;
    member->kind = HR_DATA_ERROR_OVERLONG;
  }
}

/* ---- a block ---- */

/* what makes no sample goes with the last one before it that does, or else with the first */
static void
place_holes (Block *block)
{
  guint row = NO_ROW;

  for (guint i = 0; i < block->n_members && row == NO_ROW; i++)
    row = block->rows[i];
  for (guint i = 0; i < block->n_members; i++)
    if (block->rows[i] != NO_ROW)
      row = block->rows[i];
    else
      block->rows[i] = row;
}

static void
pack (HrRowPlan *plan, Block *block, guint64 n)
{
  guint64 first = block->slot.number * plan->rules.window;
  guint n_sizes = 0;

  block->n_members = (guint)MIN (plan->rules.window, n - first);
  for (guint i = 0; i < block->n_members; i++) {
    HrRowMember *member = &block->members[i];
    HrMeasured at;

    plan->measure (plan->user, block->slot.epoch, first + i, &at);
    *member = (HrRowMember){
      .place = first + i, .input = at.input, .object = at.object, .line = at.line
    };
    judge (&plan->rules, at.length, member);
    if (!member->hole)
      plan->sizes[n_sizes++] = (HrPackSize){ at.length->tokens, at.length->image_tokens };
  }
  block->n_rows = hr_pack_block (plan->sizes, n_sizes, plan->rules.max_tokens,
                                 plan->rules.max_image_tokens, plan->row_of);
  for (guint i = 0, k = 0; i < block->n_members; i++)
    block->rows[i] = block->members[i].hole ? NO_ROW : plan->row_of[k++];
  place_holes (block);
}

static const Block *
get_block (HrRowPlan *plan, const Epoch *epoch, guint64 number)
{
  gboolean found;
  Block *block = hr_slots_find (plan->blocks, sizeof *block, plan->n_slots, &plan->clock,
                                epoch->slot.epoch, number, &found);

  if (!found)
    pack (plan, block, epoch->n);
  return block;
}

static void
add_members (HrRowPlan *plan, const Epoch *epoch, guint64 number, guint row, GArray *members)
{
  const Block *block = get_block (plan, epoch, number);

  for (guint i = 0; i < block->n_members; i++)
    if (block->rows[i] == row)
      g_array_append_val (members, block->members[i]);
}

/* ---- an epoch ---- */

static guint64
count_blocks (const HrRowPlan *plan, const Epoch *epoch)
{
  return (epoch->n + plan->rules.window - 1) / plan->rules.window;
}

/* with the lock */
static const Epoch *
get_epoch (HrRowPlan *plan, guint64 number)
{
  gboolean found;
  Epoch *epoch =
      hr_slots_find (plan->epochs, sizeof *epoch, plan->n_slots, &plan->clock, number, 0, &found);

  if (found)
    return epoch;
  epoch->n = hr_bounds_cut (&plan->bounds, &plan->shard, number, plan->n_lines);
  g_clear_pointer (&epoch->rows_of, g_array_unref);
  epoch->rows_of = hr_sums_new ();
  for (guint64 i = 0; i < count_blocks (plan, epoch); i++)
    hr_sums_add (epoch->rows_of, get_block (plan, epoch, i)->n_rows);
  return epoch;
}

guint64
hr_row_plan_count (gpointer data, guint64 epoch)
{
  HrRowPlan *plan = data;
  guint64 n;

  hr_mutex_lock (&plan->lock);
  n = hr_sums_get_last (get_epoch (plan, epoch)->rows_of);
  hr_mutex_unlock (&plan->lock);
  hr_mutex_lock (&plan->leaf);
  g_hash_table_insert (plan->counts, GSIZE_TO_POINTER (epoch + 1), GSIZE_TO_POINTER (n));
  hr_mutex_unlock (&plan->leaf);
  return n;
}

gint64
hr_row_plan_get_count (HrRowPlan *plan, guint64 epoch)
{
  gpointer n = NULL;
  gboolean known;

  hr_mutex_lock (&plan->leaf);
  known = g_hash_table_lookup_extended (plan->counts, GSIZE_TO_POINTER (epoch + 1), NULL, &n);
  hr_mutex_unlock (&plan->leaf);
  return known ? (gint64)GPOINTER_TO_SIZE (n) : -1;
}

/* the epoch behind the last one; 0: there is none, or too much to make up */
static guint64
find_end (const HrRowPlan *plan, guint64 epoch)
{
  guint64 end = plan->bounds.epochs, n = plan->n_lines;

  if (plan->bounds.limit > 0 && n > 0)
    end = MIN (end > 0 ? end : G_MAXUINT64, (plan->bounds.limit + n - 1) / n);
  return n > 0 && end - MIN (end, epoch) > MAX_COUNTED / n + 1 ? 0 : end;
}

/* steps behind row @start of an epoch of so many */
static gint64
count_rank (const HrRowPlan *plan, guint64 rows, guint64 start)
{
  guint64 world = plan->shard.world;

  return (gint64)((rows - MIN (start, rows) + world - 1) / world);
}

/* of a run that does not end by itself: only an epoch without a row can end it before @most steps
 */
static gint64
count_endless (HrRowPlan *plan, guint64 epoch, guint64 start, gint64 n, gint64 most)
{
  guint64 n_lines = 0;

  for (guint64 at = epoch; n < most && n_lines <= MAX_COUNTED; at++, n_lines += plan->n_lines) {
    guint64 rows = hr_row_plan_count (plan, at);

    if (rows == 0)
      return n;
    n += count_rank (plan, rows, at == epoch ? start : 0);
  }
  return most;
}

gint64
hr_row_plan_count_steps (HrRowPlan *plan, guint64 epoch, guint64 start, gint64 first_step,
                         guint64 most)
{
  guint64 end = find_end (plan, epoch);
  gint64 n = first_step;

  if (end == 0 && plan->n_lines > 0)
    return most > 0 ? count_endless (plan, epoch, start, n, (gint64)most) : -1;
  for (guint64 at = epoch; at < end; at++) {
    guint64 rows = hr_row_plan_count (plan, at);

    if (rows == 0) /* the run ends there */
      break;
    n += count_rank (plan, rows, at == epoch ? start : 0);
  }
  return most > 0 ? MIN (n, (gint64)most) : n;
}

/* Blocks of which nothing is left have no row: what they lack is told with the last row before
 * them, or with the first of all. */
void
hr_row_plan_get (HrRowPlan *plan, guint64 number, guint64 row, GArray *members)
{
  const Epoch *epoch;
  guint64 block, last;

  g_array_set_size (members, 0);
  hr_mutex_lock (&plan->lock);
  epoch = get_epoch (plan, number);
  block = hr_sums_find (epoch->rows_of, row);
  for (guint64 before = 0; row == 0 && before < block; before++)
    add_members (plan, epoch, before, NO_ROW, members);
  add_members (plan, epoch, block, (guint)(row - hr_sums_get (epoch->rows_of, block)), members);
  last = hr_sums_get (epoch->rows_of, block + 1) - 1;
  for (guint64 behind = block + 1; row == last && behind < count_blocks (plan, epoch)
                                   && hr_sums_get (epoch->rows_of, behind + 1) == last + 1;
       behind++)
    add_members (plan, epoch, behind, NO_ROW, members);
  hr_mutex_unlock (&plan->lock);
}
