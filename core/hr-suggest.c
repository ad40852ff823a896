/* hr-suggest.c: the nearest of some words, by edit distance with swaps of neighbours */
#include "hr-suggest.h"
#include <string.h>

guint
hr_edit_distance (const char *a, const char *b)
{
  gsize n = strlen (a), m = strlen (b);
  g_autofree guint *rows = g_new (guint, 3 * (m + 1));
  guint *before = rows, *above = rows + (m + 1), *row = rows + 2 * (m + 1);

  for (gsize k = 0; k <= m; k++)
    above[k] = (guint)k;
  for (gsize i = 1; i <= n; i++) {
    guint *oldest = before;

    row[0] = (guint)i;
    for (gsize k = 1; k <= m; k++) {
      row[k] = above[k - 1] + (a[i - 1] != b[k - 1]);
      row[k] = MIN (row[k], MIN (above[k], row[k - 1]) + 1);
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        row[k] = MIN (row[k], before[k - 2] + 1);
    }
    before = above;
    above = row;
    row = oldest;
  }
  return above[m];
}

const char *
hr_suggest (const char *word, const char *const *words, guint n)
{
  g_autofree char *lower = g_ascii_strdown (word, -1);
  gsize length = strlen (lower);
  const char *best = NULL;
  guint least = G_MAXUINT;

  /* a long word is no misspelling, and the table grows with it */
  if (length == 0 || length > 100)
    return NULL;
  for (guint i = 0; i < n; i++) {
    gsize other = strlen (words[i]);
    guint distance = hr_edit_distance (lower, words[i]);
    gboolean holds = MIN (length, other) >= 4
                     && (strstr (words[i], lower) != NULL || strstr (lower, words[i]) != NULL);

    if (distance > MAX (1, MAX (length, other) / 3)) {
      if (!holds)
        continue;
      distance += 100; /* goes behind every real misspelling */
    }
    if (distance < least) {
      least = distance;
      best = words[i];
    }
  }
  return best;
}
