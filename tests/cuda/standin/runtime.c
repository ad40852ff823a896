/* runtime.c: the functions of the library: devices, memory, streams, events */
#include "call.h"

#define DEVICE_TO_DEVICE 3 /* cudaMemcpyKind */

__thread int standin_device;
static __thread int last_error;
static GPtrArray *events; /* for ever */

int
standin_leave (int code)
{
  if (code != 0 && code != HR_CUDA_NOT_READY)
    last_error = code;
  standin_unlock ();
  return code;
}

int
standin_find_devices (void)
{
  if (standin_config.driver / 1000 < standin_config.runtime / 1000)
    return HR_CUDA_INSUFFICIENT_DRIVER;
  return standin_config.n_devices > 0 ? 0 : HR_CUDA_NO_DEVICE;
}

gpointer
standin_remember (GPtrArray **list, gpointer object)
{
  if (*list == NULL)
    *list = g_ptr_array_new ();
  g_ptr_array_add (*list, object);
  return object;
}

gboolean
standin_knows (const GPtrArray *list, gconstpointer object)
{
  for (guint i = 0; list != NULL && i < list->len; i++)
    if (list->pdata[i] == object)
      return TRUE;
  return FALSE;
}

void
standin_runtime_list_left (GPtrArray *lines)
{
  for (guint i = 0; events != NULL && i < events->len; i++)
    if (!((HrCudaEvent)events->pdata[i])->destroyed)
      g_ptr_array_add (lines, g_strdup_printf ("event %u", i));
}

/* ---- devices ---- */

int
cudaRuntimeGetVersion (int *version)
{
  ENTER ("RuntimeGetVersion");
  *version = standin_config.runtime;
  return standin_leave (0);
}

int
cudaDriverGetVersion (int *version)
{
  ENTER ("DriverGetVersion");
  *version = standin_config.driver;
  return standin_leave (0);
}

int
cudaGetDeviceCount (int *count)
{
  ENTER ("GetDeviceCount");
  *count = 0;
  if (standin_find_devices () != 0)
    return standin_leave (standin_find_devices ());
  *count = standin_config.n_devices;
  return standin_leave (0);
}

int
cudaGetDevice (int *device)
{
  ENTER_DEVICE ("GetDevice");
  *device = standin_device;
  return standin_leave (0);
}

int
cudaSetDevice (int device)
{
  ENTER_DEVICE ("SetDevice");
  if (device < 0 || device >= standin_config.n_devices)
    return standin_leave (HR_CUDA_INVALID_DEVICE);
  standin_device = device;
  return standin_leave (0);
}

int
cudaDeviceGetAttribute (int *value, int attribute, int device)
{
  ENTER_DEVICE ("DeviceGetAttribute");
  if (device < 0 || device >= standin_config.n_devices)
    return standin_leave (HR_CUDA_INVALID_DEVICE);
  if (attribute != HR_CUDA_ATTRIBUTE_MAJOR && attribute != HR_CUDA_ATTRIBUTE_MINOR)
    return standin_leave (HR_CUDA_INVALID_VALUE);
  *value = attribute == HR_CUDA_ATTRIBUTE_MAJOR ? standin_config.major : standin_config.minor;
  return standin_leave (0);
}

int
cudaGetLastError (void)
{
  int error = last_error;

  last_error = 0;
  return error;
}

const char *
cudaGetErrorName (int error)
{
  return error == 0                   ? "cudaSuccess"
         : error == HR_CUDA_NO_MEMORY ? "cudaErrorMemoryAllocation"
                                      : "cudaErrorStandIn";
}

const char *
cudaGetErrorString (int error)
{
  return error == 0                   ? "no error"
         : error == HR_CUDA_NO_MEMORY ? "out of memory"
                                      : "an error of the stand-in";
}

/* ---- memory ---- */

int
cudaMemGetInfo (size_t *free, size_t *total)
{
  ENTER_DEVICE ("MemGetInfo");
  *total = standin_config.memory;
  *free = standin_config.memory - standin_memory_used (standin_device);
  return standin_leave (0);
}

static int
allocate (void **memory, size_t size, int device)
{
  *memory = NULL;
  if (size == 0)
    return 0;
  *memory = standin_memory_new (device, size);
  return *memory != NULL ? 0 : HR_CUDA_NO_MEMORY;
}

int
cudaHostAlloc (void **memory, size_t size, unsigned int flags)
{
  ENTER_DEVICE ("HostAlloc");
  if ((flags & ~HR_CUDA_HOST_PORTABLE) != 0)
    return standin_leave (HR_CUDA_INVALID_VALUE);
  return standin_leave (allocate (memory, size, STANDIN_HOST));
}

