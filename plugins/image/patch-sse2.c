/* patch-sse2.c: one patch of 16 pixels a side, for what every x86-64 has */
#include "patch.h"
#include <emmintrin.h>

#define SIZE 16

/* Interleaving the two halves of 48 bytes takes byte i to 2 i mod 47, so four times take it to
 * 16 i mod 47; and since 3 * 16 is 1 there, byte 3 x + c ends at 16 c + x. */
static inline void
split_channels (__m128i *v)
{
  for (int round = 0; round < 4; round++) {
    __m128i first = v[0], middle = v[1], last = v[2];

    v[0] = _mm_unpacklo_epi8 (first, _mm_unpackhi_epi64 (middle, middle));
    v[1] = _mm_unpacklo_epi8 (_mm_unpackhi_epi64 (first, first), last);
    v[2] = _mm_unpacklo_epi8 (middle, _mm_unpackhi_epi64 (last, last));
  }
}

static inline void
put (const HrPatchJob *job, void *into, __m128i value)
{
  if (job->stream)
    _mm_stream_si128 (into, value);
  else
    _mm_storeu_si128 (into, value);
}

/* 16 bytes of a channel as numbers */
static inline void
normalize (const HrPatchTable *table, int channel, __m128i bytes, __m128 *to)
{
  const __m128i zero = _mm_setzero_si128 ();
  const __m128 minus = _mm_set1_ps (table->minus[channel]);
  const __m128 head = _mm_set1_ps (table->head[channel]), tail = _mm_set1_ps (table->tail[channel]);
  __m128i words[2] = { _mm_unpacklo_epi8 (bytes, zero), _mm_unpackhi_epi8 (bytes, zero) };

  for (int i = 0; i < 4; i++) {
    __m128i wide = i % 2 == 0 ? _mm_unpacklo_epi16 (words[i / 2], zero)
                              : _mm_unpackhi_epi16 (words[i / 2], zero);
    __m128 difference = _mm_sub_ps (_mm_cvtepi32_ps (wide), minus);

    if (table->form == HR_PATCH_OVER)
      to[i] = _mm_div_ps (difference, _mm_set1_ps (table->by[channel]));
    else if (table->form == HR_PATCH_TWICE)
      to[i] = _mm_add_ps (_mm_mul_ps (difference, head), _mm_mul_ps (difference, tail));
    else
      to[i] = _mm_mul_ps (difference, head);
  }
}

/* bfloat16, to nearest, ties to even; with the sign above, as packing wants it */
static inline __m128i
round_half (__m128 value)
{
  __m128i bits = _mm_castps_si128 (value);
  __m128i odd = _mm_and_si128 (_mm_srli_epi32 (bits, 16), _mm_set1_epi32 (1));

  return _mm_srai_epi32 (_mm_add_epi32 (bits, _mm_add_epi32 (odd, _mm_set1_epi32 (0x7FFF))), 16);
}

/* one row of a channel, at all times */
static inline void
put_row (const HrPatchJob *job, int channel, __m128i bytes, guint8 *at, gsize plane)
{
  const HrPatchTable *table = job->table;
  guint temporal = job->shape->temporal;
  __m128 values[4];
  __m128i halves[2];

  if (table->type == HR_PATCH_UINT8) {
    for (guint t = 0; t < temporal; t++, at += plane)
      put (job, at, bytes);
    return;
  }
  normalize (table, channel, bytes, values);
  if (table->type == HR_PATCH_FLOAT32) {
    for (guint t = 0; t < temporal; t++, at += plane)
      for (int i = 0; i < 4; i++)
        put (job, at + 16 * i, _mm_castps_si128 (values[i]));
    return;
  }
  for (int i = 0; i < 2; i++)
    halves[i] = _mm_packs_epi32 (round_half (values[2 * i]), round_half (values[2 * i + 1]));
  for (guint t = 0; t < temporal; t++, at += plane)
    for (int i = 0; i < 2; i++)
      put (job, at + 16 * i, halves[i]);
}

gboolean
hr_patch_sse2 (const HrPatchJob *job, const guint8 *p, gpointer into)
{
  HrPatchType type = job->table->type;
  gsize line = SIZE * hr_patch_type_size (type), plane = SIZE * line;
  guint8 *at = into;

  if (job->shape->size != SIZE || type == HR_PATCH_FLOAT16
      || (type != HR_PATCH_UINT8 && job->table->form == HR_PATCH_LOOK_UP))
    return FALSE;
  for (int y = 0; y < SIZE; y++, p += job->stride, at += line) {
    guint8 copy[HR_PATCH_LINE];
    const guint8 *pixels = hr_patch_line (job, p, sizeof (copy), copy);
    __m128i v[3];

    for (int i = 0; i < 3; i++)
      v[i] = _mm_loadu_si128 ((const __m128i *)(pixels + 16 * i));
    split_channels (v);
    for (int channel = 0; channel < 3; channel++)
      put_row (job, channel, v[channel], at + channel * job->shape->temporal * plane, plane);
  }
  return TRUE;
}
