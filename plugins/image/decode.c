/* decode.c: encoded images as RGB pixels in memory of the caller's */
#include "decode.h"

guint8 *
hr_decoder_scratch (HrDecoder *decoder, gsize size)
{
  if (decoder->rows_size < size) {
    g_free (decoder->rows);
    decoder->rows = g_malloc (size);
    decoder->rows_size = size;
  }
  return decoder->rows;
}

static guint
get_shrink (const HrImageHeader *header, const HrDecodeOptions *options)
{
  return header->format == HR_IMAGE_JPEG ? MAX (options->shrink, 1) : 1;
}

void
hr_decode_get_size (const HrImageHeader *header, const HrDecodeOptions *options, guint32 *height,
                    guint32 *width)
{
  guint shrink = get_shrink (header, options);
  hr_image_header_get_size (header, options->exif, height, width);
  *height = (*height + shrink - 1) / shrink;
  *width = (*width + shrink - 1) / shrink;
}

gboolean
hr_decode (HrDecoder *decoder, const guint8 *data, gsize size, const HrImageHeader *header,
           const HrDecodeOptions *options, guint8 *out, GError **error)
{
  HrDecodeFunc decode = hr_decode_vips;
  guint shrink = get_shrink (header, options);
  HrOrient orient = { out, (header->width + shrink - 1) / shrink,
                      (header->height + shrink - 1) / shrink,
                      options->exif ? header->orientation : 1 };
  if (header->format == HR_IMAGE_JPEG)
    decode = hr_decode_jpeg;
  else if (header->format == HR_IMAGE_BMP)
    decode = hr_decode_bmp;
  return decode (decoder, data, size, header, options, &orient, error);
}

void
hr_decoder_clear (HrDecoder *decoder)
{
  g_clear_pointer (&decoder->rows, g_free);
  decoder->rows_size = 0;
}
