/* text-pieces.c: what a pattern cuts a text into */
#include "text-pieces.h"
#include <string.h>

char *
text_pieces_cut (const HrPattern *pattern, const char *text, gsize size)
{
  g_autoptr (HrMatcher) matcher = hr_matcher_new (pattern);
  GString *pieces = g_string_new (NULL);
  const guint8 *p = (const guint8 *)text, *next;
  g_autoptr (GError) error = NULL;

  hr_matcher_begin (matcher, p, size);
  for (;;) {
    g_assert_true (hr_matcher_next (matcher, &next, &error));
    if (next == NULL)
      break;
    g_assert_true (next > p && next <= (const guint8 *)text + size);
    g_string_append_len (pieces, (const char *)p, next - p);
    g_string_append_c (pieces, '\1');
    p = next;
  }
  g_assert_true (p == (const guint8 *)text + size);
  return g_string_free (pieces, FALSE);
}

void
text_pieces_assert (const HrPattern *pattern, const char *text, const char *expected)
{
  g_autofree char *got = text_pieces_cut (pattern, text, strlen (text));
  g_autofree char *want = g_strdup_printf ("%s|", expected);

  g_strdelimit (want, "|", '\1');
  g_assert_cmpstr (got, ==, want);
}
