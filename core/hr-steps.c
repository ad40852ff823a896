/* hr-steps.c */
#include "hr-steps.h"
#include "hr-rules.h"

/* rows[b]: how many the first b blocks made */
typedef struct {
  guint block;  /* samples of each, or … */
  GArray *ends; /* … gint64: where each ends, as far as that has been told; NULL: `block` counts */
  GArray *rows; /* gint64 */
} Packer;

typedef struct {
  guint group;
  Packer *packer; /* NULL: steps are groups */
  gboolean gated;
  guint64 ahead;
  gint64 asked;     /* the last step asked for, -1 before the first */
  gint64 delivered; /* the number of steps taken */
} Sink;

/* Buffers leave an unordered element in any order: all below `low` have left, and those in `out` */
typedef struct {
  guint group;
  gint64 low;
  gint64 n_left;
  GArray *out; /* gint64, sorted */
} Segment;

static void
packer_free (gpointer data)
{
  Packer *packer = data;

  g_clear_pointer (&packer->ends, g_array_unref);
  g_array_unref (packer->rows);
  g_free (packer);
}

struct _HrSteps {
  HrMutex lock;
  HrCond released_more;
  guint n_waiting;
  GArray *sinks;
  GArray *segments;
  GPtrArray *packers; /* changed with both locks */
  gint64 released;    /* samples below it may start */
  HrMutex leaf;       /* in hand and segments */
  gint64 in_hand;
  gint64 batched; /* samples below it are in a batch; see hr_steps_batched() */
};

HrSteps *
hr_steps_new (void)
{
  HrSteps *steps = g_new0 (HrSteps, 1);

  hr_mutex_init (&steps->lock);
  hr_mutex_init (&steps->leaf);
  hr_cond_init (&steps->released_more);
  steps->sinks = g_array_new (FALSE, TRUE, sizeof (Sink));
  steps->segments = g_array_new (FALSE, TRUE, sizeof (Segment));
  steps->packers = g_ptr_array_new_with_free_func (packer_free);
  steps->released = G_MAXINT64;
  return steps;
}

void
hr_steps_free (HrSteps *steps)
{
  for (guint i = 0; i < steps->segments->len; i++)
    g_array_unref (g_array_index (steps->segments, Segment, i).out);
  g_array_unref (steps->segments);
  g_array_unref (steps->sinks);
  g_ptr_array_unref (steps->packers);
  hr_cond_clear (&steps->released_more);
  hr_mutex_clear (&steps->leaf);
  hr_mutex_clear (&steps->lock);
  g_free (steps);
}

