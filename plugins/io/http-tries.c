/* http-tries.c: from try to try, to the end of a request */
#include "http-private.h"
#include "hr-error.h"
#include <string.h>

/* until a request is asked again whether it can be sent now */
#define HOLD (10 * HR_MSEC_NS)

/* says how often, how long, and why it had failed at first */
static void
add_tries (Transfer *transfer, GError *error)
{
  HrHttpRequest *request = transfer->request;
  GString *message = g_string_new (error->message);

  if (request->tries > 1)
    g_string_append_printf (message, " (%u tries in %.1f s", request->tries,
                            (transfer->http->now - transfer->begun) / 1e9);
  if (request->tries > 1 && transfer->first_cause
      && strcmp (transfer->first_cause, error->message) != 0)
    g_string_append_printf (message, "; the first: %s", transfer->first_cause);
  if (request->tries > 1)
    g_string_append_c (message, ')');
  g_free (error->message);
  error->message = g_string_free (message, FALSE);
}

void
hr_http_note_cause (Transfer *transfer, const GError *error)
{
  if (!transfer->first_cause)
    transfer->first_cause = g_strdup (error->message);
  g_free (transfer->last_cause);
  transfer->last_cause = g_strdup (error->message);
  transfer->last_code = error->code;
}

/* of a request that is in no stage any more; takes @error */
static void
end_request (Transfer *transfer, GError *error)
{
  HrHttpRequest *request = transfer->request;

  if (error) {
    add_tries (transfer, error);
    g_prefix_error (&error, "%s: ", request->name);
  }
  transfer->http->n_ended++;
  request->done (request, error);
  hr_http_transfer_free (transfer);
}

static void
note_success (Transfer *transfer)
{
  HrHttp *http = transfer->http;
  HrEndpoint *endpoint = transfer->endpoint;

  hr_retry_bucket_give (&endpoint->bucket, transfer->cost > 0 ? transfer->cost : HR_RETRY_REFUND);
  hr_pace_grow (&endpoint->pace, http->options.max_transfers);
  if (http->counts.limit > 0)
    http->counts.limit = hr_pace_get_limit (&endpoint->pace);
  hr_hedge_note (&endpoint->hedge, transfer->request->first_byte_time);
}

static void
note_throttled (Transfer *transfer, const Try *attempt)
{
  HrHttp *http = transfer->http;

  http->counts.throttled++;
  /* both on the monotonic clock: the limit is for all clients */
  http->counts.halved +=
      hr_pace_halve (&transfer->endpoint->pace, attempt->started + http->away, http->now);
  http->counts.limit = hr_pace_get_limit (&transfer->endpoint->pace);
}

/* takes @error */
void
hr_http_fail_try (Transfer *transfer, HrRetry retry, GError *error)
{
  HrHttp *http = transfer->http;
  HrHttpRequest *request = transfer->request;
  gboolean timed_out = g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT);
  gint64 asked_for;

  hr_http_leave_stage (transfer);
  if (retry == HR_RETRY_NO || request->tries >= http->options.max_tries) {
    end_request (transfer, error);
    return;
  }
  hr_http_note_cause (transfer, error);
  g_error_free (error);
  transfer->cost = hr_retry_cost (retry, timed_out);
  transfer->owes = transfer->cost > 0;
  transfer->owes_since = 0;
  asked_for = hr_retry_after (request->response.retry_after, g_get_real_time () / G_USEC_PER_SEC);
  hr_http_wait_until (transfer, http->now
                                    + hr_retry_delay (&http->options.retry, retry, request->tries,
                                                      asked_for, g_rand_double (http->random)));
}

void
hr_http_wait_for_tokens (Transfer *transfer)
{
  HrHttp *http = transfer->http;
  const HrRetryTimes *times = &http->options.retry;

  if (transfer->owes_since == 0)
    transfer->owes_since = http->now;
  if (http->now - transfer->owes_since > times->cap) {
    end_request (transfer, g_error_new (HR_RESOURCE_ERROR, transfer->last_code,
                                        "%s; no further try: too many requests to %s have failed",
                                        transfer->last_cause, transfer->endpoint->name));
    return;
  }
  hr_http_wait_until (transfer, http->now
                                    + (gint64)((0.5 + g_rand_double (http->random) / 2)
                                               * MIN (times->throttled_base, times->cap / 4 + 1)));
}

static void
clear_answer (Transfer *transfer)
{
  HrHttpRequest *request = transfer->request;

  hr_http_response_clear (&request->response);
  g_clear_pointer (&request->complaint, g_byte_array_unref);
  request->first_byte_time = request->body_time = 0;
  request->hedged = FALSE;
  transfer->has_answer = FALSE;
  transfer->hedged = transfer->late = FALSE;
}

void
hr_http_start_try (Transfer *transfer)
{
  HrHttp *http = transfer->http;
  HrHttpRequest *request = transfer->request;
  GError *error = NULL;

  clear_answer (transfer);
  transfer->lead = hr_http_try_new (transfer, &error);
  if (!transfer->lead) {
    if (transfer->entered)
      hr_pace_leave (&transfer->endpoint->pace);
    transfer->entered = FALSE;
    if (error)
      end_request (transfer, error);
    else
      hr_http_wait_until (transfer, http->now + HOLD);
    return;
  }
  if (request->tries++ == 0)
    transfer->begun = request->begun = http->now;
  else
    http->counts.retries++;
  transfer->stage = RUNNING;
  hr_http_list_add (http->running, transfer);
  hr_http_look_at (transfer);
}

static gboolean
is_good (const Try *attempt, CURLcode code)
{
  guint status = attempt->response.status;

  return code == CURLE_OK && !attempt->fault && (status == 200 || status == 206);
}

void
hr_http_finish_try (Try *attempt, CURLcode code)
{
  Transfer *transfer = attempt->transfer;
  HrRetry retry;
  GError *error;

  if (attempt == transfer->second) {
    if (!is_good (attempt, code)) {
      /* it tells nothing that the first will not tell, but for this */
      if (hr_retry_for_status (attempt->response.status) == HR_RETRY_THROTTLED)
        note_throttled (transfer, attempt);
      hr_http_hedge_drop (transfer, attempt);
      return;
    }
    hr_http_hedge_decide (attempt);
    hr_http_drop_lost (transfer->http);
  }
  error = hr_http_try_judge (attempt, code, &retry);
  if (retry == HR_RETRY_THROTTLED)
    note_throttled (transfer, attempt);
  if (error && retry != HR_RETRY_NO && transfer->second) {
    hr_http_note_cause (transfer, error);
    g_error_free (error);
    hr_http_hedge_drop (transfer, attempt);
  } else if (error) {
    hr_http_fail_try (transfer, retry, error);
  } else {
    note_success (transfer);
    hr_http_leave_stage (transfer);
    end_request (transfer, NULL);
  }
}
