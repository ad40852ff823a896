/* test-text.c: words, quotes, variables, and how the place of an error is shown */
#include "hr-text.h"
#include <string.h>

/* all tokens as "word|!|=|word…"; a value is read behind "=" */
static char *
tokens (const char *text, GHashTable *variables)
{
  HrText scanner = { .text = text, .variables = variables };
  g_auto (HrToken) token = { 0 };
  g_autoptr (GError) error = NULL;
  GString *all = g_string_new (NULL);
  HrTextMode mode = HR_TEXT_NAME;

  do {
    gsize before = scanner.at;

    if (!hr_text_next (&scanner, mode, &token, &error))
      g_error ("%s", error->message);
    g_assert_cmpuint (token.offset, >=, before);
    g_assert_cmpuint (token.offset + token.length, ==, scanner.at);
    mode = token.type == HR_TOKEN_EQUALS ? HR_TEXT_VALUE : HR_TEXT_NAME;
    if (all->len > 0)
      g_string_append_c (all, '|');
    switch (token.type) {
    case HR_TOKEN_END:
      g_string_append (all, "end");
      break;
    case HR_TOKEN_WORD:
      g_string_append (all, token.value);
      break;
    case HR_TOKEN_LINK:
      g_string_append_c (all, '!');
      break;
    case HR_TOKEN_EQUALS:
      g_string_append_c (all, '=');
      break;
    }
  } while (token.type != HR_TOKEN_END);
  return g_string_free (all, FALSE);
}

static void
test_tokens (void)
{
  static const struct {
    const char *text, *expected;
  } rows[] = {
    { "", "end" },
    { " \t\r\n", "end" },
    { "a b", "a|b|end" },
    { "a!b", "a|!|b|end" },
    { "a ! b!c", "a|!|b|!|c|end" },
    { "a x=1 y = 2 z= 3 w =4", "a|x|=|1|y|=|2|z|=|3|w|=|4|end" },
    { "x=a=b", "x|=|a=b|end" },
    { "x==b", "x|=|=b|end" },
    { "x=a!b", "x|=|a|!|b|end" },
    { "x='a!b' y=\"c!d\"", "x|=|a!b|y|=|c!d|end" },
    { "x=''", "x|=||end" },
    { "x=\"\"y", "x|=|y|end" },
    { "x=a' b 'c\" d \"e", "x|=|a b c d e|end" },
    { "x='a\\b'", "x|=|a\\b|end" },
    { "x='${A}'", "x|=|${A}|end" },
    { "x=\"a\\\"b\\\\c\\$d\\e\"", "x|=|a\"b\\c$d\\e|end" },
    { "x=a\\ b\\\"\\'\\!\\#\\\\", "x|=|a b\"'!#\\|end" },
    { "x=a\\nb", "x|=|anb|end" },
    { "# all comment", "end" },
    { "a # comment ! b\n! c #x", "a|!|c|end" },
    { "x=#1", "x|=|#1|end" },
    { "x= #1\n2", "x|=|2|end" },
    { "x=s3://b/#1", "x|=|s3://b/#1|end" },
    { "a \\\n ! \\\r\n b", "a|!|b|end" },
    { "x=a\\\nb", "x|=|a|b|end" },
    { "x=$A", "x|=|$A|end" },
    { "x=a$", "x|=|a$|end" },
    { "x=\\${A}", "x|=|${A}|end" },
    { "x=(a) y=@b z=c:d", "x|=|(a)|y|=|@b|z|=|c:d|end" },
    { "x='line\nline'", "x|=|line\nline|end" },
    { "t. t.0 t.src_1", "t.|t.0|t.src_1|end" },
    { "x=\xc3\xbc", "x|=|\xc3\xbc|end" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *all = tokens (rows[i].text, NULL);

    g_test_message ("%s", rows[i].text);
    g_assert_cmpstr (all, ==, rows[i].expected);
  }
}

static void
test_variables (void)
{
  static const struct {
    const char *text, *expected;
  } rows[] = {
    { "x=${HR_A}", "x|=|a b|end" },
    { "x=1${HR_A}2${HR_A}", "x|=|1a b2a b|end" },
    { "x=\"<${HR_A}>\"", "x|=|<a b>|end" },
    { "x=${HR_E}", "x|=|env|end" },
    { "x=${HR_BOTH}", "x|=|table|end" },
    { "x=${HR_NONE:-some thing}", "x|=|some thing|end" },
    { "x=${HR_NONE:-}", "x|=||end" },
    { "x=${HR_A:-other}", "x|=|a b|end" },
    { "x=${HR_EMPTY:-other}", "x|=|other|end" },
    { "x=${HR_EMPTY}", "x|=||end" },
    { "x=${HR_NONE:-a\\}b\\\\c}", "x|=|a}b\\c|end" },
    { "x=${HR_NONE:-'q' ! #}", "x|=|'q' ! #|end" },
    { "x=${HR_QUOTES}", "x|=|\"a\" ${HR_A}|end" },
    { "x=${HR_NONE:-s3://b/}train/", "x|=|s3://b/train/|end" },
  };
  g_autoptr (GHashTable) variables = g_hash_table_new (g_str_hash, g_str_equal);

  g_hash_table_insert (variables, (gpointer) "HR_A", (gpointer) "a b");
  g_hash_table_insert (variables, (gpointer) "HR_BOTH", (gpointer) "table");
  g_hash_table_insert (variables, (gpointer) "HR_EMPTY", (gpointer) "");
  g_hash_table_insert (variables, (gpointer) "HR_QUOTES", (gpointer) "\"a\" ${HR_A}");
  g_setenv ("HR_E", "env", TRUE);
  g_setenv ("HR_BOTH", "env", TRUE);
  g_unsetenv ("HR_NONE");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *all = tokens (rows[i].text, variables);

    g_test_message ("%s", rows[i].text);
    g_assert_cmpstr (all, ==, rows[i].expected);
  }
}

