/* image-run.c: a pipeline run to its end, and what came out of it */
#include "image-run.h"
#include <string.h>
#include "image-test.h"

HrBuffer *
sample_new (const char *id)
{
  HrBuffer *sample = hr_buffer_new ();
  HrOrigin *origin = hr_origin_new (NULL, NULL, -1, -1, -1);
  origin->id = g_strdup (id);
  hr_buffer_set_origin (sample, origin);
  hr_buffer_set_list (sample, "images", hr_list_new (1));
  hr_buffer_set_list (sample, "image_links", hr_list_new (1));
  return sample;
}

void
sample_add (HrBuffer *sample, const char *name, GBytes *file)
{
  HrMemory *memory = hr_memory_new_copy (g_bytes_get_data (file, NULL), g_bytes_get_size (file));
  hr_list_append_tensor (hr_buffer_get_list (sample, "images"), hr_tensor_new_bytes (memory));
  hr_list_append_string (hr_buffer_get_list (sample, "image_links"), name);
}

HrBuffer *
sample_of (const char *name, const char *first, ...)
{
  va_list names;
  va_start (names, first);
  g_autofree char *folder = g_build_filename_valist (first, &names);
  va_end (names);
  g_autoptr (GBytes) file = image_test_load (folder, name, NULL);
  HrBuffer *sample = sample_new (name);
  sample_add (sample, name, file);
  return sample;
}

static gpointer
push_all (gpointer data)
{
  Run *run = data;
  for (guint i = 0; i < run->samples->len; i++)
    hr_pipeline_push (run->pipeline, "in", g_steal_pointer (&run->samples->pdata[i]), NULL);
  hr_pipeline_end (run->pipeline, "in");
  return NULL;
}

static HrPipeline *
start (const char *setting, const char *source, const char *elements)
{
  gboolean serial = g_str_equal (setting, "serial=true");
  g_autoptr (GString) text = g_string_new (serial ? "serial=true " : "");
  g_autoptr (GError) error = NULL;
  g_string_append_printf (text, "%s ! %s ! appsink", source, elements);
  g_string_replace (text, "WORKERS", serial ? "" : setting, 0);
  HrPipeline *pipeline = hr_parse_launch (text->str, &error);
  g_assert_no_error (error);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  return pipeline;
}

static void
pull_all (Run *run, GError **error)
{
  HrBuffer *buffer;
  HrMessage *message;
  while ((buffer = hr_pipeline_pull (run->pipeline, error)) != NULL)
    g_ptr_array_add (run->out, buffer);
  while ((message = hr_pipeline_pop_message (run->pipeline, 0)) != NULL) {
    if (message->type == HR_MESSAGE_SKIPPED)
      g_ptr_array_add (run->skipped, message);
    else
      hr_message_unref (message);
  }
}

static Run
run_empty (GPtrArray *samples)
{
  return (Run){ .samples = samples,
                .out = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref),
                .skipped = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_message_unref) };
}

Run
run_new (const char *setting, const char *elements, GPtrArray *samples, GError **error)
{
  Run run = run_empty (samples);
  run.pipeline = start (setting, "appsrc name=in", elements);
  GThread *thread = g_thread_new (NULL, push_all, &run);
  pull_all (&run, error);
  g_thread_join (thread);
  return run;
}

Run
run_new_from (const char *setting, const char *source, const char *elements, GError **error)
{
  Run run = run_empty (g_ptr_array_new ());
  run.pipeline = start (setting, source, elements);
  pull_all (&run, error);
  return run;
}

