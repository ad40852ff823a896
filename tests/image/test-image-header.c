/* sizes, formats, orientation and refusals from the bytes of a header alone */
#include <string.h>
#include "hr-error.h"
#include "image-test.h"

static void
test_golden (void)
{
  g_autoptr (JsonNode) root = image_test_json ("golden/images.json");
  JsonArray *images = json_node_get_array (root);
  guint n = 0;
  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *o = json_array_get_object_element (images, i);
    const char *name = json_object_get_string_member (o, "file");
    g_autoptr (GBytes) file = image_test_load ("golden", "images", name, NULL);
    g_autoptr (GError) error = NULL;
    HrImageHeader h;
    gboolean ok = hr_image_header_read (g_bytes_get_data (file, NULL), g_bytes_get_size (file),
                                        HR_IMAGE_PIXEL_LIMIT, &h, &error);
    if (g_str_equal (name, "not_image.jpg")) {
      image_test_assert_kind (error, "media-undecodable");
      continue;
    }
    g_assert_no_error (error);
    g_assert_true (ok);
    JsonArray *wh = json_object_get_array_member (o, "size_wh");
    g_test_message ("%s", name);
    g_assert_cmpuint (h.width, ==, json_array_get_int_element (wh, 0));
    g_assert_cmpuint (h.height, ==, json_array_get_int_element (wh, 1));
    g_autofree char *format = g_ascii_strup (hr_image_format_get_name (h.format), -1);
    g_assert_cmpstr (format, ==, json_object_get_string_member (o, "format"));
    gint64 orientation = json_object_get_null_member (o, "exif_orientation")
                             ? 1
                             : json_object_get_int_member (o, "exif_orientation");
    g_assert_cmpint (h.orientation, ==, orientation);
    n++;
  }
  g_assert_cmpuint (n, ==, 30);
}

/* What the beginning of a file says is what the whole says, but for which side is which. */
static void
assert_part (const char *name, const guint8 *data, gsize size)
{
  const gsize step = MAX (size / 500, 1);
  HrImageHeader whole, part;
  gboolean good = hr_image_header_read (data, size, G_MAXUINT64, &whole, NULL);
  guint n_told = 0;

  for (gsize n = 0; n <= size; n += step) {
    guint8 *fenced = image_test_fence_new (MAX (n, 1));

    memcpy (fenced, data, n);
    if (hr_image_header_read_part (fenced, n, size, &part)) {
      g_test_message ("%s, %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT, name, n, size);
      g_assert_true (good);
      g_assert_cmpint (part.format, ==, whole.format);
      g_assert_cmpuint (part.width, ==, whole.width);
      g_assert_cmpuint (part.height, ==, whole.height);
      n_told++;
    } else {
      g_assert_cmpuint (n_told, ==, 0); /* more never says less */
    }
    image_test_fence_free (fenced, MAX (n, 1));
  }
  g_assert_cmpint (hr_image_header_read_part (data, size, size, &part), ==, good);
}

static void
test_part (void)
{
  g_autoptr (JsonNode) root = image_test_json ("golden/images.json");
  JsonArray *images = json_node_get_array (root);

  for (guint i = 0; i < json_array_get_length (images); i++) {
    const char *name =
        json_object_get_string_member (json_array_get_object_element (images, i), "file");
    g_autoptr (GBytes) file = image_test_load ("golden", "images", name, NULL);
    gsize size;
    const guint8 *data = g_bytes_get_data (file, &size);

    assert_part (name, data, size);
    assert_part (name, data, size / 2);
    assert_part (name, data, MIN (size, 40));
  }
}

/* Whatever the length, a prefix has an answer: cut, or the size of the whole. */
static void
test_every_prefix (void)
{
  static const char *const names[] = { "exif6.jpg",      "palette_trns.png", "exif3.webp",
                                       "two_frames.gif", "lzw.tif",          "bmp24.bmp",
                                       "lossy.webp" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GBytes) file = image_test_load ("golden", "images", names[i], NULL);
    gsize size, refused = 0;
    const guint8 *data = g_bytes_get_data (file, &size);
    HrImageHeader whole, h;
    g_assert_true (hr_image_header_read (data, size, HR_IMAGE_PIXEL_LIMIT, &whole, NULL));
    for (gsize n = 2; n < MIN (size, 3000); n++) {
      g_autoptr (GError) error = NULL;
      guint8 *fenced = image_test_fence_new (n);
      memcpy (fenced, data, n);
      if (hr_image_header_read (fenced, n, HR_IMAGE_PIXEL_LIMIT, &h, &error)) {
        g_assert_cmpuint (h.width, ==, whole.width);
        g_assert_cmpuint (h.height, ==, whole.height);
      } else {
        g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_TRUNCATED);
        g_assert_nonnull (strstr (error->message, "cut"));
        refused++;
      }
      image_test_fence_free (fenced, n);
    }
    g_assert_cmpuint (refused, >=, 10);
  }
}