/* a name is told from a value */
static void
test_flags (void)
{
  static const struct {
    const char *text;
    gboolean quoted, variable;
  } rows[] = { { "abc", FALSE, FALSE },       { "'abc'", TRUE, FALSE },
               { "a\\bc", TRUE, FALSE },      { "${HR_A}", FALSE, TRUE },
               { "\"${HR_A}\"", TRUE, TRUE }, { "a${HR_A:-x}", FALSE, TRUE },
               { "\"\"", TRUE, FALSE } };

  g_setenv ("HR_A", "v", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    HrText scanner = { .text = rows[i].text };
    g_auto (HrToken) token = { 0 };

    g_assert_true (hr_text_next (&scanner, HR_TEXT_NAME, &token, NULL));
    g_assert_cmpint (token.quoted, ==, rows[i].quoted);
    g_assert_cmpint (token.variable, ==, rows[i].variable);
  }
}

static void
test_quote (void)
{
  static const struct {
    const char *value, *quoted;
  } rows[] = { { "abc", "abc" },
               { "", "''" },
               { "s3://b/a-b_c.jsonl", "s3://b/a-b_c.jsonl" },
               { "a b", "'a b'" },
               { "a!b", "'a!b'" },
               { "#1", "'#1'" },
               { "a=b", "a=b" },
               { "a\\b", "'a\\b'" },
               { "${A}", "'${A}'" },
               { "it's", "\"it's\"" },
               { "it's ${A} \"\\", "\"it's \\${A} \\\"\\\\\"" },
               { "\xc3\xbc", "\xc3\xbc" } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *quoted = hr_text_quote (rows[i].value);

    g_assert_cmpstr (quoted, ==, rows[i].quoted);
  }
}

/* whatever a value is, it comes back */
static void
test_quote_round_trip (void)
{
  static const char *const pieces[] = {
    "a", "Z9", " ", "\t",   "\n",       "\r\n",         "'", "\"", "\\", "$", "${",   "}", "!", "#",
    "=", ",",  ".", "\001", "\xc3\xa4", "\xe2\x80\xa6", "(", ")",  "@",  ":", "\\\n", ":-"
  };

  for (guint i = 0; i < 20000; i++) {
    g_autoptr (GString) value = g_string_new (NULL);
    g_autofree char *quoted = NULL;
    g_autofree char *text = NULL;
    g_autofree char *all = NULL;
    g_autofree char *expected = NULL;

    for (int n = g_test_rand_int_range (0, 9); n > 0; n--)
      g_string_append (value, pieces[g_test_rand_int_range (0, G_N_ELEMENTS (pieces))]);
    quoted = hr_text_quote (value->str);
    text = g_strconcat ("x=", quoted, " y", NULL);
    all = tokens (text, NULL);
    expected = g_strconcat ("x|=|", value->str, "|y|end", NULL);
    g_assert_cmpstr (all, ==, expected);
  }
}

