/* the eight orientations, against the words of the Exif standard */
#include <string.h>
#include "image-test.h"

/* "the 0th row represents the visual …, the 0th column the visual …": where stored (x, y) is seen
 */
static void
seen_at (guint orientation, guint w, guint h, guint x, guint y, guint *seen_x, guint *seen_y)
{
  guint right = w - 1 - x, bottom = h - 1 - y;
  switch (orientation) {
  case 1: /* row top, column left */
    *seen_x = x, *seen_y = y;
    break;
  case 2: /* row top, column right */
    *seen_x = right, *seen_y = y;
    break;
  case 3: /* row bottom, column right */
    *seen_x = right, *seen_y = bottom;
    break;
  case 4: /* row bottom, column left */
    *seen_x = x, *seen_y = bottom;
    break;
  case 5: /* row left, column top */
    *seen_x = y, *seen_y = x;
    break;
  case 6: /* row right, column top */
    *seen_x = bottom, *seen_y = x;
    break;
  case 7: /* row right, column bottom */
    *seen_x = bottom, *seen_y = right;
    break;
  case 8: /* row left, column bottom */
    *seen_x = y, *seen_y = right;
    break;
  default:
    g_assert_not_reached ();
  }
}

static void
test_all (void)
{
  static const guint sizes[][2] = { { 1, 1 }, { 7, 5 }, { 5, 40 }, { 33, 17 }, { 1, 9 }, { 9, 1 } };
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (guint orientation = 1; orientation <= 8; orientation++)
      for (guint strip = 1; strip <= 16; strip += 5) {
        guint w = sizes[s][0], h = sizes[s][1], out_w = orientation < 5 ? w : h;
        gsize n = (gsize)w * h * 3;
        g_autofree guint8 *in = g_malloc (n), *expected = g_malloc (n);
        guint8 *out = image_test_fence_new (n);
        for (gsize i = 0; i < n; i++)
          in[i] = i * 31 + i / 256;
        for (guint y = 0; y < h; y++)
          for (guint x = 0; x < w; x++) {
            guint seen_x, seen_y;
            seen_at (orientation, w, h, x, y, &seen_x, &seen_y);
            memcpy (expected + (seen_y * out_w + seen_x) * 3, in + (y * w + x) * 3, 3);
          }
        HrOrient orient = { out, w, h, orientation };
        for (guint y = 0; y < h; y += strip)
          hr_orient_put (&orient, y, MIN (strip, h - y), in + (gsize)y * w * 3);
        g_assert_cmpmem (out, n, expected, n);
        /* rows that may be written directly lie in the same place */
        for (guint y = 0; y < h; y++) {
          guint8 *row = hr_orient_row (&orient, y);
          g_assert_true ((row != NULL) == (orientation == 1 || orientation == 4));
          if (row != NULL)
            g_assert_cmpmem (row, w * 3, in + (gsize)y * w * 3, w * 3);
        }
        image_test_fence_free (out, n);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/orient/all", test_all);
  return g_test_run ();
}
