/* test-fault.c: what a bad sample does: a hole in its place, or the end; and who hears of it */
#include "small.h"
#include <string.h>

/* one of @data is bad */
static gboolean
bad_every (gpointer data, gint64 value, HrOut *out G_GNUC_UNUSED, GError **error)
{
  if ((value + 1) % GPOINTER_TO_INT (data) != 0)
    return TRUE;
  hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD, "%d is bad", (int)value);
  return FALSE;
}

/* source ! pool ! batch ! sink */
static HrElement *
with_batch (SmallRig *rig, gint64 n, guint workers, guint every, guint batch)
{
  HrElement *pool =
      small_light (rig->pipeline, "pool", workers, bad_every, GUINT_TO_POINTER (every));

  small_link (rig->pipeline, small_source (rig->pipeline, "source", n, NULL, NULL), pool,
              small_batch (rig->pipeline, "batch", batch),
              small_sink (rig->pipeline, "sink", &rig->sink), NULL);
  return pool;
}

static void
assert_stat (SmallRig *rig, const char *text)
{
  g_autofree char *stats = hr_pipeline_get_stats (rig->pipeline);

  if (strstr (stats, text) == NULL)
    g_error ("no %s in %s", text, stats);
}

/* a name in data can hold anything; a message is one line, and text */
static gboolean
bad_name (gpointer data G_GNUC_UNUSED, gint64 value G_GNUC_UNUSED, HrOut *out G_GNUC_UNUSED,
          GError **error)
{
  hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD,
                     "a\nb\x1b[31m\302\233\302\240\303\244 is bad");
  return FALSE;
}

static void
test_controls (void)
{
  g_autoptr (GError) error = NULL;
  SmallRig rig;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 1, NULL, NULL),
              small_light (rig.pipeline, "pool", 1, bad_name, NULL),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  g_assert_true (hr_pipeline_start (rig.pipeline, &error));
  g_assert_false (hr_pipeline_wait (rig.pipeline, &error));
  g_assert_nonnull (strstr (error->message, "a\\nb\\x1b[31m\\u009b\302\240\303\244 is bad"));
  small_rig_tear_down (&rig);
}

static void
test_fail (void)
{
  SmallRig rig;
  g_autofree char *message = NULL;

  small_rig_set_up (&rig);
  with_batch (&rig, 100, 3, 10, 5);
  message = small_run_failing (rig.pipeline, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);
  g_assert_cmpstr (message, ==, "light \"pool\": 9 is bad");
  assert_stat (&rig, "\"exit\":1");
  small_rig_tear_down (&rig);
}

/* the batch gets shorter, no later sample moves up, and it is counted */
static void
run_skip (guint workers, gboolean serial)
{
  SmallRig rig;
  guint n_skipped = 0;
  HrMessage *message;

  small_rig_set_up (&rig);
  small_set (with_batch (&rig, 100, workers, 10, 4), "on-error", "skip");
  small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
  small_run (rig.pipeline);
  g_assert_cmpuint (rig.sink.n_buffers, ==, 25);
  g_assert_cmpuint (rig.sink.n_holes, ==, 10);
  g_assert_cmpuint (rig.sink.values->len, ==, 90);
  for (guint i = 0; i < 90; i++)
    g_assert_cmpint (g_array_index (rig.sink.values, gint64, i), ==, i + i / 9);
  assert_stat (&rig, "\"exit\":3");
  assert_stat (&rig, "\"skipped\":{\"bad-record\":10}");
  assert_stat (&rig, "\"samples\":90");
  while ((message = hr_pipeline_pop_message (rig.pipeline, 0)) != NULL) {
    if (message->type == HR_MESSAGE_SKIPPED) {
      g_assert_cmpstr (message->element, ==, "pool");
      g_assert_error (message->error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);
      n_skipped++;
    }
    hr_message_unref (message);
  }
  g_assert_cmpuint (n_skipped, ==, 10);
  small_rig_tear_down (&rig);
}

static void
test_skip (void)
{
  run_skip (1, FALSE);
  run_skip (4, FALSE);
  run_skip (1, TRUE);
}

/* a batch of holes is delivered and counts as a step */
static void
test_batch_of_holes (void)
{
  for (int serial = 0; serial < 2; serial++) {
    SmallRig rig;

    small_rig_set_up (&rig);
    with_batch (&rig, 12, 2, 1, 3);
    small_set_pipeline (rig.pipeline, "on-error", "skip");
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    small_run (rig.pipeline);
    g_assert_cmpuint (rig.sink.n_buffers, ==, 4);
    g_assert_cmpuint (rig.sink.n_holes, ==, 12);
    assert_stat (&rig, "\"steps\":4");
    small_rig_tear_down (&rig);
  }
}

/* what the element says goes before what the pipeline says */
static void
test_element_over_pipeline (void)
{
  SmallRig rig;
  g_autofree char *message = NULL;

  small_rig_set_up (&rig);
  small_set (with_batch (&rig, 100, 2, 10, 4), "on-error", "fail");
  small_set_pipeline (rig.pipeline, "on-error", "skip");
  message = small_run_failing (rig.pipeline, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);
  small_rig_tear_down (&rig);
}

