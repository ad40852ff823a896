/* prefetchqueue: changes nothing but how far the sources run ahead */
#include "hr-harness.h"

/* counts what the source has made */
static gint made;

static HrFlow
counted_create (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrOut *out,
                GError **error G_GNUC_UNUSED)
{
  gint *n = worker;

  if (*n == 100)
    return HR_FLOW_END;
  ++*n;
  g_atomic_int_inc (&made);
  hr_out_push (out, hr_buffer_new ());
  return HR_FLOW_MORE;
}

typedef struct {
  char unused;
} Counted;

HR_ELEMENT (counted, Counted, .summary = "Test: count what is made", .worker_size = sizeof (gint),
            .create = counted_create)

/* what has passed the place where samples are released */
static guint
get_released (HrHarness *harness)
{
  g_autofree char *json = hr_pipeline_get_stats (hr_harness_get_pipeline (harness));
  g_autoptr (JsonNode) stats = json_from_string (json, NULL);
  JsonArray *elements = json_object_get_array_member (json_node_get_object (stats), "elements");

  return (guint)json_object_get_int_member (json_array_get_object_element (elements, 1), "items");
}

/* they come, sooner or later; then no more may */
static void
assert_released (HrHarness *harness, guint expected)
{
  while (get_released (harness) < expected)
    g_usleep (1000);
  g_usleep (30000);
  g_assert_cmpuint (get_released (harness), ==, expected);
}

static void
test_ahead (gconstpointer data)
{
  guint ahead = GPOINTER_TO_UINT (data);
  g_autofree char *queue =
      ahead > 0 ? g_strdup_printf (" ! prefetchqueue max-batches=%u", ahead) : g_strdup ("");
  g_autofree char *text = g_strdup_printf ("counted ! identity ! batch size=4%s", queue);
  HrHarness *harness = hr_harness_new (text, 1);

  /* nobody has asked for anything: what may be ready is what the queue may hold */
  assert_released (harness, 4 * ahead);
  for (guint step = 0; step < 3; step++) {
    hr_buffer_unref (hr_harness_pull (harness));
    assert_released (harness, 4 * (step + 1 + ahead));
  }
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_conflict (void)
{
  hr_harness_new_failing ("batch size=2 ! prefetchqueue max-batches=2 warm-up=3", HR_PARSE_ERROR,
                          HR_PARSE_ERROR_CONFLICT, "*warm-up=3*max-batches=2*");
}

/* it counts batches, so there must be some; the advice names the element that makes them */
static void
test_needs_batch (void)
{
  hr_harness_new_failing ("fakesrc ! prefetchqueue", HR_PARSE_ERROR, HR_PARSE_ERROR_TYPE,
                          "*prefetchqueue*batch*fakesrc ! batch ! prefetchqueue*");
}

static void
test_same_bytes (void)
{
  g_autofree char *without =
      hr_harness_run ("fakesrc num-buffers=103 size=300 ! identity ! batch size=8 ! fakesink");
  const char *queues[] = { "prefetchqueue max-batches=1", "prefetchqueue max-batches=100",
                           "prefetchqueue max-batches=4 max-bytes=1",
                           "prefetchqueue max-batches=5 warm-up=5" };

  for (guint i = 0; i < G_N_ELEMENTS (queues); i++) {
    g_autofree char *text = g_strdup_printf (
        "fakesrc num-buffers=103 size=300 ! identity ! batch size=8 ! %s ! fakesink", queues[i]);
    g_autofree char *with = hr_harness_run (text);

    g_assert_cmpstr (with, ==, without);
  }
  hr_harness_assert_no_leaks ();
}

static void
test_live (void)
{
  HrHarness *harness = hr_harness_new ("counted ! identity ! batch size=4 ! prefetchqueue name=q "
                                       "max-batches=1",
                                       1);
  HrElement *queue = hr_pipeline_get_element (hr_harness_get_pipeline (harness), "q");
  g_autoptr (GError) error = NULL;

  assert_released (harness, 4);
  hr_element_set_from_string (queue, "max-batches", "5", &error);
  g_assert_no_error (error);
  assert_released (harness, 20);
  hr_harness_free (harness);
}

static void
test_examples (void)
{
  hr_harness_run_examples ("prefetchqueue");
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  hr_registry_add (&hr_element_counted);
  g_test_add_data_func ("/prefetchqueue/ahead/0", GUINT_TO_POINTER (0), test_ahead);
  g_test_add_data_func ("/prefetchqueue/ahead/1", GUINT_TO_POINTER (1), test_ahead);
  g_test_add_data_func ("/prefetchqueue/ahead/3", GUINT_TO_POINTER (3), test_ahead);
  g_test_add_func ("/prefetchqueue/conflict", test_conflict);
  g_test_add_func ("/prefetchqueue/needs-batch", test_needs_batch);
  g_test_add_func ("/prefetchqueue/same-bytes", test_same_bytes);
  g_test_add_func ("/prefetchqueue/live", test_live);
  g_test_add_func ("/prefetchqueue/examples", test_examples);
  return g_test_run ();
}
