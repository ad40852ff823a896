/* image-header.c: what an encoded image is, read from its first bytes, before any pixel */
#include "image-header.h"
#include <string.h>
#include "hr-error.h"
#include "exif.h"
#include "image-guess.h"

static guint
be16 (const guint8 *p)
{
  return p[0] << 8 | p[1];
}

static guint32
be32 (const guint8 *p)
{
  return (guint32)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static guint
le16 (const guint8 *p)
{
  return p[0] | p[1] << 8;
}

static guint32
le24 (const guint8 *p)
{
  return p[0] | p[1] << 8 | (guint32)p[2] << 16;
}

static guint32
le32 (const guint8 *p)
{
  return le24 (p) | (guint32)p[3] << 24;
}

const char *
hr_image_format_get_name (HrImageFormat format)
{
  static const char *const names[] = { "JPEG", "PNG", "WebP", "GIF", "TIFF", "BMP" };
  return names[format];
}

static gboolean
cut (HrImageFormat format, gsize size, GError **error)
{
  hr_set_data_error (error, HR_DATA_ERROR_MEDIA_TRUNCATED,
                     "the %s is cut in header: the file ends after %" G_GSIZE_FORMAT " bytes",
                     hr_image_format_get_name (format), size);
  return FALSE;
}

static gboolean
broken (HrImageFormat format, const char *what, GError **error)
{
  hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE, "broken %s: %s",
                     hr_image_format_get_name (format), what);
  return FALSE;
}

/* ITU T.81 B.1.1: markers until the first scan. Bytes between segments are passed over, as
 * libjpeg does. */
static gboolean
read_jpeg (const guint8 *data, gsize size, HrImageHeader *h, GError **error)
{
  gboolean have_frame = FALSE, have_exif = FALSE;
  gsize at = 2;
  for (;;) {
    while (at < size && data[at] != 0xff)
      at++;
    while (at < size && data[at] == 0xff)
      at++;
    if (at >= size)
      return cut (HR_IMAGE_JPEG, size, error);
    guint8 marker = data[at++];
    if (marker == 0 || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8))
      continue; /* stuffing, TEM, RSTn, SOI: no segment */
    if (marker == 0xd9)
      return broken (HR_IMAGE_JPEG, "it ends before its first scan", error);
    if (size - at < 2)
      return cut (HR_IMAGE_JPEG, size, error);
    if (marker == 0xda) {
      if (!have_frame)
        return broken (HR_IMAGE_JPEG, "no frame header (SOF) before the first scan", error);
      return TRUE;
    }
    guint length = be16 (data + at);
    if (length < 2)
      return broken (HR_IMAGE_JPEG, "a segment shorter than its own length", error);
    if (size - at < length)
      return cut (HR_IMAGE_JPEG, size, error);
    const guint8 *segment = data + at + 2;
    guint n = length - 2;
    if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
      if (have_frame)
        return broken (HR_IMAGE_JPEG, "two frame headers (SOF)", error);
      if (n < 6)
        return broken (HR_IMAGE_JPEG, "a frame header (SOF) that is too short", error);
      have_frame = TRUE;
      h->height = be16 (segment + 1);
      h->width = be16 (segment + 3);
      h->channels = segment[5];
      h->progressive = (marker & 3) == 2;
    } else if (marker == 0xe1 && !have_exif && n >= 6 && memcmp (segment, "Exif\0\0", 6) == 0) {
      have_exif = TRUE;
      h->orientation = hr_exif_get_orientation (segment, n);
    }
    at += length;
  }
}

