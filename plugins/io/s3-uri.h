/* s3-uri.h: s3://bucket/key: names, not URLs: nothing in them is encoded */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  char *bucket;
  char *key; /* may be empty, hold anything, begin with "/" */
} HrS3Uri;

/* HR_PARSE_ERROR_BAD_VALUE if it does not begin with "s3://" and a bucket name */
gboolean hr_s3_uri_parse (HrS3Uri *uri, const char *text, GError **error);
void hr_s3_uri_clear (HrS3Uri *uri);
/* (transfer full): "s3://bucket/key" */
char *hr_s3_uri_format (const char *bucket, const char *key);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrS3Uri, hr_s3_uri_clear)

G_END_DECLS
