/* pattern-translate.c: a pattern as Oniguruma reads it, written so that PCRE2 reads the same
 *
 * \p{L} stays \p{L}, which PCRE2 looks up, and gets the ranges added that its Unicode lacks: those
 * are few. Only where it has code points too many all of them are written out. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern-translate.h"
#include <pcre2.h>
#include <string.h>
#include "hr-error.h"
#include "unicode-category.h"

/* White_Space */
#define SPACES                                                                                     \
  "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}" \
  "\\x{3000}"

typedef struct {
  const char *text;
  const char *p;
  GString *out;
  GString *folded; /* a byte for each open group: is case ignored in it? */
  char previous;   /* the ASCII letter in front of @p, in lower case; 0: none */
  gboolean in_class;
  GError **error;
} Translation;

static gboolean
refuse (Translation *t, const char *what)
{
  g_set_error (t->error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "the pattern \"%s\" has %s at offset %" G_GSIZE_FORMAT ", which is not done here",
               t->text, what, (gsize)(t->p - t->text));
  return FALSE;
}

static gboolean
is_folded (const Translation *t)
{
  return t->folded->str[t->folded->len - 1] != 0;
}

/* ---- sets ---- */

/* every code point, in UTF-8; (transfer full) */
static char *
all_code_points (gsize *size)
{
  GString *all = g_string_sized_new (0x110000 * 4);

  for (guint32 c = 0; c < 0x110000; c++)
    if (c < 0xD800 || c > 0xDFFF)
      g_string_append_unichar (all, c);
  *size = all->len;
  return g_string_free (all, FALSE);
}

