/* fuzz-checkpoint.c: any text as a checkpoint that a run is to go on from: refused, or gone on
 * with.
 * "@" stands for what a true one says of the data and "~" for its location, which no fuzzer could
 * guess. */
#include <glib/gstdio.h>
#include <headrace.h>
#include <json-glib/json-glib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static char *path, *true_data;

static HrPipeline *
make_pipeline (void)
{
  g_autofree char *text = g_strdup_printf ("serial=true filesrc location=%s epochs=3 "
                                           "shuffle=window seed=1 ! jsonlparse ! batch size=2 ! "
                                           "appsink",
                                           path);
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = hr_parse_launch (text, &error);

  g_assert_no_error (error);
  return pipeline;
}

/* the document of a run that has made one step */
static void
begin (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hr-fuzz-checkpoint-XXXXXX", NULL);
  g_autoptr (GString) records = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *document = NULL;
  g_autoptr (JsonNode) node = NULL;
  HrPipeline *pipeline;
  HrBuffer *buffer;

  g_setenv ("HR_PLAN_CACHE", "", TRUE);
  path = g_build_filename (folder, "a.jsonl", NULL);
  for (guint i = 0; i < 7; i++)
    g_string_append_printf (records, "{\"query\": \"%u\", \"response\": \"A\"}\n", i);
  g_assert_true (g_file_set_contents (path, records->str, -1, NULL));
  pipeline = make_pipeline ();
  g_assert_true (hr_pipeline_start (pipeline, &error));
  buffer = hr_pipeline_pull (pipeline, &error);
  g_assert_nonnull (buffer);
  document = hr_pipeline_get_checkpoint (pipeline, buffer, &error);
  g_assert_no_error (error);
  hr_buffer_unref (buffer);
  hr_pipeline_stop (pipeline);
  hr_pipeline_wait (pipeline, NULL);
  g_object_unref (pipeline);
  node = json_from_string (document, NULL);
  true_data = json_to_string (json_object_get_member (json_node_get_object (node), "data"), FALSE);
  if (g_getenv ("HR_FUZZ_SHOW") != NULL)
    g_print ("%s\n", document);
}

static void
try (const char *document)
{
  HrPipeline *pipeline = make_pipeline ();
  g_autoptr (GError) error = NULL;

  if (hr_pipeline_resume (pipeline, document, FALSE, &error)
      && hr_pipeline_start (pipeline, &error)) {
    for (guint i = 0; i < 20; i++) {
      HrBuffer *buffer = hr_pipeline_pull (pipeline, &error);

      if (buffer == NULL)
        break;
      hr_buffer_unref (buffer);
    }
    hr_pipeline_stop (pipeline);
    hr_pipeline_wait (pipeline, NULL);
  } else {
    g_assert_nonnull (error);
    g_assert_true (g_utf8_validate (error->message, -1, NULL));
  }
  g_object_unref (pipeline);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = size > 0 ? g_strndup ((const char *)data, size) : g_strdup ("");
  g_autoptr (GString) document = NULL;

  if (path == NULL)
    begin ();
  document = g_string_new (text);
  g_string_replace (document, "@", true_data, 4);
  g_string_replace (document, "~", path, 4);
  try (document->str);
  return 0;
}
