/* next-text.h: texts in a file, each after its size as 4 bytes, little endian */
#pragma once
#include <glib.h>
#include <string.h>

/* FALSE at the end */
static inline gboolean
next_text (const char **p, const char *end, const char **text, guint32 *size)
{
  if (end - *p < 4)
    return FALSE;
  memcpy (size, *p, 4);
  *size = GUINT32_FROM_LE (*size);
  *text = *p + 4;
  *p += 4 + (gsize)*size;
  return *p <= end;
}
