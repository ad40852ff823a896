/* resample-avx2.c: inner loops for processors with AVX2
 *
 * vpmaddwd does two taps at once, with the low and the high halves of their weights. */
#include "resample-kernel.h"
#include "resample-pairs.h"
#include <immintrin.h>
#include <string.h>

static gboolean
supported (void)
{
  /* all that have it have F16C as well, which patches need; a hypervisor may hide it */
  return __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("f16c");
}

static gboolean
usable (const HrAxis *axis)
{
  return axis->fits;
}

/* ---- across: two output pixels at once, one in each half of a register ---- */

/* A window of 16 bytes holds 5 pixels: four taps as two pairs, and a fifth alone. So 5 taps, which
 * is what shrinking a little needs, are one window. */
static guint
n_windows (const HrAxis *axis, gboolean *fifth)
{
  *fifth = axis->max_taps % 4 == 1;
  return *fifth ? MAX (axis->max_taps / 4, 1) : (axis->max_taps + 3) / 4;
}

/* per two pixels: per pair of taps low then high halves, 4 equal dwords for each pixel */
static void
pack_horizontal (HrAxis *axis)
{
  gboolean fifth;
  guint windows = n_windows (axis, &fifth), pairs = windows * 2 + fifth;
  gint32 *packed = g_new0 (gint32, (gsize)(axis->out + 1) / 2 * pairs * 16);
  for (guint x = 0; x < axis->out; x++)
    for (guint p = 0; p < pairs; p++) {
      const gint32 *weights = axis->weights + (gsize)x * axis->max_taps;
      guint a = p * 2, b = a + 1;
      gint32 first = a < axis->max_taps ? weights[a] : 0,
             second = b < axis->max_taps ? weights[b] : 0;
      gint32 *to = packed + ((gsize)(x / 2) * pairs + p) * 16 + x % 2 * 4;
      /* by hand: gcc 12 at -O3 vectorises the loop wrongly, with the taps that follow */
      _mm_storeu_si128 ((__m128i *)to,
                        _mm_set1_epi32 (hr_pair (hr_low_half (first), hr_low_half (second))));
      _mm_storeu_si128 ((__m128i *)(to + 8),
                        _mm_set1_epi32 (hr_pair (hr_high_half (first), hr_high_half (second))));
    }
  axis->packed = packed;
}

static inline __m256i
two_windows (const guint8 *a, const guint8 *b)
{
  __m256i low = _mm256_castsi128_si256 (_mm_loadu_si128 ((const __m128i *)a));
  return _mm256_inserti128_si256 (low, _mm_loadu_si128 ((const __m128i *)b), 1);
}

static inline __m256i
eight (const gint32 *weights)
{
  return _mm256_loadu_si256 ((const __m256i *)weights);
}

/* sums of two pixels of one row: [r g b -] in each half, shifted */
static inline __m256i
two_pixels (const guint8 *a, const guint8 *b, const gint32 *weights, guint windows, gboolean fifth,
            __m256i round, __m128i precision)
{
  const __m256i taps01 = _mm256_broadcastsi128_si256 (
                    _mm_setr_epi8 (0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1)),
                taps23 = _mm256_broadcastsi128_si256 (
                    _mm_setr_epi8 (6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1)),
                tap4 = _mm256_broadcastsi128_si256 (
                    _mm_setr_epi8 (12, -1, -1, -1, 13, -1, -1, -1, 14, -1, -1, -1, -1, -1, -1, -1));
  __m256i low = round, high = _mm256_setzero_si256 (), window = high;
  for (guint g = 0; g < windows; g++, weights += 32) {
    window = two_windows (a + g * 12, b + g * 12);
    __m256i p = _mm256_shuffle_epi8 (window, taps01), q = _mm256_shuffle_epi8 (window, taps23);
    low = _mm256_add_epi32 (low, _mm256_madd_epi16 (p, eight (weights + 0)));
    high = _mm256_add_epi32 (high, _mm256_madd_epi16 (p, eight (weights + 8)));
    low = _mm256_add_epi32 (low, _mm256_madd_epi16 (q, eight (weights + 16)));
    high = _mm256_add_epi32 (high, _mm256_madd_epi16 (q, eight (weights + 24)));
  }
  if (fifth) {
    __m256i p = _mm256_shuffle_epi8 (window, tap4);
    low = _mm256_add_epi32 (low, _mm256_madd_epi16 (p, eight (weights + 0)));
    high = _mm256_add_epi32 (high, _mm256_madd_epi16 (p, eight (weights + 8)));
  }
  return _mm256_sra_epi32 (_mm256_add_epi32 (low, _mm256_slli_epi32 (high, 16)), precision);
}

