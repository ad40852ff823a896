/* resample-avx2.c: inner loops for processors with AVX2
 *
 * Down, vpmaddwd does two taps at once, with the low and the high halves of their weights. */
#include <cpuid.h>
#include <immintrin.h>
#include "resample-turned.h"

static gboolean
supported (void)
{
  guint a, b, c, d;

  /* all that have it have F16C as well, which patches need; but a hypervisor may hide it, and not
   * every compiler knows its name */
  return __builtin_cpu_supports ("avx2") && __get_cpuid (1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

static gboolean
usable_vertically (const HrAxis *axis)
{
  return axis->fits;
}

/* ---- across: eight rows in a register ---- */

static inline void
widen (__m128i column, Column *to)
{
  __m256i *words = (__m256i *)(gpointer)to->rows;
  __m256i first = _mm256_cvtepu8_epi32 (column);
  __m256i second = _mm256_cvtepu8_epi32 (_mm_srli_si128 (column, 8));

  _mm256_store_si256 (words, _mm256_or_si256 (first, _mm256_slli_epi32 (first, 16 + SHIFT)));
  _mm256_store_si256 (words + 1, _mm256_or_si256 (second, _mm256_slli_epi32 (second, 16 + SHIFT)));
}

static inline void
sum_pixel (const Column *columns, const gint32 *weights, guint count, guint precision, __m128i *out)
{
  const __m128i shift = _mm_cvtsi32_si128 ((int)precision);
  __m256i sums[3][2];

  for (int c = 0; c < 3; c++)
    sums[c][0] = sums[c][1] = _mm256_set1_epi32 (1 << (precision - 1));
  for (guint t = 0; t < count; t++, columns += 3) {
    __m256i weight = _mm256_set1_epi32 (weights[t]);

    for (int c = 0; c < 3; c++)
      for (int q = 0; q < 2; q++) {
        __m256i words = _mm256_load_si256 ((const __m256i *)(gconstpointer)columns[c].rows + q);

        sums[c][q] = _mm256_add_epi32 (sums[c][q], _mm256_madd_epi16 (words, weight));
      }
  }
  for (int c = 0; c < 3; c++) {
    __m256i both = _mm256_packs_epi32 (_mm256_sra_epi32 (sums[c][0], shift),
                                       _mm256_sra_epi32 (sums[c][1], shift));

    both = _mm256_permute4x64_epi64 (both, _MM_SHUFFLE (3, 1, 2, 0));
    out[c] = _mm_packus_epi16 (_mm256_castsi256_si128 (both), _mm256_extracti128_si256 (both, 1));
  }
}

/* ---- down: 32 bytes at once ---- */

static inline __m256i
finish (__m256i low, __m256i high, __m128i precision)
{
  return _mm256_sra_epi32 (_mm256_add_epi32 (low, _mm256_slli_epi32 (high, 16)), precision);
}

static void
vertical (const HrAxis *axis, guint index, const guint8 *const *rows, gsize n_bytes, guint8 *out)
{
  guint count = axis->count[index], pairs = (count + 1) / 2;
  const gint32 *weights = hr_pairs_of (axis, index);
  const __m256i round = _mm256_set1_epi32 (1 << (axis->precision - 1));
  const __m256i zero = _mm256_setzero_si256 ();
  const __m128i precision = _mm_cvtsi32_si128 (axis->precision);
  gsize x = 0;
  for (; x + 32 <= n_bytes; x += 32) {
    __m256i low[4] = { round, round, round, round }, high[4] = { zero, zero, zero, zero };
    for (guint p = 0; p < pairs; p++) {
      const guint8 *row = rows[p * 2], *mate = rows[MIN (p * 2 + 1, count - 1)];
      __m256i a = _mm256_loadu_si256 ((const __m256i *)(row + x));
      __m256i b = _mm256_loadu_si256 ((const __m256i *)(mate + x));
      __m256i ab = _mm256_unpacklo_epi8 (a, b), cd = _mm256_unpackhi_epi8 (a, b);
      __m256i words[4] = { _mm256_unpacklo_epi8 (ab, zero), _mm256_unpackhi_epi8 (ab, zero),
                           _mm256_unpacklo_epi8 (cd, zero), _mm256_unpackhi_epi8 (cd, zero) };
      __m256i w_low = _mm256_set1_epi32 (weights[p * 2]),
              w_high = _mm256_set1_epi32 (weights[p * 2 + 1]);
      for (guint i = 0; i < 4; i++) {
        low[i] = _mm256_add_epi32 (low[i], _mm256_madd_epi16 (words[i], w_low));
        high[i] = _mm256_add_epi32 (high[i], _mm256_madd_epi16 (words[i], w_high));
      }
    }
    __m256i first = _mm256_packs_epi32 (finish (low[0], high[0], precision),
                                        finish (low[1], high[1], precision));
    __m256i second = _mm256_packs_epi32 (finish (low[2], high[2], precision),
                                         finish (low[3], high[3], precision));
    _mm256_storeu_si256 ((__m256i *)(out + x), _mm256_packus_epi16 (first, second));
  }
  hr_kernel_vertical_rest (axis, index, rows, x, n_bytes, out);
}

const HrKernel hr_kernel_avx2 = {
  .name = "avx2",
  .overrun = 16,
  .supported = supported,
  .usable_horizontally = usable_horizontally,
  .usable_vertically = usable_vertically,
  .pack_horizontal = pack_horizontal,
  .horizontal = horizontal,
  .pack_vertical = hr_pairs_pack,
  .vertical = vertical,
};
