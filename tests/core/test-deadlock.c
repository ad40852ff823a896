/* test-deadlock.c: elements that wait for each other are named; those that are only slow are not */
#include "small.h"
#include <string.h>

/* source ! split ! (a | b) ! together ! sink: an ordered join wants all of one branch first, and
 * the other one can hold @items */
static void
concat_behind_tee (SmallRig *rig, const char *items)
{
  HrElement *tee = small_tee (rig->pipeline, "split");
  HrElement *join = small_join (rig->pipeline, "together", HR_JOIN_CONCAT);
  HrElement *a = small_light (rig->pipeline, "a", 3, NULL, NULL);
  HrElement *b = small_light (rig->pipeline, "b", 2, NULL, NULL);

  small_set (join, "queue-items", items);
  small_set (b, "queue-items", items);
  small_link (rig->pipeline, small_source (rig->pipeline, "source", 100, NULL, NULL), tee, a, join,
              small_sink (rig->pipeline, "sink", &rig->sink), NULL);
  small_link (rig->pipeline, tee, b, join, NULL);
}

static void
test_concat_behind_tee (void)
{
  SmallRig rig;
  g_autofree char *message = NULL;

  small_rig_set_up (&rig);
  concat_behind_tee (&rig, "2");
  message = small_run_failing (rig.pipeline, HR_CORE_ERROR, HR_CORE_ERROR_DEADLOCK);
  /* all who stand in the circle, and nobody else */
  g_assert_nonnull (strstr (message, "\"split\" waits for room in front of \"b\""));
  g_assert_nonnull (strstr (message, "\"b\" waits for room in front of \"together\""));
  g_assert_nonnull (strstr (message, "\"together\" waits for the output of \"a\""));
  g_assert_nonnull (strstr (message, "\"a\" waits for the output of \"split\""));
  g_assert_null (strstr (message, "\"sink\""));
  g_assert_null (strstr (message, "\"source\""));
  small_rig_tear_down (&rig);
}

/* the way out that the message names */
static void
test_larger_queue (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  concat_behind_tee (&rig, "100");
  small_run (rig.pipeline);
  g_assert_cmpuint (rig.sink.values->len, ==, 200);
  small_rig_tear_down (&rig);
}

/* also when the branch is full of bytes, and when the sink is the program's */
static void
test_bytes (void)
{
  SmallRig rig;
  HrElement *tee, *join;
  g_autoptr (GError) error = NULL;
  guint n = 0;
  HrBuffer *buffer;

  small_rig_set_up (&rig);
  tee = small_tee (rig.pipeline, "split");
  join = small_join (rig.pipeline, "together", HR_JOIN_CONCAT);
  small_set (join, "queue-bytes", "20");
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 100, NULL, NULL), tee,
              small_async (rig.pipeline, "fetch"), join, small_pull (rig.pipeline, "pull"), NULL);
  small_link (rig.pipeline, tee, join, NULL);
  g_assert_true (hr_pipeline_start (rig.pipeline, &error));
  while ((buffer = hr_pipeline_pull (rig.pipeline, &error)) != NULL) {
    hr_buffer_unref (buffer);
    n++;
  }
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_DEADLOCK);
  g_assert_nonnull (strstr (error->message, "\"fetch\""));
  g_assert_cmpuint (n, <=, 100);
  small_rig_tear_down (&rig);
}

/* ---- no false alarms: the finder looks every 200 ms, these take longer ---- */

static void
test_slow_sink (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  rig.sink.hook = small_sleep;
  rig.sink.data = GINT_TO_POINTER (700000);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 6, NULL, NULL),
              small_light (rig.pipeline, "pool", 2, NULL, NULL),
              small_batch (rig.pipeline, "batch", 3), small_sink (rig.pipeline, "sink", &rig.sink),
              NULL);
  small_run (rig.pipeline);
  small_assert_counts (&rig.sink, 6);
  small_rig_tear_down (&rig);
}

static gboolean
pause_at_three (gpointer data, gint64 value, HrOut *out, GError **error)
{
  return value != 3 || small_sleep (data, value, out, error);
}

static void
test_slow_branch (void)
{
  SmallRig rig;
  HrElement *tee, *join, *slow;

  small_rig_set_up (&rig);
  tee = small_tee (rig.pipeline, "tee");
  join = small_join (rig.pipeline, "join", HR_JOIN_ZIP);
  slow = small_waits (rig.pipeline, "slow", 1, pause_at_three, GINT_TO_POINTER (900000));
  small_set (slow, "queue-items", "1");
  small_set (join, "queue-items", "1");
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 20, NULL, NULL), tee, slow, join,
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_link (rig.pipeline, tee, join, NULL);
  small_run (rig.pipeline);
  small_assert_counts (&rig.sink, 20);
  small_rig_tear_down (&rig);
}

static void
test_slow_source (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  small_link (rig.pipeline,
              small_source (rig.pipeline, "source", 6, pause_at_three, GINT_TO_POINTER (900000)),
              small_light (rig.pipeline, "pool", 2, NULL, NULL),
              small_batch (rig.pipeline, "batch", 2),
              small_prefetch (rig.pipeline, "prefetch", 2, 2),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_run (rig.pipeline);
  small_assert_counts (&rig.sink, 6);
  small_rig_tear_down (&rig);
}

/* everybody waits for the program, which takes its time */
static void
test_slow_program (void)
{
  SmallRig rig;
  g_autoptr (GError) error = NULL;
  HrBuffer *buffer;
  guint n = 0;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 12, NULL, NULL),
              small_light (rig.pipeline, "pool", 2, NULL, NULL),
              small_batch (rig.pipeline, "batch", 3), small_pull (rig.pipeline, "pull"), NULL);
  g_assert_true (hr_pipeline_start (rig.pipeline, &error));
  g_usleep (700000);
  while ((buffer = hr_pipeline_pull (rig.pipeline, &error)) != NULL) {
    hr_buffer_unref (buffer);
    if (n++ == 1)
      g_usleep (700000);
  }
  g_assert_no_error (error);
  g_assert_cmpuint (n, ==, 4);
  small_rig_tear_down (&rig);
}

