/* wire-bytes.c */
#include "wire-bytes.h"
#include <stdarg.h>
#include <string.h>
#include "hr-error.h"

/* ---- writing ---- */

void
hr_wire_put_u8 (GByteArray *into, guint8 value)
{
  g_byte_array_append (into, &value, 1);
}

void
hr_wire_put_u16 (GByteArray *into, guint16 value)
{
  value = GUINT16_TO_LE (value);
  g_byte_array_append (into, (const guint8 *)&value, sizeof value);
}

void
hr_wire_put_u32 (GByteArray *into, guint32 value)
{
  value = GUINT32_TO_LE (value);
  g_byte_array_append (into, (const guint8 *)&value, sizeof value);
}

void
hr_wire_put_u64 (GByteArray *into, guint64 value)
{
  value = GUINT64_TO_LE (value);
  g_byte_array_append (into, (const guint8 *)&value, sizeof value);
}

void
hr_wire_put_i64 (GByteArray *into, gint64 value)
{
  hr_wire_put_u64 (into, (guint64)value);
}

void
hr_wire_put_text (GByteArray *into, const char *text)
{
  gsize length = text != NULL ? strlen (text) : 0;

  /* none that a description could hold is as long: the writer finds out by its size */
  hr_wire_put_u32 (into, text != NULL ? (guint32)MIN (length, G_MAXUINT32 - 1) : G_MAXUINT32);
  if (length > 0)
    g_byte_array_append (into, (const guint8 *)text, (guint)length);
}

/* ---- reading ---- */

void
hr_wire_fail (HrWireBytes *from, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list args;

  if (from->error != NULL)
    return;
  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (&from->error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
               "byte %" G_GSIZE_FORMAT " of the message's description: %s", from->at, what);
}

/* NULL: there are not as many; nothing is read any more */
static const guint8 *
take (HrWireBytes *from, gsize size, const char *what)
{
  const guint8 *bytes = from->bytes + from->at;

  if (from->error != NULL)
    return NULL;
  if (size > from->size - from->at) {
    hr_wire_fail (from, "%s takes %" G_GSIZE_FORMAT " bytes, %" G_GSIZE_FORMAT " are left", what,
                  size, from->size - from->at);
    return NULL;
  }
  from->at += size;
  return bytes;
}

/* little-endian, of so many bytes */
static guint64
get_number (HrWireBytes *from, guint size)
{
  const guint8 *bytes = take (from, size, "a number");
  guint64 value = 0;

  if (bytes != NULL)
    memcpy (&value, bytes, size);
  return GUINT64_FROM_LE (value);
}

guint8
hr_wire_get_u8 (HrWireBytes *from)
{
  return (guint8)get_number (from, 1);
}

guint16
hr_wire_get_u16 (HrWireBytes *from)
{
  return (guint16)get_number (from, 2);
}

guint32
hr_wire_get_u32 (HrWireBytes *from)
{
  return (guint32)get_number (from, 4);
}

guint64
hr_wire_get_u64 (HrWireBytes *from)
{
  return get_number (from, 8);
}

gint64
hr_wire_get_i64 (HrWireBytes *from)
{
  return (gint64)hr_wire_get_u64 (from);
}

guint
hr_wire_get_count (HrWireBytes *from, gsize least, const char *of)
{
  guint32 count = hr_wire_get_u32 (from);

  if (from->error != NULL)
    return 0;
  if (count > (from->size - from->at) / least) {
    hr_wire_fail (from,
                  "%u %s take at least %" G_GSIZE_FORMAT " bytes each, %" G_GSIZE_FORMAT
                  " bytes are left",
                  count, of, least, from->size - from->at);
    return 0;
  }
  return count;
}

char *
hr_wire_get_text (HrWireBytes *from)
{
  guint32 length = hr_wire_get_u32 (from);
  const guint8 *bytes;

  if (from->error != NULL || length == G_MAXUINT32)
    return NULL;
  bytes = take (from, length, "a text");
  if (bytes == NULL)
    return NULL;
  if (memchr (bytes, '\0', length) != NULL) {
    hr_wire_fail (from, "the text of %u bytes before it has a NUL inside", length);
    return NULL;
  }
  return g_strndup ((const char *)bytes, length);
}

gboolean
hr_wire_finish (HrWireBytes *from, GError **error)
{
  if (from->error == NULL && from->at < from->size)
    hr_wire_fail (from, "should end here, %" G_GSIZE_FORMAT " bytes are left",
                  from->size - from->at);
  if (from->error == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&from->error));
  return FALSE;
}
