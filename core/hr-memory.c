/* hr-memory.c: refcounted blocks of bytes, and the heap they come from */
#include "hr-memory.h"
#include <stdlib.h>
#include <string.h>
#include "hr-error.h"
#include "hr-ref.h"
#include "hr-reservation.h"

#define ALIGNMENT 64
#define SMALL 1024

static HrLive live;

G_DEFINE_BOXED_TYPE (HrMemory, hr_memory, hr_memory_ref, hr_memory_unref)

/* never without room, so that nobody has to think of empty blocks */
#define ROUND_UP(size) ((MAX (size, 1) + ALIGNMENT - 1) & ~(gsize)(ALIGNMENT - 1))

static gboolean
heap_alloc (HrAllocator *self, HrMemory *memory, gsize size, GError **error)
{
  /* not small, by which heap_free() tells them apart */
  gsize capacity = MAX (ROUND_UP (size), SMALL + ALIGNMENT);

  memory->data = capacity >= size ? aligned_alloc (ALIGNMENT, capacity) : NULL;
  if (memory->data == NULL) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY,
                 "%s: no memory for %" G_GSIZE_FORMAT " bytes", self->name, size);
    return FALSE;
  }
  memory->capacity = capacity;
  return TRUE;
}

static void
heap_free (HrAllocator *self G_GNUC_UNUSED, HrMemory *memory)
{
  /* a small one lies behind its header */
  if (memory->capacity > SMALL)
    free (memory->data);
}

static HrAllocator heap = {
  .name = "heap", .alloc = heap_alloc, .free = heap_free, .ref_count = 1
};

/**
 * hr_allocator_heap:
 *
 * Heap memory, aligned to 64 bytes.
 *
 * Returns: (transfer none): the allocator behind hr_memory_new(); it lives for ever
 */
HrAllocator *
hr_allocator_heap (void)
{
  return &heap;
}

/**
 * hr_allocator_init:
 * @allocator: zeroed memory of yours
 * @name: a literal
 *
 * Prepares an allocator of your own, with one reference. Set its functions afterwards.
 */
void
hr_allocator_init (HrAllocator *allocator, const char *name)
{
  allocator->name = name;
  allocator->ref_count = 1;
}

/**
 * hr_allocator_ref: (skip)
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @allocator
 */
HrAllocator *
hr_allocator_ref (HrAllocator *allocator)
{
  /* the heap's count would be the one cache line that all threads fight for */
  if (allocator != &heap)
    hr_ref_inc (&allocator->ref_count);
  return allocator;
}

/**
 * hr_allocator_unref:
 * @allocator: (transfer full): an allocator; with the last reference, also of its blocks, it dies
 *
 * Gives a reference back.
 */
void
hr_allocator_unref (HrAllocator *allocator)
{
  if (allocator == &heap || !hr_ref_dec (&allocator->ref_count))
    return;
  if (allocator->finalize != NULL)
    allocator->finalize (allocator);
}

static HrMemory *
memory_new (void)
{
  HrMemory *memory = g_malloc (sizeof (HrMemory));

  *memory = (HrMemory){ .ref_count = 1 };
  hr_live_add (&live, 1);
  return memory;
}

/* header and bytes in one block: half the cost, and the cost is most of what small ones are */
static HrMemory *
memory_new_small (gsize size)
{
  guint8 *block = g_malloc (sizeof (HrMemory) + ALIGNMENT - 1 + ROUND_UP (size));
  HrMemory *memory = (HrMemory *)block;
  guintptr data = (guintptr)(block + sizeof (HrMemory));

  *memory = (HrMemory){ .data = (guint8 *)((data + ALIGNMENT - 1) & ~(guintptr)(ALIGNMENT - 1)),
                        .size = size,
                        .allocator = &heap,
                        .ref_count = 1,
                        .capacity = ROUND_UP (size) };
  hr_live_add (&live, 1);
  return memory;
}

/**
 * hr_memory_new_from_allocator:
 * @allocator: who makes it
 * @size: bytes; 0 is allowed
 * @error: return location: #HR_RESOURCE_ERROR_NO_MEMORY
 *
 * Makes a block of a certain kind of memory.
 *
 * Returns: (transfer full): a block whose bytes are whatever they were
 */
HrMemory *
hr_memory_new_from_allocator (HrAllocator *allocator, gsize size, GError **error)
{
  HrMemory *memory;

  if (allocator == &heap && size <= SMALL)
    return memory_new_small (size);
  memory = memory_new ();
  memory->size = size;
  if (!allocator->alloc (allocator, memory, size, error)) {
    hr_live_add (&live, -1);
    g_free (memory);
    return NULL;
  }
  memory->allocator = hr_allocator_ref (allocator);
  return memory;
}

/**
 * hr_memory_new:
 * @size: bytes; 0 is allowed
 *
 * Heap memory aligned to 64 bytes. Ends the program when there is none, as g_malloc() does. Bytes
 * of samples come from hr_out_alloc() instead, which knows the pipeline's budget.
 *
 * Returns: (transfer full): a block whose bytes are whatever they were
 */
HrMemory *
hr_memory_new (gsize size)
{
  g_autoptr (GError) error = NULL;
  HrMemory *memory = hr_memory_new_from_allocator (&heap, size, &error);

  if (memory == NULL)
    g_error ("%s", error->message);
  return memory;
}

/**
 * hr_memory_new_wrapped:
 * @data: bytes of yours
 * @size: their number
 * @notify: (nullable): called with @notify_data when nobody needs them any more, in any thread
 * @notify_data: its argument
 *
 * Makes a block of bytes that are there.
 *
 * Returns: (transfer full): a block that is @data, without a copy
 */