/* PNG, third edition, 5 and 11: IHDR comes first, eXIf may stand anywhere */
static gboolean
read_png (const guint8 *data, gsize size, HrImageHeader *h, GError **error)
{
  if (size >= 16 && memcmp (data + 12, "CgBI", 4) == 0)
    return broken (HR_IMAGE_PNG, "Apple's own CgBI form", error);
  if (size < 33)
    return cut (HR_IMAGE_PNG, size, error);
  if (be32 (data + 8) != 13 || memcmp (data + 12, "IHDR", 4) != 0)
    return broken (HR_IMAGE_PNG, "it does not begin with IHDR", error);
  h->width = be32 (data + 16);
  h->height = be32 (data + 20);
  static const guint8 channels[] = { 1, 0, 3, 1, 2, 0, 4 };
  guint8 colour = data[25];
  if (colour >= G_N_ELEMENTS (channels) || channels[colour] == 0)
    return broken (HR_IMAGE_PNG, "an unknown colour type", error);
  h->channels = channels[colour];
  /* a missing end is the decoder's to find */
  for (gsize at = 33; at < size && size - at >= 12;) {
    guint32 length = be32 (data + at);
    if (length > size - at - 12)
      break;
    if (memcmp (data + at + 4, "eXIf", 4) == 0) {
      h->orientation = hr_exif_get_orientation (data + at + 8, length);
      break;
    }
    if (memcmp (data + at + 4, "IEND", 4) == 0)
      break;
    at += (gsize)length + 12;
  }
  return TRUE;
}

/* https://developers.google.com/speed/webp/docs/riff_container and RFC 6386 9.1 */
static gboolean
read_webp (const guint8 *data, gsize size, guint64 whole, HrImageHeader *h, GError **error)
{
  gboolean extended = FALSE, found = FALSE;
  if (size < 20)
    return cut (HR_IMAGE_WEBP, size, error);
  gsize end = (gsize)le32 (data + 4) + 8;
  for (gsize at = 12; at < end && size > at && size - at >= 8;) {
    const guint8 *chunk = data + at + 8;
    gsize length = le32 (data + at + 4), have = MIN (length, size - at - 8);
    if (memcmp (data + at, "VP8X", 4) == 0 && at == 12) {
      if (have < 10)
        return cut (HR_IMAGE_WEBP, size, error);
      extended = found = TRUE;
      h->channels = chunk[0] & 0x10 ? 4 : 3;
      h->width = le24 (chunk + 4) + 1;
      h->height = le24 (chunk + 7) + 1;
    } else if (memcmp (data + at, "VP8 ", 4) == 0 && !found) {
      if (have < 10)
        return cut (HR_IMAGE_WEBP, size, error);
      if (memcmp (chunk + 3, "\x9d\x01\x2a", 3) != 0)
        return broken (HR_IMAGE_WEBP, "no key frame", error);
      found = TRUE;
      h->channels = 3;
      h->width = le16 (chunk + 6) & 0x3fff;
      h->height = le16 (chunk + 8) & 0x3fff;
    } else if (memcmp (data + at, "VP8L", 4) == 0 && !found) {
      if (have < 5)
        return cut (HR_IMAGE_WEBP, size, error);
      if (chunk[0] != 0x2f)
        return broken (HR_IMAGE_WEBP, "no lossless signature", error);
      guint32 bits = le32 (chunk + 1);
      found = TRUE;
      h->channels = bits >> 28 & 1 ? 4 : 3;
      h->width = (bits & 0x3fff) + 1;
      h->height = (bits >> 14 & 0x3fff) + 1;
    } else if (memcmp (data + at, "EXIF", 4) == 0 && extended) {
      h->orientation = hr_exif_get_orientation (chunk, have);
      break;
    }
    if (found && !extended)
      break; /* the simple forms hold nothing else */
    at += 8 + length + (length & 1);
  }
  if (!found) {
    if (end > size)
      return cut (HR_IMAGE_WEBP, size, error);
    return broken (HR_IMAGE_WEBP, "no picture in it", error);
  }
  /* Decoders refuse it as well, but tell neither number. */
  if (end > whole) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_TRUNCATED,
                       "the WebP is cut: %" G_GUINT64_FORMAT " of %" G_GSIZE_FORMAT " bytes", whole,
                       end);
    return FALSE;
  }
  return TRUE;
}

