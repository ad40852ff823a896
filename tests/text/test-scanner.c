/* the scanner: pieces by hand, and beside PCRE2 with the same pattern */
#include <string.h>
#include "pattern.h"
#include "scanner.h"
#include "vocab-load.h"

#define LLAMA_PATTERN                                                                              \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+["  \
  "\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* "a|b|c"; (transfer full) */
static char *
cut (const char *pattern, const char *text, gsize size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPattern) made = hr_pattern_new (pattern, FALSE, &error);
  g_autoptr (HrMatcher) matcher = NULL;
  GString *pieces = g_string_new (NULL);
  const guint8 *p = (const guint8 *)text, *next;

  g_assert_no_error (error);
  matcher = hr_matcher_new (made);
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

static void
assert_pieces (const char *pattern, const char *text, const char *expected)
{
  g_autofree char *got = cut (pattern, text, strlen (text));
  g_autofree char *want = g_strdup_printf ("%s|", expected);

  for (char *c = want; *c != '\0'; c++)
    *c = *c == '|' ? '\1' : *c;
  g_assert_cmpstr (got, ==, want);
}

static void
test_pieces (void)
{
  static const char *const rows[][2] = {
    { "Hello world", "Hello| world" },
    { "it's IT'S they'Re we'll 'x", "it|'s| IT|'S| they|'Re| we|'ll| '|x" },
    { "a'\xc5\xbf"
      "b",
      "a|'\xc5\xbf|b" },
    { "12345", "1|2|3|4|5" },
    { "a 1  b", "a| |1| | b" },
    { "  x", " | x" },
    { "x  ", "x|  " },
    { "x \n y", "x| \n| y" },
    { "x\r\n\r\n  y", "x|\r\n\r\n| | y" },
    { "!?\n\nz", "!?\n\n|z" },
    { " !", " !" },
    { "\t!", "\t|!" },
    { "\u00a0!", "\u00a0|!" },
    { "\u3000\u4e2d", "\u3000\u4e2d" },
    { "(a", "(a" },
    { "((a", "((|a" },
    { "e\u0301e", "e|\u0301e" },
    { "\n\n a", "\n\n| a" },
    { " \n", " \n" },
    { "'", "'" },
    { "''s", "''|s" },
    { "\u1c89\u1c8a", "\u1c89\u1c8a" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    assert_pieces (HR_VOCAB_QWEN_PATTERN, rows[i][0], rows[i][1]);
  assert_pieces (LLAMA_PATTERN, "1234567 12a", "123|456|7| |12|a");
}

static void
test_known (void)
{
  HrScanner scanner;

  g_assert_true (hr_scanner_init (&scanner, HR_VOCAB_QWEN_PATTERN));
  g_assert_cmpuint (scanner.max_digits, ==, 1);
  g_assert_true (hr_scanner_init (&scanner, LLAMA_PATTERN));
  g_assert_cmpuint (scanner.max_digits, ==, 3);
  g_assert_false (hr_scanner_init (&scanner, HR_VOCAB_QWEN_PATTERN "|x"));
  g_assert_false (hr_scanner_init (&scanner, ""));
  g_assert_false (hr_scanner_init (&scanner, "\\s+"));
}

/* characters on which PCRE2's older Unicode agrees */
static const char *const units[] = {
  "a",        "Z",      "\u00e9",     "\u4e2d", "\u0430", "1",    "9",       "\u0661", "\u00bd",
  " ",        " ",      "\n",         "\r",     "\t",     "\x0b", "\u00a0",  "\u2028", "\u3000",
  "\xc2\x85", "'",      "'",          "'s",     "'ll",    "'RE",  "'\u017f", "!",      ".",
  "_",        "\u0301", "\U0001f600", "\x1c",   "\u200d", "\x7f", "<",       "|"
};

static void
compare (const char *pattern, const char *text, gsize size)
{
  g_autofree char *other = g_strdup_printf ("(?:%s)", pattern);
  g_autofree char *ours = cut (pattern, text, size), *theirs = cut (other, text, size);

  g_assert_cmpstr (ours, ==, theirs);
}

static void
test_beside_pcre2 (void)
{
  for (guint i = 0; i < 3000; i++) {
    g_autoptr (GString) text = g_string_new (NULL);
    gint n = g_test_rand_int_range (1, 30);

    while (n-- > 0) {
      const char *unit = units[g_test_rand_int_range (0, G_N_ELEMENTS (units))];

      g_string_append (text, unit);
    }
    compare (HR_VOCAB_QWEN_PATTERN, text->str, text->len);
    compare (LLAMA_PATTERN, text->str, text->len);
  }
}

/* whatever the bytes are, pieces cover them and nothing behind them is read */
static void
test_any_bytes (void)
{
  HrScanner scanner = { 1 };

  for (guint i = 0; i < 20000; i++) {
    gsize size = (gsize)g_test_rand_int_range (1, 24);
    g_autofree guint8 *text = g_malloc (size);
    const guint8 *p = text;

    for (gsize k = 0; k < size; k++)
      text[k] = (guint8)g_test_rand_int_range (0, 256);
    while (p < text + size) {
      const guint8 *next = hr_scanner_next (&scanner, p, text + size);

      g_assert_true (next > p && next <= text + size);
      p = next;
    }
  }
}

/* ---- PCRE2 ---- */

static void
test_between_matches (void)
{
  assert_pieces ("[0-9]+", "ab12cd3", "ab|12|cd|3");
  assert_pieces ("[0-9]*", "ab12cd3e", "ab|12|cd|3|e");
  assert_pieces ("x", "abc", "abc");
  assert_pieces ("\\p{Han}", "a\u4e2d\u6587z", "a|\u4e2d|\u6587|z");
}

static void
test_literal (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPattern) pattern = hr_pattern_new (".*", TRUE, &error);
  g_autoptr (HrMatcher) matcher = NULL;
  const guint8 *text = (const guint8 *)"a.*b", *next;

  g_assert_no_error (error);
  g_assert_false (hr_pattern_is_scanner (pattern));
  matcher = hr_matcher_new (pattern);
  hr_matcher_begin (matcher, text, 4);
  g_assert_true (hr_matcher_next (matcher, &next, &error) && next == text + 1);
  g_assert_true (hr_matcher_next (matcher, &next, &error) && next == text + 3);
  g_assert_true (hr_matcher_next (matcher, &next, &error) && next == text + 4);
  g_assert_true (hr_matcher_next (matcher, &next, &error) && next == NULL);
}

static void
test_wrong_pattern (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (hr_pattern_new ("a(b", FALSE, &error));
  g_assert_nonnull (strstr (error->message, "a(b"));
  g_assert_nonnull (strstr (error->message, "offset 3"));
}

/* a pattern that never ends is given up */
static void
test_hopeless_pattern (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPattern) pattern = hr_pattern_new ("(a+)+[bc]", FALSE, &error);
  g_autoptr (HrMatcher) matcher = NULL;
  g_autofree char *text = g_strnfill (5000, 'a');
  const guint8 *next;

  g_assert_no_error (error);
  matcher = hr_matcher_new (pattern);
  hr_matcher_begin (matcher, (const guint8 *)text, strlen (text));
  g_assert_false (hr_matcher_next (matcher, &next, &error));
  g_assert_nonnull (strstr (error->message, "pattern"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/scanner/pieces", test_pieces);
  g_test_add_func ("/text/scanner/known", test_known);
  g_test_add_func ("/text/scanner/beside-pcre2", test_beside_pcre2);
  g_test_add_func ("/text/scanner/any-bytes", test_any_bytes);
  g_test_add_func ("/text/pattern/between-matches", test_between_matches);
  g_test_add_func ("/text/pattern/literal", test_literal);
  g_test_add_func ("/text/pattern/wrong", test_wrong_pattern);
  g_test_add_func ("/text/pattern/hopeless", test_hopeless_pattern);
  return g_test_run ();
}
