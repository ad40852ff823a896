/* upload.c: one batch on its way to a device: when it is there, who waits for that, and how long
 * it took */
#include "upload.h"
#include "hr-sync.h"

/* two events with time in one stream: between them it did nothing but wait */
typedef struct {
  HrCudaDevice *device;
  HrCudaEvent begin, end;
} Span;

struct _HrCudaMeter {
  gint ref_count;
  HrMutex lock;
  gint64 copied, waited; /* nanoseconds */
  GArray *spans;         /* Span: of consumers that still wait, or did when somebody looked last */
};

struct _HrCudaUpload {
  gint ref_count;
  HrCudaDevice *device;
  HrCudaMeter *meter;
  HrCudaEvent begin, end;
  HrMutex lock;
  GArray *streams; /* HrCudaStream: those that are behind it */
};

/* ---- times ---- */

HrCudaMeter *
hr_cuda_meter_new (void)
{
  HrCudaMeter *meter = g_new0 (HrCudaMeter, 1);

  meter->ref_count = 1;
  meter->spans = g_array_new (FALSE, FALSE, sizeof (Span));
  hr_mutex_init (&meter->lock);
  return meter;
}

HrCudaMeter *
hr_cuda_meter_ref (HrCudaMeter *meter)
{
  g_atomic_int_inc (&meter->ref_count);
  return meter;
}

static void
span_clear (Span *span)
{
  if (span->begin != NULL)
    hr_cuda_device_put_event (span->device, span->begin, TRUE);
  if (span->end != NULL)
    hr_cuda_device_put_event (span->device, span->end, TRUE);
  hr_allocator_unref (&span->device->parent);
}

void
hr_cuda_meter_unref (HrCudaMeter *meter)
{
  if (!g_atomic_int_dec_and_test (&meter->ref_count))
    return;
  for (guint i = 0; i < meter->spans->len; i++)
    span_clear (&g_array_index (meter->spans, Span, i));
  g_array_unref (meter->spans);
  hr_mutex_clear (&meter->lock);
  g_free (meter);
}

/* -1: they have not happened, or cannot be compared */
static gint64
elapsed (const HrCudaDevice *device, HrCudaEvent begin, HrCudaEvent end)
{
  float milliseconds = 0;

  if (device->cudart->EventElapsedTime (&milliseconds, begin, end) == HR_CUDA_SUCCESS)
    return (gint64)((double)milliseconds * 1e6);
  device->cudart->GetLastError ();
  return -1;
}

/* with the lock */
static void
settle_spans (HrCudaMeter *meter)
{
  for (guint i = meter->spans->len; i-- > 0;) {
    Span *span = &g_array_index (meter->spans, Span, i);
    int code = span->device->cudart->EventQuery (span->end);

    if (code == HR_CUDA_NOT_READY) {
      span->device->cudart->GetLastError ();
      continue;
    }
    meter->waited += MAX (elapsed (span->device, span->begin, span->end), 0);
    span_clear (span);
    g_array_remove_index_fast (meter->spans, i);
  }
}

void
hr_cuda_meter_get (HrCudaMeter *meter, gint64 *copied, gint64 *waited)
{
  hr_mutex_lock (&meter->lock);
  settle_spans (meter);
  *copied = meter->copied;
  *waited = meter->waited;
  hr_mutex_unlock (&meter->lock);
}

/* ---- a batch ---- */

HrCudaUpload *
hr_cuda_upload_begin (HrCudaDevice *device, HrCudaMeter *meter, GError **error)
{
  HrCudaUpload *upload = g_new0 (HrCudaUpload, 1);

  upload->ref_count = 1;
  upload->device = (HrCudaDevice *)hr_allocator_ref (&device->parent);
  upload->meter = hr_cuda_meter_ref (meter);
  upload->streams = g_array_new (FALSE, FALSE, sizeof (HrCudaStream));
  hr_mutex_init (&upload->lock);
  upload->begin = hr_cuda_device_get_event (device, TRUE, error);
  upload->end = upload->begin != NULL ? hr_cuda_device_get_event (device, TRUE, error) : NULL;
  if (upload->end != NULL
      && hr_cuda_device_check (device, device->cudart->EventRecord (upload->begin, device->stream),
                               "copying to it", error))
    return upload;
  hr_cuda_upload_unref (upload);
  return NULL;
}

