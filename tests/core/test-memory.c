/* blocks, views, allocators, pools and reservations: who owns what, and that it all goes back */
#include <string.h>
#include "hr-error.h"
#include "hr-pool.h"
#include "hr-reservation.h"

static void
test_new (void)
{
  const gsize sizes[] = { 0, 1, 63, 64, 65, 100000 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_autoptr (HrMemory) memory = hr_memory_new (sizes[i]);

    g_assert_cmpuint (memory->size, ==, sizes[i]);
    g_assert_nonnull (memory->data);
    g_assert_cmpuint ((guintptr)memory->data % 64, ==, 0);
    g_assert_true (memory->allocator == hr_allocator_heap ());
    memset (memory->data, 7, sizes[i]);
    g_assert_cmpint (hr_memory_live (), ==, 1);
  }
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

static void
test_copy (void)
{
  g_autoptr (HrMemory) memory = hr_memory_new_copy ("headrace", 8);
  g_autoptr (HrMemory) empty = hr_memory_new_copy (NULL, 0);

  g_assert_cmpmem (memory->data, memory->size, "headrace", 8);
  g_assert_cmpuint (empty->size, ==, 0);
}

static void
count (gpointer data)
{
  ++*(gint *)data;
}

static void
test_wrapped (void)
{
  char bytes[] = "0123456789";
  gint freed = 0;
  HrMemory *memory = hr_memory_new_wrapped (bytes, 10, count, &freed);
  HrMemory *view = hr_memory_view (memory, 2, 5);

  g_assert_true (memory->data == (guint8 *)bytes);
  hr_memory_unref (memory);
  g_assert_cmpint (freed, ==, 0);
  g_assert_cmpmem (view->data, view->size, "23456", 5);
  hr_memory_unref (view);
  g_assert_cmpint (freed, ==, 1);

  memory = hr_memory_new_wrapped (bytes, 10, NULL, NULL);
  hr_memory_unref (memory);
}

static void
test_views (void)
{
  HrMemory *memory = hr_memory_new_copy ("0123456789", 10);
  HrMemory *view, *inner;

  g_assert_true (hr_memory_is_writable (memory));
  view = hr_memory_view (memory, 1, 8);
  inner = hr_memory_view (view, 7, 1);
  g_assert_cmpmem (inner->data, inner->size, "8", 1);
  g_assert_false (hr_memory_is_writable (memory));
  g_assert_false (hr_memory_is_writable (inner));
  g_assert_cmpint (hr_memory_live (), ==, 3);

  hr_memory_unref (memory);
  g_assert_false (hr_memory_is_writable (inner));
  hr_memory_unref (view);
  /* the last one left is its own only owner */
  g_assert_true (hr_memory_is_writable (inner));
  g_assert_cmpmem (inner->data, inner->size, "8", 1);
  hr_memory_unref (inner);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

static void
test_view_outside (void)
{
  g_autoptr (HrMemory) memory = hr_memory_new (10);

  g_test_expect_message ("headrace", G_LOG_LEVEL_CRITICAL, "*assertion*");
  g_assert_null (hr_memory_view (memory, 4, 7));
  g_test_expect_message ("headrace", G_LOG_LEVEL_CRITICAL, "*assertion*");
  g_assert_null (hr_memory_view (memory, 11, 0));
  g_test_expect_message ("headrace", G_LOG_LEVEL_CRITICAL, "*assertion*");
  g_assert_null (hr_memory_view (memory, 1, G_MAXSIZE));
  g_test_assert_expected_messages ();
}

static void
test_no_memory (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_pool_new (1000);
  HrAllocator *allocators[] = { hr_allocator_heap (), pool };

  for (guint i = 0; i < G_N_ELEMENTS (allocators); i++) {
    const gsize sizes[] = { G_MAXSIZE, G_MAXSIZE / 2, G_MAXSIZE / 8 };

    for (guint j = 0; j < G_N_ELEMENTS (sizes); j++) {
      g_autoptr (GError) error = NULL;

      g_assert_null (hr_memory_new_from_allocator (allocators[i], sizes[j], &error));
      g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY);
    }
  }
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

/* an allocator of a program's own, without host pointers */
typedef struct {
  HrAllocator parent;
  gint blocks;
  gint *finalized;
} Device;

static gboolean
device_alloc (HrAllocator *self, HrMemory *memory, gsize size, GError **error G_GNUC_UNUSED)
{
  memory->handle = 4096;
  memory->capacity = size;
  g_atomic_int_inc (&((Device *)self)->blocks);
  return TRUE;
}

static void
device_free (HrAllocator *self, HrMemory *memory)
{
  g_assert_cmpuint (memory->handle, ==, 4096);
  g_atomic_int_add (&((Device *)self)->blocks, -1);
}

static void
device_finalize (HrAllocator *self)
{
  g_assert_cmpint (((Device *)self)->blocks, ==, 0);
  ++*((Device *)self)->finalized;
  g_free (self);
}

static void
test_own_allocator (void)
{
  gint finalized = 0;
  Device *device = g_new0 (Device, 1);
  HrMemory *memory, *view;

  hr_allocator_init (&device->parent, "device");
  device->parent.alloc = device_alloc;
  device->parent.free = device_free;
  device->parent.finalize = device_finalize;
  device->finalized = &finalized;
  memory = hr_memory_new_from_allocator (&device->parent, 100, NULL);
  /* the block keeps its allocator, the view keeps the block */
  hr_allocator_unref (&device->parent);
  view = hr_memory_view (memory, 10, 20);
  hr_memory_unref (memory);
  g_assert_null (view->data);
  g_assert_cmpuint (view->handle, ==, 4096);
  g_assert_cmpint (finalized, ==, 0);
  hr_memory_unref (view);
  g_assert_cmpint (finalized, ==, 1);
}

static void
test_pool_recycles (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_pool_new (1 << 20);
  guint8 *data;

  for (gsize size = 0; size < 300000; size = size * 9 / 8 + 1) {
    HrMemory *memory = hr_memory_new_from_allocator (pool, size, NULL);
    HrMemory *again, *other;

    data = memory->data;
    g_assert_cmpuint ((guintptr)data % 64, ==, 0);
    g_assert_cmpuint (memory->size, ==, size);
    g_assert_cmpuint (memory->capacity, >=, size);
    g_assert_cmpuint (memory->capacity, <=, MAX (128, size + size / 3 + 64));
    memset (data, 0xee, memory->capacity);
    /* never a block that somebody holds */
    other = hr_memory_new_from_allocator (pool, size, NULL);
    g_assert_true (other->data + other->capacity <= data || data + memory->capacity <= other->data);
    hr_memory_unref (memory);
    again = hr_memory_new_from_allocator (pool, size, NULL);
    g_assert_true (again->data == data);
    hr_memory_unref (again);
    hr_memory_unref (other);
  }
}

static void
test_pool_near_size (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_pool_new (1 << 20);
  HrMemory *memory = hr_memory_new_from_allocator (pool, 10000, NULL);
  guint8 *data = memory->data;

  hr_memory_unref (memory);
  /* a little smaller, also when that is the class below: the same block */
  for (gsize size = 9000; size >= 8000; size -= 1000) {
    memory = hr_memory_new_from_allocator (pool, size, NULL);
    g_assert_true (memory->data == data);
    g_assert_cmpuint (memory->size, ==, size);
    hr_memory_unref (memory);
  }
  /* much smaller: not worth it, and larger cannot be */
  memory = hr_memory_new_from_allocator (pool, 1000, NULL);
  g_assert_true (memory->data != data);
  hr_memory_unref (memory);
  memory = hr_memory_new_from_allocator (pool, 20000, NULL);
  g_assert_true (memory->data != data);
  hr_memory_unref (memory);
}

/* batches of many sizes share a few blocks, whatever order they come in */
static void
test_pool_large (void)
{
  static const gsize sizes[] = { 5u << 20, 8u << 20, 5000000, (4u << 20) + 1, 2100000, 8u << 20 };
  g_autoptr (HrAllocator) pool = hr_allocator_pool_new (64u << 20);
  guint8 *data = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    HrMemory *memory = hr_memory_new_from_allocator (pool, sizes[i], NULL);

    g_assert_true (data == NULL || memory->data == data);
    data = memory->data;
    g_assert_cmpuint (memory->size, ==, sizes[i]);
    g_assert_cmpuint (memory->capacity, ==, 8u << 20);
    memory->data[sizes[i] - 1] = 1;
    hr_memory_unref (memory);
  }
  /* a block of much less is another one */
  g_autoptr (HrMemory) small = hr_memory_new_from_allocator (pool, 1u << 20, NULL);
  g_assert_true (small->data != data);
}

/* how many of @n freed blocks come back */
static guint
count_kept (gsize max_idle, gsize size, guint n)
{
  g_autoptr (HrAllocator) pool = hr_allocator_pool_new (max_idle);
  g_autoptr (GPtrArray) blocks = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_memory_unref);
  g_autoptr (GHashTable) addresses = g_hash_table_new (NULL, NULL);
  guint kept = 0;

  for (guint i = 0; i < n; i++) {
    HrMemory *memory = hr_memory_new_from_allocator (pool, size, NULL);

    /* marked behind what the pool writes into an idle block; the mark is the proof, since the heap
     * may give an address again */
    memcpy (memory->data + 256, "kept by the pool", 16);
    g_ptr_array_add (blocks, memory);
  }
  g_ptr_array_set_size (blocks, 0);
  for (guint i = 0; i < n; i++) {
    HrMemory *memory = hr_memory_new_from_allocator (pool, size, NULL);

    g_assert_true (g_hash_table_add (addresses, memory->data));
    kept += memcmp (memory->data + 256, "kept by the pool", 16) == 0;
    g_ptr_array_add (blocks, memory);
  }
  return kept;
}

