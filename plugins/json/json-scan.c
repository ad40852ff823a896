/* json-scan.c: a strict check of one line of JSON, which notes where its values are */
#include "json-scan.h"
#include "hr-error.h"
#include <stdarg.h>
#include <string.h>

/* JSON of strangers is checked here before anybody else looks at it: json-glib 1.6 cuts texts at
 * \u0000, takes the first of two objects on a line, accepts comments and half surrogate pairs, and
 * overflows the stack on deep nesting. No recursion; one pass. */

typedef struct {
  HrJson *json;
  const char *text, *end;
  const char *wrong; /* where the error is */
  GError **error;
} Scan;

/* length of the UTF-8 sequence at @p, 0 if it is none: overlong, a surrogate, beyond U+10FFFF, cut
 * short (RFC 3629, section 4) */
static guint
utf8_length (const char *p, const char *end)
{
  const guchar *s = (const guchar *)p;
  guint n = s[0] < 0x80   ? 1
            : s[0] < 0xc2 ? 0
            : s[0] < 0xe0 ? 2
            : s[0] < 0xf0 ? 3
            : s[0] < 0xf5 ? 4
                          : 0;

  if (n == 0 || (gsize)(end - p) < n)
    return 0;
  for (guint i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80)
      return 0;
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)
      || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
    return 0;
  return n;
}

G_GNUC_PRINTF (4, 5)
static gboolean
fail (Scan *scan, const char *at, HrDataError code, const char *format, ...)
{
  va_list args;
  g_autofree char *why = NULL;

  scan->wrong = at;
  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  hr_set_data_error (scan->error, code, "column %" G_GSIZE_FORMAT ": %s",
                     (gsize)(at - scan->text) + 1, why);
  return FALSE;
}

static gboolean
fail_encoding (Scan *scan, const char *at)
{
  return fail (scan, at, HR_DATA_ERROR_BAD_ENCODING, "byte 0x%02x begins no valid UTF-8 character",
               (guchar)*at);
}

/* something else than @expected stands at @at */
static gboolean
fail_expected (Scan *scan, const char *at, const char *expected)
{
  guchar c = at < scan->end ? (guchar)*at : 0;

  if (at == scan->end)
    return fail (scan, at, HR_DATA_ERROR_BAD_JSON, "expected %s, but the line ends", expected);
  if (c < 0x20 || c == 0x7f)
    return fail (scan, at, HR_DATA_ERROR_BAD_JSON, "expected %s, found control character 0x%02x",
                 expected, c);
  if (c < 0x80)
    return fail (scan, at, HR_DATA_ERROR_BAD_JSON, "expected %s, found '%c'", expected, c);
  if (utf8_length (at, scan->end) == 0)
    return fail_encoding (scan, at);
  return fail (scan, at, HR_DATA_ERROR_BAD_JSON, "expected %s, found U+%04X", expected,
               g_utf8_get_char (at));
}

static HrJsonValue *
add (Scan *scan, HrJsonType type, const char *start)
{
  HrJson *json = scan->json;
  HrJsonValue *value;

  if (json->n_values == json->n_room) {
    json->n_room = MAX (64, json->n_room * 2);
    json->values = g_renew (HrJsonValue, json->values, json->n_room);
  }
  value = &json->values[json->n_values++];
  value->start = value->end = start - scan->text;
  value->next = json->n_values;
  value->type = type;
  value->flags = 0;
  return value;
}

static const char *
skip_space (const char *p, const char *end)
{
  while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
    p++;
  return p;
}

typedef gint8 Bytes __attribute__ ((vector_size (16)));
typedef guint64 Halves __attribute__ ((vector_size (16)));

/* bytes that end a run of plain ones: quote, backslash, control characters, and, being negative,
 * all that is not ASCII */
static inline Bytes
special (const char *p)
{
  Bytes b;

  memcpy (&b, p, sizeof b);
  return (b < 0x20) | (b == '"') | (b == '\\');
}

/* the first byte of a string's content that needs a look; most of all bytes are passed here */
static inline const char *
skip_plain (const char *p, const char *end)
{
  while (end - p >= 32) {
    Halves any = (Halves)(special (p) | special (p + 16));

    if ((any[0] | any[1]) != 0)
      break;
    p += 32;
  }
  while (end - p >= 8) {
    guint64 w, quote, slash, found;

    memcpy (&w, p, sizeof w);
    w = GUINT64_FROM_LE (w);
    quote = w ^ G_GUINT64_CONSTANT (0x2222222222222222);
    slash = w ^ G_GUINT64_CONSTANT (0x5c5c5c5c5c5c5c5c);
    /* borrows reach only bytes above a find, so the lowest bit set is right */
    found = ((w - G_GUINT64_CONSTANT (0x2020202020202020)) | w
             | ((quote - G_GUINT64_CONSTANT (0x0101010101010101)) & ~quote)
             | ((slash - G_GUINT64_CONSTANT (0x0101010101010101)) & ~slash))
            & G_GUINT64_CONSTANT (0x8080808080808080);
    if (found != 0)
      return p + __builtin_ctzll (found) / 8;
    p += 8;
  }
  while (p < end && *p != '"' && *p != '\\' && (gint8)*p >= 0x20)
    p++;
  return p;
}

