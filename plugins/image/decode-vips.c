/* decode-vips.c: PNG, WebP, GIF and TIFF through one named loader of libvips
 *
 * The loader is called without libvips' operation cache, and rows are computed in this thread
 * without its thread pools: one image costs one worker, and nothing global decides how. (Steps
 * inside a loader go through the cache all the same, where a program keeps it on; nobody asks for
 * them again, and it drops them in its own time.) */
#include <pthread.h>
#include <string.h>
#include <vips/vips.h>
#include "decode.h"
#include "hr-error.h"
#include "image-end.h"
#include "pixels.h"
#include "vips-start.h"

#define STRIP 16

/* libvips has one error text for the whole process. A decoder holds this for reading; one that has
 * failed decodes again, alone, so that the text it then finds is about its own image. Writers come
 * first, or a stream of good images would keep the bad one waiting. */
static pthread_rwlock_t text_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static VipsImage *
open_image (const guint8 *data, gsize size, HrImageFormat format, gboolean fill)
{
  static const char *const loaders[] = { [HR_IMAGE_PNG] = "pngload_buffer",
                                         [HR_IMAGE_WEBP] = "webpload_buffer",
                                         [HR_IMAGE_GIF] = "gifload_buffer",
                                         [HR_IMAGE_TIFF] = "tiffload_buffer" };
  VipsImage *image = NULL;
  VipsOperation *load = vips_operation_new (loaders[format]);
  if (load == NULL)
    return NULL;
  VipsBlob *blob = vips_blob_new (NULL, data, size);
  g_object_set (load, "buffer", blob, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                fill ? VIPS_FAIL_ON_NONE : VIPS_FAIL_ON_TRUNCATED, NULL);
  vips_area_unref (VIPS_AREA (blob));
  if (vips_object_build (VIPS_OBJECT (load)) == 0)
    g_object_get (load, "out", &image, NULL);
  vips_object_unref_outputs (VIPS_OBJECT (load));
  g_object_unref (load);
  return image;
}

/* what the samples of a pixel mean; FALSE for the scientific kinds */
static gboolean
find_form (VipsImage *image, HrPixelForm *form)
{
  int bands = vips_image_get_bands (image);
  if (image->BandFmt != VIPS_FORMAT_UCHAR && image->BandFmt != VIPS_FORMAT_USHORT)
    return FALSE;
  switch (vips_image_get_interpretation (image)) {
  case VIPS_INTERPRETATION_CMYK:
    *form = HR_PIXELS_CMYK;
    return bands >= 4;
  case VIPS_INTERPRETATION_MULTIBAND:
  case VIPS_INTERPRETATION_B_W:
  case VIPS_INTERPRETATION_GREY16:
    *form = bands == 1 ? HR_PIXELS_GRAY : HR_PIXELS_GRAY_ALPHA;
    return bands <= 2;
  case VIPS_INTERPRETATION_sRGB:
  case VIPS_INTERPRETATION_RGB:
  case VIPS_INTERPRETATION_RGB16:
    *form = bands == 3 ? HR_PIXELS_RGB : HR_PIXELS_RGBA;
    return bands >= 3;
  default:
    return FALSE;
  }
}

/* One row as RGB. A GIF may be smaller or larger than its header says (libvips looks at the frames,
 * also later ones): what no frame covers is white, what goes beyond is left out. */
static void
put_row (VipsImage *image, const VipsPel *row, HrPixelForm form, gboolean white, guint8 *narrow,
         guint8 *out, guint width)
{
  guint have = MIN (width, (guint)image->Xsize);
  if (image->BandFmt == VIPS_FORMAT_USHORT) {
    hr_pixels_high_bytes ((const guint16 *)row, narrow, (gsize)have * image->Bands);
    row = narrow;
  }
  hr_pixels_to_rgb (form, image->Bands, row, out, have, white);
  memset (out + (gsize)have * 3, 255, (gsize)(width - have) * 3);
}

