/* brightness: the mean of the darkest image, and dark ones are bad; whatever the number of workers
 */
#include <hr-harness.h>

static void
push_gray (HrHarness *harness, guint8 level)
{
  const gint64 shape[] = { 2, 2, 3 };
  guint8 pixels[12];
  HrMemory *memory = hr_memory_new_copy (memset (pixels, level, sizeof pixels), sizeof pixels);
  g_autoptr (HrBuffer) sample = hr_buffer_new ();
  HrList *images = hr_list_new (1);

  hr_list_append_tensor (images, hr_tensor_new (memory, 0, HR_UINT8, 3, shape));
  hr_buffer_set_list (sample, "images", images);
  hr_harness_push (harness, g_steal_pointer (&sample));
}

static void
test_levels (gconstpointer workers)
{
  HrHarness *harness = hr_harness_new ("brightness", GPOINTER_TO_UINT (workers));

  for (guint8 level = 0; level < 100; level++)
    push_gray (harness, level);
  hr_harness_end (harness);
  for (guint8 level = 0; level < 100; level++) {
    g_autoptr (HrBuffer) sample = hr_harness_pull (harness);
    const float *darkest = hr_tensor_get_data (hr_buffer_get_tensor (sample, "brightness"));

    g_assert_cmpfloat (*darkest, ==, level);
  }
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_dark (gconstpointer workers)
{
  HrHarness *harness = hr_harness_new ("brightness min=20", GPOINTER_TO_UINT (workers));

  push_gray (harness, 7);
  hr_harness_expect_error (harness, HR_DATA_ERROR, HR_DATA_ERROR_OTHER,
                           "*an image has a mean of 7.0, at least 20 is wanted*");
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/brightness/levels/1", GUINT_TO_POINTER (1), test_levels);
  g_test_add_data_func ("/brightness/levels/4", GUINT_TO_POINTER (4), test_levels);
  g_test_add_data_func ("/brightness/dark/1", GUINT_TO_POINTER (1), test_dark);
  g_test_add_data_func ("/brightness/dark/4", GUINT_TO_POINTER (4), test_dark);
  return g_test_run ();
}
