/* resample-kernel.h: the inner loops of a resize, once for every family of processors
 *
 * All give the same bytes: every sum is exact in 32-bit integers. */
#pragma once
#include "resample-axis.h"

G_BEGIN_DECLS

/* rows that go through the horizontal pass together */
#define HR_KERNEL_ROWS 16

/**
 * HrKernel:
 * @name: what HR_CPU calls it
 * @overrun: bytes behind the last pixel of a row that @horizontal may read (not use)
 * @usable: does this axis suit it?
 * @pack_horizontal: (nullable): fills axis->packed
 * @horizontal: @n rows of axis->in RGB pixels to rows of axis->out; writes nothing behind them
 * @pack_vertical: (nullable): fills axis->packed
 * @vertical: output row @index of @n_bytes from axis->count[index] rows; reads and writes
 *   nothing behind @n_bytes
 */
typedef struct {
  const char *name;
  gsize overrun;
  gboolean (*supported) (void);
  gboolean (*usable_horizontally) (const HrAxis *axis);
  gboolean (*usable_vertically) (const HrAxis *axis);
  void (*pack_horizontal) (HrAxis *axis);
  void (*horizontal) (const HrAxis *axis, guint n, const guint8 *const *in, guint8 *const *out);
  void (*pack_vertical) (HrAxis *axis);
  void (*vertical) (const HrAxis *axis, guint index, const guint8 *const *rows, gsize n_bytes,
                    guint8 *out);
} HrKernel;

/* each plugin and test that links them has its own */
G_GNUC_INTERNAL extern const HrKernel hr_kernel_plain;
G_GNUC_INTERNAL extern const HrKernel hr_kernel_sse2; /* "baseline" */
G_GNUC_INTERNAL extern const HrKernel hr_kernel_avx2;
G_GNUC_INTERNAL extern const HrKernel hr_kernel_avx512;

/* what this machine can run, the best first, "plain" last; NULL-terminated */
const HrKernel *const *hr_kernels (void);

/* clamp and shift of a finished sum, the same everywhere */
static inline guint8
hr_kernel_clip (gint32 sum, guint precision)
{
  sum >>= precision;
  return sum < 0 ? 0 : sum > 255 ? 255 : sum;
}

/* row @index of the vertical pass from byte @x on, one by one: what fills no register */
static inline void
hr_kernel_vertical_rest (const HrAxis *axis, guint index, const guint8 *const *rows, gsize x,
                         gsize n_bytes, guint8 *out)
{
  const gint32 *weights = axis->weights + (gsize)index * axis->max_taps;

  for (; x < n_bytes; x++) {
    gint32 sum = 1 << (axis->precision - 1);

    for (guint t = 0; t < axis->count[index]; t++)
      sum += rows[t][x] * weights[t];
    out[x] = hr_kernel_clip (sum, axis->precision);
  }
}

G_END_DECLS
