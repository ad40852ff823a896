/* runtime.c: the functions of the library */
#include <string.h>
#include "standin.h"

#define INVALID_HANDLE 400 /* cudaErrorInvalidResourceHandle */
#define INVALID_CONFIGURATION 9
#define DEVICE_TO_DEVICE 3 /* cudaMemcpyKind */

#define X(name, arguments) int cuda##name arguments;
#define T(name, arguments) const char *cuda##name arguments;
HR_CUDA_FUNCTIONS (X, T)
#undef X
#undef T
/* a runtime before 12.8 leaves these to the driver */
#ifdef STANDIN_BEFORE_12_8
#define LIBRARY_FUNCTION(name) cu##name
int cuLaunchKernel (HrCudaKernel kernel, unsigned int grid_x, unsigned int grid_y,
                    unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                    unsigned int block_z, unsigned int shared, HrCudaStream stream,
                    void **arguments, void **extra);
#else
#define LIBRARY_FUNCTION(name) cuda##name
#endif
#define X(name, arguments) int LIBRARY_FUNCTION (name) arguments;
HR_CUDA_LIBRARY_FUNCTIONS (X)
#undef X

struct CUlib_st {
  gboolean unloaded;
  gboolean fits;
};

struct CUkern_st {
  HrCudaLibrary library;
};

static __thread int current_device;
static __thread int last_error;
static GPtrArray *events, *libraries, *kernels; /* for ever */

static int
leave (int code)
{
  if (code != 0 && code != HR_CUDA_NOT_READY)
    last_error = code;
  standin_unlock ();
  return code;
}

/* begins a function: returns from it with the error that is asked for */
#define ENTER(name)                                                                                \
  do {                                                                                             \
    int failure_;                                                                                  \
                                                                                                   \
    standin_lock ();                                                                               \
    standin_work_go_on ();                                                                         \
    failure_ = standin_fail (name);                                                                \
    if (failure_ != 0)                                                                             \
      return leave (failure_);                                                                     \
  } while (0)

/* and one that needs a device */
#define ENTER_DEVICE(name)                                                                         \
  do {                                                                                             \
    ENTER (name);                                                                                  \
    if (find_devices () != 0)                                                                      \
      return leave (find_devices ());                                                              \
  } while (0)

static int
find_devices (void)
{
  if (standin_config.driver / 1000 < standin_config.runtime / 1000)
    return HR_CUDA_INSUFFICIENT_DRIVER;
  return standin_config.n_devices > 0 ? 0 : HR_CUDA_NO_DEVICE;
}

static gpointer
remember (GPtrArray **list, gpointer object)
{
  if (*list == NULL)
    *list = g_ptr_array_new ();
  g_ptr_array_add (*list, object);
  return object;
}

static gboolean
knows (const GPtrArray *list, gconstpointer object)
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
  for (guint i = 0; libraries != NULL && i < libraries->len; i++)
    if (!((HrCudaLibrary)libraries->pdata[i])->unloaded)
      g_ptr_array_add (lines, g_strdup_printf ("code %u", i));
}

/* ---- devices ---- */

int
cudaRuntimeGetVersion (int *version)
{
  ENTER ("RuntimeGetVersion");
  *version = standin_config.runtime;
  return leave (0);
}

int
cudaDriverGetVersion (int *version)
{
  ENTER ("DriverGetVersion");
  *version = standin_config.driver;
  return leave (0);
}

int
cudaGetDeviceCount (int *count)
{
  ENTER ("GetDeviceCount");
  *count = 0;
  if (find_devices () != 0)
    return leave (find_devices ());
  *count = standin_config.n_devices;
  return leave (0);
}

int
cudaGetDevice (int *device)
{
  ENTER_DEVICE ("GetDevice");
  *device = current_device;
  return leave (0);
}

int
cudaSetDevice (int device)
{
  ENTER_DEVICE ("SetDevice");
  if (device < 0 || device >= standin_config.n_devices)
    return leave (HR_CUDA_INVALID_DEVICE);
  current_device = device;
  return leave (0);
}

