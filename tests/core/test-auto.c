/* test-auto.c: settings that the core finds while pipelines run: not a byte changes by it, bounds
 * hold, what somebody sets is left alone; docs/auto.md */
#include <headrace.h>
#include <string.h>
#include "hr-auto.h"
#include "hr-json.h"
#include "small.h"

/* the clock of the climb: a minute is a third of a second */
#define HURRY 200

/* NULL: nothing is automatic */
static JsonObject *
get_auto (HrPipeline *pipeline)
{
  g_autoptr (JsonObject) stats = small_get_stats (pipeline);

  if (json_object_get_null_member (stats, "auto"))
    return NULL;
  return json_object_ref (json_object_get_object_member (stats, "auto"));
}

static gint64
count_changes (HrPipeline *pipeline)
{
  g_autoptr (JsonObject) automatic = get_auto (pipeline);

  g_assert_nonnull (automatic);
  return json_object_get_int_member (automatic, "changes");
}

/* has none changed by step @n? Asked now and then: under valgrind it takes longer than a step, and
 * nothing waits behind a program that is slower than its run. */
static gboolean
is_unchanged (HrPipeline *pipeline, guint n)
{
  return n % 64 != 0 || count_changes (pipeline) == 0;
}

/* what stands of one setting in @automatic; -1: it is not automatic */
static gint64
find_setting (JsonObject *automatic, const char *element, const char *property, const char *key)
{
  JsonArray *settings = json_object_get_array_member (automatic, "settings");

  for (guint i = 0; i < json_array_get_length (settings); i++) {
    JsonObject *setting = json_array_get_object_element (settings, i);

    if (g_str_equal (json_object_get_string_member (setting, "element"), element)
        && g_str_equal (json_object_get_string_member (setting, "property"), property))
      return json_object_get_int_member (setting, key);
  }
  return -1;
}

/* the same, of the pipeline's stats */
static gint64
get_setting (HrPipeline *pipeline, const char *element, const char *property, const char *key)
{
  g_autoptr (JsonObject) automatic = get_auto (pipeline);

  return automatic != NULL ? find_setting (automatic, element, property, key) : -1;
}

static char *
get_digest (const HrBuffer *buffer)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  hr_digest_update (sum, buffer);
  return g_strdup (g_checksum_get_string (sum));
}

/* pulls until settings have changed, and then some, beside a run in which nothing can */
static void
compare (const char *text, const char *reference)
{
  SmallLive live = small_live ();
  HrPipeline *pipeline = small_start (text), *serial = small_start (reference);
  guint n = 0;

  for (; n < 400 || is_unchanged (pipeline, n); n++) {
    HrBuffer *batch = hr_pipeline_pull (pipeline, NULL);
    HrBuffer *same = hr_pipeline_pull (serial, NULL);
    g_autofree char *digest = NULL;
    g_autofree char *wanted = NULL;

    g_assert_nonnull (batch);
    g_assert_nonnull (same);
    g_assert_cmpint (batch->number, ==, n);
    g_assert_cmpint (batch->sample, ==, same->sample);
    digest = get_digest (batch);
    wanted = get_digest (same);
    g_assert_cmpstr (digest, ==, wanted);
    hr_buffer_unref (batch);
    hr_buffer_unref (same);
  }
  g_test_message ("%u steps, %" G_GINT64_FORMAT " changes", n, count_changes (pipeline));
  hr_pipeline_stop (pipeline);
  hr_pipeline_stop (serial);
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_assert_true (hr_pipeline_wait (serial, NULL));
  g_object_unref (pipeline);
  g_object_unref (serial);
  small_assert_live (live);
}

/* ---- what is delivered ---- */

static void
test_same_bytes (void)
{
  /* uneven workers: order has to be restored all the time */
  compare ("auto=true fakesrc size=512 ! identity sleep=1500us sleep-sigma=1 ! identity sleep=1ms "
           "! batch size=3 ! prefetchqueue ! appsink",
           "serial=true fakesrc size=512 ! identity ! identity ! batch size=3 ! appsink");
  /* holes, and a budget that is nearly always full */
  compare ("auto=true memory=8KiB on-error=skip fakesrc size=1024 ! identity sleep=1ms "
           "sleep-sigma=1 error-every=7 ! batch size=4 ! prefetchqueue ! appsink",
           "serial=true on-error=skip fakesrc size=1024 ! identity error-every=7 ! batch size=4 ! "
           "appsink");
  /* nothing ahead */
  compare ("fakesrc ! identity sleep=1ms workers=auto queue-items=auto queue-bytes=auto ! batch "
           "size=3 ! appsink",
           "serial=true fakesrc ! identity ! batch size=3 ! appsink");
  /* samples without steps */
  compare ("auto=true fakesrc ! identity sleep=1ms sleep-sigma=2 ! appsink",
           "serial=true fakesrc ! identity ! appsink");
}

