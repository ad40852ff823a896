/* trainsim: holds a batch for a step, and the wait ratio that comes of it */
#include "hr-harness.h"

static JsonNode *
run (const char *text)
{
  HrHarness *harness = hr_harness_new (text, 1);
  g_autofree char *json = NULL;

  hr_harness_wait (harness);
  json = hr_pipeline_get_stats (hr_harness_get_pipeline (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
  return json_from_string (json, NULL);
}

static double
number (JsonNode *stats, const char *name)
{
  JsonNode *node = json_object_get_member (json_node_get_object (stats), name);

  g_assert_nonnull (node);
  g_assert_false (JSON_NODE_HOLDS_NULL (node));
  return json_node_get_double (node);
}

static void
test_steps (void)
{
  g_autoptr (JsonNode) stats =
      run ("fakesrc num-buffers=20 ! batch size=4 ! trainsim step-time=3ms");

  g_assert_cmpint ((gint)number (stats, "steps"), ==, 5);
  g_assert_cmpint ((gint)number (stats, "samples"), ==, 20);
  /* it never sleeps for less than it should */
  g_assert_cmpfloat (number (stats, "train_s"), >=, 0.0149);
  g_assert_cmpfloat (number (stats, "wall_s"), >=, 0.0149);
  g_assert_cmpfloat (number (stats, "wait_ratio"), >=, 0);
  g_assert_cmpfloat (number (stats, "wait_ratio"), <=, 1);
  g_assert_cmpfloat (number (stats, "cold_start_s"), >=, 0);
}

/* it holds the first steps for one time, and those behind for another */
static void
test_change (void)
{
  g_autoptr (JsonNode) slower =
      run ("fakesrc num-buffers=10 ! trainsim step-time=0ms change-after=5 later-step-time=4ms");
  g_autoptr (JsonNode) faster =
      run ("fakesrc num-buffers=10 ! trainsim step-time=4ms change-after=5 "
           "later-step-time=0ms");
  HrHarness *harness;
  g_autoptr (JsonNode) stats = NULL;

  g_assert_cmpfloat (number (slower, "train_s"), >=, 0.0199);
  g_assert_cmpfloat (number (faster, "train_s"), >=, 0.0199);
  /* five are gone, and the sixth is held */
  harness = hr_harness_new (
      "fakesrc ! batch size=1 ! trainsim step-time=0ms change-after=5 later-step-time=60s", 1);
  for (gint steps = 0; steps < 6;) {
    g_autofree char *json = hr_pipeline_get_stats (hr_harness_get_pipeline (harness));

    g_clear_pointer (&stats, json_node_unref);
    stats = json_from_string (json, NULL);
    steps = (gint)number (stats, "steps");
    g_assert_cmpint (steps, <=, 6);
    g_usleep (1000);
  }
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* the ratio is what its definition says, from its own parts */
static void
test_ratio (void)
{
  g_autoptr (JsonNode) stats = run ("fakesrc num-buffers=10 interval=2ms ! trainsim step-time=1ms");
  double wait = number (stats, "prepare_s"), train = number (stats, "train_s");

  g_assert_cmpfloat (wait, >, 0);
  g_assert_cmpfloat_with_epsilon (number (stats, "wait_ratio"), wait / (wait + train), 0.15);
}

static void
test_skipped_counts_as_step (void)
{
  g_autoptr (JsonNode) stats = run (
      "fakesrc num-buffers=12 ! identity error-after=4 on-error=skip ! batch size=4 ! trainsim "
      "step-time=0ms");

  g_assert_cmpint ((gint)number (stats, "steps"), ==, 3);
  g_assert_cmpint ((gint)number (stats, "samples"), ==, 4);
}

static void
test_stop_while_asleep (void)
{
  HrHarness *harness = hr_harness_new ("fakesrc ! trainsim step-time=60s", 1);

  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_examples (void)
{
  hr_harness_run_examples ("trainsim");
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trainsim/steps", test_steps);
  g_test_add_func ("/trainsim/change", test_change);
  g_test_add_func ("/trainsim/ratio", test_ratio);
  g_test_add_func ("/trainsim/skipped-counts-as-step", test_skipped_counts_as_step);
  g_test_add_func ("/trainsim/stop-while-asleep", test_stop_while_asleep);
  g_test_add_func ("/trainsim/examples", test_examples);
  return g_test_run ();
}
