/* hr-plan.c: objects, and which of their lines come next */
#include "hr-plan-private.h"
#include "hr-checksum.h"
#include "hr-error.h"
#include "hr-lengths.h"
#include "hr-mix-run.h"
#include "hr-permute.h"
#include "hr-random.h"
#include "hr-rules.h"
#include "hr-sums.h"
#include "hr-sync.h"
#include <string.h>

/* gaps between wanted lines that are read rather than left out by another request */
#define MAX_GAP (64 * 1024)
/* scattered lines that are read at once */
#define MAX_EXTENTS 64
/* a set of blocks has so many at most: they are counted in 32 bits by what reads them */
#define MAX_WANTED 4096

struct _HrPlan {
  HrPlanOrders orders;
  HrPlanRules rules;
  GArray *objects; /* HrObject */
  char *identity;
  gboolean listed;
  GPtrArray *tables;  /* HrLineTable, one an object; NULL: not known */
  GPtrArray *lengths; /* GBytes: HrLength of its lines, one an object; NULL: not known */
  HrSequence *sequence;
  const HrMix *mix;    /* once it is known */
  HrBalance *balance;  /* of steps that are dealt; atomic */
  HrRowPlan *rows;     /* where they are numbered */
  GArray *members;     /* HrRowMember: of one */
  GHashTable *n_rows;  /* epoch to number, of those that have begun; with the lock */
  guint64 lengths_sum; /* atomic */

  guint epoch;    /* that reads are made for */
  guint64 n;      /* places of an epoch with lines, as limits leave them; valid if n_known */
  gint64 n_lines; /* of an epoch, -1: not known; atomic */
  gint64 n_steps; /* of the run, -1: not known; atomic */
  gboolean n_known;
  guint64 start;       /* places below it have been delivered by another run */
  HrCursor cursor;     /* complete: the places that come next */
  guint64 unit;        /* the next object, or group of blocks */
  gint64 unit_byte;    /* where to begin in it */
  guint64 n_found;     /* lines found in the epoch */
  guint n_out;         /* reads that have not ended */
  gboolean begun;      /* the epoch: something of it has been asked for */
  gboolean enough;     /* limit or steps are reached before it is known how long an epoch is */
  gboolean padded;     /* the epoch's padding has been given */
  GArray *first_block; /* sums: of the blocks of each object; for shuffle=window */

  guint64 again_lines, again_bytes; /* atomic */

  HrMutex lock;  /* marks */
  GArray *marks; /* HrPlanStart: where lines stand that were found; of the last two epochs */
};

static void
object_clear (gpointer data)
{
  HrObject *object = data;

  g_ref_string_release (object->uri);
  g_free (object->key);
  g_free (object->etag);
}

static void
table_unref (gpointer table)
{
  g_clear_pointer (&table, hr_line_table_unref);
}

static void
lengths_unref (gpointer lengths)
{
  g_clear_pointer (&lengths, g_bytes_unref);
}

HrPlan *
hr_plan_new (const HrPlanOrders *orders)
{
  static const HrPlanOrders none = {
    .shard = { 0, 1, 0, FALSE }, .seed = -1, .epochs = -1, .shuffle = -1
  };
  HrPlan *plan = g_new0 (HrPlan, 1);

  plan->orders = orders != NULL ? *orders : none;
  plan->n_lines = plan->n_steps = -1;
  plan->objects = g_array_new (FALSE, TRUE, sizeof (HrObject));
  plan->tables = g_ptr_array_new_with_free_func (table_unref);
  plan->lengths = g_ptr_array_new_with_free_func (lengths_unref);
  plan->members = g_array_new (FALSE, FALSE, sizeof (HrRowMember));
  plan->n_rows = g_hash_table_new (NULL, NULL);
  g_array_set_clear_func (plan->objects, object_clear);
  plan->first_block = hr_sums_new ();
  plan->marks = g_array_new (FALSE, FALSE, sizeof (HrPlanStart));
  hr_mutex_init (&plan->lock);
  return plan;
}

