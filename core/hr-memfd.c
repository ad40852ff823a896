/* hr-memfd.c: memory that other processes can map
 *
 * A segment is one memfd, mapped once, of many slots of one size class; the next segment of a class
 * has twice as many, so a few dozen descriptors hold any number of blocks. Segments are mostly
 * holes: a slot costs memory from when it is first used, and that memory is asked for before it is
 * touched, so that there being none is an error and no SIGBUS. A slot that has been idle for long
 * becomes a hole again. Segments stay until the allocator goes: readers have them mapped. */
#include "hr-memfd.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "hr-error.h"
#include "hr-size-class.h"
#include "hr-sync.h"

/* of the first segment of a class */
#define SEGMENT_BYTES ((gsize)16 << 20)
#define SEGMENT_SLOTS 256
/* so many idle slots may exceed the bound, as in hr-pool.c */
#define FEW 3

typedef struct _Segment Segment;

typedef struct _Slot Slot;
struct _Slot {
  Segment *segment;
  Slot *next, *prev;   /* idle: of its class, the last freed first */
  Slot *newer, *older; /* idle and with memory: of all */
  gsize touched;       /* bytes of it that are memory; whole pages */
};

struct _Segment {
  int fd;
  guint64 id;
  guint8 *data;
  gsize size, stride;
  guint class;
  guint n_slots, n_fresh; /* slots that there are, and that were never used */
  Slot *slots;
};

typedef struct {
  Slot *warm, *cold; /* idle ones */
  Segment *newest;
} Class;

typedef struct {
  HrAllocator parent;
  HrMutex lock;
  gsize page;
  gsize max_idle;
  gsize idle; /* bytes */
  guint n_idle, n_blocks;
  Class classes[HR_N_SIZE_CLASSES];
  Slot *newest, *oldest; /* idle ones with memory */
  GHashTable *segments;  /* by descriptor */
} Memfd;

static gsize
to_pages (const Memfd *pool, gsize size)
{
  return (MAX (size, 1) + pool->page - 1) & ~(pool->page - 1);
}

static gboolean
fail (GError **error, gsize size, const char *why)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY,
               "memfd: no shared memory for %" G_GSIZE_FORMAT " bytes: %s", size, why);
  return FALSE;
}

/* ---- idle slots; with the lock ---- */

static void
list_add (Slot **list, Slot *slot)
{
  slot->prev = NULL;
  slot->next = *list;
  if (slot->next != NULL)
    slot->next->prev = slot;
  *list = slot;
}

static void
list_remove (Slot **list, Slot *slot)
{
  *(slot->prev != NULL ? &slot->prev->next : list) = slot->next;
  if (slot->next != NULL)
    slot->next->prev = slot->prev;
}

static void
idle_add (Memfd *pool, Slot *slot)
{
  list_add (&pool->classes[slot->segment->class].warm, slot);
  slot->newer = NULL;
  slot->older = pool->newest;
  *(slot->older != NULL ? &slot->older->newer : &pool->oldest) = slot;
  pool->newest = slot;
  pool->idle += slot->touched;
  pool->n_idle++;
}

static void
idle_remove (Memfd *pool, Slot *slot)
{
  list_remove (&pool->classes[slot->segment->class].warm, slot);
  *(slot->newer != NULL ? &slot->newer->older : &pool->newest) = slot->older;
  *(slot->older != NULL ? &slot->older->newer : &pool->oldest) = slot->newer;
  pool->idle -= slot->touched;
  pool->n_idle--;
}

/* ---- segments ---- */

