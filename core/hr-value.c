/* hr-value.c: numbers, sizes and durations as text */
#include "hr-value.h"
#include <math.h>
#include <string.h>

typedef struct {
  const char *name;
  guint64 factor;
} Unit;

static const Unit size_units[] = {
  { "", 1 },
  { "B", 1 },
  { "KiB", G_GUINT64_CONSTANT (1) << 10 },
  { "MiB", G_GUINT64_CONSTANT (1) << 20 },
  { "GiB", G_GUINT64_CONSTANT (1) << 30 },
  { "TiB", G_GUINT64_CONSTANT (1) << 40 },
  { "PiB", G_GUINT64_CONSTANT (1) << 50 },
  { "kB", 1000 },
  { "KB", 1000 },
  { "MB", 1000000 },
  { "GB", 1000000000 },
  { "TB", G_GUINT64_CONSTANT (1000000000000) },
  { "PB", G_GUINT64_CONSTANT (1000000000000000) },
};

static const Unit duration_units[] = {
  { "ns", 1 },
  { "us", 1000 },
  { "ms", 1000000 },
  { "s", 1000000000 },
  { "m", G_GUINT64_CONSTANT (60000000000) },
  { "h", G_GUINT64_CONSTANT (3600000000000) },
  { "d", G_GUINT64_CONSTANT (86400000000000) },
};

static HrValueStatus
bad (char **why, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  if (why != NULL)
    *why = g_strdup_vprintf (format, args);
  va_end (args);
  return HR_VALUE_BAD;
}

HrValueStatus
hr_value_parse_bool (const char *text, gboolean *value, char **why)
{
  static const char *const yes[] = { "true", "yes", "on", "1" };
  static const char *const no[] = { "false", "no", "off", "0" };

  for (guint i = 0; i < G_N_ELEMENTS (yes); i++) {
    if (g_ascii_strcasecmp (text, yes[i]) == 0) {
      *value = TRUE;
      return HR_VALUE_OK;
    }
    if (g_ascii_strcasecmp (text, no[i]) == 0) {
      *value = FALSE;
      return HR_VALUE_OK;
    }
  }
  return bad (why, "neither true nor false");
}

/* digits up to the first other character; FALSE if 64 bits do not hold them */
static gboolean
read_digits (const char **text, guint64 *value)
{
  gboolean fits = TRUE;

  *value = 0;
  for (; g_ascii_isdigit (**text); (*text)++)
    fits = fits && !__builtin_mul_overflow (*value, (guint64)10, value)
           && !__builtin_add_overflow (*value, (guint64)(**text - '0'), value);
  return fits;
}

static gboolean
apply_sign (gboolean negative, guint64 magnitude, gint64 *value)
{
  if (magnitude > (guint64)G_MAXINT64 + negative)
    return FALSE;
  *value = negative ? (gint64)(0 - magnitude) : (gint64)magnitude;
  return TRUE;
}

HrValueStatus
hr_value_parse_int (const char *text, gint64 *value, char **why)
{
  gboolean negative = *text == '-';
  guint64 magnitude;
  gboolean fits;

  if (*text == '-' || *text == '+')
    text++;
  if (!g_ascii_isdigit (*text))
    return bad (why, "not a whole number");
  fits = read_digits (&text, &magnitude);
  if (*text != '\0')
    return bad (why, "not a whole number");
  return fits && apply_sign (negative, magnitude, value) ? HR_VALUE_OK : HR_VALUE_RANGE;
}

HrValueStatus
hr_value_parse_uint (const char *text, guint64 *value, char **why)
{
  gboolean negative = *text == '-';
  gboolean fits;

  if (*text == '-' || *text == '+')
    text++;
  if (!g_ascii_isdigit (*text))
    return bad (why, "not a whole number");
  fits = read_digits (&text, value);
  if (*text != '\0')
    return bad (why, "not a whole number");
  return fits && !(negative && *value != 0) ? HR_VALUE_OK : HR_VALUE_RANGE;
}

HrValueStatus
hr_value_parse_double (const char *text, double *value, char **why)
{
  const char *p = text;
  gboolean digits = FALSE;

  /* g_ascii_strtod() also takes blanks, hexadecimal, "inf" and "nan" */
  if (*p == '-' || *p == '+')
    p++;
  for (; g_ascii_isdigit (*p); p++)
    digits = TRUE;
  if (*p == '.')
    for (p++; g_ascii_isdigit (*p); p++)
      digits = TRUE;
  if (digits && (*p == 'e' || *p == 'E')) {
    p++;
    if (*p == '-' || *p == '+')
      p++;
    digits = g_ascii_isdigit (*p);
    while (g_ascii_isdigit (*p))
      p++;
  }
  if (!digits || *p != '\0')
    return bad (why, "not a number");
  *value = g_ascii_strtod (text, NULL);
  return isfinite (*value) ? HR_VALUE_OK : HR_VALUE_RANGE;
}