void
hr_plan_free (HrPlan *plan)
{
  g_clear_pointer (&plan->balance, hr_balance_free);
  g_clear_pointer (&plan->rows, hr_row_plan_free);
  g_array_unref (plan->members);
  g_hash_table_unref (plan->n_rows);
  g_clear_pointer (&plan->sequence, hr_sequence_free);
  g_ptr_array_unref (plan->tables);
  g_ptr_array_unref (plan->lengths);
  g_array_unref (plan->objects);
  g_array_unref (plan->marks);
  g_array_unref (plan->first_block);
  g_free (plan->identity);
  hr_mutex_clear (&plan->lock);
  g_free (plan);
}

/* ---- objects ---- */

void
hr_plan_add_object (HrPlan *plan, const char *uri, const char *key, gint64 size, const char *etag)
{
  HrObject object = { g_ref_string_new (uri), g_strdup (key), size, g_strdup (etag) };

  g_return_if_fail (!plan->listed);
  g_array_append_val (plan->objects, object);
}

/* by bytes, the same on disk and on S3, whatever the locale */
static gint
compare_keys (gconstpointer a, gconstpointer b)
{
  return strcmp (((const HrObject *)a)->key, ((const HrObject *)b)->key);
}

static void
leave_out_objects (HrPlan *plan)
{
  for (guint i = plan->objects->len; i-- > 0;)
    if (!plan->orders.wants_object (plan->orders.wants_user,
                                    &g_array_index (plan->objects, HrObject, i)))
      g_array_remove_index (plan->objects, i);
}

void
hr_plan_listed (HrPlan *plan)
{
  g_array_sort (plan->objects, compare_keys);
  if (plan->orders.wants_object != NULL)
    leave_out_objects (plan);
  g_ptr_array_set_size (plan->tables, (gint)plan->objects->len);
  g_ptr_array_set_size (plan->lengths, (gint)plan->objects->len);
  plan->listed = TRUE;
}

gboolean
hr_plan_is_listed (const HrPlan *plan)
{
  return plan->listed;
}

guint
hr_plan_get_n_objects (const HrPlan *plan)
{
  return plan->objects->len;
}

const HrObject *
hr_plan_get_object (const HrPlan *plan, guint index)
{
  g_return_val_if_fail (index < plan->objects->len, NULL);
  return &g_array_index (plan->objects, HrObject, index);
}

/* ---- what is known ---- */

gboolean
hr_plan_has_samples (const HrPlan *plan)
{
  return plan->orders.shard.group > 0;
}

gboolean
hr_plan_is_complete (const HrPlan *plan)
{
  return plan->sequence != NULL;
}

HrSequence *
hr_plan_get_sequence (HrPlan *plan)
{
  return plan->sequence;
}

const HrPlanRules *
hr_plan_get_rules (const HrPlan *plan)
{
  return &plan->rules;
}

static gboolean
has_all_tables (const HrPlan *plan)
{
  for (guint i = 0; i < plan->tables->len; i++)
    if (plan->tables->pdata[i] == NULL)
      return FALSE;
  return TRUE;
}

gboolean
hr_plan_needs_scan (const HrPlan *plan)
{
  return (plan->rules.shuffle == HR_SHUFFLE_FULL || plan->orders.next_unit != NULL
          || plan->orders.mix != NULL || plan->orders.lines || plan->orders.lengths)
         && !has_all_tables (plan);
}

gboolean
hr_plan_needs_lengths (const HrPlan *plan)
{
  return plan->orders.lengths;
}

GBytes *
hr_plan_get_lengths (HrPlan *plan, guint object)
{
  return plan->lengths->pdata[object];
}

guint64
hr_plan_count_lines (const HrPlan *plan, guint object)
{
  return hr_line_table_get_length (plan->tables->pdata[object]);
}

gboolean
hr_plan_set_lengths (HrPlan *plan, guint object, GBytes *lengths)
{
  if (g_bytes_get_size (lengths) != hr_plan_count_lines (plan, object) * sizeof (HrLength))
    return FALSE;
  plan->lengths->pdata[object] = g_bytes_ref (lengths);
  return TRUE;
}

