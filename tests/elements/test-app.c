/* appsrc and appsink: a program's own buffers */
#include "hr-harness.h"

static HrPipeline *
start (const char *text)
{
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = hr_parse_launch (text, &error);

  g_assert_no_error (error);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  return pipeline;
}

static void
test_push_pull (void)
{
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = start ("appsrc name=in ! appsink");

  for (guint i = 0; i < 100; i++) {
    g_autoptr (HrBuffer) out = NULL;
    HrBuffer *in = hr_buffer_new ();

    hr_buffer_set_string (in, "text", "x");
    g_assert_true (hr_pipeline_push (pipeline, "in", in, &error));
    g_assert_no_error (error);
    out = hr_pipeline_pull (pipeline, &error);
    /* the very one: nobody else had it */
    g_assert_true (out == in);
    g_assert_cmpint (out->number, ==, i);
  }
  hr_pipeline_end (pipeline, "in");
  g_assert_null (hr_pipeline_pull (pipeline, &error));
  g_assert_no_error (error);
  g_assert_true (hr_pipeline_wait (pipeline, &error));
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

static gpointer
push_for_ever (gpointer data)
{
  g_autoptr (GError) error = NULL;
  guint n = 0;

  while (hr_pipeline_push (data, "in", hr_buffer_new (), &error))
    n++;
  return GUINT_TO_POINTER (n);
}

/* links are bounded: who pushes without being pulled from waits, until nobody wants it any more */
static void
test_push_waits (void)
{
  HrPipeline *pipeline = start ("appsrc name=in ! identity ! appsink");
  GThread *thread = g_thread_new ("push", push_for_ever, pipeline);

  for (guint i = 0; i < 1000; i++)
    hr_buffer_unref (hr_pipeline_pull (pipeline, NULL));
  hr_pipeline_stop (pipeline);
  g_assert_cmpuint (GPOINTER_TO_UINT (g_thread_join (thread)), >=, 1000);
  g_assert_null (hr_pipeline_pull (pipeline, NULL));
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

static void
test_failure_reaches_pull (void)
{
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = start ("fakesrc ! identity error-after=5 ! appsink");

  for (guint i = 0; i < 5; i++) {
    HrBuffer *buffer = hr_pipeline_pull (pipeline, &error);

    if (buffer == NULL)
      break; /* the error overtakes what is queued, if it can */
    hr_buffer_unref (buffer);
  }
  while (error == NULL) {
    HrBuffer *buffer = hr_pipeline_pull (pipeline, &error);

    if (buffer != NULL)
      hr_buffer_unref (buffer);
  }
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_OTHER);
  g_assert_false (hr_pipeline_wait (pipeline, NULL));
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

static void
test_two_sources (void)
{
  HrPipeline *pipeline = start ("join name=j ! appsink appsrc name=a ! j. appsrc name=b ! j.");

  for (guint i = 0; i < 5; i++) {
    HrBuffer *a = hr_buffer_new (), *b = hr_buffer_new ();
    g_autoptr (HrBuffer) out = NULL;

    hr_buffer_set_string (a, "from-a", "1");
    hr_buffer_set_string (b, "from-b", "2");
    g_assert_true (hr_pipeline_push (pipeline, "b", b, NULL));
    g_assert_true (hr_pipeline_push (pipeline, "a", a, NULL));
    out = hr_pipeline_pull (pipeline, NULL);
    g_assert_cmpstr (hr_buffer_get_string (out, "from-a"), ==, "1");
    g_assert_cmpstr (hr_buffer_get_string (out, "from-b"), ==, "2");
  }
  hr_pipeline_end (pipeline, "a");
  g_assert_null (hr_pipeline_pull (pipeline, NULL));
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/app/push-pull", test_push_pull);
  g_test_add_func ("/app/push-waits", test_push_waits);
  g_test_add_func ("/app/failure-reaches-pull", test_failure_reaches_pull);
  g_test_add_func ("/app/two-sources", test_two_sources);
  return g_test_run ();
}
