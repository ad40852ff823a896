/* test-scan-objects.c: which parts are opened when, and what is found, of objects in memory */
#include "scan-objects.h"
#include "line-scan.h"
#include "hr-error.h"
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define N 12

typedef struct {
  HrObject objects[N];
  char *texts[N];
  gsize sizes[N];
  guint most_read; /* a read gives at most so many bytes; 0: all */
  guint n_open, most_open;
  gint64 bytes_open, most_bytes_open;
  guint n_opens;
  gint fail_open, fail_read; /* the how many-th call fails; -1: none */
  guint n_reads;
  gint64 n_read;
  int wake_fd;
  gint wake_at; /* this read makes the descriptor readable */
  guint n_found;
  gint refuse; /* this object's table is refused */
} Store;

typedef struct {
  guint object;
  gint64 start;
  gint64 end;
} Part;

static gpointer
open_part (gpointer data, const HrObject *object, gint64 start, gint64 end, GError **error)
{
  Store *store = data;
  Part *part;

  if ((gint)store->n_opens++ == store->fail_open) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND, "gone");
    return NULL;
  }
  part = g_new0 (Part, 1);
  part->object = object - store->objects;
  part->start = start;
  part->end = end;
  g_assert_cmpint (start, <, end < 0 ? 1 : end);
  g_assert_cmpint (end, <=, object->size);
  store->n_open++;
  store->most_open = MAX (store->most_open, store->n_open);
  store->bytes_open += end < 0 ? 0 : end - start;
  store->most_bytes_open = MAX (store->most_bytes_open, store->bytes_open);
  return part;
}

static gssize
read_part (gpointer data, gpointer handle, gint64 offset, guint8 *into, gsize size, GError **error)
{
  Store *store = data;
  const Part *part = handle;
  gsize n = store->sizes[part->object];

  if ((gint)store->n_reads++ == store->fail_read) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "broken");
    return -1;
  }
  if ((gint)store->n_reads == store->wake_at)
    g_assert_cmpint (eventfd_write (store->wake_fd, 1), ==, 0);
  g_assert_cmpint (offset, >=, part->start);
  if (part->end >= 0)
    g_assert_cmpint (offset + (gint64)size, <=, part->end);
  n = MIN (size, n - MIN ((gsize)offset, n));
  if (n > store->most_read && store->most_read > 0)
    n = g_test_rand_int_range (1, (gint)store->most_read + 1);
  memcpy (into, store->texts[part->object] + offset, n);
  store->n_read += n;
  return n;
}

static void
close_part (gpointer data, gpointer handle)
{
  Store *store = data;
  Part *part = handle;

  store->n_open--;
  store->bytes_open -= part->end < 0 ? 0 : part->end - part->start;
  g_free (part);
}

static const HrLineSourceFuncs funcs = { open_part, read_part, close_part };

static gboolean
found (gpointer data, guint index, HrLineTable *taken, GError **error)
{
  Store *store = data;
  g_autoptr (HrLineTable) table = taken;
  g_autoptr (HrLineScan) scan = hr_line_scan_new ();
  g_autoptr (HrLineTable) right = NULL;
  g_autoptr (GBytes) a = hr_line_table_to_bytes (table), b = NULL;

  g_assert_cmpuint (index, ==, store->n_found++);
  hr_line_scan_feed (scan, (const guint8 *)store->texts[index], store->sizes[index]);
  right = hr_line_scan_end (scan);
  b = hr_line_table_to_bytes (right);
  g_assert_true (g_bytes_equal (a, b));
  if ((gint)index != store->refuse)
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "refused");
  return FALSE;
}

static void
store_init (Store *store, gsize most)
{
  *store = (Store){ .fail_open = -1, .fail_read = -1, .wake_fd = -1, .wake_at = -1, .refuse = -1 };
  for (guint i = 0; i < N; i++) {
    gsize size = g_test_rand_int_range (0, 5) == 0 ? 0 : g_test_rand_int_range (1, (gint)most + 1);

    store->texts[i] = g_malloc (size + 1);
    for (gsize k = 0; k < size; k++)
      store->texts[i][k] = " \n\nab"[g_test_rand_int_range (0, 5)];
    store->sizes[i] = size;
    store->objects[i] = (HrObject){ .uri = g_ref_string_new ("memory"), .size = (gint64)size };
  }
}

static void
store_clear (Store *store)
{
  g_assert_cmpuint (store->n_open, ==, 0);
  for (guint i = 0; i < N; i++) {
    g_free (store->texts[i]);
    g_ref_string_release (store->objects[i].uri);
  }
  if (store->wake_fd >= 0)
    close (store->wake_fd);
}

static gboolean
run (Store *store, guint n, gint64 part_bytes, guint ahead, gint64 ahead_bytes, GError **error)
{
  HrScanOptions options = { part_bytes, ahead, ahead_bytes, store->wake_fd };
  const HrObject *objects[N];

  for (guint i = 0; i < n; i++)
    objects[i] = &store->objects[i];
  return hr_scan_objects (&funcs, store, objects, n, &options, found, store, error);
}

