/* device.c: one GPU: our stream on it, and its memory, which is recycled in the order of streams */
#include "device.h"
#include <string.h>
#include <unistd.h>
#include "hr-sync.h"
#include "room.h"
#include "upload.h"

typedef struct {
  void *address;
  gsize capacity;
  GArray *streams;      /* guintptr: that it was lent to */
  GPtrArray *pending;   /* HrCudaEvent: what must have happened before it is written again */
  HrCudaUpload *upload; /* that fills it; NULL: not told */
} Block;

gboolean
hr_cuda_device_check (const HrCudaDevice *device, int code, const char *doing, GError **error)
{
  if (hr_cudart_check (device->cudart, code, doing, error))
    return TRUE;
  g_prefix_error (error, "device %d: ", device->index);
  return FALSE;
}

gboolean
hr_cuda_device_use (const HrCudaDevice *device, GError **error)
{
  return hr_cuda_device_check (device, device->cudart->SetDevice (device->index), "using it",
                               error);
}

int
hr_cuda_device_enter (const HrCudaDevice *device)
{
  int before = device->index;

  device->cudart->GetDevice (&before);
  if (before != device->index)
    device->cudart->SetDevice (device->index);
  return before;
}

void
hr_cuda_device_leave (const HrCudaDevice *device, int before)
{
  if (before != device->index)
    device->cudart->SetDevice (before);
}

/* ---- events ---- */

HrCudaEvent
hr_cuda_device_get_event (HrCudaDevice *device, gboolean timed, GError **error)
{
  GPtrArray *events = device->events[timed != FALSE];
  HrCudaEvent event = NULL;

  hr_mutex_lock (&device->lock);
  if (events->len > 0)
    event = g_ptr_array_steal_index_fast (events, events->len - 1);
  hr_mutex_unlock (&device->lock);
  if (event != NULL)
    return event;
  if (hr_cuda_device_check (
          device,
          device->cudart->EventCreateWithFlags (
              &event, HR_CUDA_EVENT_BLOCKING_SYNC | (timed ? 0 : HR_CUDA_EVENT_DISABLE_TIMING)),
          "making an event", error))
    return event;
  return NULL;
}

void
hr_cuda_device_put_event (HrCudaDevice *device, HrCudaEvent event, gboolean timed)
{
  hr_mutex_lock (&device->lock);
  g_ptr_array_add (device->events[timed != FALSE], event);
  hr_mutex_unlock (&device->lock);
}

void
hr_cuda_device_settle (const HrCudaDevice *device)
{
  /* what comes out here may be the error of an earlier call, and nothing has been waited for: the
   * second time it is. If that fails as well the stream is lost, and all that was in it */
  if (device->cudart->StreamSynchronize (device->stream) != HR_CUDA_SUCCESS)
    device->cudart->StreamSynchronize (device->stream);
}

/* ---- blocks ---- */

static Block *
block_of (const HrMemory *memory)
{
  return (Block *)memory->handle;
}

void *
hr_cuda_memory_get_address (const HrMemory *memory)
{
  return block_of (memory)->address;
}

void
hr_cuda_memory_set_upload (HrMemory *memory, HrCudaUpload *upload)
{
  block_of (memory)->upload = hr_cuda_upload_ref (upload);
}

/* Gives the bytes back, once nobody can be at them any more. That waits: it happens when blocks
 * must grow, when there is no memory, and at the end. */
static void
block_free (HrCudaDevice *device, Block *block)
{
  for (guint i = 0; i < block->pending->len; i++) {
    if (device->cudart->EventSynchronize (block->pending->pdata[i]) != HR_CUDA_SUCCESS)
      device->cudart->EventSynchronize (block->pending->pdata[i]); /* as in settle() */
    hr_cuda_device_put_event (device, block->pending->pdata[i], FALSE);
  }
  hr_cuda_device_settle (device); /* where it was written */
  if (device->cudart->Free (block->address) != HR_CUDA_SUCCESS)
    device->cudart->GetLastError ();
  g_ptr_array_unref (block->pending);
  g_array_unref (block->streams);
  g_free (block);
}

