/* fuzz-image.c: any bytes as an image: its header, its pixels, and a resize of them */
#include <string.h>
#include "decode.h"
#include "hr-error.h"
#include "resample.h"
#include "smart-resize.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* large enough for every path, small enough for thousands a second */
#define PIXELS (64 * 1024)

static void
resize (const guint8 *pixels, guint32 height, guint32 width)
{
  static HrResampler *resamplers[2];
  HrSmartResize rule = { (height ^ width) & 1, 28, 3136, 12544 };
  guint reference = height & 1;
  gint32 out_height, out_width;
  if (!hr_smart_resize (&rule, height, width, &out_height, &out_width, NULL))
    return;
  if (resamplers[reference] == NULL)
    resamplers[reference] = hr_resampler_new (reference, hr_kernels ());
  g_autofree guint8 *out = g_malloc ((gsize)out_height * out_width * 3);
  hr_resampler_resize (resamplers[reference], pixels, height, width, (gsize)width * 3, out,
                       out_height, out_width);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static HrDecoder decoder;
  HrDecodeOptions options = { .exif = !(size & 1),
                              .white = !(size & 2),
                              .fill = (size & 12) == 12,
                              .shrink = 1 << (size >> 4 & 3) };
  g_autoptr (GError) error = NULL;
  HrImageHeader header;
  guint32 height, width;
  /* libvips warns about what is broken: that is what comes here */
  g_log_set_always_fatal (G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL);
  if (!hr_image_header_read (data, size, PIXELS, &header, &error)) {
    g_assert_true (error != NULL && error->domain == HR_DATA_ERROR);
    return 0;
  }
  hr_decode_get_size (&header, &options, &height, &width);
  gsize n_bytes = (gsize)height * width * 3;
  /* every byte is written, or a run would not be the same twice */
  g_autofree guint8 *pixels = g_malloc (n_bytes), *again = g_malloc (n_bytes);
  memset (pixels, 1, n_bytes);
  memset (again, 2, n_bytes);
  if (!hr_decode (&decoder, data, size, &header, &options, pixels, &error)) {
    g_assert_true (error != NULL && error->domain == HR_DATA_ERROR);
    return 0;
  }
  g_assert_no_error (error);
  g_assert_true (hr_decode (&decoder, data, size, &header, &options, again, NULL));
  g_assert_cmpint (memcmp (pixels, again, n_bytes), ==, 0);
  resize (pixels, height, width);
  return 0;
}
