/* retry.c: which answers are worth another try, and when */
#include "retry.h"
#include <curl/curl.h>

HrRetry
hr_retry_for_status (guint status)
{
  switch (status) {
  case 429:
  case 503:
    return HR_RETRY_THROTTLED;
  case 408:
  case 500:
  case 502:
  case 504:
    return HR_RETRY_SOON;
  default:
    return HR_RETRY_NO;
  }
}

HrRetry
hr_retry_for_curl (int code)
{
  switch (code) {
  /* nothing that time would mend */
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_URL_MALFORMAT:
  case CURLE_NOT_BUILT_IN:
  case CURLE_OUT_OF_MEMORY:
  case CURLE_TOO_MANY_REDIRECTS:
  case CURLE_BAD_FUNCTION_ARGUMENT:
  case CURLE_UNKNOWN_OPTION:
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_CERTPROBLEM:
  case CURLE_SSL_CIPHER:
  case CURLE_SSL_ENGINE_NOTFOUND:
  case CURLE_SSL_ENGINE_SETFAILED:
  case CURLE_SSL_ISSUER_ERROR:
  case CURLE_SSL_INVALIDCERTSTATUS:
  case CURLE_LOGIN_DENIED:
  case CURLE_FILESIZE_EXCEEDED:
    return HR_RETRY_NO;
  default:
    return HR_RETRY_SOON;
  }
}

gint64
hr_retry_delay (const HrRetryTimes *times, HrRetry retry, guint tries, gint64 retry_after,
                gdouble random)
{
  gint64 limit = retry == HR_RETRY_THROTTLED ? times->throttled_base : times->base;

  if (retry == HR_RETRY_AT_ONCE)
    return 0;
  for (guint i = 1; i < tries && limit < times->cap; i++)
    limit *= 2;
  limit = MIN (limit, times->cap);
  return MAX ((gint64)(random * limit), MIN (retry_after, 3 * times->cap));
}

gint64
hr_http_date (const char *value)
{
  return MAX (curl_getdate (value, NULL), -1); /* no answer is from before 1970 */
}

gint64
hr_retry_after (const char *value, gint64 now)
{
  guint64 seconds;
  gint64 date;

  if (!value)
    return 0;
  if (g_ascii_string_to_unsigned (value, 10, 0, 1000000, &seconds, NULL))
    return seconds * G_GINT64_CONSTANT (1000000000);
  date = hr_http_date (value);
  return date > now ? MIN (date - now, 1000000) * G_GINT64_CONSTANT (1000000000) : 0;
}
