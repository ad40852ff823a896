/* s3-ask.c: one request of those that fetch credentials, waited for */
#include "s3-ask.h"
#include "hr-error.h"
#include "http-wait.h"

#define MAX_BYTES (64 * 1024)

typedef struct {
  const HrS3Ask *ask;
  gboolean set_right; /* the clock was: a request that is refused again is wrong */
} Question;

static gboolean
prepare (HrHttpRequest *request, GPtrArray *headers, GError **error)
{
  const HrS3Ask *ask = ((const Question *)request->protocol_data)->ask;

  for (const char *const *header = ask->headers; header && *header; header++)
    g_ptr_array_add (headers, g_strdup (*header));
  return !ask->sign || ask->sign (ask->sign_data, hr_server_clock_now (ask->clock), headers, error);
}

/* TRUE: what was refused may have been signed at the wrong time. Whatever it is called: there are
 * half a dozen words for that. */
static gboolean
mend_clock (Question *question, const HrHttpResponse *response)
{
  HrServerClock *clock = question->ask->clock;

  if (!clock || question->set_right || !hr_server_clock_is_off (clock, response))
    return FALSE;
  question->set_right = TRUE;
  hr_server_clock_set (clock, hr_server_clock_read (response));
  return question->ask->sign && (response->status == 400 || response->status == 403);
}

static HrRetry
judge (HrHttpRequest *request, GError **error)
{
  Question *question = request->protocol_data;
  const HrS3Ask *ask = question->ask;
  gboolean mended = mend_clock (question, &request->response);
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
  if (mended)
    retry = HR_RETRY_AT_ONCE;
  return retry;
}

GString *
hr_s3_ask (const HrS3Ask *ask, int wake_fd, guint *status, GError **error)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;
  Question question = { .ask = ask };
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
  request->protocol_data = &question;
  good = hr_http_wait (http, request, wake_fd, &answer, error);
  if (status)
    *status = answer.status;
  if (!good)
    return NULL;
  return answer.received > 0 ? g_string_new_len ((const char *)answer.body->data, answer.received)
                             : g_string_new (NULL);
}
