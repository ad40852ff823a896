/* decode-bmp.c: Windows and OS/2 bitmaps
 *
 * libvips reads them only through ImageMagick. Palettes of 1, 2, 4 and 8 bits, 16, 24 and 32 bits
 * with or without masks, run lengths, rows from either end. The expansion of masked channels to 8
 * bits is Pillow's: value * 255 / maximum, cut off. */
#include <string.h>
#include "decode.h"
#include "hr-error.h"
#include "pixels.h"

enum { BI_RGB, BI_RLE8, BI_RLE4, BI_BITFIELDS, BI_JPEG, BI_PNG, BI_ALPHABITFIELDS };

typedef struct {
  guint32 mask;
  guint shift;
  guint32 max;
} Channel;

typedef struct {
  const guint8 *data;
  gsize size;
  guint32 width, height;
  guint bits;
  guint32 compression;
  gboolean top_down;
  gsize pixels; /* offset of the first stored row */
  gsize stride;
  guint8 palette[256][3];
  Channel channels[4]; /* red, green, blue, alpha */
} Bmp;

static guint
le16 (const guint8 *p)
{
  return p[0] | p[1] << 8;
}

static guint32
le32 (const guint8 *p)
{
  return p[0] | p[1] << 8 | p[2] << 16 | (guint32)p[3] << 24;
}

static gboolean
cut (gsize size, guint64 needed, GError **error)
{
  hr_set_data_error (error, HR_DATA_ERROR_MEDIA_TRUNCATED,
                     "the BMP is cut: %" G_GSIZE_FORMAT " of at least %" G_GUINT64_FORMAT " bytes",
                     size, needed);
  return FALSE;
}

static void
set_mask (Channel *channel, guint32 mask)
{
  *channel = (Channel){ .mask = mask };
  if (mask == 0)
    return;
  channel->shift = g_bit_nth_lsf (mask, -1);
  channel->max = mask >> channel->shift;
}

static guint8
get_channel (const Channel *channel, guint32 pixel)
{
  if (channel->max == 0)
    return 0;
  return (guint64)((pixel & channel->mask) >> channel->shift) * 255 / channel->max;
}

static gboolean
read_masks (Bmp *bmp, guint32 info, GError **error)
{
  static const guint32 wide[4] = { 0xff0000, 0xff00, 0xff, 0 };
  static const guint32 narrow[4] = { 0x7c00, 0x3e0, 0x1f, 0 };
  guint32 masks[4];
  memcpy (masks, bmp->bits == 16 ? narrow : wide, sizeof masks);
  if (bmp->compression == BI_BITFIELDS || bmp->compression == BI_ALPHABITFIELDS) {
    /* within the header if that is large enough, behind it if not: the same place either way */
    guint n = bmp->compression == BI_ALPHABITFIELDS || info >= 56 ? 4 : 3;
    if (bmp->size < 54 + n * 4)
      return cut (bmp->size, 54 + n * 4, error);
    for (guint i = 0; i < n; i++)
      masks[i] = le32 (bmp->data + 54 + 4 * i);
  }
  for (guint i = 0; i < 4; i++)
    set_mask (&bmp->channels[i], masks[i]);
  return TRUE;
}

static gboolean
read_palette (Bmp *bmp, gsize at, guint entry, guint32 used, GError **error)
{
  guint n = 1 << bmp->bits;
  if (used > 0 && used < n)
    n = used;
  if (at > bmp->size || (gsize)n * entry > bmp->size - at)
    return cut (bmp->size, (guint64)at + n * entry, error);
  for (guint i = 0; i < n; i++, at += entry) {
    bmp->palette[i][0] = bmp->data[at + 2];
    bmp->palette[i][1] = bmp->data[at + 1];
    bmp->palette[i][2] = bmp->data[at];
  }
  return TRUE;
}

static gboolean
read_header (Bmp *bmp, GError **error)
{
  const guint8 *data = bmp->data;
  guint32 info = le32 (data + 14), used = 0;
  if (bmp->size < 14 + (gsize)info)
    return cut (bmp->size, 14 + (guint64)info, error);
  bmp->pixels = le32 (data + 10);
  bmp->bits = le16 (data + (info == 12 ? 24 : 28));
  if (info > 12)
    bmp->top_down = (gint32)le32 (data + 22) < 0;
  /* OS/2's second header may be short: what it leaves out is 0 */
  if (info >= 20)
    bmp->compression = le32 (data + 30);
  if (info >= 36)
    used = le32 (data + 46);
  gboolean masked = bmp->compression == BI_BITFIELDS || bmp->compression == BI_ALPHABITFIELDS;
  gboolean known = FALSE;
  switch (bmp->bits) {
  case 1:
  case 2:
  case 24:
    known = bmp->compression == BI_RGB;
    break;
  case 4:
    known = bmp->compression == BI_RGB || bmp->compression == BI_RLE4;
    break;
  case 8:
    known = bmp->compression == BI_RGB || bmp->compression == BI_RLE8;
    break;
  case 16:
  case 32:
    known = bmp->compression == BI_RGB || (masked && info >= 40);
    break;
  default:
    break;
  }
  if (!known || (bmp->top_down && (bmp->compression == BI_RLE8 || bmp->compression == BI_RLE4))) {
    hr_set_data_error (error, HR_DATA_ERROR_UNSUPPORTED,
                       "a BMP of %u bits a pixel with compression %u", bmp->bits, bmp->compression);
    return FALSE;
  }
  bmp->stride = ((gsize)bmp->width * bmp->bits + 31) / 32 * 4;
  if (bmp->bits <= 8)
    return read_palette (bmp, 14 + (gsize)info, info == 12 ? 3 : 4, used, error);
  return read_masks (bmp, info, error);
}

