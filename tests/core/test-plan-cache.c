/* test-plan-cache.c: what was stored or nothing comes back: after crashes, faults and spoilt files,
 * with many processes, within bounds */
#include "hr-plan-cache.h"
#include "hr-random.h"
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1024 * 1024)

/* an empty folder for each test */
static char *
folder_new (void)
{
  return g_dir_make_tmp ("headrace-plan-XXXXXX", NULL);
}

static GPtrArray *
list_files (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (paths, g_build_filename (folder, name, NULL));
  return paths;
}

static void
folder_clear (char *folder)
{
  g_autoptr (GPtrArray) paths = list_files (folder);

  for (guint i = 0; i < paths->len; i++)
    g_assert_cmpint (g_remove (paths->pdata[i]), ==, 0);
  g_rmdir (folder);
  g_free (folder);
}

static char *
only_file (const char *folder)
{
  g_autoptr (GPtrArray) paths = list_files (folder);

  g_assert_cmpuint (paths->len, ==, 1);
  return g_strdup (paths->pdata[0]);
}

static HrObject
make_object (const char *uri, const char *etag, gint64 size)
{
  return (HrObject){ g_ref_string_new_intern (uri), NULL, size, (char *)etag };
}

static GBytes *
make_blob (guint64 seed, gsize size)
{
  guint8 *bytes = g_malloc (size + 8);

  for (gsize i = 0; i < size; i += 8) {
    guint64 word = hr_mix64 (seed + i);

    memcpy (bytes + i, &word, 8);
  }
  return g_bytes_new_take (bytes, size);
}

static void
assert_loads (HrPlanCache *cache, const HrObject *object, const char *name, const char *key,
              GBytes *right)
{
  g_autoptr (GBytes) found = hr_plan_cache_load (cache, object, name, key);

  if (right == NULL) {
    g_assert_null (found);
    return;
  }
  g_assert_nonnull (found);
  g_assert_true (g_bytes_equal (found, right));
}

