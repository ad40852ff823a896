/* http-transfer.c: one try of a request: what is asked, what curl gives us, and what it was worth
 */
#include "http-private.h"
#include "hr-error.h"
#include <string.h>
#include <sys/socket.h>

#define COMPLAINT_BYTES (64 * 1024)
#define BUFFER_BYTES (64 * 1024L)

/* ---- requests ---- */

HrHttpRequest *
hr_http_request_new (const char *name, const char *url)
{
  HrHttpRequest *request = g_new0 (HrHttpRequest, 1);

  request->name = g_strdup (name);
  request->url = g_strdup (url);
  request->question.first = request->question.last = request->question.size = -1;
  hr_http_response_init (&request->response);
  return request;
}

void
hr_http_request_set_range (HrHttpRequest *request, gint64 first, gint64 last)
{
  request->question.first = first;
  request->question.last = last;
}

void
hr_http_request_set_identity (HrHttpRequest *request, const char *etag, gint64 size)
{
  char *copy = g_strdup (etag);

  g_free ((char *)request->question.etag);
  request->question.etag = copy;
  request->question.size = size;
}

void
hr_http_request_free (HrHttpRequest *request)
{
  g_free (request->name);
  g_free (request->url);
  g_free ((char *)request->question.etag);
  hr_http_response_clear (&request->response);
  g_clear_pointer (&request->body, hr_memory_unref);
  g_clear_pointer (&request->complaint, g_byte_array_unref);
  if (request->protocol_free)
    request->protocol_free (request->protocol_data);
  g_free (request);
}

/* ---- what curl calls ---- */

static void
note_bytes (Transfer *transfer)
{
  transfer->progress = hr_http_clock (transfer->http);
  if (transfer->first == 0)
    transfer->first = MAX (transfer->progress, 1);
}

static gboolean
is_success (const HrHttpRequest *request)
{
  return request->response.status == 200 || request->response.status == 206;
}

static size_t
on_header (char *line, size_t size, size_t n, void *data)
{
  Transfer *transfer = data;

  note_bytes (transfer);
  hr_http_response_line (&transfer->request->response, line, size * n);
  return size * n;
}

/* what this try asked for: the rest, if there was a try before it */
static HrHttpQuestion
get_question (Transfer *transfer)
{
  HrHttpQuestion question = transfer->request->question;

  if (transfer->asked > 0) {
    if (question.first < 0) {
      question.first = 0;
      question.last = question.size - 1;
    }
    question.first += transfer->asked;
  }
  return question;
}