/* 8 bytes of which the last @n are not wanted */
static inline void
store_pixels (guint8 *out, gint64 pixels, gboolean last, guint n_bytes)
{
  if (last)
    memcpy (out, &pixels, n_bytes);
  else
    memcpy (out, &pixels, 8);
}

static inline void
four_rows (const HrAxis *axis, const guint8 *const *in, guint8 *const *out, guint windows,
           gboolean fifth)
{
  const gint32 *weights = axis->packed;
  const __m256i round = _mm256_set1_epi32 (1 << (axis->precision - 1));
  const __m128i precision = _mm_cvtsi32_si128 (axis->precision);
  /* rows 0 and 1 of both pixels, then 2 and 3; then each row's six bytes together */
  const __m256i mates = _mm256_setr_epi32 (0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i six = _mm256_broadcastsi128_si256 (
      _mm_setr_epi8 (0, 1, 2, 4, 5, 6, -1, -1, 8, 9, 10, 12, 13, 14, -1, -1));
  guint step = (windows * 2 + fifth) * 16;
  for (guint x = 0; x < axis->out; x += 2, weights += step) {
    gboolean last = x + 2 >= axis->out;
    guint mate = MIN (x + 1, axis->out - 1);
    gsize a = (gsize)axis->first[x] * 3, b = (gsize)axis->first[mate] * 3;
    __m256i sums[4];
    for (guint r = 0; r < 4; r++)
      sums[r] = two_pixels (in[r] + a, in[r] + b, weights, windows, fifth, round, precision);
    __m256i bytes = _mm256_packus_epi16 (_mm256_packs_epi32 (sums[0], sums[1]),
                                         _mm256_packs_epi32 (sums[2], sums[3]));
    bytes = _mm256_shuffle_epi8 (_mm256_permutevar8x32_epi32 (bytes, mates), six);
    __m128i first = _mm256_castsi256_si128 (bytes), second = _mm256_extracti128_si256 (bytes, 1);
    guint n_bytes = MIN (axis->out - x, 2) * 3;
    store_pixels (out[0] + x * 3, _mm_cvtsi128_si64 (first), last, n_bytes);
    store_pixels (out[1] + x * 3, _mm_extract_epi64 (first, 1), last, n_bytes);
    store_pixels (out[2] + x * 3, _mm_cvtsi128_si64 (second), last, n_bytes);
    store_pixels (out[3] + x * 3, _mm_extract_epi64 (second, 1), last, n_bytes);
  }
}

static void
horizontal (const HrAxis *axis, guint n, const guint8 *const *in, guint8 *const *out)
{
  gboolean fifth;
  guint windows = n_windows (axis, &fifth);
  for (guint r = 0; r < n; r += 4) {
    const guint8 *from[4];
    guint8 *to[4];
    /* fewer than four: the last one again, to the same place */
    for (guint i = 0; i < 4; i++) {
      from[i] = in[MIN (r + i, n - 1)];
      to[i] = out[MIN (r + i, n - 1)];
    }
    if (windows == 1 && fifth)
      four_rows (axis, from, to, 1, TRUE);
    else if (windows == 1)
      four_rows (axis, from, to, 1, FALSE);
    else
      four_rows (axis, from, to, windows, fifth);
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
  const gint32 *exact = axis->weights + (gsize)index * axis->max_taps;
  for (; x < n_bytes; x++) {
    gint32 sum = 1 << (axis->precision - 1);
    for (guint t = 0; t < count; t++)
      sum += rows[t][x] * exact[t];
    out[x] = hr_kernel_clip (sum, axis->precision);
  }
}

const HrKernel hr_kernel_avx2 = {
  .name = "avx2",
  .overrun = 48,
  .supported = supported,
  .usable_horizontally = usable,
  .usable_vertically = usable,
  .pack_horizontal = pack_horizontal,
  .horizontal = horizontal,
  .pack_vertical = hr_pairs_pack,
  .vertical = vertical,
};
