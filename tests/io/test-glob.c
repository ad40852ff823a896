/* test-glob.c: patterns of names */
#include "glob.h"

typedef struct {
  const char *pattern;
  const char *name;
  gboolean matches;
} Case;

static const Case cases[] = {
  { "a.jsonl", "a.jsonl", TRUE },
  { "a.jsonl", "a.json", FALSE },
  { "a.jsonl", "a.jsonlx", FALSE },
  { "*.jsonl", "a.jsonl", TRUE },
  { "*.jsonl", ".jsonl", TRUE },
  { "*.jsonl", "x/a.jsonl", FALSE },
  { "**.jsonl", "x/a.jsonl", TRUE },
  { "**/a.jsonl", "x/y/a.jsonl", TRUE },
  { "**/a.jsonl", "a.jsonl", FALSE },
  { "x/**", "x/y/z", TRUE },
  { "x/*/z", "x/y/z", TRUE },
  { "x/*/z", "x/y/y/z", FALSE },
  { "a?c", "abc", TRUE },
  { "a?c", "a/c", FALSE },
  { "a?c", "ac", FALSE },
  { "a?c", "a\303\274c", TRUE }, /* one character, two bytes */
  { "a?c", "a\374c", TRUE },     /* no UTF-8: a byte */
  { "a??c", "a\303\274c", FALSE },
  { "part-[0-9][0-9].jsonl", "part-07.jsonl", TRUE },
  { "part-[0-9][0-9].jsonl", "part-7.jsonl", FALSE },
  { "[!a]b", "ab", FALSE },
  { "[!a]b", "cb", TRUE },
  { "[!a]b", "/b", FALSE },
  { "[abc]", "b", TRUE },
  { "[]]", "]", TRUE },
  { "[!]]", "]", FALSE },
  { "[a-]", "-", TRUE },
  { "[*]", "*", TRUE },
  { "[*]", "x", FALSE },
  { "[?]x[[]", "?x[", TRUE },
  { "a[b", "a[b", TRUE }, /* no set without its end */
  { "[\303\240-\303\266]", "\303\244", TRUE },
  { "*a*b*c", "xxaxxbxxc", TRUE },
  { "*a*b*c", "xxaxxcxxb", FALSE },
  { "", "", TRUE },
  { "", "a", FALSE },
  { "*", "", TRUE },
  { "a\\*", "a\\b", TRUE }, /* keys hold backslashes: they escape nothing */
};

static void
test_match (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_test_message ("%s %s", cases[i].pattern, cases[i].name);
    g_assert_cmpint (hr_glob_match (cases[i].pattern, cases[i].name), ==, cases[i].matches);
  }
}

static void
test_parts (void)
{
  g_assert_true (hr_glob_is_pattern ("a*"));
  g_assert_true (hr_glob_is_pattern ("a?"));
  g_assert_true (hr_glob_is_pattern ("a[b"));
  g_assert_false (hr_glob_is_pattern ("a/b\\c]{d}"));
  g_assert_cmpuint (hr_glob_folder_length ("x/y/a*"), ==, 4);
  g_assert_cmpuint (hr_glob_folder_length ("x/y*/a"), ==, 2);
  g_assert_cmpuint (hr_glob_folder_length ("*"), ==, 0);
  g_assert_cmpuint (hr_glob_folder_length ("/*"), ==, 1);
}

/* a pattern of many stars over a name that nearly fits: this ends */
static void
test_many_stars (void)
{
  g_autoptr (GString) flat = g_string_new (NULL), deep = g_string_new (NULL);
  g_autofree char *name = g_strnfill (1000, 'a'), *fits = g_strconcat (name, "/b", NULL);

  for (guint i = 0; i < 100; i++) {
    g_string_append (flat, "*a");
    g_string_append (deep, "**a");
  }
  g_assert_true (hr_glob_match (flat->str, name));
  g_assert_true (hr_glob_match (deep->str, name));
  g_string_append_c (flat, 'b');
  g_string_append (deep, "b");
  g_assert_false (hr_glob_match (flat->str, name));
  g_assert_false (hr_glob_match (deep->str, name));
  g_string_insert (deep, deep->len - 1, "*/");
  g_assert_true (hr_glob_match (deep->str, fits));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/glob/match", test_match);
  g_test_add_func ("/io/glob/parts", test_parts);
  g_test_add_func ("/glob/many-stars", test_many_stars);
  return g_test_run ();
}
