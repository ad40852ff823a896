/* resample.h: the exact bicubic resize of RGB images */
#pragma once
#include "resample-kernel.h"

G_BEGIN_DECLS

/**
 * HrResampler:
 *
 * Weights and scratch memory of one thread, kept from image to image.
 */
typedef struct _HrResampler HrResampler;

/* @kernels: NULL-terminated, the best first: hr_kernels(), or fewer in a test */
HrResampler *hr_resampler_new (HrReference reference, const HrKernel *const *kernels);
void hr_resampler_free (HrResampler *resampler);

/**
 * hr_resampler_resize:
 * @in: uint8 [in_height, in_width, 3], rows @stride bytes apart; no byte behind its last pixel is
 *   read
 * @out: uint8 [out_height, out_width, 3], contiguous; every byte is written once
 *
 * Antialiased bicubic with a = -0.5: the horizontal pass first, rounded to 8 bits, then the
 * vertical one; an axis whose size does not change is left out. Sizes are at least 1.
 */
void hr_resampler_resize (HrResampler *resampler, const guint8 *in, guint in_height, guint in_width,
                          gsize stride, guint8 *out, guint out_height, guint out_width);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrResampler, hr_resampler_free)

G_END_DECLS
