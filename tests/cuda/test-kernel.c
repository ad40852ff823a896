/* the kernel's body, run by loops: beside patchify at random, and beside golden pixel_values */
#include <glib/gstdio.h>
#include "headrace.h"
#include "kernel-batch.h"
#include "patchify-kernel.h"
#include "text-run.h"
#include "text-test.h"

static const double half[] = { 0.5, 0.5, 0.5 };
static const double clip_mean[] = { 0.48145466, 0.4578275, 0.40821073 };
static const double clip_std[] = { 0.26862954, 0.26130258, 0.27577711 };

/* Runs it, and nothing but the rows was written. The output begins where a GPU's would, but for
 * what is aligned there. */
static guint8 *
run_kernel (const HrPatchParams *params, gsize n_bytes, guint n_blocks, guint n_threads,
            HrMemory **memory)
{
  HrPatchParams own = *params;

  *memory = hr_memory_new (n_bytes + 256);
  own.out = (*memory)->data + 64;
  memset ((*memory)->data, 0x5A, n_bytes + 256);
  hr_patch_launch (&own, n_blocks, n_threads);
  for (guint i = 0; i < 64; i++)
    g_assert_cmpuint ((*memory)->data[i], ==, 0x5A);
  for (guint i = 0; i < 192; i++)
    g_assert_cmpuint ((*memory)->data[64 + n_bytes + i], ==, 0x5A);
  return own.out;
}

static void
check_batch (const HrPatchShape *shape, const HrPatchTable *table, GRand *rand)
{
  static const gsize gaps[] = { 0, 16, 3 };
  g_auto (KernelBatch) batch;
  guint n_blocks;

  kernel_batch_init (&batch, shape, table, (guint)g_rand_int_range (rand, 1, 8),
                     gaps[g_rand_int_range (rand, 0, 3)], rand);
  n_blocks = hr_patch_blocks (&batch.params);
  for (guint i = 0; i < 3; i++) { /* as launched, by fewer, by more blocks with fewer threads */
    g_autoptr (HrMemory) memory = NULL;
    guint8 *got = run_kernel (&batch.params, batch.n_bytes,
                              i == 0   ? n_blocks
                              : i == 1 ? n_blocks / 3 + 1
                                       : n_blocks + 2,
                              i < 2 ? HR_PATCH_THREADS : 7, &memory);

    for (gsize k = 0; k < batch.n_bytes; k++)
      if (got[k] != batch.expected[k])
        g_error ("patch %u, merge %u, temporal %u, type %d: byte %zu of %zu", shape->size,
                 shape->merge, shape->temporal, table->type, k, batch.n_bytes);
  }
}

/* every way to read and to write: lines of whole runs, lines that runs go beyond, single pixels */
static void
test_random (void)
{
  static const HrPatchShape shapes[] = { { 16, 2, 2 }, { 14, 2, 2 }, { 8, 1, 1 },  { 9, 3, 2 },
                                         { 15, 2, 3 }, { 7, 2, 2 },  { 28, 1, 2 }, { 1, 1, 1 },
                                         { 4, 2, 4 },  { 32, 1, 2 }, { 2, 3, 1 },  { 12, 1, 2 } };
  g_autoptr (GRand) rand = g_rand_new_with_seed (g_test_rand_int ());

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (guint type = HR_PATCH_FLOAT32; type <= HR_PATCH_UINT8; type++)
      for (guint kind = 0; kind < 3; kind++) {
        HrPatchTable table;

        hr_patch_table_init (&table, (HrPatchType)type,
                             kind == 1 ? HR_PATCH_PILLOW : HR_PATCH_TORCHVISION,
                             kind == 2 ? clip_mean : half, kind == 2 ? clip_std : half, 1.0 / 255);
        check_batch (&shapes[i], &table, rand);
      }
}

