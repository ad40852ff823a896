/* exif.h: tags of a TIFF directory, which is also what EXIF is */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* the tags we ask for */
typedef enum {
  TIFF_TAG_WIDTH = 256,
  TIFF_TAG_HEIGHT = 257,
  TIFF_TAG_STRIP_OFFSETS = 273,
  TIFF_TAG_ORIENTATION = 274,
  TIFF_TAG_SAMPLES = 277,
  TIFF_TAG_STRIP_BYTES = 279,
  TIFF_TAG_TILE_OFFSETS = 324,
  TIFF_TAG_TILE_BYTES = 325
} TiffTag;

/**
 * HrTiffDirectory:
 *
 * The first directory (IFD) of a TIFF file or an EXIF block: entries [@entries, @entries + @n).
 */
typedef struct {
  const guint8 *data;
  gsize size;
  gsize entries; /* offset of the first entry */
  guint64 n;
  gboolean big_endian;
  gboolean big; /* BigTIFF: 64-bit offsets */
} HrTiffDirectory;

typedef enum {
  HR_TIFF_OK,
  HR_TIFF_NOT_TIFF,
  HR_TIFF_CUT /* the bytes end before the directory does */
} HrTiffStatus;

HrTiffStatus hr_tiff_open (const guint8 *data, gsize size, HrTiffDirectory *directory);
/* how many values an integer tag has; 0 if it is not there or not an integer */
guint64 hr_tiff_count (const HrTiffDirectory *directory, TiffTag tag);
/* value @index of an integer tag; FALSE if it is not there or lies beyond the end */
gboolean hr_tiff_get (const HrTiffDirectory *directory, TiffTag tag, guint64 index, guint64 *value);
/* 1 to 8; 1 for anything else, broken blocks included. @data may begin with "Exif\0\0" */
guint8 hr_exif_get_orientation (const guint8 *data, gsize size);

G_END_DECLS
