/* image-end.c: does a file end before its first picture does? */
#include "image-end.h"
#include <string.h>
#include "exif.h"

static gboolean
png_is_cut (const guint8 *data, gsize size)
{
  for (gsize at = 8; at < size && size - at >= 12;) {
    guint32 length =
        (guint32)data[at] << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3];
    if (length > size - at - 12)
      return TRUE;
    if (memcmp (data + at + 4, "IEND", 4) == 0)
      return FALSE;
    at += (gsize)length + 12;
  }
  return TRUE;
}

/* passes over sub-blocks; FALSE if the file ends before them */
static gboolean
skip_blocks (const guint8 *data, gsize size, gsize *at)
{
  while (*at < size && data[*at] != 0)
    *at += (gsize)data[*at] + 1;
  return (*at)++ < size;
}

static gboolean
gif_is_cut (const guint8 *data, gsize size)
{
  if (size < 13)
    return TRUE;
  gsize at = 13 + (data[10] & 0x80 ? (gsize)3 << ((data[10] & 7) + 1) : 0);
  while (at < size && data[at] == 0x21) {
    at += 2;
    if (!skip_blocks (data, size, &at))
      return TRUE;
  }
  if (at >= size || size - at < 11)
    return TRUE;
  if (data[at] != 0x2c)
    return FALSE;
  at += 11 + (data[at + 9] & 0x80 ? (gsize)3 << ((data[at + 9] & 7) + 1) : 0);
  return !skip_blocks (data, size, &at);
}

static gboolean
tiff_is_cut (const guint8 *data, gsize size)
{
  HrTiffDirectory d;
  if (hr_tiff_open (data, size, &d) != HR_TIFF_OK)
    return TRUE;
  static const TiffTag pairs[][2] = { { TIFF_TAG_STRIP_OFFSETS, TIFF_TAG_STRIP_BYTES },
                                      { TIFF_TAG_TILE_OFFSETS, TIFF_TAG_TILE_BYTES } };
  for (guint p = 0; p < G_N_ELEMENTS (pairs); p++) {
    guint64 n = hr_tiff_count (&d, pairs[p][0]);
    for (guint64 i = 0; i < n; i++) {
      guint64 offset, bytes;
      if (!hr_tiff_get (&d, pairs[p][0], i, &offset) || !hr_tiff_get (&d, pairs[p][1], i, &bytes))
        return TRUE;
      if (offset > size || bytes > size - offset)
        return TRUE;
    }
  }
  return FALSE;
}

gboolean
hr_image_is_cut (HrImageFormat format, const guint8 *data, gsize size)
{
  switch (format) {
  case HR_IMAGE_PNG:
    return png_is_cut (data, size);
  case HR_IMAGE_GIF:
    return gif_is_cut (data, size);
  case HR_IMAGE_TIFF:
    return tiff_is_cut (data, size);
  default:
    return FALSE;
  }
}
