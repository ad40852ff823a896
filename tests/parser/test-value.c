/* test-value.c: numbers, sizes, durations and lists as text */
#include "hr-suggest.h"
#include "hr-value.h"
#include <locale.h>
#include <string.h>

static void
test_bool (void)
{
  static const char *const yes[] = { "true", "True", "YES", "on", "1" };
  static const char *const no[] = { "false", "False", "NO", "off", "0" };
  static const char *const neither[] = { "", "2", "tru", "true ", "y", "-1", "01" };
  gboolean value;

  for (guint i = 0; i < G_N_ELEMENTS (yes); i++) {
    value = FALSE;
    g_assert_cmpint (hr_value_parse_bool (yes[i], &value, NULL), ==, HR_VALUE_OK);
    g_assert_true (value);
    value = TRUE;
    g_assert_cmpint (hr_value_parse_bool (no[i], &value, NULL), ==, HR_VALUE_OK);
    g_assert_false (value);
  }
  for (guint i = 0; i < G_N_ELEMENTS (neither); i++) {
    g_autofree char *why = NULL;

    g_assert_cmpint (hr_value_parse_bool (neither[i], &value, &why), ==, HR_VALUE_BAD);
    g_assert_cmpstr (why, ==, "neither true nor false");
  }
}

static void
test_int (void)
{
  static const struct {
    const char *text;
    HrValueStatus status;
    gint64 value;
  } rows[] = {
    { "0", HR_VALUE_OK, 0 },
    { "-0", HR_VALUE_OK, 0 },
    { "+7", HR_VALUE_OK, 7 },
    { "-7", HR_VALUE_OK, -7 },
    { "007", HR_VALUE_OK, 7 },
    { "9223372036854775807", HR_VALUE_OK, G_MAXINT64 },
    { "-9223372036854775808", HR_VALUE_OK, G_MININT64 },
    { "9223372036854775808", HR_VALUE_RANGE, 0 },
    { "-9223372036854775809", HR_VALUE_RANGE, 0 },
    { "99999999999999999999999999", HR_VALUE_RANGE, 0 },
    { "", HR_VALUE_BAD, 0 },
    { "-", HR_VALUE_BAD, 0 },
    { "1.0", HR_VALUE_BAD, 0 },
    { "0x10", HR_VALUE_BAD, 0 },
    { " 1", HR_VALUE_BAD, 0 },
    { "1 ", HR_VALUE_BAD, 0 },
    { "--1", HR_VALUE_BAD, 0 },
    { "1e3", HR_VALUE_BAD, 0 },
    { "99999999999999999999999999x", HR_VALUE_BAD, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    gint64 value = 0;

    g_test_message ("%s", rows[i].text);
    g_assert_cmpint (hr_value_parse_int (rows[i].text, &value, NULL), ==, rows[i].status);
    if (rows[i].status == HR_VALUE_OK)
      g_assert_cmpint (value, ==, rows[i].value);
  }
}

static void
test_uint (void)
{
  guint64 value;

  g_assert_cmpint (hr_value_parse_uint ("18446744073709551615", &value, NULL), ==, HR_VALUE_OK);
  g_assert_cmpuint (value, ==, G_MAXUINT64);
  g_assert_cmpint (hr_value_parse_uint ("18446744073709551616", &value, NULL), ==, HR_VALUE_RANGE);
  g_assert_cmpint (hr_value_parse_uint ("-1", &value, NULL), ==, HR_VALUE_RANGE);
  g_assert_cmpint (hr_value_parse_uint ("-0", &value, NULL), ==, HR_VALUE_OK);
  g_assert_cmpint (hr_value_parse_uint ("4,096", &value, NULL), ==, HR_VALUE_BAD);
  g_assert_cmpint (hr_value_parse_uint ("", &value, NULL), ==, HR_VALUE_BAD);
}

static void
test_double (void)
{
  static const struct {
    const char *text;
    double value;
  } good[] = { { "0", 0 },        { "1.5", 1.5 },    { ".5", 0.5 },       { "5.", 5 },
               { "-1e3", -1000 }, { "1E-3", 0.001 }, { "+2.25e+1", 22.5 } };
  static const char *const bad[] = { "",    ".",     "-",  "e5", "1e",  "1e+",  "inf",
                                     "nan", "0x1p3", " 1", "1 ", "1,5", "1.5.2" };
  double value;

  for (guint i = 0; i < G_N_ELEMENTS (good); i++) {
    g_assert_cmpint (hr_value_parse_double (good[i].text, &value, NULL), ==, HR_VALUE_OK);
    g_assert_cmpfloat (value, ==, good[i].value);
  }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_cmpint (hr_value_parse_double (bad[i], &value, NULL), ==, HR_VALUE_BAD);
  g_assert_cmpint (hr_value_parse_double ("1e400", &value, NULL), ==, HR_VALUE_RANGE);
}

static void
test_size (void)
{
  static const struct {
    const char *text;
    HrValueStatus status;
    guint64 value;
  } rows[] = {
    { "0", HR_VALUE_OK, 0 },
    { "512", HR_VALUE_OK, 512 },
    { "512B", HR_VALUE_OK, 512 },
    { "64KiB", HR_VALUE_OK, 65536 },
    { "2GiB", HR_VALUE_OK, G_GUINT64_CONSTANT (2147483648) },
    { "10MB", HR_VALUE_OK, 10000000 },
    { "1kB", HR_VALUE_OK, 1000 },
    { "1KB", HR_VALUE_OK, 1000 },
    { "3TB", HR_VALUE_OK, G_GUINT64_CONSTANT (3000000000000) },
    { "1PB", HR_VALUE_OK, G_GUINT64_CONSTANT (1000000000000000) },
    { "1TiB", HR_VALUE_OK, G_GUINT64_CONSTANT (1) << 40 },
    { "16383PiB", HR_VALUE_OK, G_GUINT64_CONSTANT (16383) << 50 },
    { "16384PiB", HR_VALUE_RANGE, 0 },
    { "18446744073709551615", HR_VALUE_OK, G_MAXUINT64 },
    { "18446744073709551616", HR_VALUE_RANGE, 0 },
    { "1.5GiB", HR_VALUE_OK, G_GUINT64_CONSTANT (1610612736) },
    { "0.50KiB", HR_VALUE_OK, 512 },
    { "0.0009765625KiB", HR_VALUE_OK, 1 },
    { "1.000000000000000000000000000000KiB", HR_VALUE_OK, 1024 },
    { "0.1KiB", HR_VALUE_BAD, 0 },
    { "0.00000000000000000001PiB", HR_VALUE_BAD, 0 },
    { "1.5", HR_VALUE_BAD, 0 },
    { "-1", HR_VALUE_RANGE, 0 },
    { "", HR_VALUE_BAD, 0 },
    { "KiB", HR_VALUE_BAD, 0 },
    { "1.", HR_VALUE_BAD, 0 },
    { "64 KiB", HR_VALUE_BAD, 0 },
    { "64K", HR_VALUE_BAD, 0 },
    { "64kib", HR_VALUE_BAD, 0 },
    { "64furlongs", HR_VALUE_BAD, 0 },
  };
  g_autofree char *why = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    guint64 value = 0;

    g_test_message ("%s", rows[i].text);
    g_assert_cmpint (hr_value_parse_size (rows[i].text, &value, NULL), ==, rows[i].status);
    if (rows[i].status == HR_VALUE_OK)
      g_assert_cmpuint (value, ==, rows[i].value);
  }
  hr_value_parse_size ("64k", &(guint64){ 0 }, &why);
  g_assert_cmpstr (why, ==, "\"k\" could be KiB (powers of 1024) or KB (powers of 1000)");
  g_clear_pointer (&why, g_free);
  hr_value_parse_size ("64Mi", &(guint64){ 0 }, &why);
  g_assert_cmpstr (why, ==, "\"Mi\" could be MiB (powers of 1024) or MB (powers of 1000)");
  g_clear_pointer (&why, g_free);
  hr_value_parse_size ("64mib", &(guint64){ 0 }, &why);
  g_assert_cmpstr (why, ==, "\"mib\" is no unit of size, \"MiB\" is");
}