/* the last row of a batch of several images is where it should be, and one image has all of them */
static void
test_places (void)
{
  const HrPatchImage images[] = { { 0, 0, 32, 64 }, { 6144, 8, 32, 32 }, { 9216, 12, 64, 32 } };
  HrPatchParams params = { .images = images,
                           .n_images = 3,
                           .n_rows = 20,
                           .patch = 16,
                           .merge = 2,
                           .temporal = 2,
                           .type = HR_PATCH_OUT_BFLOAT16 };

  g_assert_true (hr_patch_find_image (&params, 0) == &images[0]);
  g_assert_true (hr_patch_find_image (&params, 7) == &images[0]);
  g_assert_true (hr_patch_find_image (&params, 8) == &images[1]);
  g_assert_true (hr_patch_find_image (&params, 11) == &images[1]);
  g_assert_true (hr_patch_find_image (&params, 12) == &images[2]);
  g_assert_true (hr_patch_find_image (&params, 19) == &images[2]);
  g_assert_cmpuint (hr_patch_find_patch (&params, &images[0], 1), ==, 48);
  g_assert_cmpuint (hr_patch_find_patch (&params, &images[0], 2), ==, 16 * 64 * 3);
  g_assert_cmpuint (hr_patch_find_patch (&params, &images[0], 4), ==, 96);
  /* 32 threads a row, so 8 rows a block */
  g_assert_cmpuint (hr_patch_run_length (&params), ==, 8);
  g_assert_cmpuint (hr_patch_group_size (&params), ==, 8);
  g_assert_cmpuint (hr_patch_blocks (&params), ==, 3);
  params.n_rows = 0;
  g_assert_cmpuint (hr_patch_blocks (&params), ==, 0);
  params.n_rows = G_GUINT64_CONSTANT (1) << 40;
  g_assert_cmpuint (hr_patch_blocks (&params), ==, HR_PATCH_MAX_BLOCKS);
}

/* more than 4 GiB before the rows: only addresses are calculated, memory is not touched */
static void
test_far (void)
{
  static const guint8 pixels[32 * 32 * 3];
  const HrPatchImage images[] = { { 0, 0, 65536, 65536 }, { 0, 16777216, 32, 32 } };
  const guint64 before = G_GUINT64_CONSTANT (16777216) * 3072;
  guint8 *out = g_malloc (4 * 3072);
  HrPatchParams params = { .pixels = pixels,
                           .images = images,
                           .n_images = 2,
                           .n_rows = 16777220,
                           .patch = 16,
                           .merge = 2,
                           .temporal = 2,
                           .type = HR_PATCH_OUT_BFLOAT16,
                           .out = (gpointer)((guintptr)out - before) };
  guint16 table[HR_PATCH_TABLE_SIZE];

  for (guint i = 0; i < HR_PATCH_TABLE_SIZE; i++)
    table[i] = 0x1234;
  memset (out, 0, 4 * 3072);
  params.table = table;
  for (guint thread = 0; thread < 256; thread++) /* a block whose turn is at the second image */
    hr_patch_write_rows (&params, table, 16777216 / 8, 1 << 22, thread, 256);
  for (guint i = 0; i < 2 * 3072; i++)
    g_assert_cmpuint (((guint16 *)(gpointer)out)[i], ==, 0x1234);
  g_assert_cmpuint (hr_patch_find_patch (&params, &images[0], 16777215), ==,
                    ((guint64)65520 * 65536 + 65520) * 3);
  g_free (out);
}

/* ---- golden pixel_values: of files, by the reference ---- */

typedef struct {
  const char *name; /* of the golden array */
  const char *reference;
  HrPatchSpelling spelling;
  const char *table; /* what its bytes become in float32 */
} Backend;

static const char *const golden_files[] = { "cat_420.jpg", "rgba.png", "synth_odd.png",
                                            "tiny10.png", "aspect150.png" };

