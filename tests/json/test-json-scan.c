/* test-json-scan.c: what is JSON, what is not, and where it stops being it */
#include "json-value.h"
#include "hr-error.h"
#include "hr-line-table.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_DEPTH 64

typedef enum { GOOD, BAD, CODE } Verdict; /* CODE: bad-encoding */

typedef struct {
  const char *text;
  Verdict verdict;
  int offset; /* of the error */
  gsize size; /* if it holds NUL */
} Line;

static const Line lines[] = {
  /* values */
  { "null", GOOD, 0, 0 },
  { "true", GOOD, 0, 0 },
  { "false", GOOD, 0, 0 },
  { "\"\"", GOOD, 0, 0 },
  { "\"a\"", GOOD, 0, 0 },
  { "[]", GOOD, 0, 0 },
  { "{}", GOOD, 0, 0 },
  { "[[]]", GOOD, 0, 0 },
  { "[{}]", GOOD, 0, 0 },
  { "{\"a\":{}}", GOOD, 0, 0 },
  { "{\"a\":[]}", GOOD, 0, 0 },
  { "[1,2,3]", GOOD, 0, 0 },
  { "{\"a\":1,\"b\":2}", GOOD, 0, 0 },
  { "{\"a\":1,\"a\":2}", GOOD, 0, 0 },
  { "{\"\":0}", GOOD, 0, 0 },
  { "[null,true,false,0,\"\",[],{}]", GOOD, 0, 0 },
  { "{\"a\":[{\"b\":[{\"c\":[]}]}]}", GOOD, 0, 0 },
  { "{\"\\u0061\":1}", GOOD, 0, 0 },
  { "[\"a\",\"b\",[\"c\"],{\"d\":\"e\"}]", GOOD, 0, 0 },
  /* white space */
  { " null", GOOD, 0, 0 },
  { "null ", GOOD, 0, 0 },
  { "\t\r\n null \t\r\n", GOOD, 0, 0 },
  { " [ 1 , 2 ] ", GOOD, 0, 0 },
  { "{ \"a\" : 1 , \"b\" : [ ] }", GOOD, 0, 0 },
  { "[\t]", GOOD, 0, 0 },
  { "{ }", GOOD, 0, 0 },
  { "{\"a\":1}\r", GOOD, 0, 0 },
  { "\fnull", BAD, 0, 0 },
  { "\vnull", BAD, 0, 0 },
  { "[1,\f2]", BAD, 3, 0 },
  { "\xc2\xa0null", BAD, 0, 0 },
  { "[\xe2\x80\xa8]", BAD, 1, 0 },
  { "[\xe3\x80\x80]", BAD, 1, 0 },
  /* byte-order mark */
  { "\xef\xbb\xbfnull", GOOD, 0, 0 },
  { "\xef\xbb\xbf {\"a\":1}", GOOD, 0, 0 },
  { "\xef\xbb\xbf\xef\xbb\xbf{}", BAD, 3, 0 },
  { " \xef\xbb\xbf{}", BAD, 1, 0 },
  { "{\xef\xbb\xbf}", BAD, 1, 0 },
  { "\xef\xbb\xbf", BAD, 3, 0 },
  { "\xef\xbb{}", CODE, 0, 0 },
  { "\"\xef\xbb\xbf\"", GOOD, 0, 0 },
  { "\xff\xfe{\0}\0", CODE, 0, 6 },
  { "\xfe\xff\0{\0}", CODE, 0, 6 },
  /* nothing, cut, too much */
  { "", BAD, 0, 0 },
  { " ", BAD, 1, 0 },
  { "[", BAD, 1, 0 },
  { "{", BAD, 1, 0 },
  { "[1", BAD, 2, 0 },
  { "[1,", BAD, 3, 0 },
  { "{\"a\"", BAD, 4, 0 },
  { "{\"a\":", BAD, 5, 0 },
  { "{\"a\":1", BAD, 6, 0 },
  { "{\"a\":1,", BAD, 7, 0 },
  { "\"", BAD, 1, 0 },
  { "\"a", BAD, 2, 0 },
  { "]", BAD, 0, 0 },
  { "}", BAD, 0, 0 },
  { ",", BAD, 0, 0 },
  { ":", BAD, 0, 0 },
  { "[]]", BAD, 2, 0 },
  { "{}}", BAD, 2, 0 },
  { "{}{}", BAD, 2, 0 },
  { "{} {}", BAD, 3, 0 },
  { "{},", BAD, 2, 0 },
  { "1 2", BAD, 2, 0 },
  { "nullnull", BAD, 4, 0 },
  { "\"a\"\"b\"", BAD, 3, 0 },
  { "{}x", BAD, 2, 0 },
  { "{}#", BAD, 2, 0 },
  { "{}\0", BAD, 2, 3 },
  { "{}\r{}", BAD, 3, 0 },
  { "{}\xc3\xa9", BAD, 2, 0 },
  { "{}\xff", CODE, 2, 0 },
  /* commas and colons */
  { "[,]", BAD, 1, 0 },
  { "[1,]", BAD, 3, 0 },
  { "[,1]", BAD, 1, 0 },
  { "[1,,2]", BAD, 3, 0 },
  { "[1 2]", BAD, 3, 0 },
  { "[1;2]", BAD, 2, 0 },
  { "[1:2]", BAD, 2, 0 },
  { "{,}", BAD, 1, 0 },
  { "{\"a\":1,}", BAD, 7, 0 },
  { "{\"a\":1,,\"b\":2}", BAD, 7, 0 },
  { "{\"a\":1 \"b\":2}", BAD, 7, 0 },
  { "{\"a\" 1}", BAD, 5, 0 },
  { "{\"a\"=1}", BAD, 4, 0 },
  { "{\"a\"::1}", BAD, 5, 0 },
  { "{\"a\",1}", BAD, 4, 0 },
  { "{\"a\":}", BAD, 5, 0 },
  { "{:1}", BAD, 1, 0 },
  { "{1:1}", BAD, 1, 0 },
  { "{a:1}", BAD, 1, 0 },
  { "{'a':1}", BAD, 1, 0 },
  { "{null:1}", BAD, 1, 0 },
  { "{[]:1}", BAD, 1, 0 },
  { "[1}", BAD, 2, 0 },
  { "{\"a\":1]", BAD, 6, 0 },
  { "[{]}", BAD, 2, 0 },
  { "{[}", BAD, 1, 0 },
  { "[\"a\":1]", BAD, 4, 0 },
  /* words */
  { "nul", BAD, 0, 0 },
  { "nulL", BAD, 0, 0 },
  { "NULL", BAD, 0, 0 },
  { "True", BAD, 0, 0 },
  { "tru", BAD, 0, 0 },
  { "truex", BAD, 4, 0 },
  { "fals", BAD, 0, 0 },
  { "NaN", BAD, 0, 0 },
  { "nan", BAD, 0, 0 },
  { "Infinity", BAD, 0, 0 },
  { "-Infinity", BAD, 1, 0 },
  { "-NaN", BAD, 1, 0 },
  { "undefined", BAD, 0, 0 },
  { "a", BAD, 0, 0 },
  { "'a'", BAD, 0, 0 },
  { "`a`", BAD, 0, 0 },
  { "(1)", BAD, 0, 0 },
  { "<a>", BAD, 0, 0 },
  { "[a]", BAD, 1, 0 },
  { "var x = {}", BAD, 0, 0 },
  { "\xc3\xa9", BAD, 0, 0 },
  { "[\0]", BAD, 1, 3 },
  { "\x7f", BAD, 0, 0 },
  /* comments */
  { "/* */{}", BAD, 0, 0 },
  { "{}/* */", BAD, 2, 0 },
  { "// {}", BAD, 0, 0 },
  { "# {}", BAD, 0, 0 },
  { "[1,/* */2]", BAD, 3, 0 },
  { "[1 //\n]", BAD, 3, 0 },
  /* numbers */
  { "0", GOOD, 0, 0 },
  { "-0", GOOD, 0, 0 },
  { "1", GOOD, 0, 0 },
  { "-1", GOOD, 0, 0 },
  { "10", GOOD, 0, 0 },
  { "1.5", GOOD, 0, 0 },
  { "-0.5", GOOD, 0, 0 },
  { "0.0", GOOD, 0, 0 },
  { "1e1", GOOD, 0, 0 },
  { "1E1", GOOD, 0, 0 },
  { "1e+1", GOOD, 0, 0 },
  { "1e-1", GOOD, 0, 0 },
  { "1e01", GOOD, 0, 0 },
  { "1.5e10", GOOD, 0, 0 },
  { "0e0", GOOD, 0, 0 },
  { "1e999", GOOD, 0, 0 },
  { "-1e-999", GOOD, 0, 0 },
  { "9223372036854775808", GOOD, 0, 0 },
  { "123456789012345678901234567890", GOOD, 0, 0 },
  { "[0]", GOOD, 0, 0 },
  { "[-1.5e-3 ]", GOOD, 0, 0 },
  { "+1", BAD, 0, 0 },
  { "-", BAD, 1, 0 },
  { "--1", BAD, 1, 0 },
  { "- 1", BAD, 1, 0 },
  { "00", BAD, 0, 0 },
  { "01", BAD, 0, 0 },
  { "-01", BAD, 1, 0 },
  { "007", BAD, 0, 0 },
  { "0x10", BAD, 1, 0 },
  { "0X1", BAD, 1, 0 },
  { "0b1", BAD, 1, 0 },
  { "1.", BAD, 2, 0 },
  { ".5", BAD, 0, 0 },
  { "-.5", BAD, 1, 0 },
  { "1.e1", BAD, 2, 0 },
  { "1e", BAD, 2, 0 },
  { "1e+", BAD, 3, 0 },
  { "1ee1", BAD, 2, 0 },
  { "1e1.5", BAD, 3, 0 },
  { "1.5.5", BAD, 3, 0 },
  { "1,5", BAD, 1, 0 },
  { "1_000", BAD, 1, 0 },
  { "1a", BAD, 1, 0 },
  { "1f", BAD, 1, 0 },
  { "\xef\xbc\x91", BAD, 0, 0 },     /* a full-width digit */
  { "\xd9\xa1", BAD, 0, 0 },         /* an Arabic one */
  { "\xe2\x88\x92\x31", BAD, 0, 0 }, /* a minus sign */
  /* strings */
  { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", GOOD, 0, 0 },
  { "\"\\u0041\\u00e9\\u20AC\"", GOOD, 0, 0 },
  { "\"\\uABCD\\uabcd\"", GOOD, 0, 0 },
  { "\"\\u0000\"", GOOD, 0, 0 },
  { "\"a\\u0000b\"", GOOD, 0, 0 },
  { "\"\\u001f\\u007f\"", GOOD, 0, 0 },
  { "\"\x7f\"", GOOD, 0, 0 },
  { "\"'\"", GOOD, 0, 0 },
  { "\"/*#\"", GOOD, 0, 0 },
  { "\"\\\\\"", GOOD, 0, 0 },
  { "\"\\\\\\\"\"", GOOD, 0, 0 },
  { "\"\\\"", BAD, 3, 0 },
  { "\"\\", BAD, 2, 0 },
  { "\"\\a\"", BAD, 2, 0 },
  { "\"\\x41\"", BAD, 2, 0 },
  { "\"\\0\"", BAD, 2, 0 },
  { "\"\\'\"", BAD, 2, 0 },
  { "\"\\U0041\"", BAD, 2, 0 },
  { "\"\\\0\"", BAD, 2, 4 },
  { "\"\\ \"", BAD, 2, 0 },
  { "\"\\\xc3\xa9\"", BAD, 2, 0 },
  { "\"\\\xff\"", CODE, 2, 0 },
  { "\"\\u\"", BAD, 1, 0 },
  { "\"\\u12\"", BAD, 1, 0 },
  { "\"\\u123\"", BAD, 1, 0 },
  { "\"\\u12g4\"", BAD, 1, 0 },
  { "\"\\u+123\"", BAD, 1, 0 },
  { "\"\\u 123\"", BAD, 1, 0 },
  { "\"\\u12", BAD, 1, 0 },
  { "\"a\tb\"", BAD, 2, 0 },
  { "\"a\nb\"", BAD, 2, 0 },
  { "\"a\rb\"", BAD, 2, 0 },
  { "\"a\x01z\"", BAD, 2, 0 },
  { "\"a\x0bz\"", BAD, 2, 0 },
  { "\"a\x1fz\"", BAD, 2, 0 },
  { "\"a\0b\"", BAD, 2, 5 },
  { "{\"a\tb\":1}", BAD, 3, 0 },
  /* surrogates */
  { "\"\\ud83d\\ude00\"", GOOD, 0, 0 },
  { "\"\\uD83D\\uDE00\"", GOOD, 0, 0 },
  { "\"\\ud800\\udc00\"", GOOD, 0, 0 },
  { "\"\\udbff\\udfff\"", GOOD, 0, 0 },
  { "\"\\ud83d\\ude00\\ud83d\\ude00\"", GOOD, 0, 0 },
  { "\"\\ud7ff\\ue000\"", GOOD, 0, 0 },
  { "\"\\ud800\"", CODE, 1, 0 },
  { "\"\\ud800", CODE, 1, 0 },
  { "\"a\\ud800b\"", CODE, 2, 0 },
  { "\"\\udc00\"", CODE, 1, 0 },
  { "\"\\udfff\"", CODE, 1, 0 },
  { "\"\\udc00\\ud800\"", CODE, 1, 0 },
  { "\"\\ud800\\ud800\"", CODE, 1, 0 },
  { "\"\\ud800\\u0041\"", CODE, 1, 0 },
  { "\"\\ud800\\n\"", CODE, 1, 0 },
  { "\"\\ud800 \\udc00\"", CODE, 1, 0 },
  { "\"\\ud83d\\ude00\\ude00\"", CODE, 13, 0 },
  { "{\"\\ud800\":1}", CODE, 2, 0 },
  /* UTF-8 */
  { "\"\xc2\x80\"", GOOD, 0, 0 },
  { "\"\xdf\xbf\"", GOOD, 0, 0 },
  { "\"\xe0\xa0\x80\"", GOOD, 0, 0 },
  { "\"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\"", GOOD, 0, 0 },
  { "\"\xed\x9f\xbf\"", GOOD, 0, 0 },
  { "\"\xee\x80\x80\"", GOOD, 0, 0 },
  { "\"\xef\xbf\xbf\"", GOOD, 0, 0 },
  { "\"\xef\xbf\xbd\"", GOOD, 0, 0 },
  { "\"\xf0\x90\x80\x80\"", GOOD, 0, 0 },
  { "\"\xf4\x8f\xbf\xbf\"", GOOD, 0, 0 },
  { "{\"\xc3\xa9\":1}", GOOD, 0, 0 },
  { "\"\x80\"", CODE, 1, 0 },
  { "\"\xbf\"", CODE, 1, 0 },
  { "\"a\xff\"", CODE, 2, 0 },
  { "\"\xfe\"", CODE, 1, 0 },
  { "\"\xc0\x80\"", CODE, 1, 0 },
  { "\"\xc0\xaf\"", CODE, 1, 0 },
  { "\"\xc1\xbf\"", CODE, 1, 0 },
  { "\"\xe0\x80\x80\"", CODE, 1, 0 },
  { "\"\xe0\x9f\xbf\"", CODE, 1, 0 },
  { "\"\xf0\x80\x80\x80\"", CODE, 1, 0 },
  { "\"\xf0\x8f\xbf\xbf\"", CODE, 1, 0 },
  { "\"\xed\xa0\x80\"", CODE, 1, 0 },
  { "\"\xed\xbf\xbf\"", CODE, 1, 0 },
  { "\"\xed\xa0\xbd\xed\xb8\x80\"", CODE, 1, 0 },
  { "\"\xf4\x90\x80\x80\"", CODE, 1, 0 },
  { "\"\xf5\x80\x80\x80\"", CODE, 1, 0 },
  { "\"\xf8\x88\x80\x80\x80\"", CODE, 1, 0 },
  { "\"\xc3\"", CODE, 1, 0 },
  { "\"\xc3", CODE, 1, 0 },
  { "\"\xe2\x82\"", CODE, 1, 0 },
  { "\"\xe2\x82", CODE, 1, 0 },
  { "\"\xf0\x9f\x98\"", CODE, 1, 0 },
  { "\"\xf0\x9f\x98", CODE, 1, 0 },
  { "\"\xc3\xa9\xa9\"", CODE, 3, 0 },
  { "\"\xc3(\"", CODE, 1, 0 },
  { "{\"\xff\":1}", CODE, 2, 0 },
  { "[\xff]", CODE, 1, 0 },
  { "\x1f\x8b\x08", BAD, 0, 0 }, /* gzip */
};

/* a copy that ends where memory ends, so that a look behind it is seen; lives until the next one */
static const char *
at_the_edge (const char *text, gsize size)
{
  static char *pages;
  gsize page = sysconf (_SC_PAGESIZE);

  if (pages == NULL) {
    pages = mmap (NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_true (pages != MAP_FAILED && mprotect (pages + page, page, PROT_NONE) == 0);
  }
  g_assert_cmpuint (size, <=, page);
  return memcpy (pages + page - size, text, size);
}

static void
test_corpus (void)
{
  HrJson json = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    const Line *line = &lines[i];
    gsize size = line->size != 0 ? line->size : strlen (line->text), offset = 0;
    const char *copy = at_the_edge (line->text, size);
    g_autofree char *shown = g_strescape (line->text, NULL);
    g_autoptr (GError) error = NULL;
    gboolean good = hr_json_scan (&json, copy, size, MAX_DEPTH, &offset, &error);

    g_test_message ("%u: %s: %s", i, shown, error != NULL ? error->message : "good");
    g_assert_true (good == (line->verdict == GOOD));
    if (good) {
      g_assert_no_error (error);
      g_assert_cmpuint (json.n_values, >, 0);
      g_assert_cmpuint (json.values[0].next, ==, json.n_values);
    } else {
      g_autofree char *column = g_strdup_printf ("column %d:", line->offset + 1);

      g_assert_true (error->domain == HR_DATA_ERROR);
      g_assert_cmpint (error->code, ==,
                       line->verdict == CODE ? HR_DATA_ERROR_BAD_ENCODING : HR_DATA_ERROR_BAD_JSON);
      g_assert_cmpuint (offset, ==, line->offset);
      g_assert_true (g_str_has_prefix (error->message, column));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_assert_cmpuint (json.n_values, ==, 0);
    }
  }
  hr_json_clear (&json);
}

static void
test_depth (void)
{
  HrJson json = { 0 };
  g_autofree char *arrays = g_strnfill (200000, '[');
  g_autoptr (GString) objects = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  gsize offset;

  for (guint i = 0; i < HR_JSON_MAX_DEPTH + 1; i++)
    g_string_append (objects, "{\"a\":");
  g_assert_false (hr_json_scan (&json, arrays, 200000, 64, &offset, &error));
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON);
  g_assert_nonnull (strstr (error->message, "max-depth=64"));
  g_assert_cmpuint (offset, ==, 64);
  g_assert_false (
      hr_json_scan (&json, objects->str, objects->len, HR_JSON_MAX_DEPTH, &offset, NULL));
  g_assert_cmpuint (offset, ==, 5 * HR_JSON_MAX_DEPTH);
  g_assert_true (hr_json_scan (&json, "[[{}]]", 6, 3, NULL, NULL));
  g_assert_false (hr_json_scan (&json, "[[{}]]", 6, 2, NULL, NULL));

  /* the deepest one that passes, and its tree */
  g_string_truncate (objects, 0);
  for (guint i = 0; i < HR_JSON_MAX_DEPTH; i++)
    g_string_append_c (objects, '[');
  for (guint i = 0; i < HR_JSON_MAX_DEPTH; i++)
    g_string_append_c (objects, ']');
  g_assert_true (hr_json_scan (&json, objects->str, objects->len, HR_JSON_MAX_DEPTH, NULL, NULL));
  g_assert_cmpuint (json.n_values, ==, HR_JSON_MAX_DEPTH);
  json_node_unref (hr_json_to_node (&json, 0));
  hr_json_clear (&json);
}