int
cudaDeviceGetAttribute (int *value, int attribute, int device)
{
  ENTER_DEVICE ("DeviceGetAttribute");
  if (device < 0 || device >= standin_config.n_devices)
    return leave (HR_CUDA_INVALID_DEVICE);
  if (attribute != HR_CUDA_ATTRIBUTE_MAJOR && attribute != HR_CUDA_ATTRIBUTE_MINOR)
    return leave (HR_CUDA_INVALID_VALUE);
  *value = attribute == HR_CUDA_ATTRIBUTE_MAJOR ? standin_config.major : standin_config.minor;
  return leave (0);
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
  *free = standin_config.memory - standin_memory_used (current_device);
  return leave (0);
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
    return leave (HR_CUDA_INVALID_VALUE);
  return leave (allocate (memory, size, STANDIN_HOST));
}

int
cudaMalloc (void **memory, size_t size)
{
  ENTER_DEVICE ("Malloc");
  return leave (allocate (memory, size, current_device));
}

int
cudaFreeHost (void *memory)
{
  ENTER_DEVICE ("FreeHost");
  return leave (
      memory == NULL || standin_memory_free (memory, STANDIN_HOST) ? 0 : HR_CUDA_INVALID_VALUE);
}

int
cudaFree (void *memory)
{
  ENTER_DEVICE ("Free");
  return leave (
      memory == NULL || standin_memory_free (memory, current_device) ? 0 : HR_CUDA_INVALID_VALUE);
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
  stream = standin_stream_get (handle, current_device, FALSE);
  if (stream == NULL)
    return leave (INVALID_HANDLE);
  if (kind < HR_CUDA_HOST_TO_DEVICE || kind > DEVICE_TO_DEVICE)
    return leave (HR_CUDA_INVALID_VALUE);
  if (size == 0)
    return leave (0);
  if (!check_sides (into, from, kind))
    return leave (HR_CUDA_INVALID_VALUE);
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
  return leave (0);
}

/* ---- streams ---- */

int
cudaStreamCreateWithFlags (HrCudaStream *stream, unsigned int flags)
{
  ENTER_DEVICE ("StreamCreateWithFlags");
  if ((flags & ~HR_CUDA_STREAM_NON_BLOCKING) != 0)
    return leave (HR_CUDA_INVALID_VALUE);
  *stream = (HrCudaStream)(gpointer)standin_stream_new (current_device);
  return leave (0);
}

/* what is on it is done all the same */
int
cudaStreamDestroy (HrCudaStream handle)
{
  StandinStream *stream;

  ENTER_DEVICE ("StreamDestroy");
  stream = standin_stream_get (handle, current_device, FALSE);
  if (stream == NULL || stream->built_in)
    return leave (INVALID_HANDLE);
  stream->destroyed = TRUE;
  return leave (0);
}

int
cudaStreamSynchronize (HrCudaStream handle)
{
  StandinStream *stream;

  ENTER_DEVICE ("StreamSynchronize");
  stream = standin_stream_get (handle, current_device, FALSE);
  if (stream == NULL)
    return leave (INVALID_HANDLE);
  standin_work_finish (stream, stream->given, &stream->clock);
  return leave (0);
}

/* ---- events ---- */

/* NULL, with a misuse: it is none, or was not recorded though @what wants that. The library itself
 * takes the latter for an event that has happened. */
