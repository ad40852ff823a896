/* hr-value.h: numbers, sizes and durations as text. No locale, no rounding. Private to the core. */
#pragma once
#include <glib.h>

typedef enum {
  HR_VALUE_OK,
  HR_VALUE_BAD,  /* no value of this type; *why says why */
  HR_VALUE_RANGE /* a value, but no 64 bits hold it */
} HrValueStatus;

/* Each fills *value when it returns HR_VALUE_OK, and *why (transfer full) when HR_VALUE_BAD. */

/* true false yes no on off 1 0, in any case */
HrValueStatus hr_value_parse_bool (const char *text, gboolean *value, char **why);
HrValueStatus hr_value_parse_int (const char *text, gint64 *value, char **why);
/* "-1" is HR_VALUE_RANGE */
HrValueStatus hr_value_parse_uint (const char *text, guint64 *value, char **why);
/* finite ones only */
HrValueStatus hr_value_parse_double (const char *text, double *value, char **why);
/* bytes: 512 64KiB 1.5GiB 10MB; KiB = 1024, kB = 1000. Fractions must come out whole. */
HrValueStatus hr_value_parse_size (const char *text, guint64 *value, char **why);
/* nanoseconds: 100ns 15us 200ms 1.5s 5m 2h 1d; only 0 may stand without a unit */
HrValueStatus hr_value_parse_duration (const char *text, gint64 *value, char **why);

/* the shortest text that parses back to the same value; (transfer full) */
char *hr_value_format_double (double value);
char *hr_value_format_size (guint64 value);
char *hr_value_format_duration (gint64 value);

/* "a,b,c": a backslash makes the next character ordinary, blanks around an item are dropped, the
 * empty text is the empty list, an empty item is HR_VALUE_BAD */
HrValueStatus hr_value_parse_strv (const char *text, char ***value, char **why);
/* NULL is the empty list; (transfer full) */
char *hr_value_format_strv (const char *const *value);

/* "10": *count, "1%" or "0.5%": *rate = 0.01, 0.005; the other one is left at its "no limit":
 * G_MAXUINT64 and 1. The text of max-errors. */
HrValueStatus hr_value_parse_limit (const char *text, guint64 *count, double *rate, char **why);
