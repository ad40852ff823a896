/* glob.c: names with * ? [ ], the same for files and for keys */
#include "glob.h"
#include <string.h>

gboolean
hr_glob_is_pattern (const char *text)
{
  return strpbrk (text, "*?[") != NULL;
}

gsize
hr_glob_folder_length (const char *pattern)
{
  gsize length = strcspn (pattern, "*?[");

  while (length > 0 && pattern[length - 1] != '/')
    length--;
  return length;
}

/* one character and its bytes; a byte that begins no valid one counts as a character */
static gunichar
next_char (const char *text, const char **next)
{
  gunichar c = g_utf8_get_char_validated (text, -1);

  if (c >= 0x110000) {
    *next = text + 1;
    return 0x110000 + (guchar)*text;
  }
  *next = g_utf8_next_char (text);
  return c;
}

/* @set: behind the "["; gives the end of the set, NULL if it has none: then "[" stands for itself
 */
static const char *
match_set (const char *set, gunichar c, gboolean *matches)
{
  gboolean negated = *set == '!' || *set == '^', found = FALSE, first = TRUE;

  set += negated;
  for (; *set && (*set != ']' || first); first = FALSE) {
    gunichar low = next_char (set, &set), high = low;

    if (*set == '-' && set[1] && set[1] != ']')
      high = next_char (set + 1, &set);
    found |= low <= c && c <= high;
  }
  *matches = found != negated;
  return *set ? set + 1 : NULL;
}

static gboolean
match_star (const char *pattern, const char *name)
{
  gboolean deep = *pattern == '*';

  while (*pattern == '*')
    pattern++;
  for (;; name++) {
    if (hr_glob_match (pattern, name))
      return TRUE;
    if (!*name || (*name == '/' && !deep))
      return FALSE;
  }
}

gboolean
hr_glob_match (const char *pattern, const char *name)
{
  while (*pattern) {
    const char *after_pattern, *after_name, *end;
    gunichar wanted, c;
    gboolean matches;

    if (*pattern == '*')
      return match_star (pattern + 1, name);
    if (!*name)
      return FALSE;
    wanted = next_char (pattern, &after_pattern);
    c = next_char (name, &after_name);
    if (wanted == '?') {
      matches = c != '/';
    } else if (wanted == '[' && (end = match_set (after_pattern, c, &matches))) {
      matches &= c != '/';
      after_pattern = end;
    } else {
      matches = c == wanted;
    }
    if (!matches)
      return FALSE;
    pattern = after_pattern;
    name = after_name;
  }
  return !*name;
}