typedef struct {
  const char *bytes;
  gsize size;
  const char *says;
} Guess;

#define GUESS(bytes, says)                                                                         \
  {                                                                                                \
    bytes, sizeof (bytes) - 1, says                                                                \
  }

static void
test_refused (void)
{
  static const Guess guesses[] = {
    GUESS ("", "0 bytes"),
    GUESS ("\0\0\0\x18"
           "ftypheic\0\0\0\0",
           "HEIC"),
    GUESS ("\0\0\0\x18"
           "ftypmif1\0\0\0\0",
           "HEIC"),
    GUESS ("\0\0\0\x18"
           "ftypavif\0\0\0\0",
           "AVIF"),
    GUESS ("\0\0\0\x18"
           "ftypisom\0\0\0\0",
           "MP4"),
    GUESS ("<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "SVG"),
    GUESS ("<?xml version=\"1.0\"?>\n<svg width=\"1\"/>", "SVG"),
    GUESS ("%PDF-1.7\n", "PDF"),
    GUESS ("<!DOCTYPE html><html>", "HTML"),
    GUESS ("\n  <HTML><head>", "HTML"),
    GUESS ("<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code></Error>", "XML error"),
    GUESS ("\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL"),
    GUESS ("\xff\x0a\xfa\x1f", "JPEG XL"),
    GUESS ("\0\0\1\0\1\0\x10\x10", "ICO"),
    GUESS ("%!PS-Adobe-3.0 EPSF-3.0", "EPS"),
    GUESS ("8BPS\0\1", "PSD"),
    GUESS ("PK\3\4\x14\0", "zip"),
    GUESS ("\x1f\x8b\x08\0", "gzip"),
    GUESS ("{\"error\": \"not found\"}", "JSON"),
    GUESS ("/9j/4AAQSkZJRg", "base64"),
    GUESS ("version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    GUESS ("P6\n3 3\n255\n", "PNM"),
    GUESS ("#?RADIANCE\n", "Radiance"),
    GUESS ("\0\0\0\0\0\0\0\0\0\0", "zero bytes"),
    GUESS ("not an image", "text that begins \"not an image\""),
    GUESS ("BMW is a car and not a bitmap", "text"),
    GUESS ("RIFF\x10\0\0\0WAVEfmt ", "WAV"),
    GUESS ("\x01\x02\xfe\xff", "01 02 fe ff"),
  };
  for (guint i = 0; i < G_N_ELEMENTS (guesses); i++) {
    g_autoptr (GError) error = NULL;
    HrImageHeader h;
    g_assert_false (hr_image_header_read ((const guint8 *)guesses[i].bytes, guesses[i].size,
                                          HR_IMAGE_PIXEL_LIMIT, &h, &error));
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_UNDECODABLE);
    if (strstr (error->message, guesses[i].says) == NULL)
      g_error ("\"%s\" does not say \"%s\"", error->message, guesses[i].says);
  }
  /* a tar archive is known by its middle */
  guint8 tar[512] = "file.jpg";
  memcpy (tar + 257, "ustar", 5);
  g_autoptr (GError) error = NULL;
  HrImageHeader h;
  g_assert_false (hr_image_header_read (tar, sizeof tar, HR_IMAGE_PIXEL_LIMIT, &h, &error));
  g_assert_nonnull (strstr (error->message, "tar"));
}

/* a PNG that claims a size */
static gboolean
claim (guint32 width, guint32 height, guint64 limit, GError **error)
{
  guint8 png[33] = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
  HrImageHeader h;
  for (guint i = 0; i < 4; i++) {
    png[16 + i] = width >> (24 - 8 * i);
    png[20 + i] = height >> (24 - 8 * i);
  }
  png[24] = 8;
  png[25] = 2;
  return hr_image_header_read (png, sizeof png, limit, &h, error);
}

static void
test_limit (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_true (claim (178956970, 1, HR_IMAGE_PIXEL_LIMIT, NULL));
  g_assert_true (claim (1, 178956970, HR_IMAGE_PIXEL_LIMIT, NULL));
  g_assert_false (claim (178956971, 1, HR_IMAGE_PIXEL_LIMIT, &error));
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_IMAGE_TOO_LARGE);
  g_clear_error (&error);
  /* 65536 * 65536 is 0 in 32 bits */
  g_assert_false (claim (65536, 65536, HR_IMAGE_PIXEL_LIMIT, &error));
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_IMAGE_TOO_LARGE);
  g_assert_nonnull (strstr (error->message, "65536x65536"));
  g_assert_nonnull (strstr (error->message, "the limit"));
  g_clear_error (&error);
  g_assert_true (claim (10, 10, 100, NULL));
  g_assert_false (claim (10, 10, 99, NULL));
  g_assert_false (claim (0, 10, 100, &error));
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_UNDECODABLE);
}

