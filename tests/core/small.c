/* small.c: putting pipelines together and looking at what comes of them */
#include "small.h"
#include <dirent.h>
#include <headrace.h>

void
small_link (HrPipeline *pipeline, HrElement *first, ...)
{
  HrElement *from = first, *to;
  va_list rest;

  va_start (rest, first);
  for (; (to = va_arg (rest, HrElement *)) != NULL; from = to)
    hr_pipeline_link (pipeline, from, to);
  va_end (rest);
}

void
small_set (HrElement *element, const char *property, const char *value)
{
  g_autoptr (GError) error = NULL;

  hr_element_set_from_string (element, property, value, &error);
  g_assert_no_error (error);
}

void
small_set_pipeline (HrPipeline *pipeline, const char *property, const char *value)
{
  g_autoptr (GError) error = NULL;

  hr_pipeline_set_from_string (pipeline, property, value, &error);
  g_assert_no_error (error);
}

HrPipeline *
small_parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = hr_parse_launch (text, &error);

  g_assert_no_error (error);
  return pipeline;
}

HrPipeline *
small_start (const char *text)
{
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = small_parse (text);

  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  return pipeline;
}

JsonObject *
small_get_stats (HrPipeline *pipeline)
{
  g_autofree char *json = hr_pipeline_get_stats (pipeline);
  g_autoptr (JsonNode) root = json_from_string (json, NULL);

  return json_object_ref (json_node_get_object (root));
}

/* ---- what has come of it ---- */

void
small_sink_init (SmallSink *sink)
{
  *sink = (SmallSink){ .values = g_array_new (FALSE, FALSE, sizeof (gint64)) };
  hr_mutex_init (&sink->lock);
}

void
small_sink_clear (SmallSink *sink)
{
  g_array_unref (sink->values);
  hr_mutex_clear (&sink->lock);
}

guint
small_sink_count (SmallSink *sink)
{
  guint n;

  hr_mutex_lock (&sink->lock);
  n = sink->n_buffers;
  hr_mutex_unlock (&sink->lock);
  return n;
}

void
small_assert_counts (SmallSink *sink, gint64 n)
{
  g_assert_cmpint (sink->values->len, ==, n);
  for (gint64 i = 0; i < n; i++)
    g_assert_cmpint (g_array_index (sink->values, gint64, i), ==, i);
}

void
small_run (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;

  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  hr_pipeline_wait (pipeline, &error);
  g_assert_no_error (error);
}

char *
small_run_failing (HrPipeline *pipeline, GQuark domain, gint code)
{
  g_autoptr (GError) error = NULL;

  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  g_assert_false (hr_pipeline_wait (pipeline, &error));
  g_assert_error (error, domain, code);
  return g_strdup (error->message);
}

static guint
count_threads (void)
{
  DIR *dir = opendir ("/proc/self/task");
  guint n = 0;

  for (struct dirent *entry; (entry = readdir (dir)) != NULL;)
    n += entry->d_name[0] != '.';
  closedir (dir);
  return n;
}

static void *
nothing (void *data)
{
  return data;
}

SmallLive
small_live (void)
{
  pthread_t thread;

  /* a sanitizer has a thread of its own once there has been one */
  g_assert_cmpint (pthread_create (&thread, NULL, nothing, NULL), ==, 0);
  pthread_join (thread, NULL);
  return (SmallLive){ hr_buffer_live (), hr_memory_live (), hr_tensor_live (), count_threads () };
}

void
small_assert_live (SmallLive before)
{
  g_assert_cmpint (hr_buffer_live (), ==, before.buffers);
  g_assert_cmpint (hr_memory_live (), ==, before.memories);
  g_assert_cmpint (hr_tensor_live (), ==, before.tensors);
  /* a thread that was joined may still be listed for a moment */
  for (int i = 0; i < 5000 && count_threads () > before.threads; i++)
    g_usleep (1000);
  g_assert_cmpint (count_threads (), <=, before.threads);
}

/* ---- hooks ---- */

gboolean
small_bad_at (gpointer data, gint64 value, HrOut *out G_GNUC_UNUSED, GError **error)
{
  if (value != GPOINTER_TO_INT (data))
    return TRUE;
  hr_set_data_error (error, HR_DATA_ERROR_OTHER, "%d is bad", (int)value);
  return FALSE;
}

gboolean
small_fatal_at (gpointer data, gint64 value, HrOut *out G_GNUC_UNUSED, GError **error)
{
  if (value != GPOINTER_TO_INT (data))
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "%d cannot be read", (int)value);
  return FALSE;
}

gboolean
small_sleep (gpointer data, gint64 value G_GNUC_UNUSED, HrOut *out, GError **error G_GNUC_UNUSED)
{
  hr_out_sleep (out, (gint64)GPOINTER_TO_INT (data) * 1000);
  return TRUE;
}

void
small_rig_set_up (SmallRig *rig)
{
  rig->live = small_live ();
  small_sink_init (&rig->sink);
  rig->pipeline = hr_pipeline_new ();
}

void
small_rig_tear_down (SmallRig *rig)
{
  g_clear_object (&rig->pipeline);
  small_sink_clear (&rig->sink);
  small_assert_live (rig->live);
}
