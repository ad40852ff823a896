/* fuzz-letters.c: any bytes as a file of dead letters: which lines would be read from where */
#include "letters.h"
#include "hr-error.h"
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
check (const char *path, const char *const *kinds)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) letters = letters_read (path, kinds, &error);

  if (letters == NULL) {
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
    g_assert_true (g_str_has_prefix (error->message, path));
    return;
  }
  for (guint i = 0; i < letters->len; i++) {
    const Letter *letter = letters->pdata[i];

    g_assert_true (letter->uri != NULL && g_utf8_validate (letter->uri, -1, NULL));
    g_assert_true (letter->byte >= 0 && letter->length >= -1);
    g_assert_cmpint (letter->byte, <=, G_MAXINT64 - MAX (letter->length, 1));
    g_assert_true (i == 0
                   || letter->file_line > ((const Letter *)letters->pdata[i - 1])->file_line);
  }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const char *const kinds[] = { "bad-json", "media-not-found", NULL };
  static char *path;
  FILE *into;

  if (path == NULL) {
    g_autofree char *folder = g_dir_make_tmp ("hr-fuzz-letters-XXXXXX", NULL);

    path = g_build_filename (folder, "letters.jsonl", NULL);
  }
  into = g_fopen (path, "w");
  g_assert_cmpuint (fwrite (data, 1, size, into), ==, size);
  fclose (into);
  check (path, NULL);
  check (path, kinds);
  return 0;
}