/* The smallest that is large enough, and not four times too large. None of them is: *small is one
 * that can go for the larger one that must be made now, so that there are never more of them than
 * were needed at once. With the lock. */
static Block *
take_idle (HrCudaDevice *device, gsize capacity, Block **small)
{
  Block *best = NULL;
  guint at = 0;

  *small = NULL;
  for (guint i = 0; i < device->idle->len; i++) {
    Block *block = device->idle->pdata[i];

    if (block->capacity >= capacity && block->capacity / 4 <= capacity
        && (best == NULL || block->capacity < best->capacity)) {
      best = block;
      at = i;
    }
  }
  if (best != NULL) {
    g_ptr_array_remove_index_fast (device->idle, at);
    return best;
  }
  for (guint i = 0; i < device->idle->len && *small == NULL; i++)
    if (((Block *)device->idle->pdata[i])->capacity < capacity)
      *small = g_ptr_array_remove_index_fast (device->idle, i);
  return NULL;
}

static void
free_idle (HrCudaDevice *device)
{
  Block *block;

  for (;;) {
    hr_mutex_lock (&device->lock);
    block = device->idle->len > 0
                ? g_ptr_array_steal_index_fast (device->idle, device->idle->len - 1)
                : NULL;
    hr_mutex_unlock (&device->lock);
    if (block == NULL)
      return;
    block_free (device, block);
  }
}

static gboolean
out_of_memory (const HrCudaDevice *device, gsize size, GError **error)
{
  size_t available = 0, total = 0;

  device->cudart->GetLastError ();
  if (device->cudart->MemGetInfo (&available, &total) != HR_CUDA_SUCCESS)
    device->cudart->GetLastError ();
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY,
               "device %d: too little memory: %" G_GSIZE_FORMAT
               " bytes are needed, %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
               " are free: lower prefetch or the batch's size, or let the "
               "trainer keep fewer batches",
               device->index, size, available, total);
  return FALSE;
}

static Block *
block_new (HrCudaDevice *device, gsize capacity, GError **error)
{
  Block *block;
  void *address = NULL;
  int code = device->cudart->Malloc (&address, capacity);

  if (code == HR_CUDA_NO_MEMORY) {
    device->cudart->GetLastError ();
    free_idle (device);
    code = device->cudart->Malloc (&address, capacity);
  }
  if (code == HR_CUDA_NO_MEMORY) {
    out_of_memory (device, capacity, error);
    return NULL;
  }
  if (!hr_cuda_device_check (device, code, "its memory", error))
    return NULL;
  block = g_new0 (Block, 1);
  block->address = address;
  block->capacity = capacity;
  block->streams = g_array_new (FALSE, FALSE, sizeof (guintptr));
  block->pending = g_ptr_array_new ();
  return block;
}

/* our stream goes on behind all that others did with it */
static gboolean
wait_for_others (HrCudaDevice *device, Block *block, GError **error)
{
  for (guint i = 0; i < block->pending->len; i++) {
    HrCudaEvent event = block->pending->pdata[i];

    if (!hr_cuda_device_check (device, device->cudart->StreamWaitEvent (device->stream, event, 0),
                               "waiting for the trainer", error))
      return FALSE;
  }
  for (guint i = 0; i < block->pending->len; i++)
    hr_cuda_device_put_event (device, block->pending->pdata[i], FALSE);
  g_ptr_array_set_size (block->pending, 0);
  return TRUE;
}

static gboolean
device_alloc (HrAllocator *allocator, HrMemory *memory, gsize size, GError **error)
{
  HrCudaDevice *device = (HrCudaDevice *)allocator;
  gsize capacity = hr_room_for (size);
  Block *block, *small;

  hr_mutex_lock (&device->lock);
  block = take_idle (device, capacity, &small);
  hr_mutex_unlock (&device->lock);
  if (small != NULL)
    block_free (device, small);
  if (block == NULL)
    block = block_new (device, capacity, error);
  if (block == NULL)
    return FALSE;
  if (!wait_for_others (device, block, error)) {
    block_free (device, block);
    return FALSE;
  }
  memory->capacity = block->capacity;
  memory->handle = (guintptr)block;
  return TRUE;
}

