/* s3-request.c: HTTP requests that are S3's: signed anew at each try, mended when they are refused
 */
#include "s3-request.h"
#include "hr-error.h"
#include "s3-endpoint.h"
#include "s3-error.h"
#include "s3-keys.h"
#include "s3-list.h"
#include "s3-uri.h"
#include "server-clock.h"
#include <string.h>

/* a page holds at most 1000 keys of 1024 bytes, each of which may be written in three */
#define MOST_PAGE_BYTES (64 * 1024 * 1024)

typedef struct {
  HrS3Config *config;
  char *bucket;
  char *key;
  char *query;
  gboolean is_list;
  guint state;        /* of the configuration this try was signed with */
  gboolean renewed;   /* the credentials were, once: keys that are refused again are wrong */
  gboolean set_right; /* the clock, likewise */
  char *region;       /* the one a server has sent us to */
  char *code;
} Call;

static void
call_free (gpointer data)
{
  Call *call = data;

  hr_s3_config_unref (call->config);
  g_free (call->bucket);
  g_free (call->key);
  g_free (call->query);
  g_free (call->region);
  g_free (call->code);
  g_free (call);
}

static gboolean
prepare (HrHttpRequest *request, GPtrArray *headers, GError **error)
{
  Call *call = request->protocol_data;
  g_auto (HrS3Place) place = { 0 };

  hr_s3_config_locate (call->config, call->bucket, call->key, call->query, &place);
  if (request->verify != HR_VERIFY_NONE && !request->head && !call->is_list)
    g_ptr_array_add (headers, g_strdup ("x-amz-checksum-mode: ENABLED"));
  if (!hr_s3_config_sign (call->config, request->head ? "HEAD" : "GET", call->bucket, &place,
                          call->query, headers, &call->state, error))
    return FALSE;
  g_free (request->url);
  request->url = g_steal_pointer (&place.url);
  return TRUE;
}

static gboolean
mend_credentials (Call *call)
{
  if (call->renewed)
    return FALSE;
  call->renewed = TRUE;
  return hr_s3_config_refresh (call->config, call->state);
}

/* What is wrong may have been mended since the try was signed that is answered here: by another
 * request, or for a second try of this one, whose state call->state is then. So each thing is worth
 * one more try, even if there is nothing to mend. */
static gboolean
mend_clock (const HrHttpResponse *response, Call *call)
{
  gint64 date = hr_server_clock_read (response);
  gboolean first = !call->set_right;

  if (date < 0)
    return FALSE;
  call->set_right = TRUE;
  return hr_s3_config_set_clock (call->config, call->state, date) || first;
}

/* the answer to a HEAD has no body, and so no word for what is wrong */
static gboolean
mend_wordless (const HrHttpResponse *response, Call *call)
{
  const HrServerClock ours = { 0 };

  if (response->status != 400 && response->status != 403)
    return FALSE;
  if (hr_server_clock_is_off (&ours, response) && mend_clock (response, call))
    return TRUE;
  return hr_s3_config_is_temporary (call->config) && mend_credentials (call);
}

/* can we do something about it ourselves? */
static gboolean
mend (HrHttpRequest *request, Call *call, const HrS3Error *parsed)
{
  const HrHttpResponse *response = &request->response;
  const char *code = parsed->code ? parsed->code : "";
  const char *region = parsed->region ? parsed->region : response->region;

  if (strcmp (code, "ExpiredToken") == 0 || strcmp (code, "TokenRefreshRequired") == 0
      || strcmp (code, "InvalidToken") == 0)
    return mend_credentials (call);
  if (strcmp (code, "RequestTimeTooSkewed") == 0)
    return mend_clock (response, call);
  if (region && hr_s3_region_is_name (region)
      && (response->status == 301 || response->status == 307 || response->status == 400)) {
    gboolean first = g_strcmp0 (call->region, region) != 0;

    if (hr_s3_config_set_region (call->config, call->state, call->bucket, region) || first) {
      g_free (call->region);
      call->region = g_strdup (region);
      return TRUE;
    }
  }
  return request->head && mend_wordless (response, call);
}

static const char *
get_advice (const char *code)
{
  if (strcmp (code, "RequestTimeTooSkewed") == 0)
    return "; the clock of this machine is wrong";
  if (strcmp (code, "SignatureDoesNotMatch") == 0)
    return "; the secret key is wrong";
  if (strcmp (code, "ExpiredToken") == 0)
    return "; the credentials have expired";
  return "";
}

