/* fuzz-uri.c: any text as a location, an S3 URI, a data: link, and, around a line end, as a pattern
 * and a name */
#include "data-uri.h"
#include "file.h"
#include "glob.h"
#include "hr-error.h"
#include "s3-uri.h"
#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
read_data (const char *text)
{
  g_autofree char *link = g_strconcat (hr_data_uri_is (text) ? "" : "data:", text, NULL);
  gsize most = hr_data_uri_max_size (link);
  /* just so large that a sanitizer sees a byte too much */
  g_autofree guint8 *into = g_malloc (MAX (most, 1));
  g_autoptr (GError) error = NULL;
  gssize n = hr_data_uri_decode (link, into, &error);

  g_assert_cmpint (n, <=, (gssize)most);
  if (n < 0)
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_UNDECODABLE);
  else
    g_assert_no_error (error);
}

static void
read_s3 (const char *text)
{
  g_auto (HrS3Uri) uri = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *again = NULL;

  if (!hr_s3_uri_parse (&uri, text, &error)) {
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
    return;
  }
  /* a bucket's name becomes a host name: nothing in it may lead elsewhere */
  g_assert_cmpuint (strcspn (uri.bucket, "/\\@:?#% \t\r\n"), ==, strlen (uri.bucket));
  again = hr_s3_uri_format (uri.bucket, uri.key);
  g_assert_true (strcmp (again, text) == 0
                 || (*uri.key == '\0' && strncmp (again, text, strlen (text)) == 0));
}

static void
match (const char *text)
{
  const char *newline = strchr (text, '\n');
  g_autofree char *pattern = g_strndup (text, newline ? (gsize)(newline - text) : strlen (text));
  const char *name = newline ? newline + 1 : text;

  hr_glob_match (pattern, name);
  g_assert_cmpuint (hr_glob_folder_length (pattern), <=, strlen (pattern));
  if (!hr_glob_is_pattern (pattern))
    g_assert_cmpint (hr_glob_match (pattern, name), ==, strcmp (pattern, name) == 0);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = size > 0 ? g_strndup ((const char *)data, size) : g_strdup ("");
  g_autofree char *path = NULL;
  g_autoptr (GError) error = NULL;

  read_data (text);
  read_s3 (text);
  match (text);
  path = hr_file_path (text, &error);
  g_assert_true ((path != NULL) == (error == NULL));
  return 0;
}