int
cudaMalloc (void **memory, size_t size)
{
  ENTER_DEVICE ("Malloc");
  return standin_leave (allocate (memory, size, standin_device));
}

int
cudaFreeHost (void *memory)
{
  ENTER_DEVICE ("FreeHost");
  return standin_leave (
      memory == NULL || standin_memory_free (memory, STANDIN_HOST) ? 0 : HR_CUDA_INVALID_VALUE);
}

int
cudaFree (void *memory)
{
  ENTER_DEVICE ("Free");
  return standin_leave (
      memory == NULL || standin_memory_free (memory, standin_device) ? 0 : HR_CUDA_INVALID_VALUE);
}

/* Host memory that is not pinned: the driver copies it aside before it returns. */
static void
give_pageable (StandinWork *work)
{
  StandinStream *stream = work->stream;

  standin_misuse ("pageable",
                  "a copy of %zu bytes is asynchronous only if the host's memory is pinned",
                  work->size);
  g_clear_pointer (&work->before, g_free);
  standin_work_give (work);
  standin_work_finish (stream, stream->given, &stream->clock);
}

static gboolean
is_on_device (const void *memory)
{
  const StandinBlock *block = standin_memory_find (memory);

  return block != NULL && block->device != STANDIN_HOST;
}

/* FALSE, with a misuse: a side of a copy is not where its kind says; what is in no block is the
 * host's, not pinned */
static gboolean
check_sides (const void *into, const void *from, int kind)
{
  if (is_on_device (into) == (kind != HR_CUDA_DEVICE_TO_HOST)
      && is_on_device (from) == (kind != HR_CUDA_HOST_TO_DEVICE))
    return TRUE;
  standin_misuse ("bad-address", "a copy of kind %d, but not from there to there: to %p, from %p",
                  kind, into, from);
  return FALSE;
}

int
cudaMemcpyAsync (void *into, const void *from, size_t size, int kind, HrCudaStream handle)
{
  StandinStream *stream;
  StandinWork *work;
  gboolean pageable;

  ENTER_DEVICE ("MemcpyAsync");
  stream = standin_stream_get (handle, standin_device, FALSE);
  if (stream == NULL)
    return standin_leave (STANDIN_INVALID_HANDLE);
  if (kind < HR_CUDA_HOST_TO_DEVICE || kind > DEVICE_TO_DEVICE)
    return standin_leave (HR_CUDA_INVALID_VALUE);
  if (size == 0)
    return standin_leave (0);
  if (!check_sides (into, from, kind))
    return standin_leave (HR_CUDA_INVALID_VALUE);
  work = standin_work_new (STANDIN_COPY, stream);
  work->into = into;
  work->from = from;
  work->size = size;
  if (standin_memory_find (from) != NULL)
    standin_work_touch (work, from, size, FALSE, "the source of a copy");
  if (standin_memory_find (into) != NULL)
    standin_work_touch (work, into, size, TRUE, "the destination of a copy");
  if (kind == HR_CUDA_HOST_TO_DEVICE && !work->dead)
    work->before = g_memdup2 (from, size);
  pageable = standin_memory_find (from) == NULL || standin_memory_find (into) == NULL;
  if (pageable && !work->dead)
    give_pageable (work);
  else
    standin_work_give (work);
  return standin_leave (0);
}

/* ---- streams ---- */

int
cudaStreamCreateWithFlags (HrCudaStream *stream, unsigned int flags)
{
  ENTER_DEVICE ("StreamCreateWithFlags");
  if ((flags & ~HR_CUDA_STREAM_NON_BLOCKING) != 0)
    return standin_leave (HR_CUDA_INVALID_VALUE);
  *stream = (HrCudaStream)(gpointer)standin_stream_new (standin_device);
  return standin_leave (0);
}

/* what is on it is done all the same */
int
cudaStreamDestroy (HrCudaStream handle)
{
  StandinStream *stream;

  ENTER_DEVICE ("StreamDestroy");
  stream = standin_stream_get (handle, standin_device, FALSE);
  if (stream == NULL || stream->built_in)
    return standin_leave (STANDIN_INVALID_HANDLE);
  stream->destroyed = TRUE;
  return standin_leave (0);
}

int
cudaStreamSynchronize (HrCudaStream handle)
{
  StandinStream *stream;

  ENTER_DEVICE ("StreamSynchronize");
  stream = standin_stream_get (handle, standin_device, FALSE);
  if (stream == NULL)
    return standin_leave (STANDIN_INVALID_HANDLE);
  standin_work_finish (stream, stream->given, &stream->clock);
  return standin_leave (0);
}

/* ---- events ---- */

