/* Qwen2-VL and Qwen2.5-VL are properties away: sizes, tables and whole samples beside what
 * transformers made of the same records (make-qwen2vl.py) */
#include <glib/gstdio.h>
#include <string.h>
#include "patch.h"
#include "smart-resize.h"
#include "text-run.h"
#include "text-test.h"

static void
test_sizes (void)
{
  static const HrSmartResize rule = { HR_SMART_RESIZE_HF, 28, 3136, 1003520 };
  g_autoptr (JsonNode) root = text_test_json ("qwen2vl/sizes.json");
  JsonArray *rows = json_node_get_array (root);

  g_assert_cmpuint (json_array_get_length (rows), >, 300);
  for (guint i = 0; i < json_array_get_length (rows); i++) {
    JsonArray *row = json_array_get_array_element (rows, i);
    guint32 h = (guint32)json_array_get_int_element (row, 0);
    guint32 w = (guint32)json_array_get_int_element (row, 1);
    gint64 height, width;
    gboolean good = hr_smart_resize_compute (&rule, h, w, &height, &width);

    g_assert_cmpint (good, ==, !JSON_NODE_HOLDS_NULL (json_array_get_element (row, 2)));
    if (!good)
      continue;
    row = json_array_get_array_element (row, 2);
    if (height != json_array_get_int_element (row, 0)
        || width != json_array_get_int_element (row, 1))
      g_error ("%u x %u becomes %d x %d", h, w, (int)height, (int)width);
  }
}

static void
test_tables (void)
{
  static const double mean[] = { 0.48145466, 0.4578275, 0.40821073 };
  static const double std[] = { 0.26862954, 0.26130258, 0.27577711 };
  static const char *const names[] = { "torchvision", "pillow" };
  g_autoptr (JsonNode) root = text_test_json ("qwen2vl/tables.json");

  for (HrPatchSpelling spelling = HR_PATCH_TORCHVISION; spelling <= HR_PATCH_PILLOW; spelling++) {
    JsonArray *channels =
        json_object_get_array_member (json_node_get_object (root), names[spelling]);
    HrPatchTable table;

    hr_patch_table_init (&table, HR_PATCH_FLOAT32, spelling, mean, std, 1.0 / 255);
    for (guint channel = 0; channel < 3; channel++)
      for (guint byte = 0; byte < 256; byte++) {
        guint32 bits;

        memcpy (&bits, &table.values[channel][byte], 4);
        g_assert_cmphex (
            bits, ==,
            json_array_get_int_element (json_array_get_array_element (channels, channel), byte));
      }
  }
}

static void
check_sample (const HrBuffer *sample, JsonObject *expected)
{
  static const char *const fields[] = { "input_ids", "position_ids", "mm_token_type_ids",
                                        "image_grid_thw" };
  HrTensor *pixels = hr_buffer_get_tensor (sample, "pixel_values");
  g_autofree char *sum = NULL;

  g_assert_cmpint (hr_tensor_get_dim (hr_buffer_get_tensor (sample, "input_ids"), 0), ==,
                   json_object_get_int_member (expected, "tokens"));
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if (json_object_has_member (expected, fields[i]))
      text_assert_numbers (hr_buffer_get_tensor (sample, fields[i]),
                           json_object_get_array_member (expected, fields[i]), fields[i]);
  if (!json_object_has_member (expected, "pixel_values_sha256")) {
    g_assert_null (pixels);
    return;
  }
  sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, hr_tensor_get_data (pixels),
                                     hr_tensor_get_n_bytes (pixels));
  g_assert_cmpstr (sum, ==, json_object_get_string_member (expected, "pixel_values_sha256"));
}

#define READ                                                                                       \
  "filesrc location=RECORDS/conversations_messages.jsonl ! jsonlparse media-base=GOLDEN/images ! " \
  "imagefetch ! "
#define SIZING "template=qwen2-vl patch-size=14 min-pixels=3136 max-pixels=%s WORKERS "
#define PATCHES                                                                                    \
  "imagedecode WORKERS ! resize WORKERS ! patchify normalize=pillow "                              \
  "image-mean=0.48145466,0.4578275,0.40821073 image-std=0.26862954,0.26130258,0.27577711 WORKERS"