/* every length of plain text, with the byte that ends it at every place: the fast skip reads 32
 * and 8 bytes at a time */
static void
test_skip (void)
{
  static const struct {
    const char *what;
    Verdict verdict;
    guint length;
  } ends[] = { { "\"", GOOD, 1 },         { "\\n\"", GOOD, 3 },         { "\x1f\"", BAD, 2 },
               { "\xc3\xa9\"", GOOD, 3 }, { "\xff\"", CODE, 2 },        { "\0\"", BAD, 2 },
               { "!\x7f#[]\"", GOOD, 6 }, { "\xe2\x80\xa8\"", GOOD, 4 } };
  HrJson json = { 0 };

  for (guint e = 0; e < G_N_ELEMENTS (ends); e++)
    for (guint before = 0; before < 100; before++) {
      for (guint after = 0; after < 40; after += 13) {
        g_autoptr (GString) text = g_string_new ("\"");
        g_autoptr (GError) error = NULL;
        const char *copy;
        gsize offset = 0, size;
        gboolean good;

        for (guint i = 0; i < before; i++)
          g_string_append_c (text, "az !#[]^\x7e"[i % 9]);
        g_string_append_len (text, ends[e].what, ends[e].length);
        for (guint i = 0; i < after; i++)
          g_string_append_c (text, ' ');
        size = text->len;
        copy = at_the_edge (text->str, size);
        good = hr_json_scan (&json, copy, size, 1, &offset, &error);
        g_assert_true (good == (ends[e].verdict == GOOD));
        if (good)
          g_assert_cmpuint (json.values[0].end, ==, before + ends[e].length);
        else
          g_assert_cmpuint (offset, ==, before + 1);
      }
    }
  hr_json_clear (&json);
}

