/* replay.c: gives a fuzz target the files of its corpus, without a fuzzer: what was found once
 * stays fixed. Any compiler can build it. */
#include <glib.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static const char *folder;

static void
replay (gconstpointer name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *content = NULL;
  g_autofree guint8 *exact = NULL;
  g_autoptr (GError) error = NULL;
  gsize size;

  g_file_get_contents (path, &content, &size, &error);
  g_assert_no_error (error);
  /* a block of just its size, so that a sanitizer sees a read behind it */
  exact = g_memdup2 (content, size);
  LLVMFuzzerTestOneInput (exact, size);
}

int
main (int argc, char **argv)
{
  g_autoptr (GDir) dir = NULL;
  const char *name;

  g_test_init (&argc, &argv, NULL);
  folder = argv[1];
  dir = g_dir_open (folder, 0, NULL);
  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_strconcat ("/corpus/", name, NULL);

    g_test_add_data_func_full (path, g_strdup (name), replay, g_free);
  }
  return g_test_run ();
}
