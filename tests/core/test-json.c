/* test-json.c: trees as text that every JSON parser reads */
#include <math.h>
#include "hr-json.h"

static void
check (JsonNode *node, const char *expected)
{
  g_autofree char *text = hr_json_write (node, FALSE);

  g_assert_cmpstr (text, ==, expected);
  json_node_unref (node);
}

static void
test_strings (void)
{
  static const struct {
    const char *string, *text;
  } rows[] = {
    { "", "\"\"" },
    { "a b", "\"a b\"" },
    { "\"\\/", "\"\\\"\\\\/\"" },
    { "\b\f\n\r\t", "\"\\u0008\\u000c\\n\\r\\t\"" },
    { "\x01\x1e\x1f\x20\x7f", "\"\\u0001\\u001e\\u001f \x7f\"" },
    { "\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80\"" },
    { "a\xff"
      "b",
      "\"a\xef\xbf\xbd"
      "b\"" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    check (json_node_init_string (json_node_alloc (), rows[i].string), rows[i].text);
}

static void
test_numbers (void)
{
  static const struct {
    double number;
    const char *text;
  } rows[] = {
    { 0, "0.0" },
    { -0.0, "-0.0" },
    { 5, "5.0" },
    { 0.1, "0.1" },
    { 1.5, "1.5" },
    { 1e55, "1e+55" },
    { 1e22, "1e+22" },
    { -2.5e-7, "-2.5e-07" },
    { 1.0 / 3, "0.3333333333333333" },
    { 5e-324, "4.94065645841247e-324" },
    { INFINITY, "null" },
    { NAN, "null" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    check (json_node_init_double (json_node_alloc (), rows[i].number), rows[i].text);
  check (json_node_init_int (json_node_alloc (), G_MININT64), "-9223372036854775808");
  check (json_node_init_int (json_node_alloc (), G_MAXINT64), "9223372036854775807");
  check (json_node_init_boolean (json_node_alloc (), TRUE), "true");
  check (json_node_init_boolean (json_node_alloc (), FALSE), "false");
  check (json_node_init_null (json_node_alloc ()), "null");
}

/* any number comes back the same */
static void
test_round_trip (void)
{
  for (guint i = 0; i < 20000; i++) {
    union {
      guint64 bits;
      double number;
    } any = { (guint64)g_test_rand_int () << 32 | (guint32)g_test_rand_int () };
    JsonNode *node = json_node_init_double (json_node_alloc (), any.number);
    g_autofree char *text = hr_json_write (node, FALSE);

    if (isfinite (any.number))
      g_assert_true (g_ascii_strtod (text, NULL) == any.number);
    json_node_unref (node);
  }
}

static void
test_trees (void)
{
  static const char *const lines[] = {
    "[]",
    "{}",
    "[1,[2,[]],{\"b\":null,\"a\":[true]}]",
    "{\"z\":1,\"y\":{\"x\":[\"a\",\"\"]},\"\":false}",
  };
  static const char pretty[] = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}";

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    check (json_from_string (lines[i], NULL), lines[i]);
  {
    g_autoptr (JsonNode) node = json_from_string (pretty, NULL);
    g_autofree char *text = hr_json_write (node, TRUE);

    g_assert_cmpstr (text, ==, pretty);
  }
  {
    g_autofree char *text = hr_json_write (NULL, TRUE);

    g_assert_cmpstr (text, ==, "null");
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json/strings", test_strings);
  g_test_add_func ("/json/numbers", test_numbers);
  g_test_add_func ("/json/round-trip", test_round_trip);
  g_test_add_func ("/json/trees", test_trees);
  return g_test_run ();
}
