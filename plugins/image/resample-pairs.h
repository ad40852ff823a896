/* resample-pairs.h: weights for kernels that multiply two taps at once
 *
 * A weight of 24 bits is split into a low half of 16 bits with its sign and what is left above it:
 * sum = low + (high << 16), exact modulo 2^32. */
#pragma once
#include "resample-axis.h"

G_BEGIN_DECLS

static inline gint32
hr_pair (gint32 first, gint32 second)
{
  return (gint32)((guint32)(guint16)first | (guint32)second << 16);
}

static inline gint32
hr_low_half (gint32 weight)
{
  return (gint16)weight;
}

static inline gint32
hr_high_half (gint32 weight)
{
  return (weight - (gint16)weight) >> 16;
}

/* axis->packed: per output, per pair of taps, low halves and high halves; 0 behind the last tap */
void hr_pairs_pack (HrAxis *axis);

/* where the weights of output @index begin in it */
static inline const gint32 *
hr_pairs_of (const HrAxis *axis, guint index)
{
  return (const gint32 *)axis->packed + (gsize)index * ((axis->max_taps + 1) / 2) * 2;
}

G_END_DECLS
