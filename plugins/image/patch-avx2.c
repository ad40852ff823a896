/* patch-avx2.c: one patch of 8 to 16 pixels a side, for processors with AVX2 */
#include "patch.h"
#include <immintrin.h>
#include <string.h>

#define PIXELS 16
#define BYTES (3 * PIXELS)

/* where byte i of a channel stands in each third of 16 RGB pixels; 0x80: not in this one */
typedef struct {
  __m128i part[3][3]; /* channel, third */
} Masks;

static Masks
make_masks (void)
{
  Masks masks;

  for (int channel = 0; channel < 3; channel++)
    for (int third = 0; third < 3; third++) {
      guint8 mask[16];

      for (int x = 0; x < PIXELS; x++) {
        int at = 3 * x + channel - 16 * third;

        mask[x] = at >= 0 && at < 16 ? (guint8)at : 0x80;
      }
      masks.part[channel][third] = _mm_loadu_si128 ((const __m128i *)mask);
    }
  return masks;
}

/* the channel's bytes of 16 pixels */
static inline __m128i
channel_of (const Masks *masks, int channel, const __m128i *thirds)
{
  return _mm_or_si128 (_mm_shuffle_epi8 (thirds[0], masks->part[channel][0]),
                       _mm_or_si128 (_mm_shuffle_epi8 (thirds[1], masks->part[channel][1]),
                                     _mm_shuffle_epi8 (thirds[2], masks->part[channel][2])));
}

typedef struct {
  __m256 minus;
  __m256 by; /* to multiply or divide with */
  gboolean over;
} Constants;

/* the first 8 bytes as numbers */
static inline __m256
normalize (const Constants *constants, __m128i bytes)
{
  __m256 value =
      _mm256_sub_ps (_mm256_cvtepi32_ps (_mm256_cvtepu8_epi32 (bytes)), constants->minus);

  return constants->over ? _mm256_div_ps (value, constants->by)
                         : _mm256_mul_ps (value, constants->by);
}

/* bfloat16, to nearest, ties to even; in the low halves */
static inline __m256i
round_half (__m256 value)
{
  __m256i bits = _mm256_castps_si256 (value);
  __m256i odd = _mm256_and_si256 (_mm256_srli_epi32 (bits, 16), _mm256_set1_epi32 (1));

  return _mm256_srli_epi32 (
      _mm256_add_epi32 (bits, _mm256_add_epi32 (odd, _mm256_set1_epi32 (0x7FFF))), 16);
}

/* @n of 16 numbers: 8, and the last 8, which may overlap them */
static inline void
store_floats (float *into, guint n, const Constants *constants, __m128i bytes, __m128i last)
{
  _mm256_storeu_ps (into, normalize (constants, bytes));
  _mm256_storeu_ps (into + n - 8, normalize (constants, last));
}

static inline void
store_halves (guint16 *into, guint n, const Constants *constants, __m128i bytes, __m128i last)
{
  __m256i first = round_half (normalize (constants, bytes));
  __m256i second = round_half (normalize (constants, last));
  __m256i both =
      _mm256_permute4x64_epi64 (_mm256_packus_epi32 (first, second), _MM_SHUFFLE (3, 1, 2, 0));

  _mm_storeu_si128 ((__m128i *)into, _mm256_castsi256_si128 (both));
  _mm_storeu_si128 ((__m128i *)(into + n - 8), _mm256_extracti128_si256 (both, 1));
}

static inline void
store_bytes (guint8 *into, guint n, __m128i bytes, __m128i last)
{
  _mm_storel_epi64 ((__m128i *)into, bytes);
  _mm_storel_epi64 ((__m128i *)(into + n - 8), last);
}

/* bytes from @n - 8 on */
static inline __m128i
last_eight (__m128i bytes, guint n)
{
  switch (n) {
  case 16:
    return _mm_srli_si128 (bytes, 8);
  case 14:
    return _mm_srli_si128 (bytes, 6);
  default: {
    guint8 all[PIXELS];

    _mm_storeu_si128 ((__m128i *)all, bytes);
    return _mm_loadl_epi64 ((const __m128i *)(all + n - 8));
  }
  }
}

static inline void
load_row (const guint8 *p, gsize used, const guint8 *readable, __m128i *thirds)
{
  guint8 copy[BYTES];

  if (readable - p < BYTES) {
    memset (copy, 0, sizeof (copy));
    memcpy (copy, p, used);
    p = copy;
  }
  for (int third = 0; third < 3; third++)
    thirds[third] = _mm_loadu_si128 ((const __m128i *)(p + 16 * third));
}

static inline void
write_patch (const HrPatchShape *shape, const HrPatchTable *table, const Constants *constants,
             const guint8 *p, gsize stride, const guint8 *readable, guint8 *into)
{
  const Masks masks = make_masks ();
  guint n = shape->size;
  gsize width = hr_patch_type_size (table->type), plane = (gsize)n * n * width;

  for (guint y = 0; y < n; y++, p += stride) {
    __m128i thirds[3];

    load_row (p, 3 * n, readable, thirds);
    for (int channel = 0; channel < 3; channel++) {
      __m128i bytes = channel_of (&masks, channel, thirds), last = last_eight (bytes, n);
      guint8 *at = into + (gsize)channel * shape->temporal * plane + (gsize)y * n * width;

      for (guint t = 0; t < shape->temporal; t++, at += plane)
        if (table->type == HR_PATCH_FLOAT32)
          store_floats ((float *)at, n, &constants[channel], bytes, last);
        else if (table->type == HR_PATCH_UINT8)
          store_bytes (at, n, bytes, last);
        else
          store_halves ((guint16 *)at, n, &constants[channel], bytes, last);
    }
  }
}

gboolean
hr_patch_avx2 (const HrPatchShape *shape, const HrPatchTable *table, const guint8 *p, gsize stride,
               const guint8 *readable, gpointer into)
{
  Constants constants[3];

  if (shape->size < 8 || shape->size > PIXELS
      || (table->type != HR_PATCH_UINT8 && table->form == HR_PATCH_LOOK_UP))
    return FALSE;
  for (int channel = 0; channel < 3; channel++) {
    gboolean over = table->form == HR_PATCH_OVER;

    constants[channel].minus = _mm256_set1_ps (table->minus[channel]);
    constants[channel].by = _mm256_set1_ps (over ? table->by[channel] : 1.0f / table->by[channel]);
    constants[channel].over = over;
  }
  write_patch (shape, table, constants, p, stride, readable, into);
  return TRUE;
}