/* FALSE: nothing can be put behind that stream: it is gone, or the device is */
static gboolean
note_use (HrCudaDevice *device, Block *block, HrCudaStream stream)
{
  HrCudaEvent event = hr_cuda_device_get_event (device, FALSE, NULL);

  if (event == NULL)
    return FALSE;
  if (device->cudart->EventRecord (event, stream) == HR_CUDA_SUCCESS) {
    g_ptr_array_add (block->pending, event);
    return TRUE;
  }
  device->cudart->GetLastError ();
  hr_cuda_device_put_event (device, event, FALSE);
  return FALSE;
}

/* what is in the streams it was lent to comes before it is written again */
static void
device_free (HrAllocator *allocator, HrMemory *memory)
{
  HrCudaDevice *device = (HrCudaDevice *)allocator;
  Block *block = block_of (memory);
  gboolean ordered = TRUE;
  int before;

  if (getpid () != device->pid) /* a child of fork(): CUDA does not work there */
    return;
  before = hr_cuda_device_enter (device);
  for (guint i = 0; i < block->streams->len; i++)
    ordered &= note_use (device, block, (HrCudaStream)g_array_index (block->streams, guintptr, i));
  g_array_set_size (block->streams, 0);
  g_clear_pointer (&block->upload, hr_cuda_upload_unref);
  if (ordered) {
    hr_mutex_lock (&device->lock);
    g_ptr_array_add (device->idle, block);
    hr_mutex_unlock (&device->lock);
  } else {
    block_free (device, block);
  }
  hr_cuda_device_leave (device, before);
}

static void
device_locate (HrAllocator *allocator, const HrMemory *memory, HrDevice *where)
{
  *where = (HrDevice){ HR_DEVICE_CUDA, ((HrCudaDevice *)allocator)->index,
                       (guintptr)block_of (memory)->address };
}

static gboolean
device_lend (HrAllocator *allocator, HrMemory *memory, guintptr number, GError **error)
{
  HrCudaDevice *device = (HrCudaDevice *)allocator;
  Block *block = block_of (memory);
  guintptr stream = number == HR_STREAM_NONE ? HR_STREAM_LEGACY : number;
  gboolean ok = TRUE, known = FALSE;
  int before;

  if (getpid () != device->pid) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "device %d: this process is a child of the one that has the batch: start it with "
                 "spawn, not fork",
                 device->index);
    return FALSE;
  }
  before = hr_cuda_device_enter (device);
  if (number != HR_STREAM_NONE && block->upload != NULL)
    ok = hr_cuda_upload_let_wait (block->upload, (HrCudaStream)number, error);
  hr_cuda_device_leave (device, before);
  if (!ok)
    return FALSE;
  hr_mutex_lock (&device->lock);
  for (guint i = 0; i < block->streams->len; i++)
    known |= g_array_index (block->streams, guintptr, i) == stream;
  if (!known)
    g_array_append_val (block->streams, stream);
  hr_mutex_unlock (&device->lock);
  return TRUE;
}

static gboolean
read_into (HrCudaDevice *device, const guint8 *from, HrMemory *staging, GError **error)
{
  HrCudaEvent event = hr_cuda_device_get_event (device, FALSE, error);
  const HrCudart *cudart = device->cudart;
  gboolean ok =
      event != NULL
      && hr_cuda_device_check (device,
                               cudart->MemcpyAsync (staging->data, from, staging->size,
                                                    HR_CUDA_DEVICE_TO_HOST, device->stream),
                               "reading it", error)
      && hr_cuda_device_check (device, cudart->EventRecord (event, device->stream), "reading it",
                               error)
      && hr_cuda_device_check (device, cudart->EventSynchronize (event), "reading it", error);

  if (event != NULL)
    hr_cuda_device_put_event (device, event, FALSE);
  return ok;
}

