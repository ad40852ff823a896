/* s3-uri.c: s3://bucket/key: names, not URLs: nothing in them is encoded */
#include "s3-uri.h"
#include "hr-error.h"
#include "hr-secrets.h"
#include <string.h>

#define SCHEME "s3://"

/* what AWS allows, and the upper case and underscores of old and of other services' buckets; ':'
 * is left out, so that "s3://host:9000/bucket" is told from a bucket */
static gboolean
is_bucket (const char *name)
{
  for (const char *c = name; *c; c++)
    if (!g_ascii_isalnum (*c) && !strchr ("-._", *c))
      return FALSE;
  return *name && !strstr (name, "..") && *name != '.';
}

gboolean
hr_s3_uri_parse (HrS3Uri *uri, const char *text, GError **error)
{
  g_autofree char *shown = NULL;
  const char *bucket, *slash;

  *uri = (HrS3Uri){ 0 };
  if (!g_str_has_prefix (text, SCHEME)) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "\"%s\" is no S3 location: s3://BUCKET/PREFIX, s3://BUCKET/KEY or with * ? [ ]",
                 text);
    return FALSE;
  }
  bucket = text + strlen (SCHEME);
  slash = strchrnul (bucket, '/');
  uri->bucket = g_strndup (bucket, slash - bucket);
  uri->key = g_strdup (*slash ? slash + 1 : "");
  if (is_bucket (uri->bucket))
    return TRUE;
  /* people write keys in front of a bucket */
  shown = hr_secrets_hide (text, HR_SECRETS_IN_VALUE);
  bucket = shown + strlen (SCHEME);
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
               "\"%.*s\" is no bucket name (in \"%s\"); a server is named by endpoint=",
               (int)strcspn (bucket, "/"), bucket, shown);
  hr_s3_uri_clear (uri);
  return FALSE;
}

void
hr_s3_uri_clear (HrS3Uri *uri)
{
  g_clear_pointer (&uri->bucket, g_free);
  g_clear_pointer (&uri->key, g_free);
}

char *
hr_s3_uri_format (const char *bucket, const char *key)
{
  return g_strconcat (SCHEME, bucket, "/", key, NULL);
}
