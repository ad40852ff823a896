/* the element patchify: golden images, samples and batches */
#include <glib/gstdio.h>
#include <string.h>
#include "text-run.h"
#include "text-test.h"

typedef struct {
  const char *name;      /* of the golden array: "pil", "tv" */
  const char *reference; /* of resize */
} Backend;

static void
check_golden_bytes (const char *setting, const Backend *backend)
{
  static const char *const files[] = { "cat_420.jpg", "rgba.png", "synth_odd.png", "tiny10.png",
                                       "aspect150.png" };
  g_autoptr (TextArrays) arrays = text_arrays_load ("golden/pixel_values_u8.npz");

  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *folder = g_dir_make_tmp ("hr-text-XXXXXX", NULL);
    g_autofree char *path = g_build_filename (folder, "a.jsonl", NULL);
    g_autofree char *record = g_strdup_printf (
        "{\"image\":\"%s\",\"conversations\":[{\"from\":\"human\",\"value\":\"<image>\"},{\"from\":"
        "\"gpt\",\"value\":\"a\"}]}",
        files[i]);
    g_autofree char *text = g_strdup_printf (
        "filesrc location=%s ! jsonlparse media-base=GOLDEN/images ! imagefetch ! imagedecode ! "
        "resize min-pixels=4096 max-pixels=262144 reference=%s ! patchify dtype=uint8 WORKERS ! "
        "appsink",
        path, backend->reference);
    const TextArray *expected = text_arrays_get (arrays, "%s/cap256/%s", files[i], backend->name);
    g_auto (TextRun) run = { NULL };
    HrTensor *got;

    g_assert_true (g_file_set_contents (path, record, -1, NULL));
    run = text_run (setting, text);
    g_assert_no_error (run.error);
    got = hr_buffer_get_tensor (run.samples->pdata[0], "pixel_values");
    g_assert_cmpint (hr_tensor_get_dim (got, 0), ==, expected->shape[0]);
    g_assert_cmpint (hr_tensor_get_dim (got, 1), ==, expected->shape[1]);
    g_assert_cmpmem (hr_tensor_get_data (got), hr_tensor_get_n_bytes (got), expected->data,
                     expected->n);
    g_unlink (path);
    g_rmdir (folder);
  }
}

static void
test_golden_bytes (gconstpointer setting)
{
  static const Backend backends[] = { { "pil", "pillow" }, { "tv", "torchvision" } };

  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    check_golden_bytes (setting, &backends[i]);
}

#define TO_PATCHES(dtype)                                                                          \
  "filesrc location=RECORDS/conversations_qwen.jsonl ! jsonlparse media-base=GOLDEN/images ! "     \
  "imagefetch ! imagedecode WORKERS ! resize min-pixels=4096 max-pixels=262144 WORKERS %s! "       \
  "patchify WORKERS dtype=" dtype " ! appsink"

/* A batch has one array of all its images, the same bytes as one sample after the other; nothing
 * was copied on the way, and the pixels are gone. */
static void
check_batch (const char *setting, const char *format, gsize width)
{
  g_autofree char *single_text = g_strdup_printf (format, "");
  g_autofree char *batch_text =
      g_strdup_printf (format, "! batch size=5 ! prefetchqueue max-batches=2 ");
  g_autoptr (GByteArray) all = g_byte_array_new ();
  g_auto (TextRun) run = text_run (setting, single_text);
  gsize at = 0, images = 0;
  JsonArray *elements;

  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, ==, 17);
  for (guint i = 0; i < run.samples->len; i++) {
    HrTensor *pixels = hr_buffer_get_tensor (run.samples->pdata[i], "pixel_values");

    if (pixels != NULL)
      g_byte_array_append (all, hr_tensor_get_data (pixels), (guint)hr_tensor_get_n_bytes (pixels));
  }
  text_run_clear (&run);

  run = text_run (setting, batch_text);
  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, ==, 4);
  for (guint i = 0; i < run.samples->len; i++) {
    HrBuffer *batch = run.samples->pdata[i];
    HrTensor *pixels = hr_buffer_get_tensor (batch, "pixel_values");
    HrTensor *grids = hr_buffer_get_tensor (batch, "image_grid_thw");
    gint64 rows = 0;

    g_assert_null (hr_buffer_get_list (batch, "images"));
    for (guint k = 0; k < hr_buffer_get_n_members (batch); k++)
      g_assert_null (hr_buffer_get_list (hr_buffer_get_member (batch, k), "images"));
    g_assert_nonnull (pixels);
    g_assert_cmpint (hr_tensor_get_dim (pixels, 1), ==, 1536);
    for (gint64 k = 0; k < hr_tensor_get_dim (grids, 0); k++)
      rows += text_tensor_int (grids, 3 * k + 1) * text_tensor_int (grids, 3 * k + 2);
    g_assert_cmpint (hr_tensor_get_dim (pixels, 0), ==, rows);
    images += hr_tensor_get_dim (grids, 0);
    g_assert_cmpuint (hr_tensor_get_n_bytes (pixels), ==, rows * 1536 * width);
    g_assert_cmpmem (hr_tensor_get_data (pixels), hr_tensor_get_n_bytes (pixels), all->data + at,
                     hr_tensor_get_n_bytes (pixels));
    at += hr_tensor_get_n_bytes (pixels);
  }
  g_assert_cmpuint (at, ==, all->len);
  g_assert_cmpuint (images, ==, 14);
  g_assert_cmpint (json_object_get_int_member (json_node_get_object (run.stats), "images"), ==, 14);
  elements = json_object_get_array_member (json_node_get_object (run.stats), "elements");
  for (guint i = 0; i < json_array_get_length (elements); i++)
    g_assert_cmpint (
        json_object_get_int_member (json_array_get_object_element (elements, i), "bytes_copied"),
        ==, 0);
}

static void
test_batch (gconstpointer setting)
{
  check_batch (setting, TO_PATCHES ("float32"), 4);
  check_batch (setting, TO_PATCHES ("bfloat16"), 2);
  check_batch (setting, TO_PATCHES ("float16"), 2);
  check_batch (setting, TO_PATCHES ("uint8"), 1);
}

/* an image that was not resized */
static void
test_wrong_size (void)
{
  g_auto (TextRun) run = text_run (
      "workers=2", "filesrc location=RECORDS/conversations_qwen.jsonl ! jsonlparse "
                   "media-base=GOLDEN/images ! imagefetch ! imagedecode ! patchify ! appsink");

  g_assert_error (run.error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED);
  g_assert_nonnull (
      strstr (run.error->message, "multiples of patch-size times merge-size, 32: resize"));
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    GTestDataFunc func;
  } tests[] = { { "golden-bytes", test_golden_bytes }, { "batch", test_batch } };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/patchify/wrong-size", test_wrong_size);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    for (guint k = 0; text_settings[k] != NULL; k++) {
      g_autofree char *path =
          g_strdup_printf ("/text/patchify/%s/%s", tests[i].name, text_settings[k]);

      g_test_add_data_func (path, text_settings[k], tests[i].func);
    }
  return g_test_run ();
}
