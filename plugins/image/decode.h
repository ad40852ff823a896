/* decode.h: encoded images as RGB pixels in memory of the caller's */
#pragma once
#include "image-header.h"
#include "orient.h"

G_BEGIN_DECLS

/**
 * HrDecodeOptions:
 * @exif: apply the EXIF orientation
 * @white: compose transparency on white; else drop it
 * @fill: keep what there is of a truncated image, as the decoder fills the rest; else it is an
 *   error
 * @shrink: 1, or 2, 4, 8: a JPEG is decoded that much smaller (both sides rounded up), which costs
 *   less and is not exact; other formats ignore it
 */
typedef struct {
  gboolean exif;
  gboolean white;
  gboolean fill;
  guint shrink;
} HrDecodeOptions;

/* rows and columns that hr_decode() will write */
void hr_decode_get_size (const HrImageHeader *header, const HrDecodeOptions *options,
                         guint32 *height, guint32 *width);

/* Scratch memory of one thread, reused from image to image. Zeroed memory is a new one. */
typedef struct {
  guint8 *rows;
  gsize rows_size;
} HrDecoder;

/**
 * hr_decode:
 * @decoder: this thread's
 * @data: the whole file
 * @size: its bytes
 * @header: what hr_image_header_read() said of @data
 * @options: how
 * @out: H * W * 3 bytes, with H and W from hr_decode_get_size(); not read
 * @error: #HR_DATA_ERROR_MEDIA_UNDECODABLE, #HR_DATA_ERROR_MEDIA_TRUNCATED,
 *   #HR_DATA_ERROR_UNSUPPORTED; #HR_CORE_ERROR_FAILED if libvips does not start
 *
 * Decodes the first picture to uint8 [H, W, 3], RGB, as imagedecode's description says. On
 * failure the content of @out is undefined.
 */
gboolean hr_decode (HrDecoder *decoder, const guint8 *data, gsize size, const HrImageHeader *header,
                    const HrDecodeOptions *options, guint8 *out, GError **error);

/* frees the scratch; from any thread */
void hr_decoder_clear (HrDecoder *decoder);

/* ---- for the decoders ---- */

/* at least @size bytes, until the next call */
guint8 *hr_decoder_scratch (HrDecoder *decoder, gsize size);

typedef gboolean (*HrDecodeFunc) (HrDecoder *decoder, const guint8 *data, gsize size,
                                  const HrImageHeader *header, const HrDecodeOptions *options,
                                  const HrOrient *orient, GError **error);
gboolean hr_decode_jpeg (HrDecoder *decoder, const guint8 *data, gsize size,
                         const HrImageHeader *header, const HrDecodeOptions *options,
                         const HrOrient *orient, GError **error);
gboolean hr_decode_bmp (HrDecoder *decoder, const guint8 *data, gsize size,
                        const HrImageHeader *header, const HrDecodeOptions *options,
                        const HrOrient *orient, GError **error);
/* PNG, WebP, GIF, TIFF */
gboolean hr_decode_vips (HrDecoder *decoder, const guint8 *data, gsize size,
                         const HrImageHeader *header, const HrDecodeOptions *options,
                         const HrOrient *orient, GError **error);

G_END_DECLS
