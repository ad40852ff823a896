/* test-serial.c: one thread, one sample at a time, and the same as everywhere else: every kind of
 * element, serial and with 1 and 4 workers */
#include "small.h"

typedef struct {
  gint inside, most, calls; /* atomic */
  GThread *thread;
} Watch;

/* how many are at work at once, and in which thread */
static gboolean
watch (gpointer data, gint64 value G_GNUC_UNUSED, HrOut *out, GError **error G_GNUC_UNUSED)
{
  Watch *watch = data;
  gint n = g_atomic_int_add (&watch->inside, 1) + 1;

  g_atomic_int_inc (&watch->calls);
  if (n > g_atomic_int_get (&watch->most))
    g_atomic_int_set (&watch->most, n);
  if (hr_out_is_serial (out)) {
    if (watch->thread == NULL)
      watch->thread = g_thread_self ();
    g_assert_true (watch->thread == g_thread_self ());
  }
  g_atomic_int_add (&watch->inside, -1);
  return TRUE;
}

typedef struct {
  SmallLive live;
  SmallSink sink;
  HrPipeline *pipeline;
  Watch watch;
} Rig;

static void
set_up (Rig *rig)
{
  *rig = (Rig){ .live = small_live () };
  small_sink_init (&rig->sink);
  rig->pipeline = hr_pipeline_new ();
}

static void
tear_down (Rig *rig)
{
  g_clear_object (&rig->pipeline);
  small_sink_clear (&rig->sink);
  small_assert_live (rig->live);
}

/* source ! pool ! each ! async ! tee ! (compute | waits) ! join ! batch ! prefetch ! light ! sink
 */
static void
everything (Rig *rig, guint workers)
{
  HrPipeline *pipeline = rig->pipeline;
  Watch *w = &rig->watch;
  HrElement *tee = small_tee (pipeline, "tee"), *join = small_join (pipeline, "join", HR_JOIN_ZIP);

  small_link (pipeline, small_source (pipeline, "source", 50, watch, w),
              small_light (pipeline, "pool", workers, watch, w),
              small_each (pipeline, "each", workers, watch, w), small_async (pipeline, "async"),
              tee, small_compute (pipeline, "compute", workers, watch, w), join,
              small_batch (pipeline, "batch", 4), small_prefetch (pipeline, "prefetch", 2, 1),
              small_light (pipeline, "late", workers, watch, w),
              small_sink (pipeline, "sink", &rig->sink), NULL);
  small_link (pipeline, tee, small_waits (pipeline, "waits", workers, watch, w), join, NULL);
}

static void
run_everything (guint workers, gboolean serial)
{
  Rig rig;

  set_up (&rig);
  everything (&rig, workers);
  small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
  small_set_pipeline (rig.pipeline, "memory", "1");
  small_run (rig.pipeline);
  small_assert_counts (&rig.sink, 50);
  g_assert_cmpuint (rig.sink.n_buffers, ==, 13);
  if (serial)
    g_assert_cmpint (rig.watch.most, ==, 1);
  /* source, pool, compute, waits: 50 each; each: 0 + 1 + 2 + 3 … members; late: 13 batches */
  g_assert_cmpint (rig.watch.calls, ==, 4 * 50 + (12 * 6 + 0 + 1) + 13);
  tear_down (&rig);
}

static void
test_everything (void)
{
  run_everything (1, TRUE);
  run_everything (1, FALSE);
  run_everything (4, FALSE);
}

