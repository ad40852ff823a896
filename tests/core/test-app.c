/* test-app.c: the program's own ends, push and pull, and the messages */
#include "small.h"

typedef struct {
  SmallLive live;
  SmallSink sink;
  HrPipeline *pipeline;
  gint64 n; /* to push */
  gint pushed;
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

static void
start (Rig *rig)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (hr_pipeline_start (rig->pipeline, &error));
  g_assert_no_error (error);
}

static void *
push_all (void *data)
{
  Rig *rig = data;
  g_autoptr (GError) error = NULL;

  for (gint64 i = 0; i < rig->n; i++) {
    if (!hr_pipeline_push (rig->pipeline, "push", small_buffer (i), &error))
      break;
    g_atomic_int_inc (&rig->pushed);
  }
  g_assert_no_error (error);
  hr_pipeline_end (rig->pipeline, "push");
  return NULL;
}

/* everything through, in order, also through a queue of one */
static void
run_through (gboolean serial, const char *items)
{
  Rig rig;
  HrElement *pool;
  HrBuffer *buffer;
  g_autoptr (GError) error = NULL;
  pthread_t thread;
  gint64 n = 0;

  set_up (&rig);
  rig.n = 500;
  pool = small_light (rig.pipeline, "pool", 3, NULL, NULL);
  small_set (pool, "queue-items", items);
  small_link (rig.pipeline, small_push (rig.pipeline, "push"), pool,
              small_pull (rig.pipeline, "pull"), NULL);
  small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
  start (&rig);
  g_assert_cmpint (pthread_create (&thread, NULL, push_all, &rig), ==, 0);
  while ((buffer = hr_pipeline_pull (rig.pipeline, &error)) != NULL) {
    g_assert_cmpint (small_value (buffer), ==, n++);
    hr_buffer_unref (buffer);
  }
  pthread_join (thread, NULL);
  g_assert_no_error (error);
  g_assert_cmpint (n, ==, 500);
  /* the end stays the end */
  g_assert_null (hr_pipeline_pull (rig.pipeline, &error));
  g_assert_no_error (error);
  g_assert_cmpint (hr_pipeline_get_state (rig.pipeline), ==, HR_STATE_DONE);
  tear_down (&rig);
}

static void
test_through (void)
{
  run_through (FALSE, "100");
  run_through (FALSE, "1");
  run_through (TRUE, "1");
}

/* one thread that pushes and pulls in turn */
static void
test_in_turn (void)
{
  for (int serial = 0; serial < 2; serial++) {
    Rig rig;

    set_up (&rig);
    small_link (rig.pipeline, small_push (rig.pipeline, "push"),
                small_light (rig.pipeline, "pool", 2, NULL, NULL),
                small_pull (rig.pipeline, "pull"), NULL);
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    start (&rig);
    for (gint64 i = 0; i < 50; i++) {
      HrBuffer *buffer;

      g_assert_true (hr_pipeline_push (rig.pipeline, "push", small_buffer (i), NULL));
      buffer = hr_pipeline_pull (rig.pipeline, NULL);
      g_assert_cmpint (small_value (buffer), ==, i);
      hr_buffer_unref (buffer);
    }
    hr_pipeline_end (rig.pipeline, "push");
    g_assert_null (hr_pipeline_pull (rig.pipeline, NULL));
    tear_down (&rig);
  }
}