/* an epoch without a row would be followed by another for ever, and nothing would be told */
static gboolean
check_rows (const HrPlan *plan, GError **error)
{
  guint64 n_lines = 0;

  for (guint i = 0; i < plan->lengths->len; i++) {
    gsize size;
    const HrLength *lengths = g_bytes_get_data (plan->lengths->pdata[i], &size);

    n_lines += size / sizeof *lengths;
    for (gsize k = 0; k < size / sizeof *lengths; k++)
      if (hr_row_rules_fit (&plan->orders.rows, &lengths[k]))
        return TRUE;
  }
  if (n_lines == 0)
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
               "no packed row can be made: of %" G_GUINT64_FORMAT
               " lines each is bad, is left out, "
               "or has more than the max-tokens=%" G_GINT64_FORMAT " of a row",
               n_lines, plan->orders.rows.max_tokens);
  return FALSE;
}

gboolean
hr_plan_check_lengths (HrPlan *plan, GError **error)
{
  guint64 sum = 0, wanted = plan->orders.lengths_sum;

  if (plan->orders.rows.window > 0 && !check_rows (plan, error))
    return FALSE;

  for (guint i = 0; i < plan->lengths->len; i++) {
    gsize size;
    const guint8 *bytes = g_bytes_get_data (plan->lengths->pdata[i], &size);

    sum = hr_mix64 (sum ^ hr_checksum64 (bytes, size));
  }
  sum = MAX (sum, 1);
  __atomic_store_n (&plan->lengths_sum, sum, __ATOMIC_RELAXED);
  if (wanted == 0 || wanted == sum)
    return TRUE;
  g_set_error_literal (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                       "the lengths of lines are not those that the checkpoint was made with: "
                       "images, or what could be read of them, have changed; ranks that do not "
                       "share HR_PLAN_CACHE can find different ones");
  return FALSE;
}

guint64
hr_plan_get_lengths_sum (const HrPlan *plan)
{
  return __atomic_load_n (&plan->lengths_sum, __ATOMIC_RELAXED);
}

static HrBounds
get_bounds (const HrPlan *plan)
{
  return (HrBounds){ plan->rules.epochs, plan->orders.limit, plan->orders.steps };
}

static guint64
cut (const HrPlan *plan, guint64 n)
{
  HrBounds bounds = get_bounds (plan);

  return hr_plan_has_samples (plan) ? hr_bounds_cut (&bounds, &plan->orders.shard, plan->epoch, n)
                                    : n;
}

static void
set_n_steps (HrPlan *plan, gint64 n_steps)
{
  __atomic_store_n (&plan->n_steps, n_steps, __ATOMIC_RELAXED);
}

gint64
hr_plan_get_n_steps (const HrPlan *plan)
{
  return __atomic_load_n (&plan->n_steps, __ATOMIC_RELAXED);
}

/* once it is known how long an epoch is, and what the rules are */
static void
count_steps (HrPlan *plan)
{
  HrBounds bounds = get_bounds (plan);

  if (plan->orders.rows.window > 0)
    return; /* begin_rows() */
  if (hr_plan_has_samples (plan) && plan->orders.next_unit == NULL)
    set_n_steps (plan,
                 hr_bounds_count_steps (&bounds, &plan->orders.shard, (guint64)plan->n_lines));
}

static void
set_length (HrPlan *plan, guint64 n_lines)
{
  plan->n_known = TRUE;
  __atomic_store_n (&plan->n_lines, (gint64)n_lines, __ATOMIC_RELAXED);
  plan->n = cut (plan, n_lines);
}

gboolean
hr_plan_knows_lines (const HrPlan *plan, guint object)
{
  return plan->tables->pdata[object] != NULL;
}

