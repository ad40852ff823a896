/* scanner.c: cuts text into the pieces that are tokenised apart */
#include "scanner.h"
#include <string.h>
#include "unicode-class.h"

#define END 5 /* no class: behind the text */

/* classes of ASCII: the same as in the big table, nearer */
enum { O = HR_CLASS_OTHER, L = HR_CLASS_LETTER, N = HR_CLASS_NUMBER, S = HR_CLASS_SPACE };
enum { B = HR_CLASS_NEWLINE };
/* clang-format off */
static const guint8 ascii[128] = {
  O, O, O, O, O, O, O, O, O, S, B, S, S, B, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
  S, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, N, N, N, N, N, N, N, N, N, N, O, O, O, O, O, O,
  O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
  O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
};
/* clang-format on */

gboolean
hr_scanner_init (HrScanner *scanner, const char *pattern)
{
  static const char head[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}";
  static const char tail[] = "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

  if (!g_str_has_prefix (pattern, head))
    return FALSE;
  pattern += strlen (head);
  scanner->max_digits = 1;
  if (g_str_has_prefix (pattern, "{1,3}")) {
    scanner->max_digits = 3;
    pattern += strlen ("{1,3}");
  }
  return g_str_equal (pattern, tail);
}

static inline guint
class_at (const guint8 *p, const guint8 *end, guint *length)
{
  if (p >= end) {
    *length = 0;
    return END;
  }
  if (*p < 0x80) {
    *length = 1;
    return ascii[*p];
  }
  return hr_utf8_class (p, end, length) & HR_CLASS_MASK;
}

static inline const guint8 *
skip_letters (const guint8 *p, const guint8 *end)
{
  guint length;

  for (;;) {
    while (p < end && *p < 0x80 && ascii[*p] == L)
      p++;
    if (p >= end || *p < 0x80 || class_at (p, end, &length) != L)
      return p;
    p += length;
  }
}

static const guint8 *
skip_numbers (const guint8 *p, const guint8 *end, guint most)
{
  guint length;

  for (; most > 0 && class_at (p, end, &length) == N; most--)
    p += length;
  return p;
}

/* behind 's 't 're 've 'm 'll 'd, in any case; NULL if @p, behind the apostrophe, begins none */
static const guint8 *
skip_contraction (const guint8 *p, const guint8 *end)
{
  guint8 first, second;

  if (p >= end)
    return NULL;
  if (p[0] == 0xC5 && end - p >= 2 && p[1] == 0xBF) /* the long s */
    return p + 2;
  if (p[0] >= 0x80)
    return NULL;
  first = g_ascii_tolower (p[0]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd')
    return p + 1;
  if (end - p < 2)
    return NULL;
  second = g_ascii_tolower (p[1]);
  if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l'))
    return p + 2;
  return NULL;
}

/* a run of white space: up to its last newline; else to the end of the text; else without its
 * last character, which goes with what follows */
static const guint8 *
skip_space (const guint8 *p, const guint8 *end)
{
  const guint8 *first = p, *last = p, *newline = NULL;
  guint length, class = class_at (p, end, &length);

  while (class == S || class == B) {
    last = p;
    p += length;
    if (class == B)
      newline = p;
    class = class_at (p, end, &length);
  }
  if (newline != NULL)
    return newline;
  return class == END || last == first ? p : last;
}

static const guint8 *
skip_others (const guint8 *p, const guint8 *end)
{
  guint length;

  while (class_at (p, end, &length) == O)
    p += length;
  while (p < end && (*p == '\r' || *p == '\n'))
    p++;
  return p;
}

const guint8 *
hr_scanner_next (const HrScanner *scanner, const guint8 *p, const guint8 *end)
{
  guint length, next_length, class = class_at (p, end, &length), next_class;
  const guint8 *next = p + length, *behind;

  if (class == L)
    return skip_letters (next, end);
  if (class == N)
    return skip_numbers (next, end, scanner->max_digits - 1);
  if (*p == '\'' && (behind = skip_contraction (next, end)) != NULL)
    return behind;
  if (class != B) {
    next_class = class_at (next, end, &next_length);
    if (next_class == L)
      return skip_letters (next + next_length, end);
    if (class == O)
      return skip_others (next, end);
    if (*p == ' ' && next_class == O)
      return skip_others (next + next_length, end);
  }
  return skip_space (p, end);
}
