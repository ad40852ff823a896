/* blocks that another process can map: where they are, when they are used again, what they cost */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "headrace.h"
#include "hr-pool.h"

#define MIB ((gsize)1 << 20)

static HrMemory *
block_new (HrAllocator *pool, gsize size)
{
  g_autoptr (GError) error = NULL;
  HrMemory *memory = hr_memory_new_from_allocator (pool, size, &error);

  g_assert_no_error (error);
  return memory;
}

static HrMemfdPlace
place_of (const HrMemory *memory)
{
  HrMemfdPlace place;

  g_assert_true (hr_memory_get_memfd (memory, &place));
  return place;
}

static HrMemfdStats
stats_of (HrAllocator *pool)
{
  HrMemfdStats stats;

  hr_allocator_memfd_get_stats (pool, &stats);
  return stats;
}

/* bytes that the kernel has for a descriptor */
static gsize
count_bytes (int fd)
{
  struct stat info;

  g_assert_cmpint (fstat (fd, &info), ==, 0);
  return (gsize)info.st_blocks * 512;
}

/* as a reader would: another mapping of the descriptor */
static void
assert_seen (const HrMemory *memory, gconstpointer bytes, gsize size)
{
  HrMemfdPlace place = place_of (memory);
  guint8 *mapped = mmap (NULL, place.length, PROT_READ, MAP_SHARED, place.fd, 0);

  g_assert_true (mapped != MAP_FAILED);
  g_assert_cmpuint (place.offset + size, <=, place.length);
  g_assert_cmpmem (mapped + place.offset, size, bytes, size);
  munmap (mapped, place.length);
}

static void
test_blocks (void)
{
  static const gsize sizes[] = { 0, 1, 64, 4096, 4097, 100000, MIB, 3 * MIB + 1 };
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_autoptr (HrMemory) memory = block_new (pool, sizes[i]);

    g_assert_cmpuint (memory->size, ==, sizes[i]);
    g_assert_cmpuint ((guintptr)memory->data % (gsize)sysconf (_SC_PAGESIZE), ==, 0);
    memset (memory->data, 7, sizes[i]);
    g_assert_true (hr_memory_is_from (memory, pool));
    g_assert_cmpint (place_of (memory).fd, ==, (int)memory->handle);
  }
  g_assert_cmpuint (stats_of (pool).n_blocks, ==, 0);
}

/* neither shrinks nor grows, and is not handed to programs that are started */
static void
test_sealed (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);
  g_autoptr (HrMemory) memory = block_new (pool, 10000);
  HrMemfdPlace place = place_of (memory);
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  struct stat info;

  g_assert_cmpint (fcntl (place.fd, F_GET_SEALS) & seals, ==, seals);
  g_assert_cmpint (fcntl (place.fd, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
  g_assert_cmpint (fstat (place.fd, &info), ==, 0);
  g_assert_cmpuint (info.st_size, ==, place.length);
  g_assert_cmpint (ftruncate (place.fd, (off_t)place.length / 2), ==, -1);
  g_assert_cmpint (ftruncate (place.fd, (off_t)place.length * 2), ==, -1);
}

/* views are found where they are, other memory is not found */
static void
test_places (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);
  g_autoptr (HrMemory) one = block_new (pool, 10000), two = block_new (pool, 10000),
                       large = block_new (pool, 50000), heap = hr_memory_new (10);
  g_autoptr (HrMemory) view = hr_memory_view (two, 100, 50), of_heap = hr_memory_view (heap, 1, 2);
  HrMemfdPlace place;

  memcpy (one->data, "first", 5);
  memcpy (two->data + 100, "second", 6);
  memcpy (large->data, "large", 5);
  assert_seen (one, "first", 5);
  assert_seen (view, "second", 6);
  assert_seen (large, "large", 5);
  g_assert_cmpuint (place_of (view).offset, ==, place_of (two).offset + 100);
  g_assert_cmpuint (place_of (one).id, ==, place_of (two).id);
  g_assert_cmpuint (place_of (one).id, !=, place_of (large).id);
  g_assert_false (hr_memory_get_memfd (heap, &place));
  g_assert_false (hr_memory_get_memfd (of_heap, &place));
}

