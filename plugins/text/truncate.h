/* truncate.h: what to do with samples that are too long */
#pragma once
#include "smart-resize.h"

G_BEGIN_DECLS

/**
 * HrOverlong:
 * @HR_OVERLONG_DROP: leave the sample out
 * @HR_OVERLONG_TRUNCATE_RIGHT: cut its end off
 * @HR_OVERLONG_SHRINK: make its images smaller
 * @HR_OVERLONG_ERROR: it is a bad sample
 */
typedef enum {
  HR_OVERLONG_DROP,
  HR_OVERLONG_TRUNCATE_RIGHT,
  HR_OVERLONG_SHRINK,
  HR_OVERLONG_ERROR
} HrOverlong;

/* an image or video from its start token to behind its end token */
typedef struct {
  gint64 begin;
  gint64 end;
} HrMediaSpan;

/**
 * hr_truncate_cut:
 * @spans: in order
 * @most: tokens that may be left
 *
 * Returns: how many are left when the end is cut off, but no image in two
 */
gint64 hr_truncate_cut (const HrMediaSpan *spans, guint n_spans, gint64 most);

/**
 * hr_truncate_shrink:
 * @rule: its max_pixels is what is lowered, down to its min_pixels at most
 * @sizes: height and width of each image, as they are
 * @n: images
 * @most: tokens that all of them together may have
 * @targets: (out): height and width of each image, resized
 *
 * The largest max_pixels is taken with which they fit. Larger ones do not always mean more tokens
 * (an image whose natural size is allowed may have fewer than it had just below), so all stretches
 * between the natural sizes are looked at.
 *
 * Returns: the max_pixels; 0 if there is none
 */
guint64 hr_truncate_shrink (const HrSmartResize *rule, const guint32 *sizes, guint n, gint64 most,
                            gint32 *targets);

G_END_DECLS