void
hr_plan_set_lines (HrPlan *plan, guint object, gpointer lines)
{
  g_return_if_fail (plan->listed && plan->tables->pdata[object] == NULL);
  plan->tables->pdata[object] = hr_line_table_ref (lines);
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
static HrCursorNext
peek (HrPlan *plan, guint64 *epoch, guint64 *place)
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

/* ---- epochs ---- */

/* ---- packed rows ---- */

/* more are not made up beforehand, only to say how many steps they are */
#define MAX_COUNTED 20000000

static guint64
cut_places (HrPlan *plan, guint64 epoch)
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
  guint64 n = hr_row_plan_count (plan->rows, epoch, cut_places (plan, epoch));

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
    guint64 rows = hr_row_plan_count (plan->rows, epoch, cut_places (plan, epoch));
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
  set_n_steps (plan, n);
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

/* an epoch begins: from here on, what is known is used */
static void
begin_epoch (HrPlan *plan)
{
  guint64 n;

  plan->begun = TRUE;
  if (plan->sequence != NULL || !hr_plan_has_samples (plan) || !has_all_tables (plan))
    return;
  plan->sequence = hr_sequence_new (plan->objects, plan->tables, &plan->rules, plan->rules.seed);
  n = plan->mix != NULL ? hr_mix_get_length (plan->mix) : hr_sequence_get_length (plan->sequence);
  set_length (plan, n);
  count_steps (plan);
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

/* ---- the beginning ---- */

static gboolean
check_rules (const HrPlan *plan, GError **error)
{
  const HrPlanOrders *orders = &plan->orders;

  if (!hr_plan_has_samples (plan)
      && (plan->rules.shuffle != HR_SHUFFLE_NONE || plan->rules.epochs != 1
          || orders->shard.world > 1 || orders->mix != NULL)) {
    g_set_error_literal (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                         "shuffle, epochs, rank, world and mix are about samples, and no element "
                         "behind it makes any of its lines: jsonlparse does");
    return FALSE;
  }
  for (guint i = 0; i < plan->objects->len; i++)
    if (hr_plan_get_object (plan, i)->size < 0
        && (plan->rules.shuffle != HR_SHUFFLE_NONE || plan->rules.epochs != 1
            || orders->mix != NULL)) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                   "%s: is no regular file: it can be read once, from its beginning to its end, so "
                   "shuffle=none epochs=1 only, and not in a mix",
                   hr_plan_get_object (plan, i)->uri);
      return FALSE;
    }
  return TRUE;
}

/* a checkpoint may say anything */
static gboolean
check_start (const HrPlan *plan, GError **error)
{
  if (plan->rules.shuffle != HR_SHUFFLE_NONE || plan->unit_byte == 0
      || (plan->unit < plan->objects->len
          && plan->unit_byte <= hr_plan_get_object (plan, (guint)plan->unit)->size))
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
               "this is no checkpoint: byte %" G_GINT64_FORMAT " of object %" G_GUINT64_FORMAT
               ", where it says that lines go on, is not in the data",
               plan->unit_byte, plan->unit);
  return FALSE;
}

static char *
identify (const GArray *objects)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  for (guint i = 0; i < objects->len; i++) {
    const HrObject *object = &g_array_index (objects, HrObject, i);
    g_autofree char *line =
        g_strdup_printf ("%s\n%" G_GINT64_FORMAT "\n%s\n", object->key, object->size,
                         object->etag != NULL ? object->etag : "");

    g_checksum_update (sum, (const guchar *)line, -1);
  }
  return g_strdup (g_checksum_get_string (sum));
}

const char *
hr_plan_get_identity (const HrPlan *plan)
{
  return plan->identity;
}

gboolean
hr_plan_begin (HrPlan *plan, const HrPlanRules *rules, GError **error)
{
  g_return_val_if_fail (plan->listed && rules->read_bytes > 0, FALSE);
  plan->rules = *rules;
  if (plan->orders.seed >= 0)
    plan->rules.seed = (guint64)plan->orders.seed;
  if (plan->orders.epochs >= 0)
    plan->rules.epochs = (guint64)plan->orders.epochs;
  if (plan->orders.shuffle >= 0)
    plan->rules.shuffle = (HrShuffle)plan->orders.shuffle;
  if (plan->orders.wants_object != NULL) {
    plan->rules.shuffle = HR_SHUFFLE_NONE;
    plan->rules.epochs = 1;
  }
  plan->identity = identify (plan->objects);
  if (!check_rules (plan, error))
    return FALSE;
  if (plan->orders.check_data != NULL
      && !plan->orders.check_data (plan->orders.check_user, plan, error))
    return FALSE;
  if (!check_start (plan, error))
    return FALSE;
  for (guint i = 0; plan->rules.shuffle == HR_SHUFFLE_WINDOW && i < plan->objects->len; i++)
    hr_sums_add (plan->first_block, hr_sequence_count_blocks (hr_plan_get_object (plan, i)->size,
                                                              plan->rules.block_bytes));
  if (plan->n_known)
    count_steps (plan); /* the checkpoint says it */
  return TRUE;
}

