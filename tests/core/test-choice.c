/* test-choice.c: workers start the costliest of a step first, and nothing else changes by it */
#include "hr-link.h"
#include "small.h"

#define PRIME 1009 /* as modulus: no two cost the same */

typedef struct {
  SmallRig rig;
  HrElement *pool;
  gint64 n;         /* samples */
  guint n_units;    /* hook calls of a run: samples, or members */
  guint groups[2];  /* samples in a step of each sink; 0: no such sink */
  guint per_sample; /* units are numbered so */
  gint64 modulus;
  HrMutex lock;
  GArray *order; /* gint64 units as they are started */
} Test;

static void
set_up (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  small_rig_set_up (&test->rig);
  hr_mutex_init (&test->lock);
  test->order = g_array_new (FALSE, FALSE, sizeof (gint64));
  test->per_sample = 1;
  test->modulus = PRIME;
  test->n = 32;
  test->n_units = 32;
}

static void
tear_down (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  g_array_unref (test->order);
  hr_mutex_clear (&test->lock);
  small_rig_tear_down (&test->rig);
}

static gint64
count_queued (Test *test)
{
  HrLink *link = test->pool->inputs->pdata[0];
  gint64 n;

  hr_mutex_lock (&link->lock);
  n = link->accepted;
  hr_mutex_unlock (&link->lock);
  return n;
}

static guint
count_started (Test *test)
{
  guint n;

  hr_mutex_lock (&test->lock);
  n = test->order->len;
  hr_mutex_unlock (&test->lock);
  return n;
}

/* Two workers wait until all is queued. One of them then holds on to what it has until the other
 * has started all the rest: alone, so in an order that is certain. */
static gboolean
record (gpointer data, gint64 unit, HrOut *out, GError **error G_GNUC_UNUSED)
{
  Test *test = data;
  guint index;

  hr_mutex_lock (&test->lock);
  index = test->order->len;
  g_array_append_val (test->order, unit);
  hr_mutex_unlock (&test->lock);
  while (index < 2 && count_queued (test) < test->n && !hr_out_is_closed (out))
    g_usleep (200);
  while (index == 0 && count_started (test) < test->n_units && !hr_out_is_closed (out))
    g_usleep (200);
  return TRUE;
}

static gboolean
is_later_step (const Test *test, gint64 a, gint64 b)
{
  gboolean later = FALSE;

  for (guint i = 0; i < 2 && test->groups[i] > 0; i++)
    later |= a / test->per_sample / test->groups[i] > b / test->per_sample / test->groups[i];
  return later;
}

/* must @a have been started before @b? */
static gboolean
is_right (const Test *test, gint64 a, gint64 b)
{
  guint64 left = small_cost (a, test->modulus), right = small_cost (b, test->modulus);

  if (is_later_step (test, a, b) || is_later_step (test, b, a))
    return is_later_step (test, b, a);
  return left != right ? left > right : a < b;
}

static void
assert_order (const Test *test)
{
  g_assert_cmpuint (test->order->len, ==, test->n_units);
  for (guint i = 2; i + 1 < test->order->len; i++) {
    gint64 a = g_array_index (test->order, gint64, i);
    gint64 b = g_array_index (test->order, gint64, i + 1);

    if (!is_right (test, a, b))
      g_error ("%d is started before %d", (int)a, (int)b);
  }
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  gint64 left = *(const gint64 *)a, right = *(const gint64 *)b;

  return left < right ? -1 : left > right;
}

static void
use_pool (Test *test, HrElement *pool)
{
  test->pool = pool;
  small_set (pool, "queue-items", "1000");
  small_set (pool, "window", "1000");
}

/* source ! pool ! batch of 8 ! prefetchqueue: four steps are released at once */
static void
link_batched (Test *test, HrElement *before)
{
  HrPipeline *pipeline = test->rig.pipeline;
  HrElement *source = small_source (pipeline, "source", test->n, NULL, NULL);

  test->groups[0] = 8;
  if (before != NULL)
    small_link (pipeline, source, before, test->pool, NULL);
  else
    small_link (pipeline, source, test->pool, NULL);
  small_link (pipeline, test->pool, small_batch (pipeline, "batch", 8),
              small_prefetch (pipeline, "prefetch", 3, 0),
              small_sink (pipeline, "sink", &test->rig.sink), NULL);
}

static void
test_batched (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  use_pool (test, small_weighed (test->rig.pipeline, "pool", 2, PRIME, record, test));
  link_batched (test, NULL);
  small_run (test->rig.pipeline);
  assert_order (test);
  small_assert_counts (&test->rig.sink, test->n);
}