/* a pull that does not wait for ever loses nothing, and the end and a stop are no time-outs */
static void
test_timed (void)
{
  Rig rig;
  gboolean timed_out;

  set_up (&rig);
  small_link (rig.pipeline, small_push (rig.pipeline, "push"),
              small_light (rig.pipeline, "pool", 2, NULL, NULL), small_pull (rig.pipeline, "pull"),
              NULL);
  start (&rig);
  for (gint64 i = 0; i < 50; i++) {
    HrBuffer *buffer;

    g_assert_null (hr_pipeline_pull_timed (rig.pipeline, i % 2 * 1000000, &timed_out, NULL));
    g_assert_true (timed_out);
    g_assert_true (hr_pipeline_push (rig.pipeline, "push", small_buffer (i), NULL));
    do
      buffer = i % 3 > 0 ? hr_pipeline_pull_timed (rig.pipeline, 100000, &timed_out, NULL)
                         : hr_pipeline_pull (rig.pipeline, NULL);
    while (buffer == NULL);
    g_assert_cmpint (small_value (buffer), ==, i);
    g_assert_cmpint (buffer->number, ==, i);
    hr_buffer_unref (buffer);
  }
  hr_pipeline_end (rig.pipeline, "push");
  g_assert_null (hr_pipeline_pull_timed (rig.pipeline, G_MAXINT32, &timed_out, NULL));
  g_assert_false (timed_out);
  g_assert_cmpint (hr_pipeline_get_state (rig.pipeline), ==, HR_STATE_DONE);
  tear_down (&rig);

  set_up (&rig);
  small_link (rig.pipeline, small_push (rig.pipeline, "push"), small_pull (rig.pipeline, "pull"),
              NULL);
  start (&rig);
  g_assert_null (hr_pipeline_pull_timed (rig.pipeline, 0, &timed_out, NULL));
  g_assert_true (timed_out);
  hr_pipeline_stop (rig.pipeline);
  g_assert_null (hr_pipeline_pull_timed (rig.pipeline, G_MAXINT64 / 2, &timed_out, NULL));
  g_assert_false (timed_out);
  tear_down (&rig);
}

/* what is told behind the end is heard before it */
static void
test_done_last (void)
{
  Rig rig;
  g_autoptr (HrMessage) told = NULL, done = NULL;

  set_up (&rig);
  small_link (rig.pipeline, small_push (rig.pipeline, "push"), small_pull (rig.pipeline, "pull"),
              NULL);
  start (&rig);
  hr_pipeline_end (rig.pipeline, "push");
  g_assert_null (hr_pipeline_pull (rig.pipeline, NULL));
  hr_pipeline_post (rig.pipeline, HR_MESSAGE_WARNING, NULL, NULL, NULL);
  told = hr_pipeline_pop_message (rig.pipeline, 0);
  done = hr_pipeline_pop_message (rig.pipeline, 0);
  g_assert_cmpint (told->type, ==, HR_MESSAGE_WARNING);
  g_assert_cmpint (done->type, ==, HR_MESSAGE_DONE);
  tear_down (&rig);
}

