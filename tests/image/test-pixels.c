/* rows of any form as RGB: composition and ink for every pair of values */
#include "pixels.h"

/* to the nearest, as a fraction; nothing lies half way between, 255 being odd */
static guint
rounded (guint numerator)
{
  return (2 * numerator + 255) / 510;
}

static void
test_white (void)
{
  for (guint s = 0; s < 256; s++)
    for (guint a = 0; a < 256; a++) {
      guint8 in[] = { s, 255 - s, s / 2, a }, out[3];
      hr_pixels_to_rgb (HR_PIXELS_RGBA, 4, in, out, 1, TRUE);
      for (guint c = 0; c < 3; c++)
        g_assert_cmpuint (out[c], ==, rounded (in[c] * a + 255 * (255 - a)));
      guint8 gray[] = { s, a };
      hr_pixels_to_rgb (HR_PIXELS_GRAY_ALPHA, 2, gray, out, 1, TRUE);
      for (guint c = 0; c < 3; c++)
        g_assert_cmpuint (out[c], ==, rounded (s * a + 255 * (255 - a)));
    }
}

static void
test_ink (void)
{
  for (guint c = 0; c < 256; c++)
    for (guint k = 0; k < 256; k++) {
      guint8 in[] = { c, 255 - c, 0, k }, out[3];
      hr_pixels_to_rgb (HR_PIXELS_CMYK, 4, in, out, 1, TRUE);
      for (guint i = 0; i < 3; i++)
        g_assert_cmpuint (out[i], ==, 255 - k - rounded (in[i] * (255 - k)));
    }
}

static void
test_rows (void)
{
  static const guint8 in[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
  guint8 out[12];
  hr_pixels_to_rgb (HR_PIXELS_GRAY, 1, in, out, 3, TRUE);
  g_assert_cmpmem (out, 9, "\1\1\1\2\2\2\3\3\3", 9);
  hr_pixels_to_rgb (HR_PIXELS_GRAY_ALPHA, 2, in, out, 2, FALSE);
  g_assert_cmpmem (out, 6, "\1\1\1\3\3\3", 6);
  hr_pixels_to_rgb (HR_PIXELS_RGB, 3, in, out, 4, TRUE);
  g_assert_cmpmem (out, 12, in, 12);
  hr_pixels_to_rgb (HR_PIXELS_RGBA, 4, in, out, 3, FALSE);
  g_assert_cmpmem (out, 9, "\1\2\3\5\6\7\11\12\13", 9);
  /* what a file has beyond its form is left out */
  hr_pixels_to_rgb (HR_PIXELS_RGB, 6, in, out, 2, TRUE);
  g_assert_cmpmem (out, 6, "\1\2\3\7\10\11", 6);
  static const guint16 wide[] = { 0, 255, 256, 65535, 0x1234 };
  hr_pixels_high_bytes (wide, out, 5);
  g_assert_cmpmem (out, 5, "\0\0\1\xff\x12", 5);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pixels/white", test_white);
  g_test_add_func ("/pixels/ink", test_ink);
  g_test_add_func ("/pixels/rows", test_rows);
  return g_test_run ();
}
