/* http-wait.h: one request, waited for */
#pragma once
#include "http.h"

G_BEGIN_DECLS

/* for who answers between polls, hr_out_answer() */
#define HR_POLL_MS 200

typedef struct {
  guint status;
  gint64 size; /* Content-Length */
  char *etag;
  HrMemory *body; /* (nullable) */
  gsize received;
} HrHttpAnswer;

/**
 * hr_http_wait:
 * @request: (transfer full): its done is set here
 * @wake_fd: when this becomes readable, the wait ends with #HR_CORE_ERROR_STOPPED
 * @answer: (out): cleared with hr_http_answer_clear(); status is set on failure too, 0 if there was
 *   no answer
 *
 * Other requests of the client go on meanwhile.
 */
gboolean hr_http_wait (HrHttp *http, HrHttpRequest *request, int wake_fd, HrHttpAnswer *answer,
                       GError **error);
void hr_http_answer_clear (HrHttpAnswer *answer);
/* waits for something to happen, at most @timeout_ms (-1: for ever); FALSE if it was the wake_fd,
 * with #HR_CORE_ERROR_STOPPED */
gboolean hr_http_poll_or_stop (HrHttp *http, int wake_fd, int timeout_ms, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrHttpAnswer, hr_http_answer_clear)

G_END_DECLS