static void
test_equal_costs (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  test->modulus = 3;
  use_pool (test, small_weighed (test->rig.pipeline, "pool", 2, 3, record, test));
  link_batched (test, NULL);
  small_run (test->rig.pipeline);
  assert_order (test);
  small_assert_counts (&test->rig.sink, test->n);
}

static void
test_unordered (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  use_pool (test, small_weighed (test->rig.pipeline, "pool", 2, PRIME, record, test));
  small_set (test->pool, "ordered", "false");
  link_batched (test, NULL);
  small_run (test->rig.pipeline);
  assert_order (test);
  g_array_sort (test->rig.sink.values, compare);
  small_assert_counts (&test->rig.sink, test->n);
}

/* members are what is started: those of a sample that has been begun and of others that have not */
static void
test_members (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  test->per_sample = 4;
  test->n_units = 8 * (0 + 1 + 2 + 3);
  use_pool (test, small_weighed_each (test->rig.pipeline, "pool", 2, PRIME, record, test));
  link_batched (test, small_lists (test->rig.pipeline, "lists"));
  small_run (test->rig.pipeline);
  assert_order (test);
  small_assert_counts (&test->rig.sink, test->n);
}

/* each sample is a step */
static void
test_without_batch (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  HrPipeline *pipeline = test->rig.pipeline;

  test->groups[0] = 1;
  use_pool (test, small_weighed (pipeline, "pool", 2, PRIME, record, test));
  small_link (pipeline, small_source (pipeline, "source", test->n, NULL, NULL), test->pool,
              small_sink (pipeline, "sink", &test->rig.sink), NULL);
  small_run (pipeline);
  assert_order (test);
  /* the first two are popped in order, and noted in any */
  g_assert_cmpint (
      MAX (g_array_index (test->order, gint64, 0), g_array_index (test->order, gint64, 1)), ==, 1);
  for (gint64 i = 2; i < test->n; i++)
    g_assert_cmpint (g_array_index (test->order, gint64, i), ==, i);
}

/* steps of 6 and of 4: only the pieces between all their borders come into hand as one */
static void
test_two_sinks (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  HrPipeline *pipeline = test->rig.pipeline;
  HrElement *tee = small_tee (pipeline, "tee");
  SmallSink other;

  small_sink_init (&other);
  test->n = test->n_units = 24;
  test->groups[0] = 6;
  test->groups[1] = 4;
  use_pool (test, small_weighed (pipeline, "pool", 2, PRIME, record, test));
  small_link (pipeline, small_source (pipeline, "source", test->n, NULL, NULL), test->pool, tee,
              small_batch (pipeline, "six", 6), small_prefetch (pipeline, "q6", 3, 0),
              small_sink (pipeline, "sink", &test->rig.sink), NULL);
  small_link (pipeline, tee, small_batch (pipeline, "four", 4),
              small_prefetch (pipeline, "q4", 5, 0), small_sink (pipeline, "other", &other), NULL);
  small_run (pipeline);
  assert_order (test);
  small_assert_counts (&test->rig.sink, test->n);
  small_assert_counts (&other, test->n);
  small_sink_clear (&other);
}

/* a window of 4: never more than 3 beyond the lowest that has not left */
static void
test_window (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  gint64 first;

  use_pool (test, small_weighed (test->rig.pipeline, "pool", 2, PRIME, record, test));
  small_set (test->pool, "window", "4");
  test->n_units = 4; /* so many can be started while one is held */
  link_batched (test, NULL);
  small_run (test->rig.pipeline);
  first = g_array_index (test->order, gint64, 0);
  for (gint64 i = 0; i < 4; i++) /* when it is started, at most i have left, and not the first */
    g_assert_cmpint (g_array_index (test->order, gint64, i), <, MIN (first, i) + 4);
  small_assert_counts (&test->rig.sink, test->n);
}

/* Half of the bytes that the window may hold are there: the lowest number, so that something can
 * leave; a sample has 8 bytes. */
