/* resample-avx512.c: inner loops for processors with AVX-512 VBMI and VNNI
 *
 * A weight of 24 bits is three bytes with signs: w = d0 + 256 d1 + 65536 d2, each -128 to 127.
 * vpdpbusd multiplies four pixels by four such bytes and adds to 32 bits without saturation: a sum
 * is three of those, put together by two shifts, exact. */
#include "resample-kernel.h"
#include <immintrin.h>

/* output pixels a register holds across: 5 of 3 channels, one lane of 16 is idle */
#define GROUP 5

static gboolean
supported (void)
{
  return __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512vl")
         && __builtin_cpu_supports ("avx512vbmi") && __builtin_cpu_supports ("avx512vnni");
}

static void
split (gint32 weight, guint tap, guint32 *d0, guint32 *d1, guint32 *d2)
{
  gint8 low = (gint8)weight;
  gint32 rest = (weight - low) >> 8;
  gint8 middle = (gint8)rest;
  guint8 high = (guint8)((rest - middle) >> 8);
  guint shift = tap % 4 * 8;
  *d0 |= (guint32)(guint8)low << shift;
  *d1 |= (guint32)(guint8)middle << shift;
  *d2 |= (guint32)high << shift;
}

static inline __m512i
join (__m512i d0, __m512i d1, __m512i d2, __m128i precision)
{
  __m512i upper = _mm512_add_epi32 (d1, _mm512_slli_epi32 (d2, 8));
  return _mm512_sra_epi32 (_mm512_add_epi32 (d0, _mm512_slli_epi32 (upper, 8)), precision);
}

/* ---- across ---- */

/* For each group of output pixels and four of their taps: which bytes of a window of 128 go into
 * which lane, and the weights. Weights that are the same for a pixel's channels are repeated: a
 * load is cheaper than a shuffle. */
typedef struct {
  guint8 index[64];
  guint32 weights[3][16];
} Step;

typedef struct {
  guint n_steps; /* a group */
  guint reach;   /* bytes of the widest window: 32, 64 or 128 */
  Step steps[];
} Packed;

/* bytes from a group's first tap to the end of its fourth in the last pixel */
static guint
window (const HrAxis *axis)
{
  guint widest = 0;
  for (guint x = 0; x < axis->out; x += GROUP) {
    guint last = MIN (x + GROUP, axis->out) - 1;
    widest = MAX (widest, axis->first[last] - axis->first[x]);
  }
  return (widest + 4) * 3;
}

/* beyond about 9 times smaller a group's taps are further apart than two registers reach */
static gboolean
usable_horizontally (const HrAxis *axis)
{
  return axis->fits && window (axis) <= 128;
}

static gboolean
usable_vertically (const HrAxis *axis)
{
  return axis->fits;
}

static void
pack_horizontal (HrAxis *axis)
{
  guint n_groups = (axis->out + GROUP - 1) / GROUP, n_steps = (axis->max_taps + 3) / 4;
  Packed *packed = g_malloc0 (sizeof (Packed) + (gsize)n_groups * n_steps * sizeof (Step));
  packed->n_steps = n_steps;
  packed->reach = window (axis) <= 32 ? 32 : window (axis) <= 64 ? 64 : 128;
  for (guint x = 0; x < axis->out; x++) {
    guint start = axis->first[x / GROUP * GROUP];
    for (guint s = 0; s < n_steps; s++) {
      Step *step = &packed->steps[(gsize)(x / GROUP) * n_steps + s];
      for (guint c = 0; c < 3; c++) {
        guint lane = x % GROUP * 3 + c;
        for (guint t = 0; t < 4; t++) {
          guint tap = s * 4 + t;
          step->index[lane * 4 + t] = (axis->first[x] - start + t) * 3 + c;
          if (tap < axis->count[x])
            split (axis->weights[(gsize)x * axis->max_taps + tap], tap, &step->weights[0][lane],
                   &step->weights[1][lane], &step->weights[2][lane]);
        }
      }
    }
  }
  axis->packed = packed;
}

