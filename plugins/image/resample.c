/* resample.c: the exact bicubic resize of RGB images
 *
 * The intermediate rows live in a ring that is a few filter lengths high: they are read while they
 * are still in the cache, and only rows that the vertical pass needs are made at all. */
#include "resample.h"
#include <string.h>

/* pairs of weight tables that are kept: images of a data set come in a few sizes */
#define N_AXES 16

typedef struct {
  HrAxis *axis;
  const HrKernel *kernel;
  gboolean horizontal;
  guint64 used; /* when, counted in calls */
} Entry;

struct _HrResampler {
  HrReference reference;
  const HrKernel *const *kernels;
  Entry entries[N_AXES];
  guint64 calls;
  guint8 *scratch;
  gsize scratch_size;
};

HrResampler *
hr_resampler_new (HrReference reference, const HrKernel *const *kernels)
{
  HrResampler *r = g_new0 (HrResampler, 1);
  r->reference = reference;
  r->kernels = kernels;
  return r;
}

void
hr_resampler_free (HrResampler *r)
{
  for (guint i = 0; i < N_AXES; i++)
    g_clear_pointer (&r->entries[i].axis, hr_axis_free);
  g_free (r->scratch);
  g_free (r);
}

static const Entry *
get_axis (HrResampler *r, guint in, guint out, gboolean horizontal)
{
  Entry *oldest = &r->entries[0];
  for (guint i = 0; i < N_AXES; i++) {
    Entry *e = &r->entries[i];
    if (e->axis != NULL && e->axis->in == in && e->axis->out == out
        && e->horizontal == horizontal) {
      e->used = ++r->calls;
      return e;
    }
    if (e->used < oldest->used)
      oldest = e;
  }
  g_clear_pointer (&oldest->axis, hr_axis_free);
  HrAxis *axis = hr_axis_new (in, out, r->reference);
  guint k = 0;
  while (!(horizontal ? r->kernels[k]->usable_horizontally (axis)
                      : r->kernels[k]->usable_vertically (axis)))
    k++;
  *oldest = (Entry){ axis, r->kernels[k], horizontal, ++r->calls };
  void (*pack) (HrAxis *) =
      horizontal ? oldest->kernel->pack_horizontal : oldest->kernel->pack_vertical;
  if (pack != NULL)
    pack (axis);
  return oldest;
}

static guint8 *
get_scratch (HrResampler *r, gsize size)
{
  if (r->scratch_size < size) {
    g_free (r->scratch);
    r->scratch = g_malloc (size);
    r->scratch_size = size;
  }
  return r->scratch;
}

typedef struct {
  const guint8 *data;
  guint height;
  gsize stride;
  gsize row_bytes;
  guint8 *spare; /* room for HR_KERNEL_ROWS rows with the kernel's overrun behind each */
  gsize spare_stride;
} Source;

/* Pointers to @n rows from @y on. A row whose overrun would leave the image is read from a copy. */
static void
get_rows (const Source *s, gsize overrun, guint y, guint n, const guint8 **rows)
{
  gsize end = (s->height - 1) * s->stride + s->row_bytes;
  for (guint i = 0; i < n; i++) {
    gsize at = (y + i) * s->stride;
    rows[i] = s->data + at;
    if (at + s->row_bytes + overrun > end) {
      guint8 *copy = s->spare + i * s->spare_stride;
      memcpy (copy, rows[i], s->row_bytes);
      memset (copy + s->row_bytes, 0, overrun);
      rows[i] = copy;
    }
  }
}

static void
resize_across (const Entry *x, const Source *source, guint8 *out)
{
  const guint8 *in[HR_KERNEL_ROWS];
  guint8 *to[HR_KERNEL_ROWS];
  for (guint y = 0; y < source->height; y += HR_KERNEL_ROWS) {
    guint n = MIN (HR_KERNEL_ROWS, source->height - y);
    get_rows (source, x->kernel->overrun, y, n, in);
    for (guint i = 0; i < n; i++)
      to[i] = out + (gsize)(y + i) * x->axis->out * 3;
    x->kernel->horizontal (x->axis, n, in, to);
  }
}

