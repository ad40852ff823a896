/* hr-memory.h: refcounted blocks of bytes, and the allocators they come from */
#pragma once
#include <glib-object.h>

G_BEGIN_DECLS

typedef struct _HrMemory HrMemory;
typedef struct _HrAllocator HrAllocator;

/**
 * HrReservation:
 *
 * Private to the core: bytes of the pipeline's budget.
 */
typedef struct _HrReservation HrReservation;

/**
 * HrMemory:
 * @data: the bytes; %NULL for memory the CPU cannot reach (so that misuse fails at once)
 * @size: number of bytes
 * @allocator: (nullable): who made it; %NULL for wrapped memory and for views
 * @handle: the allocator's own: a descriptor, a device pointer
 *
 * A refcounted block. Shared memory is read-only: write only while you are its only owner
 * (hr_memory_is_writable()). A block outlives the pipeline and the allocator it came from.
 */
struct _HrMemory {
  guint8 *data;
  gsize size;
  HrAllocator *allocator;
  guintptr handle;
  /*< private >*/
  gint ref_count;
  gsize capacity;
  HrMemory *parent;
  HrReservation *reservation;
  GDestroyNotify notify;
  gpointer notify_data;
};

/**
 * HrDevice:
 * @type: DLPack's DLDeviceType: 1 CPU, 2 CUDA
 * @id: which of them, from 0
 * @address: the block's first byte there
 *
 * Where a block lies.
 */
typedef struct {
  gint type;
  gint id;
  guintptr address;
} HrDevice;

/**
 * HR_DEVICE_CPU:
 *
 * DLPack's number of the CPU (kDLCPU).
 */
#define HR_DEVICE_CPU 1

/**
 * HR_DEVICE_CUDA:
 *
 * DLPack's number of CUDA devices (kDLCUDA).
 */
#define HR_DEVICE_CUDA 2

/**
 * HR_STREAM_NONE:
 *
 * For hr_memory_lend(): no stream; whoever asks sees to the order.
 */
#define HR_STREAM_NONE ((guintptr)-1)

/**
 * HR_STREAM_LEGACY:
 *
 * For hr_memory_lend(): CUDA's legacy default stream, as DLPack numbers it.
 */
#define HR_STREAM_LEGACY ((guintptr)1)

/**
 * HrAllocator:
 * @name: "heap", "pinned", "memfd", …
 * @alloc: (not nullable): a block of at least @size bytes, aligned to 64, or %NULL with an error
 * @free: gives the block's bytes back; the header is the core's
 * @get_excess: (nullable): bytes of memory that a recycled block has beyond those that were asked
 *   for; they count against the pipeline's budget too
 * @drop_excess: (nullable): … gives them back to the system, as there is no room for them
 * @locate: where the block is; only of memory that the CPU cannot reach, as the two that follow
 * @lend: see hr_memory_lend()
 * @read: see hr_memory_read()
 *
 * A refcounted vtable; blocks hold a reference to it. Embed it as the first field.
 */
struct _HrAllocator {
  const char *name;
  gboolean (*alloc) (HrAllocator *self, HrMemory *memory, gsize size, GError **error);
  void (*free) (HrAllocator *self, HrMemory *memory);
  void (*finalize) (HrAllocator *self);
  gsize (*get_excess) (HrAllocator *self, const HrMemory *memory);
  void (*drop_excess) (HrAllocator *self, HrMemory *memory);
  void (*locate) (HrAllocator *self, const HrMemory *memory, HrDevice *device);
  gboolean (*lend) (HrAllocator *self, HrMemory *memory, guintptr stream, GError **error);
  gboolean (*read) (HrAllocator *self, HrMemory *memory, gsize offset, gsize size, gpointer into,
                    GError **error);
  /*< private >*/
  gint ref_count;
};

#define HR_TYPE_MEMORY (hr_memory_get_type ())
GType hr_memory_get_type (void);

HrMemory *hr_memory_new (gsize size);
HrMemory *hr_memory_new_from_allocator (HrAllocator *allocator, gsize size, GError **error);
HrMemory *hr_memory_new_wrapped (gpointer data, gsize size, GDestroyNotify notify,
                                 gpointer notify_data);
HrMemory *hr_memory_new_copy (gconstpointer data, gsize size);
HrMemory *hr_memory_view (HrMemory *memory, gsize offset, gsize size);
HrMemory *hr_memory_ref (HrMemory *memory);
void hr_memory_unref (HrMemory *memory);
gboolean hr_memory_is_writable (HrMemory *memory);
gboolean hr_memory_is_from (const HrMemory *memory, const HrAllocator *allocator);

/* where it is: CPU memory too */
void hr_memory_get_device (const HrMemory *memory, HrDevice *device);
gboolean hr_memory_lend (HrMemory *memory, guintptr stream, GError **error);
gboolean hr_memory_read (HrMemory *memory, gsize offset, gsize size, gpointer into, GError **error);

HrAllocator *hr_allocator_ref (HrAllocator *allocator);
void hr_allocator_unref (HrAllocator *allocator);
void hr_allocator_init (HrAllocator *allocator, const char *name);
/* 64-byte aligned heap memory; (transfer none), lives for ever */
HrAllocator *hr_allocator_heap (void);
/* recycles blocks of similar size, so that they are written while warm; keeps at most @max_idle
 * bytes of free blocks, or three larger ones. (transfer full) */
HrAllocator *hr_allocator_pool_new (gsize max_idle);

/* number of live blocks, for leak checks in tests */
gint hr_memory_live (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrMemory, hr_memory_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrAllocator, hr_allocator_unref)

G_END_DECLS