static void
test_flags (void)
{
  HrJson json = { 0 };
  const char *text = "[\"plain\", \"\\n\", \"\\u0000\", \"\xc3\xa9\"]";

  g_assert_true (hr_json_scan (&json, text, strlen (text), 8, NULL, NULL));
  g_assert_cmpuint (json.values[1].flags, ==, 0);
  g_assert_cmpuint (json.values[2].flags, ==, HR_JSON_ESCAPED);
  g_assert_cmpuint (json.values[3].flags, ==, HR_JSON_ESCAPED | HR_JSON_NUL);
  g_assert_cmpuint (json.values[4].flags, ==, 0);
  hr_json_clear (&json);
}

static void
test_messages (void)
{
  static const struct {
    const char *text, *message;
  } rows[] = {
    { "{} {}", "column 4: expected the end of the line after the value, found '{'" },
    { "{\"a\" 1}", "column 6: expected ':', found '1'" },
    { "[1,2", "column 5: expected ',' or ']', but the line ends" },
    { "{\"a\":1,}", "column 8: expected a name in double quotes, found '}'" },
    { "[\v]", "column 2: expected a value, found control character 0x0b" },
    { "[\xe2\x80\xa8]", "column 2: expected a value, found U+2028" },
    { "\"a\vz\"", "column 3: control character 0x0b in a string; it must be written \\u000b" },
    { "\"\\ud800\"", "column 2: \\ud800 is half of a surrogate pair" },
    { "\"\xff\"", "column 2: byte 0xff begins no valid UTF-8 character" },
    { "007", "column 1: a number with a leading zero" },
    { "\"\\u12\"", "column 2: \\u needs four hexadecimal digits" },
  };
  HrJson json = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_false (hr_json_scan (&json, rows[i].text, strlen (rows[i].text), 8, NULL, &error));
    g_assert_cmpstr (error->message, ==, rows[i].message);
  }
  hr_json_clear (&json);
}