/* -1: libvips' text says why */
static int
copy_pixels (VipsImage *image, HrDecoder *decoder, HrPixelForm form, gboolean white,
             const HrOrient *orient)
{
  gsize rgb_row = (gsize)orient->width * 3;
  guint8 *strip =
      hr_decoder_scratch (decoder, STRIP * rgb_row + (gsize)image->Xsize * image->Bands);
  guint8 *narrow = strip + STRIP * rgb_row;
  VipsRegion *region = vips_region_new (image);
  int result = 0;
  for (guint y = 0; y < orient->height && result == 0; y += STRIP) {
    guint n = MIN (STRIP, orient->height - y);
    guint have = y < (guint)image->Ysize ? MIN (n, image->Ysize - y) : 0;
    VipsRect rect = { 0, y, image->Xsize, have };
    if (have > 0 && vips_region_prepare (region, &rect) != 0) {
      result = -1;
      break;
    }
    for (guint i = 0; i < n; i++) {
      guint8 *out = hr_orient_row (orient, y + i);
      if (out == NULL)
        out = strip + i * rgb_row;
      if (i < have)
        put_row (image, VIPS_REGION_ADDR (region, 0, (int)(y + i)), form, white, narrow, out,
                 orient->width);
      else
        memset (out, 255, rgb_row);
    }
    if (hr_orient_row (orient, y) == NULL)
      hr_orient_put (orient, y, n, strip);
  }
  g_object_unref (region);
  return result;
}

/* -1: libvips' text says why; -2: @error does */
static int
copy_image (VipsImage *image, HrDecoder *decoder, const HrImageHeader *header,
            const HrDecodeOptions *options, const HrOrient *orient, GError **error)
{
  HrPixelForm form;
  if (!find_form (image, &form)) {
    hr_set_data_error (error, HR_DATA_ERROR_UNSUPPORTED,
                       "a %s of %d samples a pixel, %s, %s: only 8 and 16 bit gray, RGB and CMYK "
                       "are decoded",
                       hr_image_format_get_name (header->format), vips_image_get_bands (image),
                       vips_enum_nick (VIPS_TYPE_BAND_FORMAT, image->BandFmt),
                       vips_enum_nick (VIPS_TYPE_INTERPRETATION, image->Type));
    return -2;
  }
  if (header->format != HR_IMAGE_GIF
      && ((guint32)image->Xsize != header->width || (guint32)image->Ysize != header->height)) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE,
                       "broken %s: %ux%u by its header, %dx%d by its data",
                       hr_image_format_get_name (header->format), header->width, header->height,
                       image->Xsize, image->Ysize);
    return -2;
  }
  return copy_pixels (image, decoder, form, options->white, orient);
}

static int
try_decode (HrDecoder *decoder, const guint8 *data, gsize size, const HrImageHeader *header,
            const HrDecodeOptions *options, const HrOrient *orient, GError **error)
{
  VipsImage *image = open_image (data, size, header->format, options->fill);
  if (image == NULL)
    return -1;
  int result = copy_image (image, decoder, header, options, orient, error);
  g_object_unref (image);
  return result;
}

static gboolean
decode (HrDecoder *decoder, const guint8 *data, gsize size, const HrImageHeader *header,
        const HrDecodeOptions *options, const HrOrient *orient, GError **error)
{
  pthread_rwlock_rdlock (&text_lock);
  int result = try_decode (decoder, data, size, header, options, orient, error);
  pthread_rwlock_unlock (&text_lock);
  if (result != -1)
    return result == 0;
  pthread_rwlock_wrlock (&text_lock);
  vips_error_clear ();
  *hr_vips_last_warning () = '\0';
  result = try_decode (decoder, data, size, header, options, orient, error);
  g_autofree char *text = vips_error_buffer_copy ();
  pthread_rwlock_unlock (&text_lock);
  if (result != -1)
    return result == 0;
  for (char *p = g_strchomp (text); *p != '\0'; p++)
    if (*p == '\n')
      *p = ';';
  const char *name = hr_image_format_get_name (header->format);
  const char *why = *text != '\0'                      ? text
                    : *hr_vips_last_warning () != '\0' ? hr_vips_last_warning ()
                                                       : "no reason given";
  if (hr_image_is_cut (header->format, data, size))
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_TRUNCATED,
                       "the %s is cut: %" G_GSIZE_FORMAT " bytes are not all of it (%s)", name,
                       size, why);
  else
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE, "broken %s: %s", name, why);
  return FALSE;
}

gboolean
hr_decode_vips (HrDecoder *decoder, const guint8 *data, gsize size, const HrImageHeader *header,
                const HrDecodeOptions *options, const HrOrient *orient, GError **error)
{
  if (!hr_vips_start (error))
    return FALSE;
  gboolean ok = decode (decoder, data, size, header, options, orient, error);
  /* What libvips keeps for a thread is freed by that thread only, and this may be its last image.
   */
  vips_thread_shutdown ();
  return ok;
}
