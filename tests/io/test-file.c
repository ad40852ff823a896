/* test-file.c: what a location names on disk */
#include "file.h"
#include "hr-error.h"
#include "hr-plan-private.h"
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
  char *folder;
} Tree;

static void
put (const Tree *tree, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (tree->folder, name, NULL);
  g_autofree char *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0777), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
tree_set_up (Tree *tree, gconstpointer unused G_GNUC_UNUSED)
{
  g_autofree char *circle = NULL, *pipe = NULL, *inside = NULL;

  tree->folder = g_dir_make_tmp ("headrace-file-XXXXXX", NULL);
  put (tree, "b.jsonl", "b\n");
  put (tree, "a/z.jsonl", "z\n");
  put (tree, "a.jsonl", "a\n");
  put (tree, "a-b.jsonl", "");
  put (tree, "a/b/c.jsonl", "c\n");
  put (tree, "a/readme.txt", "no\n");
  put (tree, "odd[1].jsonl", "odd\n");
  put (tree, ".hidden.jsonl", "h\n");
  put (tree, "\303\274.jsonl", "u\n");
  /* a folder that holds itself */
  circle = g_build_filename (tree->folder, "a", "circle", NULL);
  g_assert_cmpint (symlink ("..", circle), ==, 0);
  inside = g_build_filename (tree->folder, "a", "link.jsonl", NULL);
  g_assert_cmpint (symlink ("z.jsonl", inside), ==, 0);
  pipe = g_build_filename (tree->folder, "pipe", NULL);
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
}

