/* pieces-dump.c: what patterns cut texts into, for comparison with other tokenizers
 *
 * usage: pieces-dump FILE: the file holds texts, each after its size as 4 bytes, little endian:
 * first a pattern, then the texts that it cuts, then an empty one and the next pattern. Prints a
 * line for each text: the sizes of the pieces in bytes. */
#include "next-text.h"
#include "pattern.h"

static gboolean
print_pieces (HrMatcher *matcher, const char *text, guint32 size, GError **error)
{
  const guint8 *p = (const guint8 *)text, *next;

  hr_matcher_begin (matcher, p, size);
  for (;;) {
    if (!hr_matcher_next (matcher, &next, error))
      return FALSE;
    if (next == NULL)
      break;
    g_print ("%d ", (int)(next - p));
    p = next;
  }
  g_print ("\n");
  return TRUE;
}

static gboolean
cut_all (const char **p, const char *end, HrPattern *pattern, GError **error)
{
  g_autoptr (HrMatcher) matcher = hr_matcher_new (pattern);
  const char *text;
  guint32 size;

  while (next_text (p, end, &text, &size) && size > 0)
    if (!print_pieces (matcher, text, size, error))
      return FALSE;
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autofree char *file = NULL;
  g_autoptr (GError) error = NULL;
  const char *p, *end, *text;
  guint32 size;
  gsize all;

  if (argc == 2 && g_file_get_contents (argv[1], &file, &all, &error))
    for (p = file, end = file + all; error == NULL && next_text (&p, end, &text, &size);) {
      g_autofree char *own = g_strndup (text, size);
      g_autoptr (HrPattern) pattern = hr_pattern_new (own, FALSE, &error);

      if (pattern != NULL)
        cut_all (&p, end, pattern, &error);
    }
  if (file == NULL || error != NULL)
    g_printerr ("pieces-dump: %s\n", error != NULL ? error->message : "usage: FILE");
  return file == NULL || error != NULL;
}
