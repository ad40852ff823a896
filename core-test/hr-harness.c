/* hr-harness.c: tests one element, or a whole pipeline, in a few lines */
#include "hr-harness.h"
#include "hr-sync.h"
#include <string.h>

struct _HrHarness {
  HrPipeline *pipeline;
  gboolean has_source; /* an appsrc of ours, "harness-in" */
  gboolean has_sink;   /* an appsink of ours */
  GQueue input;        /* HrBuffer, at last END; not a GAsyncQueue, whose lock no sanitizer sees */
  HrMutex lock;        /* input */
  HrCond filled;
  GThread *feeder;
  gboolean ended;      /* nothing more is pushed */
  gboolean pulled_out; /* the sink has said NULL */
  gboolean waited;
  GError *error;
};

static gpointer END = &END;

/* Pushing may wait for what only pulling can bring about (a batch that nobody has asked for), so
 * the test's thread does not push. */
static gpointer
feed (gpointer data)
{
  HrHarness *harness = data;
  gboolean wanted = TRUE;

  for (;;) {
    gpointer item;

    hr_mutex_lock (&harness->lock);
    while ((item = g_queue_pop_head (&harness->input)) == NULL)
      hr_cond_wait (&harness->filled, &harness->lock);
    hr_mutex_unlock (&harness->lock);
    if (item == END)
      break;
    if (wanted)
      wanted = hr_pipeline_push (harness->pipeline, "harness-in", item, NULL);
    else
      hr_buffer_unref (item);
  }
  hr_pipeline_end (harness->pipeline, "harness-in");
  return NULL;
}

static void
give (HrHarness *harness, gpointer item)
{
  hr_mutex_lock (&harness->lock);
  g_queue_push_tail (&harness->input, item);
  hr_mutex_unlock (&harness->lock);
  hr_cond_signal (&harness->filled);
}

static void
set_workers (HrPipeline *pipeline, guint workers)
{
  g_autofree char *value = g_strdup_printf ("%u", workers);

  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);
    const HrElementDef *def = hr_registry_find (hr_element_get_factory (element), NULL);
    g_autoptr (GError) error = NULL;

    if (def->parallel == HR_PARALLEL_YES || def->each != NULL) {
      hr_element_set_from_string (element, "workers", value, &error);
      g_assert_no_error (error);
    }
  }
}

static const HrElementDef *
def_of (const char *text, gboolean last)
{
  g_auto (GStrv) parts = g_strsplit (text, "!", -1);
  const char *part = g_strstrip (parts[last ? g_strv_length (parts) - 1 : 0]);
  g_autofree char *name = g_strndup (part, strcspn (part, " \t\n"));
  g_autoptr (GError) error = NULL;
  const HrElementDef *def = hr_registry_find (name, &error);

  g_assert_no_error (error);
  return def;
}

static gboolean
is_source (const HrElementDef *def)
{
  return def->create != NULL || def->pushable;
}

static gboolean
is_sink (const HrElementDef *def)
{
  return def->consume != NULL || def->pullable;
}

static HrHarness *
harness_new (const char *element, guint workers, GError **error)
{
  HrHarness *harness = g_new0 (HrHarness, 1);
  g_autofree char *text = NULL;

  harness->has_source = !is_source (def_of (element, FALSE));
  harness->has_sink = !is_sink (def_of (element, TRUE));
  text = g_strconcat (harness->has_source ? "appsrc name=harness-in ! " : "", element,
                      harness->has_sink ? " ! appsink name=harness-out" : "", NULL);
  harness->pipeline = hr_parse_launch (text, error);
  if (harness->pipeline == NULL) {
    g_free (harness);
    return NULL;
  }
  set_workers (harness->pipeline, workers);
  if (!hr_pipeline_start (harness->pipeline, error)) {
    g_object_unref (harness->pipeline);
    g_free (harness);
    return NULL;
  }
  if (harness->has_source) {
    hr_mutex_init (&harness->lock);
    hr_cond_init (&harness->filled);
    harness->feeder = g_thread_new ("harness", feed, harness);
  }
  return harness;
}

HrHarness *
hr_harness_new (const char *element, guint workers)
{
  g_autoptr (GError) error = NULL;
  HrHarness *harness = harness_new (element, workers, &error);

  g_assert_no_error (error);
  return harness;
}

static void
check_error (const GError *error, GQuark domain, int code, const char *pattern)
{
  if (error == NULL)
    g_error ("no error, but %s %d is expected", g_quark_to_string (domain), code);
  if (!g_error_matches (error, domain, code))
    g_error ("%s %d is expected, not %s %d: %s", g_quark_to_string (domain), code,
             g_quark_to_string (error->domain), error->code, error->message);
  if (pattern != NULL && !g_pattern_match_simple (pattern, error->message))
    g_error ("the message \"%s\" does not match \"%s\"", error->message, pattern);
}

void
hr_harness_new_failing (const char *element, GQuark domain, int code, const char *pattern)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (harness_new (element, 1, &error));
  check_error (error, domain, code, pattern);
}

void
hr_harness_push (HrHarness *harness, HrBuffer *buffer)
{
  g_assert_true (harness->has_source && !harness->ended);
  give (harness, buffer);
}