/* workers that have left, those that were put aside, and an ended branch are nobody's fault */
static void
test_half_gone (void)
{
  SmallRig rig;
  HrElement *join;

  small_rig_set_up (&rig);
  join = small_join (rig.pipeline, "join", HR_JOIN_ANY);
  small_link (rig.pipeline, small_source (rig.pipeline, "short", 2, NULL, NULL),
              small_light (rig.pipeline, "pool", 3, NULL, NULL), join, NULL);
  small_link (rig.pipeline,
              small_source (rig.pipeline, "long", 6, pause_at_three, GINT_TO_POINTER (900000)),
              join, small_batch (rig.pipeline, "batch", 4),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_run (rig.pipeline);
  g_assert_cmpuint (rig.sink.values->len, ==, 8);
  small_rig_tear_down (&rig);
}

/* ---- warm-up ---- */

/* The join waits for the branch that warms up, which gets no more since the other branch is full:
 * the warm-up ends, the run goes on. */
static void
test_warm_up_in_branch (void)
{
  SmallRig rig;
  HrElement *tee, *join, *other;

  small_rig_set_up (&rig);
  tee = small_tee (rig.pipeline, "tee");
  join = small_join (rig.pipeline, "join", HR_JOIN_ZIP);
  other = small_light (rig.pipeline, "other", 1, NULL, NULL);
  small_set (other, "queue-items", "1");
  small_set (other, "window", "1");
  small_set (join, "queue-items", "1");
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 40, NULL, NULL), tee,
              small_prefetch (rig.pipeline, "prefetch", 8, 8), join,
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_link (rig.pipeline, tee, other, join, NULL);
  small_run (rig.pipeline);
  small_assert_counts (&rig.sink, 40);
  small_rig_tear_down (&rig);
}

static gboolean
take_bytes (gpointer data, gint64 value G_GNUC_UNUSED, HrOut *out, GError **error)
{
  HrMemory *memory = hr_out_alloc (out, "y", GPOINTER_TO_SIZE (data), error);
  HrBuffer *buffer;

  if (memory == NULL)
    return FALSE;
  /* it goes with the sample: as much as that is held back */
  buffer = out->buffers[out->n_buffers - 1];
  hr_buffer_set_tensor (buffer, "y", hr_tensor_new_bytes (memory));
  return TRUE;
}

/* passes on first, so that the hook finds the sample; see take_bytes() */
static gboolean
sized_process (gconstpointer self, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
               GError **error)
{
  hr_out_push (out, in);
  return take_bytes (GSIZE_TO_POINTER (*(const gsize *)self), 0, out, error);
}

typedef struct {
  gsize size;
} Sized;
static const HrElementDef sized_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "sized",
  .summary = "Adds bytes",
  .self_size = sizeof (Sized),
  .process = sized_process,
};

/* the budget holds one step, the warm-up wants four: it must do with less */
static void
test_warm_up_without_budget (void)
{
  const char *const budgets[] = { "1", "150", "450" };

  for (guint i = 0; i < G_N_ELEMENTS (budgets); i++) {
    SmallRig rig;
    HrElement *sized;

    small_rig_set_up (&rig);
    sized = hr_element_new (&sized_def);
    ((Sized *)sized->self)->size = 100;
    small_set (sized, "name", "sized");
    hr_pipeline_add (rig.pipeline, sized);
    small_set_pipeline (rig.pipeline, "memory", budgets[i]);
    small_link (rig.pipeline, small_source (rig.pipeline, "source", 40, NULL, NULL), sized,
                small_batch (rig.pipeline, "batch", 2),
                small_prefetch (rig.pipeline, "prefetch", 4, 4),
                small_sink (rig.pipeline, "sink", &rig.sink), NULL);
    small_run (rig.pipeline);
    small_assert_counts (&rig.sink, 40);
    small_rig_tear_down (&rig);
  }
}

/* fewer batches than the warm-up wants */
static void
test_warm_up_of_little (void)
{
  SmallRig rig;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 3, NULL, NULL),
              small_batch (rig.pipeline, "batch", 2),
              small_prefetch (rig.pipeline, "prefetch", 6, 6),
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_run (rig.pipeline);
  small_assert_counts (&rig.sink, 3);
  small_rig_tear_down (&rig);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/deadlock/concat-behind-tee", test_concat_behind_tee);
  g_test_add_func ("/deadlock/larger-queue", test_larger_queue);
  g_test_add_func ("/deadlock/bytes", test_bytes);
  g_test_add_func ("/deadlock/slow-sink", test_slow_sink);
  g_test_add_func ("/deadlock/slow-branch", test_slow_branch);
  g_test_add_func ("/deadlock/slow-source", test_slow_source);
  g_test_add_func ("/deadlock/slow-program", test_slow_program);
  g_test_add_func ("/deadlock/half-gone", test_half_gone);
  g_test_add_func ("/warm-up/in-branch", test_warm_up_in_branch);
  g_test_add_func ("/warm-up/without-budget", test_warm_up_without_budget);
  g_test_add_func ("/warm-up/of-little", test_warm_up_of_little);
  return g_test_run ();
}
