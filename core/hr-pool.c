/* hr-pool.c: an allocator that recycles blocks, so that they are written while warm */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "hr-error.h"
#include "hr-pool.h"
#include "hr-size-class.h"
#include "hr-sync.h"

#define ALIGNMENT 64
/* so many idle blocks may exceed the bound: batches under way, of one that is written in parallel
 */
#define FEW 3

/* lies at the start of an idle block */
typedef struct _Idle Idle;
struct _Idle {
  Idle *next, *prev;   /* of its class, the last freed first */
  Idle *newer, *older; /* of all */
  guint class;
  gsize capacity;
  gsize touched; /* bytes of it that were ever used: the rest costs address space alone */
};

typedef struct {
  HrAllocator parent;
  HrMutex lock;
  gsize max_idle;
  gsize idle; /* bytes */
  guint n_idle;
  Idle *classes[HR_N_SIZE_CLASSES];
  Idle *newest, *oldest;
  void (*make_room) (gpointer data);
  gpointer data;
} Pool;

static void
idle_remove (Pool *pool, Idle *idle)
{
  *(idle->prev != NULL ? &idle->prev->next : &pool->classes[idle->class]) = idle->next;
  if (idle->next != NULL)
    idle->next->prev = idle->prev;
  *(idle->newer != NULL ? &idle->newer->older : &pool->newest) = idle->older;
  *(idle->older != NULL ? &idle->older->newer : &pool->oldest) = idle->newer;
  pool->idle -= idle->touched;
  pool->n_idle--;
}

static void
idle_add (Pool *pool, Idle *idle)
{
  idle->prev = NULL;
  idle->next = pool->classes[idle->class];
  if (idle->next != NULL)
    idle->next->prev = idle;
  pool->classes[idle->class] = idle;
  idle->newer = NULL;
  idle->older = pool->newest;
  *(idle->older != NULL ? &idle->older->newer : &pool->oldest) = idle;
  pool->newest = idle;
  pool->idle += idle->touched;
  pool->n_idle++;
}

/* A block of the next class is warm too, which matters more than a quarter of its size; of large
 * ones the next class is the next octave. */
static Idle *
find_idle (Pool *pool, guint class, gsize capacity)
{
  guint last = MIN (class + (capacity > HR_LARGE_BLOCK ? 4 : 1), HR_N_SIZE_CLASSES - 1);

  for (guint c = class; c <= last; c++)
    if (pool->classes[c] != NULL)
      return pool->classes[c];
  return NULL;
}

/* what a block in use remembers */
static guintptr
to_handle (guint class, gsize touched)
{
  return touched * HR_N_SIZE_CLASSES + class;
}

static gboolean
pool_alloc (HrAllocator *allocator, HrMemory *memory, gsize size, GError **error)
{
  Pool *pool = (Pool *)allocator;
  gsize capacity;
  guint class = hr_size_class (size, &capacity);
  Idle *idle = NULL;

  if (capacity > 0) {
    hr_mutex_lock (&pool->lock);
    idle = find_idle (pool, class, capacity);
    if (idle != NULL)
      idle_remove (pool, idle);
    hr_mutex_unlock (&pool->lock);
  }
  if (idle != NULL) {
    memory->data = (guint8 *)idle;
    memory->capacity = idle->capacity;
    memory->handle = to_handle (idle->class, MAX (idle->touched, size));
    return TRUE;
  }
  if (pool->make_room != NULL)
    pool->make_room (pool->data);
  memory->data = capacity > 0 ? aligned_alloc (ALIGNMENT, capacity) : NULL;
  if (memory->data == NULL) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY,
                 "%s: no memory for %" G_GSIZE_FORMAT " bytes", allocator->name, size);
    return FALSE;
  }
  memory->capacity = capacity;
  memory->handle = to_handle (class, size);
  return TRUE;
}

/* with the lock. The oldest go, of whatever class: when the sizes in use change, the pool follows.
 */
static Idle *
remove_surplus (Pool *pool, gsize max_idle, guint few)
{
  Idle *surplus = NULL;

  while (pool->idle > max_idle && pool->n_idle > few) {
    Idle *oldest = pool->oldest;

    idle_remove (pool, oldest);
    oldest->next = surplus;
    surplus = oldest;
  }
  return surplus;
}

