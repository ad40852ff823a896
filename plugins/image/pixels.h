/* pixels.h: rows of any pixel form as RGB */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  HR_PIXELS_GRAY,
  HR_PIXELS_GRAY_ALPHA,
  HR_PIXELS_RGB,
  HR_PIXELS_RGBA,
  HR_PIXELS_CMYK /* 255 is full ink */
} HrPixelForm;

/**
 * hr_pixels_to_rgb:
 * @form: of @in
 * @stride: bytes from one pixel of @in to the next; what stands behind the form's own is left out
 * @in: @n pixels, 8 bits a sample
 * @out: @n * 3 bytes
 * @white: transparency is composed on white; else it is dropped
 *
 * Composition is Pillow's, to the bit: t = s*a + 255*(255-a) + 128, ((t >> 8) + t) >> 8.
 * Ink likewise: with n = 255 - K, n - div255 (C * n).
 */
void hr_pixels_to_rgb (HrPixelForm form, guint stride, const guint8 *in, guint8 *out, gsize n,
                       gboolean white);
/* samples of 16 bits in the machine's order as 8: the high byte */
void hr_pixels_high_bytes (const guint16 *in, guint8 *out, gsize n);

G_END_DECLS