/* Splits "1.5GiB" in 1, 5 / 10 and "GiB". */
static gboolean
read_decimal (const char **text, guint64 *whole, gboolean *fits, guint64 *fraction,
              guint64 *denominator)
{
  const char *start = *text;
  const char *end;

  *fits = read_digits (text, whole);
  *fraction = 0;
  *denominator = 1;
  if (*text == start)
    return FALSE;
  if (**text != '.')
    return TRUE;
  start = ++*text;
  while (g_ascii_isdigit (**text))
    (*text)++;
  if (*text == start)
    return FALSE;
  for (end = *text; end > start && end[-1] == '0';)
    end--;
  /* 18 digits are all that a 64-bit denominator holds, and more than anybody writes */
  if (end - start > 18)
    *denominator = 0;
  else
    for (; start < end; start++) {
      *fraction = *fraction * 10 + (guint64)(*start - '0');
      *denominator *= 10;
    }
  return TRUE;
}

static const Unit *
find_unit (const Unit *units, guint n, const char *name, gboolean any_case)
{
  for (guint i = 0; i < n; i++)
    if (any_case ? g_ascii_strcasecmp (units[i].name, name) == 0
                 : g_str_equal (units[i].name, name))
      return &units[i];
  return NULL;
}

/* whole + fraction / denominator, times the unit */
static HrValueStatus
scale (guint64 whole, gboolean fits, guint64 fraction, guint64 denominator, guint64 factor,
       const char *what, guint64 *value, char **why)
{
  unsigned __int128 part = (unsigned __int128)fraction * factor;

  if (denominator == 0 || part % denominator != 0)
    return bad (why, "not a whole number of %s", what);
  if (!fits || __builtin_mul_overflow (whole, factor, value)
      || __builtin_add_overflow (*value, (guint64)(part / denominator), value))
    return HR_VALUE_RANGE;
  return HR_VALUE_OK;
}

HrValueStatus
hr_value_parse_size (const char *text, guint64 *value, char **why)
{
  gboolean negative = *text == '-';
  guint64 whole, fraction, denominator;
  gboolean fits;
  const Unit *unit;
  HrValueStatus status;

  if (*text == '-' || *text == '+')
    text++;
  if (!read_decimal (&text, &whole, &fits, &fraction, &denominator))
    return bad (why, "not a size");
  unit = find_unit (size_units, G_N_ELEMENTS (size_units), text, FALSE);
  if (unit == NULL) {
    unit = find_unit (size_units, G_N_ELEMENTS (size_units), text, TRUE);
    if (unit != NULL)
      return bad (why, "\"%s\" is no unit of size, \"%s\" is", text, unit->name);
    if (strchr ("KMGTPkmgtp", *text) != NULL
        && (text[1] == '\0' || g_ascii_strcasecmp (text + 1, "i") == 0))
      return bad (why, "\"%s\" could be %ciB (powers of 1024) or %cB (powers of 1000)", text,
                  g_ascii_toupper (*text), g_ascii_toupper (*text));
    return bad (why, "\"%s\" is no unit of size", text);
  }
  status = scale (whole, fits, fraction, denominator, unit->factor, "bytes", value, why);
  if (status == HR_VALUE_OK && negative && *value != 0)
    status = HR_VALUE_RANGE;
  return status;
}

HrValueStatus
hr_value_parse_duration (const char *text, gint64 *value, char **why)
{
  gboolean negative = *text == '-';
  guint64 whole, fraction, denominator, magnitude = 0;
  gboolean fits;
  const Unit *unit;
  HrValueStatus status;

  if (*text == '-' || *text == '+')
    text++;
  if (!read_decimal (&text, &whole, &fits, &fraction, &denominator))
    return bad (why, "not a duration");
  if (*text == '\0') {
    if (whole != 0 || fraction != 0 || !fits)
      return bad (why, "a duration needs a unit: ns us ms s m h d");
    *value = 0;
    return HR_VALUE_OK;
  }
  unit = find_unit (duration_units, G_N_ELEMENTS (duration_units), text, FALSE);
  if (unit == NULL)
    return bad (why, "\"%s\" is no unit of time: ns us ms s m h d", text);
  status = scale (whole, fits, fraction, denominator, unit->factor, "nanoseconds", &magnitude, why);
  if (status == HR_VALUE_OK && !apply_sign (negative, magnitude, value))
    status = HR_VALUE_RANGE;
  return status;
}