static void
test_same_branches (void)
{
  compare ("auto=true fakesrc ! tee name=t ! identity sleep=1ms sleep-sigma=1 ! j. t. ! identity "
           "sleep=1ms ! j. join name=j mode=zip ! batch size=2 ! prefetchqueue ! appsink",
           "serial=true fakesrc ! tee name=t ! identity ! j. t. ! identity ! j. join name=j "
           "mode=zip ! batch size=2 ! appsink");
}

/* somebody else changes the same settings, the budgets, and reads the numbers */
static void *
meddle (void *data)
{
  HrPipeline *pipeline = data;
  HrElement *work = hr_pipeline_get_element (pipeline, "work");

  for (guint i = 0; i < 100; i++) {
    g_autofree char *stats = hr_pipeline_get_stats (pipeline);
    g_autofree char *text = hr_pipeline_to_string (pipeline);

    g_assert_cmpint (stats[0], ==, '{');
    g_assert_nonnull (text);
    small_set (work, "workers", i % 3 == 0 ? "auto" : i % 3 == 1 ? "2" : "9");
    small_set (work, "queue-items", i % 2 == 0 ? "auto" : "5");
    small_set_pipeline (pipeline, "cpus", i % 2 == 0 ? "1" : "3");
    small_set_pipeline (pipeline, "memory", i % 2 == 0 ? "16KiB" : "1GiB");
    g_usleep (300);
  }
  return NULL;
}

static void
test_meddled (void)
{
  SmallLive live = small_live ();
  HrPipeline *pipeline =
      small_start ("auto=true checksum=true fakesrc num-buffers=600 ! identity name=work "
                   "sleep=300us sleep-sigma=1 ! batch size=3 ! prefetchqueue ! fakesink");
  HrPipeline *serial =
      small_start ("serial=true checksum=true fakesrc num-buffers=600 ! batch size=3 ! fakesink");
  g_autoptr (JsonObject) stats = NULL;
  g_autoptr (JsonObject) wanted = NULL;
  pthread_t threads[2];

  for (guint i = 0; i < 2; i++)
    g_assert_cmpint (pthread_create (&threads[i], NULL, meddle, pipeline), ==, 0);
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_assert_true (hr_pipeline_wait (serial, NULL));
  for (guint i = 0; i < 2; i++)
    pthread_join (threads[i], NULL);
  stats = small_get_stats (pipeline);
  wanted = small_get_stats (serial);
  g_assert_cmpstr (json_object_get_string_member (stats, "sha256"), ==,
                   json_object_get_string_member (wanted, "sha256"));
  g_object_unref (pipeline);
  g_object_unref (serial);
  small_assert_live (live);
}

/* transfers: as many as the element is told, in their order */
static void
test_transfers (void)
{
  SmallRig rig;
  HrElement *async;

  small_rig_set_up (&rig);
  async = small_async (rig.pipeline, "async");
  small_set (async, "flights", "auto");
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 3000, NULL, NULL), async,
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_run (rig.pipeline);
  small_assert_counts (&rig.sink, 3000);
  /* it began with few, and what it has come to is in range */
  g_assert_cmpint (get_setting (rig.pipeline, "async", "flights", "value"), >=, 1);
  g_assert_cmpint (get_setting (rig.pipeline, "async", "flights", "value"), <=, 64);
  small_rig_tear_down (&rig);
}

/* ---- who is automatic ---- */

static void
test_serial (void)
{
  HrPipeline *pipeline =
      small_start ("serial=true auto=true fakesrc num-buffers=20 ! identity "
                   "workers=auto ! batch size=2 ! prefetchqueue max-batches=auto ! "
                   "fakesink");

  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_assert_null (get_auto (pipeline));
  g_object_unref (pipeline);
}

static void
assert_text (const char *text, const char *wanted)
{
  g_autoptr (HrPipeline) pipeline = small_parse (text);
  g_autofree char *canonical = hr_pipeline_to_string (pipeline);

  g_assert_cmpstr (canonical, ==, wanted);
  /* … also when it has run, whatever has been found */
  g_assert_true (hr_pipeline_start (pipeline, NULL));
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_free (canonical);
  canonical = hr_pipeline_to_string (pipeline);
  g_assert_cmpstr (canonical, ==, wanted);
}

