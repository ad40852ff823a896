/* test-live.c: what may change while the pipeline runs */
#include "small.h"
#include <string.h>

typedef struct {
  SmallLive live;
  SmallSink sink;
  HrPipeline *pipeline;
  HrElement *pool, *end;
  gint inside; /* atomic */
  gint open;   /* atomic: those with samples below it may leave */
} Rig;

/* stays inside until the test opens the door */
static gboolean
wait_inside (gpointer data, gint64 value, HrOut *out, GError **error G_GNUC_UNUSED)
{
  Rig *rig = data;

  g_atomic_int_add (&rig->inside, 1);
  while (value >= g_atomic_int_get (&rig->open) && hr_out_sleep (out, 200000))
    ;
  g_atomic_int_add (&rig->inside, -1);
  return TRUE;
}

static void
set_up (Rig *rig, gint64 n, const char *workers, gboolean compute)
{
  *rig = (Rig){ .live = small_live () };
  small_sink_init (&rig->sink);
  rig->pipeline = hr_pipeline_new ();
  rig->pool = compute ? small_compute (rig->pipeline, "pool", 0, wait_inside, rig)
                      : small_waits (rig->pipeline, "pool", 0, wait_inside, rig);
  small_set (rig->pool, "workers", workers);
  small_set (rig->pool, "window", "1000"); /* nobody is kept out by the order */
  rig->end = small_sink (rig->pipeline, "sink", &rig->sink);
  small_link (rig->pipeline, small_source (rig->pipeline, "source", n, NULL, NULL), rig->pool,
              rig->end, NULL);
}

static void
start (Rig *rig)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (hr_pipeline_start (rig->pipeline, &error));
  g_assert_no_error (error);
}

static void
finish (Rig *rig, gint64 n)
{
  g_autoptr (GError) error = NULL;

  g_atomic_int_set (&rig->open, G_MAXINT);
  g_assert_true (hr_pipeline_wait (rig->pipeline, &error));
  g_assert_no_error (error);
  small_assert_counts (&rig->sink, n);
  g_object_unref (rig->pipeline);
  small_sink_clear (&rig->sink);
  small_assert_live (rig->live);
}

static void
wait_for_inside (Rig *rig, gint n)
{
  while (g_atomic_int_get (&rig->inside) != n)
    g_usleep (200);
}

static void
wait_for_samples (Rig *rig, guint n)
{
  guint got = 0;

  while (got < n) {
    g_usleep (200);
    hr_mutex_lock (&rig->sink.lock);
    got = rig->sink.values->len;
    hr_mutex_unlock (&rig->sink.lock);
  }
}

static void
test_more_workers (void)
{
  Rig rig;

  set_up (&rig, 200, "1", FALSE);
  start (&rig);
  wait_for_inside (&rig, 1);
  small_set (rig.pool, "workers", "3");
  wait_for_inside (&rig, 3);
  small_set (rig.pool, "workers", "7");
  wait_for_inside (&rig, 7);
  finish (&rig, 200);
}

/* those who are too many finish what they have, and come back when they are wanted again */
static void
test_fewer_workers (void)
{
  Rig rig;

  set_up (&rig, 100, "6", FALSE);
  start (&rig);
  wait_for_inside (&rig, 6);
  small_set (rig.pool, "workers", "2");
  g_atomic_int_set (&rig.open, 6);
  wait_for_samples (&rig, 6); /* what the six had has left */
  wait_for_inside (&rig, 2);
  g_usleep (3000); /* nobody else comes in */
  g_assert_cmpint (g_atomic_int_get (&rig.inside), ==, 2);
  small_set (rig.pool, "workers", "5");
  wait_for_inside (&rig, 5);
  finish (&rig, 100);
}

/* each: those who were put aside have samples of several members, and leave in the end too */
static void
test_fewer_workers_of_each (void)
{
  for (int i = 0; i < 30; i++) {
    SmallLive live = small_live ();
    SmallSink sink;
    HrPipeline *pipeline = hr_pipeline_new ();
    HrElement *each = small_each (pipeline, "each", 6, small_sleep, GINT_TO_POINTER (30));
    g_autoptr (GError) error = NULL;

    small_sink_init (&sink);
    small_link (pipeline, small_source (pipeline, "source", 100, NULL, NULL), each,
                small_sink (pipeline, "sink", &sink), NULL);
    g_assert_true (hr_pipeline_start (pipeline, &error));
    g_usleep ((gulong)i * 100);
    small_set (each, "workers", "1");
    g_assert_true (hr_pipeline_wait (pipeline, &error));
    small_assert_counts (&sink, 100);
    g_object_unref (pipeline);
    small_sink_clear (&sink);
    small_assert_live (live);
  }
}