static gboolean
device_read (HrAllocator *allocator, HrMemory *memory, gsize offset, gsize size, gpointer into,
             GError **error)
{
  HrCudaDevice *device = (HrCudaDevice *)allocator;
  const guint8 *from = (const guint8 *)block_of (memory)->address + offset;
  g_autoptr (HrMemory) staging = NULL;
  gboolean ok;
  int before;

  if (size == 0)
    return TRUE;
  before = hr_cuda_device_enter (device);
  staging = hr_memory_new_from_allocator (device->pinned, size, error);
  ok = staging != NULL && read_into (device, from, staging, error);
  hr_cuda_device_leave (device, before);
  if (ok)
    memcpy (into, staging->data, size);
  return ok;
}

/* ---- the device ---- */

static void
device_finalize (HrAllocator *allocator)
{
  HrCudaDevice *device = (HrCudaDevice *)allocator;

  if (getpid () == device->pid) {
    int before = hr_cuda_device_enter (device);

    free_idle (device);
    for (guint timed = 0; timed < 2; timed++)
      for (guint i = 0; i < device->events[timed]->len; i++)
        device->cudart->EventDestroy (device->events[timed]->pdata[i]);
    if (device->stream != NULL)
      device->cudart->StreamDestroy (device->stream);
    device->cudart->GetLastError ();
    hr_cuda_device_leave (device, before);
  }
  g_ptr_array_unref (device->events[0]);
  g_ptr_array_unref (device->events[1]);
  g_ptr_array_unref (device->idle);
  hr_allocator_unref (device->pinned);
  hr_mutex_clear (&device->lock);
  g_free (device);
}

static HrCudaDevice *
device_new (const HrCudart *cudart, int index, HrAllocator *pinned)
{
  HrCudaDevice *device = g_new0 (HrCudaDevice, 1);

  hr_allocator_init (&device->parent, "device");
  device->parent.alloc = device_alloc;
  device->parent.free = device_free;
  device->parent.finalize = device_finalize;
  device->parent.locate = device_locate;
  device->parent.lend = device_lend;
  device->parent.read = device_read;
  device->cudart = cudart;
  device->index = index;
  device->pinned = hr_allocator_ref (pinned);
  device->pid = getpid ();
  hr_mutex_init (&device->lock);
  device->idle = g_ptr_array_new ();
  device->events[0] = g_ptr_array_new ();
  device->events[1] = g_ptr_array_new ();
  return device;
}

HrCudaDevice *
hr_cuda_device_open (const HrCudart *cudart, int index, HrAllocator *pinned, GError **error)
{
  HrCudaDevice *device;
  int count = 0;

  if (!hr_cudart_check (cudart, cudart->GetDeviceCount (&count), "counting devices", error))
    return NULL;
  if (count == 0) {
    hr_cudart_check (cudart, HR_CUDA_NO_DEVICE, NULL, error);
    return NULL;
  }
  if (index >= count) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
                 "there is no device %d: there %s %d, counted from 0; set device, or see "
                 "CUDA_VISIBLE_DEVICES",
                 index, count == 1 ? "is" : "are", count);
    return NULL;
  }
  device = device_new (cudart, index, pinned);
  if (hr_cuda_device_use (device, error)
      && hr_cuda_device_check (
          device, cudart->DeviceGetAttribute (&device->major, HR_CUDA_ATTRIBUTE_MAJOR, index),
          "asking what it can", error)
      && hr_cuda_device_check (
          device, cudart->DeviceGetAttribute (&device->minor, HR_CUDA_ATTRIBUTE_MINOR, index),
          "asking what it can", error)
      && hr_cuda_device_check (
          device, cudart->StreamCreateWithFlags (&device->stream, HR_CUDA_STREAM_NON_BLOCKING),
          "making a stream", error))
    return device;
  hr_allocator_unref (&device->parent);
  return NULL;
}
