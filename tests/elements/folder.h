/* folder.h: a folder for a test's files */
#pragma once
#include <glib.h>
#include <glib/gstdio.h>

static inline char *
folder_new (void)
{
  g_autoptr (GError) error = NULL;
  char *folder = g_dir_make_tmp ("headrace-test-XXXXXX", &error);

  g_assert_no_error (error);
  return folder;
}

static inline gint
folder_compare (gconstpointer a, gconstpointer b)
{
  return g_strcmp0 (*(char *const *)a, *(char *const *)b);
}

/* the names in it, sorted */
static inline GPtrArray *
folder_list (const char *folder)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (name));
  g_clear_pointer (&dir, g_dir_close);
  g_ptr_array_sort (names, folder_compare);
  return names;
}

/* with all files in it; there are no folders in it */
static inline void
folder_remove (char *folder)
{
  GPtrArray *names = folder_list (folder);

  for (guint i = 0; i < names->len; i++) {
    g_autofree char *path = g_build_filename (folder, names->pdata[i], NULL);

    g_unlink (path);
  }
  g_ptr_array_unref (names);
  g_rmdir (folder);
  g_free (folder);
}