static void
test_duration (void)
{
  static const struct {
    const char *text;
    HrValueStatus status;
    gint64 value;
  } rows[] = {
    { "0", HR_VALUE_OK, 0 },
    { "0s", HR_VALUE_OK, 0 },
    { "100ns", HR_VALUE_OK, 100 },
    { "15us", HR_VALUE_OK, 15000 },
    { "200ms", HR_VALUE_OK, 200000000 },
    { "30s", HR_VALUE_OK, G_GINT64_CONSTANT (30000000000) },
    { "5m", HR_VALUE_OK, G_GINT64_CONSTANT (300000000000) },
    { "2h", HR_VALUE_OK, G_GINT64_CONSTANT (7200000000000) },
    { "1d", HR_VALUE_OK, G_GINT64_CONSTANT (86400000000000) },
    { "1.5s", HR_VALUE_OK, 1500000000 },
    { "-1.5s", HR_VALUE_OK, -1500000000 },
    { "9223372036854775807ns", HR_VALUE_OK, G_MAXINT64 },
    { "-9223372036854775808ns", HR_VALUE_OK, G_MININT64 },
    { "9223372036854775808ns", HR_VALUE_RANGE, 0 },
    { "106752d", HR_VALUE_RANGE, 0 },
    { "0.5ns", HR_VALUE_BAD, 0 },
    { "30", HR_VALUE_BAD, 0 },
    { "30 s", HR_VALUE_BAD, 0 },
    { "30sec", HR_VALUE_BAD, 0 },
    { "30S", HR_VALUE_BAD, 0 },
    { "s", HR_VALUE_BAD, 0 },
    { "", HR_VALUE_BAD, 0 },
    { "1m30s", HR_VALUE_BAD, 0 },
  };
  g_autofree char *why = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    gint64 value = 0;

    g_test_message ("%s", rows[i].text);
    g_assert_cmpint (hr_value_parse_duration (rows[i].text, &value, NULL), ==, rows[i].status);
    if (rows[i].status == HR_VALUE_OK)
      g_assert_cmpint (value, ==, rows[i].value);
  }
  hr_value_parse_duration ("30", &(gint64){ 0 }, &why);
  g_assert_cmpstr (why, ==, "a duration needs a unit: ns us ms s m h d");
}

