/* memory.c: blocks of devices, and pinned ones of the host */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "standin.h"

#define ALIGNMENT 256
#define N_DEVICES 16
/* so much more room for addresses than memory: those of freed blocks come back late */
#define ROOM 32
#define KEPT 4096 /* freed blocks that are still known */

/* One device's memory: at @begin for the program, which cannot touch it, at @reach for us. */
typedef struct {
  guint8 *begin, *reach;
  gsize size;
  gsize next; /* where the next block is looked for */
  gsize used;
  int file;
} Arena;

static Arena arenas[N_DEVICES];
static GPtrArray *blocks; /* StandinBlock */

static void
block_free (gpointer data)
{
  StandinBlock *block = data;

  g_array_free (block->accesses, TRUE);
  g_array_free (block->written, TRUE);
  g_free (block);
}

static StandinBlock *
add_block (guint8 *begin, gsize size, int device)
{
  StandinBlock *block = g_new0 (StandinBlock, 1);

  if (blocks == NULL)
    blocks = g_ptr_array_new_with_free_func (block_free);
  block->begin = begin;
  block->size = size;
  block->device = device;
  block->accesses = g_array_new (FALSE, FALSE, sizeof (StandinAccess));
  block->written = g_array_new (FALSE, FALSE, sizeof (StandinAccess));
  g_ptr_array_add (blocks, block);
  if (blocks->len > KEPT)
    for (guint i = 0; i < blocks->len; i++)
      if (((StandinBlock *)blocks->pdata[i])->freed) {
        g_ptr_array_remove_index (blocks, i);
        break;
      }
  return block;
}

static Arena *
arena_of (int device)
{
  Arena *arena = &arenas[device];

  g_assert (device >= 0 && device < N_DEVICES);
  if (arena->begin == NULL) {
    arena->size = standin_config.memory * ROOM;
    arena->file = memfd_create ("cuda-standin", MFD_CLOEXEC);
    if (arena->file < 0 || ftruncate (arena->file, (off_t)arena->size) != 0)
      g_error ("cuda stand-in: no room for a device's memory: %m");
    arena->begin =
        mmap (NULL, arena->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena->reach = mmap (NULL, arena->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                         arena->file, 0);
    if (arena->begin == MAP_FAILED || arena->reach == MAP_FAILED)
      g_error ("cuda stand-in: no addresses for a device's memory: %m");
  }
  return arena;
}

static gsize
round_up (gsize size, gsize to)
{
  return (size + to - 1) / to * to;
}

/* the first free bytes from @at on; @arena->size if there are none */
static gsize
find_room (const Arena *arena, gsize at, gsize size)
{
  gboolean moved = TRUE;

  while (moved && at + size <= arena->size) {
    moved = FALSE;
    for (guint i = 0; blocks != NULL && i < blocks->len; i++) {
      const StandinBlock *block = blocks->pdata[i];
      gsize begin = (gsize)(block->begin - arena->begin);

      if (!block->freed && block->device == arena - arenas && begin < at + size
          && at < begin + block->size) {
        at = round_up (begin + block->size, ALIGNMENT);
        moved = TRUE;
      }
    }
  }
  return at + size <= arena->size ? at : arena->size;
}

static guint8 *
new_on_device (int device, gsize size)
{
  Arena *arena = arena_of (device);
  gsize at;

  if (size > standin_config.memory - arena->used)
    return NULL;
  at = find_room (arena, arena->next, size);
  if (at == arena->size)
    at = find_room (arena, 0, size);
  if (at == arena->size)
    return NULL;
  arena->next = round_up (at + size + 1, ALIGNMENT); /* a byte between blocks belongs to none */
  arena->used += size;
  memset (arena->reach + at, STANDIN_PATTERN, size);
  add_block (arena->begin + at, size, device);
  return arena->begin + at;
}

/* the page behind it cannot be touched */
static guint8 *
new_on_host (gsize size)
{
  gsize page = (gsize)sysconf (_SC_PAGESIZE), room = round_up (size, page);
  guint8 *begin =
      mmap (NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (begin == MAP_FAILED)
    return NULL;
  mprotect (begin + room, page, PROT_NONE);
  memset (begin, STANDIN_PATTERN, room);
  add_block (begin, size, STANDIN_HOST);
  return begin;
}

guint8 *
standin_memory_new (int device, gsize size)
{
  return device == STANDIN_HOST ? new_on_host (size) : new_on_device (device, size);
}

StandinBlock *
standin_memory_find (const void *memory)
{
  StandinBlock *freed = NULL;

  for (guint i = 0; blocks != NULL && i < blocks->len; i++) {
    StandinBlock *block = blocks->pdata[i];

    if ((const guint8 *)memory >= block->begin
        && (const guint8 *)memory < block->begin + MAX (block->size, 1)) {
      if (!block->freed)
        return block;
      freed = block;
    }
  }
  return freed;
}

gboolean
standin_memory_free (void *memory, int device)
{
  StandinBlock *block = standin_memory_find (memory);
  const StandinAccess *busy;

  if (block == NULL || block->begin != memory
      || (block->device == STANDIN_HOST) != (device == STANDIN_HOST)) {
    standin_misuse ("bad-free", "%p is not the begin of a block of %s", memory,
                    device == STANDIN_HOST ? "pinned memory" : "a device");
    return FALSE;
  }
  if (block->freed) {
    standin_misuse ("double-free", "%p, %zu bytes, was freed before", memory, block->size);
    return FALSE;
  }
  busy = standin_work_in_flight (block->accesses);
  if (busy != NULL)
    standin_misuse (
        "early-free",
        "%p, %zu bytes, is freed, and the host does not know that %s, piece %" G_GUINT64_FORMAT
        " of stream %u, is done",
        memory, block->size, busy->what, busy->index, busy->stream);
  block->freed = TRUE;
  if (block->device == STANDIN_HOST) {
    gsize room = round_up (block->size, (gsize)sysconf (_SC_PAGESIZE));

    madvise (memory, room, MADV_DONTNEED);
    mprotect (memory, room, PROT_NONE);
  } else {
    Arena *arena = arena_of (block->device);
    gsize at = (gsize)(block->begin - arena->begin);

    arena->used -= block->size;
    memset (arena->reach + at, STANDIN_PATTERN, block->size);
  }
  return TRUE;
}

gsize
standin_memory_used (int device)
{
  return arenas[device].used;
}

guint8 *
standin_memory_reach (const void *memory)
{
  for (guint i = 0; i < N_DEVICES; i++)
    if (arenas[i].begin != NULL && (const guint8 *)memory >= arenas[i].begin
        && (const guint8 *)memory < arenas[i].begin + arenas[i].size)
      return arenas[i].reach + ((const guint8 *)memory - arenas[i].begin);
  return (guint8 *)memory;
}

void
standin_memory_list_left (GPtrArray *lines)
{
  for (guint i = 0; blocks != NULL && i < blocks->len; i++) {
    const StandinBlock *block = blocks->pdata[i];

    if (!block->freed && block->device == STANDIN_HOST)
      g_ptr_array_add (lines, g_strdup_printf ("pinned memory: %zu bytes", block->size));
    else if (!block->freed)
      g_ptr_array_add (
          lines, g_strdup_printf ("memory of device %d: %zu bytes", block->device, block->size));
  }
}
