/* bitmaps of every kind: the pixels they were made from, which Pillow reads too where it can */
#include <string.h>
#include "hr-error.h"
#include "image-test.h"

static void
test_kinds (void)
{
  g_autoptr (JsonNode) root = image_test_json ("image/bmp/index.json");
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;
  guint n = 0;
  json_object_iter_init (&iter, json_node_get_object (root));
  while (json_object_iter_next (&iter, &name, &node)) {
    g_autoptr (GBytes) file = image_test_load ("image", "bmp", name, NULL);
    g_autoptr (GError) error = NULL;
    guint32 height, width;
    g_autofree guint8 *pixels = image_test_decode (file, &height, &width, &error);
    g_test_message ("%s", name);
    g_assert_no_error (error);
    g_assert_cmpuint (width, ==, 13);
    g_assert_cmpuint (height, ==, 7);
    g_autofree char *sha = image_test_sha256 (pixels, 13 * 7 * 3);
    g_assert_cmpstr (sha, ==,
                     json_object_get_string_member (json_node_get_object (node), "sha256"));
    n++;
  }
  g_assert_cmpuint (n, ==, 27);
}

/* every prefix of every kind: cut, or (behind the last pixel) whole */
static void
test_prefixes (void)
{
  g_autoptr (JsonNode) root = image_test_json ("image/bmp/index.json");
  JsonObjectIter iter;
  const char *name;
  json_object_iter_init (&iter, json_node_get_object (root));
  while (json_object_iter_next (&iter, &name, NULL)) {
    g_autoptr (GBytes) file = image_test_load ("image", "bmp", name, NULL);
    gsize size = g_bytes_get_size (file), refused = 0;
    for (gsize n = 2; n < size; n++) {
      g_autoptr (GBytes) part = g_bytes_new_from_bytes (file, 0, n);
      g_autoptr (GError) error = NULL;
      guint32 height, width;
      g_autofree guint8 *pixels = image_test_decode (part, &height, &width, &error);
      if (pixels != NULL) {
        /* all but the padding of the last row, or the mark of the end */
        g_assert_cmpuint (size - n, <=, 3);
        continue;
      }
      image_test_assert_kind (error, "media-truncated");
      refused++;
    }
    g_assert_cmpuint (refused, >=, size - 5);
  }
}

static void
set32 (guint8 *p, guint32 value)
{
  for (guint i = 0; i < 4; i++)
    p[i] = value >> 8 * i;
}

static void
test_refused (void)
{
  static const struct {
    gsize at;
    guint32 value;
    const char *kind;
  } changes[] = {
    { 28, 5, "unsupported" },       /* bits */
    { 30, 4, "unsupported" },       /* a JPEG inside */
    { 30, 1, "unsupported" },       /* run lengths of 24 bits */
    { 22, 0, "media-undecodable" }, /* no rows */
    { 18, 0x80000000, "media-undecodable" },
    { 10, 0xffffffff, "media-truncated" }, /* pixels behind the end */
    { 18, 100000, "media-truncated" },
    { 22, 0x80000000, "media-undecodable" },
  };
  g_autoptr (GBytes) file = image_test_load ("image", "bmp", "rgb-24.bmp", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++) {
    gsize size = g_bytes_get_size (file);
    guint8 *copy = g_memdup2 (g_bytes_get_data (file, NULL), size);
    set32 (copy + changes[i].at, changes[i].value);
    g_autoptr (GBytes) changed = g_bytes_new_take (copy, size);
    g_autoptr (GError) error = NULL;
    guint32 height, width;
    g_autofree guint8 *pixels = image_test_decode (changed, &height, &width, &error);
    g_assert_null (pixels);
    image_test_assert_kind (error, changes[i].kind);
  }
}

/* a run that goes beyond its row or the last one stays inside the picture */
static void
test_wild_runs (void)
{
  g_autoptr (GBytes) file = image_test_load ("image", "bmp", "rle-8.bmp", NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (9);
  for (guint k = 0; k < 2000; k++) {
    gsize size = g_bytes_get_size (file);
    guint8 *copy = g_memdup2 (g_bytes_get_data (file, NULL), size);
    for (guint i = 0; i < 4; i++)
      copy[g_rand_int_range (rand, 54 + 1024, size)] = g_rand_int (rand) >> (i % 2 ? 24 : 0) & 255;
    g_autoptr (GBytes) changed = g_bytes_new_take (copy, size);
    HrDecodeOptions fill = { .white = TRUE, .fill = k % 2 };
    g_autoptr (GError) error = NULL;
    guint32 height, width;
    g_autofree guint8 *pixels = image_test_decode_full (changed, &fill, &height, &width, &error);
    g_assert_true (pixels != NULL || error->code == HR_DATA_ERROR_MEDIA_TRUNCATED);
  }
}

int
main (int argc, char **argv)
{
  image_test_init (&argc, &argv);
  g_test_add_func ("/decode-bmp/kinds", test_kinds);
  g_test_add_func ("/decode-bmp/prefixes", test_prefixes);
  g_test_add_func ("/decode-bmp/refused", test_refused);
  g_test_add_func ("/decode-bmp/wild-runs", test_wild_runs);
  return g_test_run ();
}
