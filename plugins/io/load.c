/* load.c: the whole of one object, wherever it is */
#include "load.h"
#include <string.h>
#include <unistd.h>
#include "file.h"
#include "hr-error.h"
#include "http-wait.h"
#include "media-link.h"
#include "s3-request.h"
#include "s3-uri.h"

#define STEP (1024 * 1024) /* of what has no size */

static gboolean
fail_size (const char *uri, gsize max_bytes, GError **error)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
               "%s has more than %" G_GSIZE_FORMAT " bytes", uri, max_bytes);
  return FALSE;
}

/* ---- files ---- */

static gboolean
read_all (int fd, const char *path, gint64 expected, gsize max_bytes, int wake_fd,
          HrMemory **memory, gsize *size, GError **error)
{
  *size = 0;
  *memory = hr_memory_new (expected >= 0 ? (gsize)expected + 1 : STEP);
  for (;;) {
    gssize n = hr_file_read (fd, path, (gint64)*size, (*memory)->data + *size,
                             (*memory)->size - *size, wake_fd, error);

    if (n < 0)
      return FALSE;
    if (n == 0)
      return TRUE;
    *size += n;
    if (*size > max_bytes)
      return fail_size (path, max_bytes, error);
    if (*size == (*memory)->size) {
      HrMemory *larger = hr_memory_new (*size * 2);

      memcpy (larger->data, (*memory)->data, *size);
      hr_memory_unref (*memory);
      *memory = larger;
    }
  }
}

static HrMemory *
load_file (const char *uri, gsize max_bytes, int wake_fd, gsize *size, GError **error)
{
  g_autofree char *path = hr_file_path (uri, error);
  HrMemory *memory = NULL;
  gint64 expected;
  gboolean good;
  int fd;

  if (path == NULL || (fd = hr_file_open (path, &expected, error)) < 0)
    return NULL;
  good = expected > (gint64)max_bytes
             ? fail_size (path, max_bytes, error)
             : read_all (fd, path, expected, max_bytes, wake_fd, &memory, size, error);
  close (fd);
  if (!good)
    g_clear_pointer (&memory, hr_memory_unref);
  return memory;
}

/* ---- the network ---- */

/* takes @request */
static HrMemory *
load_request (HrHttpRequest *request, const HrHttpOptions *options, gsize max_bytes, int wake_fd,
              gsize *size, GError **error)
{
  g_autoptr (HrHttp) http = hr_http_new (options, error);
  g_auto (HrHttpAnswer) answer = { 0 };

  if (http == NULL) {
    hr_http_request_free (request);
    return NULL;
  }
  request->max_bytes = max_bytes;
  if (!hr_http_wait (http, request, wake_fd, &answer, error))
    return NULL;
  *size = answer.received;
  return answer.body != NULL ? g_steal_pointer (&answer.body) : hr_memory_new (1);
}

static HrMemory *
load_s3 (const char *uri, const HrS3Settings *settings, const HrHttpOptions *options,
         gsize max_bytes, int wake_fd, gsize *size, GError **error)
{
  g_auto (HrS3Uri) place = { 0 };
  HrS3Config *config;
  HrMemory *memory;

  if (!hr_s3_uri_parse (&place, uri, error))
    return NULL;
  if (*place.key == '\0') {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE, "\"%s\" names no object", uri);
    return NULL;
  }
  config = hr_s3_config_new (settings, error);
  if (config == NULL)
    return NULL;
  memory = load_request (hr_s3_get (config, place.bucket, place.key), options, max_bytes, wake_fd,
                         size, error);
  hr_s3_config_unref (config);
  return memory;
}

HrMemory *
hr_io_load (const char *uri, const HrS3Settings *settings, const HrHttpOptions *options,
            gsize max_bytes, int wake_fd, gsize *size, GError **error)
{
  if (g_str_has_prefix (uri, "s3://"))
    return load_s3 (uri, settings, options, max_bytes, wake_fd, size, error);
  if (g_str_has_prefix (uri, "http://") || g_str_has_prefix (uri, "https://")) {
    g_autofree char *shown = hr_media_link_shorten (uri);
    HrHttpRequest *request = hr_http_request_new (shown, uri);

    request->follow = TRUE;
    request->question.close_is_end = TRUE;
    return load_request (request, options, max_bytes, wake_fd, size, error);
  }
  return load_file (uri, max_bytes, wake_fd, size, error);
}
