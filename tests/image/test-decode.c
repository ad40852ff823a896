/* every golden image and every image of the cases, decoded: the same bytes, or the right refusal */
#include <string.h>
#include <sys/resource.h>
#include "hr-error.h"
#include "image-test.h"

/* Pillow clips 16-bit gray at 255; this is v >> 8, golden's hr_sane */
#define GRAY16_SHA "0f5c967b9dc3415c63d1ff86cefd11b007cc081712468c92f8fa6b3cf40f2c21"

static void
test_golden (void)
{
  g_autoptr (JsonNode) root = image_test_json ("golden/images.json");
  JsonArray *images = json_node_get_array (root);
  guint n = 0;
  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *o = json_array_get_object_element (images, i);
    const char *name = json_object_get_string_member (o, "file");
    JsonObject *expected =
        json_object_get_object_member (json_object_get_object_member (o, "decode"), "hr_default");
    g_autoptr (GBytes) file = image_test_load ("golden", "images", name, NULL);
    g_autoptr (GError) error = NULL;
    guint32 height, width;
    g_autofree guint8 *pixels = image_test_decode (file, &height, &width, &error);
    g_test_message ("%s", name);
    if (json_object_has_member (expected, "error")) {
      image_test_assert_kind (error, g_str_equal (name, "truncated.jpg") ? "media-truncated"
                                                                         : "media-undecodable");
      continue;
    }
    g_assert_no_error (error);
    JsonArray *hw = json_object_get_array_member (expected, "hw");
    g_assert_cmpuint (height, ==, json_array_get_int_element (hw, 0));
    g_assert_cmpuint (width, ==, json_array_get_int_element (hw, 1));
    g_autofree char *sha = image_test_sha256 (pixels, (gsize)height * width * 3);
    g_assert_cmpstr (sha, ==,
                     g_str_equal (name, "gray16.png")
                         ? GRAY16_SHA
                         : json_object_get_string_member (expected, "sha256"));
    n++;
  }
  g_assert_cmpuint (n, ==, 29);
}

static void
check_probes (JsonObject *o, const guint8 *pixels, guint32 width)
{
  if (!json_object_has_member (o, "probe"))
    return;
  JsonArray *probes = json_object_get_array_member (o, "probe");
  for (guint i = 0; i < json_array_get_length (probes); i++) {
    JsonObject *p = json_array_get_object_element (probes, i);
    JsonArray *rgb = json_object_get_array_member (p, "rgb");
    const guint8 *pixel =
        pixels
        + (json_object_get_int_member (p, "y") * width + json_object_get_int_member (p, "x")) * 3;
    for (guint c = 0; c < 3; c++)
      g_assert_cmpuint (pixel[c], ==, json_array_get_int_element (rgb, c));
  }
}

static void
check_error (JsonObject *o, const char *file, const GError *error)
{
  JsonObject *expected = json_object_get_object_member (o, "error");
  image_test_assert_kind (error, json_object_get_string_member (expected, "kind"));
  JsonArray *names = json_object_get_array_member (expected, "message_names");
  for (guint i = 0; i < json_array_get_length (names); i++) {
    const char *name = json_array_get_string_element (names, i);
    /* the core puts the file's name in front */
    if (!g_str_equal (name, file) && strstr (error->message, name) == NULL)
      g_error ("%s: \"%s\" does not name \"%s\"", file, error->message, name);
  }
}

