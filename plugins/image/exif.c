/* exif.c: tags of a TIFF directory, which is also what EXIF is */
#include "exif.h"
#include <string.h>

/* TIFF 6.0's types */
enum { TYPE_BYTE = 1, TYPE_SHORT = 3, TYPE_LONG = 4, TYPE_LONG8 = 16 };

static guint64
read_number (const HrTiffDirectory *d, gsize offset, guint bytes)
{
  guint64 value = 0;
  for (guint i = 0; i < bytes; i++)
    value |= (guint64)d->data[offset + i] << 8 * (d->big_endian ? bytes - 1 - i : i);
  return value;
}

HrTiffStatus
hr_tiff_open (const guint8 *data, gsize size, HrTiffDirectory *d)
{
  *d = (HrTiffDirectory){ .data = data, .size = size };
  if (size < 4)
    return HR_TIFF_CUT;
  if (memcmp (data, "MM", 2) == 0)
    d->big_endian = TRUE;
  else if (memcmp (data, "II", 2) != 0)
    return HR_TIFF_NOT_TIFF;
  guint64 version = read_number (d, 2, 2);
  if (version != 42 && version != 43)
    return HR_TIFF_NOT_TIFF;
  d->big = version == 43;
  if (size < (d->big ? 16 : 8))
    return HR_TIFF_CUT;
  guint64 at = d->big ? read_number (d, 8, 8) : read_number (d, 4, 4);
  guint count_bytes = d->big ? 8 : 2, entry_bytes = d->big ? 20 : 12;
  if (at > size || size - at < count_bytes)
    return HR_TIFF_CUT;
  d->n = read_number (d, at, count_bytes);
  d->entries = at + count_bytes;
  if (d->n > (size - d->entries) / entry_bytes)
    return HR_TIFF_CUT;
  return HR_TIFF_OK;
}

gboolean
hr_tiff_get (const HrTiffDirectory *d, TiffTag tag, guint64 *value)
{
  guint entry_bytes = d->big ? 20 : 12, count_bytes = d->big ? 8 : 4;
  for (guint64 i = 0; i < d->n; i++) {
    gsize at = d->entries + i * entry_bytes;
    if (read_number (d, at, 2) != tag)
      continue;
    guint64 type = read_number (d, at + 2, 2), count = read_number (d, at + 4, count_bytes);
    guint bytes = type == TYPE_BYTE    ? 1
                  : type == TYPE_SHORT ? 2
                  : type == TYPE_LONG  ? 4
                  : type == TYPE_LONG8 ? 8
                                       : 0;
    if (bytes == 0 || count == 0)
      return FALSE;
    gsize place = at + 4 + count_bytes;
    /* more than fits into the entry is stored elsewhere */
    if (count > count_bytes / bytes) {
      guint64 offset = read_number (d, place, count_bytes);
      if (offset > d->size || d->size - offset < bytes)
        return FALSE;
      place = offset;
    }
    *value = read_number (d, place, bytes);
    return TRUE;
  }
  return FALSE;
}

guint8
hr_exif_get_orientation (const guint8 *data, gsize size)
{
  HrTiffDirectory d;
  guint64 value;
  if (size >= 6 && memcmp (data, "Exif\0\0", 6) == 0) {
    data += 6;
    size -= 6;
  }
  if (hr_tiff_open (data, size, &d) != HR_TIFF_OK
      || !hr_tiff_get (&d, TIFF_TAG_ORIENTATION, &value))
    return 1;
  return value >= 1 && value <= 8 ? value : 1;
}