/* later tries must read the same object */
static void
note_identity (Transfer *transfer)
{
  HrHttpRequest *request = transfer->request;
  const HrHttpResponse *response = &request->response;
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

/* the head is complete: does it fit what was asked? */
static gboolean
check_head (Transfer *transfer)
{
  HrHttpRequest *request = transfer->request;
  HrHttpQuestion question = get_question (transfer);

  if (transfer->checked)
    return TRUE;
  if (!hr_http_response_check (&request->response, &question, &transfer->fault))
    return FALSE;
  note_identity (transfer);
  transfer->checked = TRUE;
  return TRUE;
}

static size_t
on_complaint (Transfer *transfer, const char *bytes, size_t size)
{
  HrHttpRequest *request = transfer->request;

  if (!request->complaint)
    request->complaint = g_byte_array_new ();
  /* the rest of a huge one is not worth its time: the connection goes with it */
  if (request->complaint->len + size > COMPLAINT_BYTES)
    return 0;
  g_byte_array_append (request->complaint, (const guint8 *)bytes, size);
  return size;
}

static size_t
on_body (char *bytes, size_t size, size_t n, void *data)
{
  Transfer *transfer = data;
  HrHttpRequest *request = transfer->request;
  gint64 length = hr_http_response_body_length (&request->response);
  HrHttpRoom room;

  size *= n;
  note_bytes (transfer);
  if (!is_success (request))
    return on_complaint (transfer, bytes, size);
  if (!check_head (transfer))
    return 0;
  room = make_room (request,
                    length >= 0 ? (gsize)(transfer->asked + length) : request->received + size,
                    &transfer->fault);
  if (room == HR_HTTP_PAUSE) {
    if (transfer->stage == RUNNING)
      transfer->http->n_running--;
    transfer->stage = PAUSED;
    return CURL_WRITEFUNC_PAUSE;
  }
  if (room == HR_HTTP_REFUSE)
    return 0;
  if (size > request->body->size - request->received) {
    g_set_error (&transfer->fault, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "the body is longer than it was said to be");
    return 0;
  }
  memcpy (request->body->data + request->received, bytes, size);
  request->received += size;
  transfer->http->counts.bytes += size;
  return size;
}

/* ---- one try ---- */

static gboolean
may_reach (Transfer *transfer, GInetAddress *address)
{
  g_clear_error (&transfer->barred);
  return hr_address_guard_check (transfer->request->guard, address, &transfer->barred);
}

/* Asked for each address of a name, after it was resolved: no name, spelling or redirect gets round
 * it. */
static gboolean
may_connect (Transfer *transfer, struct curl_sockaddr *address)
{
  g_autoptr (GSocketAddress) whole = NULL;

  if (!transfer->request->guard)
    return TRUE;
  whole = g_socket_address_new_from_native (&address->addr, address->addrlen);
  return G_IS_INET_SOCKET_ADDRESS (whole)
         && may_reach (transfer, g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (whole)));
}