void
hr_plan_set_start (HrPlan *plan, const HrPlanStart *start)
{
  plan->epoch = start->epoch;
  plan->start = hr_wrong (HR_WRONG_NO_START) ? (guint64)start->first : (guint64)start->place;
  plan->unit = start->unit;
  plan->unit_byte = start->byte;
  plan->n_found = (guint64)start->first;
  if (start->n_lines >= 0)
    set_length (plan, (guint64)start->n_lines);
}

/* ---- reads ---- */

static HrRead *
new_read (const HrPlan *plan, HrReadMode mode)
{
  HrRead *read = g_new0 (HrRead, 1);

  read->mode = mode;
  read->epoch = plan->epoch;
  read->extents = g_array_new (FALSE, FALSE, sizeof (HrExtent));
  read->wanted = g_array_new (FALSE, FALSE, sizeof (HrWanted));
  return read;
}

void
hr_read_free (HrRead *read)
{
  g_array_unref (read->extents);
  g_array_unref (read->wanted);
  g_free (read);
}

/* ---- where lines stand ---- */

/* what is older than the epoch before this one is of no use any more */
static void
forget_marks (GArray *marks, guint epoch)
{
  guint n = 0;

  while (n < marks->len && g_array_index (marks, HrPlanStart, n).epoch + 1 < epoch)
    n++;
  if (n > 0)
    g_array_remove_range (marks, 0, n);
}

static void
add_mark (HrPlan *plan, const HrPlanStart *mark)
{
  const HrPlanStart *last =
      plan->marks->len > 0 ? &g_array_index (plan->marks, HrPlanStart, plan->marks->len - 1) : NULL;

  if (last != NULL && last->epoch == mark->epoch && last->first == mark->first)
    return;
  hr_mutex_lock (&plan->lock);
  forget_marks (plan->marks, mark->epoch);
  g_array_append_val (plan->marks, *mark);
  hr_mutex_unlock (&plan->lock);
}

/* ---- … of lines that are known ---- */

typedef struct {
  HrExtent extent;
  guint wanted; /* whose it is */
} Piece;

static gint
compare_pieces (gconstpointer a, gconstpointer b)
{
  const HrExtent *x = &((const Piece *)a)->extent, *y = &((const Piece *)b)->extent;

  if (x->object != y->object)
    return x->object < y->object ? -1 : 1;
  return (x->start > y->start) - (x->start < y->start);
}

/* in the order of the bytes, what lies close together in one */
static void
merge_pieces (HrRead *read, GArray *pieces)
{
  g_array_sort (pieces, compare_pieces);
  for (guint i = 0; i < pieces->len; i++) {
    const Piece *piece = &g_array_index (pieces, Piece, i);
    HrExtent *last = read->extents->len > 0
                         ? &g_array_index (read->extents, HrExtent, read->extents->len - 1)
                         : NULL;

    if (last != NULL && last->object == piece->extent.object
        && piece->extent.start - last->end <= MAX_GAP)
      last->end = MAX (last->end, piece->extent.end);
    else
      g_array_append_val (read->extents, piece->extent);
    g_array_index (read->wanted, HrWanted, piece->wanted).extent = read->extents->len - 1;
  }
}

/* returns its bytes; @wanted says the place, the rest is filled in */
static guint64
want_line_of (HrPlan *plan, HrRead *read, GArray *pieces, guint object, guint64 line,
              HrWanted *wanted)
{
  Piece piece = { .extent = { .object = object }, .wanted = read->wanted->len };

  hr_sequence_get_extent (plan->sequence, object, line, &piece.extent.start, &piece.extent.end);
  wanted->byte = piece.extent.start;
  wanted->line = hr_line_table_get_line (plan->tables->pdata[object], line);
  g_array_append_val (read->wanted, *wanted);
  if (wanted->extent == HR_NO_EXTENT)
    return 0;
  g_array_append_val (pieces, piece);
  return (guint64)(piece.extent.end - piece.extent.start);
}

