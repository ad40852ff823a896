/* scanner.c: cuts text into the pieces that are tokenised apart */
#include "scanner.h"
#include <string.h>
#include "unicode-class.h"

#define END 6 /* no class: behind the text */

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

typedef struct {
  const char *pattern;
  HrScanner scanner;
} Known;

/* the parts in which well-known patterns differ: letters, numbers, and what is neither */
#define PATTERN(letters, numbers, others)                                                          \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?" letters "+|" numbers "| ?[^\\s" others     \
  "]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const Known known[] = {
  /* Qwen2 to Qwen3-VL */
  { PATTERN ("\\p{L}", "\\p{N}", "\\p{L}\\p{N}"), { 1, FALSE } },
  /* Llama 3 and GPT-4 */
  { PATTERN ("\\p{L}", "\\p{N}{1,3}", "\\p{L}\\p{N}"), { 3, FALSE } },
  /* Qwen3.5 and Qwen3.6 */
  { PATTERN ("[\\p{L}\\p{M}]", "\\p{N}", "\\p{L}\\p{M}\\p{N}"), { 1, TRUE } },
};

gboolean
hr_scanner_init (HrScanner *scanner, const char *pattern)
{
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if (g_str_equal (pattern, known[i].pattern)) {
      *scanner = known[i].scanner;
      return TRUE;
    }
  return FALSE;
}

/* marks are letters' or others' */
static inline guint
class_at (const HrScanner *scanner, const guint8 *p, const guint8 *end, guint *length)
{
  guint class;

  if (p >= end) {
    *length = 0;
    return END;
  }
  if (*p < 0x80) {
    *length = 1;
    return ascii[*p];
  }
  class = hr_utf8_class (p, end, length) & HR_CLASS_MASK;
  if (class == HR_CLASS_MARK)
    return scanner->joins_marks ? L : O;
  return class;
}

static inline const guint8 *
skip_letters (const HrScanner *scanner, const guint8 *p, const guint8 *end)
{
  guint length;

  for (;;) {
    while (p < end && *p < 0x80 && ascii[*p] == L)
      p++;
    if (p >= end || *p < 0x80 || class_at (scanner, p, end, &length) != L)
      return p;
    p += length;
  }
}

static const guint8 *
skip_numbers (const HrScanner *scanner, const guint8 *p, const guint8 *end, guint most)
{
  guint length;

  for (; most > 0 && class_at (scanner, p, end, &length) == N; most--)
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
skip_space (const HrScanner *scanner, const guint8 *p, const guint8 *end)
{
  const guint8 *first = p, *last = p, *newline = NULL;
  guint length, class = class_at (scanner, p, end, &length);

  while (class == S || class == B) {
    last = p;
    p += length;
    if (class == B)
      newline = p;
    class = class_at (scanner, p, end, &length);
  }
  if (newline != NULL)
    return newline;
  return class == END || last == first ? p : last;
}

static const guint8 *
skip_others (const HrScanner *scanner, const guint8 *p, const guint8 *end)
{
  guint length;

  while (class_at (scanner, p, end, &length) == O)
    p += length;
  while (p < end && (*p == '\r' || *p == '\n'))
    p++;
  return p;
}

const guint8 *
hr_scanner_next (const HrScanner *scanner, const guint8 *p, const guint8 *end)
{
  guint length, next_length, class = class_at (scanner, p, end, &length), next_class;
  const guint8 *next = p + length, *behind;

  if (class == L)
    return skip_letters (scanner, next, end);
  if (class == N)
    return skip_numbers (scanner, next, end, scanner->max_digits - 1);
  if (*p == '\'' && (behind = skip_contraction (next, end)) != NULL)
    return behind;
  if (class != B) {
    next_class = class_at (scanner, next, end, &next_length);
    if (next_class == L)
      return skip_letters (scanner, next + next_length, end);
    if (class == O)
      return skip_others (scanner, next, end);
    if (*p == ' ' && next_class == O)
      return skip_others (scanner, next + next_length, end);
  }
  return skip_space (scanner, p, end);
}
