/* fakesrc: how many, how large, and the same bytes every time */
#include <string.h>
#include "hr-harness.h"

static HrBuffer *
pull_nth (const char *text, guint n)
{
  g_autoptr (HrHarness) harness = hr_harness_new (text, 1);
  HrBuffer *buffer = NULL;

  for (guint i = 0; i <= n; i++) {
    g_clear_pointer (&buffer, hr_buffer_unref);
    buffer = hr_harness_pull (harness);
    g_assert_nonnull (buffer);
  }
  return buffer;
}

static void
test_count_and_size (void)
{
  const guint counts[] = { 0, 1, 64, 65, 200 };
  const gsize sizes[] = { 0, 1, 7, 8, 1000 };

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++) {
    g_autofree char *text =
        g_strdup_printf ("fakesrc num-buffers=%u size=%zu", counts[i], sizes[i]);
    HrHarness *harness = hr_harness_new (text, 1);

    for (guint n = 0; n < counts[i]; n++) {
      g_autoptr (HrBuffer) buffer = hr_harness_pull (harness);
      HrTensor *tensor = hr_buffer_get_tensor (buffer, "bytes");

      g_assert_cmpint (buffer->number, ==, n);
      g_assert_cmpint (buffer->sample, ==, n);
      g_assert_cmpuint (hr_buffer_get_n_fields (buffer), ==, 1);
      g_assert_cmpstr (hr_dtype_get_name (hr_tensor_get_dtype (tensor)), ==, "uint8");
      g_assert_cmpuint (hr_tensor_get_n_dims (tensor), ==, 1);
      g_assert_cmpuint (hr_tensor_get_n_bytes (tensor), ==, sizes[i]);
    }
    g_assert_null (hr_harness_pull (harness));
    hr_harness_free (harness);
  }
  hr_harness_assert_no_leaks ();
}

static gboolean
same (const HrBuffer *a, const HrBuffer *b)
{
  HrTensor *left = hr_buffer_get_tensor (a, "bytes"), *right = hr_buffer_get_tensor (b, "bytes");

  return memcmp (hr_tensor_get_data (left), hr_tensor_get_data (right),
                 MIN (hr_tensor_get_n_bytes (left), hr_tensor_get_n_bytes (right)))
         == 0;
}

static void
test_content (void)
{
  g_autoptr (HrBuffer) reference = pull_nth ("fakesrc size=100 seed=5", 3);
  g_autoptr (HrBuffer) again = pull_nth ("fakesrc size=100 seed=5 num-buffers=4 interval=1ms", 3);
  g_autoptr (HrBuffer) shorter = pull_nth ("fakesrc size=13 seed=5", 3);
  g_autoptr (HrBuffer) other_seed = pull_nth ("fakesrc size=100 seed=6", 3);
  g_autoptr (HrBuffer) other_index = pull_nth ("fakesrc size=100 seed=5", 4);
  guint histogram[256] = { 0 };
  g_autoptr (HrBuffer) large = pull_nth ("fakesrc size=256KiB", 0);
  const guint8 *bytes = hr_tensor_get_data (hr_buffer_get_tensor (large, "bytes"));

  g_assert_true (same (reference, again));
  g_assert_true (same (reference, shorter));
  g_assert_false (same (reference, other_seed));
  g_assert_false (same (reference, other_index));
  /* every byte value about equally often: 1024 expected, 10 standard deviations allowed */
  for (guint i = 0; i < 256 * 1024; i++)
    histogram[bytes[i]]++;
  for (guint i = 0; i < 256; i++)
    g_assert_cmpfloat (ABS ((gint)histogram[i] - 1024), <, 320);
}

/* The very bytes, so that a checksum written down today holds tomorrow. */
static void
test_fixed_bytes (void)
{
  g_autoptr (HrBuffer) buffer = pull_nth ("fakesrc size=12 seed=1", 2);
  HrTensor *tensor = hr_buffer_get_tensor (buffer, "bytes");
  static const guint8 expected[12] = { 0x60, 0x83, 0xf0, 0x1d, 0xc0, 0x6f,
                                       0x8e, 0xe6, 0x11, 0x42, 0x61, 0xdd };

  g_assert_cmpmem (hr_tensor_get_data (tensor), hr_tensor_get_n_bytes (tensor), expected, 12);
}

/* unlimited, and stopped while it sleeps for a minute */
static void
test_stop_while_asleep (void)
{
  HrHarness *harness = hr_harness_new ("fakesrc interval=60s", 1);

  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_examples (void)
{
  hr_harness_run_examples ("fakesrc");
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fakesrc/count-and-size", test_count_and_size);
  g_test_add_func ("/fakesrc/content", test_content);
  g_test_add_func ("/fakesrc/fixed-bytes", test_fixed_bytes);
  g_test_add_func ("/fakesrc/stop-while-asleep", test_stop_while_asleep);
  g_test_add_func ("/fakesrc/examples", test_examples);
  return g_test_run ();
}