static void
resize_down (const Entry *y, const guint8 **rows, const guint8 *in, gsize stride, gsize row_bytes,
             guint8 *out)
{
  for (guint i = 0; i < y->axis->out; i++) {
    for (guint t = 0; t < y->axis->count[i]; t++)
      rows[t] = in + (y->axis->first[i] + t) * stride;
    y->kernel->vertical (y->axis, i, rows, row_bytes, out + i * row_bytes);
  }
}

static void
resize_both (const Entry *x, const Entry *y, const Source *source, guint8 *ring, guint ring_rows,
             gsize ring_stride, const guint8 **rows, guint8 *out)
{
  const guint8 *in[HR_KERNEL_ROWS];
  guint8 *to[HR_KERNEL_ROWS];
  gsize out_bytes = (gsize)x->axis->out * 3;
  guint last = y->axis->out - 1, done = y->axis->first[0];
  guint all = y->axis->first[last] + y->axis->count[last];
  for (guint i = 0; i <= last; i++) {
    guint first = y->axis->first[i], count = y->axis->count[i];
    /* more than asked for, but never so many that a row still needed is overwritten */
    while (done < first + count) {
      guint n = MIN (HR_KERNEL_ROWS, all - done);
      get_rows (source, x->kernel->overrun, done, n, in);
      for (guint k = 0; k < n; k++)
        to[k] = ring + (done + k) % ring_rows * ring_stride;
      x->kernel->horizontal (x->axis, n, in, to);
      done += n;
    }
    for (guint t = 0; t < count; t++)
      rows[t] = ring + (first + t) % ring_rows * ring_stride;
    y->kernel->vertical (y->axis, i, rows, out_bytes, out + i * out_bytes);
  }
}

void
hr_resampler_resize (HrResampler *r, const guint8 *in, guint in_height, guint in_width,
                     gsize stride, guint8 *out, guint out_height, guint out_width)
{
  gsize in_bytes = (gsize)in_width * 3, out_bytes = (gsize)out_width * 3;
  const Entry *x = in_width == out_width ? NULL : get_axis (r, in_width, out_width, TRUE);
  const Entry *y = in_height == out_height ? NULL : get_axis (r, in_height, out_height, FALSE);
  if (x == NULL && y == NULL) {
    for (guint i = 0; i < in_height; i++)
      memcpy (out + i * in_bytes, in + i * stride, in_bytes);
    return;
  }
  /* scratch: row pointers, copies of rows, the ring; each begins at a cache line */
  guint taps = y != NULL ? y->axis->max_taps : 0;
  gsize pointers = ((gsize)taps * sizeof (guint8 *) + 63) & ~(gsize)63;
  gsize spare_stride = x != NULL ? (in_bytes + x->kernel->overrun + 63) & ~(gsize)63 : 0;
  gsize ring_stride = (out_bytes + 63) & ~(gsize)63;
  guint ring_rows = x != NULL && y != NULL ? taps + HR_KERNEL_ROWS : 0;
  guint8 *scratch =
      get_scratch (r, pointers + spare_stride * HR_KERNEL_ROWS + ring_stride * ring_rows + 64);
  scratch += -(guintptr)scratch & 63;
  const guint8 **rows = (const guint8 **)scratch;
  Source source = { in, in_height, stride, in_bytes, scratch + pointers, spare_stride };
  guint8 *ring = source.spare + spare_stride * HR_KERNEL_ROWS;
  if (y == NULL)
    resize_across (x, &source, out);
  else if (x == NULL)
    resize_down (y, rows, in, stride, in_bytes, out);
  else
    resize_both (x, y, &source, ring, ring_rows, ring_stride, rows, out);
}
