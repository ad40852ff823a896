/* resample-axis.h: weights of a bicubic resize along one axis */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * HrReference:
 * @HR_REFERENCE_PILLOW: 22-bit weights, to the bit what Pillow up to 11.3 does
 * @HR_REFERENCE_TORCHVISION: 16-bit weights, to the bit what torchvision does with uint8
 */
typedef enum { HR_REFERENCE_PILLOW, HR_REFERENCE_TORCHVISION } HrReference;

/**
 * HrAxis:
 * @in: samples along the axis
 * @out: samples wanted
 * @precision: sum of a sample's weights is about 1 << precision
 * @max_taps: largest of @count
 * @first: [out] the first input sample each output uses; never falls
 * @count: [out] how many it uses, at least 1
 * @weights: [out][max_taps], 0 behind @count
 * @fits: every weight fits into 24 bits with its sign, so it may be split into bytes
 * @packed: a kernel's own form of the weights; freed with the axis
 */
typedef struct {
  guint in;
  guint out;
  guint precision;
  guint max_taps;
  guint32 *first;
  guint32 *count;
  gint32 *weights;
  gboolean fits;
  gpointer packed;
} HrAxis;

/* antialiased bicubic, a = -0.5; any in and out of at least 1 */
HrAxis *hr_axis_new (guint in, guint out, HrReference reference);
void hr_axis_free (HrAxis *axis);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrAxis, hr_axis_free)

G_END_DECLS
