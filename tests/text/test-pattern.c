/* patterns that go to PCRE2: cut as Oniguruma does in Hugging Face's tokenizers, or refused by name
 */
#include <string.h>
#include "hr-error.h"
#include "text-pieces.h"
#include "unicode-category.h"

static HrPattern *
pattern_new (const char *text)
{
  g_autoptr (GError) error = NULL;
  HrPattern *pattern = hr_pattern_new (text, FALSE, &error);

  g_assert_no_error (error);
  return pattern;
}

static void
assert_pieces (const char *text, const char *cut, const char *expected)
{
  g_autoptr (HrPattern) pattern = pattern_new (text);

  text_pieces_assert (pattern, cut, expected);
}

static void
test_between_matches (void)
{
  assert_pieces ("[0-9]+", "ab12cd3", "ab|12|cd|3");
  /* an empty match cuts, too: as the reference does */
  assert_pieces ("[0-9]*", "ab12cd3e", "a|b|12|c|d|3|e");
  assert_pieces ("x?", "axxb", "a|x|x|b");
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
  g_assert_nonnull (strstr (error->message, "not closed"));
  g_clear_error (&error);
  g_assert_null (hr_pattern_new ("a{3,1}", FALSE, &error)); /* PCRE2 says so */
  g_assert_nonnull (strstr (error->message, "\"a{3,1}\" is wrong"));
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

/* ---- sets ---- */

static const char *const names[] = { "L",  "M",  "N",  "P",  "S",  "Z",  "C",  "Lu", "Ll", "Lt",
                                     "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd",
                                     "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs",
                                     "Zl", "Zp", "Cc", "Cf", "Co", "Cn", "Han" };

/* how many code points of the set there are, surrogates aside; of Unicode 16, counted by Python */
static const guint32 counts[] = { 141028, 2501,   1911, 855, 8514,   19,     957236, 1858, 2258, 31,
                                  404,    136477, 2020, 468, 13,     760,    236,    915,  10,   27,
                                  79,     77,     12,   10,  640,    950,    63,     125,  7376, 17,
                                  1,      1,      65,   170, 137468, 819533, 99030 };

static void
test_counts (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (HrCodeRange));
    HrUnicodeSet set;
    guint32 n = 0;

    g_assert_true (hr_unicode_set_find (names[i], strlen (names[i]), &set));
    hr_unicode_set_get_ranges (&set, ranges);
    for (guint k = 0; k < ranges->len; k++) {
      const HrCodeRange *range = &g_array_index (ranges, HrCodeRange, k);

      g_assert_cmpuint (range->first, <=, range->last);
      n += range->last - range->first + 1;
    }
    if (n != counts[i])
      g_error ("%s has %u code points, not %u", names[i], n, counts[i]);
  }
}

/* all code points in one string, in order */
static char *
all_code_points (gsize *size)
{
  GString *all = g_string_new (NULL);

  for (guint32 c = 2; c < 0x110000; c++) /* 1 is what stands between pieces */
    if (c < 0xD800 || c > 0xDFFF)
      g_string_append_unichar (all, c);
  *size = all->len;
  return g_string_free (all, FALSE);
}

/* runs that match and runs that do not take turns: each border is the set's */
static void
check_set (const char *format, const char *name, gboolean negated, const char *all, gsize size)
{
  g_autofree char *text = g_strdup_printf (format, name);
  g_autoptr (HrPattern) pattern = pattern_new (text);
  g_autofree char *pieces = text_pieces_cut (pattern, all, size);
  g_autofree guint8 *in_set = g_new0 (guint8, 0x110000);
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (HrCodeRange));
  HrUnicodeSet set;
  guint32 previous = 0;

  hr_unicode_set_find (name, strlen (name), &set);
  hr_unicode_set_get_ranges (&set, ranges);
  for (guint i = 0; i < ranges->len; i++)
    for (guint32 c = g_array_index (ranges, HrCodeRange, i).first;
         c <= g_array_index (ranges, HrCodeRange, i).last; c++)
      in_set[c] = 1;
  for (const char *p = pieces; *p != '\0' || p < pieces + size;) {
    guint32 c = g_utf8_get_char (p);
    gboolean border = FALSE;

    if (c == 1) {
      border = TRUE;
      p++;
      if (*p == '\0')
        break;
      c = g_utf8_get_char (p);
    }
    if (previous != 0 && border != (in_set[c] != in_set[previous]))
      g_error ("%s, negated %d: U+%04X is wrong", text, negated, c);
    previous = c;
    p = g_utf8_next_char (p);
  }
  g_assert_cmpuint (previous, ==, 0x10FFFF);
}

/* every code point, beside the table: PCRE2's own are of an older Unicode */
static void
test_sets (void)
{
  gsize size;
  g_autofree char *all = all_code_points (&size);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    check_set ("\\p{%s}+", names[i], FALSE, all, size);
    if (strlen (names[i]) == 1) {
      check_set ("\\P{%s}+", names[i], TRUE, all, size);
      check_set ("[\\p{%s}]+", names[i], FALSE, all, size);
      check_set ("[^\\p{%s}]+", names[i], TRUE, all, size);
      check_set ("[\\P{%s}]+", names[i], TRUE, all, size);
      check_set ("\\p{^%s}+", names[i], TRUE, all, size);
    }
  }
  check_set ("[\\d]%.0s+", "Nd", FALSE, all, size);
}

