/* patch.c: pixels become the rows of numbers that a vision model reads
 *
 * Built with -ffp-contract=off: the table is the reference's to the last bit. */
#include "patch.h"
#include <math.h>
#ifdef HR_HAVE_X86
#include <immintrin.h>
#endif
#include "resample-kernel.h"

/* ---- numbers of 16 bits, rounded to nearest, ties to even ---- */

static guint32
bits_of (float value)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof (bits));
  return bits;
}

static guint16
to_bfloat16 (float value)
{
  guint32 bits = bits_of (value);

  return (guint16)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static guint16
to_float16 (float value)
{
  guint16 sign = bits_of (value) >> 31 ? 0x8000 : 0;
  double size = fabs ((double)value);
  int exponent;

  if (size >= 65520) /* rounds to infinity */
    return sign | 0x7C00;
  if (size < 0x1p-14) /* counted in steps of the smallest number; may round up to a normal one */
    return (guint16)(sign + nearbyint (size * 0x1p24));
  frexp (size, &exponent);
  return (guint16)(sign + ((exponent + 13) << 10) + nearbyint (ldexp (size, 11 - exponent)));
}

/* ---- the table ---- */

static float
calculate (const HrPatchTable *table, guint channel, guint byte)
{
  float difference = (float)byte - table->minus[channel];

  switch (table->form) {
  case HR_PATCH_TIMES:
    return difference * table->head[channel];
  case HR_PATCH_TWICE:
    return difference * table->head[channel] + difference * table->tail[channel];
  default:
    return difference / table->by[channel];
  }
}

static guint16
to_half (HrPatchType type, float value)
{
  return type == HR_PATCH_FLOAT16 ? to_float16 (value) : to_bfloat16 (value);
}

static gboolean
gives_table (const HrPatchTable *table)
{
  for (guint channel = 0; channel < 3; channel++)
    for (guint byte = 0; byte < 256; byte++) {
      float value = calculate (table, channel, byte);

      if (table->type == HR_PATCH_FLOAT32
              ? bits_of (value) != bits_of (table->values[channel][byte])
              : to_half (table->type, value) != table->halves[channel][byte])
        return FALSE;
    }
  return TRUE;
}

/* 1 / by, and for HR_PATCH_TWICE its first 15 bits, whose product with a byte's difference is exact
 * where that has few bits, and what is left */
static void
set_reciprocals (HrPatchTable *table)
{
  for (guint channel = 0; channel < 3; channel++) {
    double exact = 1.0 / (double)table->by[channel];
    guint32 bits = bits_of ((float)exact) & 0xFFFFFE00;

    table->head[channel] = 1.0f / table->by[channel];
    table->tail[channel] = 0;
    if (table->form == HR_PATCH_TWICE) {
      memcpy (&table->head[channel], &bits, sizeof (bits));
      table->tail[channel] = (float)(exact - (double)table->head[channel]);
    }
  }
}

static void
choose_form (HrPatchTable *table)
{
  static const HrPatchForm cheapest_first[] = { HR_PATCH_TIMES, HR_PATCH_TWICE, HR_PATCH_OVER };

  for (guint i = 0; table->type != HR_PATCH_UINT8 && i < G_N_ELEMENTS (cheapest_first); i++) {
    table->form = cheapest_first[i];
    set_reciprocals (table);
    if (gives_table (table))
      return;
  }
  table->form = HR_PATCH_LOOK_UP;
}

void
hr_patch_table_init (HrPatchTable *table, HrPatchType type, HrPatchSpelling spelling,
                     const double *mean, const double *std, double scale)
{
  table->type = type;
  for (guint channel = 0; channel < 3; channel++) {
    float middle = (float)mean[channel], spread = (float)std[channel];

    table->minus[channel] = middle * (float)(1.0 / scale);
    table->by[channel] = spread * (float)(1.0 / scale);
    for (guint byte = 0; byte < 256; byte++) {
      float value = spelling == HR_PATCH_PILLOW
                        ? ((float)(byte * scale) - middle) / spread
                        : ((float)byte - table->minus[channel]) / table->by[channel];

      table->values[channel][byte] = value;
      table->halves[channel][byte] = to_half (type, value);
    }
  }
  choose_form (table);
}

/* ---- sizes ---- */

gsize
hr_patch_type_size (HrPatchType type)
{
  return type == HR_PATCH_FLOAT32 ? 4 : type == HR_PATCH_UINT8 ? 1 : 2;
}

gsize
hr_patch_rows (const HrPatchShape *shape, gsize height, gsize width)
{
  return (height / shape->size) * (width / shape->size);
}

gsize
hr_patch_columns (const HrPatchShape *shape)
{
  return (gsize)3 * shape->temporal * shape->size * shape->size;
}

/* ---- one patch ---- */

static void
plain_channel (const HrPatchTable *table, guint channel, const guint8 *p, gsize stride, guint size,
               gpointer into)
{
  for (guint y = 0; y < size; y++, p += stride) {
    const guint8 *pixel = p + channel;

    switch (table->type) {
    case HR_PATCH_FLOAT32:
      for (guint x = 0; x < size; x++)
        ((float *)into)[y * size + x] = table->values[channel][pixel[3 * x]];
      break;
    case HR_PATCH_BFLOAT16:
    case HR_PATCH_FLOAT16:
      for (guint x = 0; x < size; x++)
        ((guint16 *)into)[y * size + x] = table->halves[channel][pixel[3 * x]];
      break;
    case HR_PATCH_UINT8:
      for (guint x = 0; x < size; x++)
        ((guint8 *)into)[y * size + x] = pixel[3 * x];
      break;
    }
  }
}

static gboolean
plain (const HrPatchJob *job, const guint8 *p, gpointer into)
{
  const HrPatchShape *shape = job->shape;
  gsize plane = (gsize)shape->size * shape->size * hr_patch_type_size (job->table->type);
  guint8 *at = into;

  for (guint channel = 0; channel < 3; channel++) {
    plain_channel (job->table, channel, p, job->stride, shape->size, at);
    for (guint t = 1; t < shape->temporal; t++)
      memcpy (at + t * plane, at, plane);
    at += shape->temporal * plane;
  }
  return TRUE;
}

/* ---- an image ---- */

/* What is larger than the caches a core has for itself is not in them any more when somebody reads
 * it: it is written past them, which saves reading it from memory before. */
#define STREAM_FROM (1 << 20)
#define STREAM_ALIGNMENT 64

static HrPatchKernel
choose_kernel (void)
{
#ifdef HR_HAVE_X86
  const HrKernel *best = hr_kernels ()[0];

  if (best == &hr_kernel_avx512 || best == &hr_kernel_avx2)
    return hr_patch_avx2;
  if (best == &hr_kernel_sse2)
    return hr_patch_sse2;
#endif
  return plain;
}

/* what was written past the caches comes before anything that follows */
static void
end_stream (void)
{
#ifdef HR_HAVE_X86
  _mm_sfence ();
#endif
}

void
hr_patch_write (const HrPatchShape *shape, const HrPatchTable *table, const guint8 *rgb,
                gsize height, gsize width, gpointer into)
{
  gsize stride = width * 3, size = shape->size, block = size * shape->merge;
  gsize row = hr_patch_columns (shape) * hr_patch_type_size (table->type);
  gboolean aligned = (guintptr)into % STREAM_ALIGNMENT == 0 && row % STREAM_ALIGNMENT == 0;
  HrPatchJob job = { shape, table, stride, rgb + height * stride,
                     aligned && hr_patch_rows (shape, height, width) * row >= STREAM_FROM };
  HrPatchKernel kernel = choose_kernel ();
  guint8 *at = into;

  for (gsize top = 0; top < height; top += block)
    for (gsize left = 0; left < width; left += block)
      for (gsize y = top; y < top + block; y += size)
        for (gsize x = left; x < left + block; x += size, at += row) {
          const guint8 *p = rgb + y * stride + x * 3;

          if (!kernel (&job, p, at))
            plain (&job, p, at);
        }
  if (job.stream)
    end_stream ();
}