/* only data errors are ever skipped */
static void
test_other_errors (void)
{
  SmallRig rig;
  g_autofree char *message = NULL;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 100, NULL, NULL),
              small_light (rig.pipeline, "pool", 2, small_fatal_at, GINT_TO_POINTER (7)),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_set_pipeline (rig.pipeline, "on-error", "skip");
  message = small_run_failing (rig.pipeline, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  small_rig_tear_down (&rig);
}

static void
test_max_errors_count (void)
{
  for (int n = 0; n < 2; n++) {
    SmallRig rig;
    HrElement *pool;

    small_rig_set_up (&rig);
    pool = with_batch (&rig, 100, 1, 10, 4);
    small_set (pool, "on-error", "skip");
    small_set (pool, "max-errors", n == 0 ? "10" : "9"); /* there are ten */
    if (n == 0) {
      small_run (rig.pipeline);
    } else {
      g_autofree char *message =
          small_run_failing (rig.pipeline, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);

      g_assert_nonnull (strstr (message, "max-errors=9 is exceeded"));
      g_assert_nonnull (strstr (message, "99 is bad"));
    }
    small_rig_tear_down (&rig);
  }
}

/* a share of the samples seen, once there are a hundred */
static void
test_max_errors_rate (void)
{
  const struct {
    guint every;
    const char *most;
    gboolean good;
  } cases[] = { { 10, "11%", TRUE },
                { 10, "9%", FALSE },
                { 100, "1%", TRUE },
                { 2, "50%", TRUE },
                { 2, "49%", FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    SmallRig rig;

    small_rig_set_up (&rig);
    with_batch (&rig, 1000, 1, cases[i].every, 4);
    small_set_pipeline (rig.pipeline, "on-error", "skip");
    small_set_pipeline (rig.pipeline, "max-errors", cases[i].most);
    /* one at a time: how many have been seen is the same in every run */
    small_set_pipeline (rig.pipeline, "serial", "true");
    if (cases[i].good) {
      small_run (rig.pipeline);
      g_assert_cmpuint (rig.sink.n_holes, ==, 1000 / cases[i].every);
    } else {
      g_autofree char *message =
          small_run_failing (rig.pipeline, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);

      g_assert_nonnull (strstr (message, cases[i].most));
      g_assert_cmpuint (rig.sink.values->len + rig.sink.n_holes, >=,
                        96); /* 100, less an open batch */
    }
    small_rig_tear_down (&rig);
  }
}

/* too many bad ones end the run at the same step, with the same words, whatever the workers do */
static void
test_max_errors_place (void)
{
  static const char *const limits[] = { "17", "4.9%", "5%" };

  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    for (guint workers = 1; workers <= 7; workers += 3) {
      g_autofree char *message = NULL;
      SmallRig rig;

      small_rig_set_up (&rig);
      with_batch (&rig, 1000, workers, 20, 6); /* bad: 19, 39, … */
      small_set_pipeline (rig.pipeline, "on-error", "skip");
      small_set_pipeline (rig.pipeline, "max-errors", limits[i]);
      if (i == 2) {
        small_run (rig.pipeline);
        g_assert_cmpuint (rig.sink.n_holes, ==, 50);
      } else {
        message = small_run_failing (rig.pipeline, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);
        g_assert_nonnull (strstr (message, i == 0 ? "359 is bad" : "99 is bad"));
        g_assert_true (i == 0 || strstr (message, "5 of 100 samples were bad"));
        /* the steps before it have been delivered, it has not */
        g_assert_cmpuint (rig.sink.values->len + rig.sink.n_holes, ==, i == 0 ? 354 : 96);
        assert_stat (&rig,
                     i == 0 ? "\"skipped\":{\"bad-record\":18}" : "\"skipped\":{\"bad-record\":5}");
      }
      small_rig_tear_down (&rig);
    }
}

/* a share is looked at as soon as it means something, though the hundredth sample is good */
static gboolean
bad_first (gpointer data, gint64 value, HrOut *out G_GNUC_UNUSED, GError **error)
{
  if (value >= GPOINTER_TO_INT (data))
    return TRUE;
  hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD, "%d is bad", (int)value);
  return FALSE;
}

static void
test_max_errors_early (void)
{
  g_autofree char *message = NULL;
  SmallRig rig;
  HrElement *pool;

  small_rig_set_up (&rig);
  pool = small_light (rig.pipeline, "pool", 3, bad_first, GINT_TO_POINTER (3));
  small_set (pool, "max-errors", "2%");
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 150, NULL, NULL), pool,
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_set_pipeline (rig.pipeline, "on-error", "skip");
  message = small_run_failing (rig.pipeline, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);
  g_assert_nonnull (strstr (message, "3 of 100 samples were bad, the last: "));
  g_assert_nonnull (strstr (message, "2 is bad"));
  g_assert_cmpuint (rig.sink.values->len, ==, 96);
  small_rig_tear_down (&rig);
}

