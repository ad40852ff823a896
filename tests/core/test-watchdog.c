/* test-watchdog.c: when nothing moves it is said who waits for what, once; and when it moves again.
 * The time-out is short, but nothing here depends on how long anything takes. */
#include "small.h"
#include <string.h>

/* the text of the next message about a stall; NULL: the run is over, and there was none */
static char *
next_stall (HrPipeline *pipeline)
{
  for (;;) {
    g_autoptr (HrMessage) message = hr_pipeline_pop_message (pipeline, -1);

    if (message == NULL || message->type == HR_MESSAGE_DONE)
      return NULL;
    if (message->type == HR_MESSAGE_STALL)
      return g_strdup (message->text);
  }
}

static void
assert_has (const char *text, const char *part)
{
  if (text == NULL || strstr (text, part) == NULL)
    g_error ("no \"%s\" in \"%s\"", part, text != NULL ? text : "nothing");
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
  for (guint fail = 0; fail < 2; fail++) {
    g_autofree char *begin = NULL, *end = NULL, *more = NULL;
    SmallRig rig;

    small_rig_set_up (&rig);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 1000, NULL, NULL),
                small_light (rig.pipeline, "pool", 2, NULL, NULL),
                small_pull (rig.pipeline, "program"), NULL);
    small_set_pipeline (rig.pipeline, "stall-timeout", "300ms");
    small_set_pipeline (rig.pipeline, "on-stall", fail ? "fail" : "tell");
    g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
    begin = next_stall (rig.pipeline);
    assert_has (begin, "nothing has moved for 0 s:\n");
    assert_has (begin, "\n  \"program\" waits for the program to pull");
    assert_has (begin, "\n  \"pool\" waits for room in front of \"program\", whose queue is full");
    assert_has (begin, "\n  \"source\" waits for room in front of \"pool\"");
    pull_all (rig.pipeline, 1000);
    end = next_stall (rig.pipeline);
    g_assert_true (end == NULL || g_str_has_prefix (end, "moves again, after "));
    more = next_stall (rig.pipeline);
    g_assert_null (more);
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
  g_autofree char *begin = NULL, *end = NULL;
  SmallRig rig;

  g_atomic_int_set (&go, 0);
  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 2000, NULL, NULL),
              small_light (rig.pipeline, "before", 1, NULL, NULL),
              small_waits (rig.pipeline, "held", 3, hold, GINT_TO_POINTER (500)),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_set_pipeline (rig.pipeline, "stall-timeout", "300ms");
  g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
  begin = next_stall (rig.pipeline);
  assert_has (begin, "\n  \"held\" sleeps, or waits for something outside");
  assert_has (begin, "\n  \"before\" waits for room in front of \"held\", whose queue is full");
  assert_has (begin, "\n  \"sink\" waits for the output of \"held\"");
  /* not again and again */
  g_usleep (1000000);
  for (HrMessage *more; (more = hr_pipeline_pop_message (rig.pipeline, 0)) != NULL;) {
    g_assert_cmpint (more->type, !=, HR_MESSAGE_STALL);
    hr_message_unref (more);
  }
  g_atomic_int_set (&go, 1);
  end = next_stall (rig.pipeline);
  g_assert_true (end != NULL && g_str_has_prefix (end, "moves again, after "));
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
    SmallRig rig;

    g_atomic_int_set (&go, 0);
    small_rig_set_up (&rig);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 100, NULL, NULL),
                small_waits (rig.pipeline, "held", 0, hold, GINT_TO_POINTER (50)),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_set_pipeline (rig.pipeline, "stall-timeout", "200ms");
    small_set_pipeline (rig.pipeline, "on-stall", "fail");
    small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
    g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
    g_assert_false (hr_pipeline_wait (rig.pipeline, &error));
    g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STALLED);
    assert_has (error->message, "nothing has moved for 0 s:");
    assert_has (error->message, "\n  \"held\" sleeps, or waits for something outside");
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
