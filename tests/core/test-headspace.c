/* test-headspace.c: the first steps come as ever, then the same ones again, from nobody but the
 * sink; what does not fit, and what cannot be measured, is refused */
#include <headrace.h>
#include <string.h>
#include "hr-json.h"
#include "small.h"

static void
assert_count (HrPipeline *pipeline, const char *name, gint64 n)
{
  g_autoptr (JsonObject) stats = small_get_stats (pipeline);

  g_assert_cmpint (json_object_get_int_member (stats, name), ==, n);
}

static void
assert_headspace (HrPipeline *pipeline, const char *name, gint64 n)
{
  g_autoptr (JsonObject) stats = small_get_stats (pipeline);

  g_assert_cmpint (
      json_object_get_int_member (json_object_get_object_member (stats, "headspace"), name), ==, n);
}

/* where the bytes of a batch's first sample lie */
static gconstpointer
get_bytes (HrBuffer *batch)
{
  HrList *list = hr_buffer_get_list (batch, "bytes");

  g_assert_nonnull (list);
  return hr_tensor_get_memory (hr_list_get_tensor (list, 0))->data;
}

/* ---- what comes ---- */

static void
test_same (void)
{
  SmallLive live = small_live ();
  HrPipeline *pipeline =
      small_start ("headspace=5 fakesrc size=4096 ! batch size=3 ! prefetchqueue ! appsink");
  gconstpointer first[5];
  HrBuffer *batch;
  guint n = 0;

  while ((batch = hr_pipeline_pull (pipeline, NULL)) != NULL) {
    g_assert_cmpint (batch->number, ==, n);
    g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 3);
    if (n < 5)
      first[n] = get_bytes (batch);
    else
      g_assert_true (get_bytes (batch) == first[n - 5]);
    n++;
    hr_buffer_unref (batch);
  }
  g_assert_cmpuint (n, ==, 10);
  assert_count (pipeline, "steps", 5);
  assert_count (pipeline, "samples", 15);
  assert_headspace (pipeline, "steps", 5);
  assert_headspace (pipeline, "cached_steps", 5);
  assert_headspace (pipeline, "cached_bytes", 5 * 3 * 4096);
  assert_headspace (pipeline, "bytes_copied", 0);
  g_object_unref (pipeline);
  small_assert_live (live);
}

static char *
get_sum (const char *text)
{
  g_autoptr (HrPipeline) pipeline = small_start (text);
  g_autoptr (JsonObject) stats = NULL;

  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  stats = small_get_stats (pipeline);
  return g_strdup (json_object_get_string_member (stats, "sha256"));
}

/* the first N are what a run of N steps delivers, to the byte */
static void
test_first (void)
{
  g_autofree char *with = get_sum ("checksum=true headspace=5 fakesrc ! batch size=3 ! "
                                   "prefetchqueue ! trainsim step-time=0s");
  g_autofree char *without =
      get_sum ("checksum=true fakesrc num-buffers=15 ! batch size=3 ! trainsim step-time=0s");

  g_assert_nonnull (with);
  g_assert_cmpstr (with, ==, without);
}

/* data that ends before: as many steps again as there were */
static void
test_short (void)
{
  static const guint sizes[] = { 0, 1, 4 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    SmallLive live = small_live ();
    g_autofree char *text =
        g_strdup_printf ("headspace=20 fakesrc num-buffers=%u ! trainsim step-time=0s", sizes[i]);
    HrPipeline *pipeline = small_start (text);

    g_assert_true (hr_pipeline_wait (pipeline, NULL));
    assert_count (pipeline, "steps", sizes[i]);
    assert_headspace (pipeline, "steps", sizes[i]);
    assert_headspace (pipeline, "wanted_steps", 20);
    g_object_unref (pipeline);
    small_assert_live (live);
  }
}

/* ---- who works ---- */

static gint n_calls;

static gboolean
count_call (gpointer data G_GNUC_UNUSED, gint64 value G_GNUC_UNUSED, HrOut *out G_GNUC_UNUSED,
            GError **error G_GNUC_UNUSED)
{
  g_atomic_int_inc (&n_calls);
  return TRUE;
}

