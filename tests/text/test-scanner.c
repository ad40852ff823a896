/* the scanner: pieces by hand, and beside PCRE2 with the same pattern */
#include <string.h>
#include "scanner.h"
#include "text-pieces.h"
#include "vocab-load.h"

#define LLAMA_PATTERN                                                                              \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+["  \
  "\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

#define QWEN35_PATTERN                                                                             \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "                    \
  "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static void
assert_pieces (const char *pattern, const char *text, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPattern) made = hr_pattern_new (pattern, FALSE, &error);

  g_assert_no_error (error);
  text_pieces_assert (made, text, expected);
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
  /* marks: of letters, after a space, after another character, alone, new in Unicode 16 */
  assert_pieces (QWEN35_PATTERN, "e\u0301e \u0301\u0301!\u0301b 1\u0301!!",
                 "e\u0301e| \u0301\u0301|!\u0301b| |1|\u0301|!!");
  assert_pieces (QWEN35_PATTERN, "a\U00010d69b", "a\U00010d69b");
  assert_pieces (HR_VOCAB_QWEN_PATTERN, "a\U00010d69b", "a|\U00010d69b");
}

static void
test_known (void)
{
  HrScanner scanner;

  g_assert_true (hr_scanner_init (&scanner, HR_VOCAB_QWEN_PATTERN));
  g_assert_cmpuint (scanner.max_digits, ==, 1);
  g_assert_true (hr_scanner_init (&scanner, LLAMA_PATTERN));
  g_assert_cmpuint (scanner.max_digits, ==, 3);
  g_assert_false (scanner.joins_marks);
  g_assert_true (hr_scanner_init (&scanner, QWEN35_PATTERN));
  g_assert_cmpuint (scanner.max_digits, ==, 1);
  g_assert_true (scanner.joins_marks);
  g_assert_false (hr_scanner_init (&scanner, HR_VOCAB_QWEN_PATTERN "|x"));
  g_assert_false (hr_scanner_init (&scanner, ""));
  g_assert_false (hr_scanner_init (&scanner, "\\s+"));
}

/* of every class, and some that only Unicode 15 and 16 know: the last ones */
static const char *const units[] = {
  "a",      "Z",          "\u00e9",     "\u4e2d",     "\u0430",     "1",         "9",
  "\u0661", "\u00bd",     " ",          " ",          "\n",         "\r",        "\t",
  "\x0b",   "\u00a0",     "\u2028",     "\u3000",     "\xc2\x85",   "'",         "'",
  "'s",     "'ll",        "'RE",        "'\u017f",    "!",          ".",         "_",
  "\u0301", "\U0001f600", "\x1c",       "\u180e",     "\u200d",     "\x7f",      "<",
  "|",      "\u1c89",     "\U00010d40", "\U00010d69", "\U0001cc00", "\U00031350"
};

static void
check_beside_pcre2 (const char *text)
{
  g_autofree char *other = g_strdup_printf ("(?:%s)", text);
  g_autoptr (HrPattern) by_hand = hr_pattern_new (text, FALSE, NULL);
  g_autoptr (HrPattern) by_pcre2 = hr_pattern_new (other, FALSE, NULL);

  g_assert_true (hr_pattern_is_scanner (by_hand));
  g_assert_false (hr_pattern_is_scanner (by_pcre2));
  for (guint i = 0; i < 3000; i++) {
    g_autoptr (GString) made = g_string_new (NULL);
    g_autofree char *ours = NULL, *theirs = NULL;

    for (gint n = g_test_rand_int_range (1, 30); n > 0; n--)
      g_string_append (made, units[g_test_rand_int_range (0, G_N_ELEMENTS (units))]);
    ours = text_pieces_cut (by_hand, made->str, made->len);
    theirs = text_pieces_cut (by_pcre2, made->str, made->len);
    g_assert_cmpstr (ours, ==, theirs);
  }
}

static void
test_beside_pcre2 (void)
{
  check_beside_pcre2 (HR_VOCAB_QWEN_PATTERN);
  check_beside_pcre2 (LLAMA_PATTERN);
  check_beside_pcre2 (QWEN35_PATTERN);
}

/* whatever the bytes are, pieces cover them and nothing behind them is read */
static void
test_any_bytes (void)
{
  HrScanner scanner = { 1, FALSE };

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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/scanner/pieces", test_pieces);
  g_test_add_func ("/text/scanner/known", test_known);
  g_test_add_func ("/text/scanner/beside-pcre2", test_beside_pcre2);
  g_test_add_func ("/text/scanner/any-bytes", test_any_bytes);
  return g_test_run ();
}