static void
test_names (void)
{
  assert_pieces ("\\p{Letter}+", "ab1", "ab|1");
  assert_pieces ("\\p{lowercase_letter}+", "abC", "ab|C");
  assert_pieces ("\\p{Punctuation}+", "a.!b", "a|.!|b");
  assert_pieces ("\\p{Han}+", "a\u4e2d\U00031350\U0002ebf0b", "a|\u4e2d\U00031350\U0002ebf0|b");
}

/* what a mark of the syntax means in Oniguruma, where PCRE2 has it otherwise */
static void
test_syntax (void)
{
  assert_pieces ("\\s+", "a \u00a0\u180e\u3000\x1c", "a| \u00a0|\u180e|\u3000|\x1c");
  assert_pieces ("\\S+", "a \u180e", "a| |\u180e");
  assert_pieces ("[^\\s]+", "a \u180e", "a| |\u180e");
  assert_pieces ("\\v+", "a\x0b\nb", "a|\x0b|\nb");
  assert_pieces ("^a", "a\na\na", "a|\n|a|\n|a");
  assert_pieces ("a$", "a\na\na\n", "a|\n|a|\n|a|\n");
  assert_pieces (".", "a\n\r\u2028", "a|\n|\r|\u2028");
  assert_pieces ("\\u0041+", "AAB", "AA|B");
  assert_pieces ("\\x{41}+\\x42", "AAB", "AAB");
  assert_pieces ("\\d+", "12\u0663a", "12\u0663|a");
  assert_pieces ("(?i)k", "aK\u212a", "a|K|\u212a");
  assert_pieces ("(?i:'s)", "a'S'\u017f", "a|'S|'\u017f");
  assert_pieces ("a{1,2}", "aaab{", "aa|a|b{");
  assert_pieces ("x{", "ax{", "a|x{");
  assert_pieces ("(?>a+)b|a", "aaab", "aaab");
}

/* GPT-4o's, and DeepSeek's */
static void
test_models (void)
{
  static const char gpt4o[] =
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?"
      "i:"
      "'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+["
      "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  static const char deepseek[] =
      "[!\"#$%&'()*+,\\-./"
      ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}"
      "]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

  assert_pieces (gpt4o, "HelloWorld's 12345/\n\U00010d50x",
                 "Hello|World's| |123|45|/\n|\U00010d50x");
  assert_pieces (deepseek, "a+b !\U0001cc00\n1\u1c89", "a|+b| !\U0001cc00\n|1\u1c89");
}

static void
test_refused (void)
{
  static const struct {
    const char *pattern;
    const char *message;
  } rows[] = { { "\\w+", "\\w at offset 0" },
               { "a\\b", "\\b at offset 1" },
               { "\\h", "\\h" },
               { "\\R", "\\R" },
               { "\\X", "\\X" },
               { "(a)\\1", "\\1" },
               { "\\p{Greek}", "\\p{Greek}" },
               { "\\p{Alphabetic}", "\\p{Alphabetic}" },
               { "\\p{Script=Han}", "\\p{Script=Han}" },
               { "\\pL", "without braces" },
               { "(?i:\\p{L})", "where case is ignored" },
               { "(?i:ss)", "may be one" },
               { "(?i:\u00df)", "outside of ASCII" },
               { "a(?i)b", "group" },
               { "(?m:a)", "group" },
               { "(?<n>a)", "group" },
               { "(*UTF)a", "group" },
               { "\\p{N}{1,3}+", "\"+\" behind a count" },
               { "a{2}?", "\"?\" behind a count" },
               { "a{,2}", "without its least" },
               { "[a&&b]", "&&" },
               { "[a[b]]", "brackets inside" },
               { "[[:alpha:]]", "[:" },
               { "[]a]", "begins brackets" },
               { "[\\p{L}-x]", "range" },
               { "[a", "not closed" },
               { "(a", "not closed" },
               { "a)", "too many" },
               { "[\\S]", "\\S inside" },
               { "\\xff", "no character" },
               { "\\x{d800}", "no character" },
               { "\\u12", "in full" },
               { "a\\", "backslash" } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (GError) error = NULL;

    if (hr_pattern_new (rows[i].pattern, FALSE, &error) != NULL)
      g_error ("\"%s\" was not refused", rows[i].pattern);
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
    g_assert_nonnull (strstr (error->message, rows[i].pattern));
    if (strstr (error->message, rows[i].message) == NULL)
      g_error ("\"%s\" does not say \"%s\"", error->message, rows[i].message);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/pattern/between-matches", test_between_matches);
  g_test_add_func ("/text/pattern/literal", test_literal);
  g_test_add_func ("/text/pattern/wrong", test_wrong_pattern);
  g_test_add_func ("/text/pattern/hopeless", test_hopeless_pattern);
  g_test_add_func ("/text/pattern/counts", test_counts);
  g_test_add_func ("/text/pattern/sets", test_sets);
  g_test_add_func ("/text/pattern/names", test_names);
  g_test_add_func ("/text/pattern/syntax", test_syntax);
  g_test_add_func ("/text/pattern/models", test_models);
  g_test_add_func ("/text/pattern/refused", test_refused);
  return g_test_run ();
}