static void
expect_shown (const char *text, const char *word, const char *expected)
{
  const char *at = *word != '\0' ? strstr (text, word) : text + strlen (text);
  g_autofree char *shown = hr_text_show (text, (gsize)(at - text), strlen (word));

  g_assert_cmpstr (shown, ==, expected);
}

static void
test_show (void)
{
  /* the whole line if it fits */
  expect_shown ("fakesrc ! fakesink silnt=true", "silnt",
                "  fakesrc ! fakesink silnt=true\n"
                "                     ^~~~~");
  expect_shown ("a", "a", "  a\n  ^");
  expect_shown ("", "", "  \n  ^");
  expect_shown ("a !", "", "  a !\n     ^");
  /* columns are characters, and wide ones count twice */
  expect_shown ("x=\xc3\xa4\xc3\xb6 y", "y", "  x=\xc3\xa4\xc3\xb6 y\n       ^");
  expect_shown ("x=\xe6\x97\xa5 y", "y", "  x=\xe6\x97\xa5 y\n       ^");
  expect_shown ("x=\xe6\x97\xa5 y", "\xe6\x97\xa5", "  x=\xe6\x97\xa5 y\n    ^~");
  expect_shown ("e\xcc\x81 y", "y", "  e\xcc\x81 y\n    ^");
  /* tabs are one blank, other control characters and broken UTF-8 a question mark */
  expect_shown ("a\tb\001c\xff y", "y", "  a b?c? y\n         ^");
  /* the line of the word, with its number if there are several */
  expect_shown ("a !\nb !\nc", "b", "  line 2: b !\n          ^");
  expect_shown ("a ! b\n", "b", "  a ! b\n      ^");
  expect_shown ("a='x\ny' z", "'x\ny'", "  line 1: a='x\n            ^~");
}

static void
test_window (void)
{
  static const char text[] =
      "s3src location=s3://corpus/train/ ! jsonlparse ! imagefetch concurrency=64 ! imagedecode "
      "workers=2 ! resize max-pixels=262144 ! batch size=4 ! fakesink silnt=true";

  /* cut on the left: a whole link is where it begins */
  expect_shown (
      text, "silnt",
      "  … ! imagedecode workers=2 ! resize max-pixels=262144 ! batch size=4 ! fakesink "
      "silnt=true\n"
      "                                                                                 ^~~~~");
  /* cut on the right: no half words */
  expect_shown (text, "location",
                "  s3src location=s3://corpus/train/ ! jsonlparse ! imagefetch concurrency=64 ! "
                "imagedecode …\n"
                "        ^~~~~~~~");
}

/* any text, any place: at most 92 columns, and the caret stands under the first character of the
 * word */
static void
test_window_random (void)
{
  static const char *const pieces[] = { "a", "word ",      " ! ",          "!", "\xc3\xa4", "\t",
                                        "=", "longerword", "\xe2\x80\xa6", "'", "\n",       " " };

  for (guint i = 0; i < 20000; i++) {
    g_autoptr (GString) text = g_string_new (NULL);
    g_autofree char *shown = NULL;
    char *caret, *line;
    gsize offset, length;
    glong column;

    for (int n = g_test_rand_int_range (1, 200); n > 0; n--)
      g_string_append (text, pieces[g_test_rand_int_range (0, G_N_ELEMENTS (pieces))]);
    do
      offset = (gsize)g_test_rand_int_range (0, (gint32)text->len);
    while (((guchar)text->str[offset] & 0xc0) == 0x80);
    length = (gsize)g_test_rand_int_range (0, 30);
    shown = hr_text_show (text->str, offset, length);
    caret = strchr (shown, '\n');
    g_assert_nonnull (caret);
    *caret++ = '\0';
    line = shown;
    column = (glong)strspn (caret, " ");
    g_assert_cmpint (caret[column], ==, '^');
    g_assert_cmpint (g_utf8_strlen (line, -1), <=, 2 + 10 + 90);
    if (strchr (" \t\n", text->str[offset]) == NULL) {
      const char *above = g_utf8_offset_to_pointer (line, column);

      g_assert_true (g_utf8_get_char (above) == g_utf8_get_char (text->str + offset));
    }
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/tokens", test_tokens);
  g_test_add_func ("/text/variables", test_variables);
  g_test_add_func ("/text/flags", test_flags);
  g_test_add_func ("/text/quote", test_quote);
  g_test_add_func ("/text/quote/round-trip", test_quote_round_trip);
  g_test_add_func ("/text/show", test_show);
  g_test_add_func ("/text/window", test_window);
  g_test_add_func ("/text/window/random", test_window_random);
  return g_test_run ();
}
