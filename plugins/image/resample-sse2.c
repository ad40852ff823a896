/* resample-sse2.c: inner loops for what every x86-64 has */
#include "resample-turned.h"

static gboolean
yes (void)
{
  return TRUE;
}

/* ---- across: four rows in a register ---- */

static inline void
widen (__m128i column, Column *to)
{
  __m128i zero = _mm_setzero_si128 (), *words = (__m128i *)(gpointer)to->rows;
  __m128i first = _mm_unpacklo_epi8 (column, zero), second = _mm_unpackhi_epi8 (column, zero);
  __m128i first7 = _mm_slli_epi16 (first, SHIFT), second7 = _mm_slli_epi16 (second, SHIFT);

  _mm_store_si128 (words, _mm_unpacklo_epi16 (first, first7));
  _mm_store_si128 (words + 1, _mm_unpackhi_epi16 (first, first7));
  _mm_store_si128 (words + 2, _mm_unpacklo_epi16 (second, second7));
  _mm_store_si128 (words + 3, _mm_unpackhi_epi16 (second, second7));
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

static inline void
sum_pixel (const Column *columns, const gint32 *weights, guint count, guint precision, __m128i *out)
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
        sums[c][q] = _mm_add_epi32 (
            sums[c][q],
            _mm_madd_epi16 (_mm_load_si128 ((const __m128i *)(gconstpointer)columns[c].rows + q),
                            weight));
  }
  for (int c = 0; c < 3; c++)
    out[c] = narrow (sums[c], shift);
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
  hr_kernel_vertical_rest (axis, index, rows, x, n_bytes, out);
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