static void
test_text (void)
{
  assert_text ("fakesrc num-buffers=300 ! identity queue-items=auto workers=auto sleep=100us ! "
               "batch size=2 ! prefetchqueue max-batches=auto ! fakesink",
               "fakesrc num-buffers=300 ! identity sleep=100us workers=auto queue-items=auto ! "
               "batch size=2 ! prefetchqueue max-batches=auto ! fakesink");
  assert_text ("auto=yes fakesrc num-buffers=300 ! identity workers=2 sleep=100us ! batch size=2 ! "
               "prefetchqueue ! fakesink",
               "auto=true fakesrc num-buffers=300 ! identity sleep=100us workers=2 ! batch size=2 "
               "! prefetchqueue ! fakesink");
}

static void
assert_refused (const char *text, const char *part)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);

  g_assert_null (pipeline);
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, part));
}

static void
test_refused (void)
{
  assert_refused ("fakesrc ! batch workers=auto ! fakesink",
                  "works in one thread, so workers=auto cannot be");
  assert_refused ("fakesrc ! batch size=auto ! fakesink", "not a whole number");
  assert_refused ("fakesrc ! identity workers=autos ! fakesink", "from 0 to 256, or auto");
}

/* what is set stays, whatever auto=true says, and so do what nobody may turn */
static void
test_set (void)
{
  HrPipeline *pipeline =
      small_start ("auto=true fakesrc name=source num-buffers=2000 ! identity name=a workers=3 "
                   "sleep=100us ! identity "
                   "name=b sleep=100us queue-bytes=1KiB ! batch size=2 ! prefetchqueue name=q "
                   "max-batches=4 ! identity name=behind ! fakesink name=end");
  HrElement *source = hr_pipeline_get_element (pipeline, "source");
  HrElement *a = hr_pipeline_get_element (pipeline, "a");
  HrElement *b = hr_pipeline_get_element (pipeline, "b");
  HrElement *q = hr_pipeline_get_element (pipeline, "q");
  HrElement *behind = hr_pipeline_get_element (pipeline, "behind");
  guint64 workers, bytes, steps;

  g_assert_false (hr_element_is_auto (a, "workers"));
  g_assert_true (hr_element_is_auto (a, "queue-items"));
  g_assert_true (hr_element_is_auto (b, "workers"));
  g_assert_false (hr_element_is_auto (b, "queue-bytes"));
  g_assert_false (hr_element_is_auto (q, "max-batches"));
  /* one thread, no queue in front of it, or one whose bounds are those of "q" */
  g_assert_false (hr_element_is_auto (source, "workers"));
  g_assert_false (hr_element_is_auto (source, "queue-items"));
  g_assert_false (hr_element_is_auto (behind, "queue-items"));
  g_assert_true (hr_element_is_auto (behind, "workers"));
  g_assert_false (hr_element_is_auto (a, "window"));
  g_assert_false (hr_element_is_auto (a, "no-such-property"));
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_object_get (a, "workers", &workers, NULL);
  g_assert_cmpuint (workers, ==, 3);
  g_object_get (b, "queue-bytes", &bytes, NULL);
  g_assert_cmpuint (bytes, ==, 1024);
  g_object_get (q, "max-batches", &steps, NULL);
  g_assert_cmpuint (steps, ==, 4);
  g_assert_cmpint (get_setting (pipeline, "a", "workers", "value"), ==, -1);
  g_assert_cmpint (get_setting (pipeline, "q", "workers", "value"), ==, -1);
  /* the link behind a prefetchqueue has its own bounds */
  g_assert_cmpint (get_setting (pipeline, "behind", "queue-items", "value"), ==, -1);
  g_object_unref (pipeline);
}

static void
pull (HrPipeline *pipeline)
{
  HrBuffer *buffer = hr_pipeline_pull (pipeline, NULL);

  g_assert_nonnull (buffer);
  hr_buffer_unref (buffer);
}

