/* patches: the tables and the order of the numbers, beside the golden ones and the formula */
#include "headrace.h"
#include "patch.h"
#include <string.h>
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
  g_autofree guint8 *rgb = g_malloc (height * width * 3);
  g_autoptr (HrMemory) memory = hr_memory_new (rows * columns * size); /* aligned */
  guint8 *got = memory->data;

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

/* large ones are written past the caches, unless they are not aligned */
static void
test_large (void)
{
  static const HrPatchShape shape = { 16, 2, 2 };
  g_autoptr (HrMemory) aligned = hr_memory_new (512 * 704 * 24),
                       other = hr_memory_new (512 * 704 * 24 + 4);
  g_autofree guint8 *rgb = g_malloc (512 * 704 * 3);

  for (gsize i = 0; i < 512 * 704 * 3; i++)
    rgb[i] = (guint8)g_test_rand_int_range (0, 256);
  for (guint type = HR_PATCH_FLOAT32; type <= HR_PATCH_UINT8; type++) {
    HrPatchTable table;
    gsize bytes = 512 * 704 * 6 * hr_patch_type_size ((HrPatchType)type);

    hr_patch_table_init (&table, (HrPatchType)type, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
    check_layout (&shape, &table, 512, 704);
    hr_patch_write (&shape, &table, rgb, 512, 704, aligned->data);
    hr_patch_write (&shape, &table, rgb, 512, 704, other->data + 4);
    g_assert_cmpmem (aligned->data, bytes, other->data + 4, bytes);
  }
}

/* the fast way is taken where it should be: it would be easy to lose it and not to notice */
static void
test_forms (void)
{
  HrPatchTable table;

  hr_patch_table_init (&table, HR_PATCH_FLOAT32, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
  g_assert_cmpint (table.form, ==, HR_PATCH_TWICE);
  hr_patch_table_init (&table, HR_PATCH_BFLOAT16, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
  g_assert_cmpint (table.form, ==, HR_PATCH_TIMES);
  hr_patch_table_init (&table, HR_PATCH_FLOAT16, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
  g_assert_cmpint (table.form, ==, HR_PATCH_TIMES);
  hr_patch_table_init (&table, HR_PATCH_BFLOAT16, HR_PATCH_TORCHVISION, clip_mean, clip_std,
                       1.0 / 255);
  g_assert_cmpint (table.form, !=, HR_PATCH_LOOK_UP);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/patch/golden-tables", test_golden_tables);
  g_test_add_func ("/text/patch/bfloat16", test_bfloat16);
  g_test_add_func ("/text/patch/ties", test_ties);
  g_test_add_func ("/text/patch/float16", test_float16);
  g_test_add_func ("/text/patch/layout", test_layout);
  g_test_add_func ("/text/patch/large", test_large);
  g_test_add_func ("/text/patch/forms", test_forms);
  return g_test_run ();
}
