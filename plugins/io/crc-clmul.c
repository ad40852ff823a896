/* crc-clmul.c: 64 bytes at a time by carry-less multiplication; after Gopal and others, Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction, Intel 2009 */
#include "crc-fold.h"
#include <immintrin.h>

static inline __m128i
load (const guint8 *bytes)
{
  return _mm_loadu_si128 ((const __m128i *)bytes);
}

static inline __m128i
fold_by (__m128i x, __m128i by, __m128i next)
{
  __m128i upper = _mm_clmulepi64_si128 (x, by, 0x00), lower = _mm_clmulepi64_si128 (x, by, 0x11);

  return _mm_xor_si128 (_mm_xor_si128 (upper, lower), next);
}

void
hr_crc_fold_clmul (const HrCrcFold *fold, guint64 state, const guint8 *bytes, gsize size,
                   guint8 rest[16])
{
  __m128i by512 = load ((const guint8 *)fold->fold512),
          by128 = load ((const guint8 *)fold->fold128);
  const guint8 *end = bytes + size;
  __m128i a = _mm_xor_si128 (load (bytes), _mm_set_epi64x (0, state)), b = load (bytes + 16),
          c = load (bytes + 32), d = load (bytes + 48);

  for (bytes += 64; end - bytes >= 64; bytes += 64) {
    a = fold_by (a, by512, load (bytes));
    b = fold_by (b, by512, load (bytes + 16));
    c = fold_by (c, by512, load (bytes + 32));
    d = fold_by (d, by512, load (bytes + 48));
  }
  a = fold_by (fold_by (fold_by (a, by128, b), by128, c), by128, d);
  for (; bytes < end; bytes += 16)
    a = fold_by (a, by128, load (bytes));
  _mm_storeu_si128 ((__m128i *)rest, a);
}
