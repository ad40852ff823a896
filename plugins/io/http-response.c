/* http-response.c: the head of an answer, and whether it answers what was asked */
#include "http-response.h"
#include "hr-error.h"
#include <string.h>

#define SUM_PREFIX "x-amz-checksum-"

void
hr_http_response_init (HrHttpResponse *response)
{
  *response = (HrHttpResponse){
    .content_length = -1, .range_first = -1, .range_last = -1, .range_total = -1
  };
}

void
hr_http_response_clear (HrHttpResponse *response)
{
  g_free (response->etag);
  g_free (response->content_type);
  g_free (response->content_encoding);
  g_free (response->retry_after);
  g_free (response->location);
  g_free (response->date);
  g_free (response->region);
  for (guint i = 0; i < HR_HTTP_N_SUMS; i++)
    g_free (response->sums[i]);
  hr_http_response_init (response);
}

static gboolean
parse_number (const char **at, gint64 *number)
{
  char *end;
  guint64 value;

  if (!g_ascii_isdigit (**at))
    return FALSE;
  value = g_ascii_strtoull (*at, &end, 10);
  if (value > G_MAXINT64)
    return FALSE;
  *number = value;
  *at = end;
  return TRUE;
}

/* bytes 0-99 of 1234, of an unknown number ("*"), or none of 1234 */
static void
parse_content_range (HrHttpResponse *response, const char *value)
{
  if (g_ascii_strncasecmp (value, "bytes", 5) != 0)
    return;
  value += 5;
  value += strspn (value, " =");
  if (*value == '*') {
    value++;
  } else {
    gint64 first, last;

    if (!parse_number (&value, &first) || *value++ != '-' || !parse_number (&value, &last))
      return;
    response->range_first = first;
    response->range_last = last;
  }
  if (*value++ == '/')
    parse_number (&value, &response->range_total);
}

static void
set_string (char **field, const char *value)
{
  g_free (*field);
  *field = g_strdup (value);
}

static void
set_content_length (HrHttpResponse *response, const char *value)
{
  gint64 length = -1;

  if (!parse_number (&value, &length) || *value != '\0')
    length = -1;
  if (length < 0 || (response->content_length >= 0 && response->content_length != length))
    response->contradicts = TRUE;
  response->content_length = length;
}

/* @name: behind "x-amz-checksum-" */
static void
set_sum (HrHttpResponse *response, const char *name, const char *value)
{
  static const char *const names[HR_HTTP_N_SUMS] = {
    [HR_HTTP_SUM_CRC64NVME] = "crc64nvme", [HR_HTTP_SUM_CRC32C] = "crc32c",
    [HR_HTTP_SUM_CRC32] = "crc32",         [HR_HTTP_SUM_SHA1] = "sha1",
    [HR_HTTP_SUM_SHA256] = "sha256",
  };

  if (g_ascii_strcasecmp (name, "type") == 0)
    response->sums_of_parts = g_ascii_strcasecmp (value, "COMPOSITE") == 0;
  for (guint i = 0; i < HR_HTTP_N_SUMS; i++)
    if (g_ascii_strcasecmp (name, names[i]) == 0)
      set_string (&response->sums[i], value);
}

static void
set_header (HrHttpResponse *response, const char *name, const char *value)
{
  if (g_ascii_strcasecmp (name, "content-length") == 0)
    set_content_length (response, value);
  else if (g_ascii_strcasecmp (name, "transfer-encoding") == 0)
    response->chunked |= strstr (value, "chunked") != NULL;
  else if (g_ascii_strcasecmp (name, "content-range") == 0)
    parse_content_range (response, value);
  else if (g_ascii_strcasecmp (name, "etag") == 0)
    set_string (&response->etag, value);
  else if (g_ascii_strcasecmp (name, "content-type") == 0)
    set_string (&response->content_type, value);
  else if (g_ascii_strcasecmp (name, "content-encoding") == 0)
    set_string (&response->content_encoding, value);
  else if (g_ascii_strcasecmp (name, "retry-after") == 0)
    set_string (&response->retry_after, value);
  else if (g_ascii_strcasecmp (name, "location") == 0)
    set_string (&response->location, value);
  else if (g_ascii_strcasecmp (name, "date") == 0)
    set_string (&response->date, value);
  else if (g_ascii_strcasecmp (name, "x-amz-bucket-region") == 0)
    set_string (&response->region, value);
  else if (g_ascii_strncasecmp (name, SUM_PREFIX, strlen (SUM_PREFIX)) == 0)
    set_sum (response, name + strlen (SUM_PREFIX), value);
}

void
hr_http_response_line (HrHttpResponse *response, const char *line, gsize length)
{
  g_autofree char *text = g_strstrip (g_strndup (line, length));
  char *value;

  if (g_str_has_prefix (text, "HTTP/")) {
    const char *status = strchr (text, ' ');

    hr_http_response_clear (response);
    response->status = status ? g_ascii_strtoull (status, NULL, 10) : 0;
    return;
  }
  value = strchr (text, ':');
  if (value) {
    *value++ = '\0';
    set_header (response, g_strchomp (text), g_strstrip (value));
  }
}

gint64
hr_http_response_body_length (const HrHttpResponse *response)
{
  return response->chunked ? -1 : response->content_length;
}

gboolean
hr_http_response_is_whole (const HrHttpResponse *response)
{
  if (response->range_first < 0)
    return response->status == 200;
  return response->range_first == 0 && response->range_last + 1 == response->range_total;
}