/* ids are never given again, although descriptors are */
static void
test_ids (void)
{
  guint64 last = 0;

  for (guint i = 0; i < 5; i++) {
    g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);
    g_autoptr (HrMemory) memory = block_new (pool, 10);
    guint64 id = place_of (memory).id;

    g_assert_cmpuint (id, >, last);
    last = id;
  }
}

/* another process sees what is written, and this one what that writes */
static void
test_other_process (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);
  g_autoptr (HrMemory) memory = block_new (pool, 10000);
  HrMemfdPlace place = place_of (memory);
  int status;
  pid_t child;

  memcpy (memory->data, "from the pool", 14);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0) {
    char *mapped = mmap (NULL, place.length, PROT_READ | PROT_WRITE, MAP_SHARED, place.fd, 0);

    if (mapped == MAP_FAILED || strcmp (mapped + place.offset, "from the pool") != 0)
      _exit (1);
    strcpy (mapped + place.offset, "from the child");
    /* or memcheck calls them lost */
    hr_memory_unref (g_steal_pointer (&memory));
    hr_allocator_unref (g_steal_pointer (&pool));
    _exit (0);
  }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
  g_assert_cmpstr ((char *)memory->data, ==, "from the child");
}

/* only what nobody holds: a second reference, a view, somebody who waits for a reader */
static void
test_reuse (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);
  HrMemory *memory = block_new (pool, 10000), *other, *view;
  guint8 *first = memory->data;

  view = hr_memory_view (memory, 5, 5);
  hr_memory_unref (memory);
  other = block_new (pool, 10000);
  g_assert_true (other->data != first);
  hr_memory_unref (view);
  memory = block_new (pool, 9000);
  g_assert_true (memory->data == first);
  g_assert_cmpuint (stats_of (pool).n_blocks, ==, 2);
  hr_memory_unref (memory);
  hr_memory_unref (other);
  g_assert_cmpuint (stats_of (pool).n_blocks, ==, 0);
  /* what is used again costs no more memory; what grows in its slot does */
  memory = block_new (pool, 9000);
  g_assert_cmpuint (count_bytes (place_of (memory).fd), ==, 2 * 12288);
  hr_memory_unref (memory);
}

/* idle bytes have a bound: what is beyond it is the kernel's again, the oldest first */
static void
test_idle (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (8 * MIB);
  HrMemory *held[32], *kept;
  HrMemfdPlace place;

  for (guint i = 0; i < 32; i++)
    held[i] = block_new (pool, MIB);
  place = place_of (held[0]);
  for (guint i = 0; i < 32; i++)
    memset (held[i]->data, 1, MIB);
  kept = held[31];
  for (guint i = 0; i < 31; i++) {
    hr_memory_unref (held[i]);
    g_assert_cmpuint (stats_of (pool).idle_bytes, ==, MIN (i + 1, 8) * MIB);
  }
  /* the first of them are holes now */
  g_assert_cmpint (place_of (kept).fd, !=, place.fd);
  g_assert_cmpuint (count_bytes (place.fd) + count_bytes (place_of (kept).fd), ==, 9 * MIB);
  hr_memory_unref (kept);
  /* a hole is used again, and is memory then */
  for (guint i = 0; i < 32; i++) {
    held[i] = block_new (pool, MIB);
    memset (held[i]->data, 2, MIB);
  }
  g_assert_cmpuint (count_bytes (place.fd), ==, 16 * MIB);
  g_assert_cmpuint (stats_of (pool).idle_bytes, ==, 0);
  for (guint i = 0; i < 32; i++)
    hr_memory_unref (held[i]);
}

/* a few large ones stay, unless nothing shall */
static void
test_few (void)
{
  g_autoptr (HrAllocator) few = hr_allocator_memfd_new (1), none = hr_allocator_memfd_new (0);
  HrMemory *held[5];

  for (guint i = 0; i < 5; i++)
    held[i] = block_new (few, MIB);
  for (guint i = 0; i < 5; i++)
    hr_memory_unref (held[i]);
  g_assert_cmpuint (stats_of (few).idle_bytes, ==, 3 * MIB);
  held[0] = block_new (none, MIB);
  held[1] = block_new (none, 10);
  hr_memory_unref (held[0]);
  hr_memory_unref (held[1]);
  g_assert_cmpuint (stats_of (none).idle_bytes, ==, 0);
}