/* the input files of the cases about JSON: the verdict on every line */
static void
test_case_files (void)
{
  static const struct {
    const char *file;
    const char *verdicts; /* a line each: y, n, e (encoding), b (blank) */
  } rows[] = {
    { "12-byte-order-mark/start.jsonl", "yy" },
    { "12-byte-order-mark/middle.jsonl", "yy" },
    { "12-byte-order-mark/alone.jsonl", "b" },
    { "12-byte-order-mark/alone-line.jsonl", "by" },
    { "12-byte-order-mark/twice.jsonl", "n" },
    { "12-byte-order-mark/inside.jsonl", "y" },
    { "13-unicode-line-separators/a.jsonl", "yyyyyyyyyny" },
    { "14-line-ends/bad-at-6.jsonl", "bybbyny" },
    { "14-line-ends/cr-only.jsonl", "n" },
    { "14-line-ends/crlf.jsonl", "yy" },
    { "14-line-ends/leading-space.jsonl", "yy" },
    { "15-bad-utf8/a.jsonl", "yeeeeeeyyenyeyeey" },
    { "27-almost-json/a.jsonl", "ynnnnnyyynnnnnnnnnnnyyyy" },
  };
  HrJson json = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *path = g_build_filename (HR_TEST_DATA, "cases", rows[i].file, NULL);
    g_autofree char *text = NULL;
    g_autoptr (GString) seen = g_string_new (NULL);
    gsize size;

    g_assert_true (g_file_get_contents (path, &text, &size, NULL));
    for (char *p = text, *end = text + size; p < end;) {
      char *stop = memchr (p, '\n', end - p);
      gsize length = (stop != NULL ? stop : end) - p;
      g_autoptr (GError) error = NULL;

      if (hr_line_is_blank (p, length))
        g_string_append_c (seen, 'b');
      else if (hr_json_scan (&json, p, length, MAX_DEPTH, NULL, &error))
        g_string_append_c (seen, 'y');
      else
        g_string_append_c (seen, error->code == HR_DATA_ERROR_BAD_ENCODING ? 'e' : 'n');
      p += length + 1;
    }
    g_test_message ("%s", rows[i].file);
    g_assert_cmpstr (seen->str, ==, rows[i].verdicts);
  }
  hr_json_clear (&json);
}