gboolean
hr_cuda_upload_end (HrCudaUpload *upload, GError **error)
{
  HrCudaDevice *device = upload->device;

  return hr_cuda_device_check (device, device->cudart->EventRecord (upload->end, device->stream),
                               "copying to it", error);
}

HrCudaUpload *
hr_cuda_upload_ref (HrCudaUpload *upload)
{
  g_atomic_int_inc (&upload->ref_count);
  return upload;
}

void
hr_cuda_upload_unref (HrCudaUpload *upload)
{
  if (!g_atomic_int_dec_and_test (&upload->ref_count))
    return;
  if (upload->begin != NULL)
    hr_cuda_device_put_event (upload->device, upload->begin, TRUE);
  if (upload->end != NULL)
    hr_cuda_device_put_event (upload->device, upload->end, TRUE);
  hr_allocator_unref (&upload->device->parent);
  hr_cuda_meter_unref (upload->meter);
  g_array_unref (upload->streams);
  hr_mutex_clear (&upload->lock);
  g_free (upload);
}

/* the stream's own clock says how long it stands still */
static gboolean
wait_in_stream (HrCudaUpload *upload, HrCudaStream stream, GError **error)
{
  HrCudaDevice *device = upload->device;
  const HrCudart *cudart = device->cudart;
  HrCudaMeter *meter = upload->meter;
  Span span = { (HrCudaDevice *)hr_allocator_ref (&device->parent), NULL, NULL };
  gboolean ok;

  span.begin = hr_cuda_device_get_event (device, TRUE, error);
  span.end = span.begin != NULL ? hr_cuda_device_get_event (device, TRUE, error) : NULL;
  ok = span.end != NULL
       && hr_cuda_device_check (device, cudart->EventRecord (span.begin, stream),
                                "the stream that the batch is wanted in", error)
       && hr_cuda_device_check (device, cudart->StreamWaitEvent (stream, upload->end, 0),
                                "the stream that the batch is wanted in", error)
       && hr_cuda_device_check (device, cudart->EventRecord (span.end, stream),
                                "the stream that the batch is wanted in", error);
  if (!ok) {
    span_clear (&span);
    return FALSE;
  }
  hr_mutex_lock (&meter->lock);
  settle_spans (meter);
  g_array_append_val (meter->spans, span);
  hr_mutex_unlock (&meter->lock);
  return TRUE;
}

gboolean
hr_cuda_upload_let_wait (HrCudaUpload *upload, HrCudaStream stream, GError **error)
{
  gboolean behind = FALSE, ok = TRUE;

  hr_mutex_lock (&upload->lock);
  for (guint i = 0; i < upload->streams->len; i++)
    behind |= g_array_index (upload->streams, HrCudaStream, i) == stream;
  if (!behind)
    ok = wait_in_stream (upload, stream, error);
  if (ok && !behind)
    g_array_append_val (upload->streams, stream);
  hr_mutex_unlock (&upload->lock);
  return ok;
}

gboolean
hr_cuda_upload_wait (HrCudaUpload *upload, GError **error)
{
  HrCudaMeter *meter = upload->meter;
  gint64 time;

  if (!hr_cuda_device_check (upload->device, upload->device->cudart->EventSynchronize (upload->end),
                             "copying to it", error))
    return FALSE;
  time = elapsed (upload->device, upload->begin, upload->end);
  hr_mutex_lock (&meter->lock);
  meter->copied += MAX (time, 0);
  hr_mutex_unlock (&meter->lock);
  return TRUE;
}
