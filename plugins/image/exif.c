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

/* where the values of an integer tag are */
typedef struct {
  guint bytes; /* of one value */
  guint64 count;
  guint64 offset;
} Values;

static gboolean
find (const HrTiffDirectory *d, TiffTag tag, Values *values)
{
  guint entry_bytes = d->big ? 20 : 12, count_bytes = d->big ? 8 : 4;
  for (guint64 i = 0; i < d->n; i++) {
    gsize at = d->entries + i * entry_bytes;
    if (read_number (d, at, 2) != tag)
      continue;
    guint64 type = read_number (d, at + 2, 2), count = read_number (d, at + 4, count_bytes);
    guint bytes = 0;
    if (type == TYPE_BYTE)
      bytes = 1;
    else if (type == TYPE_SHORT)
      bytes = 2;
    else if (type == TYPE_LONG)
      bytes = 4;
    else if (type == TYPE_LONG8)
      bytes = 8;
    if (bytes == 0 || count == 0)
      return FALSE;
    gsize place = at + 4 + count_bytes;
    /* what does not fit into the entry is stored elsewhere */
    gboolean inside = count <= count_bytes / bytes;
    *values = (Values){ bytes, count, inside ? place : read_number (d, place, count_bytes) };
    return TRUE;
  }
  return FALSE;
}

guint64
hr_tiff_count (const HrTiffDirectory *d, TiffTag tag)
{
  Values values;
  return find (d, tag, &values) ? values.count : 0;
}

gboolean
hr_tiff_get (const HrTiffDirectory *d, TiffTag tag, guint64 index, guint64 *value)
{
  Values v;
  if (!find (d, tag, &v) || index >= v.count || v.offset > d->size
      || index >= (d->size - v.offset) / v.bytes)
    return FALSE;
  *value = read_number (d, v.offset + index * v.bytes, v.bytes);
  return TRUE;
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
      || !hr_tiff_get (&d, TIFF_TAG_ORIENTATION, 0, &value))
    return 1;
  return value >= 1 && value <= 8 ? value : 1;
}
