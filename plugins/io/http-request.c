/* http-request.c: what is asked for */
#include "http.h"
#include "hr-sync.h"

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
  g_free (request->known_etag);
  g_free ((char *)request->question.etag);
  hr_http_response_clear (&request->response);
  g_clear_pointer (&request->body, hr_memory_unref);
  g_clear_pointer (&request->complaint, g_byte_array_unref);
  if (request->protocol_free)
    request->protocol_free (request->protocol_data);
  g_free (request);
}

HrTransfer
hr_http_request_get_transfer (const HrHttpRequest *request, gboolean failed)
{
  return (HrTransfer){ .name = request->name,
                       .begun = request->begun > 0 ? request->begun : hr_now (),
                       .first_byte = request->first_byte_time,
                       .body = request->body_time,
                       .bytes = request->received,
                       .tries = request->tries,
                       .hedged = request->hedged,
                       .failed = failed };
}
