/* send.h: puts all tensors of a batch on a device, and makes patches of its images there */
#pragma once
#include "kernel.h"
#include "upload.h"

G_BEGIN_DECLS

/**
 * HrCudaTarget:
 * @kernel: (nullable): %NULL until images come
 *
 * A device that batches go to.
 */
typedef struct {
  HrCudaDevice *device;
  HrPatchKernelOn *kernel;
  HrPatchShape shape;
  HrPatchTable table;
  HrCudaMeter *meter;
} HrCudaTarget;

/**
 * hr_cuda_send:
 * @batch: writable; its tensors become the device's
 * @sources: (element-type HrMemory): gets what must stay as it is until the upload is over
 * @out: where staged bytes are counted
 * @error: #HR_RESOURCE_ERROR, or what is wrong with an image
 *
 * Puts copies, and the kernel if there are images, into the device's stream, without waiting. The
 * device must be the thread's. What fails half way leaves nothing that is not in @sources.
 *
 * Returns: (transfer full): the upload, that reading the tensors waits for
 */
HrCudaUpload *hr_cuda_send (HrCudaTarget *target, HrBuffer *batch, GPtrArray *sources, HrOut *out,
                            GError **error);

G_END_DECLS