static guint64
want_line (HrPlan *plan, HrRead *read, GArray *pieces, guint64 place)
{
  HrWanted wanted = { .place = (gint64)place };
  HrMixed at = { .pass = read->epoch, .index = place };
  guint object;
  guint64 line;

  if (plan->mix != NULL)
    hr_mix_locate (plan->mix, read->epoch, place, &at);
  hr_sequence_locate (plan->sequence, at.pass, at.index, &object, &line);
  return want_line_of (plan, read, pieces, object, line, &wanted);
}

/* all lines of a packed row; those that make no sample need not be read */
static guint64
want_row (HrPlan *plan, HrRead *read, GArray *pieces, guint64 row)
{
  guint64 bytes = 0;

  hr_row_plan_get (plan->rows, read->epoch, cut_places (plan, read->epoch), row, plan->members);
  for (guint i = 0; i < plan->members->len; i++) {
    const HrRowMember *member = &g_array_index (plan->members, HrRowMember, i);
    HrWanted wanted = { .extent = member->hole ? HR_NO_EXTENT : 0,
                        .place = (gint64)member->place,
                        .row = { (guint)row, i + 1 == plan->members->len },
                        .left_out = member->hole,
                        .dropped = member->dropped,
                        .kind = member->kind,
                        .object = member->object };

    bytes += want_line_of (plan, read, pieces, member->object, member->line, &wanted);
  }
  return bytes;
}

static gboolean
is_full (const HrPlan *plan, const HrRead *read, guint n_lines, guint64 bytes)
{
  gboolean scattered = plan->rules.shuffle != HR_SHUFFLE_NONE || plan->orders.shard.world > 1;

  return n_lines >= (scattered ? MAX_EXTENTS : MAX_WANTED) || bytes >= plan->rules.read_bytes
         || read->wanted->len >= MAX_WANTED;
}

/* who goes on may not know what is known here */
static void
mark_known (HrPlan *plan, guint epoch, guint64 place)
{
  HrPlanStart mark = { .epoch = epoch };
  guint64 first;

  if (plan->rules.shuffle == HR_SHUFFLE_FULL || plan->mix != NULL || plan->orders.next_unit != NULL)
    return;
  hr_sequence_find_unit (plan->sequence, epoch, place, &mark.unit, &mark.byte, &first);
  mark.first = (gint64)first;
  add_mark (plan, &mark);
}

static HrPlanNext
read_known (HrPlan *plan, HrRead **result)
{
  g_autoptr (HrRead) read = new_read (plan, HR_READ_LINES);
  g_autoptr (GArray) pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  guint64 epoch, place, bytes = 0;
  HrCursorNext next = HR_CURSOR_END;

  while (!is_full (plan, read, pieces->len, bytes)) {
    next = peek (plan, &epoch, &place);
    if (next == HR_CURSOR_LATER || next == HR_CURSOR_END
        || (read->wanted->len > 0 && epoch != read->epoch))
      break;
    read->epoch = (guint)epoch;
    if (next == HR_CURSOR_LINE && plan->rows != NULL) {
      bytes += want_row (plan, read, pieces, place);
    } else if (next == HR_CURSOR_LINE) {
      if (pieces->len == 0)
        mark_known (plan, read->epoch, place);
      bytes += want_line (plan, read, pieces, place);
    } else {
      HrWanted pad = { .extent = HR_NO_EXTENT, .place = (gint64)place };

      if (plan->rows != NULL)
        pad.row = (HrRowMark){ (guint)place, TRUE };

      g_array_append_val (read->wanted, pad);
    }
    hr_cursor_advance (&plan->cursor);
  }
  if (read->wanted->len == 0)
    return next == HR_CURSOR_LATER ? HR_PLAN_LATER : HR_PLAN_END;
  merge_pieces (read, pieces);
  plan->n_out++;
  *result = g_steal_pointer (&read);
  return HR_PLAN_READ;
}

/* ---- … of lines that are found while they are read ---- */

static HrRead *
read_object (HrPlan *plan)
{
  HrRead *read = new_read (plan, HR_READ_STREAM);
  HrExtent extent = { .object = (guint)plan->unit };

  extent.start = plan->unit_byte;
  extent.end = hr_plan_get_object (plan, extent.object)->size;
  g_array_append_val (read->extents, extent);
  plan->unit++;
  plan->unit_byte = 0;
  return read;
}