/* what PCRE2 takes for \p{@name}; (transfer full) (nullable) */
static GArray *
ask_pcre2 (const char *name)
{
  g_autofree char *pattern = g_strdup_printf ("\\p{%s}+", name), *all = NULL;
  pcre2_match_data *data = pcre2_match_data_create (1, NULL);
  const PCRE2_SIZE *place = pcre2_get_ovector_pointer (data);
  GArray *ranges = g_array_new (FALSE, FALSE, sizeof (HrCodeRange));
  int why, found = PCRE2_ERROR_NOMATCH;
  PCRE2_SIZE at = 0, size;
  pcre2_code *code =
      pcre2_compile ((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &why, &at, NULL);

  if (code != NULL) {
    pcre2_jit_compile (code, PCRE2_JIT_COMPLETE);
    all = all_code_points (&size);
    for (at = 0;
         (found = pcre2_match (code, (PCRE2_SPTR)all, size, at, PCRE2_NO_UTF_CHECK, data, NULL))
         > 0;
         at = place[1]) {
      HrCodeRange range = { g_utf8_get_char (all + place[0]),
                            g_utf8_get_char (g_utf8_prev_char (all + place[1])) };

      g_array_append_val (ranges, range);
    }
  }
  if (code == NULL || found != PCRE2_ERROR_NOMATCH)
    g_clear_pointer (&ranges, g_array_unref);
  pcre2_code_free (code);
  pcre2_match_data_free (data);
  return ranges;
}

/* (transfer none) (nullable): each name, there are a few dozen, is asked for once a process, as
 * that takes milliseconds */
static const GArray *
get_theirs (const char *name)
{
  G_LOCK_DEFINE_STATIC (answers);
  static GHashTable *answers;
  GArray *ranges;

  G_LOCK (answers);
  if (answers == NULL)
    answers = g_hash_table_new (g_str_hash, g_str_equal);
  ranges = g_hash_table_lookup (answers, name);
  if (ranges == NULL && (ranges = ask_pcre2 (name)) != NULL)
    g_hash_table_insert (answers, g_strdup (name), ranges);
  G_UNLOCK (answers);
  return ranges;
}

static void
append_ranges (GString *out, const GArray *ranges)
{
  for (guint i = 0; i < ranges->len; i++) {
    const HrCodeRange *range = &g_array_index (ranges, HrCodeRange, i);

    /* a range that spans the surrogates is one to PCRE2, too */
    g_string_append_printf (out, "\\x{%x}", range->first);
    if (range->last > range->first)
      g_string_append_printf (out, "-\\x{%x}", range->last);
  }
}

/* the members of a class that make up the set, or all the others */
static void
append_set (Translation *t, const HrUnicodeSet *set, const char *name, gboolean negated)
{
  g_autoptr (GArray) ours = g_array_new (FALSE, FALSE, sizeof (HrCodeRange));
  g_autoptr (GArray) all = hr_code_ranges_new_all (), wanted = NULL, missing = NULL, extra = NULL;
  const GArray *theirs = get_theirs (name);

  hr_unicode_set_get_ranges (set, ours);
  wanted = negated ? hr_code_ranges_subtract (all, ours) : g_steal_pointer (&ours);
  if (theirs != NULL) {
    g_autoptr (GArray) others = hr_code_ranges_subtract (all, theirs);
    const GArray *known = negated ? others : theirs;

    missing = hr_code_ranges_subtract (wanted, known);
    extra = hr_code_ranges_subtract (known, wanted);
  }
  if (extra == NULL || extra->len > 0) {
    append_ranges (t->out, wanted);
    return;
  }
  g_string_append_printf (t->out, "\\%c{%s}", negated ? 'P' : 'p', name);
  append_ranges (t->out, missing);
}

/* \s \S \d \D \p{…} \P{…} where no class is open: one of its own */
static void
put_set (Translation *t, const HrUnicodeSet *set, const char *name, gboolean negated)
{
  if (t->in_class) {
    append_set (t, set, name, negated);
    return;
  }
  g_string_append (t->out, negated ? "[^" : "[");
  append_set (t, set, name, FALSE);
  g_string_append_c (t->out, ']');
}

static gboolean
put_spaces (Translation *t, gboolean negated)
{
  if (t->in_class && negated)
    return refuse (t, "\\S inside brackets");
  if (t->in_class)
    g_string_append (t->out, SPACES);
  else
    g_string_append_printf (t->out, "[%s%s]", negated ? "^" : "", SPACES);
  return TRUE;
}

/* ---- escapes ---- */

/* @t->p at \p or \P */
static gboolean
read_property (Translation *t)
{
  gboolean negated = t->p[1] == 'P';
  const char *begin = t->p + 3, *end;
  g_autofree char *what = NULL, *name = NULL;
  HrUnicodeSet set;

  if (t->p[2] != '{' || (end = strchr (begin, '}')) == NULL)
    return refuse (t, "\\p without braces");
  if (*begin == '^') {
    negated = !negated;
    begin++;
  }
  name = g_strndup (begin, end - begin);
  what = g_strdup_printf ("\\p{%s}", name);
  if (!hr_unicode_set_find (name, strlen (name), &set))
    return refuse (t, what);
  if (is_folded (t))
    return refuse (t, "\\p{…} where case is ignored");
  put_set (t, &set, set.name, negated);
  t->p = end + 1;
  return TRUE;
}

/* \x{H…} \xHH \uHHHH */
static gboolean
read_code (Translation *t)
{
  gboolean braces = t->p[1] == 'x' && t->p[2] == '{';
  const char *digits = t->p + (braces ? 3 : 2);
  gsize n = strspn (digits, "0123456789abcdefABCDEF");
  guint64 code;

  if (!braces)
    n = MIN (n, t->p[1] == 'u' ? 4u : 2u);
  if (n == 0 || n > 6 || (braces && digits[n] != '}') || (t->p[1] == 'u' && n < 4))
    return refuse (t, "a character's number that is not written in full");
  code = g_ascii_strtoull (digits, NULL, 16);
  if (!g_unichar_validate ((gunichar)code) || (t->p[1] == 'x' && !braces && code > 0x7f)
      || (is_folded (t) && code > 0x7f))
    return refuse (t, "a byte that is no character");
  {
    g_autofree char *hex = g_strndup (digits, n);
    g_string_append_printf (t->out, "\\x{%s}", hex);
  }
  t->p = digits + n + braces;
  return TRUE;
}

static gboolean
read_escape (Translation *t)
{
  char c = t->p[1], what[] = { '\\', c, '\0' };
  HrUnicodeSet digits;

  t->previous = 0;
  switch (c) {
  case 's':
  case 'S':
    if (!put_spaces (t, c == 'S'))
      return FALSE;
    break;
  case 'd':
  case 'D':
    hr_unicode_set_find ("Nd", 2, &digits);
    put_set (t, &digits, "Nd", c == 'D');
    break;
  case 'p':
  case 'P':
    return read_property (t);
  case 'x':
  case 'u':
    return read_code (t);
  case 'v': /* the one character, where PCRE2 has a class */
    g_string_append (t->out, "\\x0b");
    break;
  case 'A':
  case 'z':
  case 'Z':
    if (t->in_class)
      return refuse (t, what);
    g_string_append (t->out, what);
    break;
  case '\0':
    return refuse (t, "a backslash at its end");
  default:
    if ((g_ascii_isalnum (c) && strchr ("nrtfae", c) == NULL) || (guchar)c >= 0x80)
      return refuse (t, what);
    g_string_append (t->out, what);
  }
  t->p += 2;
  return TRUE;
}

/* ---- characters ---- */

/* Where case is ignored, Oniguruma knows letters that stand for two: "ss" finds the sharp s. PCRE2
 * knows only single ones. */
static gboolean
put_character (Translation *t)
{
  static const char *const pairs[] = { "ss", "st", "ff", "fi", "fl", NULL };
  const char *next = g_utf8_next_char (t->p);
  char lower = g_ascii_tolower (*t->p);
  const char both[] = { t->previous, lower, '\0' };

  if (is_folded (t) && (guchar)*t->p >= 0x80)
    return refuse (t, "a letter outside of ASCII where case is ignored");
  if (is_folded (t) && !t->in_class && g_strv_contains (pairs, both))
    return refuse (t, "two letters that may be one where case is ignored");
  t->previous = g_ascii_isalpha (lower) ? lower : 0;
  g_string_append_len (t->out, t->p, next - t->p);
  t->p = next;
  return TRUE;
}

/* @t->p behind "[" */
static gboolean
read_members (Translation *t)
{
  if (*t->p == '^')
    g_string_append_c (t->out, *t->p++);
  if (*t->p == ']')
    return refuse (t, "a \"]\" that begins brackets");
  while (*t->p != ']') {
    if (*t->p == '\0')
      return refuse (t, "a \"[\" that is not closed");
    if (*t->p == '[')
      return refuse (t, t->p[1] == ':' ? "\"[:\"" : "brackets inside brackets");
    if (t->p[0] == '&' && t->p[1] == '&')
      return refuse (t, "\"&&\"");
    if (*t->p == '\\') {
      gboolean is_set = strchr ("sSdDpP", t->p[1]) != NULL && t->p[1] != '\0';

      if (!read_escape (t))
        return FALSE;
      if (is_set && t->p[0] == '-' && t->p[1] != ']')
        return refuse (t, "a range that begins with a set");
    } else if (!put_character (t)) {
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
read_class (Translation *t)
{
  g_string_append_c (t->out, *t->p++);
  t->in_class = TRUE;
  if (!read_members (t))
    return FALSE;
  t->in_class = FALSE;
  t->previous = 0;
  g_string_append_c (t->out, *t->p++);
  return TRUE;
}

/* ---- groups and counts ---- */

static gboolean
open_group (Translation *t)
{
  static const char *const heads[] = { "(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:" };
  char folded = (char)is_folded (t);
  const char *head = NULL;

  t->previous = 0;
  if (g_str_has_prefix (t->p, "(?i)") && t->p == t->text) { /* elsewhere the two disagree */
    t->folded->str[0] = 1;
    g_string_append (t->out, "(?i)");
    t->p += strlen ("(?i)");
    return TRUE;
  }
  for (guint i = 0; i < G_N_ELEMENTS (heads); i++)
    if (g_str_has_prefix (t->p, heads[i]))
      head = heads[i];
  if (head == NULL && (t->p[1] == '?' || t->p[1] == '*'))
    return refuse (t, "a group of a kind of its own");
  if (head == NULL)
    head = "(";
  if (g_str_equal (head, "(?i:"))
    folded = 1;
  g_string_append_c (t->folded, folded);
  g_string_append (t->out, head);
  t->p += strlen (head);
  return TRUE;
}

static gboolean
close_group (Translation *t)
{
  t->previous = 0;
  if (t->folded->len == 1)
    return refuse (t, "a \")\" too many");
  g_string_truncate (t->folded, t->folded->len - 1);
  g_string_append_c (t->out, *t->p++);
  return TRUE;
}

/* @t->p at "{" */
static gboolean
read_count (Translation *t)
{
  gsize first = strspn (t->p + 1, "0123456789"), rest;
  gboolean comma = t->p[1 + first] == ',';
  const char *end;

  rest = comma ? strspn (t->p + first + 2, "0123456789") : 0;
  end = t->p + 1 + first + comma + rest;
  if (*end != '}' || (first == 0 && rest == 0))
    return put_character (t); /* no count, to both */
  if (first == 0)
    return refuse (t, "a count without its least");
  if (end[1] == '+')
    return refuse (t, "a \"+\" behind a count, which repeats it; (?>…) keeps what it has");
  if (end[1] == '?' && !comma)
    return refuse (t, "a \"?\" behind a count");
  t->previous = 0;
  g_string_append_len (t->out, t->p, end + 1 - t->p);
  t->p = end + 1;
  return TRUE;
}

static gboolean
translate (Translation *t)
{
  while (*t->p != '\0') {
    gboolean good = TRUE;

    switch (*t->p) {
    case '\\':
      good = read_escape (t);
      break;
    case '[':
      good = read_class (t);
      break;
    case '(':
      good = open_group (t);
      break;
    case ')':
      good = close_group (t);
      break;
    case '{':
      good = read_count (t);
      break;
    default:
      good = put_character (t);
    }
    if (!good)
      return FALSE;
  }
  return t->folded->len == 1 || refuse (t, "a \"(\" that is not closed");
}

char *
hr_pattern_translate (const char *text, GError **error)
{
  g_autoptr (GString) folded = g_string_new_len ("\0", 1), out = g_string_new (NULL);
  Translation t = { .text = text, .p = text, .out = out, .folded = folded, .error = error };
  gboolean good = translate (&t);

  return good ? g_string_free (g_steal_pointer (&out), FALSE) : NULL;
}
