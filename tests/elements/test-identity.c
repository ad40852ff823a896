/* identity: everything passes in order, whatever the number of workers; bad samples where asked for
 */
#include "hr-harness.h"

static void
push_numbers (HrHarness *harness, guint n)
{
  for (guint i = 0; i < n; i++)
    hr_harness_push_bytes (harness, "number", &i, sizeof i);
  hr_harness_end (harness);
}

static guint
number_of (const HrBuffer *buffer)
{
  return *(guint *)hr_tensor_get_data (hr_buffer_get_tensor (buffer, "number"));
}

static void
test_pass (gconstpointer workers)
{
  HrHarness *harness = hr_harness_new ("identity", GPOINTER_TO_UINT (workers));

  push_numbers (harness, 500);
  for (guint i = 0; i < 500; i++) {
    g_autoptr (HrBuffer) buffer = hr_harness_pull (harness);

    g_assert_cmpuint (number_of (buffer), ==, i);
    g_assert_cmpint (buffer->number, ==, i);
  }
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* which of 20 samples are skipped: the others keep their numbers */
static guint
run_with_errors (const char *text, guint workers)
{
  HrHarness *harness = hr_harness_new (text, workers);
  guint skipped = 0xfffff;
  gint64 last = -1;

  push_numbers (harness, 20);
  for (HrBuffer *buffer; (buffer = hr_harness_pull (harness)) != NULL;) {
    g_assert_cmpint (buffer->number, >, last);
    g_assert_cmpuint (number_of (buffer), ==, buffer->number);
    last = buffer->number;
    skipped &= ~(1u << last);
    hr_buffer_unref (buffer);
  }
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
  return skipped;
}

static void
test_skip (gconstpointer data)
{
  guint workers = GPOINTER_TO_UINT (data);

  g_assert_cmphex (run_with_errors ("identity on-error=skip error-every=6", workers), ==, 0x20820);
  g_assert_cmphex (run_with_errors ("identity on-error=skip error-after=17", workers), ==, 0xe0000);
  g_assert_cmphex (run_with_errors ("identity on-error=skip error-after=0", workers), ==, 0xfffff);
  g_assert_cmphex (run_with_errors ("identity on-error=skip error-every=6 error-after=18", workers),
                   ==, 0xe0820);
  /* what comes as a hole goes on as one */
  g_assert_cmphex (run_with_errors ("identity on-error=skip error-every=6 ! identity on-error=fail "
                                    "error-every=6 ! identity",
                                    workers),
                   ==, 0x20820);
}

static void
test_fail (gconstpointer workers)
{
  HrHarness *harness =
      hr_harness_new ("identity name=bad error-after=3", GPOINTER_TO_UINT (workers));

  push_numbers (harness, 20);
  hr_harness_expect_error (harness, HR_DATA_ERROR, HR_DATA_ERROR_OTHER,
                           "identity \"bad\": *sample *bad*");
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_stop_while_asleep (gconstpointer workers)
{
  HrHarness *harness = hr_harness_new ("identity sleep=60s", GPOINTER_TO_UINT (workers));

  push_numbers (harness, 10);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_examples (void)
{
  hr_harness_run_examples ("identity");
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint workers = 1; workers <= 4; workers += 3) {
    const struct {
      const char *name;
      GTestDataFunc function;
    } rows[] = { { "pass", test_pass },
                 { "skip", test_skip },
                 { "fail", test_fail },
                 { "stop-while-asleep", test_stop_while_asleep } };

    for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
      g_autofree char *path = g_strdup_printf ("/identity/%u/%s", workers, rows[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (workers), rows[i].function);
    }
  }
  g_test_add_func ("/identity/examples", test_examples);
  return g_test_run ();
}