static void
test_pool_bound (void)
{
  /* with MALLOC_PERTURB_ the heap overwrites what is freed; without it the mark may survive there
   */
#ifdef __SANITIZE_THREAD__
  gboolean marks = FALSE;
#else
  const char *preloaded = g_getenv ("LD_PRELOAD"); /* valgrind has a heap of its own */
  gboolean marks = g_getenv ("MALLOC_PERTURB_") != NULL
                   && (preloaded == NULL || strstr (preloaded, "vgpreload") == NULL);
#endif
  if (!marks) {
    g_test_skip ("needs a heap that obeys MALLOC_PERTURB_");
    return;
  }
  g_assert_cmpuint (count_kept (1 << 20, 4096, 10), ==, 10);
  g_assert_cmpuint (count_kept (4096 * 3, 4096, 10), ==, 3);
  g_assert_cmpuint (count_kept (4096 * 3 + 4095, 4096, 10), ==, 3);
  g_assert_cmpuint (count_kept (0, 4096, 10), ==, 0);
  /* three may be larger than the bound, not four; and what counts is what was used of a block */
  g_assert_cmpuint (count_kept (4096, 10000, 10), ==, 3);
  g_assert_cmpuint (count_kept (10 * 1100000, 1100000, 10), ==, 10);
  g_assert_cmpuint (count_kept (10 * 1100000, 1100001, 10), ==, 9);
}

