/* resample-axis.c: weights of a bicubic resize along one axis
 *
 * Every operation in double and in the references' order, without contraction: a last bit of
 * difference here becomes a level of difference in a pixel. */
#include "resample-axis.h"
#include <math.h>

#define PILLOW_PRECISION 22

static double
bicubic (double x)
{
  const double a = -0.5;
  x = fabs (x);
  if (x < 1.0)
    return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0)
    return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

/* as many bits as leave the largest weight within 16 */
static guint
torchvision_precision (double max_weight)
{
  guint precision = 0;
  while (precision < 22 && (int)(0.5 + max_weight * (1 << (precision + 1))) < 1 << 15)
    precision++;
  return precision;
}

HrAxis *
hr_axis_new (guint in, guint out, HrReference reference)
{
  HrAxis *axis = g_new0 (HrAxis, 1);
  double scale = (double)in / out, filter_scale = MAX (scale, 1.0);
  double support = 2.0 * filter_scale, inverse = 1.0 / filter_scale, max_weight = 0;
  gsize room = (gsize)ceil (support) * 2 + 1;
  g_autofree double *exact = g_new0 (double, (gsize)out *room);
  axis->in = in;
  axis->out = out;
  axis->first = g_new (guint32, out);
  axis->count = g_new (guint32, out);
  for (guint i = 0; i < out; i++) {
    double center = (i + 0.5) * scale, sum = 0;
    double low = center - support + 0.5, high = center + support + 0.5;
    gint64 first = low < 0 ? 0 : (gint64)low, end = MIN ((gint64)high, (gint64)in);
    double *weights = exact + (gsize)i * room;
    guint n = end - first;
    for (guint j = 0; j < n; j++) {
      if (reference == HR_REFERENCE_PILLOW)
        weights[j] = bicubic (((double)(j + first) - center + 0.5) * inverse);
      else
        weights[j] = bicubic (((double)j + ((double)first - center) + 0.5) * inverse);
      sum += weights[j];
    }
    for (guint j = 0; j < n && sum != 0.0; j++) {
      weights[j] /= sum;
      max_weight = MAX (max_weight, weights[j]);
    }
    axis->first[i] = first;
    axis->count[i] = n;
    axis->max_taps = MAX (axis->max_taps, n);
  }
  axis->precision =
      reference == HR_REFERENCE_PILLOW ? PILLOW_PRECISION : torchvision_precision (max_weight);
  axis->weights = g_new0 (gint32, (gsize)out * axis->max_taps);
  axis->fits = TRUE;
  for (guint i = 0; i < out; i++)
    for (guint j = 0; j < axis->count[i]; j++) {
      double w = exact[(gsize)i * room + j] * (1 << axis->precision);
      gint32 q = (gint32)(w < 0 ? w - 0.5 : w + 0.5);
      axis->weights[(gsize)i * axis->max_taps + j] = q;
      axis->fits = axis->fits && ABS (q) < 127 << 16;
    }
  return axis;
}

void
hr_axis_free (HrAxis *axis)
{
  g_free (axis->first);
  g_free (axis->count);
  g_free (axis->weights);
  g_free (axis->packed);
  g_free (axis);
}
