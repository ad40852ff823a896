/* resample-plain.c: plain C, shaped so that compilers vectorise it for any processor */
#include "resample-kernel.h"

static gboolean
yes (void)
{
  return TRUE;
}

static gboolean
any (const HrAxis *axis)
{
  (void)axis;
  return TRUE;
}

/* Four lanes although a pixel has three: the fourth is thrown away, and a vector is filled. */
static void
horizontal (const HrAxis *axis, guint n, const guint8 *const *in, guint8 *const *out)
{
  guint precision = axis->precision;
  for (guint r = 0; r < n; r++) {
    guint8 *o = out[r];
    const gint32 *weights = axis->weights;
    for (guint x = 0; x < axis->out; x++, weights += axis->max_taps, o += 3) {
      const guint8 *p = in[r] + (gsize)axis->first[x] * 3;
      gint32 sum[4];
      for (guint c = 0; c < 4; c++)
        sum[c] = 1 << (precision - 1);
      for (guint t = 0; t < axis->count[x]; t++, p += 3)
        for (guint c = 0; c < 4; c++)
          sum[c] += p[c] * weights[t];
      for (guint c = 0; c < 3; c++)
        o[c] = hr_kernel_clip (sum[c], precision);
    }
  }
}

#define WIDE 64

static void
vertical (const HrAxis *axis, guint index, const guint8 *const *rows, gsize n_bytes, guint8 *out)
{
  const gint32 *weights = axis->weights + (gsize)index * axis->max_taps;
  guint count = axis->count[index], precision = axis->precision;
  gsize x = 0;
  for (; x + WIDE <= n_bytes; x += WIDE) {
    gint32 sum[WIDE];
    for (guint i = 0; i < WIDE; i++)
      sum[i] = 1 << (precision - 1);
    for (guint t = 0; t < count; t++) {
      const guint8 *restrict p = rows[t] + x;
      gint32 weight = weights[t];
      for (guint i = 0; i < WIDE; i++)
        sum[i] += p[i] * weight;
    }
    for (guint i = 0; i < WIDE; i++)
      out[x + i] = hr_kernel_clip (sum[i], precision);
  }
  hr_kernel_vertical_rest (axis, index, rows, x, n_bytes, out);
}

const HrKernel hr_kernel_plain = {
  .name = "plain",
  .overrun = 1,
  .supported = yes,
  .usable_horizontally = any,
  .usable_vertically = any,
  .horizontal = horizontal,
  .vertical = vertical,
};