/* the trainer alone: no thread of an element is left, and nothing is called */
static void
test_nobody_else (void)
{
  SmallRig rig;
  HrBuffer *batch;
  guint n = 0, threads;
  gint calls = 0;

  small_rig_set_up (&rig);
  threads = rig.live.threads;
  g_atomic_int_set (&n_calls, 0);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, count_call, NULL),
              small_compute (rig.pipeline, "pool", 3, count_call, NULL),
              small_batch (rig.pipeline, "batch", 4), small_prefetch (rig.pipeline, "ahead", 3, 0),
              small_pull (rig.pipeline, "program"), NULL);
  small_set_pipeline (rig.pipeline, "headspace", "6");
  g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
  while ((batch = hr_pipeline_pull (rig.pipeline, NULL)) != NULL) {
    SmallLive now = small_live ();

    if (n == 6) {
      calls = g_atomic_int_get (&n_calls);
      g_assert_cmpint (calls, >=, 2 * 6 * 4);
    }
    if (n >= 6) {
      while (now.threads > threads + 1) /* a thread that has left is not gone at once */
        now = small_live ();
      g_assert_cmpint (g_atomic_int_get (&n_calls), ==, calls);
    }
    n++;
    hr_buffer_unref (batch);
  }
  g_assert_cmpuint (n, ==, 12);
  small_rig_tear_down (&rig);
}

static gint held, n_held;

/* somebody upstream who does not leave as long as the test wants */
static gboolean
hold (gpointer data G_GNUC_UNUSED, gint64 value, HrOut *out G_GNUC_UNUSED,
      GError **error G_GNUC_UNUSED)
{
  if (value < 3)
    return TRUE;
  g_atomic_int_inc (&n_held);
  while (g_atomic_int_get (&held))
    g_usleep (1000);
  return TRUE;
}

/* who pulls with a time-out is not kept for longer, and gets it later; who stops gets nothing */
static void
test_late (void)
{
  for (guint stops = 0; stops < 2; stops++) {
    SmallRig rig;
    HrBuffer *buffer;
    gboolean timed_out;
    guint n = 0;

    small_rig_set_up (&rig);
    g_atomic_int_set (&held, 1);
    g_atomic_int_set (&n_held, 0);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
                small_waits (rig.pipeline, "held", 1, hold, NULL),
                small_pull (rig.pipeline, "program"), NULL);
    small_set (hr_pipeline_get_element (rig.pipeline, "held"), "window", "1"); /* no more in hand */
    small_set_pipeline (rig.pipeline, "headspace", "3");
    g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
    for (guint i = 0; i < 3; i++)
      hr_buffer_unref (hr_pipeline_pull (rig.pipeline, NULL));
    while (g_atomic_int_get (&n_held) == 0)
      g_usleep (1000);
    for (guint i = 0; i < 3; i++) {
      buffer = hr_pipeline_pull_timed (rig.pipeline, HR_MSEC, &timed_out, NULL);
      g_assert_null (buffer);
      g_assert_true (timed_out);
      assert_headspace (rig.pipeline, "steps", 0);
    }
    if (stops)
      hr_pipeline_stop (rig.pipeline);
    g_atomic_int_set (&held, 0);
    while ((buffer = hr_pipeline_pull_timed (rig.pipeline, HR_MSEC, &timed_out, NULL)) != NULL
           || timed_out)
      if (buffer != NULL) {
        hr_buffer_unref (buffer);
        n++;
      }
    g_assert_cmpuint (n, ==, stops ? 0 : 3);
    small_rig_tear_down (&rig);
  }
}

static void
test_stopped (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
              small_batch (rig.pipeline, "batch", 4), small_pull (rig.pipeline, "program"), NULL);
  small_set_pipeline (rig.pipeline, "headspace", "3");
  g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
  for (guint i = 0; i < 5; i++)
    hr_buffer_unref (hr_pipeline_pull (rig.pipeline, NULL));
  hr_pipeline_stop (rig.pipeline);
  g_assert_null (hr_pipeline_pull (rig.pipeline, NULL));
  assert_count (rig.pipeline, "steps", 3);
  assert_headspace (rig.pipeline, "steps", 2);
  small_rig_tear_down (&rig);
}

/* ---- bad samples ---- */

static gboolean
bad_thirds (gpointer data G_GNUC_UNUSED, gint64 value, HrOut *out G_GNUC_UNUSED, GError **error)
{
  if (value % 3 != 2)
    return TRUE;
  hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD, "%d is bad", (int)value);
  return FALSE;
}

/* each is told once, and those that came to no step are not told at all; a place without a sample
 * is no step of the trainer */