/* the blocks that make at least @n rows; one more than are made, if those are fewer */
static gint64
blocks_for (const Packer *packer, gint64 n)
{
  guint low = 0, high = packer->rows->len;

  if (packer->ends != NULL)
    return n; /* each is a row */
  while (low < high) {
    guint middle = (low + high) / 2;

    if (g_array_index (packer->rows, gint64, middle) >= n)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* the samples of the first @n blocks; as long as the last of them is open, all that come */
static gint64
block_end (const Packer *packer, gint64 n)
{
  if (packer->ends == NULL)
    return n * packer->block;
  if (n == 0)
    return 0;
  return n <= packer->ends->len ? g_array_index (packer->ends, gint64, n - 1) : G_MAXINT64;
}

/* its steps are a packer's rows */
static gboolean
takes_rows (const Sink *sink)
{
  return sink->packer != NULL && !hr_wrong (HR_WRONG_ROWS_ARE_GROUPS);
}

static gint64
released_by (const Sink *sink)
{
  if (!sink->gated || sink->ahead >= G_MAXINT32)
    return G_MAXINT64;
  if (takes_rows (sink) && sink->asked >= G_MAXINT32)
    return G_MAXINT64;
  if (takes_rows (sink))
    return block_end (sink->packer,
                      blocks_for (sink->packer, sink->asked + 1 + (gint64)sink->ahead));
  return (sink->asked + 1 + (gint64)sink->ahead) * sink->group;
}

/* the minimum over the sinks */
static gint64
compute_released (HrSteps *steps)
{
  gint64 released = G_MAXINT64;

  for (guint i = 0; i < steps->sinks->len; i++)
    released = MIN (released, released_by (&g_array_index (steps->sinks, Sink, i)));
  return released;
}

static gint64
compute_in_hand (HrSteps *steps)
{
  gint64 in_hand = G_MAXINT64;

  for (guint i = 0; i < steps->sinks->len; i++) {
    const Sink *sink = &g_array_index (steps->sinks, Sink, i);

    if (takes_rows (sink) && sink->delivered < G_MAXINT32)
      in_hand =
          MIN (in_hand, block_end (sink->packer, blocks_for (sink->packer, sink->delivered + 1)));
    else if (!takes_rows (sink))
      in_hand = MIN (in_hand, (sink->delivered + 1) * (gint64)sink->group);
  }
  return in_hand;
}

guint
hr_steps_add_sink (HrSteps *steps, guint group, gboolean gated, guint64 ahead)
{
  Sink sink = { .group = MAX (group, 1), .gated = gated, .ahead = ahead, .asked = -1 };

  g_array_append_val (steps->sinks, sink);
  steps->released = compute_released (steps);
  steps->in_hand = compute_in_hand (steps);
  return steps->sinks->len - 1;
}

guint
hr_steps_add_packer (HrSteps *steps, guint block)
{
  Packer *packer = g_new0 (Packer, 1);
  gint64 none = 0;

  packer->block = block;
  packer->rows = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_array_append_val (packer->rows, none);
  g_ptr_array_add (steps->packers, packer);
  return steps->packers->len - 1;
}

void
hr_steps_mark_blocks (HrSteps *steps)
{
  for (guint i = 0; i < steps->packers->len; i++)
    ((Packer *)g_ptr_array_index (steps->packers, i))->ends =
        g_array_new (FALSE, FALSE, sizeof (gint64));
}

/* What was open has an end now: less is released, to nobody but the one who has just told. */
void
hr_steps_end_block (HrSteps *steps, gint64 end)
{
  hr_mutex_lock (&steps->lock);
  hr_mutex_lock (&steps->leaf);
  for (guint i = 0; i < steps->packers->len; i++) {
    Packer *packer = g_ptr_array_index (steps->packers, i);

    if (packer->ends != NULL && !hr_wrong (HR_WRONG_OPEN_BLOCKS))
      g_array_append_val (packer->ends, end);
  }
  steps->in_hand = compute_in_hand (steps);
  hr_mutex_unlock (&steps->leaf);
  __atomic_store_n (&steps->released, compute_released (steps), __ATOMIC_RELAXED);
  hr_mutex_unlock (&steps->lock);
}

void
hr_steps_set_packer (HrSteps *steps, guint index, guint packer)
{
  g_array_index (steps->sinks, Sink, index).packer = g_ptr_array_index (steps->packers, packer);
  steps->released = compute_released (steps);
  steps->in_hand = compute_in_hand (steps);
}

guint
hr_steps_add_segment (HrSteps *steps, guint group)
{
  Segment segment = { .group = MAX (group, 1), .out = g_array_new (FALSE, FALSE, sizeof (gint64)) };

  g_array_append_val (steps->segments, segment);
  return steps->segments->len - 1;
}

guint
hr_steps_get_last_segment (HrSteps *steps)
{
  return steps->segments->len;
}

guint
hr_steps_get_row_segment (HrSteps *steps, guint packer)
{
  return steps->segments->len + 1 + packer;
}

/* with the lock. TRUE: somebody must be woken. What has been released stays so. */
static gboolean
release_more (HrSteps *steps)
{
  gint64 released = compute_released (steps);

  if (released <= steps->released)
    return FALSE;
  __atomic_store_n (&steps->released, released, __ATOMIC_RELAXED);
  return steps->n_waiting > 0;
}

void
hr_steps_ask (HrSteps *steps, guint index, gint64 step)
{
  Sink *sink = &g_array_index (steps->sinks, Sink, index);
  gboolean wake = FALSE;

  if (!sink->gated)
    return;
  hr_mutex_lock (&steps->lock);
  if (step > sink->asked) {
    sink->asked = step;
    wake = release_more (steps);
  }
  hr_mutex_unlock (&steps->lock);
  if (wake)
    hr_cond_broadcast (&steps->released_more);
}

gboolean
hr_steps_packed (HrSteps *steps, guint index, guint n_rows)
{
  Packer *packer = g_ptr_array_index (steps->packers, index);
  gint64 before, after, rows;
  gboolean wake;

  hr_mutex_lock (&steps->lock);
  hr_mutex_lock (&steps->leaf);
  rows = g_array_index (packer->rows, gint64, packer->rows->len - 1) + n_rows;
  g_array_append_val (packer->rows, rows);
  before = steps->in_hand;
  after = steps->in_hand = compute_in_hand (steps);
  hr_mutex_unlock (&steps->leaf);
  wake = (n_rows > 0 || !hr_wrong (HR_WRONG_EMPTY_BLOCK)) && release_more (steps);
  hr_mutex_unlock (&steps->lock);
  if (wake)
    hr_cond_broadcast (&steps->released_more);
  return after != before;
}

void
hr_steps_set_ahead (HrSteps *steps, guint index, guint64 ahead)
{
  gboolean wake;

  hr_mutex_lock (&steps->lock);
  g_array_index (steps->sinks, Sink, index).ahead = ahead;
  wake = release_more (steps);
  hr_mutex_unlock (&steps->lock);
  if (wake)
    hr_cond_broadcast (&steps->released_more);
}

gboolean
hr_steps_deliver (HrSteps *steps, guint index, gint64 step)
{
  Sink *sink = &g_array_index (steps->sinks, Sink, index);
  gint64 before, after;

  hr_mutex_lock (&steps->leaf);
  sink->delivered = step + 1;
  before = steps->in_hand;
  after = steps->in_hand = compute_in_hand (steps);
  hr_mutex_unlock (&steps->leaf);
  return after != before || sink->packer != NULL; /* there, the next row is in hand */
}

void
hr_steps_leave (HrSteps *steps, guint index)
{
  hr_steps_ask (steps, index, G_MAXINT32);
  hr_steps_deliver (steps, index, G_MAXINT32);
}

/* without the lock: released only grows, and who finds it too low waits with the lock */
gboolean
hr_steps_may_release (HrSteps *steps, gint64 sample)
{
  return sample < __atomic_load_n (&steps->released, __ATOMIC_RELAXED);
}

gboolean
hr_steps_wait_release (HrSteps *steps, gint64 sample, const gint *closed, const gint *stopping)
{
  return hr_steps_wait_release_until (steps, sample, closed, stopping, 0);
}

gboolean
hr_steps_wait_release_until (HrSteps *steps, gint64 sample, const gint *closed,
                             const gint *stopping, gint64 until)
{
  gboolean may, in_time = TRUE;

  hr_stall ();
  hr_mutex_lock (&steps->lock);
  steps->n_waiting++;
  while (in_time && sample >= steps->released && !g_atomic_int_get (closed)
         && !g_atomic_int_get (stopping)) {
    if (until > 0)
      in_time = hr_cond_wait_until (&steps->released_more, &steps->lock, until);
    else
      hr_cond_wait (&steps->released_more, &steps->lock);
  }
  steps->n_waiting--;
  may = sample < steps->released;
  hr_mutex_unlock (&steps->lock);
  return may;
}

void
hr_steps_wake (HrSteps *steps)
{
  hr_mutex_lock (&steps->lock);
  hr_cond_broadcast (&steps->released_more);
  hr_mutex_unlock (&steps->lock);
}

/* where the block begins that the sample is of */
static gint64
get_block_begin (HrSteps *steps, const Packer *packer, gint64 sample)
{
  gint64 begin = 0;
  guint low = 0, high;

  if (packer->ends == NULL)
    return sample / packer->block * packer->block;
  hr_mutex_lock (&steps->leaf);
  for (high = packer->ends->len; low < high;) {
    guint middle = (low + high) / 2;

    if (g_array_index (packer->ends, gint64, middle) > sample)
      high = middle;
    else
      low = middle + 1;
  }
  if (low > 0)
    begin = g_array_index (packer->ends, gint64, low - 1);
  hr_mutex_unlock (&steps->leaf);
  return begin;
}

/* What is in hand ends at a multiple of some sink's group or block, always. Where one begins is
 * known as soon as there is a sample of it, where it ends perhaps not. */
gint64
hr_steps_get_begin (HrSteps *steps, gint64 sample)
{
  gint64 begin = 0;

  if (hr_wrong (HR_WRONG_HEAVY_ANYWHERE))
    return 0;
  for (guint i = 0; i < steps->sinks->len; i++) {
    const Sink *sink = &g_array_index (steps->sinks, Sink, i);
    gint64 size = sink->group;

    begin = MAX (begin, sink->packer != NULL ? get_block_begin (steps, sink->packer, sample)
                                             : sample / size * size);
  }
  return begin;
}

/* the number of buffers below @number that have left */
static gint64
left_below (const Segment *segment, gint64 number)
{
  gint64 n = MIN (segment->low, number);

  for (guint i = 0; i < segment->out->len && g_array_index (segment->out, gint64, i) < number; i++)
    n++;
  return n;
}

/* Rows are larger than what they are made of, pixels behind encoded images: of those of the block
 * in hand, only the one that a sink lacks. */
static gboolean
row_in_hand (const HrSteps *steps, const Packer *packer, gint64 row)
{
  gint64 taken = G_MAXINT64;

  for (guint i = 0; i < steps->sinks->len; i++) {
    const Sink *sink = &g_array_index (steps->sinks, Sink, i);

    if (sink->packer == packer)
      taken = MIN (taken, sink->delivered);
  }
  return (row <= taken || hr_wrong (HR_WRONG_BLOCK_OF_ROWS))
         && block_end (packer, blocks_for (packer, row + 1) - 1) < steps->in_hand;
}

/* Of a segment that has let n buffers go, the (in hand - n) lowest of those that are still in it:
 * whatever leaves next gets the numbers that are missing in the step. */
gboolean
hr_steps_in_hand (gpointer data, gint64 number, guint index)
{
  HrSteps *steps = data;
  guint n_segments = steps->segments->len;
  gboolean in_hand;

  hr_mutex_lock (&steps->leaf);
  if (hr_wrong (HR_WRONG_LOWEST_UNDELIVERED)) {
    const Sink *sink = &g_array_index (steps->sinks, Sink, 0);

    in_hand = number <= sink->delivered * (gint64)sink->group;
  } else if (hr_wrong (HR_WRONG_LOWEST_UNBATCHED)) {
    const Sink *sink = &g_array_index (steps->sinks, Sink, 0);

    in_hand = number <= MAX (steps->batched, sink->delivered * (gint64)sink->group);
  } else if (index > n_segments && !hr_wrong (HR_WRONG_ROWS_ARE_GROUPS)) {
    in_hand =
        row_in_hand (steps, g_ptr_array_index (steps->packers, index - n_segments - 1), number);
  } else if (index < n_segments && !hr_wrong (HR_WRONG_NO_RESTAMP)) {
    const Segment *segment = &g_array_index (steps->segments, Segment, index);
    gint64 place = number / segment->group;
    gint64 missing = steps->in_hand / segment->group - segment->n_left;

    in_hand = place - left_below (segment, place) < missing;
  } else {
    in_hand = number < steps->in_hand;
  }
  hr_mutex_unlock (&steps->leaf);
  return in_hand;
}

void
hr_steps_left (HrSteps *steps, guint index, gint64 sample)
{
  Segment *segment = &g_array_index (steps->segments, Segment, index);
  gint64 number = sample / segment->group;
  guint i;

  hr_mutex_lock (&steps->leaf);
  hr_rule_check (number >= segment->low, "a number leaves an unordered element twice");
  segment->n_left++;
  for (i = segment->out->len; i > 0 && g_array_index (segment->out, gint64, i - 1) > number; i--)
    ;
  hr_rule_check (i == 0 || g_array_index (segment->out, gint64, i - 1) != number,
                 "a number leaves an unordered element twice");
  g_array_insert_val (segment->out, i, number);
  for (i = 0; i < segment->out->len && g_array_index (segment->out, gint64, i) == segment->low; i++)
    segment->low++;
  if (i > 0)
    g_array_remove_range (segment->out, 0, i);
  hr_mutex_unlock (&steps->leaf);
}

void
hr_steps_batched (HrSteps *steps, gint64 sample)
{
  hr_mutex_lock (&steps->leaf);
  steps->batched = MAX (steps->batched, sample + 1);
  hr_mutex_unlock (&steps->leaf);
}

gint64
hr_steps_get_released (HrSteps *steps, guint *index)
{
  gint64 released;

  hr_mutex_lock (&steps->lock);
  released = steps->released;
  for (guint i = 0; i < steps->sinks->len; i++)
    if (released_by (&g_array_index (steps->sinks, Sink, i)) == released)
      *index = i;
  hr_mutex_unlock (&steps->lock);
  return released;
}
