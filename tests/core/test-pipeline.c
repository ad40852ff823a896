/* test-pipeline.c: states: who may call what and when, and what is left afterwards */
#include "small.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* source ! pool ! sink; without end if @n < 0 */
static void
simple (SmallRig *rig, gint64 n, SmallHook hook, gpointer data)
{
  small_link (rig->pipeline, small_source (rig->pipeline, "source", n, NULL, NULL),
              small_light (rig->pipeline, "pool", 2, hook, data),
              small_sink (rig->pipeline, "sink", &rig->sink), NULL);
}

static void
start (SmallRig *rig)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (hr_pipeline_start (rig->pipeline, &error));
  g_assert_no_error (error);
}

static void
assert_status (SmallRig *rig, const char *status)
{
  g_autofree char *stats = hr_pipeline_get_stats (rig->pipeline);
  g_autofree char *wanted = g_strdup_printf ("\"status\":\"%s\"", status);

  g_assert_nonnull (strstr (stats, wanted));
}

static void
test_run (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  simple (&rig, 1000, NULL, NULL);
  g_assert_cmpint (hr_pipeline_get_state (rig.pipeline), ==, HR_STATE_STOPPED);
  small_run (rig.pipeline);
  g_assert_cmpint (hr_pipeline_get_state (rig.pipeline), ==, HR_STATE_DONE);
  small_assert_counts (&rig.sink, 1000);
  assert_status (&rig, "ended");
  /* nothing is left behind at the gates */
  {
    HrGateStats memory, cpus;

    hr_gate_get_stats (rig.pipeline->memory, &memory);
    hr_gate_get_stats (rig.pipeline->cpus, &cpus);
    g_assert_cmpuint (memory.used + cpus.used + memory.n_waiting + cpus.n_waiting, ==, 0);
  }
  small_rig_tear_down (&rig);
}