static void
test_holes (void)
{
  SmallRig rig;
  HrBuffer *buffer;
  HrMessage *message;
  gint64 values[8];
  guint n = 0, n_told = 0;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
              small_light (rig.pipeline, "pool", 2, bad_thirds, NULL),
              small_pull (rig.pipeline, "program"), NULL);
  small_set_pipeline (rig.pipeline, "on-error", "skip");
  small_set_pipeline (rig.pipeline, "headspace", "4");
  g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
  while ((buffer = hr_pipeline_pull (rig.pipeline, NULL)) != NULL) {
    g_assert_cmpuint (n, <, 8);
    values[n++] = small_value (buffer);
    hr_buffer_unref (buffer);
  }
  g_assert_cmpuint (n, ==, 8);
  for (guint i = 0; i < 4; i++) {
    g_assert_cmpint (values[i], ==, i + i / 2);
    g_assert_cmpint (values[4 + i], ==, values[i]);
  }
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  while ((message = hr_pipeline_pop_message (rig.pipeline, 0)) != NULL) {
    n_told += message->type == HR_MESSAGE_SKIPPED;
    hr_message_unref (message);
  }
  g_assert_cmpuint (n_told, ==, 1);
  assert_count (rig.pipeline, "samples", 4);
  assert_count (rig.pipeline, "exit", 3);
  small_rig_tear_down (&rig);
}

/* ---- memory ---- */