/* what a block has beyond what was asked for is told, and given back */
static void
test_excess (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (64 * MIB);
  HrMemory *memory = block_new (pool, 7 * MIB);
  int fd = place_of (memory).fd;

  g_assert_cmpuint (hr_pool_get_excess (memory), ==, 0);
  memset (memory->data, 7, 7 * MIB);
  hr_memory_unref (memory);
  memory = block_new (pool, 5 * MIB - 100);
  g_assert_cmpuint (hr_pool_get_excess (memory), ==, 2 * MIB);
  g_assert_cmpuint (count_bytes (fd), ==, 7 * MIB);
  hr_pool_drop_excess (memory);
  g_assert_cmpuint (hr_pool_get_excess (memory), ==, 0);
  g_assert_cmpuint (count_bytes (fd), ==, 5 * MIB);
  g_assert_cmpint (memory->data[5 * MIB - 101], ==, 7);
  hr_memory_unref (memory);
  g_assert_cmpuint (stats_of (pool).idle_bytes, ==, 5 * MIB);
  memory = block_new (pool, 7 * MIB);
  g_assert_cmpint (memory->data[7 * MIB - 1], ==, 0);
  g_assert_cmpuint (count_bytes (fd), ==, 7 * MIB);
  hr_memory_unref (memory);
}

/* many blocks, few descriptors: of sizes as samples have them */
static void
test_descriptors (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);
  g_autoptr (GPtrArray) held = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_memory_unref);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GRand) random = g_rand_new_with_seed (7);

  for (guint i = 0; i < 8000; i++) {
    gsize size = (gsize)1 << g_rand_int_range (random, 3, 16);
    HrMemory *memory = block_new (pool, size + (gsize)g_rand_int_range (random, 0, (gint)size));

    memory->data[0] = 1;
    g_assert_true (g_hash_table_add (seen, memory->data));
    g_ptr_array_add (held, memory);
  }
  g_assert_cmpuint (stats_of (pool).n_blocks, ==, 8000);
  g_assert_cmpuint (stats_of (pool).n_descriptors, <=, 64);
  g_assert_cmpuint (stats_of (pool).n_descriptors, >=, 10);
}

/* ---- limits ---- */

static gboolean full;

/* stands in front of the C library's: a machine that has no memory left */
int
fallocate (int fd, int mode, off_t offset, off_t length)
{
  if (full) {
    errno = ENOSPC;
    return -1;
  }
  return (int)syscall (SYS_fallocate, fd, mode, offset, length);
}

static void
set_limit (int resource, rlim_t value)
{
  struct rlimit limit;

  g_assert_cmpint (getrlimit ((__rlimit_resource_t)resource, &limit), ==, 0);
  limit.rlim_cur = value;
  g_assert_cmpint (setrlimit ((__rlimit_resource_t)resource, &limit), ==, 0);
}

static void
assert_refused (HrAllocator *pool, gsize size, const char *word)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (hr_memory_new_from_allocator (pool, size, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY);
  g_assert_nonnull (strstr (error->message, word));
  g_assert_cmpuint (stats_of (pool).n_blocks, ==, 0);
}

static void
test_no_descriptor (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);
  struct rlimit before;
  int lowest = dup (0);

  getrlimit (RLIMIT_NOFILE, &before);
  close (lowest);
  set_limit (RLIMIT_NOFILE, (rlim_t)lowest);
  assert_refused (pool, 100, "ulimit -n");
  set_limit (RLIMIT_NOFILE, before.rlim_cur);
  hr_memory_unref (block_new (pool, 100));
  /* what there is already can be used without a new one */
  set_limit (RLIMIT_NOFILE, (rlim_t)lowest);
  hr_memory_unref (block_new (pool, 100));
  set_limit (RLIMIT_NOFILE, before.rlim_cur);
}