static gboolean
check_range (const HrHttpResponse *response, const HrHttpQuestion *question, GError **error)
{
  gint64 last = question->last, length = hr_http_response_body_length (response);

  /* a whole object where a part was asked for is right only if the part is the whole */
  if (response->range_first < 0) {
    if (response->status == 200 && question->first == 0
        && (question->or_whole || (length >= 0 && length <= last + 1)))
      return TRUE;
    if (response->status == 206 && length == 0 && response->range_total == 0)
      return TRUE;
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "the server ignored the range %" G_GINT64_FORMAT "-%" G_GINT64_FORMAT
                 " (status %u, no Content-Range)",
                 question->first, question->last, response->status);
    return FALSE;
  }
  if (response->range_total >= 0)
    last = MIN (last, response->range_total - 1);
  else if (question->or_whole) /* whoever asks so asks again if it is not told how much there is */
    last = MIN (last, response->range_last);
  if (response->range_first != question->first || response->range_last != last
      || (length >= 0 && length != last - question->first + 1)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "asked for bytes %" G_GINT64_FORMAT "-%" G_GINT64_FORMAT
                 ", the server gave %" G_GINT64_FORMAT "-%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                 " in a body of %" G_GINT64_FORMAT,
                 question->first, question->last, response->range_first, response->range_last,
                 response->range_total, length);
    return FALSE;
  }
  return TRUE;
}

/* weak tags compare like strong ones: servers that give W/ tags change them with the object too */
static gboolean
same_etag (const char *a, const char *b)
{
  a += g_str_has_prefix (a, "W/") ? 2 : 0;
  b += g_str_has_prefix (b, "W/") ? 2 : 0;
  return strcmp (a, b) == 0;
}

static gboolean
check_identity (const HrHttpResponse *response, const HrHttpQuestion *question, gint64 total,
                GError **error)
{
  if (question->etag && response->etag && !same_etag (question->etag, response->etag)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                 "the object was replaced while it was read: its ETag was %s and is %s",
                 question->etag, response->etag);
    return FALSE;
  }
  if (question->size >= 0 && total >= 0 && total != question->size) {
    /* What has an ETag and this one is the same object, whose size does not change: then the answer
     * is wrong. What has none may be an error page instead of it. Both are worth another try. */
    gboolean wrong = question->etag != NULL;

    g_set_error (error, HR_RESOURCE_ERROR,
                 wrong ? HR_RESOURCE_ERROR_READ : HR_RESOURCE_ERROR_CHANGED,
                 "the object had %" G_GINT64_FORMAT " bytes and has %" G_GINT64_FORMAT "%s",
                 question->size, total, wrong && response->etag ? " under the same ETag" : "");
    return FALSE;
  }
  return TRUE;
}

gboolean
hr_http_response_check (const HrHttpResponse *response, const HrHttpQuestion *question,
                        GError **error)
{
  gint64 length = hr_http_response_body_length (response);

  if (response->contradicts) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "the answer has two Content-Lengths, or one that is no number");
    return FALSE;
  }
  if (length < 0 && !response->chunked && !question->close_is_end) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "the answer does not tell its length");
    return FALSE;
  }
  if (response->content_encoding && g_ascii_strcasecmp (response->content_encoding, "identity") != 0
      && g_ascii_strcasecmp (response->content_encoding, "aws-chunked") != 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "stored with Content-Encoding: %s, which is not supported",
                 response->content_encoding);
    return FALSE;
  }
  if (question->first >= 0) {
    /* Some servers say 200 and mean 206. A 206 that does not say which part it is (or has several)
     * tells nothing of the whole. */
    gboolean whole = response->range_first < 0 && response->status == 200;
    gint64 total = whole ? length : response->range_total;

    /* identity first: of a replaced object the range may differ as well */
    return check_identity (response, question, total, error)
           && check_range (response, question, error);
  }
  if (response->status == 206) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "asked for the whole, the server gave a part (status 206)");
    return FALSE;
  }
  return check_identity (response, question, length, error);
}

const char *
hr_http_status_text (guint status)
{
  static const struct {
    guint status;
    const char *text;
  } texts[] = { { 301, "Moved Permanently" },   { 302, "Found" },
                { 304, "Not Modified" },        { 307, "Temporary Redirect" },
                { 400, "Bad Request" },         { 401, "Unauthorized" },
                { 403, "Forbidden" },           { 404, "Not Found" },
                { 405, "Method Not Allowed" },  { 407, "Proxy Authentication Required" },
                { 408, "Request Timeout" },     { 410, "Gone" },
                { 412, "Precondition Failed" }, { 416, "Range Not Satisfiable" },
                { 429, "Too Many Requests" },   { 500, "Internal Server Error" },
                { 501, "Not Implemented" },     { 502, "Bad Gateway" },
                { 503, "Service Unavailable" }, { 504, "Gateway Timeout" } };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    if (texts[i].status == status)
      return texts[i].text;
  return "";
}

int
hr_http_status_error (guint status)
{
  switch (status) {
  case 401:
  case 403:
    return HR_RESOURCE_ERROR_FORBIDDEN;
  case 404:
  case 410:
    return HR_RESOURCE_ERROR_NOT_FOUND;
  case 412:
    return HR_RESOURCE_ERROR_CHANGED;
  case 408:
  case 504:
    return HR_RESOURCE_ERROR_TIMEOUT;
  default:
    return HR_RESOURCE_ERROR_READ;
  }
}