/* the pixels of all files, and one launch over them */
static void
check_golden (gconstpointer data)
{
  const Backend *backend = data;
  const HrPatchShape shape = { 16, 2, 2 };
  g_autoptr (TextArrays) arrays = text_arrays_load ("golden/pixel_values_u8.npz");
  const float *values = text_arrays_get (arrays, "%s", backend->table)->data;
  g_autoptr (GByteArray) pixels = g_byte_array_new ();
  HrPatchImage images[G_N_ELEMENTS (golden_files)];
  g_autoptr (HrMemory) memory = NULL;
  HrPatchTable table;
  HrPatchParams params = { .images = images,
                           .n_images = G_N_ELEMENTS (images),
                           .table = table.values,
                           .patch = 16,
                           .merge = 2,
                           .temporal = 2,
                           .type = HR_PATCH_OUT_FLOAT32 };
  const float *got;

  for (guint i = 0; i < G_N_ELEMENTS (images); i++) {
    g_autofree char *folder = g_dir_make_tmp ("hr-kernel-XXXXXX", NULL);
    g_autofree char *path = g_build_filename (folder, "a.jsonl", NULL);
    g_autofree char *record = g_strdup_printf (
        "{\"image\":\"%s\",\"conversations\":[{\"from\":\"human\",\"value\":\"<image>\"},{\"from\":"
        "\"gpt\",\"value\":\"a\"}]}",
        golden_files[i]);
    g_autofree char *text = g_strdup_printf (
        "filesrc location=%s ! jsonlparse media-base=GOLDEN/images ! imagefetch ! imagedecode ! "
        "resize min-pixels=4096 max-pixels=262144 reference=%s ! appsink",
        path, backend->reference);
    g_auto (TextRun) run = { NULL };
    HrTensor *image;

    g_assert_true (g_file_set_contents (path, record, -1, NULL));
    run = text_run (text_settings[0], text);
    g_assert_no_error (run.error);
    image = hr_list_get_tensor (hr_buffer_get_list (run.samples->pdata[0], "images"), 0);
    images[i] = (HrPatchImage){ pixels->len, params.n_rows, (guint)hr_tensor_get_dim (image, 0),
                                (guint)hr_tensor_get_dim (image, 1) };
    g_byte_array_append (pixels, hr_tensor_get_data (image), (guint)hr_tensor_get_n_bytes (image));
    params.n_rows += hr_patch_rows (&shape, images[i].height, images[i].width);
    g_unlink (path);
    g_rmdir (folder);
  }
  params.pixels = pixels->data;
  hr_patch_table_init (&table, HR_PATCH_FLOAT32, backend->spelling, half, half, 1.0 / 255);
  got = (const float *)(gconstpointer)run_kernel (
      &params, params.n_rows * 1536 * 4, hr_patch_blocks (&params), HR_PATCH_THREADS, &memory);
  for (guint i = 0; i < G_N_ELEMENTS (images); i++) {
    const TextArray *golden =
        text_arrays_get (arrays, "%s/cap256/%s", golden_files[i], backend->name);
    const guint8 *bytes = golden->data;

    g_assert_cmpuint (golden->n, ==,
                      hr_patch_rows (&shape, images[i].height, images[i].width) * 1536);
    for (gsize k = 0; k < golden->n; k++, got++)
      if (memcmp (got, &values[bytes[k]], sizeof (float)) != 0)
        g_error ("%s: number %zu is %g, not %g", golden_files[i], k, (double)*got,
                 (double)values[bytes[k]]);
  }
}

int
main (int argc, char **argv)
{
  static const Backend torchvision = { "tv", "torchvision", HR_PATCH_TORCHVISION, "lut_tv" };
  static const Backend pillow = { "pil", "pillow", HR_PATCH_PILLOW, "lut_pil" };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda/kernel/places", test_places);
  g_test_add_func ("/cuda/kernel/far", test_far);
  g_test_add_func ("/cuda/kernel/random", test_random);
  g_test_add_data_func ("/cuda/kernel/golden/torchvision", &torchvision, check_golden);
  g_test_add_data_func ("/cuda/kernel/golden/pillow", &pillow, check_golden);
  return g_test_run ();
}
