/* http-try.c: one try of a request: what is asked, what curl gives us, and what it was worth */
#include "http-private.h"
#include "hr-error.h"
#include <string.h>

#define COMPLAINT_BYTES (64 * 1024)
#define BUFFER_BYTES (64 * 1024L)

/* ---- what curl calls ---- */

static void
note_bytes (Try *attempt)
{
  attempt->progress = hr_http_clock (attempt->transfer->http);
  if (attempt->first == 0) {
    attempt->first = MAX (attempt->progress, 1);
    hr_http_look_at (attempt->transfer); /* the time for the next byte may be shorter */
  }
}

static const HrHttpResponse *
get_response (const Try *attempt)
{
  const Transfer *transfer = attempt->transfer;

  return transfer->has_answer && transfer->lead == attempt ? &transfer->request->response
                                                           : &attempt->response;
}

static gboolean
is_success (const Try *attempt)
{
  guint status = get_response (attempt)->status;

  return status == 200 || status == 206;
}

/* Behind other answers the connection is closed: it may be that they are no answers to us, but what
 * was left of one before, and that ours is still to come (see HrHttpSockets). */
static gboolean
is_usual (guint status)
{
  return status == 200 || status == 206 || status == 304 || status == 403 || status == 404;
}

static size_t
on_header (char *line, size_t size, size_t n, void *data)
{
  Try *attempt = data;

  if (attempt->lost)
    return 0;
  note_bytes (attempt);
  hr_http_response_line (&attempt->response, line, size * n);
  curl_easy_setopt (attempt->easy, CURLOPT_FORBID_REUSE,
                    (long)!is_usual (attempt->response.status));
  return size * n;
}

/* what this try asked for: the rest, if there was a try before it */
static HrHttpQuestion
get_question (const HrHttpRequest *request, gint64 asked)
{
  HrHttpQuestion question = request->question;

  if (asked > 0) {
    if (question.first < 0) {
      question.first = 0;
      question.last = question.size - 1;
    }
    question.first += asked;
  }
  return question;
}

/* later tries must read the same object */
static void
note_identity (Try *attempt)
{
  HrHttpRequest *request = attempt->transfer->request;
  const HrHttpResponse *response = get_response (attempt);
  gint64 size =
      response->range_first >= 0 ? response->range_total : hr_http_response_body_length (response);

  /* without a tag it cannot be told, and an error page must not pass for the object */
  if (!response->etag || request->afresh)
    return;
  if (request->question.size >= 0)
    size = request->question.size;
  if (!request->question.etag || size != request->question.size) {
    g_autofree char *etag =
        g_strdup (request->question.etag ? request->question.etag : response->etag);

    hr_http_request_set_identity (request, etag, size);
  }
}

static HrHttpRoom
make_room (HrHttpRequest *request, gsize bytes, GError **error)
{
  gsize size = request->body ? request->body->size : 0;
  HrMemory *memory;

  if (request->max_bytes > 0 && bytes > request->max_bytes) {
    request->too_large = TRUE;
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "%" G_GSIZE_FORMAT " bytes or more, %" G_GSIZE_FORMAT " are allowed", bytes,
                 request->max_bytes);
    return HR_HTTP_REFUSE;
  }
  if (bytes <= size)
    return HR_HTTP_READY;
  if (request->room)
    return request->room (request, bytes, error);
  memory = hr_memory_new (size > 0 ? MAX (bytes, size * 2) : bytes);
  if (request->received > 0)
    memcpy (memory->data, request->body->data, request->received);
  g_clear_pointer (&request->body, hr_memory_unref);
  request->body = memory;
  return HR_HTTP_READY;
}

void
hr_http_try_answer (Try *attempt)
{
  Transfer *transfer = attempt->transfer;
  HrHttpRequest *request = transfer->request;

  if (transfer->has_answer)
    return;
  hr_http_response_clear (&request->response);
  request->response = attempt->response;
  hr_http_response_init (&attempt->response);
  g_clear_pointer (&request->complaint, g_byte_array_unref);
  request->complaint = g_steal_pointer (&attempt->complaint);
  transfer->has_answer = TRUE;
}