/* a load that is no wider than it must be seldom crosses a cache line */
static inline __m512i
gather (const guint8 *from, __m512i index, guint reach)
{
  if (reach == 32)
    return _mm512_permutexvar_epi8 (
        index, _mm512_castsi256_si512 (_mm256_loadu_si256 ((const __m256i *)from)));
  __m512i low = _mm512_loadu_si512 (from);
  if (reach == 64)
    return _mm512_permutexvar_epi8 (index, low);
  return _mm512_permutex2var_epi8 (low, index, _mm512_loadu_si512 (from + 64));
}

/* The byte too many is the next group's first, and written again; the last group has a mask, which
 * makes a store slow. */
static inline void
put_group (guint8 *out, guint n_pixels, __m512i sums)
{
  /* negative sums become 0 first: the narrowing takes them for large ones */
  __m128i pixels = _mm512_cvtusepi32_epi8 (_mm512_max_epi32 (sums, _mm512_setzero_si512 ()));
  if (n_pixels > GROUP)
    _mm_storeu_si128 ((__m128i *)out, pixels);
  else
    _mm_mask_storeu_epi8 (out, (1u << n_pixels * 3) - 1, pixels);
}

/* rows that share a load of weights; their sums stay in registers */
#define ROWS 4

static inline void
some_rows (const HrAxis *axis, const guint8 *const *in, guint8 *const *out, guint reach)
{
  const Packed *packed = axis->packed;
  const Step *step = packed->steps;
  guint n_steps = packed->n_steps;
  const __m512i round = _mm512_set1_epi32 (1 << (axis->precision - 1));
  const __m128i precision = _mm_cvtsi32_si128 (axis->precision);
  const guint8 *in0 = in[0], *in1 = in[1], *in2 = in[2], *in3 = in[3];
  for (guint x = 0; x < axis->out; x += GROUP) {
    __m512i d0[ROWS], d1[ROWS], d2[ROWS];
    gsize at = (gsize)axis->first[x] * 3;
    for (guint r = 0; r < ROWS; r++) {
      d0[r] = round;
      d1[r] = d2[r] = _mm512_setzero_si512 ();
    }
    for (guint s = 0; s < n_steps; s++, step++, at += 12) {
      __m512i index = _mm512_loadu_si512 (step->index);
      __m512i w0 = _mm512_loadu_si512 (step->weights[0]),
              w1 = _mm512_loadu_si512 (step->weights[1]),
              w2 = _mm512_loadu_si512 (step->weights[2]);
      __m512i taps[ROWS] = { gather (in0 + at, index, reach), gather (in1 + at, index, reach),
                             gather (in2 + at, index, reach), gather (in3 + at, index, reach) };
      for (guint r = 0; r < ROWS; r++) {
        d0[r] = _mm512_dpbusd_epi32 (d0[r], taps[r], w0);
        d1[r] = _mm512_dpbusd_epi32 (d1[r], taps[r], w1);
        d2[r] = _mm512_dpbusd_epi32 (d2[r], taps[r], w2);
      }
    }
    for (guint r = 0; r < ROWS; r++)
      put_group (out[r] + x * 3, axis->out - x, join (d0[r], d1[r], d2[r], precision));
  }
}

static void
horizontal (const HrAxis *axis, guint n, const guint8 *const *in, guint8 *const *out)
{
  const Packed *packed = axis->packed;
  for (guint r = 0; r < n; r += ROWS) {
    const guint8 *from[ROWS];
    guint8 *to[ROWS];
    /* fewer than four: the last one again, to the same place */
    for (guint i = 0; i < ROWS; i++) {
      from[i] = in[MIN (r + i, n - 1)];
      to[i] = out[MIN (r + i, n - 1)];
    }
    if (packed->reach == 32)
      some_rows (axis, from, to, 32);
    else if (packed->reach == 64)
      some_rows (axis, from, to, 64);
    else
      some_rows (axis, from, to, 128);
  }
}

/* ---- down ---- */