static HrExtent
get_block (const HrPlan *plan, guint64 number)
{
  HrExtent extent = { .object = (guint)hr_sums_find (plan->first_block, number) };
  guint64 bytes = plan->rules.block_bytes;

  extent.start = (gint64)((number - hr_sums_get (plan->first_block, extent.object)) * bytes);
  extent.end = MIN (hr_plan_get_object (plan, extent.object)->size, extent.start + (gint64)bytes);
  return extent;
}

static HrRead *
read_group (HrPlan *plan)
{
  HrRead *read = new_read (plan, HR_READ_GROUP);
  guint64 key = hr_permute_key (plan->rules.seed, plan->epoch, HR_KEY_BLOCKS, 0);
  guint64 first = plan->unit * plan->rules.window_blocks;
  guint64 n_blocks = hr_sums_get_last (plan->first_block);

  for (guint64 i = first; i < MIN (first + plan->rules.window_blocks, n_blocks); i++) {
    HrExtent extent = get_block (plan, hr_permute (key, n_blocks, i));

    g_array_append_val (read->extents, extent);
  }
  read->group = plan->unit++;
  return read;
}

static gboolean
has_more_units (const HrPlan *plan)
{
  if (plan->enough)
    return FALSE;
  if (plan->n_known && plan->n_found >= plan->n)
    return FALSE;
  if (plan->rules.shuffle == HR_SHUFFLE_NONE)
    return plan->unit < plan->objects->len;
  return plan->unit * plan->rules.window_blocks < hr_sums_get_last (plan->first_block);
}

/* how many places of the epoch the run wants, as far as can be said now */
static guint64
wanted_end (const HrPlan *plan)
{
  guint64 end = G_MAXINT64;

  if (plan->n_known)
    return plan->n;
  /* the first epoch: nothing has been used up before it */
  if (plan->orders.limit > 0)
    end = MIN (end, plan->orders.limit);
  if (plan->orders.steps > 0)
    end = MIN (end, plan->orders.steps * hr_shard_step_size (&plan->orders.shard));
  return end;
}

/* ---- … and of nothing ---- */

/* the rest of the epoch's last step */
static HrRead *
read_padding (HrPlan *plan)
{
  HrRead *read = new_read (plan, HR_READ_PADDING);
  guint64 end = hr_shard_round (&plan->orders.shard, plan->n);

  read->complete = (gint64)MIN (plan->n, end);
  for (guint64 place = MAX (plan->n, plan->start); place < end; place++)
    if (hr_shard_owns (&plan->orders.shard, place)) {
      HrWanted wanted = { .place = (gint64)place };

      g_array_append_val (read->wanted, wanted);
    }
  return read;
}

static void
next_epoch (HrPlan *plan)
{
  plan->epoch++;
  plan->start = plan->unit = plan->n_found = 0;
  plan->begun = plan->padded = FALSE;
  plan->n = cut (plan, (guint64)plan->n_lines);
}

static gboolean
is_over (const HrPlan *plan)
{
  if (plan->rules.epochs > 0 && plan->epoch >= plan->rules.epochs)
    return TRUE;
  if (plan->enough && plan->padded)
    return TRUE;
  /* no further epoch has a step either */
  return plan->n_known
         && (hr_plan_has_samples (plan) ? hr_shard_round (&plan->orders.shard, plan->n) : plan->n)
                == 0;
}