static void
set_words (HrHttpRequest *request, Call *call, const HrS3Error *parsed, int error_code,
           GError **error)
{
  g_autoptr (GString) words = g_string_new (NULL);
  guint status = request->response.status;

  g_string_append_printf (words, "HTTP %u", status);
  if (parsed->code)
    g_string_append_printf (words, " %s", parsed->code);
  else
    g_string_append_printf (words, " %s", hr_http_status_text (status));
  if (parsed->message)
    g_string_append_printf (words, ": %s", parsed->message);
  hr_s3_config_hide_secrets (call->config, words);
  hr_s3_keys_cut (words);
  if (call->region)
    g_string_append_printf (words, "; the bucket is in region %s", call->region);
  if (parsed->code)
    g_string_append (words, get_advice (parsed->code));
  if (status == 412 && request->question.etag)
    g_string_append_printf (words, "; the object was replaced while it was read, its ETag was %s",
                            request->question.etag);
  g_set_error_literal (error, HR_RESOURCE_ERROR, error_code, words->str);
}

/* a document where data should be: some servers find out too late to send another status */
static gboolean
find_error (HrHttpRequest *request, HrS3Error *parsed)
{
  const HrHttpResponse *response = &request->response;

  if (response->status == 200 || response->status == 206) {
    if (request->received == 0 || response->etag)
      return FALSE;
    return hr_s3_error_parse (parsed, (const char *)request->body->data, request->received);
  }
  if (request->complaint)
    hr_s3_error_parse (parsed, (const char *)request->complaint->data, request->complaint->len);
  return TRUE;
}

static HrRetry
judge_list (HrHttpRequest *request, GError **error)
{
  g_auto (HrS3Page) page = { 0 };

  if (request->received > 0
      && hr_s3_list_parse (&page, (const char *)request->body->data, request->received, error))
    return HR_RETRY_NO;
  if (error && !*error)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "the list of keys is broken: it is empty");
  return HR_RETRY_SOON;
}

/* a proxy's, that wants a login, say */
static gboolean
is_strange_page (const HrHttpResponse *response)
{
  return !response->etag && response->content_type
         && g_ascii_strncasecmp (response->content_type, "text/html", 9) == 0;
}

static HrRetry
judge_object (HrHttpRequest *request, GError **error)
{
  if (!is_strange_page (&request->response))
    return HR_RETRY_NO;
  g_set_error (
      error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
      "the answer is a page of HTML without an ETag: no object, but what something between "
      "us and the server says");
  return HR_RETRY_SOON;
}

static HrRetry
judge (HrHttpRequest *request, GError **error)
{
  Call *call = request->protocol_data;
  g_auto (HrS3Error) parsed = { 0 };
  guint status = request->response.status;
  HrRetry retry;
  int error_code;

  g_clear_pointer (&call->code, g_free);
  if (status == 416 && request->response.range_total == 0)
    return HR_RETRY_NO; /* an empty object has no range */
  if (!find_error (request, &parsed))
    return call->is_list ? judge_list (request, error) : judge_object (request, error);

  call->code = g_strdup (parsed.code);
  if (mend (request, call, &parsed)) {
    set_words (request, call, &parsed, HR_RESOURCE_ERROR_FAILED, error);
    return HR_RETRY_AT_ONCE;
  }
  retry = hr_s3_error_judge (parsed.code, status, &error_code);
  /* an error in a 200 is the server's fault, whatever it says */
  if (status < 300 && retry == HR_RETRY_NO)
    retry = HR_RETRY_SOON;
  set_words (request, call, &parsed, error_code, error);
  return retry;
}

static HrHttpRequest *
new_request (HrS3Config *config, const char *bucket, const char *key, const char *query,
             const char *name)
{
  g_auto (HrS3Place) place = { 0 };
  HrHttpRequest *request;
  Call *call = g_new0 (Call, 1);

  /* so that its server is known before it is signed */
  hr_s3_config_locate (config, bucket, key, query, &place);
  request = hr_http_request_new (name, place.url);
  call->config = hr_s3_config_ref (config);
  call->bucket = g_strdup (bucket);
  call->key = g_strdup (key);
  call->query = g_strdup (query);
  request->prepare = prepare;
  request->judge = judge;
  request->ca_bundle = hr_s3_config_get_ca_bundle (config);
  request->protocol_data = call;
  request->protocol_free = call_free;
  return request;
}

HrHttpRequest *
hr_s3_get (HrS3Config *config, const char *bucket, const char *key)
{
  g_autofree char *name = hr_s3_uri_format (bucket, key);

  return new_request (config, bucket, key, "", name);
}

HrHttpRequest *
hr_s3_head (HrS3Config *config, const char *bucket, const char *key)
{
  HrHttpRequest *request = hr_s3_get (config, bucket, key);

  request->head = TRUE;
  return request;
}

HrHttpRequest *
hr_s3_list (HrS3Config *config, const char *bucket, const char *query)
{
  g_autofree char *name = g_strdup_printf ("s3://%s: list", bucket);
  HrHttpRequest *request = new_request (config, bucket, "", query, name);

  ((Call *)request->protocol_data)->is_list = TRUE;
  request->max_bytes = MOST_PAGE_BYTES;
  request->afresh = TRUE;
  return request;
}

const char *
hr_s3_request_get_code (HrHttpRequest *request)
{
  return ((Call *)request->protocol_data)->code;
}