/* GIF89a: the screen, made larger by a first picture that goes beyond it */
static gboolean
read_gif (const guint8 *data, gsize size, HrImageHeader *h, GError **error)
{
  if (size < 13)
    return cut (HR_IMAGE_GIF, size, error);
  h->width = le16 (data + 6);
  h->height = le16 (data + 8);
  h->channels = 1;
  gsize at = 13 + (data[10] & 0x80 ? (gsize)3 << ((data[10] & 7) + 1) : 0);
  while (at < size && data[at] == 0x21) {
    at += 2;
    while (at < size && data[at] != 0)
      at += (gsize)data[at] + 1;
    at++;
  }
  if (at >= size)
    return cut (HR_IMAGE_GIF, size, error);
  if (data[at] != 0x2c)
    return broken (HR_IMAGE_GIF, "no picture in it", error);
  if (size - at < 10)
    return cut (HR_IMAGE_GIF, size, error);
  h->width = MAX (h->width, le16 (data + at + 1) + le16 (data + at + 5));
  h->height = MAX (h->height, le16 (data + at + 3) + le16 (data + at + 7));
  return TRUE;
}

static gboolean
read_tiff (const guint8 *data, gsize size, HrImageHeader *h, GError **error)
{
  HrTiffDirectory d;
  guint64 width, height, value;
  switch (hr_tiff_open (data, size, &d)) {
  case HR_TIFF_CUT:
    return cut (HR_IMAGE_TIFF, size, error);
  case HR_TIFF_NOT_TIFF:
    return broken (HR_IMAGE_TIFF, "an unknown version", error);
  case HR_TIFF_OK:
    break;
  }
  if (!hr_tiff_get (&d, TIFF_TAG_WIDTH, 0, &width)
      || !hr_tiff_get (&d, TIFF_TAG_HEIGHT, 0, &height))
    return broken (HR_IMAGE_TIFF, "no width or height in its first directory", error);
  h->width = MIN (width, G_MAXUINT32);
  h->height = MIN (height, G_MAXUINT32);
  h->channels = 1;
  if (hr_tiff_get (&d, TIFF_TAG_SAMPLES, 0, &value))
    h->channels = value <= 255 ? value : 0;
  if (hr_tiff_get (&d, TIFF_TAG_ORIENTATION, 0, &value) && value >= 1 && value <= 8)
    h->orientation = value;
  return TRUE;
}

static gboolean
read_bmp (const guint8 *data, gsize size, HrImageHeader *h, GError **error)
{
  if (size < 26)
    return cut (HR_IMAGE_BMP, size, error);
  guint32 info = le32 (data + 14);
  if (info == 12) { /* OS/2's first */
    h->width = le16 (data + 18);
    h->height = le16 (data + 20);
    h->channels = le16 (data + 24) <= 8 ? 1 : 3;
    return TRUE;
  }
  if (size < 30)
    return cut (HR_IMAGE_BMP, size, error);
  gint32 width = le32 (data + 18), height = le32 (data + 22);
  if (width < 0 || height == G_MININT32)
    return broken (HR_IMAGE_BMP, "a negative size", error);
  h->width = width;
  h->height = ABS (height); /* negative: the rows begin at the top */
  guint bits = le16 (data + 28);
  h->channels = bits <= 8 ? 1 : bits == 32 ? 4 : 3;
  return TRUE;
}

/* "BM" alone is two letters of text as well */
static gboolean
is_bmp (const guint8 *data, gsize size)
{
  if (size < 2 || memcmp (data, "BM", 2) != 0)
    return FALSE;
  if (size < 18)
    return size < 6 || memcmp (data + 6, "\0\0\0", MIN (size - 6, 3)) == 0;
  guint32 info = le32 (data + 14);
  return info == 12 || (info >= 16 && info <= 124);
}

