/* the harness itself: it must see what goes wrong */
#include <stdlib.h>
#include "hr-harness.h"

static void
expect_failure (const char *pattern)
{
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (pattern);
}

static void
test_push_pull (void)
{
  HrHarness *harness = hr_harness_new ("identity", 1);
  g_autoptr (HrBuffer) buffer = NULL;

  hr_harness_push_bytes (harness, "bytes", "abc", 3);
  buffer = hr_harness_pull (harness);
  g_assert_cmpmem (hr_tensor_get_data (hr_buffer_get_tensor (buffer, "bytes")), 3, "abc", 3);
  hr_harness_end (harness);
  g_assert_null (hr_harness_pull (harness));
  g_assert_null (hr_harness_pull (harness));
  hr_harness_wait (harness);
  hr_harness_free (harness);
}

/* as docs/testing-elements.md shows it */
static void
test_batch (gconstpointer workers)
{
  HrHarness *harness = hr_harness_new ("batch size=2", GPOINTER_TO_UINT (workers));
  HrBuffer *batch;

  hr_harness_push_bytes (harness, "bytes", "first", 5);
  hr_harness_push_bytes (harness, "bytes", "second", 6);
  hr_harness_end (harness);
  batch = hr_harness_pull (harness);
  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 2);
  hr_buffer_unref (batch);
  g_assert_null (hr_harness_pull (harness)); /* the end */
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* far more than links hold, and a batch that waits to be asked for */
static void
test_push_never_waits (void)
{
  HrHarness *harness = hr_harness_new ("identity ! batch size=2", 4);
  guint n = 0;

  for (guint i = 0; i < 5000; i++)
    hr_harness_push_bytes (harness, "bytes", &i, sizeof i);
  hr_harness_end (harness);
  for (HrBuffer *batch; (batch = hr_harness_pull (harness)) != NULL; n++)
    hr_buffer_unref (batch);
  g_assert_cmpuint (n, ==, 2500);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_sees_error (void)
{
  if (g_test_subprocess ()) {
    HrHarness *harness = hr_harness_new ("fakesrc ! identity error-after=0", 1);

    while (TRUE)
      hr_buffer_unref (hr_harness_pull (harness));
  }
  expect_failure ("*identity0*bad*");
}

static void
test_sees_missing_error (void)
{
  if (g_test_subprocess ()) {
    HrHarness *harness = hr_harness_new ("fakesrc num-buffers=1", 1);

    hr_harness_expect_error (harness, HR_DATA_ERROR, HR_DATA_ERROR_OTHER, NULL);
    exit (0);
  }
  expect_failure ("*no error*");
}

static void
test_sees_other_error (void)
{
  if (g_test_subprocess ()) {
    HrHarness *harness = hr_harness_new ("fakesrc ! identity error-after=0", 1);

    hr_harness_expect_error (harness, HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON, NULL);
    exit (0);
  }
  expect_failure ("*is expected, not*");
}

static void
test_sees_other_message (void)
{
  if (g_test_subprocess ()) {
    HrHarness *harness = hr_harness_new ("fakesrc ! identity error-after=0", 1);

    hr_harness_expect_error (harness, HR_DATA_ERROR, HR_DATA_ERROR_OTHER, "something else");
    exit (0);
  }
  expect_failure ("*does not match*");
}

static void
test_sees_leak (void)
{
  if (g_test_subprocess ()) {
    hr_memory_new (1);
    hr_harness_assert_no_leaks ();
    exit (0);
  }
  expect_failure ("*hr_memory_live*");
}

/* an element whose output depends on the number of its workers */
typedef struct {
  guint8 value;
} Sloppy;

typedef struct {
  gint n;
} Count;

static gboolean
sloppy_process (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrBuffer *in, HrOut *out,
                GError **error G_GNUC_UNUSED)
{
  Count *count = worker;
  g_autofree char *text = g_strdup_printf ("%d", count->n++);

  hr_out_sleep (out, 1000000);
  in = hr_buffer_make_writable (in);
  hr_buffer_set_string (in, "count", text);
  hr_out_push (out, in);
  return TRUE;
}

HR_ELEMENT (sloppy, Sloppy, .summary = "Test: what it gives depends on its workers",
            .parallel = HR_PARALLEL_YES, .worker_size = sizeof (Count), .process = sloppy_process)

static void
test_sees_difference (void)
{
  if (g_test_subprocess ()) {
    hr_registry_add (&hr_element_sloppy);
    g_free (hr_harness_run ("fakesrc num-buffers=20 ! sloppy ! fakesink"));
    exit (0);
  }
  expect_failure ("*4 workers*other bytes*");
}

static void
test_new_failing (void)
{
  hr_harness_new_failing ("identity error-after=x", HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE, NULL);
  if (g_test_subprocess ()) {
    hr_harness_new_failing ("identity", HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE, NULL);
    exit (0);
  }
  expect_failure ("*harness_new*");
}

static void
test_run_is_repeatable (void)
{
  g_autofree char *first = hr_harness_run ("fakesrc num-buffers=5 seed=1 ! appsink");
  g_autofree char *again = hr_harness_run ("fakesrc num-buffers=5 seed=1 ! identity ! fakesink");
  g_autofree char *other = hr_harness_run ("fakesrc num-buffers=5 seed=2 ! fakesink");

  g_assert_cmpstr (first, ==, again);
  g_assert_cmpstr (first, !=, other);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/harness/push-pull", test_push_pull);
  g_test_add_data_func ("/harness/1/batch", GUINT_TO_POINTER (1), test_batch);
  g_test_add_data_func ("/harness/4/batch", GUINT_TO_POINTER (4), test_batch);
  g_test_add_func ("/harness/push-never-waits", test_push_never_waits);
  g_test_add_func ("/harness/sees-error", test_sees_error);
  g_test_add_func ("/harness/sees-missing-error", test_sees_missing_error);
  g_test_add_func ("/harness/sees-other-error", test_sees_other_error);
  g_test_add_func ("/harness/sees-other-message", test_sees_other_message);
  g_test_add_func ("/harness/sees-leak", test_sees_leak);
  g_test_add_func ("/harness/sees-difference", test_sees_difference);
  g_test_add_func ("/harness/new-failing", test_new_failing);
  g_test_add_func ("/harness/run-is-repeatable", test_run_is_repeatable);
  return g_test_run ();
}
