/* image-guess.c: what bytes seem to be that are none of the accepted formats */
#include "image-guess.h"
#include <string.h>

typedef struct {
  const char *magic;
  guint8 length;
  guint16 offset;
  const char *what;
} Magic;

#define MAGIC(bytes, offset, what)                                                                 \
  {                                                                                                \
    bytes, sizeof (bytes) - 1, offset, what                                                        \
  }

static const Magic magics[] = {
  MAGIC ("\0\0\0\x0cJXL \r\n\x87\n", 0, "a JPEG XL image"),
  MAGIC ("\xff\x0a", 0, "a JPEG XL image"),
  MAGIC ("\0\0\0\x0cjP  \r\n\x87\n", 0, "a JPEG 2000 image"),
  MAGIC ("\xff\x4f\xff\x51", 0, "a JPEG 2000 image"),
  MAGIC ("ftyphei", 4, "a HEIC image"),
  MAGIC ("ftyphev", 4, "a HEIC image"),
  MAGIC ("ftypmif1", 4, "a HEIC image"),
  MAGIC ("ftypmsf1", 4, "a HEIC image"),
  MAGIC ("ftypavi", 4, "an AVIF image"),
  MAGIC ("ftypcrx", 4, "a camera raw image"),
  MAGIC ("ftyp", 4, "an MP4 video"),
  MAGIC ("%PDF", 0, "a PDF document"),
  MAGIC ("%!PS", 0, "a PostScript document (EPS)"),
  MAGIC ("\xc5\xd0\xd3\xc6", 0, "a PostScript document (EPS)"),
  MAGIC ("8BPS", 0, "a Photoshop file (PSD)"),
  MAGIC ("\0\0\x01\0", 0, "an icon (ICO)"),
  MAGIC ("\0\0\x02\0", 0, "a cursor (CUR)"),
  MAGIC ("icns", 0, "an icon (ICNS)"),
  MAGIC ("#?RADIANCE", 0, "a Radiance HDR image"),
  MAGIC ("#?RGBE", 0, "a Radiance HDR image"),
  MAGIC ("\x76\x2f\x31\x01", 0, "an OpenEXR image"),
  MAGIC ("DDS ", 0, "a DDS texture"),
  MAGIC ("qoif", 0, "a QOI image"),
  MAGIC ("BPG\xfb", 0, "a BPG image"),
  MAGIC ("FUJIFILMCCD-RAW", 0, "a camera raw image"),
  MAGIC ("\x59\xa6\x6a\x95", 0, "a Sun raster image"),
  MAGIC ("gimp xcf", 0, "a GIMP file (XCF)"),
  MAGIC ("AT&TFORM", 0, "a DjVu document"),
  MAGIC ("PK\x03\x04", 0, "a zip archive"),
  MAGIC ("PK\x05\x06", 0, "an empty zip archive"),
  MAGIC ("\x1f\x8b", 0, "gzip data"),
  MAGIC ("BZh", 0, "bzip2 data"),
  MAGIC ("\xfd"
         "7zXZ\0",
         0, "xz data"),
  MAGIC ("\x28\xb5\x2f\xfd", 0, "zstd data"),
  MAGIC ("7z\xbc\xaf\x27\x1c", 0, "a 7z archive"),
  MAGIC ("Rar!", 0, "a RAR archive"),
  MAGIC ("ustar", 257, "a tar archive"),
  MAGIC ("\x1a\x45\xdf\xa3", 0, "a Matroska or WebM video"),
  MAGIC ("AVI ", 8, "an AVI video"),
  MAGIC ("WAVE", 8, "a WAV sound"),
  MAGIC ("OggS", 0, "an Ogg file"),
  MAGIC ("ID3", 0, "an MP3 sound"),
  MAGIC ("fLaC", 0, "a FLAC sound"),
  MAGIC ("\x93NUMPY", 0, "a numpy array"),
  MAGIC ("\x89HDF\r\n\x1a\n", 0, "an HDF5 file"),
  MAGIC ("SIMPLE  =", 0, "a FITS image"),
  MAGIC ("n+1\0", 344, "a NIfTI image"),
  MAGIC ("MATLAB 5.0 MAT-file", 0, "a MATLAB file"),
  MAGIC ("DICM", 128, "a DICOM image"),
  MAGIC ("/* XPM */", 0, "an XPM image"),
  MAGIC ("\xd7\xcd\xc6\x9a", 0, "a Windows metafile"),
  MAGIC ("push graphic-context", 0, "an MVG drawing"),
  MAGIC ("PAR1", 0, "a Parquet file"),
  MAGIC ("SQLite format 3", 0, "an SQLite database"),
  MAGIC ("\x7f"
         "ELF",
         0, "a program (ELF)"),
  MAGIC ("version https://git-lfs", 0, "a Git LFS pointer instead of the file"),
  MAGIC ("/9j/", 0, "base64 text of a JPEG, not its bytes"),
  MAGIC ("iVBORw0KGgo", 0, "base64 text of a PNG, not its bytes"),
  MAGIC ("data:image/", 0, "a data: link as text"),
};

