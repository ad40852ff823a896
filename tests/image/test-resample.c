/* the exact resize: golden pixels of both references, every kernel against a plain reading of the
 * definition, and no byte read or written outside */
#include <math.h>
#include <string.h>
#include "image-test.h"
#include "resample.h"
#include "smart-resize.h"

/* only @kernel, and the plain one where it does not suit an axis */
typedef struct {
  const HrKernel *list[3];
} Kernels;

static Kernels
only (const HrKernel *kernel)
{
  return (Kernels){ { kernel, &hr_kernel_plain, NULL } };
}

static void
check_golden (const HrKernel *kernel, HrReference reference, const char *member)
{
  static const struct {
    const char *name;
    HrSmartResize rule;
  } configs[] = { { "default", { HR_SMART_RESIZE_HF, 32, 65536, 16777216 } },
                  { "cap256", { HR_SMART_RESIZE_HF, 32, 4096, 262144 } } };
  Kernels kernels = only (kernel);
  g_autoptr (HrResampler) resampler = hr_resampler_new (reference, kernels.list);
  g_autoptr (JsonNode) root = image_test_json ("golden/images.json");
  JsonArray *images = json_node_get_array (root);
  guint n = 0;
  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *o = json_array_get_object_element (images, i);
    const char *name = json_object_get_string_member (o, "file");
    /* the references start from other pixels than ours here */
    if (g_str_equal (name, "gray16.png") || !json_object_has_member (o, "processor"))
      continue;
    JsonObject *processor = json_object_get_object_member (o, "processor");
    g_autoptr (GBytes) file = image_test_load ("golden", "images", name, NULL);
    guint32 height, width;
    g_autofree guint8 *pixels = image_test_decode (file, &height, &width, NULL);
    for (guint c = 0; c < G_N_ELEMENTS (configs); c++) {
      if (!json_object_has_member (processor, configs[c].name))
        continue;
      JsonObject *expected = json_object_get_object_member (processor, configs[c].name);
      gint32 out_h, out_w;
      gboolean ok = hr_smart_resize (&configs[c].rule, height, width, &out_h, &out_w, NULL);
      g_assert_true (ok != json_object_has_member (expected, "error"));
      if (!ok)
        continue;
      JsonArray *hw = json_object_get_array_member (expected, "resized_hw");
      g_assert_cmpint (out_h, ==, json_array_get_int_element (hw, 0));
      g_assert_cmpint (out_w, ==, json_array_get_int_element (hw, 1));
      g_autofree guint8 *out = g_malloc ((gsize)out_h * out_w * 3);
      hr_resampler_resize (resampler, pixels, height, width, (gsize)width * 3, out, out_h, out_w);
      g_autofree char *sha = image_test_sha256 (out, (gsize)out_h * out_w * 3);
      g_test_message ("%s %s", name, configs[c].name);
      g_assert_cmpstr (sha, ==,
                       json_object_get_string_member (
                           json_object_get_object_member (expected, member), "resized_sha256"));
      n++;
    }
  }
  g_assert_cmpuint (n, ==, 53);
}

static void
test_pillow (gconstpointer kernel)
{
  check_golden (kernel, HR_REFERENCE_PILLOW, "pil");
}

static void
test_torchvision (gconstpointer kernel)
{
  check_golden (kernel, HR_REFERENCE_TORCHVISION, "tv");
}

/* ---- the definition, read once more and without any thought of speed ---- */

static double
cubic (double x)
{
  x = fabs (x);
  if (x < 1)
    return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
}

static guint8
one_sample (const guint8 *in, gsize step, guint n, guint m, guint i)
{
  double scale = (double)n / m, fs = MAX (1, scale), c = (i + 0.5) * scale, sum = 0;
  int lo = MAX (0, (int)(c - 2 * fs + 0.5)), hi = MIN ((int)n, (int)(c + 2 * fs + 0.5));
  gint64 total = 1 << 21;
  for (int j = lo; j < hi; j++)
    sum += cubic ((j - c + 0.5) * (1 / fs));
  for (int j = lo; j < hi; j++) {
    double k = cubic ((j - c + 0.5) * (1 / fs)) / sum * (1 << 22);
    total += (gint64)(k < 0 ? k - 0.5 : k + 0.5) * in[j * step];
  }
  total >>= 22;
  return CLAMP (total, 0, 255);
}

static void
naive (const guint8 *in, guint h, guint w, guint8 *out, guint oh, guint ow)
{
  g_autofree guint8 *between = g_malloc ((gsize)h * ow * 3);
  for (guint y = 0; y < h; y++)
    for (guint x = 0; x < ow; x++)
      for (guint c = 0; c < 3; c++)
        between[(y * ow + x) * 3 + c] =
            ow == w ? in[(y * w + x) * 3 + c] : one_sample (in + y * w * 3 + c, 3, w, ow, x);
  for (guint y = 0; y < oh; y++)
    for (guint x = 0; x < ow * 3; x++)
      out[y * ow * 3 + x] =
          oh == h ? between[y * ow * 3 + x] : one_sample (between + x, ow * 3, h, oh, y);
}

/* hard edges: the filter over- and undershoots, and every sum is far from the middle */
static void
fill (GRand *rand, guint8 *data, gsize n)
{
  gboolean edges = g_rand_boolean (rand);
  for (gsize i = 0; i < n; i++)
    data[i] = edges ? (g_rand_boolean (rand) ? 255 : 0) : g_rand_int (rand);
}