static void
check_samples (const char *setting, const char *bounds, const char *max_pixels)
{
  g_autofree char *text = g_strdup_printf (
      READ "tokenize tokenizer=VOCAB " SIZING "! " PATCHES " ! appsink", max_pixels);
  g_auto (TextRun) run = text_run (setting, text);
  g_autoptr (JsonNode) root = text_test_json ("qwen2vl/samples.json");
  JsonArray *rows = json_object_get_array_member (json_node_get_object (root), "samples");

  g_assert_no_error (run.error);
  g_assert_cmpuint (json_array_get_length (rows), ==, 16);
  for (guint i = 0; i < 16; i++) {
    JsonObject *row = json_array_get_object_element (rows, i);

    check_sample (text_run_find_id (&run, json_object_get_string_member (row, "id")),
                  json_object_get_object_member (row, bounds));
  }
}

static void
test_samples (gconstpointer setting)
{
  if (text_test_vocab () == NULL)
    return;
  check_samples (setting, "small", "100352");
  check_samples (setting, "own", "1003520");
}

/* ---- the pipeline in the tree ---- */

/* the same records but for the one that the reference was not asked about */
static char *
write_records (const char *folder)
{
  g_autofree char *all = NULL, *path = g_build_filename (folder, "a.jsonl", NULL);
  g_auto (GStrv) lines = NULL;
  g_autoptr (GString) kept = g_string_new (NULL);

  g_assert_true (
      g_file_get_contents (HR_TEST_DATA "/records/conversations_messages.jsonl", &all, NULL, NULL));
  lines = g_strsplit (all, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (strstr (lines[i], "\"images_in_turns\"") == NULL)
      g_string_append_printf (kept, "%s\n", lines[i]);
  g_assert_true (g_file_set_contents (path, kept->str, -1, NULL));
  return g_steal_pointer (&path);
}

static gint64
sum_expected (const char *member)
{
  g_autoptr (JsonNode) root = text_test_json ("qwen2vl/samples.json");
  JsonArray *rows = json_object_get_array_member (json_node_get_object (root), "samples");
  gint64 sum = 0;

  for (guint i = 0; i < json_array_get_length (rows); i++) {
    JsonObject *own =
        json_object_get_object_member (json_array_get_object_element (rows, i), "own");

    if (g_str_equal (member, "tokens"))
      sum += json_object_get_int_member (own, member);
    else if (json_object_has_member (own, member))
      sum += json_array_get_int_element (json_object_get_array_member (own, member), 0);
  }
  return sum;
}

static void
test_pipeline (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hr-qwen2vl-XXXXXX", NULL), *path = NULL, *base = NULL;
  g_autofree char *file = NULL;
  g_autoptr (GString) text = NULL;
  gint64 tokens = 0, patches = 0;

  if (text_test_vocab () == NULL)
    return;
  path = write_records (folder);
  g_assert_true (g_file_get_contents (HR_PIPELINES "/qwen2.5-vl.hr", &file, NULL, NULL));
  base = g_strdup_printf ("media-base=%s late-system", HR_TEST_DATA "/golden/images");
  text = g_string_new (strstr (file, "filesrc"));
  g_assert_cmpuint (g_string_replace (text, "${LOCATION}", path, 0), ==, 1);
  g_assert_cmpuint (g_string_replace (text, "${TOKENIZER}", "VOCAB", 0), ==, 1);
  g_assert_cmpuint (g_string_replace (text, "late-system", base, 0), ==, 1);
  g_assert_cmpuint (g_string_replace (text, "trainsim step-time=${STEP_TIME:-100ms}", "appsink", 0),
                    ==, 1);
  {
    g_auto (TextRun) run = text_run ("workers=2", text->str);

    g_assert_no_error (run.error);
    for (guint i = 0; i < run.samples->len; i++) {
      HrTensor *pixels = hr_buffer_get_tensor (run.samples->pdata[i], "pixel_values");

      tokens += hr_tensor_get_dim (hr_buffer_get_tensor (run.samples->pdata[i], "input_ids"), 1);
      patches += pixels != NULL ? hr_tensor_get_dim (pixels, 0) : 0;
      if (pixels != NULL)
        g_assert_cmpint (hr_tensor_get_dim (pixels, 1), ==, 1176);
    }
  }
  g_assert_cmpint (tokens, ==, sum_expected ("tokens"));
  g_assert_cmpint (patches, ==, sum_expected ("pixel_values_shape"));
  g_unlink (path);
  g_rmdir (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/qwen2vl/sizes", test_sizes);
  g_test_add_func ("/text/qwen2vl/tables", test_tables);
  for (guint k = 0; text_settings[k] != NULL; k++) {
    g_autofree char *path = g_strdup_printf ("/text/qwen2vl/samples/%s", text_settings[k]);

    g_test_add_data_func (path, text_settings[k], test_samples);
  }
  g_test_add_func ("/text/qwen2vl/pipeline", test_pipeline);
  return g_test_run ();
}