/* eXIf behind the pixels, where most readers stop looking */
static void
test_late_exif (void)
{
  g_autoptr (GBytes) file = image_test_load ("cases", "06-exif-orientation", "o6.png", NULL);
  gsize size;
  const guint8 *data = g_bytes_get_data (file, &size);
  HrImageHeader h;
  g_assert_true (hr_image_header_read (data, size, HR_IMAGE_PIXEL_LIMIT, &h, NULL));
  g_assert_cmpuint (h.orientation, ==, 6);
  /* the chunk moved from where it is to right before IEND */
  gsize at = 8;
  while (memcmp (data + at + 4, "eXIf", 4) != 0)
    at += 12 + (data[at + 2] << 8 | data[at + 3]);
  gsize length = 12 + (data[at + 2] << 8 | data[at + 3]);
  g_autoptr (GByteArray) moved = g_byte_array_new ();
  g_byte_array_append (moved, data, at);
  g_byte_array_append (moved, data + at + length, size - at - length - 12);
  g_byte_array_append (moved, data + at, length);
  g_byte_array_append (moved, data + size - 12, 12);
  g_assert_cmpuint (moved->len, ==, size);
  g_assert_true (hr_image_header_read (moved->data, moved->len, HR_IMAGE_PIXEL_LIMIT, &h, NULL));
  g_assert_cmpuint (h.orientation, ==, 6);
  guint32 height, width;
  hr_image_header_get_size (&h, TRUE, &height, &width);
  g_assert_cmpuint (height, ==, h.width);
  hr_image_header_get_size (&h, FALSE, &height, &width);
  g_assert_cmpuint (height, ==, h.height);
  g_autoptr (GBytes) moved_file = g_bytes_new (moved->data, moved->len);
  g_autofree guint8 *pixels = image_test_decode (moved_file, &height, &width, NULL);
  g_autofree char *sha = image_test_sha256 (pixels, (gsize)height * width * 3);
  g_assert_cmpstr (sha, ==, "71ce59e407edd9d4954a8c8f522c595ba43e4e125a373df12be6f03cc1294e18");
}

/* BigTIFF and both byte orders; numbers of every integer type */
static void
test_tiff (void)
{
  static const guint8 big[] = { 'M', 'M', 0, 43, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, /* header */
                                0,   0,   0, 0,  0, 0, 0, 3,                          /* entries */
                                1,   0,   0, 16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,  0, 0, 1, 0,
                                1,   1,   0, 4,  0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7,  0, 0, 0, 0,
                                1,   18,  0, 3,  0, 0, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0,  0, 0, 0, 0 };
  static const guint8 little[] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 2, 0, /* header, entries */
                                   0,   1,   1,  0, 1, 0, 0, 0, 9, 0, 0, 0,
                                   1,   1,   3,  0, 1, 0, 0, 0, 5, 0, 0, 0 };
  HrImageHeader h;
  g_autoptr (GError) error = NULL;
  g_assert_true (hr_image_header_read (big, sizeof big, HR_IMAGE_PIXEL_LIMIT, &h, &error));
  g_assert_cmpuint (h.width, ==, 256);
  g_assert_cmpuint (h.height, ==, 7);
  g_assert_cmpuint (h.orientation, ==, 8);
  g_assert_true (hr_image_header_read (little, sizeof little, HR_IMAGE_PIXEL_LIMIT, &h, &error));
  g_assert_cmpuint (h.width, ==, 9);
  g_assert_cmpuint (h.height, ==, 5);
  g_assert_cmpuint (h.orientation, ==, 1);
  for (gsize n = 8; n < sizeof little; n++)
    g_assert_false (hr_image_header_read (little, n, HR_IMAGE_PIXEL_LIMIT, &h, NULL));
}

int
main (int argc, char **argv)
{
  image_test_init (&argc, &argv);
  g_test_add_func ("/image-header/golden", test_golden);
  g_test_add_func ("/image-header/every-prefix", test_every_prefix);
  g_test_add_func ("/image-header/part", test_part);
  g_test_add_func ("/image-header/refused", test_refused);
  g_test_add_func ("/image-header/limit", test_limit);
  g_test_add_func ("/image-header/late-exif", test_late_exif);
  g_test_add_func ("/image-header/tiff", test_tiff);
  return g_test_run ();
}