static void
test_start_twice (void)
{
  SmallRig rig;
  g_autoptr (GError) error = NULL;

  small_rig_set_up (&rig);
  simple (&rig, 10, NULL, NULL);
  start (&rig);
  g_assert_false (hr_pipeline_start (rig.pipeline, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  g_clear_error (&error);
  g_assert_true (hr_pipeline_wait (rig.pipeline, &error));
  g_assert_false (hr_pipeline_start (rig.pipeline, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  small_assert_counts (&rig.sink, 10);
  small_rig_tear_down (&rig);
}

static void
test_wait_twice (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  simple (&rig, 10, NULL, NULL);
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL)); /* not started: nothing to wait for */
  small_run (rig.pipeline);
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  hr_pipeline_stop (rig.pipeline); /* too late, and no harm */
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  assert_status (&rig, "ended");
  small_rig_tear_down (&rig);
}

static void
test_never_started (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  simple (&rig, 10, NULL, NULL);
  assert_status (&rig, "not-started");
  small_rig_tear_down (&rig);
}

/* remembered: a run that was to be stopped does not begin to work */
static void
test_stop_before_start (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  simple (&rig, -1, NULL, NULL);
  hr_pipeline_stop (rig.pipeline);
  small_run (rig.pipeline);
  assert_status (&rig, "stopped");
  small_rig_tear_down (&rig);
}

static void
test_stop (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  simple (&rig, -1, NULL, NULL);
  start (&rig);
  g_usleep (1000);
  hr_pipeline_stop (rig.pipeline);
  hr_pipeline_stop (rig.pipeline);
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  assert_status (&rig, "stopped");
  /* in order and without a gap, as far as it came */
  small_assert_counts (&rig.sink, rig.sink.values->len);
  small_rig_tear_down (&rig);
}

static gboolean
stop_inside (gpointer data, gint64 value, HrOut *out G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  if (value == 20)
    hr_pipeline_stop (((SmallRig *)data)->pipeline);
  return TRUE;
}

static void
test_stop_inside (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  simple (&rig, -1, stop_inside, &rig);
  small_run (rig.pipeline);
  assert_status (&rig, "stopped");
  small_assert_counts (&rig.sink, rig.sink.values->len);
  small_rig_tear_down (&rig);
}

static void *
stop_at_random (void *data)
{
  SmallRig *rig = data;

  g_usleep (g_random_int_range (0, 400));
  hr_pipeline_stop (rig->pipeline);
  return NULL;
}

/* another thread, at any time before, while and after start() */
static void
test_stop_while_starting (void)
{
  for (int i = 0; i < 100; i++) {
    SmallRig rig;
    pthread_t thread;

    small_rig_set_up (&rig);
    simple (&rig, -1, NULL, NULL);
    g_assert_cmpint (pthread_create (&thread, NULL, stop_at_random, &rig), ==, 0);
    small_run (rig.pipeline);
    pthread_join (thread, NULL);
    small_rig_tear_down (&rig);
  }
}

/* stop() cuts sleeps of the core short; wait() then returns without waiting for them */
static void
test_stop_interrupts (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  simple (&rig, -1, small_sleep, GINT_TO_POINTER (G_MAXINT)); /* 35 minutes */
  start (&rig);
  g_usleep (2000);
  hr_pipeline_stop (rig.pipeline);
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  small_rig_tear_down (&rig);
}

static void
test_unref_while_running (void)
{
  for (int i = 0; i < 20; i++) {
    SmallRig rig;

    small_rig_set_up (&rig);
    simple (&rig, -1, NULL, NULL);
    start (&rig);
    g_usleep ((gulong)i * 50);
    small_rig_tear_down (&rig);
  }
}

/* ---- errors ---- */

static void
test_failing (void)
{
  SmallRig rig;
  g_autofree char *message = NULL;
  g_autoptr (GError) again = NULL;

  small_rig_set_up (&rig);
  simple (&rig, -1, small_fatal_at, GINT_TO_POINTER (30));
  message = small_run_failing (rig.pipeline, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  g_assert_cmpstr (message, ==, "light \"pool\": 30 cannot be read");
  g_assert_false (hr_pipeline_wait (rig.pipeline, &again));
  g_assert_error (again, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  assert_status (&rig, "failed");
  small_rig_tear_down (&rig);
}

/* two elements fail at about the same time: one error is told, and it is one of the two */
static void
test_first_error_wins (void)
{
  for (int i = 0; i < 50; i++) {
    SmallRig rig;
    HrMessage *message;
    guint n_errors = 0;
    g_autofree char *text = NULL;

    small_rig_set_up (&rig);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
                small_light (rig.pipeline, "a", 2, small_fatal_at, GINT_TO_POINTER (9)),
                small_light (rig.pipeline, "b", 2, small_fatal_at, GINT_TO_POINTER (5)),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    text = small_run_failing (rig.pipeline, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
    while ((message = hr_pipeline_pop_message (rig.pipeline, 0)) != NULL) {
      if (message->type == HR_MESSAGE_ERROR) {
        g_assert_cmpstr (message->error->message, ==, text);
        n_errors++;
      }
      hr_message_unref (message);
    }
    g_assert_cmpuint (n_errors, ==, 1);
    small_rig_tear_down (&rig);
  }
}

/* what fails because of a stop is no error */
static void
test_stop_is_no_error (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  simple (&rig, -1, NULL, NULL);
  start (&rig);
  hr_pipeline_stop (rig.pipeline);
  hr_pipeline_fail (rig.pipeline, NULL,
                    g_error_new_literal (HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "a consequence"));
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  assert_status (&rig, "stopped");
  small_rig_tear_down (&rig);
}

static void
run_broken (gboolean worker, gboolean serial)
{
  SmallRig rig;
  g_autoptr (GError) error = NULL;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
              small_broken (rig.pipeline, "broken", worker),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  if (serial)
    small_set_pipeline (rig.pipeline, "serial", "true");
  g_assert_false (hr_pipeline_start (rig.pipeline, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND);
  g_assert_nonnull (strstr (error->message, "\"broken\": no such thing"));
  g_assert_cmpint (hr_pipeline_get_state (rig.pipeline), ==, HR_STATE_DONE);
  g_clear_error (&error);
  /* it has run, and badly: there is no second time */
  g_assert_false (hr_pipeline_start (rig.pipeline, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  small_rig_tear_down (&rig);
}

static void
test_broken_start (void)
{
  run_broken (FALSE, FALSE);
  run_broken (TRUE, FALSE);
  run_broken (FALSE, TRUE);
  run_broken (TRUE, TRUE);
}

/* ---- fork ---- */

static int
use_in_child (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;
  HrBuffer *buffer;

  if (hr_pipeline_wait (pipeline, &error)
      || !g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_FORKED))
    return 1;
  g_clear_error (&error);
  if (hr_pipeline_start (pipeline, &error)
      || !g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_FORKED))
    return 2;
  g_clear_error (&error);
  buffer = hr_pipeline_pull (pipeline, &error);
  if (buffer != NULL || !g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_FORKED))
    return 3;
  g_clear_error (&error);
  if (hr_pipeline_push (pipeline, "source", small_buffer (0), &error)
      || !g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_FORKED))
    return 4;
  g_clear_error (&error);
  if (hr_pipeline_get_state (pipeline) != HR_STATE_DONE)
    return 5;
  if (hr_pipeline_pop_message (pipeline, -1) != NULL)
    return 6;
  g_free (hr_pipeline_get_stats (pipeline));
  hr_pipeline_end (pipeline, "source");
  hr_pipeline_set_from_string (pipeline, "memory", "5", NULL);
  hr_element_set_from_string (hr_pipeline_get_nth_element (pipeline, 1), "workers", "5", NULL);
  hr_pipeline_stop (pipeline); /* nothing, at once */
  g_object_unref (pipeline);   /* what is left of it stays with this process */
  return 0;
}

static void
test_fork (void)
{
  SmallRig rig;
  pid_t child;
  int status, ends[2];
  char result = 99;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
              small_light (rig.pipeline, "pool", 3, NULL, NULL), small_pull (rig.pipeline, "pull"),
              NULL);
  start (&rig);
  hr_buffer_unref (hr_pipeline_pull (rig.pipeline, NULL));
  g_assert_cmpint (pipe (ends), ==, 0);
  /* as bad as it can be: other threads hold the locks at that moment */
  hr_mutex_lock (&rig.pipeline->live);
  hr_mutex_lock (&rig.pipeline->lock);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0) {
    alarm (60); /* a hang is what must not be */
    result = (char)use_in_child (rig.pipeline);
    g_assert_cmpint (write (ends[1], &result, 1), ==, 1);
    kill (getpid (), SIGKILL); /* what it cannot take apart is no leak */
  }
  hr_mutex_unlock (&rig.pipeline->lock);
  hr_mutex_unlock (&rig.pipeline->live);
  close (ends[1]);
  g_assert_cmpint (read (ends[0], &result, 1), ==, 1);
  close (ends[0]);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (result, ==, 0);
  /* here it goes on */
  hr_buffer_unref (hr_pipeline_pull (rig.pipeline, NULL));
  small_rig_tear_down (&rig);
}

/* ---- settings ---- */

static void
test_frozen (void)
{
  SmallRig rig;
  g_autoptr (GError) error = NULL;

  small_rig_set_up (&rig);
  simple (&rig, -1, NULL, NULL);
  g_assert_false (hr_pipeline_set_from_string (rig.pipeline, "speed", "9", &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_UNKNOWN_PROPERTY);
  g_clear_error (&error);
  start (&rig);
  g_assert_false (hr_pipeline_set_from_string (rig.pipeline, "serial", "true", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  g_clear_error (&error);
  g_assert_false (hr_element_set_from_string (hr_pipeline_get_element (rig.pipeline, "pool"),
                                              "ordered", "false", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  small_set_pipeline (rig.pipeline, "memory", "1MiB"); /* live */
  small_rig_tear_down (&rig);
}

static void
test_limit (void)
{
  const char *const limits[] = { "1", "7", "100", "1000" };
  const gint64 wanted[] = { 1, 7, 100, 100 };

  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    for (int serial = 0; serial < 2; serial++) {
      SmallRig rig;

      small_rig_set_up (&rig);
      simple (&rig, 100, NULL, NULL);
      small_set_pipeline (rig.pipeline, "limit", limits[i]);
      small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
      small_run (rig.pipeline);
      small_assert_counts (&rig.sink, wanted[i]);
      small_rig_tear_down (&rig);
    }
}

/* a source that has nothing more to give for a long time does not hold up the end */
static gboolean
long_pause (gpointer data G_GNUC_UNUSED, gint64 value, HrOut *out, GError **error G_GNUC_UNUSED)
{
  return value < 5 || hr_out_sleep (out, 3600 * G_GINT64_CONSTANT (1000000000)) || TRUE;
}

static void
test_limit_ends_at_once (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, long_pause, NULL),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_set_pipeline (rig.pipeline, "limit", "5");
  small_run (rig.pipeline);
  small_assert_counts (&rig.sink, 5);
  small_rig_tear_down (&rig);
}

/* behind a join the limit counts what it gives */
static void
test_limit_of_joined (void)
{
  SmallRig rig;
  HrElement *join;

  small_rig_set_up (&rig);
  join = small_join (rig.pipeline, "join", HR_JOIN_CONCAT);
  small_link (rig.pipeline, small_source (rig.pipeline, "a", 10, NULL, NULL), join, NULL);
  small_link (rig.pipeline, small_source (rig.pipeline, "b", 10, NULL, NULL), join,
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_set_pipeline (rig.pipeline, "limit", "13");
  small_run (rig.pipeline);
  g_assert_cmpuint (rig.sink.values->len, ==, 13);
  g_assert_cmpint (g_array_index (rig.sink.values, gint64, 9), ==, 9);
  g_assert_cmpint (g_array_index (rig.sink.values, gint64, 12), ==, 2);
  small_rig_tear_down (&rig);
}

/* what goes nowhere is gone at once: nothing looks at it after that */
static void
test_route_to_nobody (void)
{
  for (int serial = 0; serial < 2; serial++) {
    SmallRig rig;

    small_rig_set_up (&rig);
    /* slow, so that they are routed one by one */
    small_link (
        rig.pipeline, small_source (rig.pipeline, "source", 20, small_sleep, GINT_TO_POINTER (500)),
        small_pick (rig.pipeline, "pick"), small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    small_run (rig.pipeline);
    g_assert_cmpuint (rig.sink.values->len, ==, 10);
    for (guint i = 0; i < 10; i++)
      g_assert_cmpint (g_array_index (rig.sink.values, gint64, i), ==, 2 * (gint64)i);
    small_rig_tear_down (&rig);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pipeline/run", test_run);
  g_test_add_func ("/pipeline/start-twice", test_start_twice);
  g_test_add_func ("/pipeline/wait-twice", test_wait_twice);
  g_test_add_func ("/pipeline/never-started", test_never_started);
  g_test_add_func ("/pipeline/stop-before-start", test_stop_before_start);
  g_test_add_func ("/pipeline/stop", test_stop);
  g_test_add_func ("/pipeline/stop-inside", test_stop_inside);
  g_test_add_func ("/pipeline/stop-while-starting", test_stop_while_starting);
  g_test_add_func ("/pipeline/stop-interrupts", test_stop_interrupts);
  g_test_add_func ("/pipeline/unref-while-running", test_unref_while_running);
  g_test_add_func ("/pipeline/failing", test_failing);
  g_test_add_func ("/pipeline/first-error-wins", test_first_error_wins);
  g_test_add_func ("/pipeline/stop-is-no-error", test_stop_is_no_error);
  g_test_add_func ("/pipeline/broken-start", test_broken_start);
  g_test_add_func ("/pipeline/fork", test_fork);
  g_test_add_func ("/pipeline/frozen", test_frozen);
  g_test_add_func ("/pipeline/limit", test_limit);
  g_test_add_func ("/pipeline/limit-ends-at-once", test_limit_ends_at_once);
  g_test_add_func ("/pipeline/limit-of-joined", test_limit_of_joined);
  g_test_add_func ("/pipeline/route-to-nobody", test_route_to_nobody);
  return g_test_run ();
}