static void
palette_row (const Bmp *bmp, const guint8 *in, guint8 *out)
{
  guint bits = bmp->bits, mask = (1u << bits) - 1;
  for (gsize x = 0; x < bmp->width; x++) {
    gsize bit = x * bits;
    guint index = in[bit / 8] >> (8 - bits - bit % 8) & mask;
    memcpy (out + 3 * x, bmp->palette[index], 3);
  }
}

static void
masked_row (const Bmp *bmp, const guint8 *in, gboolean white, guint8 *out)
{
  guint bytes = bmp->bits / 8;
  gboolean alpha = bmp->channels[3].mask != 0;
  for (gsize x = 0; x < bmp->width; x++, in += bytes, out += 3) {
    guint32 pixel = bytes == 2 ? le16 (in) : le32 (in);
    guint8 rgba[4];
    for (guint c = 0; c < 4; c++)
      rgba[c] = get_channel (&bmp->channels[c], pixel);
    hr_pixels_to_rgb (alpha ? HR_PIXELS_RGBA : HR_PIXELS_RGB, 4, rgba, out, 1, white);
  }
}

static void
plain_row (const Bmp *bmp, const guint8 *in, gboolean white, guint8 *out)
{
  if (bmp->bits <= 8) {
    palette_row (bmp, in, out);
  } else if (bmp->bits == 24) {
    for (gsize x = 0; x < bmp->width; x++, in += 3, out += 3) {
      out[0] = in[2];
      out[1] = in[1];
      out[2] = in[0];
    }
  } else {
    masked_row (bmp, in, white, out);
  }
}

static void
put_index (const Bmp *bmp, const HrOrient *orient, gsize x, gsize y, guint index)
{
  if (x < bmp->width)
    memcpy (hr_orient_row (orient, bmp->height - 1 - y) + 3 * x, bmp->palette[index], 3);
}

/* Run lengths, rows from the bottom. What no run reaches has colour 0. */
static gboolean
unpack_runs (const Bmp *bmp, const HrOrient *orient, gboolean fill, GError **error)
{
  const guint8 *p = bmp->data + bmp->pixels, *end = bmp->data + bmp->size;
  gboolean nibbles = bmp->compression == BI_RLE4;
  gsize x = 0, y = 0;
  for (gsize i = 0; i < (gsize)bmp->width * bmp->height; i++)
    memcpy (orient->out + 3 * i, bmp->palette[0], 3);
  while (y < bmp->height) {
    if (end - p < 2)
      break;
    guint n = *p++, value = *p++;
    if (n > 0) {
      for (guint i = 0; i < n; i++)
        put_index (bmp, orient, x++, y, !nibbles ? value : i % 2 ? value & 15 : value >> 4);
    } else if (value == 0) {
      x = 0;
      y++;
    } else if (value == 1) {
      return TRUE;
    } else if (value == 2) {
      if (end - p < 2)
        break;
      x += p[0];
      y += p[1];
      p += 2;
    } else {
      gsize bytes = nibbles ? (value + 1) / 2 : value;
      if ((gsize)(end - p) < bytes)
        break;
      for (guint i = 0; i < value; i++)
        put_index (bmp, orient, x++, y, !nibbles ? p[i] : i % 2 ? p[i / 2] & 15 : p[i / 2] >> 4);
      p += MIN (bytes + (bytes & 1), (gsize)(end - p));
    }
  }
  /* the mark of the end may be missing behind the last row */
  return y >= bmp->height || fill || cut (bmp->size, (guint64)bmp->size + 1, error);
}

gboolean
hr_decode_bmp (HrDecoder *decoder, const guint8 *data, gsize size, const HrImageHeader *header,
               const HrDecodeOptions *options, const HrOrient *orient, GError **error)
{
  Bmp bmp = { .data = data, .size = size, .width = header->width, .height = header->height };
  (void)decoder; /* no orientation, so no scratch: rows are written where they belong */
  if (!read_header (&bmp, error))
    return FALSE;
  if (bmp.pixels > size)
    return cut (size, bmp.pixels, error);
  if (bmp.compression == BI_RLE8 || bmp.compression == BI_RLE4)
    return unpack_runs (&bmp, orient, options->fill, error);
  /* the last row may lack its padding */
  gsize used = ((gsize)bmp.width * bmp.bits + 7) / 8;
  guint64 needed = bmp.pixels + (guint64)(bmp.height - 1) * bmp.stride + used;
  if (size < needed && !options->fill)
    return cut (size, needed, error);
  for (guint32 i = 0; i < bmp.height; i++) {
    gsize at = bmp.pixels + i * bmp.stride;
    guint8 *out = hr_orient_row (orient, bmp.top_down ? i : bmp.height - 1 - i);
    if (at <= size && size - at >= used)
      plain_row (&bmp, data + at, options->white, out);
    else
      memset (out, 0, (gsize)bmp.width * 3);
  }
  return TRUE;
}
