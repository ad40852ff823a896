/* fuzz-header.c: any bytes as an image header */
#include "image-header.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  HrImageHeader header;
  g_autoptr (GError) error = NULL;
  guint32 height, width;

  if (!hr_image_header_read (data, size, HR_IMAGE_PIXEL_LIMIT, &header, &error)) {
    g_assert_nonnull (error);
    return 0;
  }
  g_assert_no_error (error);
  g_assert_cmpuint (header.width, >, 0);
  g_assert_cmpuint (header.height, >, 0);
  g_assert_cmpuint ((guint64)header.width * header.height, <=, HR_IMAGE_PIXEL_LIMIT);
  g_assert_cmpuint (header.orientation, >=, 1);
  g_assert_cmpuint (header.orientation, <=, 8);
  hr_image_header_get_size (&header, TRUE, &height, &width);
  g_assert_cmpuint ((guint64)width * height, ==, (guint64)header.width * header.height);
  return 0;
}
