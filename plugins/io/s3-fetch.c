/* s3-fetch.c: asks a source of keys for them */
#include "hr-error.h"
#include "s3-container.h"
#include "s3-instance.h"
#include "s3-process.h"
#include "s3-source.h"
#include "s3-sts.h"

static gboolean
fetch_instance (const HrS3Source *source, int wake_fd, HrS3Keys *keys, GError **error)
{
  g_autoptr (GError) failure = NULL;

  if (hr_s3_instance_fetch (source->url, source->timeout, source->tries, wake_fd, keys, &failure))
    return TRUE;
  /* the last place of all: that it has none means that nobody has */
  if (source->profile && g_error_matches (failure, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED) == FALSE)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, HR_S3_NO_CREDENTIALS,
                 source->profile, failure->message);
  else
    g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

static gboolean
fetch_role (const HrS3Source *source, int wake_fd, HrS3Keys *keys, GError **error)
{
  g_auto (HrS3Keys) signer = { 0 };

  return hr_s3_source_fetch (source->from, wake_fd, &signer, error)
         && hr_s3_sts_assume (source, &signer, wake_fd, keys, error);
}

static gboolean
fetch (const HrS3Source *source, int wake_fd, HrS3Keys *keys, GError **error)
{
  switch (source->kind) {
  case HR_S3_SOURCE_ROLE:
    return fetch_role (source, wake_fd, keys, error);
  case HR_S3_SOURCE_WEB_IDENTITY:
    return hr_s3_sts_assume_with_token (source, wake_fd, keys, error);
  case HR_S3_SOURCE_PROCESS:
    return hr_s3_process_fetch (source->command, wake_fd, keys, error);
  case HR_S3_SOURCE_CONTAINER:
    return hr_s3_container_fetch (source->url, source->token_file, source->token, wake_fd, keys,
                                  error);
  case HR_S3_SOURCE_INSTANCE:
    return fetch_instance (source, wake_fd, keys, error);
  default:
    hr_s3_keys_copy (&source->keys, keys);
    return TRUE;
  }
}

gboolean
hr_s3_source_fetch (const HrS3Source *source, int wake_fd, HrS3Keys *keys, GError **error)
{
  gint64 now = g_get_real_time () / G_USEC_PER_SEC;

  if (!fetch (source, wake_fd, keys, error)) {
    if (source->profile && source->kind != HR_S3_SOURCE_INSTANCE)
      g_prefix_error (error, "S3 credentials of profile \"%s\": ", source->profile);
    return FALSE;
  }
  if (keys->expires == 0 || keys->expires > now)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "the S3 credentials (%s) had expired %" G_GINT64_FORMAT " s before they were given",
               source->method, now - keys->expires);
  hr_s3_keys_clear (keys);
  return FALSE;
}