static void
test_random (void)
{
  for (guint round = 0; round < 500; round++) {
    g_autoptr (GError) error = NULL;
    guint n = g_test_rand_int_range (0, N + 1), ahead = g_test_rand_int_range (0, 6);
    gint64 part = round % 4 == 0 ? G_MAXINT64 : g_test_rand_int_range (1, 200), total = 0;
    gint64 ahead_bytes = round % 3 == 0 ? G_MAXINT64 : g_test_rand_int_range (0, 500);
    Store store;

    store_init (&store, 1 << g_test_rand_int_range (0, 10));
    store.most_read = round % 2 ? 100 : 0;
    g_assert_true (run (&store, n, part, ahead, ahead_bytes, &error));
    g_assert_no_error (error);
    g_assert_cmpuint (store.n_found, ==, n);
    g_assert_cmpuint (store.most_open, <=, ahead + 1);
    if (store.most_open > 1)
      g_assert_cmpint (store.most_bytes_open, <, MIN (ahead_bytes, 1 << 20) + MIN (part, 1 << 10));
    for (guint i = 0; i < n; i++)
      total += store.objects[i].size;
    g_assert_cmpint (store.n_read, ==, total); /* each byte once */
    store_clear (&store);
  }
}

/* many small ones are under way at once, a few large parts are, and empty ones never are */
static void
test_ahead (void)
{
  Store store;
  guint n_full = 0;

  store_init (&store, 100);
  for (guint i = 0; i < N; i++)
    n_full += store.sizes[i] > 0;
  g_assert_true (run (&store, N, G_MAXINT64, 64, G_MAXINT64, NULL));
  g_assert_cmpuint (store.most_open, ==, n_full);
  g_assert_cmpuint (store.n_opens, ==, n_full);
  store_clear (&store);

  store_init (&store, 1000);
  g_assert_true (run (&store, N, 10, 64, 40, NULL));
  g_assert_cmpuint (store.most_open, >=, 4);
  g_assert_cmpint (store.most_bytes_open, <, 50);
  store_clear (&store);
}

static void
test_without_size (void)
{
  Store store;

  store_init (&store, 100);
  for (guint i = 0; i < N; i += 2)
    store.objects[i].size = -1;
  store.most_read = 10;
  g_assert_true (run (&store, N, 7, 3, G_MAXINT64, NULL));
  g_assert_cmpuint (store.n_found, ==, N);
  store_clear (&store);
}

/* whichever call fails: its error, nothing stays open, and what was found before is good */
static void
test_failures (void)
{
  for (gint at = 0;; at++) {
    guint n_failed = 0;

    for (guint way = 0; way < 3; way++) {
      g_autoptr (GError) error = NULL;
      Store store;

      store_init (&store, 20);
      if (way == 0)
        store.fail_open = at;
      else if (way == 1)
        store.fail_read = at;
      else
        store.refuse = at;
      if (!run (&store, N, 7, 2, G_MAXINT64, &error)) {
        n_failed++;
        g_assert_cmpstr (error->message, ==, way == 0 ? "gone" : way == 1 ? "broken" : "refused");
        g_assert_cmpuint (store.n_found, <=, N);
      } else {
        g_assert_cmpuint (store.n_found, ==, N);
      }
      store_clear (&store);
    }
    if (n_failed == 0)
      break;
    g_assert_cmpint (at, <, 1000);
  }
}

static void
test_cut (void)
{
  g_autoptr (GError) error = NULL;
  Store store;

  store_init (&store, 100);
  store.objects[3].size = (gint64)store.sizes[3] + 5;
  g_assert_false (run (&store, N, 8, 1, G_MAXINT64, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED);
  g_assert_nonnull (strstr (error->message, "memory: ends at byte "));
  g_assert_cmpuint (store.n_found, ==, 3);
  store_clear (&store);
}

/* before an object, and inside one that is long: after 4 MiB at the latest */
static void
test_stop (void)
{
  g_autoptr (GError) error = NULL;
  gsize size = 12 << 20;
  Store store;

  store_init (&store, 10);
  store.wake_fd = eventfd (1, 0);
  g_assert_false (run (&store, N, G_MAXINT64, 1, G_MAXINT64, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED);
  g_assert_cmpuint (store.n_reads, ==, 0);
  store_clear (&store);
  g_clear_error (&error);

  store_init (&store, 10);
  g_free (store.texts[0]);
  store.texts[0] = g_malloc (size);
  memset (store.texts[0], 'a', size);
  store.sizes[0] = size;
  store.objects[0].size = (gint64)size;
  store.wake_fd = eventfd (0, 0);
  store.wake_at = 3;
  g_assert_false (run (&store, N, G_MAXINT64, 1, G_MAXINT64, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED);
  g_assert_cmpint (store.n_read, <=, 5 << 20);
  g_assert_cmpuint (store.n_found, ==, 0);
  store_clear (&store);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/scan-objects/random", test_random);
  g_test_add_func ("/scan-objects/ahead", test_ahead);
  g_test_add_func ("/scan-objects/without-size", test_without_size);
  g_test_add_func ("/scan-objects/failures", test_failures);
  g_test_add_func ("/scan-objects/cut", test_cut);
  g_test_add_func ("/scan-objects/stop", test_stop);
  return g_test_run ();
}