/* a limit that a segment does not fit into: fewer slots; one that no block fits into: an error */
static void
test_file_limit (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);
  struct rlimit before;

  getrlimit (RLIMIT_FSIZE, &before);
  set_limit (RLIMIT_FSIZE, 3 * MIB);
  assert_refused (pool, 10 * MIB, "ulimit -f");
  hr_memory_unref (block_new (pool, MIB));
  set_limit (RLIMIT_FSIZE, before.rlim_cur);
  hr_memory_unref (block_new (pool, 10 * MIB));
}

static void
test_no_memory (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (MIB);

  assert_refused (pool, (gsize)1 << 50, "than this machine has");
  assert_refused (pool, G_MAXSIZE, "than this machine has");
  hr_memory_unref (block_new (pool, 100));
  full = TRUE;
  assert_refused (pool, 100000, "No space left");
  full = FALSE;
  assert_refused (pool, (gsize)1 << 50, "than this machine has");
  hr_memory_unref (block_new (pool, 100000));
}

/* ---- lives ---- */

static guint
count_descriptors (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

/* the last block keeps the pool, and the pool all its descriptors */
static void
test_outlived (void)
{
  guint before = count_descriptors ();
  HrAllocator *pool = hr_allocator_memfd_new (MIB);
  HrMemory *memory = block_new (pool, 1000);

  hr_memory_unref (block_new (pool, 50000));
  hr_allocator_unref (pool);
  g_assert_cmpuint (count_descriptors (), ==, before + 2);
  memset (memory->data, 9, 1000);
  assert_seen (memory, memory->data, 1000);
  hr_memory_unref (memory);
  g_assert_cmpuint (count_descriptors (), ==, before);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

static gpointer
hammer (gpointer data)
{
  g_autoptr (HrAllocator) pool = data;
  GRand *random = g_rand_new_with_seed (GPOINTER_TO_UINT (g_thread_self ()));
  HrMemory *held[16] = { NULL };

  for (guint i = 0; i < 3000; i++) {
    guint slot = (guint)g_rand_int_range (random, 0, 16);

    if (held[slot] != NULL) {
      /* still what this thread wrote: nobody else was given the block, and it is no hole */
      g_assert_cmpuint (held[slot]->data[0], ==, slot + 1);
      g_assert_cmpuint (held[slot]->data[held[slot]->size - 1], ==, slot + 1);
      hr_memory_unref (held[slot]);
    }
    held[slot] = block_new (pool, (gsize)g_rand_int_range (random, 1, 40000));
    held[slot]->data[0] = held[slot]->data[held[slot]->size - 1] = (guint8)(slot + 1);
  }
  for (guint i = 0; i < 16; i++)
    hr_memory_unref (held[i]);
  g_rand_free (random);
  return NULL;
}

static void
test_threads (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_memfd_new (200000);
  GThread *threads[4];

  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new ("memfd", hammer, hr_allocator_ref (pool));
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (stats_of (pool).n_blocks, ==, 0);
  g_assert_cmpuint (stats_of (pool).idle_bytes, <=, 200000);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memfd/blocks", test_blocks);
  g_test_add_func ("/memfd/sealed", test_sealed);
  g_test_add_func ("/memfd/places", test_places);
  g_test_add_func ("/memfd/ids", test_ids);
  g_test_add_func ("/memfd/other-process", test_other_process);
  g_test_add_func ("/memfd/reuse", test_reuse);
  g_test_add_func ("/memfd/idle", test_idle);
  g_test_add_func ("/memfd/few", test_few);
  g_test_add_func ("/memfd/excess", test_excess);
  g_test_add_func ("/memfd/descriptors", test_descriptors);
  g_test_add_func ("/memfd/no-descriptor", test_no_descriptor);
  g_test_add_func ("/memfd/file-limit", test_file_limit);
  g_test_add_func ("/memfd/no-memory", test_no_memory);
  g_test_add_func ("/memfd/outlived", test_outlived);
  g_test_add_func ("/memfd/threads", test_threads);
  return g_test_run ();
}
