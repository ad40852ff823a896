/* test-prop.c: rows of properties */
#include "things.h"
#include <string.h>

static const HrProp *
row (const char *name)
{
  const HrProp *prop = hr_props_find (thing_props, name);

  g_assert_nonnull (prop);
  return prop;
}

static void
test_names (void)
{
  g_assert_cmpstr (hr_prop_name (row ("max-bytes")), ==, "max-bytes");
  g_assert_cmpstr (hr_prop_name (row ("flag")), ==, "flag");
  g_assert_null (hr_props_find (thing_props, "max_bytes"));
  g_assert_null (hr_props_find (thing_props, "max-byte"));
  g_assert_null (hr_props_find (thing_props, "max-bytess"));
  g_assert_null (hr_props_find (thing_props, ""));
  g_assert_null (hr_props_find (NULL, "flag"));
}

static void
test_defaults (void)
{
  Thing thing = { 0 };

  hr_props_init (&thing, thing_props);
  g_assert_false (thing.flag);
  g_assert_cmpint (thing.shift, ==, 0);
  g_assert_cmpuint (thing.count, ==, 3);
  g_assert_cmpfloat (thing.ratio, ==, 0.1);
  g_assert_cmpuint (thing.max_bytes, ==, G_GUINT64_CONSTANT (2147483648));
  g_assert_cmpint (thing.step_time, ==, 200000000);
  g_assert_cmpstr (thing.mark, ==, "none");
  g_assert_cmpint (thing.colour, ==, 1);
  g_assert_cmpuint (g_strv_length (thing.keep), ==, 2);
  for (const HrProp *prop = thing_props; prop->field != NULL; prop++)
    g_assert_true (hr_prop_is_default (&thing, prop));
  hr_props_clear (&thing, thing_props);
  g_assert_null (thing.mark);
  g_assert_null (thing.keep);
}

