/* resample-sse2.c: inner loops for what every x86-64 has
 *
 * Across, 16 rows are turned so that a register holds the same sample of all of them: then no lane
 * is wasted on three channels, and one weight serves all. A byte p becomes the words p and p << 7,
 * and a weight w the words w - (w >> 7 << 7) and w >> 7, so that pmaddwd gives w * p exactly. */
#include "resample-kernel.h"
#include "resample-pairs.h"
#include <emmintrin.h>
#include <string.h>

/* rows that are turned together, and what a register holds of them */
#define ROWS 16
/* output pixels that are made together: their bytes are whole registers */
#define BLOCK 32
/* input pixels that they may need: 32 KiB of words */
#define SPAN 168
#define SHIFT 7

static gboolean
yes (void)
{
  return TRUE;
}

/* ---- across ---- */

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

/* p and p << 7 of one sample of all rows */
static inline void
widen (__m128i column, __m128i *to)
{
  __m128i zero = _mm_setzero_si128 ();
  __m128i first = _mm_unpacklo_epi8 (column, zero), second = _mm_unpackhi_epi8 (column, zero);
  __m128i first7 = _mm_slli_epi16 (first, SHIFT), second7 = _mm_slli_epi16 (second, SHIFT);

  _mm_store_si128 (to, _mm_unpacklo_epi16 (first, first7));
  _mm_store_si128 (to + 1, _mm_unpackhi_epi16 (first, first7));
  _mm_store_si128 (to + 2, _mm_unpacklo_epi16 (second, second7));
  _mm_store_si128 (to + 3, _mm_unpackhi_epi16 (second, second7));
}

/* @n samples of all rows from byte @at on, rounded up to 16 */
static void
load_columns (const guint8 *const *in, gsize at, guint n, __m128i (*columns)[4])
{
  for (guint i = 0; i < n; i += 16) {
    __m128i v[ROWS];

    for (guint r = 0; r < ROWS; r++)
      v[r] = _mm_loadu_si128 ((const __m128i *)(in[r] + at + i));
    turn (v);
    for (guint k = 0; k < 16; k++)
      widen (v[k], columns[i + k]);
  }
}

/* 16 sums to bytes */
static inline __m128i
narrow (const __m128i *sums, __m128i precision)
{
  __m128i first =
      _mm_packs_epi32 (_mm_sra_epi32 (sums[0], precision), _mm_sra_epi32 (sums[1], precision));
  __m128i second =
      _mm_packs_epi32 (_mm_sra_epi32 (sums[2], precision), _mm_sra_epi32 (sums[3], precision));

  return _mm_packus_epi16 (first, second);
}

/* the three samples of an output pixel, of all rows */
static inline void
sum_pixel (const __m128i (*columns)[4], const gint32 *weights, guint count, guint precision,
           __m128i *out)
{
  const __m128i shift = _mm_cvtsi32_si128 ((int)precision);
  __m128i sums[3][4];

  for (int c = 0; c < 3; c++)
    for (int q = 0; q < 4; q++)
      sums[c][q] = _mm_set1_epi32 (1 << (precision - 1));
  for (guint t = 0; t < count; t++, columns += 3) {
    __m128i weight = _mm_set1_epi32 (weights[t]);

    for (int c = 0; c < 3; c++)
      for (int q = 0; q < 4; q++)
        sums[c][q] = _mm_add_epi32 (sums[c][q], _mm_madd_epi16 (columns[c][q], weight));
  }
  for (int c = 0; c < 3; c++)
    out[c] = narrow (sums[c], shift);
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
  __m128i columns[3 * SPAN + 16][4], results[3 * BLOCK];
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
      sum_pixel ((const __m128i (*)[4])columns + (gsize)(axis->first[i] - first) * 3,
                 (const gint32 *)axis->packed + (gsize)i * axis->max_taps, axis->count[i],
                 axis->precision, results + (gsize)(i - x) * 3);
    store_columns (results, (end - x) * 3, out, n, (gsize)x * 3);
  }
}

/* ---- down: 16 bytes at once ---- */

static gboolean
usable_vertically (const HrAxis *axis)
{
  return axis->fits;
}

static inline void
add_pair (__m128i *low, __m128i *high, __m128i words, __m128i low_weights, __m128i high_weights)
{
  *low = _mm_add_epi32 (*low, _mm_madd_epi16 (words, low_weights));
  *high = _mm_add_epi32 (*high, _mm_madd_epi16 (words, high_weights));
}

static void
vertical (const HrAxis *axis, guint index, const guint8 *const *rows, gsize n_bytes, guint8 *out)
{
  guint count = axis->count[index], pairs = (count + 1) / 2;
  const gint32 *weights = hr_pairs_of (axis, index);
  const gint32 *exact = axis->weights + (gsize)index * axis->max_taps;
  const __m128i zero = _mm_setzero_si128 ();
  const __m128i precision = _mm_cvtsi32_si128 ((int)axis->precision);
  gsize x = 0;

  for (; x + 16 <= n_bytes; x += 16) {
    __m128i low[4], high[4];

    for (int q = 0; q < 4; q++) {
      low[q] = _mm_set1_epi32 (1 << (axis->precision - 1));
      high[q] = zero;
    }
    for (guint p = 0; p < pairs; p++) {
      /* an odd row's mate has weight 0 */
      __m128i a = _mm_loadu_si128 ((const __m128i *)(rows[2 * p] + x));
      __m128i b = _mm_loadu_si128 ((const __m128i *)(rows[MIN (2 * p + 1, count - 1)] + x));
      __m128i ab = _mm_unpacklo_epi8 (a, b), cd = _mm_unpackhi_epi8 (a, b);
      __m128i l = _mm_set1_epi32 (weights[2 * p]), h = _mm_set1_epi32 (weights[2 * p + 1]);

      add_pair (&low[0], &high[0], _mm_unpacklo_epi8 (ab, zero), l, h);
      add_pair (&low[1], &high[1], _mm_unpackhi_epi8 (ab, zero), l, h);
      add_pair (&low[2], &high[2], _mm_unpacklo_epi8 (cd, zero), l, h);
      add_pair (&low[3], &high[3], _mm_unpackhi_epi8 (cd, zero), l, h);
    }
    for (int q = 0; q < 4; q++)
      low[q] = _mm_add_epi32 (low[q], _mm_slli_epi32 (high[q], 16));
    _mm_storeu_si128 ((__m128i *)(out + x), narrow (low, precision));
  }
  for (; x < n_bytes; x++) {
    gint32 sum = 1 << (axis->precision - 1);

    for (guint t = 0; t < count; t++)
      sum += rows[t][x] * exact[t];
    out[x] = hr_kernel_clip (sum, axis->precision);
  }
}

const HrKernel hr_kernel_sse2 = {
  .name = "baseline",
  .overrun = 16,
  .supported = yes,
  .usable_horizontally = usable_horizontally,
  .usable_vertically = usable_vertically,
  .pack_horizontal = pack_horizontal,
  .horizontal = horizontal,
  .pack_vertical = hr_pairs_pack,
  .vertical = vertical,
};