/* what is idle can be given up, and what a recycled block has too much of is known */
static void
test_pool_trim (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_pool_new (64u << 20);
  HrMemory *a = hr_memory_new_from_allocator (pool, 7u << 20, NULL);
  HrMemory *b = hr_memory_new_from_allocator (pool, 7u << 20, NULL);
  g_autoptr (HrMemory) heap = hr_memory_new (5000);

  g_assert_cmpuint (hr_pool_get_excess (a), ==, 0);
  g_assert_cmpuint (hr_pool_get_excess (heap), ==, 0);
  memset (a->data, 7, 7u << 20);
  hr_memory_unref (b);
  hr_memory_unref (a);
  g_assert_cmpuint (hr_pool_trim (pool, 20u << 20), ==, 14u << 20);
  g_assert_cmpuint (hr_pool_trim (pool, 13u << 20), ==, 7u << 20); /* b was idle for longer */
  a = hr_memory_new_from_allocator (pool, 2100000, NULL);
  g_assert_cmpint (a->data[2099999], ==, 7);
  g_assert_cmpuint (hr_pool_get_excess (a), ==, (7u << 20) - 2100000);
  hr_pool_drop_excess (a);
  g_assert_cmpuint (hr_pool_get_excess (a), <, 65536); /* the rest of a page */
  g_assert_cmpint (a->data[2099999], ==, 7);
  g_assert_cmpint (a->data[(7u << 20) - 70000], ==, 0); /* was given back: comes as zeros */
  hr_memory_unref (a);
  g_assert_cmpuint (hr_pool_trim (pool, G_MAXSIZE), <, 2100000 + 65536);
  g_assert_cmpuint (hr_pool_trim (pool, 0), ==, 0);
}

static void
count_call (gpointer data)
{
  ++*(guint *)data;
}

/* room is asked for when a block is new, not when one is recycled */
static void
test_pool_make_room (void)
{
  g_autoptr (HrAllocator) pool = hr_allocator_pool_new (1 << 20);
  guint calls = 0;

  hr_pool_set_make_room (pool, count_call, &calls);
  for (guint i = 0; i < 3; i++)
    hr_memory_unref (hr_memory_new_from_allocator (pool, 5000, NULL));
  g_assert_cmpuint (calls, ==, 1);
  hr_memory_unref (hr_memory_new_from_allocator (pool, 500000, NULL));
  g_assert_cmpuint (calls, ==, 2);
}

static gpointer
hammer_pool (gpointer data)
{
  HrAllocator *pool = data;
  GRand *random = g_rand_new_with_seed (GPOINTER_TO_UINT (g_thread_self ()));
  HrMemory *held[16] = { NULL };

  for (guint i = 0; i < 4000; i++) {
    guint slot = g_rand_int_range (random, 0, 16);

    if (held[slot] != NULL) {
      /* still what this thread wrote: nobody else was given the block */
      g_assert_cmpuint (held[slot]->data[0], ==, slot);
      g_assert_cmpuint (held[slot]->data[held[slot]->size - 1], ==, slot);
      hr_memory_unref (held[slot]);
    }
    held[slot] = hr_memory_new_from_allocator (pool, g_rand_int_range (random, 1, 5000), NULL);
    memset (held[slot]->data, slot, held[slot]->size);
  }
  for (guint i = 0; i < 16; i++)
    hr_memory_unref (held[i]);
  hr_allocator_unref (pool);
  g_rand_free (random);
  return NULL;
}