HrMemory *
hr_memory_new_wrapped (gpointer data, gsize size, GDestroyNotify notify, gpointer notify_data)
{
  HrMemory *memory = memory_new ();

  memory->data = data;
  memory->size = memory->capacity = size;
  memory->notify = notify;
  memory->notify_data = notify_data;
  return memory;
}

/**
 * hr_memory_new_copy:
 * @data: (array length=size) (element-type guint8): bytes
 * @size: their number
 *
 * Copies bytes into a new block.
 *
 * Returns: (transfer full): heap memory with the same bytes
 */
HrMemory *
hr_memory_new_copy (gconstpointer data, gsize size)
{
  HrMemory *memory = hr_memory_new (size);

  if (size > 0)
    memcpy (memory->data, data, size);
  return memory;
}

/**
 * hr_memory_view:
 * @memory: (transfer none): a block; the view holds a reference to it
 * @offset: first byte
 * @size: bytes; must lie inside @memory
 *
 * Makes a block of a part of another one, without a copy.
 *
 * Returns: (transfer full): a block that is a part of @memory
 */
HrMemory *
hr_memory_view (HrMemory *memory, gsize offset, gsize size)
{
  HrMemory *view;

  g_return_val_if_fail (offset <= memory->size && size <= memory->size - offset, NULL);

  view = memory_new ();
  view->data = memory->data != NULL ? memory->data + offset : NULL;
  view->size = view->capacity = size;
  view->handle = memory->handle;
  view->parent = hr_memory_ref (memory);
  return view;
}

/**
 * hr_memory_ref:
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @memory
 */
HrMemory *
hr_memory_ref (HrMemory *memory)
{
  hr_ref_inc (&memory->ref_count);
  return memory;
}

/**
 * hr_memory_unref:
 * @memory: (transfer full): a block
 *
 * Gives a reference back; with the last one it goes back to its allocator.
 */
void
hr_memory_unref (HrMemory *memory)
{
  while (memory != NULL && hr_ref_dec (&memory->ref_count)) {
    HrMemory *parent = memory->parent;

    if (memory->allocator != NULL) {
      memory->allocator->free (memory->allocator, memory);
      hr_allocator_unref (memory->allocator);
    } else if (memory->notify != NULL) {
      memory->notify (memory->notify_data);
    }
    /* after the bytes are gone: what the budget calls free must be free */
    hr_reservation_unref (memory->reservation);
    g_free (memory);
    hr_live_add (&live, -1);
    memory = parent;
  }
}

/**
 * hr_memory_is_writable:
 *
 * Tells whether its bytes may be changed.
 *
 * Returns: %TRUE if nobody else can see these bytes
 */
gboolean
hr_memory_is_writable (HrMemory *memory)
{
  for (; memory != NULL; memory = memory->parent)
    if (!hr_ref_is_one (&memory->ref_count))
      return FALSE;
  return TRUE;
}

/* ---- memory that the CPU cannot reach ---- */

/* the block that it is, or is a view of */
static HrMemory *
root_of (const HrMemory *memory)
{
  while (memory->parent != NULL)
    memory = memory->parent;
  return (HrMemory *)memory;
}

/**
 * hr_memory_get_device: (skip)
 * @device: (out): where it lies. A view of a device's block has the block's address: views are for
 *   CPU memory
 *
 * Tells where a block lies, in CPU memory too.
 */
void
hr_memory_get_device (const HrMemory *memory, HrDevice *device)
{
  const HrMemory *root = root_of (memory);

  *device = (HrDevice){ HR_DEVICE_CPU, 0, (guintptr)memory->data };
  if (root->allocator != NULL && root->allocator->locate != NULL)
    root->allocator->locate (root->allocator, root, device);
}

/**
 * hr_memory_lend: (skip)
 * @stream: a stream of the memory's device, as a number; %HR_STREAM_NONE: whoever asks sees to the
 *   order himself
 * @error: return location
 *
 * What is put into @stream after this finds the bytes written: the stream, not the caller, waits
 * for that. When the memory is freed, its bytes are used again only behind all that was in those
 * streams by then; so each must exist as long as the memory does. From any thread, and nothing to
 * do for CPU memory.
 *
 * Returns: %TRUE, or %FALSE with an error
 */
gboolean
hr_memory_lend (HrMemory *memory, guintptr stream, GError **error)
{
  HrMemory *root = root_of (memory);

  return root->allocator == NULL || root->allocator->lend == NULL
         || root->allocator->lend (root->allocator, root, stream, error);
}

/**
 * hr_memory_read: (skip)
 * @offset: first byte
 * @size: bytes
 * @into: room for them in CPU memory
 * @error: return location
 *
 * Copies bytes to the CPU, and waits until they are there: for checks, not for data on its way.
 *
 * Returns: %TRUE, or %FALSE with an error
 */
gboolean
hr_memory_read (HrMemory *memory, gsize offset, gsize size, gpointer into, GError **error)
{
  HrMemory *root = root_of (memory);

  if (root->allocator != NULL && root->allocator->read != NULL)
    return root->allocator->read (root->allocator, root, offset, size, into, error);
  if (size > 0)
    memcpy (into, memory->data + offset, size);
  return TRUE;
}

/**
 * hr_memory_is_from: (skip)
 * @allocator: an allocator
 *
 * Tells who made a block.
 *
 * Returns: %TRUE if @allocator made this block, or the one that it is a view of
 */
gboolean
hr_memory_is_from (const HrMemory *memory, const HrAllocator *allocator)
{
  while (memory->parent != NULL)
    memory = memory->parent;
  return memory->allocator == allocator;
}

/**
 * hr_memory_live:
 *
 * Counts the blocks of the process.
 *
 * Returns: number of blocks and views that exist, for leak checks in tests
 */
gint
hr_memory_live (void)
{
  return hr_live_sum (&live);
}