static void
test_case (gconstpointer data)
{
  const char *id = data;
  g_autofree char *path = g_build_filename ("cases", id, "case.json", NULL);
  g_autoptr (JsonNode) root = image_test_json (path);
  JsonObject *expected = json_object_get_object_member (json_node_get_object (root), "expected");
  JsonArray *images = json_object_get_array_member (expected, "images");
  gint64 delivered = 0;
  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *o = json_array_get_object_element (images, i);
    const char *name = json_object_get_string_member (o, "file");
    g_autoptr (GBytes) file = image_test_load ("cases", id, name, NULL);
    g_autoptr (GError) error = NULL;
    guint32 height = 0, width = 0;
    g_autofree guint8 *pixels = image_test_decode (file, &height, &width, &error);
    g_test_message ("%s", name);
    if (json_object_has_member (o, "delivered")
        && !json_object_get_boolean_member (o, "delivered")) {
      g_assert_null (pixels);
      check_error (o, name, error);
      continue;
    }
    g_assert_no_error (error);
    delivered++;
    if (json_object_has_member (o, "width")) {
      g_assert_cmpuint (width, ==, json_object_get_int_member (o, "width"));
      g_assert_cmpuint (height, ==, json_object_get_int_member (o, "height"));
    }
    if (json_object_has_member (o, "rgb_sha256")) {
      g_autofree char *sha = image_test_sha256 (pixels, (gsize)height * width * 3);
      g_assert_cmpstr (sha, ==, json_object_get_string_member (o, "rgb_sha256"));
    } else {
      JsonArray *rgb = json_object_get_array_member (o, "rgb"); /* one pixel */
      g_assert_cmpuint (height * width, ==, 1);
      for (guint c = 0; c < 3; c++)
        g_assert_cmpuint (pixels[c], ==, json_array_get_int_element (rgb, c));
    }
    check_probes (o, pixels, width);
  }
  g_assert_cmpint (delivered, ==, json_object_get_int_member (expected, "delivered"));
}

/* A refused bomb costs no memory: the peak does not move by a tenth of what its pixels take. */
static void
test_bomb_memory (void)
{
  static const char *const names[] = { "bomb-30000.png", "claims-65500.jpg", "claims-60000.png" };
  struct rusage before, after;
  getrusage (RUSAGE_SELF, &before);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GBytes) file = image_test_load ("cases", "10-png-bomb", names[i], NULL);
    g_autoptr (GError) error = NULL;
    guint32 height, width;
    g_assert_null (image_test_decode (file, &height, &width, &error));
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_IMAGE_TOO_LARGE);
  }
  getrusage (RUSAGE_SELF, &after);
  g_assert_cmpint (after.ru_maxrss - before.ru_maxrss, <, 64 * 1024);
}

static void
test_options (void)
{
  guint32 height, width;
  g_autoptr (GError) error = NULL;
  /* exif=ignore: as stored */
  g_autoptr (GBytes) turned = image_test_load ("golden", "images", "exif6.jpg", NULL);
  HrDecodeOptions stored = { .exif = FALSE, .white = TRUE };
  g_autofree guint8 *pixels = image_test_decode_full (turned, &stored, &height, &width, &error);
  g_assert_no_error (error);
  g_autofree guint8 *upright = image_test_decode (turned, &width, &height, &error);
  g_assert_cmpuint (height, >, 0);
  g_assert_cmpmem (pixels, 3, upright + (height - 1) * 3, 3); /* top left becomes top right */
  /* alpha=drop: golden's hf_load_image */
  g_autoptr (GBytes) alpha = image_test_load ("golden", "images", "rgba.png", NULL);
  HrDecodeOptions drop = { .exif = TRUE, .white = FALSE };
  g_autofree guint8 *dropped = image_test_decode_full (alpha, &drop, &height, &width, &error);
  g_assert_no_error (error);
  g_autofree char *sha = image_test_sha256 (dropped, (gsize)height * width * 3);
  g_autoptr (JsonNode) root = image_test_json ("golden/images.json");
  JsonArray *images = json_node_get_array (root);
  const char *expected = NULL;
  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *o = json_array_get_object_element (images, i);
    if (g_str_equal (json_object_get_string_member (o, "file"), "rgba.png"))
      expected = json_object_get_string_member (
          json_object_get_object_member (json_object_get_object_member (o, "decode"),
                                         "hf_load_image"),
          "sha256");
  }
  g_assert_cmpstr (sha, ==, expected);
  /* truncated=fill: the first rows are the whole image's */
  HrDecodeOptions fill = { .exif = TRUE, .white = TRUE, .fill = TRUE };
  g_autoptr (GBytes) cut = image_test_load ("cases", "05-jpeg-truncated", "cut-50.jpg", NULL);
  g_autoptr (GBytes) all = image_test_load ("cases", "05-jpeg-truncated", "whole.jpg", NULL);
  g_autofree guint8 *some = image_test_decode_full (cut, &fill, &height, &width, &error);
  g_assert_no_error (error);
  g_autofree guint8 *whole = image_test_decode (all, &height, &width, &error);
  g_assert_cmpmem (some, width * 3 * 16, whole, width * 3 * 16);
  g_assert_cmpint (memcmp (some, whole, (gsize)width * height * 3), !=, 0);
}