static void
test_cpus (void)
{
  Rig rig;

  set_up (&rig, 100, "6", TRUE);
  small_set_pipeline (rig.pipeline, "cpus", "1");
  start (&rig);
  wait_for_inside (&rig, 1);
  g_usleep (3000);
  g_assert_cmpint (g_atomic_int_get (&rig.inside), ==, 1);
  small_set_pipeline (rig.pipeline, "cpus", "4");
  wait_for_inside (&rig, 4);
  finish (&rig, 100);
}

/* a larger bound wakes a producer that stands before a full queue */
static void
test_queue_items (void)
{
  Rig rig;
  HrLink *link;
  guint count = 0;

  set_up (&rig, 100, "1", FALSE);
  small_set (rig.pool, "queue-items", "2");
  start (&rig);
  link = rig.pool->inputs->pdata[0];
  wait_for_inside (&rig, 1);
  small_set (rig.pool, "queue-items", "9");
  while (count < 9) {
    g_usleep (200);
    hr_mutex_lock (&link->lock);
    count = link->count;
    hr_mutex_unlock (&link->lock);
  }
  finish (&rig, 100);
  g_assert_cmpuint (count, ==, 9);
}

/* two threads change, a third one reads, while it starts and ends */
static void *
change_workers (void *data)
{
  Rig *rig = data;

  for (int i = 0; i < 60; i++) {
    g_autofree char *workers = g_strdup_printf ("%d", 1 + i % 9);
    g_autofree char *stats = hr_pipeline_get_stats (rig->pipeline);

    small_set (rig->pool, "workers", workers);
    g_assert_cmpint (stats[0], ==, '{');
  }
  return NULL;
}

static void
test_all_at_once (void)
{
  for (int i = 0; i < 20; i++) {
    Rig rig;
    pthread_t threads[2];

    set_up (&rig, 300, "2", FALSE);
    g_atomic_int_set (&rig.open, G_MAXINT);
    for (int k = 0; k < 2; k++)
      g_assert_cmpint (pthread_create (&threads[k], NULL, change_workers, &rig), ==, 0);
    start (&rig);
    g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
    for (int k = 0; k < 2; k++)
      pthread_join (threads[k], NULL);
    g_assert_cmpuint (rig.pool->run->n_workers, <=, 9);
    finish (&rig, 300);
  }
}

/* before and after the run a live property is just a property */
static void
test_not_running (void)
{
  Rig rig;

  set_up (&rig, 20, "2", FALSE);
  small_set (rig.pool, "workers", "3");
  small_set_pipeline (rig.pipeline, "memory", "1KiB");
  g_atomic_int_set (&rig.open, G_MAXINT);
  start (&rig);
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  g_assert_cmpuint (rig.pool->run->n_workers, ==, 3);
  small_set (rig.pool, "workers", "8");
  small_set (rig.pool, "queue-items", "8");
  small_set_pipeline (rig.pipeline, "cpus", "8");
  g_assert_cmpuint (rig.pool->run->n_workers, ==, 3);
  finish (&rig, 20);
}

/* who works in one thread cannot be given more: that is said, not swallowed */
static void
test_one_thread (void)
{
  HrPipeline *pipeline = small_start ("fakesrc name=source ! identity name=pool ! fakesink");
  HrElement *source = hr_pipeline_get_element (pipeline, "source");
  const char *const values[] = { "4", "auto" };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_false (hr_element_set_from_string (source, "workers", values[i], &error));
    g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
    g_assert_cmpstr (error->message, ==,
                     "property \"workers\" of \"source\" cannot change any more: it works in one "
                     "thread");
    small_set (hr_pipeline_get_element (pipeline, "pool"), "workers", values[i]);
  }
  g_assert_false (hr_element_is_auto (source, "workers"));
  hr_pipeline_stop (pipeline);
  g_object_unref (pipeline);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/live/more-workers", test_more_workers);
  g_test_add_func ("/live/fewer-workers", test_fewer_workers);
  g_test_add_func ("/live/fewer-workers-of-each", test_fewer_workers_of_each);
  g_test_add_func ("/live/cpus", test_cpus);
  g_test_add_func ("/live/queue-items", test_queue_items);
  g_test_add_func ("/live/all-at-once", test_all_at_once);
  g_test_add_func ("/live/not-running", test_not_running);
  g_test_add_func ("/live/one-thread", test_one_thread);
  return g_test_run ();
}
