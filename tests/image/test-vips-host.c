/* a program that has started libvips itself keeps its settings, and images decode all the same */
#include <vips/vips.h>
#include "hr-error.h"
#include "image-test.h"

static void
test_host (void)
{
  g_autoptr (GError) error = NULL;
  guint32 height, width;
  g_assert_cmpint (vips_init ("host"), ==, 0);
  vips_concurrency_set (3);
  vips_cache_set_max (77);
  vips_error ("host", "a text of the host's own");
  g_autoptr (GBytes) good = image_test_load ("golden", "images", "palette_trns.png", NULL);
  g_autofree guint8 *pixels = image_test_decode (good, &height, &width, &error);
  g_assert_no_error (error);
  g_assert_nonnull (pixels);
  g_autoptr (GBytes) bad = g_bytes_new_from_bytes (good, 0, g_bytes_get_size (good) / 2);
  g_assert_null (image_test_decode (bad, &height, &width, &error));
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_TRUNCATED);
  g_assert_cmpint (vips_concurrency_get (), ==, 3);
  g_assert_cmpint (vips_cache_get_max (), ==, 77);
  vips_error_clear ();
  vips_shutdown ();
}

int
main (int argc, char **argv)
{
  image_test_init (&argc, &argv);
  g_test_add_func ("/vips-host/settings", test_host);
  return g_test_run ();
}