static HrCudaEvent
get_event (HrCudaEvent event, const char *what)
{
  if (!knows (events, event) || event->destroyed) {
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
  *event = remember (&events, g_new0 (struct CUevent_st, 1));
  (*event)->device = current_device;
  (*event)->flags = flags;
  return leave (0);
}

int
cudaEventDestroy (HrCudaEvent event)
{
  ENTER_DEVICE ("EventDestroy");
  if (get_event (event, NULL) == NULL)
    return leave (INVALID_HANDLE);
  event->destroyed = TRUE;
  return leave (0);
}

int
cudaEventRecord (HrCudaEvent event, HrCudaStream handle)
{
  StandinStream *stream;
  StandinWork *work;

  ENTER_DEVICE ("EventRecord");
  stream = standin_stream_get (handle, current_device, FALSE);
  if (stream == NULL || get_event (event, NULL) == NULL)
    return leave (INVALID_HANDLE);
  if (stream->device != event->device) {
    standin_misuse ("wrong-device", "an event of device %d is recorded on a stream of device %d",
                    event->device, stream->device);
    return leave (INVALID_HANDLE);
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
  return leave (0);
}

int
cudaStreamWaitEvent (HrCudaStream handle, HrCudaEvent event, unsigned int flags)
{
  StandinStream *stream;
  StandinWork *work;

  ENTER_DEVICE ("StreamWaitEvent");
  stream = standin_stream_get (handle, current_device, FALSE);
  if (stream == NULL || get_event (event, "a stream waits for") == NULL)
    return leave (INVALID_HANDLE);
  if (flags != 0)
    return leave (HR_CUDA_INVALID_VALUE);
  if (event->generation == 0)
    return leave (0);
  work = standin_work_new (STANDIN_WAIT, stream);
  work->other = event->stream;
  work->other_index = event->index;
  standin_clock_merge (&work->clock, &event->clock);
  standin_work_give (work);
  return leave (0);
}

/* it never happens by itself when everything is late: the third question has it done */
int
cudaEventQuery (HrCudaEvent event)
{
  ENTER_DEVICE ("EventQuery");
  if (get_event (event, "somebody asks for") == NULL)
    return leave (INVALID_HANDLE);
  if (event->generation == 0)
    return leave (0);
  if (event->stream->done < event->index && ++event->queries < 3)
    return leave (HR_CUDA_NOT_READY);
  standin_work_finish (event->stream, event->index, &event->clock);
  return leave (0);
}

int
cudaEventSynchronize (HrCudaEvent event)
{
  ENTER_DEVICE ("EventSynchronize");
  if (get_event (event, "the host waits for") == NULL)
    return leave (INVALID_HANDLE);
  if (event->generation > 0)
    standin_work_finish (event->stream, event->index, &event->clock);
  return leave (0);
}

int
cudaEventElapsedTime (float *milliseconds, HrCudaEvent begin, HrCudaEvent end)
{
  ENTER_DEVICE ("EventElapsedTime");
  if (get_event (begin, "a time begins with") == NULL || get_event (end, "a time ends with") == NULL
      || begin->generation == 0 || end->generation == 0 || begin->device != end->device
      || ((begin->flags | end->flags) & HR_CUDA_EVENT_DISABLE_TIMING) != 0)
    return leave (INVALID_HANDLE);
  if (begin->stream->done < begin->index || end->stream->done < end->index)
    return leave (HR_CUDA_NOT_READY);
  *milliseconds = (float)((end->time - begin->time) / 1000);
  return leave (0);
}

/* ---- code ---- */

#define FATBIN_MAGIC 0xBA55ED50u

/* A fatbin is a header of 16 bytes and entries, each with a header of its own: kind, 1 for PTX and
 * 2 for machine code, its sizes, and the capability it is for. Seen in what nvcc 13 writes. */
typedef struct {
  guint16 kind, version;
  guint32 header_size;
  guint64 size;
  guint32 reserved[3];
  guint32 capability; /* 90 */
} FatbinEntry;

static gboolean
fits (const FatbinEntry *entry)
{
  int major = (int)entry->capability / 10, minor = (int)entry->capability % 10;

  if (entry->kind == 1)
    return major * 10 + minor <= standin_config.major * 10 + standin_config.minor;
  return entry->kind == 2 && major == standin_config.major && minor <= standin_config.minor;
}

int
LIBRARY_FUNCTION (LibraryLoadData) (HrCudaLibrary *library, const void *code, int *jit_options,
                                    void **jit_values, unsigned int n_jit_options,
                                    int *library_options, void **library_values,
                                    unsigned int n_library_options)
{
  const guint8 *at = code;
  guint32 magic;
  guint64 size;
  gboolean found = FALSE;

  (void)jit_options;
  (void)jit_values;
  (void)library_options;
  (void)library_values;
  ENTER_DEVICE ("LibraryLoadData");
  if (n_jit_options != 0 || n_library_options != 0)
    return leave (HR_CUDA_INVALID_VALUE);
  memcpy (&magic, at, sizeof (magic));
  if (magic != FATBIN_MAGIC)
    return leave (HR_CUDA_INVALID_IMAGE);
  memcpy (&size, at + 8, sizeof (size));
  at += 16;
  for (gsize done = 0; done + sizeof (FatbinEntry) <= size;) {
    FatbinEntry entry;

    memcpy (&entry, at + done, sizeof (entry));
    found = found || fits (&entry);
    done += entry.header_size + entry.size;
  }
  if (!found && !standin_config.lazy)
    return leave (HR_CUDA_NO_KERNEL_IMAGE);
  *library = remember (&libraries, g_new0 (struct CUlib_st, 1));
  (*library)->fits = found;
  return leave (0);
}

int
LIBRARY_FUNCTION (LibraryUnload) (HrCudaLibrary library)
{
  ENTER_DEVICE ("LibraryUnload");
  if (!knows (libraries, library) || library->unloaded) {
    standin_misuse ("bad-library", "%p is no loaded code", (gpointer)library);
    return leave (INVALID_HANDLE);
  }
  library->unloaded = TRUE;
  return leave (0);
}

int
LIBRARY_FUNCTION (LibraryGetKernel) (HrCudaKernel *kernel, HrCudaLibrary library, const char *name)
{
  ENTER_DEVICE ("LibraryGetKernel");
  if (!knows (libraries, library) || library->unloaded)
    return leave (INVALID_HANDLE);
  if (strcmp (name, HR_PATCH_KERNEL) != 0)
    return leave (HR_CUDA_NOT_FOUND);
  *kernel = remember (&kernels, g_new0 (struct CUkern_st, 1));
  (*kernel)->library = library;
  return leave (0);
}

int
cudaLaunchKernel (const void *function, HrCudaSize grid, HrCudaSize block, void **arguments,
                  size_t shared, HrCudaStream handle)
{
  const struct CUkern_st *kernel = function;
  StandinStream *stream;
  StandinWork *work;

  ENTER_DEVICE ("LaunchKernel");
  stream = standin_stream_get (handle, current_device, TRUE);
  if (stream == NULL)
    return leave (INVALID_HANDLE);
  if (!knows (kernels, function) || kernel->library->unloaded) {
    standin_misuse ("bad-kernel", "%p is no kernel of loaded code", function);
    return leave (INVALID_HANDLE);
  }
  if (!kernel->library->fits)
    return leave (HR_CUDA_NO_KERNEL_IMAGE);
  if (grid.x == 0 || grid.y != 1 || grid.z != 1 || block.x == 0 || block.x > HR_PATCH_THREADS
      || block.y != 1 || block.z != 1 || shared != 0)
    return leave (INVALID_CONFIGURATION);
  work = standin_work_new (STANDIN_KERNEL, stream);
  work->params = *(const HrPatchParams *)arguments[0];
  work->n_blocks = grid.x;
  work->n_threads = block.x;
  standin_kernel_prepare (work);
  standin_work_give (work);
  return leave (0);
}

#ifdef STANDIN_BEFORE_12_8
int
cuLaunchKernel (HrCudaKernel kernel, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                unsigned int block_x, unsigned int block_y, unsigned int block_z,
                unsigned int shared, HrCudaStream stream, void **arguments, void **extra)
{
  if (extra != NULL)
    return HR_CUDA_INVALID_VALUE;
  return cudaLaunchKernel (kernel, (HrCudaSize){ grid_x, grid_y, grid_z },
                           (HrCudaSize){ block_x, block_y, block_z }, arguments, shared, stream);
}
#endif