static void
test_too_large (void)
{
  g_autoptr (HrPipeline) pipeline =
      small_start ("headspace=10 memory=1MiB fakesrc size=64KiB ! batch "
                   "size=2 ! prefetchqueue ! trainsim step-time=0s");
  g_autoptr (GError) error = NULL;

  g_assert_false (hr_pipeline_wait (pipeline, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY);
  /* 10 steps of 128 KiB: 1.25 MiB must be half of it, and a little */
  g_assert_nonnull (strstr (error->message,
                            "headspace: the first 5 steps hold 0.6 MiB, more than half of memory "
                            "(1.0 MiB), whose other half is for the pipeline; set memory=3MiB, or "
                            "headspace=4"));
}

/* what the message says does it */
static void
test_advice (void)
{
  g_autoptr (HrPipeline) more = small_start ("headspace=10 memory=3MiB fakesrc size=64KiB ! batch "
                                             "size=2 ! prefetchqueue ! trainsim step-time=0s");
  g_autoptr (HrPipeline) fewer = small_start ("headspace=4 memory=1MiB fakesrc size=64KiB ! batch "
                                              "size=2 ! prefetchqueue ! trainsim step-time=0s");

  g_assert_true (hr_pipeline_wait (more, NULL));
  assert_headspace (more, "steps", 10);
  g_assert_true (hr_pipeline_wait (fewer, NULL));
  assert_headspace (fewer, "steps", 4);
}

/* of itself it keeps those that fit, and gives them in turns; nothing goes over the budget */
static void
test_fits (void)
{
  SmallLive live = small_live ();
  HrPipeline *pipeline =
      small_start ("headspace=-1 memory=1MiB fakesrc size=64KiB ! identity ! batch "
                   "size=2 ! prefetchqueue ! appsink");
  gconstpointer first[32];
  HrBuffer *batch;
  guint n = 0;

  while ((batch = hr_pipeline_pull (pipeline, NULL)) != NULL) {
    g_assert_cmpuint (n, <, 64);
    if (n < 32)
      first[n] = get_bytes (batch);
    else
      g_assert_true (get_bytes (batch) == first[(n - 32) % 4]);
    n++;
    hr_buffer_unref (batch);
  }
  g_assert_cmpuint (n, ==, 64);
  assert_headspace (pipeline, "cached_steps", 4);
  assert_headspace (pipeline, "steps", 32);
  assert_count (pipeline, "over_budget_bytes", 0);
  g_object_unref (pipeline);
  small_assert_live (live);
}

/* what is kept is the budget's, too: nothing else may have it */
static void
test_counted (void)
{
  g_autoptr (HrPipeline) pipeline = small_start (
      "headspace=16 memory=4MiB fakesrc size=64KiB ! identity queue-items=1 ! batch size=2 "
      "queue-items=1 ! trainsim step-time=0s");
  g_autoptr (JsonObject) stats = NULL;

  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  stats = small_get_stats (pipeline);
  g_assert_cmpint (json_object_get_int_member (stats, "budget_peak_bytes"), >=, 16 * 2 * 65536);
}

static void
test_one_too_large (void)
{
  g_autoptr (HrPipeline) pipeline =
      small_start ("headspace=-1 memory=64KiB fakesrc size=64KiB ! trainsim step-time=0s");
  g_autoptr (GError) error = NULL;

  g_assert_false (hr_pipeline_wait (pipeline, &error));
  g_assert_nonnull (strstr (error->message, "set memory=1MiB"));
  g_assert_null (strstr (error->message, "headspace="));
}

/* ---- numbers ---- */

static void
test_numbers (void)
{
  gint64 begin = g_get_monotonic_time ();
  g_autoptr (HrPipeline) pipeline =
      small_start ("headspace=6 fakesrc interval=30ms ! batch size=2 ! "
                   "prefetchqueue ! trainsim step-time=2ms");
  g_autoptr (JsonObject) stats = NULL;
  JsonObject *headspace, *own;
  gint64 end;

  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  end = g_get_monotonic_time ();
  stats = small_get_stats (pipeline);
  headspace = json_object_get_object_member (stats, "headspace");
  own = json_object_get_object_member (headspace, "own");
  g_assert_true (json_object_get_boolean_member (headspace, "replays"));
  g_assert_cmpint (json_object_get_int_member (own, "steps"), ==, 5);
  g_assert_cmpfloat (json_object_get_double_member (headspace, "samples_per_s"), ==,
                     12 / json_object_get_double_member (headspace, "wall_s"));
  g_assert_cmpfloat (json_object_get_double_member (own, "samples_per_s"), ==,
                     10 / json_object_get_double_member (own, "wall_s"));
  /* two samples a step take 60 ms, the step itself 2 */
  g_assert_cmpfloat (json_object_get_double_member (own, "wait_ratio"), >,
                     json_object_get_double_member (headspace, "wait_ratio"));
  g_assert_nonnull (strstr (json_object_get_string_member (headspace, "text"),
                            "with data at no cost the trainer does "));
  g_assert_true (json_object_get_null_member (headspace, "images_per_s"));
  /* the run's own numbers are those of before */
  g_assert_cmpfloat (json_object_get_double_member (stats, "wall_s"), <=,
                     (double)(end - begin) / G_USEC_PER_SEC
                         - json_object_get_double_member (headspace, "wall_s"));
  g_assert_cmpint (json_object_get_int_member (stats, "steps"), ==, 6);
  g_assert_cmpstr (json_object_get_string_member (stats, "status"), ==, "ended");
}

static void
test_none (void)
{
  g_autoptr (HrPipeline) pipeline = small_start ("fakesrc num-buffers=4 ! trainsim step-time=0s");
  g_autoptr (JsonObject) stats = NULL;

  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  stats = small_get_stats (pipeline);
  g_assert_true (json_object_get_null_member (stats, "headspace"));
}

/* ---- refused ---- */

static void
test_refused (void)
{
  static const char *const rows[][2] = {
    { "headspace=1 fakesrc ! trainsim", "2 steps or more" },
    { "headspace=4 serial=true fakesrc ! trainsim", "serial=true is the reference" },
    { "headspace=4 requests=true fakesrc ! trainsim", "requests=true delivers" },
    { "headspace=4 checkpoint-every=2 fakesrc ! trainsim", "leave checkpoint-every out" },
    { "headspace=4 fakesrc ! fakesink", "fakesink \"fakesink0\" is no trainer" },
    { "headspace=4 fakesrc ! tee name=t ! trainsim t. ! trainsim",
      "it measures one trainer, and \"trainsim0\" and \"trainsim1\" are two sinks" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (HrPipeline) pipeline = small_parse (rows[i][0]);
    g_autoptr (GError) error = NULL;

    g_assert_false (hr_pipeline_start (pipeline, &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT);
    g_assert_nonnull (strstr (error->message, rows[i][1]));
  }
}

static void
test_no_checkpoint (void)
{
  g_autoptr (HrPipeline) pipeline = small_start ("headspace=3 fakesrc ! batch size=2 ! appsink");
  g_autoptr (GError) error = NULL;
  g_autoptr (HrBuffer) batch = hr_pipeline_pull (pipeline, NULL);

  g_assert_null (hr_pipeline_get_checkpoint (pipeline, batch, &error));
  g_assert_nonnull (strstr (error->message, "with headspace= steps are replayed"));
  hr_pipeline_stop (pipeline);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/headspace/same", test_same);
  g_test_add_func ("/headspace/first", test_first);
  g_test_add_func ("/headspace/short", test_short);
  g_test_add_func ("/headspace/nobody-else", test_nobody_else);
  g_test_add_func ("/headspace/late", test_late);
  g_test_add_func ("/headspace/stopped", test_stopped);
  g_test_add_func ("/headspace/holes", test_holes);
  g_test_add_func ("/headspace/too-large", test_too_large);
  g_test_add_func ("/headspace/advice", test_advice);
  g_test_add_func ("/headspace/fits", test_fits);
  g_test_add_func ("/headspace/counted", test_counted);
  g_test_add_func ("/headspace/one-too-large", test_one_too_large);
  g_test_add_func ("/headspace/numbers", test_numbers);
  g_test_add_func ("/headspace/none", test_none);
  g_test_add_func ("/headspace/refused", test_refused);
  g_test_add_func ("/headspace/no-checkpoint", test_no_checkpoint);
  return g_test_run ();
}
