/* image-test.c: what the image tests share: files, checksums, expected values */
#include "image-test.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "hr-error.h"

void
image_test_init (int *argc, char ***argv)
{
  g_test_init (argc, argv, NULL);
  g_log_set_always_fatal (G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL);
}

GBytes *
image_test_load (const char *first, ...)
{
  va_list names;
  va_start (names, first);
  g_autofree char *below = g_build_filename_valist (first, &names);
  va_end (names);
  g_autofree char *path = g_build_filename (HR_TEST_DATA, below, NULL);
  g_autoptr (GError) error = NULL;
  char *data;
  gsize size;
  g_file_get_contents (path, &data, &size, &error);
  g_assert_no_error (error);
  return g_bytes_new_take (data, size);
}

JsonNode *
image_test_json (const char *path)
{
  g_autoptr (GBytes) file = image_test_load (path, NULL);
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  g_autoptr (GError) error = NULL;
  gsize size;
  const char *data = g_bytes_get_data (file, &size);
  json_parser_load_from_data (parser, data, size, &error);
  g_assert_no_error (error);
  return json_parser_steal_root (parser);
}

char *
image_test_sha256 (const guint8 *data, gsize size)
{
  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, size);
}

guint8 *
image_test_decode_full (GBytes *file, const HrDecodeOptions *options, guint32 *height,
                        guint32 *width, GError **error)
{
  HrImageHeader header;
  HrDecoder decoder = { 0 };
  gsize size;
  const guint8 *data = g_bytes_get_data (file, &size);
  if (!hr_image_header_read (data, size, HR_IMAGE_PIXEL_LIMIT, &header, error))
    return NULL;
  hr_decode_get_size (&header, options, height, width);
  /* neither input nor output may be touched beyond their ends */
  gsize out_size = (gsize)*height * *width * 3;
  guint8 *fenced = image_test_fence_new (size), *out = image_test_fence_new (out_size);
  memcpy (fenced, data, size);
  guint8 *result = NULL;
  if (hr_decode (&decoder, fenced, size, &header, options, out, error))
    result = g_memdup2 (out, out_size);
  image_test_fence_free (fenced, size);
  image_test_fence_free (out, out_size);
  hr_decoder_clear (&decoder);
  return result;
}

guint8 *
image_test_decode (GBytes *file, guint32 *height, guint32 *width, GError **error)
{
  HrDecodeOptions options = { .exif = TRUE, .white = TRUE };
  return image_test_decode_full (file, &options, height, width, error);
}

static gsize
fence_room (gsize size)
{
  gsize page = sysconf (_SC_PAGESIZE);
  return (size + page - 1) / page * page;
}

guint8 *
image_test_fence_new (gsize size)
{
  gsize page = sysconf (_SC_PAGESIZE), room = fence_room (size);
  guint8 *start =
      mmap (NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_assert_true (start != MAP_FAILED);
  g_assert_cmpint (mprotect (start + room, page, PROT_NONE), ==, 0);
  return start + room - size;
}

void
image_test_fence_free (guint8 *data, gsize size)
{
  gsize page = sysconf (_SC_PAGESIZE), room = fence_room (size);
  munmap (data + size - room, room + page);
}
