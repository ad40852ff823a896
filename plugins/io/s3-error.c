/* s3-error.c: what an S3 server says when it refuses */
#include "s3-error.h"
#include "hr-error.h"
#include "s3-xml.h"
#include <string.h>

typedef struct {
  HrS3Xml xml;
  HrS3Error *parsed;
  gboolean is_error;
  guint depth;
} Reader;

static void
on_start (GMarkupParseContext *context G_GNUC_UNUSED, const char *element,
          const char **names G_GNUC_UNUSED, const char **values G_GNUC_UNUSED, gpointer data,
          GError **error G_GNUC_UNUSED)
{
  Reader *reader = data;

  if (reader->depth++ == 0)
    reader->is_error = strcmp (element, "Error") == 0;
  g_string_truncate (reader->xml.text, 0);
}

static void
on_end (GMarkupParseContext *context G_GNUC_UNUSED, const char *element, gpointer data,
        GError **error G_GNUC_UNUSED)
{
  Reader *reader = data;

  if (--reader->depth != 1 || !reader->is_error)
    return;
  if (strcmp (element, "Code") == 0)
    hr_s3_xml_take (&reader->parsed->code, reader->xml.text->str);
  else if (strcmp (element, "Message") == 0)
    hr_s3_xml_take (&reader->parsed->message, g_strstrip (reader->xml.text->str));
  else if (strcmp (element, "Region") == 0)
    hr_s3_xml_take (&reader->parsed->region, reader->xml.text->str);
}

gboolean
hr_s3_error_parse (HrS3Error *parsed, const char *text, gsize size)
{
  static const GMarkupParser parser = { on_start, on_end, hr_s3_xml_on_text, NULL, NULL };
  g_autoptr (GString) buffer = g_string_new (NULL);
  Reader reader = { .parsed = parsed, .xml = { buffer } };
  g_autoptr (GMarkupParseContext) context = NULL;

  *parsed = (HrS3Error){ 0 };
  context = g_markup_parse_context_new (&parser, 0, &reader, NULL);
  /* what was understood of a broken document is still of use */
  (void)g_markup_parse_context_parse (context, text, size, NULL);
  if (reader.is_error && parsed->code)
    return TRUE;
  hr_s3_error_clear (parsed);
  return FALSE;
}

void
hr_s3_error_clear (HrS3Error *parsed)
{
  g_clear_pointer (&parsed->code, g_free);
  g_clear_pointer (&parsed->message, g_free);
  g_clear_pointer (&parsed->region, g_free);
}

typedef struct {
  const char *code;
  HrRetry retry;
  int error_code;
} Verdict;

static const Verdict verdicts[] = {
  { "SlowDown", HR_RETRY_THROTTLED, HR_RESOURCE_ERROR_READ },
  { "ServiceUnavailable", HR_RETRY_THROTTLED, HR_RESOURCE_ERROR_READ },
  { "RequestLimitExceeded", HR_RETRY_THROTTLED, HR_RESOURCE_ERROR_READ },
  { "Throttling", HR_RETRY_THROTTLED, HR_RESOURCE_ERROR_READ },
  { "ThrottlingException", HR_RETRY_THROTTLED, HR_RESOURCE_ERROR_READ },
  { "InternalError", HR_RETRY_SOON, HR_RESOURCE_ERROR_READ },
  { "OperationAborted", HR_RETRY_SOON, HR_RESOURCE_ERROR_READ },
  { "RequestTimeout", HR_RETRY_SOON, HR_RESOURCE_ERROR_TIMEOUT },
  { "NoSuchKey", HR_RETRY_NO, HR_RESOURCE_ERROR_NOT_FOUND },
  { "AccessDenied", HR_RETRY_NO, HR_RESOURCE_ERROR_FORBIDDEN },
  { "PreconditionFailed", HR_RETRY_NO, HR_RESOURCE_ERROR_CHANGED },
  /* not about one key: the run cannot go on */
  { "NoSuchBucket", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "InvalidBucketName", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "AllAccessDisabled", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "AccountProblem", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "InvalidAccessKeyId", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "SignatureDoesNotMatch", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "AuthorizationHeaderMalformed", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "ExpiredToken", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "InvalidToken", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "TokenRefreshRequired", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "RequestTimeTooSkewed", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "PermanentRedirect", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
  { "TemporaryRedirect", HR_RETRY_NO, HR_RESOURCE_ERROR_FAILED },
};

HrRetry
hr_s3_error_judge (const char *code, guint status, int *error_code)
{
  for (guint i = 0; code && i < G_N_ELEMENTS (verdicts); i++)
    if (strcmp (verdicts[i].code, code) == 0) {
      *error_code = verdicts[i].error_code;
      return verdicts[i].retry;
    }
  *error_code = hr_http_status_error (status);
  /* 401 tells of wrong credentials, not of one key */
  if (status == 401 || (status >= 300 && status < 400))
    *error_code = HR_RESOURCE_ERROR_FAILED;
  return hr_retry_for_status (status);
}
