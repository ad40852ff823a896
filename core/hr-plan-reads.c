/* hr-plan-reads.c: what is read next, and which of the lines that are found are ours */
#include "hr-plan-struct.h"
#include "hr-permute.h"
#include "hr-sums.h"

/* gaps between wanted lines that are read rather than left out by another request */
#define MAX_GAP (64 * 1024)
/* scattered lines that are read at once */
#define MAX_EXTENTS 64
/* a set of blocks has so many at most: they are counted in 32 bits by what reads them */
#define MAX_WANTED 4096

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

/* our lines of a packed row; those that make no sample need not be read */
static guint64
want_row (HrPlan *plan, HrRead *read, GArray *pieces, guint64 row)
{
  guint64 bytes = 0;

  hr_plan_need_row (plan, read->epoch, row);
  for (guint i = 0; i < plan->members->len; i++) {
    const HrRowMember *member = &g_array_index (plan->members, HrRowMember, i);
    HrWanted wanted = { .extent = member->hole ? HR_NO_EXTENT : 0,
                        .place = (gint64)member->place,
                        .row = { (guint)row, i + 1 == plan->members->len },
                        .left_out = member->hole,
                        .dropped = member->dropped,
                        .kind = member->kind,
                        .object = member->object };

    if (hr_plan_is_ours (plan, member))
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
    next = hr_plan_peek (plan, &epoch, &place);
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

static HrRead *
read_group (HrPlan *plan)
{
  HrRead *read = new_read (plan, HR_READ_GROUP);
  guint64 first = plan->unit * plan->rules.window_blocks;
  guint64 n_blocks = hr_sums_get_last (plan->first_block);

  for (guint64 i = first; i < MIN (first + plan->rules.window_blocks, n_blocks); i++) {
    HrExtent extent =
        hr_sequence_get_block (plan->objects, plan->first_block, plan->rules.block_bytes,
                               plan->rules.seed, plan->epoch, i);

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
  plan->n = hr_plan_cut (plan, (guint64)plan->n_lines);
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
      hr_plan_begin_epoch (plan);
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
      hr_plan_set_n_steps (plan, (gint64)hr_shard_count_steps (&plan->orders.shard, plan->n));
    } else if (!plan->n_known) {
      hr_plan_set_length (plan, plan->n_found);
      hr_plan_count_steps (plan);
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
