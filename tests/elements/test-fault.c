/* fault: which samples are hit depends on seed, epoch and place, never on workers; and how */
#include "hr-harness.h"
#include <string.h>

#define N 400

/* what became of each sample: 0: bad, 1: unchanged, 2: a bit turned */
typedef struct {
  guint8 fate[N];
  guint n_bad, n_turned;
} Seen;

static guint
count_bits (guint64 bits)
{
  return (guint)__builtin_popcountll (bits);
}

static Seen
run (const char *text, guint workers)
{
  HrHarness *harness = hr_harness_new (text, workers);
  Seen seen = { { 0 }, N, 0 };

  for (guint64 i = 0; i < N; i++)
    hr_harness_push_bytes (harness, "number", &i, sizeof i);
  hr_harness_end (harness);
  for (HrBuffer *buffer; (buffer = hr_harness_pull (harness)) != NULL;) {
    HrTensor *tensor = hr_buffer_get_tensor (buffer, "number");
    guint64 changed;

    g_assert_cmpint (hr_tensor_get_n_bytes (tensor), ==, sizeof changed);
    memcpy (&changed, hr_tensor_get_data (tensor), sizeof changed);
    changed ^= (guint64)buffer->sample;
    g_assert_cmpuint (count_bits (changed), <=, 1);
    seen.fate[buffer->sample] = changed != 0 ? 2 : 1;
    seen.n_turned += changed != 0;
    seen.n_bad--;
    hr_buffer_unref (buffer);
  }
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
  return seen;
}

static void
test_same (void)
{
  static const char text[] = "fault on-error=skip seed=5 error-rate=0.1 corrupt-rate=0.2 "
                             "delay-rate=0.02 delay=2ms";
  Seen one = run (text, 1), other = run ("fault on-error=skip seed=6 error-rate=0.1", 1);

  g_assert_cmpuint (one.n_bad, >, 0);
  g_assert_cmpuint (one.n_turned, >, 0);
  g_assert_cmpuint (one.n_bad + one.n_turned, <, N / 2);
  g_assert_cmpint (memcmp (one.fate, other.fate, N), !=, 0);
  for (guint workers = 2; workers <= 5; workers += 3) {
    Seen many = run (text, workers);

    g_assert_cmpmem (one.fate, N, many.fate, N);
  }
}

/* a higher rate hits those of a lower one, and more; the other rates change nothing of it */
static void
test_rates (void)
{
  Seen none = run ("fault on-error=skip", 2), few = run ("fault on-error=skip error-rate=0.05", 2);
  Seen more = run ("fault on-error=skip error-rate=0.5 corrupt-rate=1", 2);
  Seen all = run ("fault on-error=skip error-rate=1", 2);

  g_assert_cmpuint (none.n_bad, ==, 0);
  g_assert_cmpuint (all.n_bad, ==, N);
  g_assert_cmpuint (few.n_bad, <, more.n_bad);
  g_assert_cmpuint (more.n_turned, ==, N - more.n_bad);
  for (guint i = 0; i < N; i++)
    g_assert_true (few.fate[i] != 0 || more.fate[i] == 0);
}

/* as many of each kind that is wanted; all of them, if none is named, but the one that is no error
 */
static void
test_kinds (void)
{
  static const char *const texts[] = {
    "on-error=skip fakesrc num-buffers=400 ! fault error-rate=1 kind=bad-json,overlong ! fakesink",
    "on-error=skip fakesrc num-buffers=400 ! fault error-rate=1 ! fakesink"
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (HrPipeline) pipeline = hr_parse_launch (texts[i], NULL);
    g_autofree char *stats = NULL;
    g_autoptr (JsonNode) node = NULL;
    JsonObject *skipped;

    g_assert_true (hr_pipeline_start (pipeline, NULL) && hr_pipeline_wait (pipeline, NULL));
    stats = hr_pipeline_get_stats (pipeline);
    node = json_from_string (stats, NULL);
    skipped = json_object_get_object_member (json_node_get_object (node), "skipped");
    g_assert_cmpuint (json_object_get_size (skipped), ==, i == 0 ? 2 : HR_N_DATA_ERRORS - 1);
    g_assert_false (json_object_has_member (skipped, "no-label"));
    if (i == 0)
      g_assert_cmpint (json_object_get_int_member (skipped, "bad-json")
                           + json_object_get_int_member (skipped, "overlong"),
                       ==, 400);
  }
}

static void
test_fatal (void)
{
  HrHarness *harness = hr_harness_new ("fault on-error=skip fatal-rate=1", 1);
  guint8 byte = 0;

  hr_harness_push_bytes (harness, "byte", &byte, 1);
  hr_harness_end (harness);
  hr_harness_expect_error (harness, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                           "*fault*sample 0 cannot be had, as asked for");
  hr_harness_free (harness);
  hr_harness_new_failing ("fault kind=bad-jsn", HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                          "*kind=bad-jsn: there is no such kind*");
}

/* it waits until it is stopped, and leaves then */
static void
test_stall (void)
{
  HrHarness *harness = hr_harness_new ("fault stall-rate=1", 3);
  guint8 byte = 0;

  for (guint i = 0; i < 5; i++)
    hr_harness_push_bytes (harness, "byte", &byte, 1);
  hr_pipeline_stop (hr_harness_get_pipeline (harness));
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_examples (void)
{
  hr_harness_run_examples ("fault");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fault/same", test_same);
  g_test_add_func ("/fault/rates", test_rates);
  g_test_add_func ("/fault/kinds", test_kinds);
  g_test_add_func ("/fault/fatal", test_fatal);
  g_test_add_func ("/fault/stall", test_stall);
  g_test_add_func ("/fault/examples", test_examples);
  return g_test_run ();
}