static void
free_surplus (Idle *surplus)
{
  while (surplus != NULL) {
    Idle *next = surplus->next;

    free (surplus);
    surplus = next;
  }
}

static void
pool_free (HrAllocator *allocator, HrMemory *memory)
{
  Pool *pool = (Pool *)allocator;
  Idle *idle = (Idle *)memory->data;
  Idle *surplus;

  idle->capacity = memory->capacity;
  idle->class = memory->handle % HR_N_SIZE_CLASSES;
  idle->touched = memory->handle / HR_N_SIZE_CLASSES;
  hr_mutex_lock (&pool->lock);
  idle_add (pool, idle);
  /* a few that are larger than the bound stay: to fault them in again would cost more than all
   * else */
  surplus = remove_surplus (pool, pool->max_idle, pool->max_idle > 0 ? FEW : 0);
  hr_mutex_unlock (&pool->lock);
  free_surplus (surplus);
}

void
hr_pool_set_make_room (HrAllocator *allocator, void (*make_room) (gpointer data), gpointer data)
{
  Pool *pool = (Pool *)allocator;

  pool->make_room = make_room;
  pool->data = data;
}

gsize
hr_pool_trim (HrAllocator *allocator, gsize max_idle)
{
  Pool *pool = (Pool *)allocator;
  Idle *surplus;
  gsize idle;

  hr_mutex_lock (&pool->lock);
  surplus = remove_surplus (pool, max_idle, 0);
  idle = pool->idle;
  hr_mutex_unlock (&pool->lock);
  free_surplus (surplus);
  return idle;
}

static gsize
pool_get_excess (HrAllocator *allocator G_GNUC_UNUSED, const HrMemory *memory)
{
  return memory->handle / HR_N_SIZE_CLASSES - memory->size;
}

/* in whole pages */
static void
pool_drop_excess (HrAllocator *allocator G_GNUC_UNUSED, HrMemory *memory)
{
  gsize page = (gsize)sysconf (_SC_PAGESIZE), touched = memory->handle / HR_N_SIZE_CLASSES;
  guintptr data = (guintptr)memory->data;
  guintptr begin = (data + memory->size + page - 1) / page * page,
           end = (data + touched) / page * page;

  if (begin >= end || madvise ((void *)begin, end - begin, MADV_DONTNEED) != 0)
    return;
  memory->handle = to_handle (memory->handle % HR_N_SIZE_CLASSES, begin - data);
}

gsize
hr_pool_get_excess (const HrMemory *memory)
{
  HrAllocator *allocator = memory->allocator;

  return allocator != NULL && allocator->get_excess != NULL
             ? allocator->get_excess (allocator, memory)
             : 0;
}

void
hr_pool_drop_excess (HrMemory *memory)
{
  memory->allocator->drop_excess (memory->allocator, memory);
}

static void
pool_finalize (HrAllocator *allocator)
{
  Pool *pool = (Pool *)allocator;

  for (Idle *idle = pool->newest, *older; idle != NULL; idle = older) {
    older = idle->older;
    free (idle);
  }
  hr_mutex_clear (&pool->lock);
  g_free (pool);
}

/**
 * hr_allocator_pool_new: (skip)
 * @max_idle: most bytes of free blocks it keeps; three blocks are kept even if they are larger,
 *   unless it is 0
 *
 * An allocator for blocks that are written once and live shortly. Its blocks are aligned to 64
 * bytes and up to a quarter (rarely a half) larger than asked for; those of more than 1 MiB have
 * address space for up to twice as much, of which only what is written becomes memory. It dies with
 * its last block.
 *
 * Returns: (transfer full): a pool; thread safe
 */
HrAllocator *
hr_allocator_pool_new (gsize max_idle)
{
  Pool *pool = g_new0 (Pool, 1);

  hr_allocator_init (&pool->parent, "pool");
  pool->parent.alloc = pool_alloc;
  pool->parent.free = pool_free;
  pool->parent.finalize = pool_finalize;
  pool->parent.get_excess = pool_get_excess;
  pool->parent.drop_excess = pool_drop_excess;
  pool->max_idle = max_idle;
  hr_mutex_init (&pool->lock);
  return &pool->parent;
}
