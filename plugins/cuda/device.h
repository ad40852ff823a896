/* device.h: one GPU: our stream on it, and its memory, which is recycled in the order of streams
 *
 * Nothing here waits for the device but hr_memory_read() and the end of it all: what depends on
 * something else is put behind an event of it. */
#pragma once
#include "cudart.h"
#include "headrace.h"

G_BEGIN_DECLS

/**
 * HrCudaDevice:
 * @parent: allocates memory of the device: no bytes for the CPU, see hr_memory_lend(). alloc()
 *   belongs to the thread that works with @stream, on which the block may be used at once
 * @index: which device
 * @stream: where copies and the kernel go
 * @pinned: where bytes are staged
 * @major, @minor: its compute capability: 9, 0
 *
 * Lives as long as its last block, and until then does the stream.
 */
typedef struct {
  HrAllocator parent;
  const HrCudart *cudart;
  int index;
  int major, minor;
  HrCudaStream stream;
  HrAllocator *pinned;
  /*< private >*/
  pid_t pid;
  pthread_mutex_t lock;
  GPtrArray *idle;      /* Block */
  GPtrArray *events[2]; /* HrCudaEvent: nobody's; without and with time */
} HrCudaDevice;

/**
 * hr_cuda_device_open:
 * @index: from 0
 * @error: #HR_RESOURCE_ERROR: no driver, no device, no such device
 *
 * Makes it the calling thread's device, too.
 *
 * Returns: (transfer full): give it back with hr_allocator_unref()
 */
HrCudaDevice *hr_cuda_device_open (const HrCudart *cudart, int index, HrAllocator *pinned,
                                   GError **error);

/* of the calling thread, which is one of ours: it stays so */
gboolean hr_cuda_device_use (const HrCudaDevice *device, GError **error);
/* a thread of others: returns what hr_cuda_device_leave() gives back to it */
int hr_cuda_device_enter (const HrCudaDevice *device);
void hr_cuda_device_leave (const HrCudaDevice *device, int before);

/* hr_cudart_check(), with the device's number in front */
gboolean hr_cuda_device_check (const HrCudaDevice *device, int code, const char *doing,
                               GError **error);

/* an event that nobody else uses; NULL with an error */
HrCudaEvent hr_cuda_device_get_event (HrCudaDevice *device, gboolean timed, GError **error);
/* what waits for it already goes on doing so */
void hr_cuda_device_put_event (HrCudaDevice *device, HrCudaEvent event, gboolean timed);

/* waits until nothing is under way in our stream: what it reads and writes may go then */
void hr_cuda_device_settle (const HrCudaDevice *device);

struct _HrCudaUpload;
/* the first address */
void *hr_cuda_memory_get_address (const HrMemory *memory);
/* who reads it waits for that; takes a reference */
void hr_cuda_memory_set_upload (HrMemory *memory, struct _HrCudaUpload *upload);

G_END_DECLS
