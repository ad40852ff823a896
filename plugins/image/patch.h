/* patch.h: pixels become the rows of numbers that a vision model reads
 *
 * Row r of patch (gy, gx), with M = merge: by = gy / M, my = gy % M, bx and mx likewise:
 * r = ((by * (grid_w / M) + bx) * M + my) * M + mx, so that the patches of one token are
 * neighbours. Column of (channel c, time t, y, x): ((c * T + t) * P + y) * P + x; a still image has
 * the same pixels at all times. Source: transformers' Qwen2VLImageProcessor. */
#pragma once
#include <glib.h>
#include <string.h>

G_BEGIN_DECLS

typedef enum { HR_PATCH_FLOAT32, HR_PATCH_BFLOAT16, HR_PATCH_FLOAT16, HR_PATCH_UINT8 } HrPatchType;

/**
 * HrPatchSpelling:
 * @HR_PATCH_TORCHVISION: (u - mean / scale) / (std / scale), in float32: the fast processor
 * @HR_PATCH_PILLOW: float32 (u * scale, in double) - mean) / std, in float32: the slow one
 *
 * The two differ by less than 1e-7, and not at all in bfloat16.
 */
typedef enum { HR_PATCH_TORCHVISION, HR_PATCH_PILLOW } HrPatchSpelling;

/* side of a patch, patches a side that make one token, times a still image is repeated */
typedef struct {
  guint size;
  guint merge;
  guint temporal;
} HrPatchShape;

/**
 * HrPatchForm:
 * @HR_PATCH_LOOK_UP: there is nothing but the table
 * @HR_PATCH_TIMES: (byte - minus) * head
 * @HR_PATCH_TWICE: (byte - minus) * head + (byte - minus) * tail, which costs a third of a division
 * @HR_PATCH_OVER: (byte - minus) / by
 *
 * How a processor may calculate a table's numbers, to the last bit, in float32.
 */
typedef enum { HR_PATCH_LOOK_UP, HR_PATCH_TIMES, HR_PATCH_TWICE, HR_PATCH_OVER } HrPatchForm;

/**
 * HrPatchTable:
 *
 * What each byte of each channel becomes: that is all there is to rescaling and normalising.
 */
typedef struct {
  HrPatchType type;
  float values[3][256];   /* before rounding to 16 bits */
  guint16 halves[3][256]; /* for the 16-bit types */
  HrPatchForm form;       /* gives exactly this table */
  float minus[3];
  float by[3];
  float head[3], tail[3]; /* 1 / by, or the two parts of it */
} HrPatchTable;

void hr_patch_table_init (HrPatchTable *table, HrPatchType type, HrPatchSpelling spelling,
                          const double *mean, const double *std, double scale);

/* bytes of one number */
gsize hr_patch_type_size (HrPatchType type);
/* rows of an image, and numbers in one; sides are multiples of size * merge */
gsize hr_patch_rows (const HrPatchShape *shape, gsize height, gsize width);
gsize hr_patch_columns (const HrPatchShape *shape);

/**
 * hr_patch_write:
 * @rgb: uint8 [@height, @width, 3], C-contiguous
 * @into: room for hr_patch_rows() rows, aligned to 64 bytes if its rows are multiples of that
 *
 * The same bytes on every processor; HR_CPU=plain does without any kernel for a processor.
 */
void hr_patch_write (const HrPatchShape *shape, const HrPatchTable *table, const guint8 *rgb,
                     gsize height, gsize width, gpointer into);

/* ---- private: kernels ---- */

/**
 * HrPatchJob:
 * @stride: bytes from one row of pixels to the next
 * @readable: behind the last byte of the image
 * @stream: the rows are aligned, and so many that writing them must not cost reading them first
 */
typedef struct {
  const HrPatchShape *shape;
  const HrPatchTable *table;
  gsize stride;
  const guint8 *readable;
  gboolean stream;
} HrPatchJob;

/* one patch, @p being its first pixel. FALSE: not for this shape and table */
typedef gboolean (*HrPatchKernel) (const HrPatchJob *job, const guint8 *p, gpointer into);
gboolean hr_patch_sse2 (const HrPatchJob *job, const guint8 *p, gpointer into);
gboolean hr_patch_avx2 (const HrPatchJob *job, const guint8 *p, gpointer into);

/* bytes of 16 pixels, for kernels that read whole registers */
#define HR_PATCH_LINE 48

/* @p, or a copy of the @used bytes there if the image ends within a line */
static inline const guint8 *
hr_patch_line (const HrPatchJob *job, const guint8 *p, gsize used, guint8 *copy)
{
  if (job->readable - p >= HR_PATCH_LINE)
    return p;
  memset (copy, 0, HR_PATCH_LINE);
  memcpy (copy, p, used);
  return copy;
}

G_END_DECLS