static gboolean
may_be_as_large (gsize size)
{
  struct rlimit limit;

  /* beyond that the kernel does not say no, it ends the process */
  return getrlimit (RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY
         || size <= limit.rlim_cur;
}

/* NULL with errno */
static guint8 *
map_sealed (int fd, gsize size)
{
  void *data;

  if (!may_be_as_large (size)) {
    errno = EFBIG;
    return NULL;
  }
  if (ftruncate (fd, (off_t)size) < 0
      || fcntl (fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
    return NULL;
  data = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return data != MAP_FAILED ? data : NULL;
}

static char *
explain (int code)
{
  struct rlimit limit = { 0, 0 };

  if (code == EMFILE) {
    getrlimit (RLIMIT_NOFILE, &limit);
    return g_strdup_printf ("all %" G_GUINT64_FORMAT
                            " descriptors of this process are open; raise its limit (ulimit -n)",
                            (guint64)limit.rlim_cur);
  }
  if (code == EFBIG) {
    getrlimit (RLIMIT_FSIZE, &limit);
    return g_strdup_printf ("files of this process may have %" G_GUINT64_FORMAT
                            " bytes at most; raise its limit (ulimit -f)",
                            (guint64)limit.rlim_cur);
  }
  return g_strdup (g_strerror (code));
}

/* @n slots, or as many as limits allow; NULL with errno */
static Segment *
segment_new (guint class, gsize stride, guint n)
{
  static guint64 last_id;
  guint8 *data = NULL;
  Segment *segment;
  int fd = -1;

  for (; n > 0 && data == NULL; n /= 2) {
    if (fd >= 0)
      close (fd); /* sealed already */
    fd = memfd_create ("headrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
      return NULL;
    data = map_sealed (fd, n * stride);
    if (data != NULL)
      break;
  }
  if (data == NULL) {
    int code = errno;

    close (fd);
    errno = code;
    return NULL;
  }
  segment = g_new (Segment, 1);
  *segment = (Segment){ .fd = fd,
                        .id = __atomic_add_fetch (&last_id, 1, __ATOMIC_RELAXED),
                        .data = data,
                        .size = n * stride,
                        .stride = stride,
                        .class = class,
                        .n_slots = n,
                        .n_fresh = n,
                        .slots = g_new0 (Slot, n) };
  return segment;
}

static void
segment_free (gpointer data)
{
  Segment *segment = data;

  munmap (segment->data, segment->size);
  close (segment->fd);
  g_free (segment->slots);
  g_free (segment);
}

/* with the lock; NULL with errno */
static Segment *
add_segment (Memfd *pool, guint class, gsize stride)
{
  const Segment *last = pool->classes[class].newest;
  guint n =
      last != NULL ? 2 * last->n_slots : (guint)CLAMP (SEGMENT_BYTES / stride, 1, SEGMENT_SLOTS);
  Segment *segment = segment_new (class, stride, n);

  if (segment == NULL)
    return NULL;
  g_hash_table_insert (pool->segments, GINT_TO_POINTER (segment->fd), segment);
  pool->classes[class].newest = segment;
  return segment;
}

/* with the lock; NULL with errno */
static Slot *
take_slot (Memfd *pool, guint class, gsize stride)
{
  Class *of = &pool->classes[class];
  Segment *segment = of->newest;
  Slot *slot = of->warm;

  if (slot != NULL) {
    idle_remove (pool, slot);
    return slot;
  }
  slot = of->cold;
  if (slot != NULL) {
    list_remove (&of->cold, slot);
    return slot;
  }
  if (segment == NULL || segment->n_fresh == 0)
    segment = add_segment (pool, class, stride);
  if (segment == NULL)
    return NULL;
  slot = &segment->slots[segment->n_slots - segment->n_fresh--];
  slot->segment = segment;
  return slot;
}

static gsize
offset_of (const Slot *slot)
{
  return (gsize)(slot - slot->segment->slots) * slot->segment->stride;
}

/* ---- slots and their memory; without the lock ---- */

/* FALSE with errno */
static gboolean
fill (Slot *slot, gsize size)
{
  off_t from = (off_t)(offset_of (slot) + slot->touched);
  int failed;

  if (size <= slot->touched)
    return TRUE;
  do {
    failed = fallocate (slot->segment->fd, 0, from, (off_t)(size - slot->touched));
  } while (failed < 0 && errno == EINTR);
  if (failed == 0)
    slot->touched = size;
  return failed == 0;
}

/* but for the first @size bytes */
static void
empty (Slot *slot, gsize size)
{
  if (fallocate (slot->segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                 (off_t)(offset_of (slot) + size), (off_t)(slot->touched - size))
      == 0)
    slot->touched = size;
}

/* Shared memory is given out until the machine has none left, and then processes are killed. What
 * can never be there is refused. */
static gboolean
is_possible (gsize size)
{
  struct sysinfo info;

  return sysinfo (&info) < 0 || size / info.mem_unit <= info.totalram + info.totalswap;
}

/* ---- the allocator ---- */

static void
give_back (Memfd *pool, Slot *slot)
{
  Slot *surplus = NULL, *next;

  hr_mutex_lock (&pool->lock);
  pool->n_blocks--;
  if (slot->touched > 0)
    idle_add (pool, slot);
  else
    list_add (&pool->classes[slot->segment->class].cold, slot);
  while (pool->idle > pool->max_idle && (pool->n_idle > FEW || pool->max_idle == 0)) {
    Slot *oldest = pool->oldest;

    idle_remove (pool, oldest);
    oldest->next = surplus;
    surplus = oldest;
  }
  hr_mutex_unlock (&pool->lock);
  if (surplus == NULL)
    return;
  for (slot = surplus; slot != NULL; slot = slot->next)
    empty (slot, 0);
  hr_mutex_lock (&pool->lock);
  for (slot = surplus; slot != NULL; slot = next) {
    next = slot->next;
    list_add (&pool->classes[slot->segment->class].cold, slot);
  }
  hr_mutex_unlock (&pool->lock);
}

static gboolean
memfd_alloc (HrAllocator *allocator, HrMemory *memory, gsize size, GError **error)
{
  Memfd *pool = (Memfd *)allocator;
  gsize stride;
  guint class;
  Slot *slot;
  int code;

  if (!is_possible (size))
    return fail (error, size, "that is more than this machine has");
  class = hr_size_class (to_pages (pool, size), &stride);
  hr_mutex_lock (&pool->lock);
  slot = take_slot (pool, class, stride);
  code = errno;
  if (slot != NULL)
    pool->n_blocks++;
  hr_mutex_unlock (&pool->lock);
  if (slot != NULL && !fill (slot, to_pages (pool, size))) {
    code = errno;
    give_back (pool, slot);
    slot = NULL;
  }
  if (slot == NULL) {
    g_autofree char *why = explain (code);

    return fail (error, size, why);
  }
  memory->data = slot->segment->data + offset_of (slot);
  memory->capacity = stride;
  memory->handle = (guintptr)slot->segment->fd;
  return TRUE;
}

static Segment *
find_segment (Memfd *pool, guintptr fd)
{
  Segment *segment;

  hr_mutex_lock (&pool->lock);
  segment = g_hash_table_lookup (pool->segments, GINT_TO_POINTER ((int)fd));
  hr_mutex_unlock (&pool->lock);
  return segment;
}

static Slot *
find_slot (Memfd *pool, const HrMemory *memory)
{
  Segment *segment = find_segment (pool, memory->handle);

  return &segment->slots[(gsize)(memory->data - segment->data) / segment->stride];
}

static void
memfd_free (HrAllocator *allocator, HrMemory *memory)
{
  Memfd *pool = (Memfd *)allocator;

  give_back (pool, find_slot (pool, memory));
}

static gsize
memfd_get_excess (HrAllocator *allocator, const HrMemory *memory)
{
  Memfd *pool = (Memfd *)allocator;

  return find_slot (pool, memory)->touched - to_pages (pool, memory->size);
}

static void
memfd_drop_excess (HrAllocator *allocator, HrMemory *memory)
{
  Memfd *pool = (Memfd *)allocator;

  empty (find_slot (pool, memory), to_pages (pool, memory->size));
}

static void
memfd_finalize (HrAllocator *allocator)
{
  Memfd *pool = (Memfd *)allocator;

  g_hash_table_unref (pool->segments);
  hr_mutex_clear (&pool->lock);
  g_free (pool);
}

/**
 * hr_allocator_memfd_new: (skip)
 * @max_idle: most bytes of free blocks whose memory it keeps; three are kept even if they are
 *   larger, unless it is 0
 *
 * An allocator of shared memory without a name: another process that gets a descriptor over a unix
 * socket maps it and sees the block's bytes (hr_memory_get_memfd()); the kernel frees it with the
 * last process that holds it. Blocks begin on a page, are up to a quarter (those of more than 1 MiB
 * a half) larger than asked for, and share few descriptors: some dozens for any number of blocks.
 *
 * A block is used again when its last reference has gone, and it does not know who reads it in
 * another process: who has told one of a block keeps a reference until it has said that it is done.
 *
 * Errors are #HR_RESOURCE_ERROR_NO_MEMORY, also where a limit of the process is in the way. The
 * allocator dies with its last block, and its descriptors with it.
 *
 * Returns: (transfer full): a pool; thread safe
 */
HrAllocator *
hr_allocator_memfd_new (gsize max_idle)
{
  Memfd *pool = g_new0 (Memfd, 1);

  hr_allocator_init (&pool->parent, "memfd");
  pool->parent.alloc = memfd_alloc;
  pool->parent.free = memfd_free;
  pool->parent.finalize = memfd_finalize;
  pool->parent.get_excess = memfd_get_excess;
  pool->parent.drop_excess = memfd_drop_excess;
  pool->page = (gsize)sysconf (_SC_PAGESIZE);
  pool->max_idle = max_idle;
  pool->segments = g_hash_table_new_full (NULL, NULL, NULL, segment_free);
  hr_mutex_init (&pool->lock);
  return &pool->parent;
}

/**
 * hr_memory_get_memfd: (skip)
 * @memory: any block, or a view
 * @place: (out): where it is
 *
 * Tells how another process finds a block.
 *
 * Returns: %FALSE if its bytes are in no memfd
 */
gboolean
hr_memory_get_memfd (const HrMemory *memory, HrMemfdPlace *place)
{
  const HrMemory *block = memory;
  const Segment *segment;

  while (block->parent != NULL)
    block = block->parent;
  if (block->allocator == NULL || block->allocator->free != memfd_free)
    return FALSE;
  segment = find_segment ((Memfd *)block->allocator, block->handle);
  *place = (HrMemfdPlace){ segment->fd, segment->id, segment->size,
                           (guint64)(memory->data - segment->data) };
  return TRUE;
}

/**
 * hr_allocator_memfd_get_stats: (skip)
 * @allocator: one of hr_allocator_memfd_new()
 * @stats: (out): what it has now
 *
 * Counts what the allocator holds. From any thread.
 */
void
hr_allocator_memfd_get_stats (HrAllocator *allocator, HrMemfdStats *stats)
{
  Memfd *pool = (Memfd *)allocator;

  g_return_if_fail (allocator->free == memfd_free);
  hr_mutex_lock (&pool->lock);
  *stats = (HrMemfdStats){ g_hash_table_size (pool->segments), pool->n_blocks, pool->idle };
  hr_mutex_unlock (&pool->lock);
}
