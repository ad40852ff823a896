/* resample-pairs.c: weights for kernels that multiply two taps at once */
#include "resample-pairs.h"

void
hr_pairs_pack (HrAxis *axis)
{
  guint pairs = (axis->max_taps + 1) / 2;
  gint32 *to = g_new0 (gint32, (gsize)axis->out * pairs * 2);

  axis->packed = to;
  for (guint i = 0; i < axis->out; i++)
    for (guint p = 0; p < pairs; p++, to += 2) {
      const gint32 *weights = axis->weights + (gsize)i * axis->max_taps;
      gint32 first = weights[p * 2], second = p * 2 + 1 < axis->max_taps ? weights[p * 2 + 1] : 0;

      to[0] = hr_pair (hr_low_half (first), hr_low_half (second));
      to[1] = hr_pair (hr_high_half (first), hr_high_half (second));
    }
}
