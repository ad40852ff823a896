/* patches: the tables and the order of the numbers beside the golden ones; samples and batches */
#include <glib/gstdio.h>
#include <string.h>
#include "patch.h"
#include "text-run.h"
#include "text-test.h"

static const double half[] = { 0.5, 0.5, 0.5 };
static const double one[] = { 1, 1, 1 };
static const double clip_mean[] = { 0.48145466, 0.4578275, 0.40821073 };
static const double clip_std[] = { 0.26862954, 0.26130258, 0.27577711 };

/* ---- tables ---- */

static void
test_golden_tables (void)
{
  g_autoptr (TextArrays) arrays = text_arrays_load ("golden/pixel_values_u8.npz");
  HrPatchTable table;

  for (guint channel = 0; channel < 3; channel++) {
    hr_patch_table_init (&table, HR_PATCH_FLOAT32, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
    g_assert_cmpmem (table.values[channel], 1024, text_arrays_get (arrays, "lut_tv")->data, 1024);
    hr_patch_table_init (&table, HR_PATCH_FLOAT32, HR_PATCH_PILLOW, half, half, 1.0 / 255);
    g_assert_cmpmem (table.values[channel], 1024, text_arrays_get (arrays, "lut_pil")->data, 1024);
  }
}

/* the two spellings are the same number in bfloat16 */
static void
test_bfloat16 (void)
{
  HrPatchTable fast, other;

  hr_patch_table_init (&fast, HR_PATCH_BFLOAT16, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
  hr_patch_table_init (&other, HR_PATCH_BFLOAT16, HR_PATCH_PILLOW, half, half, 1.0 / 255);
  g_assert_cmpmem (fast.halves, sizeof (fast.halves), other.halves, sizeof (other.halves));
  g_assert_cmpuint (fast.halves[0][0], ==, 0xBF80);   /* -1 */
  g_assert_cmpuint (fast.halves[0][255], ==, 0x3F80); /* 1 */
  for (guint byte = 0; byte < 256; byte++) {
    guint32 bits = (guint32)fast.halves[0][byte] << 16, around[2];
    float value, near[2];

    memcpy (&value, &bits, 4);
    around[0] = bits - 0x10000;
    around[1] = bits + 0x10000;
    memcpy (near, around, 8);
    for (guint i = 0; i < 2; i++)
      g_assert_true (ABS (value - fast.values[0][byte]) <= ABS (near[i] - fast.values[0][byte]));
  }
}

/* 128.5 and 129.5 lie in the middle: to the even one */
static void
test_ties (void)
{
  HrPatchTable table;

  hr_patch_table_init (&table, HR_PATCH_BFLOAT16, HR_PATCH_TORCHVISION, half, one, 1);
  g_assert_cmpuint (table.halves[0][129], ==, 0x4300);
  g_assert_cmpuint (table.halves[0][130], ==, 0x4302);
  g_assert_cmpuint (table.halves[0][255], ==, 0x437E);
  g_assert_cmpint (table.form, !=, HR_PATCH_LOOK_UP);
}

static void
test_float16 (void)
{
  static const double zero[] = { 0, 0, 0 }, tiny[] = { 1e5, 3e6, 1.9e7 },
                      huge[] = { 1e-9, 1e-9, 1e-9 };
  HrPatchTable table;

  hr_patch_table_init (&table, HR_PATCH_FLOAT16, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
  g_assert_cmpuint (table.halves[0][0], ==, 0xBC00);
  g_assert_cmpuint (table.halves[0][255], ==, 0x3C00);
  g_assert_cmpuint (table.halves[0][128], ==, 0x1C04); /* 0.5 / 127.5 = 0.00392157 */
  g_assert_cmpuint (table.halves[0][127], ==, 0x9C04);
  /* the smallest numbers, in steps of 2^-24, and what is too large */
  hr_patch_table_init (&table, HR_PATCH_FLOAT16, HR_PATCH_PILLOW, zero, tiny, 1.0 / 255);
  g_assert_cmpuint (table.halves[0][255], ==, 168); /* 1e-5 * 2^24 = 167.77 */
  g_assert_cmpuint (table.halves[1][255], ==, 6);
  g_assert_cmpuint (table.halves[2][255], ==, 1);
  g_assert_cmpuint (table.halves[0][0], ==, 0);
  hr_patch_table_init (&table, HR_PATCH_FLOAT16, HR_PATCH_PILLOW, zero, huge, 1.0 / 255);
  g_assert_cmpuint (table.halves[0][255], ==, 0x7C00);
}

/* ---- the order of the numbers ---- */

/* the formula of patch.h, number by number */
static void
check_layout (const HrPatchShape *shape, const HrPatchTable *table, gsize height, gsize width)
{
  gsize p = shape->size, m = shape->merge, rows = hr_patch_rows (shape, height, width);
  gsize columns = hr_patch_columns (shape), size = hr_patch_type_size (table->type);
  g_autofree guint8 *rgb = g_malloc (height * width * 3), *got = g_malloc (rows * columns * size);

  for (gsize i = 0; i < height * width * 3; i++)
    rgb[i] = (guint8)g_test_rand_int_range (0, 256);
  memset (got, 0xA5, rows * columns * size);
  hr_patch_write (shape, table, rgb, height, width, got);
  for (gsize y = 0; y < height; y++)
    for (gsize x = 0; x < width; x++)
      for (gsize c = 0; c < 3; c++)
        for (gsize t = 0; t < shape->temporal; t++) {
          gsize gy = y / p, gx = x / p, by = gy / m, bx = gx / m, my = gy % m, mx = gx % m;
          gsize row = ((by * (width / p / m) + bx) * m + my) * m + mx;
          gsize column = ((c * shape->temporal + t) * p + y % p) * p + x % p;
          const guint8 *number = got + (row * columns + column) * size;
          guint8 byte = rgb[(y * width + x) * 3 + c];
          gconstpointer expected =
              table->type == HR_PATCH_FLOAT32 ? (gconstpointer)&table->values[c][byte]
              : table->type == HR_PATCH_UINT8 ? (gconstpointer)&byte
                                              : (gconstpointer)&table->halves[c][byte];

          if (memcmp (number, expected, size) != 0)
            g_error ("size %u type %d: channel %d at %d, %d", shape->size, table->type, (int)c,
                     (int)x, (int)y);
        }
}

static void
check_shapes (const double *mean, const double *std, double scale)
{
  static const HrPatchShape shapes[] = { { 16, 2, 2 }, { 14, 2, 2 }, { 8, 1, 1 },  { 9, 3, 2 },
                                         { 15, 2, 3 }, { 7, 2, 2 },  { 28, 1, 2 }, { 1, 1, 1 } };

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (guint type = HR_PATCH_FLOAT32; type <= HR_PATCH_UINT8; type++)
      for (guint spelling = 0; spelling < 2; spelling++) {
        gsize block = (gsize)shapes[i].size * shapes[i].merge;
        HrPatchTable table;

        hr_patch_table_init (&table, (HrPatchType)type, (HrPatchSpelling)spelling, mean, std,
                             scale);
        check_layout (&shapes[i], &table, block, block);
        check_layout (&shapes[i], &table, 2 * block, 3 * block);
      }
}

static void
test_layout (void)
{
  check_shapes (half, half, 1.0 / 255);
  check_shapes (clip_mean, clip_std, 1.0 / 255);
  check_shapes (half, one, 1); /* half of all bytes lie in the middle of two numbers */
}

/* the fast way is taken where it should be: it would be easy to lose it and not to notice */
static void
test_forms (void)
{
  HrPatchTable table;

  hr_patch_table_init (&table, HR_PATCH_FLOAT32, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
  g_assert_cmpint (table.form, !=, HR_PATCH_LOOK_UP);
  hr_patch_table_init (&table, HR_PATCH_BFLOAT16, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
  g_assert_cmpint (table.form, ==, HR_PATCH_TIMES);
  hr_patch_table_init (&table, HR_PATCH_BFLOAT16, HR_PATCH_TORCHVISION, clip_mean, clip_std,
                       1.0 / 255);
  g_assert_cmpint (table.form, !=, HR_PATCH_LOOK_UP);
}

/* ---- golden images, through pipelines ---- */

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
  g_test_add_func ("/text/patchify/golden-tables", test_golden_tables);
  g_test_add_func ("/text/patchify/bfloat16", test_bfloat16);
  g_test_add_func ("/text/patchify/ties", test_ties);
  g_test_add_func ("/text/patchify/float16", test_float16);
  g_test_add_func ("/text/patchify/layout", test_layout);
  g_test_add_func ("/text/patchify/forms", test_forms);
  g_test_add_func ("/text/patchify/wrong-size", test_wrong_size);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    for (guint k = 0; text_settings[k] != NULL; k++) {
      g_autofree char *path =
          g_strdup_printf ("/text/patchify/%s/%s", tests[i].name, text_settings[k]);

      g_test_add_data_func (path, text_settings[k], tests[i].func);
    }
  return g_test_run ();
}