/* programs that the host starts must not hold our connections open */
static curl_socket_t
open_socket (void *data, curlsocktype purpose G_GNUC_UNUSED, struct curl_sockaddr *address)
{
  if (!may_connect (data, address))
    return CURL_SOCKET_BAD;
  return socket (address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* a connection that stood already was perhaps made for a request that may go further */
static int
before_request (void *data, char *remote, char *local G_GNUC_UNUSED, int remote_port G_GNUC_UNUSED,
                int local_port G_GNUC_UNUSED)
{
  Transfer *transfer = data;
  g_autoptr (GInetAddress) address = NULL;

  if (!transfer->request->guard)
    return CURL_PREREQFUNC_OK;
  address = g_inet_address_new_from_string (remote);
  return address && may_reach (transfer, address) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static CURL *
get_easy (HrHttp *http)
{
  CURL *easy;

  if (http->idle->len > 0)
    return g_ptr_array_steal_index_fast (http->idle, http->idle->len - 1);
  easy = curl_easy_init ();
  curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt (easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt (easy, CURLOPT_PREREQFUNCTION, before_request);
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

static void
add_header (Transfer *transfer, const char *line)
{
  transfer->headers = curl_slist_append (transfer->headers, line);
}

static gboolean
set_headers (Transfer *transfer, GError **error)
{
  HrHttpRequest *request = transfer->request;
  HrHttpQuestion question = get_question (transfer);
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
    add_header (transfer, lines->pdata[i]);
  return TRUE;
}

static void
reset_answer (Transfer *transfer)
{
  HrHttpRequest *request = transfer->request;
  const HrHttpQuestion *question = &request->question;

  gint64 length = question->first >= 0 ? question->last - question->first + 1 : question->size;

  /* go on where the last try ended, if it can be told that it is the same object */
  if (!question->etag || (gint64)request->received >= length)
    request->received = 0;
  hr_http_response_clear (&request->response);
  g_clear_pointer (&request->complaint, g_byte_array_unref);
  g_clear_error (&transfer->fault);
  g_clear_error (&transfer->barred);
  request->first_byte_time = request->body_time = 0;
  transfer->asked = request->received;
  transfer->checked = FALSE;
  transfer->words[0] = '\0';
  transfer->first = 0;
}

gboolean
hr_http_transfer_begin (Transfer *transfer, GError **error)
{
  HrHttpRequest *request = transfer->request;
  /* handles are used again: what one request has set, the next sets back */
  const char *ca_bundle =
      request->ca_bundle ? request->ca_bundle : curl_version_info (CURLVERSION_NOW)->cainfo;

  reset_answer (transfer);
  if (!set_headers (transfer, error))
    return FALSE;
  transfer->easy = get_easy (transfer->http);
  curl_easy_setopt (transfer->easy, CURLOPT_URL, request->url);
  if (request->head)
    curl_easy_setopt (transfer->easy, CURLOPT_NOBODY, 1L);
  else
    curl_easy_setopt (transfer->easy, CURLOPT_HTTPGET, 1L);
  if (request->form)
    curl_easy_setopt (transfer->easy, CURLOPT_POSTFIELDS, request->form);
  curl_easy_setopt (transfer->easy, CURLOPT_CUSTOMREQUEST, request->method);
  curl_easy_setopt (transfer->easy, CURLOPT_NOPROXY, request->direct ? "*" : NULL);
  if (ca_bundle)
    curl_easy_setopt (transfer->easy, CURLOPT_CAINFO, ca_bundle);
  curl_easy_setopt (transfer->easy, CURLOPT_FOLLOWLOCATION, (long)request->follow);
  curl_easy_setopt (transfer->easy, CURLOPT_REDIR_PROTOCOLS_STR,
                    g_ascii_strncasecmp (request->url, "https:", 6) == 0 ? "https" : "http,https");
  curl_easy_setopt (transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
  curl_easy_setopt (transfer->easy, CURLOPT_ERRORBUFFER, transfer->words);
  curl_easy_setopt (transfer->easy, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt (transfer->easy, CURLOPT_HEADERDATA, transfer);
  curl_easy_setopt (transfer->easy, CURLOPT_OPENSOCKETDATA, transfer);
  curl_easy_setopt (transfer->easy, CURLOPT_PREREQDATA, transfer);
  curl_easy_setopt (transfer->easy, CURLOPT_PRIVATE, transfer);
  return TRUE;
}

/* why curl ended it; NULL if the answer is complete */
static GError *
get_fault (Transfer *transfer, CURLcode code, HrRetry *retry)
{
  HrHttpRequest *request = transfer->request;
  const char *words = *transfer->words ? transfer->words : curl_easy_strerror (code);

  if (transfer->fault) {
    *retry = transfer->fault->domain == HR_RESOURCE_ERROR
                     && transfer->fault->code == HR_RESOURCE_ERROR_READ
                 ? HR_RETRY_SOON
                 : HR_RETRY_NO;
    return g_steal_pointer (&transfer->fault);
  }
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && request->complaint))
    return NULL;
  if (transfer->barred) {
    *retry = HR_RETRY_NO;
    request->barred = TRUE;
    return g_steal_pointer (&transfer->barred);
  }
  *retry = hr_retry_for_curl (code);
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

  if (is_success (request))
    return HR_RETRY_NO;
  g_set_error (error, HR_RESOURCE_ERROR, hr_http_status_error (status), "HTTP %u %s", status,
               hr_http_status_text (status));
  return hr_retry_for_status (status);
}

GError *
hr_http_transfer_judge (Transfer *transfer, int code, HrRetry *retry)
{
  HrHttpRequest *request = transfer->request;
  GError *error;

  *retry = HR_RETRY_NO;
  if (transfer->first > 0) {
    request->first_byte_time = transfer->first - transfer->started;
    request->body_time = hr_http_clock (transfer->http) - transfer->first;
  }
  error = get_fault (transfer, code, retry);
  /* an empty body has called no callback of ours */
  if (!error && is_success (request) && !request->head && !check_head (transfer))
    error = get_fault (transfer, CURLE_OK, retry);
  if (error || (request->known_etag && request->response.status == 304))
    return error;
  *retry =
      request->judge ? request->judge (request, &error) : hr_http_judge_status (request, &error);
  return error;
}
