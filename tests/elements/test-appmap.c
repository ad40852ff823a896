/* appmap: the program's work on samples */
#include "hr-harness.h"
#include "hr-pipeline-private.h"
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND G_GINT64_CONSTANT (1000000000)

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

static HrBuffer *
take (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;
  gboolean timed_out;
  HrBuffer *buffer = hr_pipeline_take (pipeline, "map", 20 * SECOND, &timed_out, &error);

  g_assert_no_error (error);
  g_assert_false (timed_out);
  return buffer;
}

static HrBuffer *
note (HrBuffer *taken, const char *text)
{
  HrBuffer *result = hr_buffer_make_writable (hr_buffer_ref (taken));

  hr_buffer_set_string (result, "note", text);
  return result;
}

/* answers come in any order; what goes on comes in that of the samples */
static void
test_order (void)
{
  HrPipeline *pipeline = start ("fakesrc num-buffers=4 ! appmap name=map ! appsink");
  g_autoptr (GError) error = NULL;
  HrBuffer *taken[4];

  for (guint i = 0; i < 4; i++) {
    taken[i] = take (pipeline);
    g_assert_cmpint (taken[i]->number, ==, i);
  }
  for (guint i = 4; i-- > 0;) {
    g_autofree char *text = g_strdup_printf ("%u", i);

    g_assert_true (hr_pipeline_answer (pipeline, "map", taken[i], note (taken[i], text), &error));
  }
  g_assert_false (hr_pipeline_answer (pipeline, "map", taken[0], note (taken[0], "again"), &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  for (guint i = 0; i < 4; i++) {
    g_autoptr (HrBuffer) out = hr_pipeline_pull (pipeline, NULL);
    g_autofree char *text = g_strdup_printf ("%u", i);

    g_assert_cmpstr (hr_buffer_get_string (out, "note"), ==, text);
    hr_buffer_unref (taken[i]);
  }
  g_assert_null (hr_pipeline_pull (pipeline, NULL));
  g_assert_null (take (pipeline));
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

/* nothing, a result, a bad one */
static void
test_holes (void)
{
  HrPipeline *pipeline = start ("on-error=skip fakesrc num-buffers=3 ! appmap name=map ! batch "
                                "size=3 ! prefetchqueue ! appsink");
  g_autoptr (HrBuffer) batch = NULL;
  g_autoptr (GError) why = NULL;

  hr_set_data_error (&why, HR_DATA_ERROR_OTHER, "too dark");
  for (guint i = 0; i < 3; i++) {
    g_autoptr (HrBuffer) taken = take (pipeline);

    if (i == 2)
      g_assert_true (hr_pipeline_reject (pipeline, "map", taken, why, NULL));
    else
      g_assert_true (
          hr_pipeline_answer (pipeline, "map", taken, i == 1 ? note (taken, "x") : NULL, NULL));
  }
  batch = hr_pipeline_pull (pipeline, NULL);
  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 3);
  for (guint i = 0; i < 3; i++) {
    HrBuffer *member = hr_buffer_get_member (batch, i);

    g_assert_cmpuint (member->flags & (HR_BUFFER_HOLE | HR_BUFFER_DROPPED), ==,
                      i == 0   ? HR_BUFFER_HOLE | HR_BUFFER_DROPPED
                      : i == 1 ? 0
                               : HR_BUFFER_HOLE);
    g_assert_cmpstr (hr_buffer_get_error (member) != NULL ? hr_buffer_get_error (member)->message
                                                          : NULL,
                     ==, i == 2 ? "appmap \"map\": too dark" : NULL);
  }
  g_clear_pointer (&batch, hr_buffer_unref);
  g_assert_null (hr_pipeline_pull (pipeline, NULL));
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

static gpointer
work (gpointer pipeline)
{
  HrBuffer *taken;
  guint n = 0;

  while ((taken = take (pipeline)) != NULL) {
    hr_pipeline_answer (pipeline, "map", taken, hr_buffer_ref (taken), NULL);
    hr_buffer_unref (taken);
    n++;
  }
  return GUINT_TO_POINTER (n);
}

/* several threads may work for it; stop() lets them go */
static void
test_threads (void)
{
  static const char *const texts[] = { "", "serial=true " };

  for (guint k = 0; k < G_N_ELEMENTS (texts); k++) {
    g_autofree char *text = g_strconcat (texts[k], "fakesrc ! appmap name=map ! appsink", NULL);
    HrPipeline *pipeline = start (text);
    GThread *threads[3];
    guint n = 0;

    for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
      threads[i] = g_thread_new ("work", work, pipeline);
    for (gint64 i = 0; i < 500; i++) {
      g_autoptr (HrBuffer) out = hr_pipeline_pull (pipeline, NULL);

      g_assert_cmpint (out->number, ==, i);
    }
    hr_pipeline_stop (pipeline);
    for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
      n += GPOINTER_TO_UINT (g_thread_join (threads[i]));
    g_assert_cmpuint (n, >=, 500);
    g_assert_true (hr_pipeline_wait (pipeline, NULL));
    g_object_unref (pipeline);
    hr_harness_assert_no_leaks ();
  }
}

/* what is in hand when the run ends is nobody's any more */
static void
test_stopped (void)
{
  HrPipeline *pipeline = start ("fakesrc ! appmap name=map ! appsink");
  HrBuffer *taken = take (pipeline);
  g_autoptr (GError) error = NULL;

  hr_pipeline_stop (pipeline);
  g_assert_false (hr_pipeline_answer (pipeline, "map", taken, hr_buffer_ref (taken), &error));
  g_assert_null (take (pipeline));
  g_assert_true (hr_pipeline_wait (pipeline, &error));
  g_assert_false (hr_pipeline_answer (pipeline, "map", taken, hr_buffer_ref (taken), &error));
  g_assert_no_error (error);
  hr_buffer_unref (taken);
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

/* ---- the end between a look and a wait ---- */

static HrPipeline *ending; /* when its bell is listened to next */
static int ending_fd;

/* instead of the C library's: hr_bell_hush() calls it */
ssize_t
read (int fd, void *into, size_t size)
{
  HrPipeline *pipeline = g_atomic_pointer_get (&ending);

  if (pipeline != NULL && fd == ending_fd) {
    g_atomic_pointer_set (&ending, NULL);
    hr_pipeline_stop (pipeline);
  }
  return syscall (SYS_read, fd, into, size);
}

/* It rings, and that ring is forgotten with those before: who is told to leave just then must see
 * it. Nothing else will ring again: the second answer cannot leave before the first. */
static void
test_stopped_while_hushing (void)
{
  HrPipeline *pipeline = start ("fakesrc ! appmap name=map window=2 ! appsink");
  const HrElement *map = hr_pipeline_get_element (pipeline, "map");
  HrBuffer *first = take (pipeline), *second = take (pipeline);

  ending_fd = map->run->bell.fd;
  g_atomic_pointer_set (&ending, pipeline);
  g_assert_true (hr_pipeline_answer (pipeline, "map", second, hr_buffer_ref (second), NULL));
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_assert_null (ending);
  hr_buffer_unref (first);
  hr_buffer_unref (second);
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

/* an error that is not of the sample's ends the run */
static void
test_failed (void)
{
  HrPipeline *pipeline = start ("on-error=skip fakesrc ! appmap name=map ! appsink");
  HrBuffer *taken = take (pipeline);
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) why =
      g_error_new_literal (HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "out of ideas");

  g_assert_true (hr_pipeline_reject (pipeline, "map", taken, why, NULL));
  hr_buffer_unref (taken);
  g_assert_null (hr_pipeline_pull (pipeline, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED);
  g_assert_cmpstr (error->message, ==, "appmap \"map\": out of ideas");
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

/* batches are no samples, in whichever branch they were made */
static void
test_behind_batch (void)
{
  const char *const texts[] = {
    "fakesrc ! batch name=b ! appmap name=map ! appsink",
    "fakesrc ! tee name=t ! identity ! join name=j mode=any ! appmap name=map ! appsink "
    "t. ! batch name=b ! j.",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (HrPipeline) pipeline = hr_parse_launch (texts[i], &error);

    g_assert_null (pipeline);
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT);
    g_test_message ("%s", error->message);
    g_assert_nonnull (strstr (error->message, "\"b\" makes batches"));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/appmap/order", test_order);
  g_test_add_func ("/appmap/holes", test_holes);
  g_test_add_func ("/appmap/threads", test_threads);
  g_test_add_func ("/appmap/stopped", test_stopped);
  g_test_add_func ("/appmap/stopped-while-hushing", test_stopped_while_hushing);
  g_test_add_func ("/appmap/failed", test_failed);
  g_test_add_func ("/appmap/behind-batch", test_behind_batch);
  return g_test_run ();
}
