/* decode-jpeg.c: JPEG straight from libjpeg-turbo into the caller's memory
 *
 * ISLOW DCT and fancy upsampling, libjpeg's defaults and everybody's reference. */
#include <setjmp.h>
#include <stdio.h>
#include <jpeglib.h>
#include "decode.h"
#include "hr-error.h"
#include "pixels.h"

/* rows turned at once; also more than libjpeg ever gives in one call */
#define STRIP 16
/* Ordinary progressive files have about 10 scans. Each scan walks over the whole image however
 * few bytes it has, so thousands of empty ones in a small file would take minutes. */
#define MAX_SCANS 100

typedef struct {
  struct jpeg_decompress_struct info; /* first: libjpeg hands it to the callbacks */
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr source;
  struct jpeg_progress_mgr progress;
  jmp_buf leave;
  gboolean dry; /* more bytes were asked for than there are */
  gboolean too_many_scans;
  char message[JMSG_LENGTH_MAX];
} Jpeg;

static void
error_exit (j_common_ptr info)
{
  Jpeg *jpeg = (Jpeg *)info;
  info->err->format_message (info, jpeg->message);
  longjmp (jpeg->leave, 1);
}

static void
emit_message (j_common_ptr info, int level)
{
  /* Good files warn too (fill bytes, odd scan parameters): only running dry counts, see below. */
  if (level < 0)
    info->err->num_warnings++;
}

static void
source_nothing (j_decompress_ptr info)
{
  (void)info;
}

static boolean
source_fill (j_decompress_ptr info)
{
  static const JOCTET end[2] = { 0xff, JPEG_EOI };
  ((Jpeg *)info)->dry = TRUE;
  info->src->next_input_byte = end;
  info->src->bytes_in_buffer = sizeof end;
  return TRUE;
}

static void
source_skip (j_decompress_ptr info, long n)
{
  if (n <= 0)
    return;
  if ((gsize)n > info->src->bytes_in_buffer) {
    source_fill (info);
    return;
  }
  info->src->next_input_byte += n;
  info->src->bytes_in_buffer -= n;
}

static void
watch_scans (j_common_ptr info)
{
  Jpeg *jpeg = (Jpeg *)info;
  if (jpeg->info.input_scan_number > MAX_SCANS) {
    jpeg->too_many_scans = TRUE;
    longjmp (jpeg->leave, 1);
  }
}

/* Adobe stores ink inverted, and so does everybody who leaves Adobe's marker out. */
static void
invert (guint8 *samples, gsize n)
{
  for (gsize i = 0; i < n; i++)
    samples[i] = 255 - samples[i];
}

static void
read_rows (Jpeg *jpeg, HrDecoder *decoder, const HrOrient *orient, gboolean ink)
{
  struct jpeg_decompress_struct *info = &jpeg->info;
  gsize row = (gsize)orient->width * (ink ? 4 : 3), rgb_row = (gsize)orient->width * 3;
  gboolean direct = hr_orient_row (orient, 0) != NULL;
  guint8 *scratch = NULL, *turned = NULL;
  if (ink || !direct) {
    scratch = hr_decoder_scratch (decoder, STRIP * (row + rgb_row));
    turned = scratch + STRIP * row;
  }
  while (info->output_scanline < info->output_height) {
    JSAMPROW rows[STRIP];
    guint y = info->output_scanline, n = MIN (STRIP, info->output_height - y), have = 0;
    for (guint i = 0; i < n; i++)
      rows[i] = ink || !direct ? scratch + i * row : hr_orient_row (orient, y + i);
    while (have < n)
      have += jpeg_read_scanlines (info, rows + have, n - have);
    if (ink) {
      invert (scratch, n * row);
      for (guint i = 0; i < n; i++)
        hr_pixels_to_rgb (HR_PIXELS_CMYK, 4, scratch + i * row,
                          direct ? hr_orient_row (orient, y + i) : turned + i * rgb_row,
                          orient->width, TRUE);
    }
    if (!direct)
      hr_orient_put (orient, y, n, ink ? turned : scratch);
  }
}