static void
test_format (void)
{
  static const struct {
    guint64 value;
    const char *text;
  } sizes[] = {
    { 0, "0" },
    { 512, "512" },
    { 1000, "1000" },
    { 1024, "1KiB" },
    { 10240, "10KiB" },
    { 10000000, "10MB" },
    { 1024000000, "1024MB" },
    { G_GUINT64_CONSTANT (2147483648), "2GiB" },
    { G_MAXUINT64, "18446744073709551615" },
  };
  static const struct {
    gint64 value;
    const char *text;
  } durations[] = {
    { 0, "0" },
    { 1, "1ns" },
    { -1500, "-1500ns" },
    { 200000000, "200ms" },
    { G_GINT64_CONSTANT (90000000000), "90s" },
    { G_GINT64_CONSTANT (5400000000000), "90m" },
    { G_GINT64_CONSTANT (86400000000000), "1d" },
    { G_MININT64, "-9223372036854775808ns" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_autofree char *text = hr_value_format_size (sizes[i].value);

    g_assert_cmpstr (text, ==, sizes[i].text);
  }
  for (guint i = 0; i < G_N_ELEMENTS (durations); i++) {
    g_autofree char *text = hr_value_format_duration (durations[i].value);

    g_assert_cmpstr (text, ==, durations[i].text);
  }
}

/* what is printed parses back to the same, whatever it is */
static void
test_round_trip (void)
{
  g_autofree char *tenth = NULL;

  for (guint i = 0; i < 20000; i++) {
    guint64 bits = ((guint64)g_test_rand_int () << 32 | (guint32)g_test_rand_int ())
                   >> g_test_rand_int_range (0, 64);
    guint64 size = 0;
    gint64 duration = 0;
    double number = (double)(gint64)bits, parsed = 0;
    g_autofree char *a = hr_value_format_size (bits);
    g_autofree char *b = hr_value_format_duration ((gint64)bits);
    g_autofree char *c = NULL;

    if (i % 2 == 0)
      number = g_test_rand_double_range (-1, 1);
    c = hr_value_format_double (number);
    g_assert_cmpint (hr_value_parse_size (a, &size, NULL), ==, HR_VALUE_OK);
    g_assert_cmpuint (size, ==, bits);
    g_assert_cmpint (hr_value_parse_duration (b, &duration, NULL), ==, HR_VALUE_OK);
    g_assert_cmpint (duration, ==, (gint64)bits);
    g_assert_cmpint (hr_value_parse_double (c, &parsed, NULL), ==, HR_VALUE_OK);
    g_assert_cmpfloat (parsed, ==, number);
  }
  tenth = hr_value_format_double (0.1);
  g_assert_cmpstr (tenth, ==, "0.1");
}

static void
test_locale (void)
{
  double number = 0;
  g_autofree char *text = NULL;

  /* a comma for the decimal point; without that locale here the test still holds for "C" */
  if (setlocale (LC_ALL, "de_DE.UTF-8") == NULL)
    g_test_message ("no German locale");
  g_assert_cmpint (hr_value_parse_double ("1.5", &number, NULL), ==, HR_VALUE_OK);
  g_assert_cmpfloat (number, ==, 1.5);
  text = hr_value_format_double (2.5);
  g_assert_cmpstr (text, ==, "2.5");
  setlocale (LC_ALL, "C");
}

static void
test_strv (void)
{
  g_auto (GStrv) list = NULL;
  g_autofree char *text = NULL;

  g_assert_cmpint (hr_value_parse_strv (" id, a b ,c\\,d,\\ e\\ ,\\\\", &list, NULL), ==,
                   HR_VALUE_OK);
  g_assert_cmpuint (g_strv_length (list), ==, 5);
  g_assert_cmpstr (list[0], ==, "id");
  g_assert_cmpstr (list[1], ==, "a b");
  g_assert_cmpstr (list[2], ==, "c,d");
  g_assert_cmpstr (list[3], ==, " e ");
  g_assert_cmpstr (list[4], ==, "\\");
  text = hr_value_format_strv ((const char *const *)list);
  g_assert_cmpstr (text, ==, "id,a b,c\\,d,\\ e\\ ,\\\\");
  g_clear_pointer (&list, g_strfreev);
  g_assert_cmpint (hr_value_parse_strv ("", &list, NULL), ==, HR_VALUE_OK);
  g_assert_cmpuint (g_strv_length (list), ==, 0);
  for (guint i = 0; i < 5; i++) {
    static const char *const bad[] = { ",", "a,", ",a", "a,,b", "a\\" };
    char **none = NULL;

    g_assert_cmpint (hr_value_parse_strv (bad[i], &none, NULL), ==, HR_VALUE_BAD);
    g_assert_null (none);
  }
}

static void
test_strv_round_trip (void)
{
  static const char letters[] = "ab, \\\t\n\"'=";

  for (guint i = 0; i < 5000; i++) {
    guint n = (guint)g_test_rand_int_range (0, 5);
    char *items[6] = { 0 };
    g_autofree char *text = NULL;
    g_auto (GStrv) back = NULL;

    for (guint k = 0; k < n; k++) {
      gsize length = (gsize)g_test_rand_int_range (1, 8);

      items[k] = g_malloc0 (length + 1);
      for (gsize c = 0; c < length; c++)
        items[k][c] = letters[g_test_rand_int_range (0, sizeof letters - 1)];
    }
    text = hr_value_format_strv ((const char *const *)items);
    g_assert_cmpint (hr_value_parse_strv (text, &back, NULL), ==, HR_VALUE_OK);
    g_assert_true (g_strv_equal ((const char *const *)back, (const char *const *)items));
    for (guint k = 0; k < n; k++)
      g_free (items[k]);
  }
}

static void
test_limit (void)
{
  guint64 count;
  double rate;

  g_assert_cmpint (hr_value_parse_limit ("10", &count, &rate, NULL), ==, HR_VALUE_OK);
  g_assert_cmpuint (count, ==, 10);
  g_assert_cmpfloat (rate, ==, 1);
  g_assert_cmpint (hr_value_parse_limit ("0.5%", &count, &rate, NULL), ==, HR_VALUE_OK);
  g_assert_cmpuint (count, ==, G_MAXUINT64);
  g_assert_cmpfloat (rate, ==, 0.005);
  g_assert_cmpint (hr_value_parse_limit ("101%", &count, &rate, NULL), ==, HR_VALUE_RANGE);
  g_assert_cmpint (hr_value_parse_limit ("-1", &count, &rate, NULL), ==, HR_VALUE_RANGE);
  g_assert_cmpint (hr_value_parse_limit ("", &count, &rate, NULL), ==, HR_VALUE_BAD);
  g_assert_cmpint (hr_value_parse_limit ("%", &count, &rate, NULL), ==, HR_VALUE_BAD);
  g_assert_cmpint (hr_value_parse_limit ("few", &count, &rate, NULL), ==, HR_VALUE_BAD);
}

static void
test_distance (void)
{
  g_assert_cmpuint (hr_edit_distance ("", ""), ==, 0);
  g_assert_cmpuint (hr_edit_distance ("abc", ""), ==, 3);
  g_assert_cmpuint (hr_edit_distance ("", "abc"), ==, 3);
  g_assert_cmpuint (hr_edit_distance ("silnt", "silent"), ==, 1);
  g_assert_cmpuint (hr_edit_distance ("slient", "silent"), ==, 1);
  g_assert_cmpuint (hr_edit_distance ("kitten", "sitting"), ==, 3);
  g_assert_cmpuint (hr_edit_distance ("ab", "ba"), ==, 1);
}

static void
test_suggest (void)
{
  static const char *const words[] = { "fakesink", "fakesrc", "imagedecode", "tee", "max-pixels" };

  g_assert_cmpstr (hr_suggest ("fakesnk", words, 5), ==, "fakesink");
  g_assert_cmpstr (hr_suggest ("FakeSrc", words, 5), ==, "fakesrc");
  g_assert_cmpstr (hr_suggest ("decode", words, 5), ==, "imagedecode");
  g_assert_cmpstr (hr_suggest ("max_pixels", words, 5), ==, "max-pixels");
  g_assert_cmpstr (hr_suggest ("te", words, 5), ==, "tee");
  g_assert_null (hr_suggest ("videotestsrc", words, 5));
  g_assert_null (hr_suggest ("", words, 5));
  g_assert_null (hr_suggest ("x", words, 5));
  g_assert_null (hr_suggest ("fakesnk", words, 0));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/value/bool", test_bool);
  g_test_add_func ("/value/int", test_int);
  g_test_add_func ("/value/uint", test_uint);
  g_test_add_func ("/value/double", test_double);
  g_test_add_func ("/value/size", test_size);
  g_test_add_func ("/value/duration", test_duration);
  g_test_add_func ("/value/format", test_format);
  g_test_add_func ("/value/round-trip", test_round_trip);
  g_test_add_func ("/value/locale", test_locale);
  g_test_add_func ("/value/list", test_strv);
  g_test_add_func ("/value/list/round-trip", test_strv_round_trip);
  g_test_add_func ("/value/limit", test_limit);
  g_test_add_func ("/suggest/distance", test_distance);
  g_test_add_func ("/suggest/nearest", test_suggest);
  return g_test_run ();
}