/* Smaller by the decoder: other pixels, the right size, about the same picture. */
static void
test_shrink (void)
{
  g_autoptr (GBytes) file = image_test_load ("golden", "images", "coffee_422_odd.jpg", NULL);
  guint32 height, width, small_height, small_width;
  g_autofree guint8 *whole = image_test_decode (file, &height, &width, NULL);
  for (guint shrink = 2; shrink <= 8; shrink *= 2) {
    HrDecodeOptions options = { .exif = TRUE, .white = TRUE, .shrink = shrink };
    g_autofree guint8 *small =
        image_test_decode_full (file, &options, &small_height, &small_width, NULL);
    g_assert_cmpuint (small_height, ==, (height + shrink - 1) / shrink);
    g_assert_cmpuint (small_width, ==, (width + shrink - 1) / shrink);
    guint64 difference = 0;
    for (guint32 y = 0; y < height / shrink; y++)
      for (guint32 x = 0; x < width / shrink; x++)
        for (guint c = 0; c < 3; c++) {
          guint mean = 0;
          for (guint i = 0; i < shrink * shrink; i++)
            mean += whole[((y * shrink + i / shrink) * width + x * shrink + i % shrink) * 3 + c];
          difference +=
              ABS ((gint)(mean / (shrink * shrink)) - small[(y * small_width + x) * 3 + c]);
        }
    g_assert_cmpuint (difference / (small_height * small_width * 3), <=, 3);
  }
}

/* Cut anywhere, a file is refused as cut and never crashes; GIF and PNG may end early, behind the
 * first picture's last byte. */
static void
test_cut_anywhere (void)
{
  static const char *const names[] = { "coffee_422_odd.jpg", "astronaut_progressive.jpg",
                                       "palette_trns.png",   "lossy.webp",
                                       "two_frames.gif",     "lzw.tif",
                                       "bmp24.bmp",          "rgb_trns.png" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GBytes) file = image_test_load ("golden", "images", names[i], NULL);
    gsize size = g_bytes_get_size (file), refused = 0;
    guint32 height, width;
    g_autofree guint8 *whole = image_test_decode (file, &height, &width, NULL);
    gsize n_bytes = (gsize)height * width * 3;
    for (guint k = 1; k < 24; k++) {
      g_autoptr (GBytes) part = g_bytes_new_from_bytes (file, 0, size * k / 24);
      g_autoptr (GError) error = NULL;
      g_autofree guint8 *pixels = image_test_decode (part, &height, &width, &error);
      if (pixels != NULL) {
        g_assert_cmpmem (pixels, n_bytes, whole, n_bytes);
        continue;
      }
      g_test_message ("%s, %u/24: %s", names[i], k, error->message);
      image_test_assert_kind (error, "media-truncated");
      refused++;
    }
    g_assert_cmpuint (refused, >=, g_str_equal (names[i], "two_frames.gif") ? 8 : 23);
  }
}

/* One byte wrong, anywhere: pixels or an error about this file, and nothing left behind. */
static void
test_damage (void)
{
  static const char *const names[] = {
    "tiny10.png",    "coffee_422_odd.jpg", "astronaut_progressive.jpg",
    "lossy.webp",    "two_frames.gif",     "rgb_trns.png",
    "cmyk_adobe.jpg"
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  guint failed = 0;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GBytes) file = image_test_load ("golden", "images", names[i], NULL);
    for (guint k = 0; k < 60; k++) {
      gsize size = g_bytes_get_size (file);
      guint8 *copy = g_memdup2 (g_bytes_get_data (file, NULL), size);
      copy[k % 2 ? g_rand_int_range (rand, 0, MIN (size, 700)) : g_rand_int_range (rand, 0, size)] =
          g_rand_int (rand);
      g_autoptr (GBytes) damaged = g_bytes_new_take (copy, size);
      g_autoptr (GError) error = NULL;
      guint32 height, width;
      g_autofree guint8 *pixels = image_test_decode (damaged, &height, &width, &error);
      g_assert_true ((pixels == NULL) == (error != NULL));
      if (error != NULL) {
        g_assert_true (error->domain == HR_DATA_ERROR);
        g_assert_null (strchr (error->message, '\n'));
        failed++;
      }
    }
  }
  g_assert_cmpuint (failed, >, 20);
}