HrPlanNext
hr_plan_next (HrPlan *plan, HrRead **read)
{
  g_return_val_if_fail (plan->rules.read_bytes > 0, HR_PLAN_END);
  *read = NULL;
  if (plan->orders.mix != NULL && plan->mix == NULL) {
    plan->mix = hr_mix_run_wait (plan->orders.mix, plan->orders.closed, plan->orders.stopping);
    if (plan->mix == NULL)
      return HR_PLAN_LATER;
  }
  for (;;) {
    if (!plan->begun)
      begin_epoch (plan);
    if (plan->sequence != NULL)
      return read_known (plan, read);
    if (is_over (plan))
      return HR_PLAN_END;
    if (has_more_units (plan)) {
      *read = plan->rules.shuffle == HR_SHUFFLE_NONE ? read_object (plan) : read_group (plan);
    } else if (plan->n_out > 0) {
      return HR_PLAN_LATER;
    } else if (plan->enough) {
      plan->n = wanted_end (plan);
      set_n_steps (plan, (gint64)(hr_shard_round (&plan->orders.shard, plan->n)
                                  / hr_shard_step_size (&plan->orders.shard)));
    } else if (!plan->n_known) {
      set_length (plan, plan->n_found);
      count_steps (plan);
    }
    if (*read == NULL && hr_plan_has_samples (plan) && !plan->padded) {
      plan->padded = TRUE;
      *read = read_padding (plan);
    }
    if (*read != NULL) {
      plan->n_out++;
      return HR_PLAN_READ;
    }
    next_epoch (plan);
  }
}

void
hr_plan_end_read (HrPlan *plan, HrRead *read)
{
  plan->n_out--;
  hr_read_free (read);
}

/* ---- places ---- */

void
hr_plan_mark (HrPlan *plan, const HrRead *read, gint64 byte)
{
  HrPlanStart mark = { .epoch = read->epoch, .first = (gint64)plan->n_found, .byte = byte };

  mark.unit =
      read->mode == HR_READ_GROUP ? read->group : g_array_index (read->extents, HrExtent, 0).object;
  /* lines before it have been passed over: nothing is known about its place */
  if (plan->n_found >= wanted_end (plan))
    return;
  add_mark (plan, &mark);
}

void
hr_plan_find_start (HrPlan *plan, guint epoch, gint64 place, HrPlanStart *start)
{
  *start = (HrPlanStart){ .epoch = epoch };
  hr_mutex_lock (&plan->lock);
  for (guint i = plan->marks->len; i-- > 0;) {
    const HrPlanStart *mark = &g_array_index (plan->marks, HrPlanStart, i);

    if (mark->epoch == epoch && mark->first <= place) {
      *start = *mark;
      break;
    }
  }
  hr_mutex_unlock (&plan->lock);
  start->place = place;
  start->n_lines = __atomic_load_n (&plan->n_lines, __ATOMIC_RELAXED);
}

gboolean
hr_plan_place (HrPlan *plan, HrRead *read, guint n, GArray *placed)
{
  guint64 first = plan->n_found, end = wanted_end (plan);
  gboolean shuffled = read->mode == HR_READ_GROUP;
  guint64 key = 0;

  if (shuffled) /* ended reads before this one have been its groups */
    key = hr_permute_key (plan->rules.seed, read->epoch, HR_KEY_GROUP, read->group);
  for (guint i = 0; i < n; i++) {
    HrPlaced one = { .place = (gint64)(first + i) };

    one.again = first + i < plan->start;
    if (hr_plan_has_samples (plan) && !one.again
        && (first + i >= end || !hr_shard_owns (&plan->orders.shard, first + i)))
      continue;
    one.index = shuffled ? (guint)hr_permute (key, n, i) : i;
    g_array_append_val (placed, one);
  }
  plan->n_found += n;
  plan->enough = plan->n_found >= end && !plan->n_known;
  return plan->n_found < end;
}

void
hr_plan_count_again (HrPlan *plan, guint64 n_lines, guint64 n_bytes)
{
  __atomic_fetch_add (&plan->again_lines, n_lines, __ATOMIC_RELAXED);
  __atomic_fetch_add (&plan->again_bytes, n_bytes, __ATOMIC_RELAXED);
}

void
hr_plan_get_again (const HrPlan *plan, guint64 *n_lines, guint64 *n_bytes)
{
  *n_lines = __atomic_load_n (&plan->again_lines, __ATOMIC_RELAXED);
  *n_bytes = __atomic_load_n (&plan->again_bytes, __ATOMIC_RELAXED);
}

gint64
hr_plan_get_complete (const HrPlan *plan)
{
  guint64 size = hr_shard_step_size (&plan->orders.shard);

  if (!plan->orders.shard.drop_last)
    return G_MAXINT64;
  return (gint64)(MIN (plan->n_found, wanted_end (plan)) / size * size);
}