/* is there @needle, in any case, in the first @limit bytes? */
static gboolean
mentions (const guint8 *data, gsize size, gsize limit, const char *needle)
{
  gsize n = strlen (needle);
  size = MIN (size, limit);
  for (gsize i = 0; i + n <= size; i++)
    if (g_ascii_strncasecmp ((const char *)data + i, needle, n) == 0)
      return TRUE;
  return FALSE;
}

/* P1 to P7, and the floats PF and Pf */
static gboolean
is_pnm (const guint8 *data, gsize size)
{
  return size >= 3 && data[0] == 'P'
         && ((data[1] >= '1' && data[1] <= '7') || data[1] == 'F' || data[1] == 'f')
         && g_ascii_isspace (data[2]);
}

/* its magic is one byte, so what follows it must fit as well: version, run lengths, bits */
static gboolean
is_pcx (const guint8 *data, gsize size)
{
  return size >= 128 && data[0] == 0x0a && data[1] <= 5 && data[2] == 1
         && (data[3] == 1 || data[3] == 2 || data[3] == 4 || data[3] == 8);
}

static gboolean
is_text (const guint8 *data, gsize size)
{
  gsize n = MIN (size, 256);
  for (gsize i = 0; i < n; i++)
    if (data[i] == 0x7f
        || (data[i] < 0x20 && data[i] != '\t' && data[i] != '\n' && data[i] != '\r'))
      return FALSE;
  /* the window may end inside a character */
  const char *end;
  return g_utf8_validate_len ((const char *)data, n, &end)
         || (size > n && (const char *)data + n - end < 4);
}

static char *
guess_text (const guint8 *data, gsize size)
{
  gsize at = 0;
  if (size >= 3 && memcmp (data, "\xef\xbb\xbf", 3) == 0)
    at = 3;
  while (at < size && g_ascii_isspace (data[at]))
    at++;
  if (at < size && data[at] == '<') {
    if (mentions (data, size, 1024, "<svg"))
      return g_strdup ("an SVG drawing");
    if (mentions (data, size, 1024, "<html") || mentions (data, size, 1024, "<!doctype html"))
      return g_strdup ("an HTML page");
    if (mentions (data, size, 1024, "<Error>"))
      return g_strdup ("an XML error document");
    return g_strdup ("an XML document");
  }
  if (size - at >= 4 && memcmp (data + at, "%PDF", 4) == 0)
    return g_strdup ("a PDF document");
  if (at < size && (data[at] == '{' || data[at] == '['))
    return g_strdup ("a JSON document");
  g_autoptr (GString) text = g_string_new ("text that begins \"");
  const char *p = (const char *)data + at, *end = (const char *)data + size;
  for (guint i = 0; i < 24 && p < end; i++) {
    gunichar c = g_utf8_get_char_validated (p, end - p);
    if (c == (gunichar)-1 || c == (gunichar)-2)
      break;
    g_string_append_unichar (text, c < 0x20 || c == '"' ? ' ' : c);
    p = g_utf8_next_char (p);
  }
  g_string_append_c (text, '"');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
hr_image_guess (const guint8 *data, gsize size)
{
  if (size == 0)
    return g_strdup ("empty");
  /* told by its end; it begins like a cursor */
  if (size >= 26 && memcmp (data + size - 18, "TRUEVISION-XFILE.", 18) == 0)
    return g_strdup ("a TGA image");
  for (guint i = 0; i < G_N_ELEMENTS (magics); i++) {
    const Magic *m = &magics[i];
    if (size >= (gsize)m->offset + m->length && memcmp (data + m->offset, m->magic, m->length) == 0)
      return g_strdup (m->what);
  }
  if (is_pnm (data, size))
    return g_strdup ("a PNM image");
  if (is_pcx (data, size))
    return g_strdup ("a PCX image");
  if (size >= 4 && data[0] == 0xff && (data[1] & 0xfe) == 0xfa)
    return g_strdup ("an MP3 sound");
  if (is_text (data, size))
    return guess_text (data, size);
  gsize zeros = 0;
  while (zeros < size && data[zeros] == 0)
    zeros++;
  if (zeros == size)
    return g_strdup_printf ("%" G_GSIZE_FORMAT " zero bytes", size);
  g_autoptr (GString) text = g_string_new ("bytes that begin");
  for (gsize i = 0; i < MIN (size, 8); i++)
    g_string_append_printf (text, " %02x", data[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}