/* @n more of a progressive file's first scan, which says nothing new each time */
static GBytes *
repeat_scan (GBytes *file, guint n)
{
  gsize size, start, end;
  const guint8 *data = g_bytes_get_data (file, &size);
  for (start = 0; data[start] != 0xff || data[start + 1] != 0xda;)
    start++;
  for (end = start + 2; data[end] != 0xff || data[end + 1] == 0 || (data[end + 1] & 0xf8) == 0xd0;)
    end++;
  GByteArray *bytes = g_byte_array_new ();
  g_byte_array_append (bytes, data, start);
  for (guint i = 0; i <= n; i++)
    g_byte_array_append (bytes, data + start, end - start);
  g_byte_array_append (bytes, data + end, size - end);
  return g_byte_array_free_to_bytes (bytes);
}

static void
test_scans (void)
{
  g_autoptr (GBytes) file = image_test_load ("cases", "05-jpeg-truncated", "progressive.jpg", NULL);
  g_autoptr (GBytes) some = repeat_scan (file, 50);
  g_autoptr (GBytes) many = repeat_scan (file, 200);
  g_autoptr (GError) error = NULL;
  guint32 height, width;
  g_autofree guint8 *whole = image_test_decode (file, &height, &width, &error);
  g_autofree guint8 *pixels = image_test_decode (some, &height, &width, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (pixels, (gsize)height * width * 3, whole, (gsize)height * width * 3);
  g_assert_null (image_test_decode (many, &height, &width, &error));
  image_test_assert_kind (error, "media-undecodable");
  g_assert_nonnull (strstr (error->message, "scans"));
}

/* The error text of libvips is one for the process: each thread must find its own file's. */
static gpointer
fail_often (gpointer data)
{
  const char *format = data;
  g_autoptr (GBytes) file = image_test_load (
      "golden", "images", g_str_equal (format, "PNG") ? "palette_trns.png" : "lzw.tif", NULL);
  gsize size = g_bytes_get_size (file);
  guint8 *copy = g_memdup2 (g_bytes_get_data (file, NULL), size);
  if (g_str_equal (format, "PNG"))
    copy[29] ^= 0x55; /* IHDR's checksum */
  else
    memset (copy + 8, 0xff, 64); /* LZW data */
  g_autoptr (GBytes) damaged = g_bytes_new_take (copy, size);
  for (guint i = 0; i < 50; i++) {
    g_autoptr (GError) error = NULL;
    guint32 height, width;
    g_autofree guint8 *pixels = image_test_decode (damaged, &height, &width, &error);
    g_assert_null (pixels);
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_UNDECODABLE);
    g_test_message ("%s", error->message);
    g_assert_nonnull (strstr (error->message, format));
    g_assert_nonnull (strstr (error->message, g_str_equal (format, "PNG") ? "IHDR" : "tiff"));
    g_assert_null (strstr (error->message, g_str_equal (format, "PNG") ? "tiff" : "IHDR"));
  }
  return NULL;
}

static void
test_own_text (void)
{
  GThread *threads[4];
  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new (NULL, fail_often, i % 2 ? "PNG" : "TIFF");
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char **argv)
{
  static const char *const cases[] = { "05-jpeg-truncated", "06-exif-orientation", "07-jpeg-cmyk",
                                       "08-png-16-bit",     "09-alpha-on-white",   "10-png-bomb",
                                       "23-first-frame",    "24-one-pixel" };
  image_test_init (&argc, &argv);
  g_test_add_func ("/decode/golden", test_golden);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = g_strdup_printf ("/decode/case/%s", cases[i]);
    g_test_add_data_func (path, cases[i], test_case);
  }
  g_test_add_func ("/decode/bomb-memory", test_bomb_memory);
  g_test_add_func ("/decode/options", test_options);
  g_test_add_func ("/decode/shrink", test_shrink);
  g_test_add_func ("/decode/cut-anywhere", test_cut_anywhere);
  g_test_add_func ("/decode/damage", test_damage);
  g_test_add_func ("/decode/scans", test_scans);
  g_test_add_func ("/decode/own-text", test_own_text);
  return g_test_run ();
}