/* text in other scripts comes in runs: the first byte that is ASCII, or no UTF-8 */
static inline const char *
skip_utf8 (const char *p, const char *end)
{
  while (p < end && (guchar)*p >= 0x80) {
    const guchar *s = (const guchar *)p;
    guint n;

    /* most of it: three bytes, of which the first tells all about the second */
    if (end - p >= 3 && s[0] > 0xe0 && s[0] < 0xf0 && s[0] != 0xed && (s[1] & s[2]) >> 6 == 2
        && (s[1] | s[2]) >> 6 == 2) {
      p += 3;
      continue;
    }
    n = utf8_length (p, end);
    if (n == 0)
      break;
    p += n;
  }
  return p;
}

/* the number in the four hex digits at @p, -1 if they are none */
static gint
hex4 (const char *p, const char *end)
{
  gint value = 0;

  if (end - p < 4)
    return -1;
  for (guint i = 0; i < 4; i++) {
    gint digit = g_ascii_xdigit_value (p[i]);

    if (digit < 0)
      return -1;
    value = value << 4 | digit;
  }
  return value;
}

/* *@at is a backslash; it is moved behind the escape */
static gboolean
scan_escape (Scan *scan, const char **at, guint8 *flags)
{
  const char *p = *at;
  gint unit;

  if (p + 1 == scan->end)
    return fail_expected (scan, p + 1, "the rest of an escape");
  if (p[1] != 'u') {
    if (p[1] == '\0' || strchr ("\"\\/bfnrt", p[1]) == NULL)
      return fail_expected (scan, p + 1, "one of \"\\/bfnrtu after a backslash");
    *at = p + 2;
    return TRUE;
  }
  unit = hex4 (p + 2, scan->end);
  if (unit < 0)
    return fail (scan, p, HR_DATA_ERROR_BAD_JSON, "\\u needs four hexadecimal digits");
  if (unit == 0)
    *flags |= HR_JSON_NUL;
  *at = p + 6;
  if (unit < 0xd800 || unit > 0xdfff)
    return TRUE;
  if (unit < 0xdc00 && scan->end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
    gint low = hex4 (p + 8, scan->end);

    if (low >= 0xdc00 && low <= 0xdfff) {
      *at = p + 12;
      return TRUE;
    }
  }
  return fail (scan, p, HR_DATA_ERROR_BAD_ENCODING, "\\u%04x is half of a surrogate pair", unit);
}

/* *@at is the opening quote; it is moved behind the closing one */
static gboolean
scan_string (Scan *scan, const char **at)
{
  const char *p = *at + 1, *end = scan->end;
  HrJsonValue *value = add (scan, HR_JSON_STRING, p);

  for (;;) {
    p = skip_plain (p, end);
    if (p == end)
      return fail_expected (scan, p, "the closing quote of a string");
    if (*p == '"')
      break;
    if (*p == '\\') {
      value->flags |= HR_JSON_ESCAPED;
      if (!scan_escape (scan, &p, &value->flags))
        return FALSE;
    } else if ((guchar)*p < 0x20) {
      return fail (scan, p, HR_DATA_ERROR_BAD_JSON,
                   "control character 0x%02x in a string; it must be written \\u%04x", *p, *p);
    } else {
      p = skip_utf8 (p, end);
      if (p < end && (guchar)*p >= 0x80)
        return fail_encoding (scan, p);
    }
  }
  value->end = p - scan->text;
  *at = p + 1;
  return TRUE;
}

static const char *
skip_digits (const char *p, const char *end)
{
  while (p < end && g_ascii_isdigit (*p))
    p++;
  return p;
}