/* into a pipeline that has a sink of its own */
static void
test_push_only (void)
{
  for (int serial = 0; serial < 2; serial++) {
    Rig rig;

    set_up (&rig);
    rig.n = 100;
    small_link (rig.pipeline, small_push (rig.pipeline, "push"),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    start (&rig);
    push_all (&rig);
    g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
    small_assert_counts (&rig.sink, 100);
    tear_down (&rig);
  }
}

static void
test_push_after_end (void)
{
  Rig rig;

  set_up (&rig);
  small_link (rig.pipeline, small_push (rig.pipeline, "push"),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  start (&rig);
  g_assert_true (hr_pipeline_push (rig.pipeline, "push", small_buffer (0), NULL));
  hr_pipeline_end (rig.pipeline, "push");
  g_assert_false (hr_pipeline_push (rig.pipeline, "push", small_buffer (1), NULL));
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  g_assert_false (hr_pipeline_push (rig.pipeline, "push", small_buffer (2), NULL));
  small_assert_counts (&rig.sink, 1);
  tear_down (&rig);
}

/* the limit ends it, without a word of the program */
static void
test_push_to_limit (void)
{
  for (int serial = 0; serial < 2; serial++) {
    Rig rig;

    set_up (&rig);
    small_link (rig.pipeline, small_push (rig.pipeline, "push"),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_set_pipeline (rig.pipeline, "limit", "3");
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    start (&rig);
    for (gint64 i = 0; i < 3; i++)
      g_assert_true (hr_pipeline_push (rig.pipeline, "push", small_buffer (i), NULL));
    g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
    small_assert_counts (&rig.sink, 3);
    tear_down (&rig);
  }
}

/* a push that waits for room is let go by stop() */
static void
test_push_stopped (void)
{
  Rig rig;
  pthread_t thread;
  gint before;

  set_up (&rig);
  rig.n = 1000000;
  small_link (rig.pipeline, small_push (rig.pipeline, "push"), small_pull (rig.pipeline, "pull"),
              NULL);
  start (&rig);
  g_assert_cmpint (pthread_create (&thread, NULL, push_all, &rig), ==, 0);
  do { /* until the queue is full */
    before = g_atomic_int_get (&rig.pushed);
    g_usleep (5000);
  } while (before == 0 || before != g_atomic_int_get (&rig.pushed));
  hr_pipeline_stop (rig.pipeline);
  pthread_join (thread, NULL);
  g_assert_null (hr_pipeline_pull (rig.pipeline, NULL));
  tear_down (&rig);
}

static void
test_push_wrong (void)
{
  Rig rig;
  g_autoptr (GError) error = NULL;

  set_up (&rig);
  small_link (rig.pipeline, small_push (rig.pipeline, "push"),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  g_assert_false (
      hr_pipeline_push (rig.pipeline, "push", small_buffer (0), &error)); /* not started */
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  g_clear_error (&error);
  start (&rig);
  g_assert_false (hr_pipeline_push (rig.pipeline, "nobody", small_buffer (0), &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  g_clear_error (&error);
  g_assert_false (hr_pipeline_push (rig.pipeline, "sink", small_buffer (0), &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  g_clear_error (&error);
  g_assert_null (hr_pipeline_pull (rig.pipeline, &error)); /* nothing to pull from */
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  tear_down (&rig);
}

static void
test_pull_before_start (void)
{
  Rig rig;
  g_autoptr (GError) error = NULL;

  set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 1, NULL, NULL),
              small_pull (rig.pipeline, "pull"), NULL);
  g_assert_null (hr_pipeline_pull (rig.pipeline, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  tear_down (&rig);
}

static void
test_pull_failing (void)
{
  Rig rig;
  g_autoptr (GError) error = NULL;
  HrBuffer *buffer;

  set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
              small_light (rig.pipeline, "pool", 2, small_fatal_at, GINT_TO_POINTER (9)),
              small_pull (rig.pipeline, "pull"), NULL);
  start (&rig);
  while ((buffer = hr_pipeline_pull (rig.pipeline, &error)) != NULL)
    hr_buffer_unref (buffer);
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  tear_down (&rig);
}

/* the holes are counted and not given to the program */
static void
test_pull_holes (void)
{
  for (int serial = 0; serial < 2; serial++) {
    Rig rig;
    HrBuffer *buffer;
    guint n = 0;

    set_up (&rig);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 20, NULL, NULL),
                small_filter (rig.pipeline, "filter"), small_pull (rig.pipeline, "pull"), NULL);
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    start (&rig);
    while ((buffer = hr_pipeline_pull (rig.pipeline, NULL)) != NULL) {
      g_assert_cmpint (small_value (buffer), ==, 2 * n++);
      hr_buffer_unref (buffer);
    }
    g_assert_cmpuint (n, ==, 10);
    tear_down (&rig);
  }
}

/* buffers outlive the pipeline */
static void
test_pull_and_keep (void)
{
  Rig rig;
  HrBuffer *buffers[10];

  set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
              small_batch (rig.pipeline, "batch", 2), small_pull (rig.pipeline, "pull"), NULL);
  start (&rig);
  for (int i = 0; i < 10; i++)
    buffers[i] = hr_pipeline_pull (rig.pipeline, NULL);
  g_clear_object (&rig.pipeline);
  for (int i = 0; i < 10; i++) {
    g_assert_cmpint (small_value (hr_buffer_get_member (buffers[i], 1)), ==, 2 * i + 1);
    hr_buffer_unref (buffers[i]);
  }
  tear_down (&rig);
}

/* a sink of the program's beside one of its own */
static void
test_two_sinks (void)
{
  for (int serial = 0; serial < 2; serial++) {
    Rig rig;
    HrElement *tee;
    HrBuffer *buffer;
    gint64 n = 0;

    set_up (&rig);
    tee = small_tee (rig.pipeline, "tee");
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 60, NULL, NULL), tee,
                small_light (rig.pipeline, "pool", 2, NULL, NULL),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_link (rig.pipeline, tee, small_pull (rig.pipeline, "pull"), NULL);
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    start (&rig);
    while ((buffer = hr_pipeline_pull (rig.pipeline, NULL)) != NULL) {
      g_assert_cmpint (small_value (buffer), ==, n++);
      hr_buffer_unref (buffer);
    }
    g_assert_cmpint (n, ==, 60);
    small_assert_counts (&rig.sink, 60);
    tear_down (&rig);
  }
}

/* ---- messages ---- */

static void
test_messages (void)
{
  for (int i = 0; i < 30; i++) {
    Rig rig;
    HrMessage *message;
    guint n_skipped = 0, n_done = 0;

    set_up (&rig);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 60, NULL, NULL),
                small_light (rig.pipeline, "pool", 2, small_bad_at, GINT_TO_POINTER (11)),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_set_pipeline (rig.pipeline, "on-error", "skip");
    g_assert_null (hr_pipeline_pop_message (rig.pipeline, -1)); /* nothing runs, nothing comes */
    start (&rig);
    /* until all have left: DONE is never missed */
    while ((message = hr_pipeline_pop_message (rig.pipeline, -1)) != NULL) {
      g_assert_cmpuint (n_done, ==, 0);
      n_skipped += message->type == HR_MESSAGE_SKIPPED;
      n_done += message->type == HR_MESSAGE_DONE;
      hr_message_unref (hr_message_ref (message));
      hr_message_unref (message);
    }
    g_assert_cmpuint (n_skipped, ==, 1);
    g_assert_cmpuint (n_done, ==, 1);
    g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
    tear_down (&rig);
  }
}

static void
test_message_timeout (void)
{
  Rig rig;

  set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", -1, NULL, NULL),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  start (&rig);
  g_assert_null (hr_pipeline_pop_message (rig.pipeline, 0));
  g_assert_null (hr_pipeline_pop_message (rig.pipeline, 3000000));
  tear_down (&rig);
}

/* The program stops pulling and waits: that is an end as well. */
static void
test_done_without_pulling (void)
{
  Rig rig;
  HrMessage *message;

  set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 2, NULL, NULL),
              small_pull (rig.pipeline, "pull"), NULL);
  start (&rig);
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  message = hr_pipeline_pop_message (rig.pipeline, 0);
  g_assert_nonnull (message);
  g_assert_cmpint (message->type, ==, HR_MESSAGE_DONE);
  hr_message_unref (message);
  tear_down (&rig);
}