static void
test_bytes (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  HrPipeline *pipeline = test->rig.pipeline;
  gboolean started[32] = { FALSE }, done[32] = { FALSE };
  guint emitted = 0, n_by_number = 0, n_by_cost = 0;

  use_pool (test, small_weighed (pipeline, "pool", 2, PRIME, record, test));
  small_set (test->pool, "queue-bytes", "256");
  small_link (pipeline, small_source (pipeline, "source", 32, NULL, NULL), test->pool,
              small_batch (pipeline, "batch", 32), small_sink (pipeline, "sink", &test->rig.sink),
              NULL);
  small_run (pipeline);
  for (guint i = 0; i < 32; i++) {
    gint64 unit = g_array_index (test->order, gint64, i);
    guint n_done = 0, lowest = 0, costliest = 0;

    for (guint k = emitted; k < 32; k++)
      n_done += done[k];
    while (started[lowest])
      lowest++;
    for (guint k = costliest = lowest; k < 32; k++)
      if (!started[k] && small_cost (k, PRIME) > small_cost (costliest, PRIME))
        costliest = k;
    if (i >= 2)
      g_assert_cmpint (unit, ==, n_done * 8 > 128 ? lowest : costliest);
    n_by_number += n_done * 8 > 128;
    n_by_cost += i >= 2 && n_done * 8 <= 128;
    started[unit] = TRUE;
    done[unit] = i > 0; /* the first is held */
    while (emitted < 32 && done[emitted])
      emitted++;
  }
  g_assert_cmpuint (n_by_number, >, 3);
  g_assert_cmpuint (n_by_cost, >, 3);
  small_assert_counts (&test->rig.sink, 32);
}

/* ---- permits ---- */

static gboolean
record_permits (gpointer data, gint64 unit, HrOut *out, GError **error G_GNUC_UNUSED)
{
  Test *test = data;
  HrGateStats stats;
  guint index;

  hr_mutex_lock (&test->lock);
  index = test->order->len;
  g_array_append_val (test->order, unit);
  hr_mutex_unlock (&test->lock);
  do {
    g_usleep (200);
    hr_gate_get_stats (test->rig.pipeline->cpus, &stats);
  } while (index == 0 && stats.n_waiting < 7 && !hr_out_is_closed (out));
  return TRUE;
}

/* one processor, eight workers, each with its sample of one of two steps */
static void
test_permits (Test *test, gconstpointer data G_GNUC_UNUSED)
{
  HrPipeline *pipeline = test->rig.pipeline;
  HrElement *pool = small_weighed_compute (pipeline, "pool", 8, PRIME, record_permits, test);

  test->n = test->n_units = 8;
  test->groups[0] = 4;
  small_set_pipeline (pipeline, "cpus", "1");
  small_link (pipeline, small_source (pipeline, "source", 8, NULL, NULL), pool,
              small_batch (pipeline, "batch", 4), small_prefetch (pipeline, "prefetch", 1, 0),
              small_sink (pipeline, "sink", &test->rig.sink), NULL);
  small_run (pipeline);
  assert_order (test);
  small_assert_counts (&test->rig.sink, 8);
}

/* ---- what comes of it ---- */

typedef struct {
  gboolean serial, members, ordered;
  guint workers;
} Way;

static void
test_outcome (Test *test, gconstpointer data)
{
  const Way *way = data;
  HrPipeline *pipeline = test->rig.pipeline;

  test->n = 500;
  if (way->serial)
    small_set_pipeline (pipeline, "serial", "true");
  test->pool = way->members
                   ? small_weighed_each (pipeline, "pool", way->workers, 7, small_sleep, NULL)
                   : small_weighed (pipeline, "pool", way->workers, 7, small_sleep, NULL);
  if (!way->ordered)
    small_set (test->pool, "ordered", "false");
  link_batched (test, small_lists (pipeline, "lists"));
  small_run (pipeline);
  if (!way->ordered)
    g_array_sort (test->rig.sink.values, compare);
  small_assert_counts (&test->rig.sink, test->n);
}

static void
add (const char *name, void (*function) (Test *test, gconstpointer data), gconstpointer data)
{
  g_test_add (name, Test, data, set_up, function, tear_down);
}

static const Way ways[] = {
  { TRUE, FALSE, TRUE, 4 },   { FALSE, FALSE, TRUE, 1 }, { FALSE, FALSE, TRUE, 4 },
  { FALSE, FALSE, FALSE, 4 }, { TRUE, TRUE, TRUE, 4 },   { FALSE, TRUE, TRUE, 1 },
  { FALSE, TRUE, TRUE, 4 },   { FALSE, TRUE, FALSE, 4 },
};

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("/choice/batched", test_batched, NULL);
  add ("/choice/equal-costs", test_equal_costs, NULL);
  add ("/choice/unordered", test_unordered, NULL);
  add ("/choice/members", test_members, NULL);
  add ("/choice/without-batch", test_without_batch, NULL);
  add ("/choice/two-sinks", test_two_sinks, NULL);
  add ("/choice/window", test_window, NULL);
  add ("/choice/bytes", test_bytes, NULL);
  add ("/choice/permits", test_permits, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++) {
    g_autofree char *name = g_strdup_printf (
        "/choice/outcome/%s-%s-%u%s", ways[i].serial ? "serial" : "parallel",
        ways[i].members ? "each" : "plain", ways[i].workers, ways[i].ordered ? "" : "-unordered");

    add (name, test_outcome, &ways[i]);
  }
  return g_test_run ();
}