/* flipped, dropped and doubled bytes: any verdict, but no crash, and what passes can be looked at
 */
static void
test_damage (void)
{
  const char *text =
      "{\"id\": 7, \"a\\n\\u00e9\": [1.5e3, -0, null, true, {\"\xc3\xa9\xe2\x82\xac\": "
      "\"\\ud83d\\ude00\\u0000 some longer text without anything in it\"}], \"b\": {}}";
  gsize size = strlen (text);
  HrJson json = { 0 };
  guint n_good = 0;

  for (guint n = 0; n < 30000; n++) {
    g_autofree char *copy = g_malloc (size + 1);
    gsize length = size;

    memcpy (copy, text, size);
    for (gint flips = g_test_rand_int_range (1, 4); flips > 0 && length > 1; flips--) {
      gsize at = g_test_rand_int_range (0, length);

      switch (g_test_rand_int_range (0, 4)) {
      case 0:
        copy[at] ^= 1 << g_test_rand_int_range (0, 8);
        break;
      case 1:
        copy[at] = g_test_rand_int_range (0, 256);
        break;
      case 2:
        memmove (copy + at, copy + at + 1, --length - at);
        break;
      default:
        length = MAX (at, 1);
      }
    }
    copy = g_realloc (copy, length);
    if (hr_json_scan (&json, copy, length, 8, NULL, NULL)) {
      JsonNode *node = hr_json_to_node (&json, 0);

      n_good++;
      if (node != NULL)
        json_node_unref (node);
    }
  }
  g_test_message ("%u of 30000 are still JSON", n_good);
  g_assert_cmpuint (n_good, >, 100);
  hr_json_clear (&json);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json-scan/corpus", test_corpus);
  g_test_add_func ("/json-scan/depth", test_depth);
  g_test_add_func ("/json-scan/skip", test_skip);
  g_test_add_func ("/json-scan/flags", test_flags);
  g_test_add_func ("/json-scan/messages", test_messages);
  g_test_add_func ("/json-scan/case-files", test_case_files);
  g_test_add_func ("/json-scan/damage", test_damage);
  return g_test_run ();
}