/* a run that skips very many keeps not very many messages; the counts are complete */
static void
test_many_messages (void)
{
  Rig rig;
  HrMessage *message;
  guint n = 0;

  set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 12000, NULL, NULL),
              small_filter (rig.pipeline, "filter"),
              small_light (rig.pipeline, "pool", 2, NULL, NULL),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  for (int i = 0; i < 12000; i++) {
    g_autoptr (GError) error = g_error_new (HR_DATA_ERROR, HR_DATA_ERROR_OTHER, "one more");

    hr_pipeline_post (rig.pipeline, HR_MESSAGE_SKIPPED, NULL, error, NULL);
  }
  small_run (rig.pipeline);
  while ((message = hr_pipeline_pop_message (rig.pipeline, 0)) != NULL) {
    n++;
    hr_message_unref (message);
  }
  g_assert_cmpuint (n, ==, 10001); /* and DONE */
  tear_down (&rig);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/app/through", test_through);
  g_test_add_func ("/app/in-turn", test_in_turn);
  g_test_add_func ("/app/timed", test_timed);
  g_test_add_func ("/app/done-last", test_done_last);
  g_test_add_func ("/app/push-only", test_push_only);
  g_test_add_func ("/app/push-after-end", test_push_after_end);
  g_test_add_func ("/app/push-to-limit", test_push_to_limit);
  g_test_add_func ("/app/push-stopped", test_push_stopped);
  g_test_add_func ("/app/push-wrong", test_push_wrong);
  g_test_add_func ("/app/pull-before-start", test_pull_before_start);
  g_test_add_func ("/app/pull-failing", test_pull_failing);
  g_test_add_func ("/app/pull-holes", test_pull_holes);
  g_test_add_func ("/app/pull-and-keep", test_pull_and_keep);
  g_test_add_func ("/app/two-sinks", test_two_sinks);
  g_test_add_func ("/message/messages", test_messages);
  g_test_add_func ("/message/timeout", test_message_timeout);
  g_test_add_func ("/message/done-without-pulling", test_done_without_pulling);
  g_test_add_func ("/message/many", test_many_messages);
  return g_test_run ();
}
