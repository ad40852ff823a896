/* data-uri.c: links that hold their bytes themselves. RFC 2397, RFC 4648 */
#include "data-uri.h"
#include "hr-error.h"
#include <string.h>

#define SCHEME "data:"

gboolean
hr_data_uri_is (const char *link)
{
  return g_ascii_strncasecmp (link, SCHEME, strlen (SCHEME)) == 0;
}

/* behind the comma; NULL if there is none */
static const char *
get_payload (const char *link, gboolean *base64)
{
  static const char mark[] = ";base64";
  const char *comma = strchr (link, ',');
  gsize length = strlen (mark);

  if (!comma)
    return NULL;
  *base64 = comma - link >= (gssize)(strlen (SCHEME) + length)
            && g_ascii_strncasecmp (comma - length, mark, length) == 0;
  return comma + 1;
}

gsize
hr_data_uri_max_size (const char *link)
{
  gboolean base64 = FALSE;
  const char *payload = get_payload (link, &base64);

  if (!payload)
    return 0;
  return base64 ? strlen (payload) / 4 * 3 + 3 : strlen (payload);
}

/* the next byte of the payload, %XX undone; -1 at the end */
static int
next_byte (const char **at)
{
  const char *p = *at;

  if (!*p)
    return -1;
  if (*p == '%' && g_ascii_isxdigit (p[1]) && g_ascii_isxdigit (p[2])) {
    *at += 3;
    return g_ascii_xdigit_value (p[1]) << 4 | g_ascii_xdigit_value (p[2]);
  }
  *at += 1;
  return (guchar)*p;
}

static int
base64_value (int c)
{
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static gssize
decode_base64 (const char *payload, guint8 *into, GError **error)
{
  guint32 bits = 0;
  guint n_chars = 0, n_padding = 0;
  gsize n = 0;

  for (int c = next_byte (&payload); c >= 0; c = next_byte (&payload)) {
    int value = base64_value (c);

    if (g_ascii_isspace (c))
      continue;
    if (c == '=') {
      n_padding++;
      continue;
    }
    if (value < 0 || n_padding > 0) {
      hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE,
                         "the data: link is no base64 at its character %u", n_chars + n_padding);
      return -1;
    }
    bits = bits << 6 | value;
    if (++n_chars % 4 == 0) {
      into[n++] = bits >> 16;
      into[n++] = bits >> 8;
      into[n++] = bits;
    }
  }
  if (n_chars % 4 == 1 || (n_padding > 0 && (n_chars + n_padding) % 4 != 0)) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE,
                       "the data: link ends early: %u characters of base64", n_chars);
    return -1;
  }
  if (n_chars % 4 >= 2)
    into[n++] = bits >> (n_chars % 4 == 2 ? 4 : 10);
  if (n_chars % 4 == 3)
    into[n++] = bits >> 2;
  return n;
}

gssize
hr_data_uri_decode (const char *link, guint8 *into, GError **error)
{
  gboolean base64 = FALSE;
  const char *payload = get_payload (link, &base64);
  gsize n = 0;

  if (!payload) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE, "the data: link has no comma");
    return -1;
  }
  if (base64)
    return decode_base64 (payload, into, error);
  for (int c = next_byte (&payload); c >= 0; c = next_byte (&payload))
    into[n++] = c;
  return n;
}
