/* upload.h: one batch on its way to a device: when it is there, who waits for that, and how long
 * it took */
#pragma once
#include "device.h"

G_BEGIN_DECLS

/**
 * HrCudaMeter:
 *
 * How long copies took and consumers stood still for them, by the device's own clock. Refcounted:
 * consumers that have batches when the pipeline is gone still wait.
 */
typedef struct _HrCudaMeter HrCudaMeter;
HrCudaMeter *hr_cuda_meter_new (void);
HrCudaMeter *hr_cuda_meter_ref (HrCudaMeter *meter);
void hr_cuda_meter_unref (HrCudaMeter *meter);
/* nanoseconds so far, of what has ended */
void hr_cuda_meter_get (HrCudaMeter *meter, gint64 *copied, gint64 *waited);

/* refcounted */
typedef struct _HrCudaUpload HrCudaUpload;

/* begins it: what is put into the device's stream from here on is part of it. (transfer full) */
HrCudaUpload *hr_cuda_upload_begin (HrCudaDevice *device, HrCudaMeter *meter, GError **error);
/* … up to here */
gboolean hr_cuda_upload_end (HrCudaUpload *upload, GError **error);
HrCudaUpload *hr_cuda_upload_ref (HrCudaUpload *upload);
void hr_cuda_upload_unref (HrCudaUpload *upload);
/* what @stream does from here on comes behind it; the device must be the thread's */
gboolean hr_cuda_upload_let_wait (HrCudaUpload *upload, HrCudaStream stream, GError **error);
/* sleeps until it is there, and counts its time; for a thread of its own */
gboolean hr_cuda_upload_wait (HrCudaUpload *upload, GError **error);

G_END_DECLS