static gboolean
starts (const guint8 *data, gsize size, const char *magic, gsize n)
{
  return size >= n ? memcmp (data, magic, n) == 0 : size > 1 && memcmp (data, magic, size) == 0;
}

static gboolean
find_format (const guint8 *data, gsize size, HrImageFormat *format)
{
  if (size >= 2 && data[0] == 0xff && data[1] == 0xd8)
    *format = HR_IMAGE_JPEG;
  else if (starts (data, size, "\x89PNG\r\n\x1a\n", 8))
    *format = HR_IMAGE_PNG;
  else if (starts (data, size, "GIF87a", 6) || starts (data, size, "GIF89a", 6))
    *format = HR_IMAGE_GIF;
  else if (starts (data, size, "RIFF", 4) && (size < 12 || memcmp (data + 8, "WEBP", 4) == 0))
    *format = HR_IMAGE_WEBP;
  else if (starts (data, size, "II\x2a\0", 4) || starts (data, size, "MM\0\x2a", 4)
           || starts (data, size, "II\x2b\0", 4) || starts (data, size, "MM\0\x2b", 4))
    *format = HR_IMAGE_TIFF;
  else if (is_bmp (data, size))
    *format = HR_IMAGE_BMP;
  else
    return FALSE;
  return TRUE;
}

static gboolean
read_format (const guint8 *data, gsize size, guint64 whole, HrImageHeader *header, GError **error)
{
  switch (header->format) {
  case HR_IMAGE_JPEG:
    return read_jpeg (data, size, header, error);
  case HR_IMAGE_PNG:
    return read_png (data, size, header, error);
  case HR_IMAGE_WEBP:
    return read_webp (data, size, whole, header, error);
  case HR_IMAGE_GIF:
    return read_gif (data, size, header, error);
  case HR_IMAGE_TIFF:
    return read_tiff (data, size, header, error);
  case HR_IMAGE_BMP:
    return read_bmp (data, size, header, error);
  }
  g_return_val_if_reached (FALSE);
}

/* @size bytes of a file that has @whole */
static gboolean
read_header (const guint8 *data, gsize size, guint64 whole, guint64 pixel_limit,
             HrImageHeader *header, GError **error)
{
  *header = (HrImageHeader){ .orientation = 1 };
  if (size == 0) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE, "the image is empty: 0 bytes");
    return FALSE;
  }
  if (!find_format (data, size, &header->format)) {
    g_autofree char *what = hr_image_guess (data, size);
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE,
                       "not a JPEG, PNG, WebP, GIF, TIFF or BMP image: it seems to be %s", what);
    return FALSE;
  }
  if (!read_format (data, size, whole, header, error))
    return FALSE;
  if (header->width == 0 || header->height == 0) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE, "broken %s: its size is %ux%u",
                       hr_image_format_get_name (header->format), header->width, header->height);
    return FALSE;
  }
  if ((guint64)header->width * header->height > pixel_limit || header->width > G_MAXINT32
      || header->height > G_MAXINT32) {
    hr_set_data_error (error, HR_DATA_ERROR_IMAGE_TOO_LARGE,
                       "%ux%u are more pixels than the limit of %" G_GUINT64_FORMAT
                       " (pixel-limit)",
                       header->width, header->height, pixel_limit);
    return FALSE;
  }
  return TRUE;
}

gboolean
hr_image_header_read (const guint8 *data, gsize size, guint64 pixel_limit, HrImageHeader *header,
                      GError **error)
{
  return read_header (data, size, size, pixel_limit, header, error);
}

gboolean
hr_image_header_read_part (const guint8 *data, gsize have, guint64 size, HrImageHeader *header)
{
  return have > 0 && read_header (data, have, size, G_MAXUINT64, header, NULL);
}

void
hr_image_header_get_size (const HrImageHeader *header, gboolean exif, guint32 *height,
                          guint32 *width)
{
  gboolean turned = exif && header->orientation >= 5;
  *height = turned ? header->width : header->height;
  *width = turned ? header->height : header->width;
}