/* the checksum of the whole; a later try goes on with it as with the body */
static void
begin_sum (Try *attempt)
{
  Transfer *transfer = attempt->transfer;
  HrHttpRequest *request = transfer->request;

  if (attempt->asked > 0)
    return;
  g_clear_pointer (&transfer->sum, hr_body_sum_free);
  if (hr_http_response_is_whole (&request->response))
    transfer->sum = hr_body_sum_new (&request->response, request->verify);
}

/* the head is complete: does it fit what was asked? Then this is the answer */
static gboolean
check_head (Try *attempt)
{
  Transfer *transfer = attempt->transfer;
  HrHttpQuestion question = get_question (transfer->request, attempt->asked);

  if (attempt->checked)
    return TRUE;
  if (!hr_http_response_check (get_response (attempt), &question, &attempt->fault))
    return FALSE;
  hr_http_hedge_decide (attempt);
  hr_http_try_answer (attempt);
  note_identity (attempt);
  begin_sum (attempt);
  attempt->checked = TRUE;
  return TRUE;
}

static size_t
on_complaint (Try *attempt, const char *bytes, size_t size)
{
  if (!attempt->complaint)
    attempt->complaint = g_byte_array_new ();
  /* the rest of a huge one is not worth its time: the connection goes with it */
  if (attempt->complaint->len + size > COMPLAINT_BYTES)
    return 0;
  g_byte_array_append (attempt->complaint, (const guint8 *)bytes, size);
  return size;
}

static size_t
on_body (char *bytes, size_t size, size_t n, void *data)
{
  Try *attempt = data;
  Transfer *transfer = attempt->transfer;
  HrHttpRequest *request = transfer->request;
  gint64 length;
  HrHttpRoom room;

  if (attempt->lost)
    return 0;
  size *= n;
  note_bytes (attempt);
  if (!is_success (attempt))
    return on_complaint (attempt, bytes, size);
  if (!check_head (attempt))
    return 0;
  hr_http_hedge_decide (attempt);
  length = hr_http_response_body_length (&request->response);
  room =
      make_room (request, length >= 0 ? (gsize)(attempt->asked + length) : request->received + size,
                 &attempt->fault);
  if (room == HR_HTTP_PAUSE || room == HR_HTTP_HOLD) {
    if (room == HR_HTTP_PAUSE)
      hr_http_try_pause (attempt);
    transfer->stage = PAUSED;
    return CURL_WRITEFUNC_PAUSE;
  }
  if (room == HR_HTTP_REFUSE)
    return 0;
  if (size > request->body->size - request->received) {
    g_set_error (&attempt->fault, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "the body is longer than it was said to be");
    return 0;
  }
  memcpy (request->body->data + request->received, bytes, size);
  request->received += size;
  if (transfer->sum)
    hr_body_sum_add (transfer->sum, (const guint8 *)bytes, size);
  transfer->http->counts.bytes += size;
  return size;
}

/* ---- one try ---- */

