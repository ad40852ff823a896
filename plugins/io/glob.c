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

/* one thing of the pattern that is no star, and what it stands for; both step over it */
static gboolean
match_one (const char **pattern, const char **name)
{
  const char *after_pattern, *after_name, *end;
  gunichar wanted, c;
  gboolean matches;

  if (!**pattern || !**name)
    return FALSE;
  wanted = next_char (*pattern, &after_pattern);
  c = next_char (*name, &after_name);
  if (wanted == '?') {
    matches = c != '/';
  } else if (wanted == '[' && (end = match_set (after_pattern, c, &matches))) {
    matches &= c != '/';
    after_pattern = end;
  } else {
    matches = c == wanted;
  }
  *pattern = after_pattern;
  *name = after_name;
  return matches;
}

/* what stands behind a star, and where in the name that is tried next */
typedef struct {
  const char *pattern; /* NULL: there is no star */
  const char *name;
} Star;

/* the star takes one byte more */
static gboolean
stretch (Star *star, gboolean deep)
{
  if (!star->pattern || !*star->name || (*star->name == '/' && !deep))
    return FALSE;
  star->name++;
  return TRUE;
}

/* Only the last star of each kind is ever stretched: what stands between two "*" holds no slash
 * that the first could take, so the second can take all that a longer first one would have; and a
 * "**" can take anything. So a pattern of many stars costs no more than name times name times
 * pattern. */
gboolean
hr_glob_match (const char *pattern, const char *name)
{
  Star flat = { NULL, NULL }, deep = { NULL, NULL };

  while (*pattern || *name) {
    if (*pattern == '*') {
      gsize n = strspn (pattern, "*");
      Star *star = n > 1 ? &deep : &flat;

      if (n > 1)
        flat.pattern = NULL;
      pattern += n;
      *star = (Star){ pattern, name };
    } else if (!match_one (&pattern, &name)) {
      if (stretch (&flat, FALSE)) {
        pattern = flat.pattern;
        name = flat.name;
      } else if (stretch (&deep, TRUE)) {
        flat.pattern = NULL;
        pattern = deep.pattern;
        name = deep.name;
      } else {
        return FALSE;
      }
    }
  }
  return TRUE;
}
