/* image-test.h: what the image tests share: files, checksums, expected values */
#pragma once
#include <json-glib/json-glib.h>
#include "decode.h"

/* GLib's tests die of warnings; libvips warns about every damaged file. */
void image_test_init (int *argc, char ***argv);

/* tests/data/@...; aborts if it is not there. (transfer full) */
GBytes *image_test_load (const char *first, ...) G_GNUC_NULL_TERMINATED;
/* (transfer full): the root of tests/data/@path */
JsonNode *image_test_json (const char *path);
/* hex; (transfer full) */
char *image_test_sha256 (const guint8 *data, gsize size);

/* what elements do with a file: the defaults of imagedecode. NULL with @error; (transfer full): the
 * pixels, and their shape */
guint8 *image_test_decode (GBytes *file, guint32 *height, guint32 *width, GError **error);
guint8 *image_test_decode_full (GBytes *file, const HrDecodeOptions *options, guint32 *height,
                                guint32 *width, GError **error);

/* memory that ends where a page begins that cannot be touched; free with image_test_fence_free() */
guint8 *image_test_fence_new (gsize size);
void image_test_fence_free (guint8 *data, gsize size);

/* "media-truncated" of an error in HR_DATA_ERROR */
#define image_test_assert_kind(error, kind)                                                        \
  G_STMT_START                                                                                     \
  {                                                                                                \
    g_assert_true ((error) != NULL && (error)->domain == HR_DATA_ERROR);                           \
    g_assert_cmpstr (hr_data_error_kind ((error)->code), ==, kind);                                \
  }                                                                                                \
  G_STMT_END
