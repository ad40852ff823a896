/* s3-ask.c: one request of those that fetch credentials, waited for */
#include "s3-ask.h"
#include "hr-error.h"
#include "http-wait.h"

#define MAX_BYTES (64 * 1024)

static gboolean
prepare (HrHttpRequest *request, GPtrArray *headers, GError **error G_GNUC_UNUSED)
{
  const HrS3Ask *ask = request->protocol_data;

  for (const char *const *header = ask->headers; header && *header; header++)
    g_ptr_array_add (headers, g_strdup (*header));
  return TRUE;
}

static HrRetry
judge (HrHttpRequest *request, GError **error)
{
  const HrS3Ask *ask = request->protocol_data;
  guint status = request->response.status;
  HrRetry retry = hr_retry_for_status (status);
  g_autoptr (GString) words = g_string_new (NULL);

  if (status == 200)
    return HR_RETRY_NO;
  g_string_printf (words, "HTTP %u %s", status, hr_http_status_text (status));
  if (ask->explain && request->complaint)
    ask->explain ((const char *)request->complaint->data, request->complaint->len, words, &retry);
  if (ask->secrets)
    hr_s3_keys_hide (ask->secrets, words);
  hr_s3_keys_cut (words);
  g_set_error_literal (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, words->str);
  return retry;
}

GString *
hr_s3_ask (const HrS3Ask *ask, int wake_fd, guint *status, GError **error)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = NULL;
  g_auto (HrHttpAnswer) answer = { 0 };
  HrHttpRequest *request;
  gboolean good;

  options.max_transfers = 1;
  options.connect_timeout = options.first_byte_timeout = options.progress_timeout = ask->timeout;
  options.max_tries = ask->tries;
  http = hr_http_new (&options, error);
  if (!http)
    return NULL;
  request = hr_http_request_new (ask->name, ask->url);
  request->method = ask->method;
  request->form = ask->form;
  request->direct = ask->direct;
  request->ca_bundle = ask->ca_bundle;
  request->afresh = TRUE;
  request->question.close_is_end = TRUE;
  request->max_bytes = MAX_BYTES;
  request->prepare = prepare;
  request->judge = judge;
  request->protocol_data = (gpointer)ask;
  good = hr_http_wait (http, request, wake_fd, &answer, error);
  if (status)
    *status = answer.status;
  if (!good)
    return NULL;
  return answer.received > 0 ? g_string_new_len ((const char *)answer.body->data, answer.received)
                             : g_string_new (NULL);
}
