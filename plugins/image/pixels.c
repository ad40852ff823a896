/* pixels.c: rows of any pixel form as RGB */
#include "pixels.h"
#include <string.h>

static inline guint8
div255 (guint t)
{
  t += 128;
  return ((t >> 8) + t) >> 8;
}

static inline guint8
on_white (guint8 sample, guint8 alpha)
{
  return div255 (sample * alpha + 255 * (255 - alpha));
}

static inline guint8
ink (guint8 c, guint8 k)
{
  guint8 n = 255 - k;
  return n - div255 (c * n);
}

void
hr_pixels_to_rgb (HrPixelForm form, guint stride, const guint8 *in, guint8 *out, gsize n,
                  gboolean white)
{
  if (!white && form == HR_PIXELS_GRAY_ALPHA)
    form = HR_PIXELS_GRAY;
  if (!white && form == HR_PIXELS_RGBA)
    form = HR_PIXELS_RGB;
  switch (form) {
  case HR_PIXELS_GRAY:
    for (gsize i = 0; i < n; i++, in += stride)
      out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = in[0];
    break;
  case HR_PIXELS_GRAY_ALPHA:
    for (gsize i = 0; i < n; i++, in += stride)
      out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = on_white (in[0], in[1]);
    break;
  case HR_PIXELS_RGB:
    if (stride == 3) {
      memcpy (out, in, n * 3);
      break;
    }
    for (gsize i = 0; i < n; i++, in += stride) {
      out[3 * i] = in[0];
      out[3 * i + 1] = in[1];
      out[3 * i + 2] = in[2];
    }
    break;
  case HR_PIXELS_RGBA:
    for (gsize i = 0; i < n; i++, in += stride) {
      out[3 * i] = on_white (in[0], in[3]);
      out[3 * i + 1] = on_white (in[1], in[3]);
      out[3 * i + 2] = on_white (in[2], in[3]);
    }
    break;
  case HR_PIXELS_CMYK:
    for (gsize i = 0; i < n; i++, in += stride) {
      out[3 * i] = ink (in[0], in[3]);
      out[3 * i + 1] = ink (in[1], in[3]);
      out[3 * i + 2] = ink (in[2], in[3]);
    }
    break;
  }
}

void
hr_pixels_high_bytes (const guint16 *in, guint8 *out, gsize n)
{
  for (gsize i = 0; i < n; i++)
    out[i] = in[i] >> 8;
}