char *
hr_value_format_double (double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  /* 15 digits are enough for what people write, 17 for every double */
  for (int digits = 15;; digits++) {
    char format[8] = { '%', '.', '1', (char)('0' + digits - 10), 'g', '\0' };

    g_ascii_formatd (text, sizeof text, format, value);
    if (digits == 17 || g_ascii_strtod (text, NULL) == value)
      return g_strdup (text);
  }
}

char *
hr_value_format_size (guint64 value)
{
  static const char *const shown[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "MB", "GB", "TB", "PB" };
  char *best = g_strdup_printf ("%" G_GUINT64_FORMAT, value);

  for (guint i = 0; value != 0 && i < G_N_ELEMENTS (shown); i++) {
    const Unit *unit = find_unit (size_units, G_N_ELEMENTS (size_units), shown[i], FALSE);
    g_autofree char *text = NULL;

    if (value % unit->factor != 0)
      continue;
    text = g_strdup_printf ("%" G_GUINT64_FORMAT "%s", value / unit->factor, unit->name);
    /* at equal length 10KiB goes before 10240, and 10240 before a decimal unit */
    if (strlen (text) < strlen (best) || (i < 5 && strlen (text) == strlen (best))) {
      g_free (best);
      best = g_steal_pointer (&text);
    }
  }
  return best;
}

char *
hr_value_format_duration (gint64 value)
{
  guint64 magnitude = value < 0 ? 0 - (guint64)value : (guint64)value;

  if (value == 0)
    return g_strdup ("0");
  for (guint i = G_N_ELEMENTS (duration_units) - 1;; i--)
    if (magnitude % duration_units[i].factor == 0)
      return g_strdup_printf ("%s%" G_GUINT64_FORMAT "%s", value < 0 ? "-" : "",
                              magnitude / duration_units[i].factor, duration_units[i].name);
}

HrValueStatus
hr_value_parse_strv (const char *text, char ***value, char **why)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) item = g_string_new (NULL);
  gsize kept = 0; /* length up to the last character that is not a blank to drop */

  if (*text == '\0') {
    *value = g_new0 (char *, 1);
    return HR_VALUE_OK;
  }
  for (;; text++) {
    if (*text == '\0' || *text == ',') {
      g_string_truncate (item, kept);
      if (item->len == 0)
        return bad (why, "an item of the list is empty");
      g_ptr_array_add (items, g_strdup (item->str));
      g_string_truncate (item, 0);
      kept = 0;
      if (*text == '\0')
        break;
    } else if (g_ascii_isspace (*text)) {
      if (item->len > 0)
        g_string_append_c (item, *text);
    } else {
      if (*text == '\\' && *++text == '\0')
        return bad (why, "a backslash at the end of the list");
      g_string_append_c (item, *text);
      kept = item->len;
    }
  }
  g_ptr_array_add (items, NULL);
  *value = (char **)g_ptr_array_free (g_steal_pointer (&items), FALSE);
  return HR_VALUE_OK;
}

char *
hr_value_format_strv (const char *const *value)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; value != NULL && value[i] != NULL; i++) {
    gsize length = strlen (value[i]);

    if (i > 0)
      g_string_append_c (text, ',');
    for (gsize k = 0; k < length; k++) {
      char c = value[i][k];

      if (c == ',' || c == '\\' || ((k == 0 || k == length - 1) && g_ascii_isspace (c)))
        g_string_append_c (text, '\\');
      g_string_append_c (text, c);
    }
  }
  return g_string_free (text, FALSE);
}

HrValueStatus
hr_value_parse_limit (const char *text, guint64 *count, double *rate, char **why)
{
  gsize length = strlen (text);
  guint64 number;
  double percent;

  *count = G_MAXUINT64;
  *rate = 1;
  if (length > 0 && text[length - 1] == '%') {
    g_autofree char *head = g_strndup (text, length - 1);

    if (hr_value_parse_double (head, &percent, NULL) != HR_VALUE_OK)
      return bad (why, "neither a count nor a percentage");
    if (percent < 0 || percent > 100)
      return HR_VALUE_RANGE;
    *rate = percent / 100;
    return HR_VALUE_OK;
  }
  switch (hr_value_parse_uint (text, &number, NULL)) {
  case HR_VALUE_OK:
    *count = number;
    return HR_VALUE_OK;
  case HR_VALUE_RANGE:
    return HR_VALUE_RANGE;
  default:
    return bad (why, "neither a count nor a percentage");
  }
}