void
run_clear (Run *run)
{
  for (guint i = 0; i < run->samples->len; i++)
    g_clear_pointer (&run->samples->pdata[i], hr_buffer_unref);
  g_ptr_array_unref (run->samples);
  g_ptr_array_unref (run->out);
  g_ptr_array_unref (run->skipped);
  g_object_unref (run->pipeline);
  g_assert_cmpint (hr_buffer_live (), ==, 0);
  g_assert_cmpint (hr_tensor_live (), ==, 0);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

HrTensor *
find_image (const Run *run, const char *id, guint index)
{
  for (guint i = 0; i < run->out->len; i++) {
    HrBuffer *buffer = run->out->pdata[i];
    if (g_str_equal (hr_buffer_get_origin (buffer)->id, id))
      return hr_list_get_tensor (hr_buffer_get_list (buffer, "images"), index);
  }
  return NULL;
}

const HrMessage *
find_skipped (const Run *run, const char *id)
{
  for (guint i = 0; i < run->skipped->len; i++) {
    const HrMessage *message = run->skipped->pdata[i];
    if (g_str_equal (message->origin->id, id))
      return message;
  }
  return NULL;
}

void
assert_pixels (HrTensor *tensor, JsonArray *hw, const char *sha)
{
  const gint64 *shape = hr_tensor_get_shape (tensor);
  g_assert_cmpuint (hr_tensor_get_n_dims (tensor), ==, 3);
  g_assert_cmpint (shape[0], ==, json_array_get_int_element (hw, 0));
  g_assert_cmpint (shape[1], ==, json_array_get_int_element (hw, 1));
  g_assert_cmpint (shape[2], ==, 3);
  g_assert_true (hr_tensor_is_contiguous (tensor));
  g_assert_cmpstr (hr_dtype_get_name (hr_tensor_get_dtype (tensor)), ==, "uint8");
  g_autofree char *got =
      image_test_sha256 (hr_tensor_get_data (tensor), hr_tensor_get_n_bytes (tensor));
  g_assert_cmpstr (got, ==, sha);
}

void
assert_case (const Run *run, const char *id, guint refused)
{
  g_autofree char *path = g_build_filename ("cases", id, "case.json", NULL);
  g_autoptr (JsonNode) root = image_test_json (path);
  JsonObject *expected = json_object_get_object_member (json_node_get_object (root), "expected");
  JsonArray *images = json_object_get_array_member (expected, "images");
  g_assert_cmpuint (run->out->len, ==, json_object_get_int_member (expected, "delivered"));
  g_assert_cmpuint (run->skipped->len, ==, refused);
  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *o = json_array_get_object_element (images, i);
    const char *name = json_object_get_string_member (o, "file");
    if (json_object_has_member (o, "error")) {
      JsonObject *wrong = json_object_get_object_member (o, "error");
      JsonArray *names = json_object_get_array_member (wrong, "message_names");
      const HrMessage *message = find_skipped (run, name);
      g_assert_nonnull (message);
      image_test_assert_kind (message->error, json_object_get_string_member (wrong, "kind"));
      for (guint k = 0; k < json_array_get_length (names); k++) {
        const char *part = json_array_get_string_element (names, k);
        if (strstr (message->error->message, part) == NULL)
          g_error ("\"%s\" does not name \"%s\"", message->error->message, part);
      }
      continue;
    }
    HrTensor *tensor = find_image (run, name, 0);
    g_assert_nonnull (tensor);
    if (json_object_has_member (o, "rgb_sha256")) {
      g_autofree char *sha =
          image_test_sha256 (hr_tensor_get_data (tensor), hr_tensor_get_n_bytes (tensor));
      g_assert_cmpstr (sha, ==, json_object_get_string_member (o, "rgb_sha256"));
    }
    if (json_object_has_member (o, "default")) {
      JsonArray *hw =
          json_object_get_array_member (json_object_get_object_member (o, "default"), "resized_hw");
      g_assert_cmpint (hr_tensor_get_shape (tensor)[0], ==, json_array_get_int_element (hw, 0));
      g_assert_cmpint (hr_tensor_get_shape (tensor)[1], ==, json_array_get_int_element (hw, 1));
    }
    if (json_object_has_member (o, "rgb")) {
      /* one pixel, resized: the same everywhere */
      JsonArray *rgb = json_object_get_array_member (o, "rgb");
      const guint8 *pixels = hr_tensor_get_data (tensor);
      g_assert_cmpuint (hr_tensor_get_n_bytes (tensor), ==, 256 * 256 * 3);
      for (guint k = 0; k < 256 * 256 * 3; k++)
        g_assert_cmpuint (pixels[k], ==, json_array_get_int_element (rgb, k % 3));
    }
  }
}
