/* image-header.h: what an encoded image is, read from its first bytes, before any pixel */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* the six formats that are accepted; told apart by content, never by name */
typedef enum {
  HR_IMAGE_JPEG,
  HR_IMAGE_PNG,
  HR_IMAGE_WEBP,
  HR_IMAGE_GIF,
  HR_IMAGE_TIFF,
  HR_IMAGE_BMP
} HrImageFormat;

/* where Pillow refuses as well: a quarter GiB of 24-bit pixels, doubled */
#define HR_IMAGE_PIXEL_LIMIT G_GUINT64_CONSTANT (178956970)

/**
 * HrImageHeader:
 * @format: by content
 * @width: columns as stored, before orientation; at least 1
 * @height: rows as stored; at least 1
 * @orientation: EXIF's 1 to 8; 1 if there is none or the value is none of these
 * @channels: samples a pixel as stored: 1 gray or palette, 2 gray and alpha, 3, 4. 0: not known
 * @progressive: a JPEG in several scans
 */
typedef struct {
  HrImageFormat format;
  guint32 width;
  guint32 height;
  guint8 orientation;
  guint8 channels;
  gboolean progressive;
} HrImageHeader;

/**
 * hr_image_header_read:
 * @data: the whole file
 * @size: its bytes
 * @pixel_limit: most pixels (width times height), e.g. %HR_IMAGE_PIXEL_LIMIT
 * @header: (out): filled on success
 * @error: #HR_DATA_ERROR_MEDIA_UNDECODABLE for what is none of the six formats, and says what it
 *   seems to be; #HR_DATA_ERROR_MEDIA_TRUNCATED if the bytes end inside the header;
 *   #HR_DATA_ERROR_IMAGE_TOO_LARGE over the limit
 *
 * Reads format, size and EXIF orientation without decoding or allocating. The first picture of a
 * file counts. An eXIf chunk is found wherever it stands in a PNG, an EXIF chunk in a WebP.
 */
gboolean hr_image_header_read (const guint8 *data, gsize size, guint64 pixel_limit,
                               HrImageHeader *header, GError **error);

/**
 * hr_image_header_read_part:
 * @data: the first @have bytes of the file
 * @size: bytes of the whole
 *
 * The same, of the beginning alone: %TRUE if format and size are those that the whole has. The
 * orientation of a PNG, a WebP or a TIFF may stand behind that, and is 1 then: what depends on an
 * image's pixels or longer side alone is right. %FALSE: more bytes may tell, or tell the error.
 */
gboolean hr_image_header_read_part (const guint8 *data, gsize have, guint64 size,
                                    HrImageHeader *header);

/* rows and columns of the decoded image: with @exif, orientation is applied */
void hr_image_header_get_size (const HrImageHeader *header, gboolean exif, guint32 *height,
                               guint32 *width);

/* "JPEG", "PNG", … (transfer none) */
const char *hr_image_format_get_name (HrImageFormat format);

G_END_DECLS
