/* kernel.h: the kernel that makes patches of pixels, on one device */
#pragma once
#include "device.h"
#include "kernel-params.h"
#include "patch.h"

G_BEGIN_DECLS

/**
 * HrPatchKernelOn:
 *
 * Loaded for one device, with its table of numbers there.
 */
typedef struct _HrPatchKernelOn HrPatchKernelOn;

/**
 * hr_patch_kernel_load:
 * @error: #HR_RESOURCE_ERROR_NOT_FOUND: this build has no kernel; #HR_RESOURCE_ERROR_FAILED: it has
 *   none for this device
 *
 * Reads the file that HR_CUDA_KERNEL names, else hrpatchify.fatbin beside the plugin or where the
 * build leaves it. The device must be the thread's.
 *
 * Returns: (transfer full): the kernel
 */
HrPatchKernelOn *hr_patch_kernel_load (HrCudaDevice *device, const HrPatchShape *shape,
                                       const HrPatchTable *table, GError **error);
void hr_patch_kernel_free (HrPatchKernelOn *kernel);

/**
 * hr_patch_kernel_launch:
 * @params: with pixels, images, out, n_rows and n_images; the rest is filled in here
 *
 * Puts it into the device's stream.
 */
gboolean hr_patch_kernel_launch (const HrPatchKernelOn *kernel, HrPatchParams *params,
                                 GError **error);

G_END_DECLS
