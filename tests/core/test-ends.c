/* test-ends.c: limit, steps and epochs where no plan knows of them: sources without an order,
 * joins, programs that push */
#include <headrace.h>
#include <string.h>
#include "hr-json.h"
#include "small.h"

#define LINES "filesrc location=" HR_TEST_DATA "/cases/22-uneven-ranks/a.jsonl ! jsonlparse"

typedef struct {
  const char *settings, *text;
  gint64 steps, samples;
} Row;

static const Row rows[] = {
  { "steps=3", "fakesrc ! batch size=4 ! trainsim step-time=0s", 3, 12 },
  { "steps=3", "fakesrc ! trainsim step-time=0s", 3, 3 },
  { "steps=3", "fakesrc num-buffers=9 ! batch size=4 ! trainsim step-time=0s", 3, 9 },
  { "steps=3", "fakesrc ! identity workers=3 ordered=false ! batch size=4 ! trainsim step-time=0s",
    3, 12 },
  { "steps=3 limit=7", "fakesrc ! batch size=4 ! trainsim step-time=0s", 2, 7 },
  { "steps=3 limit=100", "fakesrc ! batch size=4 ! trainsim step-time=0s", 3, 12 },
  { "limit=7", "fakesrc ! batch size=4 ! trainsim step-time=0s", 2, 7 },
  /* two sinks of different steps: whole steps of both */
  { "steps=2",
    "fakesrc ! tee name=t ! batch size=4 ! trainsim step-time=0s t. ! batch size=6 ! fakesink", 6,
    24 },
  /* one after the other, then both; batches are made behind them, or before */
  { "steps=3",
    "join mode=concat name=j ! batch size=4 ! trainsim step-time=0s fakesrc num-buffers=5 ! j. "
    "fakesrc ! j.",
    3, 12 },
  { "limit=7",
    "join mode=concat name=j ! batch size=4 ! trainsim step-time=0s fakesrc num-buffers=5 ! j. "
    "fakesrc ! j.",
    2, 7 },
  { "steps=3",
    "join mode=concat name=j ! trainsim step-time=0s fakesrc num-buffers=5 ! batch size=4 ! j. "
    "fakesrc ! batch size=4 ! j.",
    3, 9 },
  { "limit=7",
    "join mode=concat name=j ! trainsim step-time=0s fakesrc num-buffers=5 ! batch size=4 ! j. "
    "fakesrc ! batch size=4 ! j.",
    3, 9 },
  { "steps=3",
    "join mode=zip name=j ! batch size=4 ! trainsim step-time=0s fakesrc ! tee name=t ! j. t. ! j.",
    3, 12 },
  /* sources with an order behind a join: the run's steps, not each source's */
  { "steps=2",
    "join mode=concat name=j ! batch size=3 ! trainsim step-time=0s " LINES " ! j. " LINES " ! j.",
    2, 6 },
  { "steps=2", LINES " ! batch size=3 ! trainsim step-time=0s", 2, 6 },
};

static JsonObject *
run (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = small_start (text);

  hr_pipeline_wait (pipeline, &error);
  g_assert_no_error (error);
  return small_get_stats (pipeline);
}

static void
test_rows (gconstpointer serial)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    SmallLive live = small_live ();
    g_autofree char *text = NULL;
    g_autoptr (JsonObject) stats = NULL;

    if (serial && strstr (rows[i].text, "workers=3") != NULL)
      continue;
    text = g_strdup_printf ("serial=%s %s %s", serial ? "true" : "false", rows[i].settings,
                            rows[i].text);
    g_test_message ("%s", text);
    stats = run (text);
    g_assert_cmpint (json_object_get_int_member (stats, "steps"), ==, rows[i].steps);
    g_assert_cmpint (json_object_get_int_member (stats, "samples"), ==, rows[i].samples);
    small_assert_live (live);
  }
}

static gpointer
push (gpointer pipeline)
{
  gboolean wanted = TRUE;

  for (gint64 i = 0; wanted; i++)
    wanted = hr_pipeline_push (pipeline, "in", small_buffer (i), NULL);
  return NULL;
}

/* a program is told that no more is wanted */
static void
test_pushed (void)
{
  SmallRig rig;
  HrBuffer *batch;
  GThread *pusher;
  guint n = 0;

  small_rig_set_up (&rig);
  small_link (rig.pipeline, small_push (rig.pipeline, "in"), small_batch (rig.pipeline, "batch", 4),
              small_pull (rig.pipeline, "out"), NULL);
  small_set_pipeline (rig.pipeline, "steps", "3");
  g_assert_true (hr_pipeline_start (rig.pipeline, NULL));
  pusher = g_thread_new ("push", push, rig.pipeline);
  while ((batch = hr_pipeline_pull (rig.pipeline, NULL)) != NULL) {
    g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 4);
    n++;
    hr_buffer_unref (batch);
  }
  g_assert_cmpuint (n, ==, 3);
  g_thread_join (pusher);
  small_rig_tear_down (&rig);
}

/* what cannot be gone through twice says so, rather than once */
static void
test_epochs (void)
{
  g_autoptr (HrPipeline) refused = hr_parse_launch ("epochs=2 fakesrc ! trainsim", NULL);
  g_autoptr (HrPipeline) endless =
      hr_parse_launch ("epochs=0 fakesrc num-buffers=4 ! trainsim step-time=0s", NULL);
  g_autoptr (JsonObject) stats = run ("epochs=2 " LINES " ! fakesink");
  g_autoptr (JsonObject) once = run (LINES " ! fakesink");
  g_autoptr (JsonObject) all = run ("epochs=1 fakesrc num-buffers=4 ! fakesink");
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (json_object_get_int_member (all, "samples"), ==, 4);
  g_assert_false (hr_pipeline_start (refused, &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT);
  g_assert_cmpstr (error->message, ==,
                   "epochs=2: fakesrc \"fakesrc0\" gives what it gives once; files and objects "
                   "(filesrc, s3src) can be gone through again");
  g_assert_true (hr_pipeline_start (endless, NULL));
  g_assert_true (hr_pipeline_wait (endless, NULL));
  g_assert_cmpint (json_object_get_int_member (stats, "samples"), ==,
                   2 * json_object_get_int_member (once, "samples"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/ends/rows", NULL, test_rows);
  g_test_add_data_func ("/ends/rows/serial", GINT_TO_POINTER (1), test_rows);
  g_test_add_func ("/ends/pushed", test_pushed);
  g_test_add_func ("/ends/epochs", test_epochs);
  return g_test_run ();
}
