/* image-dump FILE…: for each file a line "HEIGHT WIDTH SHA256" of its pixels, or "KIND MESSAGE" */
#include <stdio.h>
#include "hr-error.h"
#include "image-test.h"

int
main (int argc, char **argv)
{
  for (int i = 1; i < argc; i++) {
    g_autoptr (GError) error = NULL;
    char *data;
    gsize size;
    guint32 height, width;
    if (!g_file_get_contents (argv[i], &data, &size, &error)) {
      printf ("%s\n", error->message);
      continue;
    }
    g_autoptr (GBytes) file = g_bytes_new_take (data, size);
    g_autofree guint8 *pixels = image_test_decode (file, &height, &width, &error);
    if (pixels == NULL) {
      printf ("%s %s\n", hr_data_error_kind (error->code), error->message);
      continue;
    }
    g_autofree char *sha = image_test_sha256 (pixels, (gsize)height * width * 3);
    printf ("%u %u %s\n", height, width, sha);
  }
  return 0;
}