/* 99 samples, all bad: too few to speak of a rate */
static void
test_max_errors_rate_of_few (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  with_batch (&rig, 99, 3, 1, 4);
  small_set_pipeline (rig.pipeline, "on-error", "skip");
  small_set_pipeline (rig.pipeline, "max-errors", "1%");
  small_run (rig.pipeline);
  g_assert_cmpuint (rig.sink.n_holes, ==, 99);
  small_rig_tear_down (&rig);
}

/* without an error, by the element's own choice: a hole, and counted apart */
static void
test_dropped (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 20, NULL, NULL),
              small_filter (rig.pipeline, "filter"), small_batch (rig.pipeline, "batch", 5),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_run (rig.pipeline);
  g_assert_cmpuint (rig.sink.n_buffers, ==, 4);
  g_assert_cmpuint (rig.sink.n_holes, ==, 10);
  for (guint i = 0; i < 10; i++)
    g_assert_cmpint (g_array_index (rig.sink.values, gint64, i), ==, 2 * i);
  assert_stat (&rig, "\"exit\":0");
  assert_stat (&rig, "\"dropped\":{\"policy\":10}");
  small_rig_tear_down (&rig);
}

/* one bad member makes a hole of its sample, once, however many workers are at it */
static void
test_each (void)
{
  for (guint workers = 1; workers < 6; workers += 2) {
    SmallRig rig;
    HrElement *each;

    small_rig_set_up (&rig);
    each = small_each (rig.pipeline, "each", workers, small_bad_at,
                       GINT_TO_POINTER (7)); /* 3 members */
    small_set (each, "on-error", "skip");
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 20, NULL, NULL), each,
                small_batch (rig.pipeline, "batch", 4),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_run (rig.pipeline);
    g_assert_cmpuint (rig.sink.n_holes, ==, 1);
    g_assert_cmpuint (rig.sink.values->len, ==, 19);
    assert_stat (&rig, "\"skipped\":{\"other\":1}");
    small_rig_tear_down (&rig);
  }
}

/* what both branches get is told and counted once */
static void
test_tee (void)
{
  SmallRig rig;
  SmallSink other;
  HrElement *tee;

  small_rig_set_up (&rig);
  small_sink_init (&other);
  tee = small_tee (rig.pipeline, "tee");
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 20, NULL, NULL),
              small_light (rig.pipeline, "pool", 2, small_bad_at, GINT_TO_POINTER (3)), tee,
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_link (rig.pipeline, tee, small_sink (rig.pipeline, "other", &other), NULL);
  small_set_pipeline (rig.pipeline, "on-error", "skip");
  small_run (rig.pipeline);
  assert_stat (&rig, "\"skipped\":{\"other\":1}");
  small_sink_clear (&other);
  small_rig_tear_down (&rig);
}

/* a hole in one branch is a hole behind the join */
static void
test_join (void)
{
  for (int serial = 0; serial < 2; serial++) {
    SmallRig rig;
    HrElement *tee, *join;

    small_rig_set_up (&rig);
    tee = small_tee (rig.pipeline, "tee");
    join = small_join (rig.pipeline, "join", HR_JOIN_ZIP);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 20, NULL, NULL), tee,
                small_light (rig.pipeline, "a", 2, small_bad_at, GINT_TO_POINTER (3)), join,
                small_batch (rig.pipeline, "batch", 5),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_link (rig.pipeline, tee,
                small_light (rig.pipeline, "b", 2, small_bad_at, GINT_TO_POINTER (8)), join, NULL);
    small_set_pipeline (rig.pipeline, "on-error", "skip");
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    small_run (rig.pipeline);
    g_assert_cmpuint (rig.sink.n_holes, ==, 2);
    g_assert_cmpuint (rig.sink.values->len, ==, 18);
    g_assert_cmpint (g_array_index (rig.sink.values, gint64, 3), ==, 4);
    g_assert_cmpint (g_array_index (rig.sink.values, gint64, 7), ==, 9);
    small_rig_tear_down (&rig);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fault/controls", test_controls);
  g_test_add_func ("/fault/fail", test_fail);
  g_test_add_func ("/fault/skip", test_skip);
  g_test_add_func ("/fault/batch-of-holes", test_batch_of_holes);
  g_test_add_func ("/fault/element-over-pipeline", test_element_over_pipeline);
  g_test_add_func ("/fault/other-errors", test_other_errors);
  g_test_add_func ("/fault/max-errors-count", test_max_errors_count);
  g_test_add_func ("/fault/max-errors-rate", test_max_errors_rate);
  g_test_add_func ("/fault/max-errors-place", test_max_errors_place);
  g_test_add_func ("/fault/max-errors-early", test_max_errors_early);
  g_test_add_func ("/fault/max-errors-rate-of-few", test_max_errors_rate_of_few);
  g_test_add_func ("/fault/dropped", test_dropped);
  g_test_add_func ("/fault/each", test_each);
  g_test_add_func ("/fault/tee", test_tee);
  g_test_add_func ("/fault/join", test_join);
  return g_test_run ();
}