/* automatic, set by hand, automatic again, while it runs */
static void
test_live (void)
{
  HrPipeline *pipeline = small_start (
      "fakesrc ! identity name=a sleep=2ms workers=auto ! batch size=2 ! prefetchqueue ! "
      "appsink");
  HrElement *a = hr_pipeline_get_element (pipeline, "a");
  guint64 workers;

  for (guint n = 0; is_unchanged (pipeline, n); n++)
    pull (pipeline);
  small_set (a, "workers", "2");
  g_assert_false (hr_element_is_auto (a, "workers"));
  for (guint i = 0; i < 300; i++)
    pull (pipeline);
  g_object_get (a, "workers", &workers, NULL);
  g_assert_cmpuint (workers, ==, 2);
  /* who was about to change it comes too late */
  g_assert_false (hr_element_turn (a, hr_element_find_prop (a, "workers", NULL), 9));
  g_object_get (a, "workers", &workers, NULL);
  g_assert_cmpuint (workers, ==, 2);
  small_set (a, "workers", "auto");
  g_assert_true (hr_element_is_auto (a, "workers"));
  g_object_set (a, "workers", (guint64)1, NULL);
  g_assert_false (hr_element_is_auto (a, "workers"));
  small_set (a, "workers", "auto");
  g_assert_true (hr_element_is_auto (a, "workers"));
  do {
    pull (pipeline);
    g_object_get (a, "workers", &workers, NULL);
  } while (workers == 1);
  hr_pipeline_stop (pipeline);
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_object_unref (pipeline);
}

/* who computes has no more workers than there are processors; who waits may have */
static void
test_cpus (void)
{
  SmallRig rig;
  HrElement *compute, *waits;

  small_rig_set_up (&rig);
  small_set_pipeline (rig.pipeline, "cpus", "2");
  small_set_pipeline (rig.pipeline, "auto", "true");
  compute = small_compute (rig.pipeline, "compute", 0, small_sleep, GINT_TO_POINTER (1000));
  waits = small_waits (rig.pipeline, "waits", 0, small_sleep, GINT_TO_POINTER (2000));
  small_link (rig.pipeline, small_source (rig.pipeline, "source", 1500, NULL, NULL), compute, waits,
              small_sink (rig.pipeline, "sink", &rig.sink), NULL);
  small_run (rig.pipeline);
  small_assert_counts (&rig.sink, 1500);
  g_assert_cmpuint (compute->run->n_workers, <=, 2);
  g_assert_cmpuint (waits->run->n_workers, >=, 2);
  small_rig_tear_down (&rig);
}

/* nothing is automatic: nothing is counted, and the numbers say so */
static void
test_none (void)
{
  HrPipeline *pipeline =
      small_start ("fakesrc num-buffers=50 ! identity ! batch size=2 ! fakesink");

  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_assert_null (get_auto (pipeline));
  g_object_unref (pipeline);
}

/* queues together hold no more than memory, from the beginning */
static void
test_memory (void)
{
  HrPipeline *pipeline = small_start (
      "auto=true memory=1MiB fakesrc ! identity name=a sleep=100us ! identity name=b ! batch "
      "name=c size=2 ! prefetchqueue name=d ! appsink");
  const char *const names[] = { "a", "b", "c", "d" };

  for (guint i = 0; i < 400; i++) {
    g_autoptr (JsonObject) automatic = NULL;
    gint64 sum = 0;

    pull (pipeline);
    automatic = get_auto (pipeline);
    for (guint k = 0; k < G_N_ELEMENTS (names); k++) {
      gint64 bytes = find_setting (automatic, names[k], "queue-bytes", "value");

      g_assert_cmpint (bytes, >=, 1);
      sum += bytes;
    }
    g_assert_cmpint (sum, <=, 1 << 20);
    g_assert_cmpint (find_setting (automatic, "a", "workers", "value"), <=, 256);
  }
  hr_pipeline_stop (pipeline);
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  g_object_unref (pipeline);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  hr_auto_hurry = HURRY;
  g_test_add_func ("/auto/same-bytes", test_same_bytes);
  g_test_add_func ("/auto/same-branches", test_same_branches);
  g_test_add_func ("/auto/meddled", test_meddled);
  g_test_add_func ("/auto/transfers", test_transfers);
  g_test_add_func ("/auto/serial", test_serial);
  g_test_add_func ("/auto/text", test_text);
  g_test_add_func ("/auto/refused", test_refused);
  g_test_add_func ("/auto/set", test_set);
  g_test_add_func ("/auto/live", test_live);
  g_test_add_func ("/auto/cpus", test_cpus);
  g_test_add_func ("/auto/none", test_none);
  g_test_add_func ("/auto/memory", test_memory);
  return g_test_run ();
}