static void
run_concat (HrJoin mode, gboolean serial)
{
  Rig rig;
  HrElement *join;
  gint64 sum = 0;

  set_up (&rig);
  join = small_join (rig.pipeline, "join", mode);
  small_link (rig.pipeline, small_source (rig.pipeline, "a", 30, NULL, NULL), join, NULL);
  small_link (rig.pipeline, small_source (rig.pipeline, "b", 20, NULL, NULL), join,
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
  small_run (rig.pipeline);
  g_assert_cmpuint (rig.sink.values->len, ==, mode == HR_JOIN_ZIP ? 20 : 50);
  for (guint i = 0; i < rig.sink.values->len; i++) {
    gint64 value = g_array_index (rig.sink.values, gint64, i);

    sum += value;
    if (mode != HR_JOIN_ANY)
      g_assert_cmpint (value, ==, i < 30 ? i : i - 30);
  }
  g_assert_cmpint (sum, ==, mode == HR_JOIN_ZIP ? 190 : 435 + 190);
  tear_down (&rig);
}

static void
test_joins (void)
{
  for (int serial = 0; serial < 2; serial++) {
    run_concat (HR_JOIN_ZIP, serial);
    run_concat (HR_JOIN_CONCAT, serial);
    run_concat (HR_JOIN_ANY, serial);
  }
}

/* sinks take turns, with steps of different size; a budget of one byte holds up nobody */
static void
test_two_sinks (void)
{
  for (int serial = 0; serial < 2; serial++) {
    Rig rig;
    SmallSink other;
    HrElement *tee;

    set_up (&rig);
    small_sink_init (&other);
    tee = small_tee (rig.pipeline, "tee");
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 50, NULL, NULL), tee,
                small_batch (rig.pipeline, "large", 7),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_link (rig.pipeline, tee, small_batch (rig.pipeline, "small", 2),
                small_sink (rig.pipeline, "other", &other), NULL);
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    small_set_pipeline (rig.pipeline, "memory", "1");
    small_run (rig.pipeline);
    small_assert_counts (&rig.sink, 50);
    small_assert_counts (&other, 50);
    g_assert_cmpuint (rig.sink.n_buffers, ==, 8);
    g_assert_cmpuint (other.n_buffers, ==, 25);
    small_sink_clear (&other);
    tear_down (&rig);
  }
}

/* on demand: nobody works on what the sink has not asked for */
static gboolean
last_seen (gpointer data, gint64 value, HrOut *out G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  *(gint64 *)data = value;
  return TRUE;
}

static void
test_on_demand (void)
{
  Rig rig;
  gint64 seen = -1;

  set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 100, last_seen, &seen),
              small_batch (rig.pipeline, "batch", 4), small_pull (rig.pipeline, "pull"), NULL);
  small_set_pipeline (rig.pipeline, "serial", "true");
  g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
  g_assert_cmpint (seen, ==, -1);
  for (int i = 0; i < 5; i++) {
    hr_buffer_unref (hr_pipeline_pull (rig.pipeline, NULL));
    g_assert_cmpint (seen, ==, 4 * i + 3);
  }
  tear_down (&rig);
}

static void
test_stop (void)
{
  for (int i = 0; i < 20; i++) {
    Rig rig;

    set_up (&rig);
    small_link (
        rig.pipeline, small_source (rig.pipeline, "source", -1, small_sleep, GINT_TO_POINTER (100)),
        small_async (rig.pipeline, "async"), small_light (rig.pipeline, "pool", 3, NULL, NULL),
        small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_set_pipeline (rig.pipeline, "serial", "true");
    g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
    g_usleep ((gulong)i * 100);
    hr_pipeline_stop (rig.pipeline);
    g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
    small_assert_counts (&rig.sink, rig.sink.values->len);
    tear_down (&rig);
  }
}

static void
test_failing (void)
{
  Rig rig;
  g_autofree char *message = NULL;

  set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
              small_light (rig.pipeline, "pool", 3, small_fatal_at, GINT_TO_POINTER (13)),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_set_pipeline (rig.pipeline, "serial", "true");
  message = small_run_failing (rig.pipeline, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  small_assert_counts (&rig.sink, 13); /* all before it, nothing behind it */
  tear_down (&rig);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/serial/everything", test_everything);
  g_test_add_func ("/serial/joins", test_joins);
  g_test_add_func ("/serial/two-sinks", test_two_sinks);
  g_test_add_func ("/serial/on-demand", test_on_demand);
  g_test_add_func ("/serial/stop", test_stop);
  g_test_add_func ("/serial/failing", test_failing);
  return g_test_run ();
}