static void
test_set (void)
{
  static const struct {
    const char *name, *text, *back; /* back: NULL if the same */
  } good[] = {
    { "flag", "yes", "true" },
    { "shift", "-8", NULL },
    { "count", "64", NULL },
    { "ratio", "0.5", NULL },
    { "max-bytes", "1024KiB", "1MiB" },
    { "step-time", "60s", "1m" },
    { "mark", "", NULL },
    { "mark", "a \"b\"", NULL },
    { "colour", "blue", NULL },
    { "keep", " a , b", "a,b" },
    { "keep", "", NULL },
    { "max-bytes", "1", NULL },
    { "step-time", "0", NULL },
    { "step-time", "1h", NULL },
  };
  static const struct {
    const char *name, *text;
    HrParseError code;
    const char *message;
  } bad[] = {
    { "flag", "2", HR_PARSE_ERROR_BAD_VALUE,
      "bad value \"2\" for \"flag\": neither true nor false; it takes true or false" },
    { "shift", "9", HR_PARSE_ERROR_OUT_OF_RANGE,
      "bad value \"9\" for \"shift\": out of range; it takes a whole number, from -8 to 8" },
    { "shift", "-9", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
    { "count", "0", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
    { "count", "65", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
    { "count", "-1", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
    { "count", "99999999999999999999", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
    { "count", "many", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "ratio", "1.01", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
    { "ratio", "nan", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "max-bytes", "0", HR_PARSE_ERROR_OUT_OF_RANGE,
      "bad value \"0\" for \"max-bytes\": out of range; it takes a size such as 512, 64KiB or "
      "10MB, at "
      "least 1" },
    { "max-bytes", "1G", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "step-time", "61m", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
    { "step-time", "-1s", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
    { "step-time", "5", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "colour", "pink", HR_PARSE_ERROR_BAD_VALUE,
      "bad value \"pink\" for \"colour\": not one of its choices; it takes one of red, green, "
      "blue" },
    { "colour", "1", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "keep", "a,", HR_PARSE_ERROR_BAD_VALUE, NULL },
  };
  Thing thing = { 0 };

  hr_props_init (&thing, thing_props);
  for (guint i = 0; i < G_N_ELEMENTS (good); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *back = NULL;

    g_test_message ("%s=%s", good[i].name, good[i].text);
    g_assert_true (hr_prop_set_string (&thing, row (good[i].name), good[i].text, &error));
    g_assert_no_error (error);
    back = hr_prop_get_string (&thing, row (good[i].name));
    g_assert_cmpstr (back, ==, good[i].back != NULL ? good[i].back : good[i].text);
    g_assert_false (hr_prop_is_default (&thing, row (good[i].name)));
  }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *before = hr_prop_get_string (&thing, row (bad[i].name));
    g_autofree char *after = NULL;

    g_test_message ("%s=%s", bad[i].name, bad[i].text);
    g_assert_false (hr_prop_set_string (&thing, row (bad[i].name), bad[i].text, &error));
    g_assert_error (error, HR_PARSE_ERROR, (gint)bad[i].code);
    if (bad[i].message != NULL)
      g_assert_cmpstr (error->message, ==, bad[i].message);
    g_assert_null (strchr (error->message, '\n'));
    after = hr_prop_get_string (&thing, row (bad[i].name));
    g_assert_cmpstr (before, ==, after);
  }
  hr_props_clear (&thing, thing_props);
}

typedef struct {
  gint64 all;
  gint64 low;
  guint64 wide;
  gint64 long_time;
  gdouble any;
} Wide;

/* the table's numbers are doubles; the ends of 64 bits must be reached all the same */
static void
test_ends (void)
{
  static const HrProp props[] = {
    HR_PROP_INT (Wide, all, (gdouble)G_MININT64, (gdouble)G_MAXINT64, 0, "All of them"),
    HR_PROP_INT (Wide, low, (gdouble)G_MININT64, 5, 0, "At most 5"),
    HR_PROP_UINT (Wide, wide, 0, (gdouble)G_MAXUINT64, (gdouble)G_MAXUINT64, "All of them"),
    HR_PROP_DURATION (Wide, long_time, 1, (gdouble)G_MAXINT64, (gdouble)G_MAXINT64,
                      "Nearly for ever"),
    HR_PROP_DOUBLE (Wide, any, -G_MAXDOUBLE, G_MAXDOUBLE, 0, "Any"),
    HR_PROP_END
  };
  static const struct {
    guint row;
    const char *text;
  } values[] = { { 0, "9223372036854775807" },
                 { 0, "-9223372036854775808" },
                 { 2, "18446744073709551615" },
                 { 2, "9223372036854775809" },
                 { 3, "9223372036854775807ns" } };
  Wide wide = { 0 };
  g_autofree char *a = NULL, *b = NULL, *c = NULL, *d = NULL;

  hr_props_init (&wide, props);
  g_assert_cmpuint (wide.wide, ==, G_MAXUINT64);
  g_assert_cmpint (wide.long_time, ==, G_MAXINT64);
  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    g_autofree char *back = NULL;

    g_assert_true (hr_prop_set_string (&wide, &props[values[i].row], values[i].text, NULL));
    back = hr_prop_get_string (&wide, &props[values[i].row]);
    g_assert_cmpstr (back, ==, values[i].text);
  }
  a = hr_prop_describe (&props[0]);
  b = hr_prop_describe (&props[1]);
  c = hr_prop_describe (&props[2]);
  d = hr_prop_describe (&props[4]);
  g_assert_cmpstr (a, ==, "a whole number");
  g_assert_cmpstr (b, ==, "a whole number, at most 5");
  g_assert_cmpstr (c, ==, "a whole number, at least 0");
  g_assert_cmpstr (d, ==, "a number");
}

static void
test_check (void)
{
  static const HrProp bad[] = {
    HR_PROP_UINT (Thing, count, 1, 64, 0, "Its default is below its range"),
    HR_PROP_UINT (Thing, count, 9, 1, 5, "Its range is empty"),
    HR_PROP_ENUM (Thing, colour, colours, 3, "Its default is none of its choices"),
    HR_PROP_ENUM (Thing, colour, NULL, 0, "It has no choices"),
    HR_PROP_STRV (Thing, keep, "a,,b", "Its default is no list"),
    HR_PROP_BOOL (Thing, flag, FALSE, ""),
    HR_PROP_STRING (Thing, mark, NULL, "It cannot be live", .flags = HR_PROP_LIVE),
    HR_PROP_STRING (Thing, mark, "x", "It is required and has a default",
                    .flags = HR_PROP_REQUIRED),
    HR_PROP_UINT (Thing, count, 0, 9, 0, "Numbers are never required", .flags = HR_PROP_REQUIRED),
    HR_PROP_UINT (Thing, count, 0, 9, 0, "What is automatic is live", .flags = HR_PROP_AUTO),
    HR_PROP_BOOL (Thing, flag, FALSE, "Only numbers are automatic",
                  .flags = HR_PROP_LIVE | HR_PROP_AUTO),
    HR_PROP_END
  };

  for (const HrProp *prop = thing_props; prop->field != NULL; prop++) {
    g_autoptr (GError) error = NULL;

    g_assert_true (hr_prop_check (prop, &error));
    g_assert_no_error (error);
  }
  for (const HrProp *prop = bad; prop->field != NULL; prop++) {
    g_autoptr (GError) error = NULL;

    g_test_message ("%s", prop->doc);
    g_assert_false (hr_prop_check (prop, &error));
    g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/prop/names", test_names);
  g_test_add_func ("/prop/defaults", test_defaults);
  g_test_add_func ("/prop/set", test_set);
  g_test_add_func ("/prop/ends", test_ends);
  g_test_add_func ("/prop/check", test_check);
  return g_test_run ();
}