static void
pack_vertical (HrAxis *axis)
{
  guint groups = (axis->max_taps + 3) / 4;
  guint32 *packed = g_new0 (guint32, (gsize)axis->out * groups * 3);
  for (guint y = 0; y < axis->out; y++)
    for (guint t = 0; t < axis->count[y]; t++) {
      guint32 *to = packed + ((gsize)y * groups + t / 4) * 3;
      split (axis->weights[(gsize)y * axis->max_taps + t], t, to, to + 1, to + 2);
    }
  axis->packed = packed;
}

/* 64 bytes, or the last few by a mask; inlined so that a full mask costs nothing */
static inline __attribute__ ((always_inline)) void
columns (const HrAxis *axis, guint count, const guint32 *weights, const guint8 *const *rows,
         gsize x, __mmask64 mask, guint8 *out)
{
  const __m512i round = _mm512_set1_epi32 (1 << (axis->precision - 1));
  const __m512i zero = _mm512_setzero_si512 ();
  const __m128i precision = _mm_cvtsi32_si128 (axis->precision);
  __m512i d0[4] = { round, round, round, round };
  __m512i d1[4] = { zero, zero, zero, zero }, d2[4] = { zero, zero, zero, zero };
  for (guint t = 0; t < count; t += 4, weights += 3) {
    __m512i r[4];
    /* rows behind the last have weight 0 and are not read */
    for (guint i = 0; i < 4; i++)
      r[i] = t + i < count ? _mm512_maskz_loadu_epi8 (mask, rows[t + i] + x) : zero;
    __m512i a = _mm512_unpacklo_epi8 (r[0], r[1]), b = _mm512_unpackhi_epi8 (r[0], r[1]);
    __m512i c = _mm512_unpacklo_epi8 (r[2], r[3]), d = _mm512_unpackhi_epi8 (r[2], r[3]);
    __m512i taps[4] = { _mm512_unpacklo_epi16 (a, c), _mm512_unpackhi_epi16 (a, c),
                        _mm512_unpacklo_epi16 (b, d), _mm512_unpackhi_epi16 (b, d) };
    __m512i w0 = _mm512_set1_epi32 (weights[0]), w1 = _mm512_set1_epi32 (weights[1]),
            w2 = _mm512_set1_epi32 (weights[2]);
    for (guint i = 0; i < 4; i++) {
      d0[i] = _mm512_dpbusd_epi32 (d0[i], taps[i], w0);
      d1[i] = _mm512_dpbusd_epi32 (d1[i], taps[i], w1);
      d2[i] = _mm512_dpbusd_epi32 (d2[i], taps[i], w2);
    }
  }
  __m512i sums[4];
  for (guint i = 0; i < 4; i++)
    sums[i] = join (d0[i], d1[i], d2[i], precision);
  /* the packs undo, lane by lane, what the unpacks did */
  __m512i bytes = _mm512_packus_epi16 (_mm512_packs_epi32 (sums[0], sums[1]),
                                       _mm512_packs_epi32 (sums[2], sums[3]));
  _mm512_mask_storeu_epi8 (out + x, mask, bytes);
}

static void
vertical (const HrAxis *axis, guint index, const guint8 *const *rows, gsize n_bytes, guint8 *out)
{
  guint count = axis->count[index], groups = (axis->max_taps + 3) / 4;
  const guint32 *weights = (const guint32 *)axis->packed + (gsize)index * groups * 3;
  gsize x = 0;
  for (; x + 64 <= n_bytes; x += 64)
    columns (axis, count, weights, rows, x, ~(__mmask64)0, out);
  if (x < n_bytes)
    columns (axis, count, weights, rows, x, ((__mmask64)1 << (n_bytes - x)) - 1, out);
}

const HrKernel hr_kernel_avx512 = {
  .name = "avx512",
  .overrun = 256,
  .supported = supported,
  .usable_horizontally = usable_horizontally,
  .usable_vertically = usable_vertically,
  .pack_horizontal = pack_horizontal,
  .horizontal = horizontal,
  .pack_vertical = pack_vertical,
  .vertical = vertical,
};
