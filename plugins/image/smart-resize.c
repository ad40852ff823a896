/* smart-resize.c: the size an image is given, so that its patches fit
 *
 * transformers' and qwen-vl-utils' smart_resize, in double throughout as in Python, where round()
 * goes to even. Built with -ffp-contract=off. The order of the divisions matters. */
#include "smart-resize.h"
#include <math.h>
#include "hr-error.h"

static double
round_to (double value, double factor)
{
  return nearbyint (value / factor) * factor;
}

static double
floor_to (double value, double factor)
{
  return floor (value / factor) * factor;
}

static double
ceil_to (double value, double factor)
{
  return ceil (value / factor) * factor;
}

gboolean
hr_smart_resize_has_shape (guint32 height, guint32 width)
{
  double h = height, w = width;

  return MAX (h, w) / MIN (h, w) <= HR_ASPECT_LIMIT;
}

gboolean
hr_smart_resize_compute (const HrSmartResize *rule, guint32 height, guint32 width,
                         gint64 *out_height, gint64 *out_width)
{
  gboolean utils = rule->mode == HR_SMART_RESIZE_QWEN_VL_UTILS;
  double f = rule->factor, h = height, w = width, area = (double)((guint64)height * width);
  if (!hr_smart_resize_has_shape (height, width))
    return FALSE;
  double oh = round_to (h, f), ow = round_to (w, f);
  if (utils) {
    oh = MAX (f, oh);
    ow = MAX (f, ow);
  }
  /* 0 here, after rounding down, is repaired by the third branch */
  if (oh * ow > (double)rule->max_pixels) {
    double beta = sqrt (area / (double)rule->max_pixels);
    oh = floor_to (h / beta, f);
    ow = floor_to (w / beta, f);
    if (!utils) {
      oh = MAX (f, oh);
      ow = MAX (f, ow);
    }
  } else if (oh * ow < (double)rule->min_pixels) {
    double beta = sqrt ((double)rule->min_pixels / area);
    oh = ceil_to (h * beta, f);
    ow = ceil_to (w * beta, f);
  }
  *out_height = (gint64)oh;
  *out_width = (gint64)ow;
  return TRUE;
}

gboolean
hr_smart_resize (const HrSmartResize *rule, guint32 height, guint32 width, gint32 *out_height,
                 gint32 *out_width, GError **error)
{
  gint64 h, w;
  if (!hr_smart_resize_compute (rule, height, width, &h, &w)) {
    double ratio = (double)MAX (height, width) / MIN (height, width);
    /* 200.04 must not read as 200.0 */
    hr_set_data_error (error, HR_DATA_ERROR_ASPECT_RATIO,
                       "%ux%u: one side is %.*f times the other, and %d is the limit", width,
                       height, ratio < HR_ASPECT_LIMIT + 0.1 ? 4 : 1, ratio, HR_ASPECT_LIMIT);
    return FALSE;
  }
  if (h == 0 || w == 0) {
    hr_set_data_error (error, HR_DATA_ERROR_ASPECT_RATIO,
                       "%ux%u: within %" G_GUINT64_FORMAT
                       " pixels smart-resize=qwen-vl-utils leaves %" G_GINT64_FORMAT
                       "x%" G_GINT64_FORMAT "; smart-resize=hf does not",
                       width, height, rule->max_pixels, w, h);
    return FALSE;
  }
  if (h > G_MAXINT32 / 3 || w > G_MAXINT32 / 3 || h > G_MAXINT32 / w) {
    hr_set_data_error (error, HR_DATA_ERROR_IMAGE_TOO_LARGE,
                       "%ux%u would become %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT, width, height,
                       w, h);
    return FALSE;
  }
  *out_height = (gint32)h;
  *out_width = (gint32)w;
  return TRUE;
}
