/* resample-turned.h: the horizontal pass of a kernel that turns 16 rows
 *
 * Of 16 rows a register holds the same sample: then no lane is wasted on three channels, and one
 * weight serves all. A byte p becomes the words p and p << 7, and a weight w the words w mod 128
 * and w / 128, so that pmaddwd gives w * p exactly.
 *
 * Who includes it has defined widen() and sum_pixel() for its registers. */
#pragma once
#include "resample-kernel.h"
#include "resample-pairs.h"
#include <emmintrin.h>
#include <string.h>

G_BEGIN_DECLS

/* rows that are turned together, and what a register holds of them */
#define ROWS 16
/* output pixels that are made together: their bytes are whole registers */
#define BLOCK 32
/* input pixels that they may need: 32 KiB of words */
#define SPAN 168
#define SHIFT 7

/* p and p << 7 of one sample of all rows */
typedef struct {
  gint32 rows[ROWS] __attribute__ ((aligned (64)));
} Column;

static inline void widen (__m128i column, Column *to);
/* the three samples of an output pixel, of all rows, from @count columns of three */
static inline void sum_pixel (const Column *columns, const gint32 *weights, guint count,
                              guint precision, __m128i *out);

static gboolean
usable_across (const HrAxis *axis)
{
  return axis->fits && axis->max_taps <= SPAN;
}

/* w = high * 128 + low; high must fit into 16 bits, and 1.0 is 32768 * 128 */
static gboolean
split (gint32 weight, gint32 *packed)
{
  gint32 high = MIN (weight >> SHIFT, G_MAXINT16), low = weight - high * (1 << SHIFT);

  *packed = hr_pair (low, high);
  return high >= G_MININT16 && low <= G_MAXINT16;
}

static gboolean
splits (const HrAxis *axis)
{
  gint32 packed;

  for (gsize i = 0; i < (gsize)axis->out * axis->max_taps; i++)
    if (!split (axis->weights[i], &packed))
      return FALSE;
  return TRUE;
}

static gboolean
usable_horizontally (const HrAxis *axis)
{
  return usable_across (axis) && splits (axis);
}

static void
pack_horizontal (HrAxis *axis)
{
  gint32 *packed = g_new (gint32, (gsize)axis->out * axis->max_taps);

  for (gsize i = 0; i < (gsize)axis->out * axis->max_taps; i++)
    split (axis->weights[i], &packed[i]);
  axis->packed = packed;
}

/* rows become columns: interleaving the halves four times */
static inline void
turn (__m128i *v)
{
  for (int round = 0; round < 4; round++) {
    __m128i t[ROWS];

    for (int i = 0; i < ROWS / 2; i++) {
      t[2 * i] = _mm_unpacklo_epi8 (v[i], v[i + ROWS / 2]);
      t[2 * i + 1] = _mm_unpackhi_epi8 (v[i], v[i + ROWS / 2]);
    }
    memcpy (v, t, sizeof (t));
  }
}

/* @n samples of all rows from byte @at on, rounded up to 16 */
static void
load_columns (const guint8 *const *in, gsize at, guint n, Column *columns)
{
  for (guint i = 0; i < n; i += 16) {
    __m128i v[ROWS];

    for (guint r = 0; r < ROWS; r++)
      v[r] = _mm_loadu_si128 ((const __m128i *)(in[r] + at + i));
    turn (v);
    for (guint k = 0; k < 16; k++)
      widen (v[k], &columns[i + k]);
  }
}

/* the @n bytes of all rows from byte @at on */
static void
store_columns (__m128i *columns, guint n, guint8 *const *out, guint n_rows, gsize at)
{
  for (guint i = 0; i < n; i += 16) {
    __m128i *v = columns + i;
    guint wanted = MIN (n - i, 16);

    turn (v);
    for (guint r = 0; r < n_rows; r++)
      if (wanted == 16)
        _mm_storeu_si128 ((__m128i *)(out[r] + at + i), v[r]);
      else
        memcpy (out[r] + at + i, &v[r], wanted);
  }
}

static void
horizontal (const HrAxis *axis, guint n, const guint8 *const *in, guint8 *const *out)
{
  const guint8 *from[ROWS];
  Column columns[3 * SPAN + 16];
  __m128i results[3 * BLOCK];
  guint end;

  G_STATIC_ASSERT (HR_KERNEL_ROWS <= ROWS);
  /* fewer than 16: the last one again */
  for (guint r = 0; r < ROWS; r++)
    from[r] = in[MIN (r, n - 1)];
  for (guint x = 0; x < axis->out; x = end) {
    guint first = axis->first[x], last = first;

    for (end = x; end < axis->out && end < x + BLOCK; end++) {
      guint behind = axis->first[end] + axis->count[end];

      if (behind - first > SPAN)
        break;
      last = MAX (last, behind);
    }
    load_columns (from, (gsize)first * 3, (last - first) * 3, columns);
    for (guint i = x; i < end; i++)
      sum_pixel (columns + (gsize)(axis->first[i] - first) * 3,
                 (const gint32 *)axis->packed + (gsize)i * axis->max_taps, axis->count[i],
                 axis->precision, results + (gsize)(i - x) * 3);
    store_columns (results, (end - x) * 3, out, n, (gsize)x * 3);
  }
}

G_END_DECLS