/* everything that may longjmp(); FALSE with an error of its own */
static gboolean
decode (Jpeg *jpeg, HrDecoder *decoder, const HrImageHeader *header, guint shrink,
        const HrOrient *orient, GError **error)
{
  struct jpeg_decompress_struct *info = &jpeg->info;
  jpeg_create_decompress (info);
  info->src = &jpeg->source;
  info->progress = &jpeg->progress;
  jpeg_read_header (info, TRUE);
  gboolean ink = FALSE;
  switch (info->jpeg_color_space) {
  case JCS_GRAYSCALE:
  case JCS_YCbCr:
  case JCS_RGB:
    info->out_color_space = JCS_RGB;
    break;
  case JCS_CMYK:
  case JCS_YCCK:
    info->out_color_space = JCS_CMYK;
    ink = TRUE;
    break;
  default:
    hr_set_data_error (error, HR_DATA_ERROR_UNSUPPORTED,
                       "a JPEG of %d components, none of gray, YCbCr, RGB, CMYK and YCCK",
                       info->num_components);
    return FALSE;
  }
  if (info->image_width != header->width || info->image_height != header->height) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE,
                       "broken JPEG: %ux%u by its header, %ux%u by its data", header->width,
                       header->height, info->image_width, info->image_height);
    return FALSE;
  }
  info->scale_num = 1;
  info->scale_denom = MAX (shrink, 1);
  info->dct_method = JDCT_ISLOW;
  info->do_fancy_upsampling = TRUE;
  jpeg_start_decompress (info);
  read_rows (jpeg, decoder, orient, ink);
  /* reads on to the end marker: one that is missing makes the source run dry */
  jpeg_finish_decompress (info);
  return TRUE;
}

gboolean
hr_decode_jpeg (HrDecoder *decoder, const guint8 *data, gsize size, const HrImageHeader *header,
                const HrDecodeOptions *options, const HrOrient *orient, GError **error)
{
  /* A new object for each image: libjpeg keeps tables from one to the next, and an image without
   * its own must not depend on which worker got it. On the heap, where longjmp() leaves it alone.
   */
  g_autofree Jpeg *jpeg = g_new0 (Jpeg, 1);
  volatile gboolean ok = FALSE;
  jpeg->info.err = jpeg_std_error (&jpeg->errors);
  jpeg->errors.error_exit = error_exit;
  jpeg->errors.emit_message = emit_message;
  jpeg->source = (struct jpeg_source_mgr){ .next_input_byte = data,
                                           .bytes_in_buffer = size,
                                           .init_source = source_nothing,
                                           .fill_input_buffer = source_fill,
                                           .skip_input_data = source_skip,
                                           .resync_to_restart = jpeg_resync_to_restart,
                                           .term_source = source_nothing };
  jpeg->progress.progress_monitor = watch_scans;
  if (setjmp (jpeg->leave) == 0)
    ok = decode (jpeg, decoder, header, options->shrink, orient, error);
  else if (jpeg->too_many_scans)
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE, "a JPEG of more than %d scans",
                       MAX_SCANS);
  else if (!jpeg->dry)
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE, "broken JPEG: %s", jpeg->message);
  else
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_TRUNCATED,
                       "the JPEG is cut: %" G_GSIZE_FORMAT " bytes are not all of it (%s)", size,
                       jpeg->message);
  jpeg_destroy_decompress (&jpeg->info);
  if (ok && jpeg->dry && !options->fill) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_TRUNCATED,
                       "the JPEG is cut: %" G_GSIZE_FORMAT
                       " bytes are not all of its %ux%u pixels; truncated=fill takes what there is",
                       size, header->width, header->height);
    return FALSE;
  }
  return ok;
}