void
hr_harness_push_bytes (HrHarness *harness, const char *field, gconstpointer data, gsize size)
{
  HrBuffer *buffer = hr_buffer_new ();

  hr_buffer_set_tensor (buffer, g_intern_string (field),
                        hr_tensor_new_bytes (hr_memory_new_copy (data, size)));
  hr_harness_push (harness, buffer);
}

void
hr_harness_end (HrHarness *harness)
{
  if (harness->has_source && !harness->ended)
    give (harness, END);
  harness->ended = TRUE;
}

static HrBuffer *
pull (HrHarness *harness)
{
  HrBuffer *buffer;

  g_assert_true (harness->has_sink);
  if (harness->pulled_out)
    return NULL;
  buffer = hr_pipeline_pull (harness->pipeline, harness->error == NULL ? &harness->error : NULL);
  harness->pulled_out = buffer == NULL;
  return buffer;
}

HrBuffer *
hr_harness_pull (HrHarness *harness)
{
  HrBuffer *buffer = pull (harness);

  g_assert_no_error (harness->error);
  return buffer;
}

static void
wait_for_end (HrHarness *harness)
{
  HrBuffer *buffer;

  if (harness->waited)
    return;
  harness->waited = TRUE;
  hr_harness_end (harness);
  while (harness->has_sink && (buffer = pull (harness)) != NULL)
    hr_buffer_unref (buffer);
  hr_pipeline_wait (harness->pipeline, harness->error == NULL ? &harness->error : NULL);
}

void
hr_harness_wait (HrHarness *harness)
{
  wait_for_end (harness);
  g_assert_no_error (harness->error);
}

void
hr_harness_expect_error (HrHarness *harness, GQuark domain, int code, const char *pattern)
{
  wait_for_end (harness);
  check_error (harness->error, domain, code, pattern);
  g_clear_error (&harness->error);
}

HrPipeline *
hr_harness_get_pipeline (HrHarness *harness)
{
  return harness->pipeline;
}

void
hr_harness_free (HrHarness *harness)
{
  if (!harness->waited) {
    hr_pipeline_stop (harness->pipeline);
    wait_for_end (harness);
  }
  g_assert_no_error (harness->error);
  if (harness->feeder != NULL) {
    g_thread_join (harness->feeder);
    g_assert_true (g_queue_is_empty (&harness->input));
    hr_cond_clear (&harness->filled);
    hr_mutex_clear (&harness->lock);
  }
  g_object_unref (harness->pipeline);
  g_free (harness);
}

/* ---- whole pipelines ---- */

static gboolean
has_pull_sink (HrPipeline *pipeline)
{
  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);

    if (hr_registry_find (hr_element_get_factory (element), NULL)->pullable)
      return TRUE;
  }
  return FALSE;
}

static char *
run_once (const char *text, gboolean serial, guint workers, const char *memory)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
  g_autofree char *json = NULL;
  g_autoptr (JsonNode) stats = NULL;
  const char *sha256;
  HrBuffer *buffer;

  g_assert_no_error (error);
  hr_pipeline_set_from_string (pipeline, "checksum", "true", &error);
  g_assert_no_error (error);
  if (serial)
    hr_pipeline_set_from_string (pipeline, "serial", "true", &error);
  g_assert_no_error (error);
  if (memory)
    hr_pipeline_set_from_string (pipeline, "memory", memory, &error);
  g_assert_no_error (error);
  set_workers (pipeline, workers);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  while (has_pull_sink (pipeline) && (buffer = hr_pipeline_pull (pipeline, NULL)) != NULL)
    hr_buffer_unref (buffer);
  hr_pipeline_wait (pipeline, &error);
  g_assert_no_error (error);

  json = hr_pipeline_get_stats (pipeline);
  stats = json_from_string (json, &error);
  g_assert_no_error (error);
  sha256 =
      json_object_get_string_member_with_default (json_node_get_object (stats), "sha256", NULL);
  g_assert_nonnull (sha256);
  return g_strdup (sha256);
}

char *
hr_harness_run (const char *text)
{
  g_autofree char *reference = run_once (text, TRUE, 1, NULL);
  g_autofree char *poor = NULL;

  for (guint workers = 1; workers <= 4; workers += 3) {
    g_autofree char *sha256 = run_once (text, FALSE, workers, NULL);

    if (strcmp (sha256, reference) != 0)
      g_error ("with %u workers, other bytes are delivered than serially (%s, not %s): %s", workers,
               sha256, reference, text);
  }
  poor = run_once (text, FALSE, 4, "1");
  if (strcmp (poor, reference) != 0)
    g_error ("with a budget of one byte, other bytes are delivered than serially (%s, not %s): %s",
             poor, reference, text);
  return g_steal_pointer (&reference);
}

void
hr_harness_run_examples (const char *element)
{
  g_autoptr (GError) error = NULL;
  const HrElementDef *def = hr_registry_find (element, &error);

  g_assert_no_error (error);
  if (def->examples == NULL || def->examples[0] == NULL)
    g_error ("%s has no example", element);
  for (const char *const *example = def->examples; *example != NULL; example++) {
    g_test_message ("%s", *example);
    g_free (hr_harness_run (*example));
  }
}

void
hr_harness_assert_no_leaks (void)
{
  g_assert_cmpint (hr_buffer_live (), ==, 0);
  g_assert_cmpint (hr_tensor_live (), ==, 0);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}
