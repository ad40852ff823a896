/* fuzz-decode.c: any bytes as an image, decoded if they are a small one */
#include "decode.h"
#include "image-header.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* a header may promise much; what counts here is found in small images too */
#define PIXELS 100000

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static HrDecoder decoder;
  HrImageHeader header;
  HrDecodeOptions options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree guint8 *pixels = NULL;
  guint32 height, width;

  /* the last byte chooses the options */
  if (size == 0 || !hr_image_header_read (data, size - 1, PIXELS, &header, NULL))
    return 0;
  options.exif = data[size - 1] & 1;
  options.white = data[size - 1] >> 1 & 1;
  options.fill = data[size - 1] >> 2 & 1;
  hr_image_header_get_size (&header, options.exif, &height, &width);
  pixels = g_malloc ((gsize) height * width * 3);
  if (!hr_decode (&decoder, data, size - 1, &header, &options, pixels, &error))
    g_assert_nonnull (error);
  else
    g_assert_no_error (error);
  return 0;
}
