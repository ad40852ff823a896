/* tee: all outputs get everything, shared and not copied */
#include "hr-harness.h"

/* a tee's branches meet again: the same buffers, in order, none lost */
static void
test_all (void)
{
  HrHarness *harness =
      hr_harness_new ("tee name=t t. ! identity ! join name=j mode=concat t. ! j. t. "
                      "! j. j. ! identity",
                      1);
  guint n = 0;

  for (guint i = 0; i < 10; i++)
    hr_harness_push_bytes (harness, "number", &i, sizeof i);
  hr_harness_end (harness);
  for (HrBuffer *buffer; (buffer = hr_harness_pull (harness)) != NULL; n++) {
    g_assert_cmpuint (*(guint *)hr_tensor_get_data (hr_buffer_get_tensor (buffer, "number")), ==,
                      n % 10);
    hr_buffer_unref (buffer);
  }
  g_assert_cmpuint (n, ==, 30);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_shared (void)
{
  HrHarness *harness = hr_harness_new (
      "tee name=t t. ! join name=j mode=concat t. ! identity ! j. j. ! identity", 1);
  g_autoptr (HrBuffer) first = NULL;
  g_autoptr (HrBuffer) second = NULL;

  hr_harness_push_bytes (harness, "bytes", "abc", 3);
  hr_harness_end (harness);
  first = hr_harness_pull (harness);
  second = hr_harness_pull (harness);
  g_assert_true (hr_buffer_get_tensor (first, "bytes") == hr_buffer_get_tensor (second, "bytes"));
  hr_harness_free (harness);
}

static void
test_three_sinks (void)
{
  g_free (
      hr_harness_run ("fakesrc num-buffers=50 ! tee name=t t. ! fakesink t. ! identity ! fakesink "
                      "t. ! batch size=7 ! fakesink"));
  hr_harness_assert_no_leaks ();
}

static void
test_examples (void)
{
  hr_harness_run_examples ("tee");
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tee/all", test_all);
  g_test_add_func ("/tee/shared", test_shared);
  g_test_add_func ("/tee/three-sinks", test_three_sinks);
  g_test_add_func ("/tee/examples", test_examples);
  return g_test_run ();
}
