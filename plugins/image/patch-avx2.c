/* patch-avx2.c: one patch of 8 to 16 pixels a side, for processors with AVX2 and F16C */
#include "patch.h"
#include <immintrin.h>

#define PIXELS 16

/* where byte i of a channel stands in each third of 16 RGB pixels; -1: not in this one */
static const gint8 masks[3][3][16] = {
  { { 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
    { -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1 },
    { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13 } },
  { { 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
    { -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1 },
    { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14 } },
  { { 2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
    { -1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1 },
    { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15 } },
};

static inline __m128i
load (gconstpointer p)
{
  return _mm_loadu_si128 ((const __m128i *)p);
}

/* the channel's bytes of 16 pixels */
static inline __m128i
channel_of (const guint8 *pixels, int channel)
{
  __m128i first = _mm_shuffle_epi8 (load (pixels), load (masks[channel][0]));
  __m128i second = _mm_shuffle_epi8 (load (pixels + 16), load (masks[channel][1]));
  __m128i third = _mm_shuffle_epi8 (load (pixels + 32), load (masks[channel][2]));

  return _mm_or_si128 (first, _mm_or_si128 (second, third));
}

/* how the numbers of a channel are calculated; a copy, since no store can change it */
typedef struct {
  HrPatchForm form;
  __m256 minus, by, head, tail;
} Numbers;

static inline Numbers
get_numbers (const HrPatchTable *table, HrPatchForm form, int channel)
{
  return (Numbers){ form, _mm256_set1_ps (table->minus[channel]),
                    _mm256_set1_ps (table->by[channel]), _mm256_set1_ps (table->head[channel]),
                    _mm256_set1_ps (table->tail[channel]) };
}

/* the first 8 bytes of a channel as numbers */
static inline __m256
normalize (const Numbers *numbers, __m128i bytes)
{
  __m256 difference =
      _mm256_sub_ps (_mm256_cvtepi32_ps (_mm256_cvtepu8_epi32 (bytes)), numbers->minus);

  if (numbers->form == HR_PATCH_OVER)
    return _mm256_div_ps (difference, numbers->by);
  if (numbers->form == HR_PATCH_TWICE)
    return _mm256_add_ps (_mm256_mul_ps (difference, numbers->head),
                          _mm256_mul_ps (difference, numbers->tail));
  return _mm256_mul_ps (difference, numbers->head);
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

/* 16 numbers of 16 bits, from 8 and 8 */
static inline __m256i
to_halves (HrPatchType type, __m256 first, __m256 second)
{
  if (type == HR_PATCH_FLOAT16)
    return _mm256_set_m128i (_mm256_cvtps_ph (second, _MM_FROUND_TO_NEAREST_INT),
                             _mm256_cvtps_ph (first, _MM_FROUND_TO_NEAREST_INT));
  return _mm256_permute4x64_epi64 (_mm256_packus_epi32 (round_half (first), round_half (second)),
                                   _MM_SHUFFLE (3, 1, 2, 0));
}

static inline void
put (gboolean stream, void *into, __m256i value)
{
  if (stream)
    _mm256_stream_si256 (into, value);
  else
    _mm256_storeu_si256 (into, value);
}

/* ---- 16 pixels a side, two rows at once: whole cache lines ---- */

/* how many registers the two rows are */
static inline int
get_rows (const Numbers *numbers, HrPatchType type, __m128i above, __m128i below, __m256i *rows)
{
  const __m128i bytes[4] = { above, _mm_srli_si128 (above, 8), below, _mm_srli_si128 (below, 8) };

  if (type == HR_PATCH_UINT8) {
    rows[0] = _mm256_set_m128i (below, above);
    return 1;
  }
  if (type == HR_PATCH_FLOAT32) {
    for (int i = 0; i < 4; i++)
      rows[i] = _mm256_castps_si256 (normalize (numbers, bytes[i]));
    return 4;
  }
  for (int i = 0; i < 2; i++)
    rows[i] =
        to_halves (type, normalize (numbers, bytes[2 * i]), normalize (numbers, bytes[2 * i + 1]));
  return 2;
}

/* @type and @form are constants where it is called, so that nothing is asked in the loop */
static inline __attribute__ ((always_inline)) void
write_16 (const HrPatchJob *job, const guint8 *p, guint8 *at, HrPatchType type, HrPatchForm form)
{
  const guint temporal = job->shape->temporal;
  const gsize line = PIXELS * hr_patch_type_size (type), plane = PIXELS * line;
  /* half a line does not pay */
  const gboolean stream = job->stream && type != HR_PATCH_UINT8;
  const Numbers numbers[3] = { get_numbers (job->table, form, 0), get_numbers (job->table, form, 1),
                               get_numbers (job->table, form, 2) };

  for (int y = 0; y < PIXELS; y += 2, p += 2 * job->stride, at += 2 * line) {
    guint8 copies[2][HR_PATCH_LINE];
    const guint8 *above = hr_patch_line (job, p, HR_PATCH_LINE, copies[0]);
    const guint8 *below = hr_patch_line (job, p + job->stride, HR_PATCH_LINE, copies[1]);

    for (int channel = 0; channel < 3; channel++) {
      guint8 *to = at + channel * temporal * plane;
      __m256i rows[4];
      int n = get_rows (&numbers[channel], type, channel_of (above, channel),
                        channel_of (below, channel), rows);

      for (guint t = 0; t < temporal; t++, to += plane)
        for (int i = 0; i < n; i++)
          put (stream, to + 32 * i, rows[i]);
    }
  }
}

static void
write_any_16 (const HrPatchJob *job, const guint8 *p, guint8 *at)
{
  HrPatchType type = job->table->type;
  HrPatchForm form = job->table->form;

  if (type == HR_PATCH_FLOAT32 && form == HR_PATCH_TWICE)
    write_16 (job, p, at, HR_PATCH_FLOAT32, HR_PATCH_TWICE);
  else if (type == HR_PATCH_BFLOAT16 && form == HR_PATCH_TIMES)
    write_16 (job, p, at, HR_PATCH_BFLOAT16, HR_PATCH_TIMES);
  else if (type == HR_PATCH_FLOAT16 && form == HR_PATCH_TIMES)
    write_16 (job, p, at, HR_PATCH_FLOAT16, HR_PATCH_TIMES);
  else if (type == HR_PATCH_UINT8)
    write_16 (job, p, at, HR_PATCH_UINT8, HR_PATCH_LOOK_UP);
  else
    write_16 (job, p, at, type, form);
}

/* ---- 8 to 15: the last 8 numbers overlap the first ---- */

static inline void
put_row (const HrPatchJob *job, int channel, __m128i bytes, guint8 *at, gsize plane)
{
  const HrPatchTable *table = job->table;
  const Numbers numbers = get_numbers (table, table->form, channel);
  gsize width = hr_patch_type_size (table->type), last = job->shape->size - 8;
  guint8 all[PIXELS];
  __m128i end;

  _mm_storeu_si128 ((__m128i *)all, bytes);
  end = _mm_loadl_epi64 ((const __m128i *)(all + last));
  for (guint t = 0; t < job->shape->temporal; t++, at += plane) {
    guint8 *to = at + last * width;

    if (table->type == HR_PATCH_UINT8) {
      _mm_storel_epi64 ((__m128i *)at, bytes);
      _mm_storel_epi64 ((__m128i *)to, end);
    } else if (table->type == HR_PATCH_FLOAT32) {
      _mm256_storeu_ps ((float *)at, normalize (&numbers, bytes));
      _mm256_storeu_ps ((float *)to, normalize (&numbers, end));
    } else {
      __m256i both =
          to_halves (table->type, normalize (&numbers, bytes), normalize (&numbers, end));

      _mm_storeu_si128 ((__m128i *)at, _mm256_castsi256_si128 (both));
      _mm_storeu_si128 ((__m128i *)to, _mm256_extracti128_si256 (both, 1));
    }
  }
}

static void
write_fewer (const HrPatchJob *job, const guint8 *p, guint8 *at)
{
  gsize n = job->shape->size, line = n * hr_patch_type_size (job->table->type), plane = n * line;

  for (guint y = 0; y < n; y++, p += job->stride, at += line) {
    guint8 copy[HR_PATCH_LINE];
    const guint8 *pixels = hr_patch_line (job, p, 3 * n, copy);

    for (int channel = 0; channel < 3; channel++)
      put_row (job, channel, channel_of (pixels, channel),
               at + channel * job->shape->temporal * plane, plane);
  }
}

gboolean
hr_patch_avx2 (const HrPatchJob *job, const guint8 *p, gpointer into)
{
  if (job->shape->size < 8 || job->shape->size > PIXELS
      || (job->table->type != HR_PATCH_UINT8 && job->table->form == HR_PATCH_LOOK_UP))
    return FALSE;
  if (job->shape->size == PIXELS)
    write_any_16 (job, p, into);
  else
    write_fewer (job, p, into);
  return TRUE;
}