static void
test_random (gconstpointer data)
{
  Kernels kernels = only (data);
  g_autoptr (HrResampler) resampler = hr_resampler_new (HR_REFERENCE_PILLOW, kernels.list);
  g_autoptr (GRand) rand = g_rand_new_with_seed (77);
  for (guint i = 0; i < 400; i++) {
    guint h = g_rand_int_range (rand, 1, 90), w = g_rand_int_range (rand, 1, 90);
    guint oh = g_rand_int_range (rand, 1, 90), ow = g_rand_int_range (rand, 1, 90);
    /* all ratios, and one axis alone */
    if (i % 7 == 0)
      w = g_rand_int_range (rand, 100, 900), ow = g_rand_int_range (rand, 1, 40);
    if (i % 11 == 0)
      h = g_rand_int_range (rand, 100, 900), oh = g_rand_int_range (rand, 1, 40);
    if (i % 5 == 0)
      ow = w;
    if (i % 13 == 0)
      oh = h;
    gsize gap = i % 3 == 0 ? g_rand_int_range (rand, 0, 40) : 0, stride = w * 3 + gap;
    gsize n_in = (h - 1) * stride + w * 3, n_out = (gsize)oh * ow * 3;
    g_autofree guint8 *dense = g_malloc ((gsize)h * w * 3), *expected = g_malloc (n_out);
    guint8 *in = image_test_fence_new (n_in), *out = image_test_fence_new (n_out + 16);
    fill (rand, in, n_in);
    for (guint y = 0; y < h; y++)
      memcpy (dense + (gsize)y * w * 3, in + y * stride, (gsize)w * 3);
    naive (dense, h, w, expected, oh, ow);
    memset (out, 0xa5, n_out + 16);
    hr_resampler_resize (resampler, in, h, w, stride, out, oh, ow);
    for (guint k = 0; k < 16; k++)
      g_assert_cmpuint (out[n_out + k], ==, 0xa5);
    if (memcmp (out, expected, n_out) != 0)
      g_error ("%ux%u to %ux%u differs", w, h, ow, oh);
    image_test_fence_free (in, n_in);
    image_test_fence_free (out, n_out + 16);
  }
}

/* kernels against each other where the definition would take too long, in both references */
static void
test_large (gconstpointer data)
{
  static const guint sizes[][4] = { { 1200, 1600, 416, 576 }, { 700, 1023, 672, 992 },
                                    { 333, 500, 640, 960 },   { 3000, 64, 96, 32 },
                                    { 40, 4000, 32, 320 },    { 500, 3333, 480, 352 },
                                    { 2000, 3000, 64, 96 } };
  Kernels kernels = only (data), plain = only (&hr_kernel_plain);
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  for (guint reference = 0; reference < 2; reference++) {
    g_autoptr (HrResampler) one = hr_resampler_new (reference, kernels.list);
    g_autoptr (HrResampler) other = hr_resampler_new (reference, plain.list);
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
      guint h = sizes[i][0], w = sizes[i][1], oh = sizes[i][2], ow = sizes[i][3];
      gsize n_in = (gsize)h * w * 3, n_out = (gsize)oh * ow * 3;
      guint8 *in = image_test_fence_new (n_in);
      g_autofree guint8 *a = g_malloc (n_out), *b = g_malloc (n_out);
      fill (rand, in, n_in);
      hr_resampler_resize (one, in, h, w, (gsize)w * 3, a, oh, ow);
      hr_resampler_resize (other, in, h, w, (gsize)w * 3, b, oh, ow);
      g_assert_cmpmem (a, n_out, b, n_out);
      image_test_fence_free (in, n_in);
    }
  }
}

/* more sizes than tables are kept, again and again */
static void
test_cache (void)
{
  g_autoptr (HrResampler) kept = hr_resampler_new (HR_REFERENCE_PILLOW, hr_kernels ());
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);
  guint8 in[60 * 60 * 3], a[64 * 64 * 3], b[64 * 64 * 3];
  fill (rand, in, sizeof in);
  for (guint i = 0; i < 500; i++) {
    guint h = g_rand_int_range (rand, 2, 60), w = g_rand_int_range (rand, 2, 60);
    guint oh = g_rand_int_range (rand, 1, 64), ow = g_rand_int_range (rand, 1, 64);
    g_autoptr (HrResampler) fresh = hr_resampler_new (HR_REFERENCE_PILLOW, hr_kernels ());
    hr_resampler_resize (kept, in, h, w, w * 3, a, oh, ow);
    hr_resampler_resize (fresh, in, h, w, w * 3, b, oh, ow);
    g_assert_cmpmem (a, oh * ow * 3, b, oh * ow * 3);
  }
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    GTestDataFunc func;
  } tests[] = { { "pillow", test_pillow },
                { "torchvision", test_torchvision },
                { "random", test_random },
                { "large", test_large } };
  image_test_init (&argc, &argv);
  const HrKernel *const *kernels = hr_kernels ();
  for (guint k = 0; kernels[k] != NULL; k++)
    for (guint t = 0; t < G_N_ELEMENTS (tests); t++) {
      g_autofree char *path = g_strdup_printf ("/resample/%s/%s", kernels[k]->name, tests[t].name);
      g_test_add_data_func (path, kernels[k], tests[t].func);
    }
  g_test_add_func ("/resample/cache", test_cache);
  return g_test_run ();
}
