/* the image cases from their JSONL files through filesrc, jsonlparse and imagefetch: pixels, sizes,
 * refusals, the memory of a bomb, and hr-launch's exit status */
#include <string.h>
#include <sys/resource.h>
#include "image-run.h"
#include "image-test.h"

static const char *const settings[] = { "serial=true", "workers=1", "workers=4" };

static const struct {
  const char *id;
  const char *elements;
  guint refused;
} cases[] = {
  { "04-aspect-over-200", "imagedecode WORKERS ! resize on-error=skip WORKERS", 4 },
  { "05-jpeg-truncated", "imagedecode on-error=skip WORKERS", 8 },
  { "06-exif-orientation", "imagedecode on-error=skip WORKERS", 0 },
  { "07-jpeg-cmyk", "imagedecode on-error=skip WORKERS", 0 },
  { "08-png-16-bit", "imagedecode on-error=skip WORKERS", 0 },
  { "09-alpha-on-white", "imagedecode on-error=skip WORKERS", 0 },
  { "10-png-bomb", "imagedecode on-error=skip WORKERS", 3 },
  { "23-first-frame", "imagedecode on-error=skip WORKERS", 0 },
  { "24-one-pixel", "imagedecode WORKERS ! resize WORKERS", 0 },
};

static void
test_case (gconstpointer data)
{
  guint c = GPOINTER_TO_UINT (data) / G_N_ELEMENTS (settings);
  const char *setting = settings[GPOINTER_TO_UINT (data) % G_N_ELEMENTS (settings)];
  g_autofree char *source =
      g_strdup_printf ("filesrc location=\"%s/cases/%s/a.jsonl\" ! jsonlparse ! imagefetch",
                       HR_TEST_DATA, cases[c].id);
  g_autoptr (GError) error = NULL;
  struct rusage before, after;
  getrusage (RUSAGE_SELF, &before);
  Run run = run_new_from (setting, source, cases[c].elements, &error);
  getrusage (RUSAGE_SELF, &after);
  g_assert_no_error (error);
  assert_case (&run, cases[c].id, cases[c].refused);
  /* sizes from the header are those of the pixels, orientation applied */
  for (guint i = 0; strstr (cases[c].elements, "resize") == NULL && i < run.out->len; i++) {
    HrBuffer *sample = run.out->pdata[i];
    const gint32 *size = hr_tensor_get_data (hr_buffer_get_tensor (sample, "image_sizes"));
    HrTensor *image = hr_list_get_tensor (hr_buffer_get_list (sample, "images"), 0);
    g_assert_cmpint (hr_tensor_get_shape (image)[0], ==, size[0]);
    g_assert_cmpint (hr_tensor_get_shape (image)[1], ==, size[1]);
  }
  /* a bomb is refused by its header: its pixels would be 2.7 GB */
  if (g_str_has_prefix (cases[c].id, "10"))
    g_assert_cmpint (after.ru_maxrss - before.ru_maxrss, <, 64 * 1024);
  run_clear (&run);
}

/* what imagefetch tells is what imagedecode delivers, turned or not, and the one who decides may
 * stand further behind */
static void
test_sizes_as_stored (void)
{
  static const char *const chains[] = {
    "imagedecode exif=ignore",
    "imagedecode exif=apply",
    "identity ! imagedecode exif=ignore",
    "tee name=t t. ! imagedecode exif=ignore ! fakesink t. ! imagedecode exif=ignore",
  };
  for (guint c = 0; c < G_N_ELEMENTS (chains); c++) {
    g_autofree char *source = g_strdup_printf (
        "filesrc location=\"%s/cases/06-exif-orientation/a.jsonl\" ! jsonlparse ! imagefetch",
        HR_TEST_DATA);
    g_autoptr (GError) error = NULL;
    Run run = run_new_from ("workers=1", source, chains[c], &error);
    guint upright = 0;
    g_assert_no_error (error);
    g_assert_cmpuint (run.out->len, ==, 14);
    for (guint i = 0; i < run.out->len; i++) {
      HrBuffer *sample = run.out->pdata[i];
      const gint32 *size = hr_tensor_get_data (hr_buffer_get_tensor (sample, "image_sizes"));
      HrTensor *image = hr_list_get_tensor (hr_buffer_get_list (sample, "images"), 0);
      g_assert_cmpint (hr_tensor_get_dim (image, 0), ==, size[0]);
      g_assert_cmpint (hr_tensor_get_dim (image, 1), ==, size[1]);
      upright += size[0] > size[1];
    }
    /* seven of them are stored lying on their side */
    g_assert_cmpuint (upright, ==, strstr (chains[c], "ignore") != NULL ? 7 : 0);
    run_clear (&run);
  }
}

static void
test_sizes_conflict (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (hr_parse_launch ("filesrc location=a.jsonl ! jsonlparse ! imagefetch ! tee name=t "
                                  "t. ! imagedecode name=a exif=ignore ! fakesink "
                                  "t. ! identity ! imagedecode name=b ! fakesink",
                                  &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT);
  g_assert_nonnull (strstr (error->message, "\"a\" and \"b\" behind it differ in exif="));
}

static int
launch (const char *id, const char *elements)
{
  g_autofree char *text =
      g_strdup_printf ("filesrc location=\"%s/cases/%s/a.jsonl\" ! jsonlparse ! imagefetch ! %s ! "
                       "fakesink",
                       HR_TEST_DATA, id, elements);
  const char *argv[] = { HR_LAUNCH, "--progress=none", text, NULL };
  g_autoptr (GError) error = NULL;
  int status;
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
                NULL, NULL, NULL, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

static void
test_exit_status (void)
{
  g_assert_cmpint (launch ("05-jpeg-truncated", "imagedecode on-error=skip"), ==, 3);
  g_assert_cmpint (launch ("05-jpeg-truncated", "imagedecode"), ==, 1);
  g_assert_cmpint (launch ("04-aspect-over-200", "imagedecode ! resize on-error=skip"), ==, 3);
  g_assert_cmpint (launch ("04-aspect-over-200", "imagedecode ! resize"), ==, 1);
  g_assert_cmpint (launch ("10-png-bomb", "imagedecode on-error=skip"), ==, 3);
  g_assert_cmpint (launch ("10-png-bomb", "imagedecode"), ==, 1);
  g_assert_cmpint (launch ("06-exif-orientation", "imagedecode"), ==, 0);
}

int
main (int argc, char **argv)
{
  image_test_init (&argc, &argv);
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
      g_autofree char *path = g_strdup_printf ("/image-cases/%s/%s", cases[c].id, settings[s]);
      g_test_add_data_func (path, GUINT_TO_POINTER (c * G_N_ELEMENTS (settings) + s), test_case);
    }
  g_test_add_func ("/image-cases/sizes-as-stored", test_sizes_as_stored);
  g_test_add_func ("/image-cases/sizes-conflict", test_sizes_conflict);
  g_test_add_func ("/image-cases/exit-status", test_exit_status);
  return g_test_run ();
}
