/* test-watchdog.c: when nothing moves it is said who waits for what, once; and when it moves again.
 * The time-out is short, but nothing here depends on how long anything takes. */
#include "small.h"
#include <stdlib.h>
#include <string.h>

#define BEGIN "nothing has moved for "

/* The text of the next message about a stall; NULL: the run is over, and there was none. Begins and
 * ends take turns; @stalled: the last one was a begin. */
static char *
next_stall (HrPipeline *pipeline, gboolean *stalled)
{
  for (;;) {
    g_autoptr (HrMessage) message = hr_pipeline_pop_message (pipeline, -1);

    if (message == NULL || message->type == HR_MESSAGE_DONE)
      return NULL;
    if (message->type != HR_MESSAGE_STALL)
      continue;
    if (!g_str_has_prefix (message->text, *stalled ? "moves again, after " : BEGIN))
      g_error ("out of turn: \"%s\"", message->text);
    *stalled = !*stalled;
    return g_strdup (message->text);
  }
}

/* a stall that is told with all of @parts; one of another place, where a thread was held up, may
 * come before it */
static void
wait_for_stall (HrPipeline *pipeline, gboolean *stalled, const char *const *parts)
{
  for (;;) {
    g_autofree char *text = next_stall (pipeline, stalled);
    guint i = 0;

    if (text == NULL)
      g_error ("the run is over without \"%s\"", parts[0]);
    while (parts[i] != NULL && strstr (text, parts[i]) != NULL)
      i++;
    if (parts[i] == NULL)
      return;
    g_test_message ("no \"%s\" in \"%s\"", parts[i], text);
  }
}

static void
pull_all (HrPipeline *pipeline, guint n)
{
  guint got = 0;

  for (HrBuffer *buffer; (buffer = hr_pipeline_pull (pipeline, NULL)) != NULL; got++)
    hr_buffer_unref (buffer);
  g_assert_cmpuint (got, ==, n);
}

/* the program does not pull: that ends no run, whatever on-stall says */
static void
test_not_pulled (void)
{
  static const char *const parts[] = {
    BEGIN, "\n  \"program\" waits for the program to pull",
    "\n  \"pool\" waits for room in front of \"program\", whose queue is full",
    "\n  \"source\" waits for room in front of \"pool\"", NULL
  };

  for (guint fail = 0; fail < 2; fail++) {
    gboolean stalled = FALSE;
    SmallRig rig;

    small_rig_set_up (&rig);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 1000, NULL, NULL),
                small_light (rig.pipeline, "pool", 2, NULL, NULL),
                small_pull (rig.pipeline, "program"), NULL);
    /* long where a thread that is held up would end the run */
    small_set_pipeline (rig.pipeline, "stall-timeout", fail ? "5s" : "300ms");
    small_set_pipeline (rig.pipeline, "on-stall", fail ? "fail" : "tell");
    g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
    wait_for_stall (rig.pipeline, &stalled, parts);
    pull_all (rig.pipeline, 1000);
    for (char *text; (text = next_stall (rig.pipeline, &stalled)) != NULL;)
      g_free (text);
    g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
    small_rig_tear_down (&rig);
  }
}

static gint go;

/* samples @data and 3 x @data wait until they are let go, one after the other */
static gboolean
hold (gpointer data, gint64 value, HrOut *out, GError **error G_GNUC_UNUSED)
{
  gint mine = value == GPOINTER_TO_INT (data) ? 1 : value == 3 * GPOINTER_TO_INT (data) ? 2 : 0;

  while (g_atomic_int_get (&go) < mine && hr_out_sleep (out, 10 * 1000000))
    ;
  return TRUE;
}

/* in the middle: who is in front of it has no room, who is behind it no input; it goes on */
static void
test_held (void)
{
  static const char *const parts[] = {
    BEGIN, "\n  \"held\" sleeps, or waits for something outside",
    "\n  \"before\" waits for room in front of \"held\", whose queue is full",
    "\n  \"sink\" waits for the output of \"held\"", NULL
  };
  g_autofree char *end = NULL;
  gboolean stalled = FALSE;
  SmallRig rig;

  g_atomic_int_set (&go, 0);
  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 2000, NULL, NULL),
              small_light (rig.pipeline, "before", 1, NULL, NULL),
              small_waits (rig.pipeline, "held", 3, hold, GINT_TO_POINTER (500)),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_set_pipeline (rig.pipeline, "stall-timeout", "300ms");
  g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
  wait_for_stall (rig.pipeline, &stalled, parts);
  g_usleep (1000000); /* not again and again, or what comes next would be out of turn */
  g_atomic_int_set (&go, 1);
  end = next_stall (rig.pipeline, &stalled);
  g_assert_nonnull (end);
  g_assert_false (stalled);
  g_atomic_int_set (&go, 2);
  g_assert_true (hr_pipeline_wait (rig.pipeline, NULL));
  small_assert_counts (&rig.sink, 2000);
  small_rig_tear_down (&rig);
}

/* with on-stall=fail that is the error; in serial mode, too */
static void
test_fail (void)
{
  for (guint serial = 0; serial < 2; serial++) {
    g_autoptr (GError) error = NULL;
    const char *begin;
    SmallRig rig;

    g_atomic_int_set (&go, 0);
    small_rig_set_up (&rig);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 100, NULL, NULL),
                small_waits (rig.pipeline, "held", 0, hold, GINT_TO_POINTER (50)),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_set_pipeline (rig.pipeline, "stall-timeout", "5s"); /* see above */
    small_set_pipeline (rig.pipeline, "on-stall", "fail");
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
    g_assert_false (hr_pipeline_wait (rig.pipeline, &error));
    g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STALLED);
    begin = strstr (error->message, BEGIN);
    g_assert_nonnull (begin);
    g_assert_cmpint (atoi (begin + strlen (BEGIN)), >=, 5);
    g_assert_nonnull (strstr (begin, "\n  \"held\" sleeps, or waits for something outside"));
    small_rig_tear_down (&rig);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/watchdog/not-pulled", test_not_pulled);
  g_test_add_func ("/watchdog/held", test_held);
  g_test_add_func ("/watchdog/fail", test_fail);
  return g_test_run ();
}