static void
remove_all (const char *path)
{
  GDir *folder = g_file_test (path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open (path, 0, NULL);
  const char *name;

  while (folder && (name = g_dir_read_name (folder))) {
    g_autofree char *child = g_build_filename (path, name, NULL);

    remove_all (child);
  }
  g_clear_pointer (&folder, g_dir_close);
  g_remove (path);
}

static void
tree_tear_down (Tree *tree, gconstpointer unused G_GNUC_UNUSED)
{
  remove_all (tree->folder);
  g_free (tree->folder);
}

/* "key key …" in the plan's order; "!message" on failure */
static char *
list (const Tree *tree, const char *location, char **root)
{
  g_autofree char *path =
      *location == '/' ? g_strdup (location) : g_strconcat (tree->folder, "/", location, NULL);
  g_autoptr (HrPlan) plan = hr_plan_new (NULL);
  g_autofree char *found = NULL;
  g_autoptr (GError) error = NULL;
  GString *keys = g_string_new (NULL);

  if (!hr_file_list (path, plan, &found, &error)) {
    g_assert_cmpuint (error->domain, ==, HR_RESOURCE_ERROR);
    g_string_printf (keys, "!%d %s", error->code, error->message);
    return g_string_free (keys, FALSE);
  }
  hr_plan_listed (plan);
  for (guint i = 0; i < hr_plan_get_n_objects (plan); i++) {
    const HrObject *object = hr_plan_get_object (plan, i);
    struct stat info;

    g_string_append_printf (keys, "%s%s", i > 0 ? " " : "", object->key);
    g_assert_cmpint (stat (object->uri, &info), ==, 0);
    g_assert_cmpint (object->size, ==, S_ISREG (info.st_mode) ? info.st_size : -1);
    g_assert_cmpint (object->etag != NULL, ==, S_ISREG (info.st_mode));
  }
  if (root) {
    g_assert_true (g_str_has_prefix (found, tree->folder));
    *root = g_strdup (found + strlen (tree->folder));
  }
  return g_string_free (keys, FALSE);
}

static void
check (const Tree *tree, const char *location, const char *keys, const char *root)
{
  g_autofree char *found = NULL, *got = list (tree, location, &found);

  g_assert_cmpstr (got, ==, keys);
  g_assert_cmpstr (found, ==, root);
}

static void
test_list (Tree *tree, gconstpointer unused G_GNUC_UNUSED)
{
  /* by the bytes of the whole relative name: "-" and "." come before "/" */
  check (tree, "",
         ".hidden.jsonl a-b.jsonl a.jsonl a/b/c.jsonl a/link.jsonl a/z.jsonl b.jsonl odd[1].jsonl "
         "\303\274.jsonl",
         "/");
  check (tree, "a",
         "b/c.jsonl circle/.hidden.jsonl circle/a-b.jsonl circle/a.jsonl "
         "circle/b.jsonl circle/odd[1].jsonl circle/\303\274.jsonl link.jsonl z.jsonl",
         "/a/");
  check (tree, "a/b/", "c.jsonl", "/a/b/");
  check (tree, "b.jsonl", "b.jsonl", "/");
  check (tree, "a/readme.txt", "readme.txt", "/a/");
  check (tree, "*.jsonl", ".hidden.jsonl a-b.jsonl a.jsonl b.jsonl odd[1].jsonl \303\274.jsonl",
         "/");
  check (tree, "a/[l-z]*.jsonl", "link.jsonl z.jsonl", "/a/");
  check (tree, "?/b/*", "a/b/c.jsonl", "/");
  check (tree, "odd[1].jsonl", "odd[1].jsonl", "/"); /* there is a file of just that name */
  check (tree, "pipe", "pipe", "/");
}

static void
check_failure (const Tree *tree, const char *location, int code, const char *words)
{
  g_autofree char *got = list (tree, location, NULL), *start = g_strdup_printf ("!%d ", code);

  g_assert_true (g_str_has_prefix (got, start));
  g_assert_nonnull (strstr (got, words));
}

static void
test_failures (Tree *tree, gconstpointer unused G_GNUC_UNUSED)
{
  g_autofree char *dangling = g_build_filename (tree->folder, "a", "dangling.jsonl", NULL);
  g_autofree char *empty = g_build_filename (tree->folder, "empty", NULL);
  g_autofree char *loop = g_build_filename (tree->folder, "loop", NULL);
  g_autofree char *long_name = g_strnfill (300, 'x');

  /* to itself: of no concern until it is named */
  g_assert_cmpint (symlink ("loop", loop), ==, 0);
  check_failure (tree, "loop", HR_RESOURCE_ERROR_NOT_FOUND, "loop");
  check_failure (tree, "missing.jsonl", HR_RESOURCE_ERROR_NOT_FOUND, "missing.jsonl");
  check_failure (tree, "a.jsonl/x", HR_RESOURCE_ERROR_NOT_FOUND, "a.jsonl/x");
  check_failure (tree, long_name, HR_RESOURCE_ERROR_NOT_FOUND, "xxx");
  check_failure (tree, "x*.jsonl", HR_RESOURCE_ERROR_NOT_FOUND, "x*.jsonl");
  check_failure (tree, "missing/*.jsonl", HR_RESOURCE_ERROR_NOT_FOUND, "missing");
  g_assert_cmpint (g_mkdir (empty, 0777), ==, 0);
  check_failure (tree, "empty", HR_RESOURCE_ERROR_NOT_FOUND, "empty");
  /* a link to nothing, where a file was to be read */
  g_assert_cmpint (symlink ("nothing", dangling), ==, 0);
  check_failure (tree, "a", HR_RESOURCE_ERROR_NOT_FOUND, "dangling.jsonl");
}

static void
test_path (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *plain = hr_file_path ("a%20b/c", &error);
  g_autofree char *uri = hr_file_path ("file:///a%20b/c", &error);
  g_autofree char *local = hr_file_path ("file://localhost/c", &error);

  g_assert_no_error (error);
  g_assert_cmpstr (plain, ==, "a%20b/c");
  g_assert_cmpstr (uri, ==, "/a b/c");
  g_assert_cmpstr (local, ==, "/c");
  g_assert_null (hr_file_path ("file://host/c", &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
  g_clear_error (&error);
  g_assert_null (hr_file_path ("s3://b/c", &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
  g_assert_nonnull (strstr (error->message, "s3src"));
}

static gpointer
write_pipe (gpointer path)
{
  int fd = open (path, O_WRONLY);

  g_assert_cmpint (write (fd, "hello", 5), ==, 5);
  close (fd);
  return NULL;
}

static void
test_read (Tree *tree, gconstpointer unused G_GNUC_UNUSED)
{
  g_autofree char *path = g_build_filename (tree->folder, "b.jsonl", NULL);
  g_autofree char *pipe_path = g_build_filename (tree->folder, "pipe", NULL);
  g_autoptr (GError) error = NULL;
  GThread *thread;
  guint8 bytes[10];
  gint64 size = 0;
  int fds[2], fd = hr_file_open (path, &size, &error);

  g_assert_no_error (error);
  g_assert_cmpint (size, ==, 2);
  g_assert_cmpint (hr_file_read (fd, path, 1, bytes, 10, -1, &error), ==, 1);
  g_assert_cmpint (hr_file_read (fd, path, 2, bytes, 10, -1, &error), ==, 0);
  close (fd);

  /* a pipe: no size, no offsets, and a wait that ends */
  g_assert_cmpint (pipe (fds), ==, 0);
  fd = hr_file_open (pipe_path, &size, &error);
  g_assert_no_error (error);
  g_assert_cmpint (size, ==, -1);
  thread = g_thread_new ("write", write_pipe, pipe_path);
  g_assert_cmpint (hr_file_read (fd, pipe_path, 0, bytes, 10, fds[0], &error), ==, 5);
  g_assert_cmpmem (bytes, 5, "hello", 5);
  g_thread_join (thread);
  g_assert_cmpint (hr_file_read (fd, pipe_path, 5, bytes, 10, fds[0], &error), ==, 0);
  close (fd);
  fd = hr_file_open (pipe_path, &size, &error);
  g_assert_cmpint (write (fds[1], "x", 1), ==, 1);
  g_assert_cmpint (hr_file_read (fd, pipe_path, 0, bytes, 10, fds[0], &error), ==, -1);
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED);
  close (fd);
  close (fds[0]);
  close (fds[1]);
  g_clear_error (&error);

  g_assert_cmpint (hr_file_open (tree->folder, &size, &error), ==, -1);
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/io/file/list", Tree, NULL, tree_set_up, test_list, tree_tear_down);
  g_test_add ("/io/file/failures", Tree, NULL, tree_set_up, test_failures, tree_tear_down);
  g_test_add_func ("/io/file/path", test_path);
  g_test_add ("/io/file/read", Tree, NULL, tree_set_up, test_read, tree_tear_down);
  return g_test_run ();
}