static gboolean
scan_number (Scan *scan, const char **at)
{
  const char *p = *at, *end = scan->end;
  HrJsonValue *value = add (scan, HR_JSON_NUMBER, p);

  if (*p == '-')
    p++;
  if (p == end || !g_ascii_isdigit (*p))
    return fail_expected (scan, p, "a digit");
  if (*p == '0' && p + 1 < end && g_ascii_isdigit (p[1]))
    return fail (scan, p, HR_DATA_ERROR_BAD_JSON, "a number with a leading zero");
  p = skip_digits (p, end);
  if (p < end && *p == '.') {
    p++;
    if (p == end || !g_ascii_isdigit (*p))
      return fail_expected (scan, p, "a digit after the point");
    p = skip_digits (p, end);
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '+' || *p == '-'))
      p++;
    if (p == end || !g_ascii_isdigit (*p))
      return fail_expected (scan, p, "a digit of the exponent");
    p = skip_digits (p, end);
  }
  value->end = p - scan->text;
  *at = p;
  return TRUE;
}

static gboolean
scan_word (Scan *scan, const char **at)
{
  static const struct {
    const char *word;
    HrJsonType type;
  } words[] = { { "null", HR_JSON_NULL }, { "false", HR_JSON_FALSE }, { "true", HR_JSON_TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++) {
    gsize n = strlen (words[i].word);

    if ((gsize)(scan->end - *at) >= n && memcmp (*at, words[i].word, n) == 0) {
      add (scan, words[i].type, *at)->end += n;
      *at += n;
      return TRUE;
    }
  }
  return fail_expected (scan, *at, "a value");
}

/* a name and its colon */
static gboolean
scan_name (Scan *scan, const char **at)
{
  if (*at == scan->end || **at != '"')
    return fail_expected (scan, *at, "a name in double quotes");
  if (!scan_string (scan, at))
    return FALSE;
  *at = skip_space (*at, scan->end);
  if (*at == scan->end || **at != ':')
    return fail_expected (scan, *at, "':'");
  *at = skip_space (*at + 1, scan->end);
  return TRUE;
}

static gboolean
scan_line (Scan *scan, const char *p, guint max_depth)
{
  const char *end = scan->end;
  guint32 open[HR_JSON_MAX_DEPTH]; /* indices of the values we are inside of */
  guint depth = 0;

  for (;;) {
    /* a value begins here */
    char c = p < end ? *p : '\0';

    if (c == '{' || c == '[') {
      if (depth == max_depth)
        return fail (scan, p, HR_DATA_ERROR_BAD_JSON, "nested deeper than max-depth=%u", max_depth);
      open[depth++] = scan->json->n_values;
      add (scan, c == '{' ? HR_JSON_OBJECT : HR_JSON_ARRAY, p);
      p = skip_space (p + 1, end);
      if (p == end || *p != (c == '{' ? '}' : ']')) {
        if (c == '{' && !scan_name (scan, &p))
          return FALSE;
        continue;
      }
    } else if (c == '"') {
      if (!scan_string (scan, &p))
        return FALSE;
    } else if (c == '-' || g_ascii_isdigit (c)) {
      if (!scan_number (scan, &p))
        return FALSE;
    } else if (!scan_word (scan, &p)) {
      return FALSE;
    }

    /* and has ended: close what ends with it, up to the next comma */
    for (;;) {
      HrJsonValue *in = depth > 0 ? &scan->json->values[open[depth - 1]] : NULL;
      gboolean is_object = in != NULL && in->type == HR_JSON_OBJECT;

      p = skip_space (p, end);
      if (in == NULL)
        return p == end || fail_expected (scan, p, "the end of the line after the value");
      if (p < end && *p == ',') {
        p = skip_space (p + 1, end);
        if (is_object && !scan_name (scan, &p))
          return FALSE;
        break;
      }
      if (p == end || *p != (is_object ? '}' : ']'))
        return fail_expected (scan, p, is_object ? "',' or '}'" : "',' or ']'");
      p++;
      in->end = p - scan->text;
      in->next = scan->json->n_values;
      depth--;
    }
  }
}

static const char *
skip_mark (const char *text, gsize size)
{
  return size >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
}

gboolean
hr_json_scan (HrJson *json, const char *text, gsize size, guint max_depth, gsize *offset,
              GError **error)
{
  Scan scan = { json, text, text + size, text, error };
  gboolean good;

  g_return_val_if_fail (size < G_MAXUINT32 && max_depth <= HR_JSON_MAX_DEPTH, FALSE);
  json->text = text;
  json->n_values = 0;
  good = scan_line (&scan, skip_space (skip_mark (text, size), scan.end), max_depth);
  if (!good) {
    json->n_values = 0;
    if (offset != NULL)
      *offset = scan.wrong - text;
  }
  return good;
}

void
hr_json_clear (HrJson *json)
{
  g_free (json->values);
  *json = (HrJson){ NULL, NULL, 0, 0 };
}