static CURL *
get_easy (HrHttp *http)
{
  CURL *easy;

  if (http->idle->len > 0)
    return g_ptr_array_steal_index_fast (http->idle, http->idle->len - 1);
  easy = curl_easy_init ();
  curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt (easy, CURLOPT_SHARE, http->share);
  hr_http_connect_set_up (http, easy);
  curl_easy_setopt (easy, CURLOPT_PATH_AS_IS, 1L); /* else a key with ".." is another object */
  curl_easy_setopt (easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt (easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
  curl_easy_setopt (easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt (easy, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt (easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt (easy, CURLOPT_QUICK_EXIT, 1L); /* stop() does not wait for a name server */
  curl_easy_setopt (easy, CURLOPT_USERAGENT, "headrace/0.1");
  curl_easy_setopt (easy, CURLOPT_CONNECTTIMEOUT_MS,
                    (long)(http->options.connect_timeout / HR_MSEC_NS));
  curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt (easy, CURLOPT_HEADERFUNCTION, on_header);
  return easy;
}

static gboolean
set_headers (Try *attempt, GError **error)
{
  HrHttpRequest *request = attempt->transfer->request;
  HrHttpQuestion question = get_question (request, attempt->asked);
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);

  if (request->prepare && !request->prepare (request, lines, error))
    return FALSE;
  if (question.first >= 0)
    g_ptr_array_add (lines, g_strdup_printf ("Range: bytes=%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT,
                                             question.first, question.last));
  /* a weak tag never matches */
  if (question.etag && !g_str_has_prefix (question.etag, "W/"))
    g_ptr_array_add (lines, g_strconcat ("If-Match: ", question.etag, NULL));
  /* once another one has begun to come, it is that one which is wanted */
  if (request->known_etag && !question.etag)
    g_ptr_array_add (lines, g_strconcat ("If-None-Match: ", request->known_etag, NULL));
  for (guint i = 0; i < lines->len; i++)
    attempt->headers = curl_slist_append (attempt->headers, lines->pdata[i]);
  return TRUE;
}

/* how much of the body there is that a try can go on from */
static gint64
get_offset (HrHttpRequest *request)
{
  const HrHttpQuestion *question = &request->question;
  gint64 length = question->first >= 0 ? question->last - question->first + 1 : question->size;

  /* go on where the last try ended, if it can be told that it is the same object */
  if (!question->etag || (gint64)request->received >= length)
    request->received = 0;
  return request->received;
}

/* the URL may lead to another server than the last one did: another region */
static void
find_endpoint (Transfer *transfer)
{
  const char *url = transfer->request->url;

  if (transfer->endpoint && hr_endpoint_is_of (transfer->endpoint, url))
    return;
  if (transfer->endpoint && transfer->entered)
    hr_pace_leave (&transfer->endpoint->pace);
  g_clear_pointer (&transfer->endpoint, hr_endpoint_release);
  transfer->endpoint = hr_endpoint_get (url);
  transfer->entered = hr_pace_enter (&transfer->endpoint->pace, TRUE);
}

/* one of the server's addresses */
static void
choose_address (Try *attempt)
{
  Transfer *transfer = attempt->transfer;
  g_autofree char *address = hr_addresses_take (transfer->endpoint->addresses, transfer->http->now);

  attempt->connect_to = address ? curl_slist_append (NULL, address) : NULL;
  curl_easy_setopt (attempt->easy, CURLOPT_CONNECT_TO, attempt->connect_to);
}

static void
give_address (Try *attempt)
{
  Transfer *transfer = attempt->transfer;

  if (!attempt->connect_to)
    return;
  hr_addresses_give (transfer->endpoint->addresses, attempt->connect_to->data, attempt->refused,
                     transfer->http->now);
  curl_slist_free_all (attempt->connect_to);
}

static void
set_up (Try *attempt)
{
  HrHttpRequest *request = attempt->transfer->request;
  /* handles are used again: what one request has set, the next sets back */
  const char *ca_bundle =
      request->ca_bundle ? request->ca_bundle : curl_version_info (CURLVERSION_NOW)->cainfo;

  attempt->easy = get_easy (attempt->transfer->http);
  curl_easy_setopt (attempt->easy, CURLOPT_URL, request->url);
  curl_easy_setopt (attempt->easy, CURLOPT_FORBID_REUSE, 0L);
  if (request->head)
    curl_easy_setopt (attempt->easy, CURLOPT_NOBODY, 1L);
  else
    curl_easy_setopt (attempt->easy, CURLOPT_HTTPGET, 1L);
  if (request->form)
    curl_easy_setopt (attempt->easy, CURLOPT_POSTFIELDS, request->form);
  curl_easy_setopt (attempt->easy, CURLOPT_CUSTOMREQUEST, request->method);
  curl_easy_setopt (attempt->easy, CURLOPT_NOPROXY, request->direct ? "*" : NULL);
  if (ca_bundle)
    curl_easy_setopt (attempt->easy, CURLOPT_CAINFO, ca_bundle);
  curl_easy_setopt (attempt->easy, CURLOPT_FOLLOWLOCATION, (long)request->follow);
  curl_easy_setopt (attempt->easy, CURLOPT_REDIR_PROTOCOLS_STR,
                    g_ascii_strncasecmp (request->url, "https:", 6) == 0 ? "https" : "http,https");
  curl_easy_setopt (attempt->easy, CURLOPT_HTTPHEADER, attempt->headers);
  curl_easy_setopt (attempt->easy, CURLOPT_ERRORBUFFER, attempt->words);
  curl_easy_setopt (attempt->easy, CURLOPT_WRITEDATA, attempt);
  curl_easy_setopt (attempt->easy, CURLOPT_HEADERDATA, attempt);
  curl_easy_setopt (attempt->easy, CURLOPT_OPENSOCKETDATA, attempt);
  curl_easy_setopt (attempt->easy, CURLOPT_PREREQDATA, attempt);
  curl_easy_setopt (attempt->easy, CURLOPT_PRIVATE, attempt);
  choose_address (attempt);
}

/* the place that its server has given */
static void
place (Try *attempt)
{
  HrHttp *http = attempt->transfer->http;

  attempt->transfer->entered = FALSE;
  attempt->placed = TRUE;
  http->n_running++;
  http->counts.most_running = MAX (http->counts.most_running, http->n_running);
}

void
hr_http_try_pause (Try *attempt)
{
  if (!attempt->placed)
    return;
  attempt->placed = FALSE;
  attempt->transfer->http->n_running--;
  hr_pace_leave (&attempt->transfer->endpoint->pace);
}

void
hr_http_try_resume (Try *attempt)
{
  if (attempt->placed)
    return;
  /* it is half way: nobody is served by its waiting for a place */
  hr_pace_enter (&attempt->transfer->endpoint->pace, TRUE);
  place (attempt);
}

Try *
hr_http_try_new (Transfer *transfer, GError **error)
{
  HrHttp *http = transfer->http;
  Try *attempt = g_new0 (Try, 1);

  attempt->transfer = transfer;
  hr_http_response_init (&attempt->response);
  attempt->asked = get_offset (transfer->request);
  if (!set_headers (attempt, error)) {
    hr_http_try_free (attempt);
    return NULL;
  }
  if (!transfer->lead)
    find_endpoint (transfer);
  set_up (attempt);
  place (attempt);
  attempt->started = attempt->progress = hr_http_clock (http);
  http->counts.tries++;
  hr_hedge_count (&transfer->endpoint->hedge);
  curl_multi_add_handle (http->multi, attempt->easy);
  return attempt;
}

void
hr_http_try_free (Try *attempt)
{
  HrHttp *http = attempt->transfer->http;

  hr_http_try_pause (attempt);
  if (attempt->easy) {
    curl_multi_remove_handle (http->multi, attempt->easy);
    g_ptr_array_add (http->idle, attempt->easy);
  }
  give_address (attempt);
  curl_slist_free_all (attempt->headers);
  hr_http_response_clear (&attempt->response);
  g_clear_pointer (&attempt->complaint, g_byte_array_unref);
  g_clear_error (&attempt->fault);
  g_clear_error (&attempt->barred);
  g_free (attempt);
}

/* of a request that was sent: what came is no HTTP, perhaps the end of a body before it that was
 * longer than it was said to be */
static gboolean
is_garbage (const Try *attempt)
{
  long bytes = 0;

  curl_easy_getinfo (attempt->easy, CURLINFO_REQUEST_SIZE, &bytes);
  return bytes > 0 && !attempt->transfer->request->follow;
}

/* why curl ended it; NULL if the answer is complete */
static GError *
get_fault (Try *attempt, CURLcode code, HrRetry *retry)
{
  HrHttpRequest *request = attempt->transfer->request;
  g_autofree char *words = hr_http_describe_code (attempt, code);

  if (attempt->fault) {
    *retry = attempt->fault->domain == HR_RESOURCE_ERROR
                     && attempt->fault->code == HR_RESOURCE_ERROR_READ
                 ? HR_RETRY_SOON
                 : HR_RETRY_NO;
    return g_steal_pointer (&attempt->fault);
  }
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && request->complaint))
    return NULL;
  if (attempt->barred) {
    *retry = HR_RETRY_NO;
    request->barred = TRUE;
    return g_steal_pointer (&attempt->barred);
  }
  if (code == CURLE_UNSUPPORTED_PROTOCOL && is_garbage (attempt)) {
    *retry = HR_RETRY_SOON;
    return g_error_new (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "the answer is no HTTP (%s)",
                        words);
  }
  /* how curl tells of its limit for headers; where memory ends GLib ends the program */
  if (code == CURLE_OUT_OF_MEMORY && attempt->first > 0) {
    *retry = HR_RETRY_SOON;
    return g_error_new_literal (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                                "the answer has a header of more than 100 KB");
  }
  *retry = hr_retry_for_curl (code);
  attempt->refused = code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT;
  switch (code) {
  case CURLE_PARTIAL_FILE:
    return g_error_new (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                        "the body ends early (%" G_GSIZE_FORMAT " bytes; %s)", request->received,
                        words);
  case CURLE_URL_MALFORMAT:
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_TOO_MANY_REDIRECTS:
    return g_error_new_literal (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND, words);
  case CURLE_OPERATION_TIMEDOUT:
    return g_error_new_literal (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT, words);
  case CURLE_COULDNT_CONNECT:
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_RESOLVE_PROXY:
    return g_error_new_literal (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT, words);
  default:
    return g_error_new_literal (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, words);
  }
}

HrRetry
hr_http_judge_status (HrHttpRequest *request, GError **error)
{
  guint status = request->response.status;

  if (status == 200 || status == 206)
    return HR_RETRY_NO;
  g_set_error (error, HR_RESOURCE_ERROR, hr_http_status_error (status), "HTTP %u %s", status,
               hr_http_status_text (status));
  return hr_retry_for_status (status);
}

/* ETag and size are again what was known before any answer */
static void
forget_answer (Transfer *transfer)
{
  HrHttpRequest *request = transfer->request;

  hr_http_request_set_identity (request, transfer->had_etag ? request->question.etag : NULL,
                                transfer->had_size);
}

static GError *
check_sum (Try *attempt, HrRetry *retry)
{
  Transfer *transfer = attempt->transfer;
  HrHttpCounts *counts = &transfer->http->counts;
  GError *error = NULL;

  if (!transfer->sum || !is_success (attempt))
    return NULL;
  if (hr_body_sum_check (transfer->sum, &error)) {
    counts->verified++;
    return NULL;
  }
  counts->corrupt++;
  /* which of its bytes are wrong is not known, nor what else of this answer: from the start */
  forget_answer (transfer);
  *retry = HR_RETRY_SOON;
  return error;
}

GError *
hr_http_try_judge (Try *attempt, int code, HrRetry *retry)
{
  HrHttpRequest *request = attempt->transfer->request;
  GError *error;

  *retry = HR_RETRY_NO;
  if (attempt->first > 0) {
    request->first_byte_time = attempt->first - attempt->started;
    request->body_time = hr_http_clock (attempt->transfer->http) - attempt->first;
  }
  hr_http_try_answer (attempt);
  error = get_fault (attempt, code, retry);
  /* an empty body has called no callback of ours */
  if (!error && is_success (attempt) && !request->head && !check_head (attempt))
    error = get_fault (attempt, CURLE_OK, retry);
  if (!error)
    error = check_sum (attempt, retry);
  if (error || (request->known_etag && request->response.status == 304))
    return error;
  *retry =
      request->judge ? request->judge (request, &error) : hr_http_judge_status (request, &error);
  /* there is no rest: the length that the answer before had told was wrong */
  if (error && attempt->asked > 0 && request->response.status == 416) {
    forget_answer (attempt->transfer);
    *retry = HR_RETRY_SOON;
  }
  return error;
}