/* NULL, with a misuse: it is none, or was not recorded though @what wants that. The library itself
 * takes the latter for an event that has happened. */
static HrCudaEvent
get_event (HrCudaEvent event, const char *what)
{
  if (!standin_knows (events, event) || event->destroyed) {
    standin_misuse ("bad-event", "%p is no event", (gpointer)event);
    return NULL;
  }
  if (what != NULL && event->generation == 0)
    standin_misuse ("never-recorded", "%s an event that was never recorded", what);
  return event;
}

int
cudaEventCreateWithFlags (HrCudaEvent *event, unsigned int flags)
{
  ENTER_DEVICE ("EventCreateWithFlags");
  *event = standin_remember (&events, g_new0 (struct CUevent_st, 1));
  (*event)->device = standin_device;
  (*event)->flags = flags;
  return standin_leave (0);
}

int
cudaEventDestroy (HrCudaEvent event)
{
  ENTER_DEVICE ("EventDestroy");
  if (get_event (event, NULL) == NULL)
    return standin_leave (STANDIN_INVALID_HANDLE);
  event->destroyed = TRUE;
  return standin_leave (0);
}

int
cudaEventRecord (HrCudaEvent event, HrCudaStream handle)
{
  StandinStream *stream;
  StandinWork *work;

  ENTER_DEVICE ("EventRecord");
  stream = standin_stream_get (handle, standin_device, FALSE);
  if (stream == NULL || get_event (event, NULL) == NULL)
    return standin_leave (STANDIN_INVALID_HANDLE);
  if (stream->device != event->device) {
    standin_misuse ("wrong-device", "an event of device %d is recorded on a stream of device %d",
                    event->device, stream->device);
    return standin_leave (STANDIN_INVALID_HANDLE);
  }
  work = standin_work_new (STANDIN_RECORD, stream);
  work->event = event;
  work->generation = ++event->generation;
  event->stream = stream;
  event->index = work->index;
  event->queries = 0;
  standin_clock_clear (&event->clock);
  event->clock = standin_clock_copy (&work->clock);
  standin_work_give (work);
  return standin_leave (0);
}

int
cudaStreamWaitEvent (HrCudaStream handle, HrCudaEvent event, unsigned int flags)
{
  StandinStream *stream;
  StandinWork *work;

  ENTER_DEVICE ("StreamWaitEvent");
  stream = standin_stream_get (handle, standin_device, FALSE);
  if (stream == NULL || get_event (event, "a stream waits for") == NULL)
    return standin_leave (STANDIN_INVALID_HANDLE);
  if (flags != 0)
    return standin_leave (HR_CUDA_INVALID_VALUE);
  if (event->generation == 0)
    return standin_leave (0);
  work = standin_work_new (STANDIN_WAIT, stream);
  work->other = event->stream;
  work->other_index = event->index;
  standin_clock_merge (&work->clock, &event->clock);
  standin_work_give (work);
  return standin_leave (0);
}

/* it never happens by itself when everything is late: the third question has it done */
int
cudaEventQuery (HrCudaEvent event)
{
  ENTER_DEVICE ("EventQuery");
  if (get_event (event, "somebody asks for") == NULL)
    return standin_leave (STANDIN_INVALID_HANDLE);
  if (event->generation == 0)
    return standin_leave (0);
  if (event->stream->done < event->index && ++event->queries < 3)
    return standin_leave (HR_CUDA_NOT_READY);
  standin_work_finish (event->stream, event->index, &event->clock);
  return standin_leave (0);
}

int
cudaEventSynchronize (HrCudaEvent event)
{
  ENTER_DEVICE ("EventSynchronize");
  if (get_event (event, "the host waits for") == NULL)
    return standin_leave (STANDIN_INVALID_HANDLE);
  if (event->generation > 0)
    standin_work_finish (event->stream, event->index, &event->clock);
  return standin_leave (0);
}

int
cudaEventElapsedTime (float *milliseconds, HrCudaEvent begin, HrCudaEvent end)
{
  ENTER_DEVICE ("EventElapsedTime");
  if (get_event (begin, "a time begins with") == NULL || get_event (end, "a time ends with") == NULL
      || begin->generation == 0 || end->generation == 0 || begin->device != end->device
      || ((begin->flags | end->flags) & HR_CUDA_EVENT_DISABLE_TIMING) != 0)
    return standin_leave (STANDIN_INVALID_HANDLE);
  if (begin->stream->done < begin->index || end->stream->done < end->index)
    return standin_leave (HR_CUDA_NOT_READY);
  *milliseconds = (float)((end->time - begin->time) / 1000);
  return standin_leave (0);
}
