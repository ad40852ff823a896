/* http-wait.c: one request, waited for */
#include "http-wait.h"
#include "hr-error.h"
#include <poll.h>

typedef struct {
  gboolean done;
  GError *error;
  HrHttpAnswer *answer;
} Wait;

static void
on_done (HrHttpRequest *request, GError *error)
{
  Wait *wait = request->user_data;

  wait->done = TRUE;
  wait->error = error;
  wait->answer->status = request->response.status;
  wait->answer->size = request->response.content_length;
  wait->answer->etag = g_strdup (request->response.etag);
  wait->answer->body = g_steal_pointer (&request->body);
  wait->answer->received = request->received;
}

gboolean
hr_http_poll_or_stop (HrHttp *http, int wake_fd, int timeout_ms, GError **error)
{
  struct pollfd wake = { .fd = wake_fd, .events = POLLIN };

  if (!hr_http_poll (http, wake_fd, timeout_ms, error))
    return FALSE;
  if (wake_fd < 0 || poll (&wake, 1, 0) <= 0)
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  return FALSE;
}

gboolean
hr_http_wait (HrHttp *http, HrHttpRequest *request, int wake_fd, HrHttpAnswer *answer,
              GError **error)
{
  Wait wait = { .answer = answer };

  *answer = (HrHttpAnswer){ .size = -1 };
  request->done = on_done;
  request->user_data = &wait;
  hr_http_submit (http, request);
  while (!wait.done)
    if (!hr_http_poll_or_stop (http, wake_fd, -1, error)) {
      if (!wait.done)
        hr_http_cancel (http, request);
      else
        g_clear_error (&wait.error);
      return FALSE;
    }
  if (!wait.error)
    return TRUE;
  g_propagate_error (error, wait.error);
  return FALSE;
}

void
hr_http_answer_clear (HrHttpAnswer *answer)
{
  g_clear_pointer (&answer->etag, g_free);
  g_clear_pointer (&answer->body, hr_memory_unref);
}