static void
test_keys (void)
{
  char *folder = folder_new ();
  g_autoptr (HrPlanCache) cache = hr_plan_cache_new (folder, MIB), off = NULL, later = NULL;
  g_autoptr (GBytes) a = make_blob (1, 1000), b = make_blob (2, 0), c = make_blob (3, 77);
  HrObject object = make_object ("s3://c/a.jsonl", "\"e1\"", 5);
  HrObject others[] = { make_object ("s3://c/b.jsonl", "\"e1\"", 5),
                        make_object ("s3://c/a.jsonl", "\"e2\"", 5),
                        make_object ("s3://c/a.jsonl", "\"e1\"", 6),
                        make_object ("s3://c/a.jsonl\"", "e1\"", 5),
                        make_object ("s3://c/a.jsonl", NULL, 5) };

  assert_loads (cache, &object, "lines", NULL, NULL);
  g_assert_true (hr_plan_cache_store (cache, &object, "lines", NULL, a));
  g_assert_true (hr_plan_cache_store (cache, &object, "lengths", "vocabulary", b));
  g_assert_true (hr_plan_cache_store (cache, &object, "lengths", "another", c));
  later = hr_plan_cache_new (folder, MIB);
  assert_loads (later, &object, "lines", NULL, a);
  assert_loads (later, &object, "lengths", "vocabulary", b);
  assert_loads (later, &object, "lengths", "another", c);
  assert_loads (later, &object, "lengths", NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    assert_loads (later, &others[i], "lines", NULL, NULL);
  g_assert_false (hr_plan_cache_store (cache, &others[4], "lines", NULL, a));
  assert_loads (later, &others[4], "lines", NULL, NULL);
  g_assert_true (hr_plan_cache_store (later, &object, "lines", NULL, c)); /* replaced */
  assert_loads (cache, &object, "lines", NULL, c);

  off = hr_plan_cache_new (NULL, MIB);
  g_assert_false (hr_plan_cache_store (off, &object, "lines", NULL, a));
  assert_loads (off, &object, "lines", NULL, NULL);
  folder_clear (folder);
}

/* a new file: replaced ones are waited for until they are on the disk, by g_file_set_contents() and
 * by ext4 */
static void
write_file (const char *path, const char *bytes, gsize size)
{
  FILE *file;

  g_unlink (path);
  file = fopen (path, "w");
  g_assert_nonnull (file);
  g_assert_cmpuint (fwrite (bytes, 1, size, file), ==, size);
  g_assert_cmpint (fclose (file), ==, 0);
}

/* cut at every length, each byte changed, something behind it: as good as none, and replaced */
static void
test_spoilt (void)
{
  char *folder = folder_new ();
  g_autoptr (HrPlanCache) cache = hr_plan_cache_new (folder, MIB);
  g_autoptr (GBytes) blob = make_blob (1, 100);
  HrObject object = make_object ("file:///a.jsonl", "123-456", 5);
  g_autofree char *path = NULL, *right = NULL, *longer = NULL;
  gsize size;

  g_assert_true (hr_plan_cache_store (cache, &object, "lines", NULL, blob));
  path = only_file (folder);
  g_assert_true (g_file_get_contents (path, &right, &size, NULL));
  for (gsize cut = 0; cut < size; cut++) {
    write_file (path, right, cut);
    assert_loads (cache, &object, "lines", NULL, NULL);
  }
  for (gsize at = 0; at < size; at++)
    for (guint bit = 0; bit < 8; bit++) {
      g_autofree char *wrong = g_memdup2 (right, size);

      wrong[at] ^= 1 << bit;
      write_file (path, wrong, size);
      assert_loads (cache, &object, "lines", NULL, NULL);
    }
  longer = g_malloc0 (size + 1);
  memcpy (longer, right, size);
  write_file (path, longer, size + 1);
  assert_loads (cache, &object, "lines", NULL, NULL);
  /* a hole of a terabyte is not read into memory */
  g_assert_cmpint (truncate (path, (gint64)1 << 40), ==, 0);
  assert_loads (cache, &object, "lines", NULL, NULL);
  g_assert_true (hr_plan_cache_store (cache, &object, "lines", NULL, blob));
  assert_loads (cache, &object, "lines", NULL, blob);
  folder_clear (folder);
}

/* a file that belongs to something else, as if their hashes were equal; a folder and a pipe in the
 * place of a file */
static void
test_foreign (void)
{
  char *folder = folder_new ();
  g_autoptr (HrPlanCache) cache = hr_plan_cache_new (folder, MIB);
  g_autoptr (GBytes) a = make_blob (1, 50), b = make_blob (2, 50);
  HrObject one = make_object ("s3://c/1", "e", 5), two = make_object ("s3://c/2", "e", 5);
  g_autofree char *path_one = NULL, *path_two = NULL;

  g_assert_true (hr_plan_cache_store (cache, &two, "lines", NULL, b));
  path_two = only_file (folder);
  g_assert_cmpint (g_unlink (path_two), ==, 0);
  g_assert_true (hr_plan_cache_store (cache, &one, "lines", NULL, a));
  path_one = only_file (folder);
  g_assert_cmpint (rename (path_one, path_two), ==, 0);
  assert_loads (cache, &two, "lines", NULL, NULL);
  g_assert_true (hr_plan_cache_store (cache, &two, "lines", NULL, b));
  assert_loads (cache, &two, "lines", NULL, b);

  g_assert_cmpint (mkfifo (path_one, 0600), ==, 0);
  assert_loads (cache, &one, "lines", NULL, NULL);
  g_assert_true (hr_plan_cache_store (cache, &one, "lines", NULL, a));
  assert_loads (cache, &one, "lines", NULL, a);
  g_assert_cmpint (g_unlink (path_one), ==, 0);
  g_assert_cmpint (g_mkdir (path_one, 0700), ==, 0);
  assert_loads (cache, &one, "lines", NULL, NULL);
  g_assert_false (hr_plan_cache_store (cache, &one, "lines", NULL, a));
  folder_clear (folder);
}

/* sizes around what the checksum takes at once, every word of it */
static void
test_checksum (void)
{
  char *folder = folder_new ();
  g_autoptr (HrPlanCache) cache = hr_plan_cache_new (folder, MIB);
  HrObject object = make_object ("s3://c/1", "e", 5);

  for (gsize size = 0; size < 100; size++) {
    g_autoptr (GBytes) blob = make_blob (size, size);
    g_autofree char *path = NULL, *right = NULL;
    gsize length;

    g_assert_true (hr_plan_cache_store (cache, &object, "lines", NULL, blob));
    assert_loads (cache, &object, "lines", NULL, blob);
    path = only_file (folder);
    g_assert_true (g_file_get_contents (path, &right, &length, NULL));
    for (gsize at = length - size; at < length; at++) {
      right[at] ^= 0x40;
      write_file (path, right, length);
      assert_loads (cache, &object, "lines", NULL, NULL);
      right[at] ^= 0x40;
    }
  }
  folder_clear (folder);
}

/* ---- bounds ---- */

static guint64
count_bytes (const char *folder)
{
  g_autoptr (GPtrArray) paths = list_files (folder);
  guint64 total = 0;

  for (guint i = 0; i < paths->len; i++) {
    struct stat info;

    if (stat (paths->pdata[i], &info) == 0)
      total += info.st_blocks * 512;
  }
  return total;
}

static void
set_age (const char *path, gint64 seconds)
{
  struct timespec times[2];

  times[0].tv_sec = times[1].tv_sec = g_get_real_time () / G_USEC_PER_SEC - seconds;
  times[0].tv_nsec = times[1].tv_nsec = 0;
  g_assert_cmpint (utimensat (AT_FDCWD, path, times, 0), ==, 0);
}

/* files of former runs: the least recently used go, whatever was stored first */
static void
test_eviction (void)
{
  char *folder = folder_new ();
  HrPlanCache *cache = hr_plan_cache_new (folder, 64 * MIB);
  g_autofree char *strange = g_build_filename (folder, "notes.txt", NULL), *lost = NULL,
                  *busy = NULL;
  g_autoptr (GPtrArray) paths = NULL;
  HrObject objects[20];

  for (guint i = 0; i < G_N_ELEMENTS (objects); i++) {
    g_autofree char *uri = g_strdup_printf ("s3://c/%u", i);
    g_autoptr (GBytes) blob = make_blob (i, 60000);

    objects[i] = make_object (uri, "e", 5);
    g_assert_true (hr_plan_cache_store (cache, &objects[i], "lines", NULL, blob));
  }
  hr_plan_cache_free (cache);
  paths = list_files (folder);
  for (guint i = 0; i < paths->len; i++)
    set_age (paths->pdata[i], 1000);
  write_file (strange, "mine", 4);
  set_age (strange, 100000);
  lost = g_strdup_printf ("%s/%064u.abcdef.tmp", folder, 1);
  busy = g_strdup_printf ("%s/%064u.abcdef.tmp", folder, 2);
  write_file (lost, "half", 4);
  set_age (lost, 7200);
  write_file (busy, "half", 4);

  cache = hr_plan_cache_new (folder, MIB);
  for (guint i = 0; i < G_N_ELEMENTS (objects); i += 3) { /* seven of them are used again */
    g_autoptr (GBytes) blob = make_blob (i, 60000);

    assert_loads (cache, &objects[i], "lines", NULL, blob);
  }
  {
    HrObject more = make_object ("s3://c/more", "e", 5);
    g_autoptr (GBytes) blob = make_blob (99, 60000);

    g_assert_true (hr_plan_cache_store (cache, &more, "lines", NULL, blob));
    assert_loads (cache, &more, "lines", NULL, blob);
  }
  g_assert_cmpuint (count_bytes (folder), <=, MIB);
  for (guint i = 0; i < G_N_ELEMENTS (objects); i += 3) {
    g_autoptr (GBytes) blob = make_blob (i, 60000);

    assert_loads (cache, &objects[i], "lines", NULL, blob);
  }
  g_assert_true (g_file_test (strange, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (busy, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (lost, G_FILE_TEST_EXISTS));
  hr_plan_cache_free (cache);
  folder_clear (folder);
}

/* one run that needs more than there may be: bounded, and what is there stays of use */
static void
test_too_small (void)
{
  char *folder = folder_new ();
  g_autoptr (HrPlanCache) cache = hr_plan_cache_new (folder, MIB);
  g_autoptr (GBytes) large = make_blob (1, MIB / 2 + 1);
  HrObject object = make_object ("s3://c/large", "e", 5);
  guint n_stored = 0;

  g_assert_false (hr_plan_cache_store (cache, &object, "lines", NULL, large));
  for (guint i = 0; i < 200; i++) {
    g_autofree char *uri = g_strdup_printf ("s3://c/%u", i);
    g_autoptr (GBytes) blob = make_blob (i, 20000);

    object = make_object (uri, "e", 5);
    n_stored += hr_plan_cache_store (cache, &object, "lines", NULL, blob);
    g_assert_cmpuint (count_bytes (folder), <=, MIB);
  }
  g_assert_cmpuint (n_stored, >, 20);
  g_assert_cmpuint (n_stored, <, 60);
  g_assert_cmpuint (count_bytes (folder), >, MIB / 2);
  folder_clear (folder);
}

/* ---- several processes ---- */

/* Returns: whether all that was loaded was right */
static gboolean
work (HrPlanCache *cache, guint seed, guint rounds)
{
  for (guint i = 0; i < rounds; i++) {
    guint64 number = hr_mix64 (((guint64)seed << 32) + i) % 60;
    g_autofree char *uri = g_strdup_printf ("s3://c/%" G_GUINT64_FORMAT, number);
    /* the same number, the same blob, some larger than what is synced */
    g_autoptr (GBytes) right = make_blob (number, number * 1150), found = NULL;
    HrObject object = make_object (uri, "e", (gint64)number);

    found = hr_plan_cache_load (cache, &object, "lines", NULL);
    if (found != NULL && !g_bytes_equal (found, right))
      return FALSE;
    if (found == NULL)
      hr_plan_cache_store (cache, &object, "lines", NULL, right);
  }
  return TRUE;
}

/* Returns: an exit status */
static int
work_in_child (const char *folder, guint seed, guint rounds)
{
  g_autoptr (HrPlanCache) cache = hr_plan_cache_new (folder, MIB);

  return work (cache, seed, rounds) ? 0 : 1;
}

static void
test_processes (void)
{
  char *folder = folder_new ();
  pid_t children[4];

  for (guint i = 0; i < G_N_ELEMENTS (children); i++) {
    children[i] = fork ();
    g_assert_cmpint (children[i], >=, 0);
    if (children[i] == 0)
      _exit (work_in_child (folder, i, 300));
  }
  for (guint i = 0; i < G_N_ELEMENTS (children); i++) {
    int status;

    g_assert_cmpint (waitpid (children[i], &status, 0), ==, children[i]);
    g_assert_true (WIFEXITED (status));
    g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  }
  /* each may be a sixteenth and a file over it */
  g_assert_cmpuint (count_bytes (folder), <, MIB + 4 * (MIB / 16 + 70000));
  folder_clear (folder);
}

typedef struct {
  HrPlanCache *cache;
  guint seed;
} Worker;

static gpointer
work_in_thread (gpointer data)
{
  const Worker *worker = data;

  return GINT_TO_POINTER (work (worker->cache, worker->seed, 200));
}

static void
test_threads (void)
{
  char *folder = folder_new ();
  g_autoptr (HrPlanCache) cache = hr_plan_cache_new (folder, MIB);
  GThread *threads[4];
  Worker workers[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++) {
    workers[i] = (Worker){ cache, i };
    threads[i] = g_thread_new ("worker", work_in_thread, &workers[i]);
  }
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_assert_true (GPOINTER_TO_INT (g_thread_join (threads[i])));
  folder_clear (folder);
}

/* killed at any time: the next one finds whole blobs or none, and no heap of halves that stays */
static void
test_killed (void)
{
  char *folder = folder_new ();

  for (guint round = 0; round < 20; round++) {
    pid_t child = fork ();
    int status;

    g_assert_cmpint (child, >=, 0);
    if (child == 0)
      _exit (work_in_child (folder, round, G_MAXUINT));
    g_usleep (500 + 700 * round);
    kill (child, SIGKILL);
    g_assert_cmpint (waitpid (child, &status, 0), ==, child);
    g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);
  }
  g_assert_cmpint (work_in_child (folder, 100, 200), ==, 0);
  folder_clear (folder);
}

/* ---- what cannot be written ---- */

static void
store_twice (HrPlanCache *cache)
{
  g_autoptr (GBytes) blob = make_blob (1, 200000);
  HrObject object = make_object ("s3://c/1", "e", 5);

  for (guint i = 0; i < 2; i++) {
    g_assert_false (hr_plan_cache_store (cache, &object, "lines", NULL, blob));
    assert_loads (cache, &object, "lines", NULL, NULL);
  }
}

/* the disk is full after any number of bytes: a limit on the size of files does the same to write()
 */
static void
test_full (void)
{
  static const rlim_t limits[] = { 0, 1, 39, 40, 41, 100, 4096, 100000, 200000 };

  if (g_test_subprocess ()) {
    signal (SIGXFSZ, SIG_IGN);
    for (guint i = 0; i < G_N_ELEMENTS (limits); i++) {
      char *folder = folder_new ();
      HrPlanCache *cache = hr_plan_cache_new (folder, 4 * MIB);
      g_autoptr (GPtrArray) left = NULL;
      struct rlimit limit = { limits[i], RLIM_INFINITY };

      g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
      store_twice (cache);
      limit.rlim_cur = RLIM_INFINITY;
      g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
      left = list_files (folder);
      g_assert_cmpuint (left->len, ==, 0);
      hr_plan_cache_free (cache);
      folder_clear (folder);
    }
    return;
  }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
}

/* a folder that cannot be made: told once */
static void
test_unwritable (void)
{
  if (g_test_subprocess ()) {
    g_autoptr (HrPlanCache) cache = hr_plan_cache_new ("/dev/null/plan", MIB);

    store_twice (cache);
    return;
  }
  g_setenv ("HR_DEBUG", "core:warning", TRUE); /* read when the program starts */
  g_test_trap_subprocess (NULL, 0, 0);
  g_unsetenv ("HR_DEBUG");
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*/dev/null/plan: Not a directory: goes on without*HR_PLAN_CACHE*");
  g_test_trap_assert_stderr_unmatched ("*goes on*goes on*");
}

static void
assert_default_stores (const char *folder)
{
  g_autoptr (HrPlanCache) cache = hr_plan_cache_new_default ();
  g_autoptr (GBytes) blob = make_blob (1, 3000);
  HrObject object = make_object ("s3://c/1", "e", 5);
  g_autofree char *path = NULL;

  g_assert_cmpint (hr_plan_cache_store (cache, &object, "lines", NULL, blob), ==, folder != NULL);
  if (folder == NULL)
    return;
  path = only_file (folder);
  g_assert_cmpint (g_unlink (path), ==, 0);
}

static void
test_environment (void)
{
  char *folder = folder_new ();
  g_autofree char *usual = g_build_filename (folder, "headrace", "plan", NULL);
  g_autofree char *parent = g_build_filename (folder, "headrace", NULL);
  g_autofree char *named = g_build_filename (folder, "a", NULL);

  if (g_test_subprocess ()) {
    assert_default_stores (g_getenv ("HR_TEST_FOLDER"));
    folder_clear (folder);
    return;
  }
  g_unsetenv ("HR_PLAN_CACHE");
  g_setenv ("XDG_CACHE_HOME", folder, TRUE); /* GLib reads it once */
  g_setenv ("HR_TEST_FOLDER", usual, TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_setenv ("HR_TEST_FOLDER", named, TRUE);
  g_setenv ("HR_PLAN_CACHE", named, TRUE);
  g_setenv ("HR_PLAN_CACHE_SIZE", "8KiB", TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_unsetenv ("HR_TEST_FOLDER");
  g_setenv ("HR_PLAN_CACHE_SIZE", "1KiB", TRUE); /* too small for anything */
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_setenv ("HR_TEST_FOLDER", named, TRUE);
  g_setenv ("HR_PLAN_CACHE_SIZE", "many", TRUE);
  g_setenv ("HR_DEBUG", "core:warning", TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  g_unsetenv ("HR_DEBUG");
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*HR_PLAN_CACHE_SIZE=many: *1GiB is taken*");
  g_unsetenv ("HR_PLAN_CACHE_SIZE");
  g_unsetenv ("HR_TEST_FOLDER");
  g_setenv ("HR_PLAN_CACHE", "", TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_unsetenv ("HR_PLAN_CACHE");
  g_rmdir (usual);
  g_rmdir (parent);
  folder_clear (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan-cache/keys", test_keys);
  g_test_add_func ("/plan-cache/spoilt", test_spoilt);
  g_test_add_func ("/plan-cache/foreign", test_foreign);
  g_test_add_func ("/plan-cache/checksum", test_checksum);
  g_test_add_func ("/plan-cache/eviction", test_eviction);
  g_test_add_func ("/plan-cache/too-small", test_too_small);
  g_test_add_func ("/plan-cache/processes", test_processes);
  g_test_add_func ("/plan-cache/threads", test_threads);
  g_test_add_func ("/plan-cache/killed", test_killed);
  g_test_add_func ("/plan-cache/full", test_full);
  g_test_add_func ("/plan-cache/unwritable", test_unwritable);
  g_test_add_func ("/plan-cache/environment", test_environment);
  return g_test_run ();
}