static void
test_pool_threads (void)
{
  HrAllocator *pool = hr_allocator_pool_new (50000);
  GThread *threads[4];

  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new ("pool", hammer_pool, hr_allocator_ref (pool));
  hr_allocator_unref (pool);
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

static void
test_pool_outlived (void)
{
  HrAllocator *pool = hr_allocator_pool_new (1 << 20);
  g_autoptr (HrMemory) memory = hr_memory_new_from_allocator (pool, 1000, NULL);

  hr_memory_unref (hr_memory_new_from_allocator (pool, 5000, NULL));
  hr_allocator_unref (pool);
  memset (memory->data, 1, memory->size);
}

typedef struct {
  gint times;
  guint64 bytes;
  gint64 number;
  gint dropped;
} Budget;

static void
give_back (gpointer owner, gint64 number, guint64 bytes)
{
  Budget *budget = owner;

  budget->times++;
  budget->number = number;
  budget->bytes += bytes;
}

static void
drop_owner (gpointer owner)
{
  ((Budget *)owner)->dropped++;
}

static void
test_reservation (void)
{
  Budget budget = { 0 };
  HrReservation *reservation = hr_reservation_new (&budget, 42, 1000, give_back, drop_owner);
  HrMemory *first = hr_memory_new (600), *second = hr_memory_new (400), *view;

  first->reservation = hr_reservation_ref (reservation);
  second->reservation = reservation;
  view = hr_memory_view (first, 0, 10);
  hr_memory_unref (first);
  hr_memory_unref (second);
  g_assert_cmpint (budget.times, ==, 0);
  hr_memory_unref (view);
  g_assert_cmpint (budget.times, ==, 1);
  g_assert_cmpuint (budget.bytes, ==, 1000);
  g_assert_cmpint (budget.number, ==, 42);
  g_assert_cmpint (budget.dropped, ==, 1);
}

static void
test_reservation_release (void)
{
  Budget budget = { 0 };
  HrReservation *reservation = hr_reservation_new (&budget, 7, 1000, give_back, drop_owner);

  hr_reservation_release (reservation);
  hr_reservation_release (reservation);
  g_assert_cmpint (budget.times, ==, 1);
  g_assert_cmpint (budget.dropped, ==, 0);
  hr_reservation_unref (reservation);
  g_assert_cmpint (budget.times, ==, 1);
  g_assert_cmpint (budget.dropped, ==, 1);
  hr_reservation_unref (NULL);
}

static gpointer
hammer_ref (gpointer data)
{
  for (guint i = 0; i < 20000; i++) {
    HrMemory *view = hr_memory_view (data, i % 50, 50);

    hr_memory_unref (hr_memory_ref (data));
    g_assert_cmpuint (view->data[0], ==, 3);
    hr_memory_unref (view);
  }
  hr_memory_unref (data);
  return NULL;
}

static void
test_threads (void)
{
  HrMemory *memory = hr_memory_new (100);
  GThread *threads[4];

  memset (memory->data, 3, 100);
  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new ("ref", hammer_ref, hr_memory_ref (memory));
  hr_memory_unref (memory);
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memory/new", test_new);
  g_test_add_func ("/memory/copy", test_copy);
  g_test_add_func ("/memory/wrapped", test_wrapped);
  g_test_add_func ("/memory/views", test_views);
  g_test_add_func ("/memory/view-outside", test_view_outside);
  g_test_add_func ("/memory/no-memory", test_no_memory);
  g_test_add_func ("/memory/own-allocator", test_own_allocator);
  g_test_add_func ("/memory/threads", test_threads);
  g_test_add_func ("/pool/recycles", test_pool_recycles);
  g_test_add_func ("/pool/near-size", test_pool_near_size);
  g_test_add_func ("/pool/large", test_pool_large);
  g_test_add_func ("/pool/bound", test_pool_bound);
  g_test_add_func ("/pool/trim", test_pool_trim);
  g_test_add_func ("/pool/make-room", test_pool_make_room);
  g_test_add_func ("/pool/threads", test_pool_threads);
  g_test_add_func ("/pool/outlived", test_pool_outlived);
  g_test_add_func ("/reservation/shared", test_reservation);
  g_test_add_func ("/reservation/release", test_reservation_release);
  return g_test_run ();
}
