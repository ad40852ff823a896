/* http-hedge.c: second requests for those whose answer is late; the first to be answered is the one
 */
#include "http-private.h"

/* silence in the middle of a body is common where many share a line: it is late after so many times
 * as long as an answer that begins, and not before 200 ms */
#define BODY_FACTOR 4
#define BODY_LEAST (200 * HR_MSEC_NS)

static gboolean
has_bytes (const Transfer *transfer)
{
  return transfer->has_answer && transfer->request->received > 0;
}

/* the rest can be asked for, of the same object */
static gboolean
can_go_on (const HrHttpRequest *request)
{
  const HrHttpQuestion *question = &request->question;
  gint64 length = question->first >= 0 ? question->last - question->first + 1 : question->size;

  return question->etag && (gint64)request->received < length;
}

gint64
hr_http_hedge_limit (const Transfer *transfer)
{
  const HrHttpRequest *request = transfer->request;
  gint64 limit;

  if (!transfer->http->options.hedge || transfer->hedged || request->head || request->afresh)
    return G_MAXINT64;
  limit = hr_hedge_get_limit (&transfer->endpoint->hedge);
  if (limit == G_MAXINT64 || !has_bytes (transfer))
    return limit;
  return can_go_on (request) ? MAX (limit * BODY_FACTOR, BODY_LEAST) : G_MAXINT64;
}

static gboolean
is_late (const Transfer *transfer)
{
  gint64 limit = hr_http_hedge_limit (transfer);

  return limit < G_MAXINT64 && hr_http_clock (transfer->http) - transfer->lead->progress >= limit;
}

/* for one that is late; a server that asks for less is not asked twice */
static void
send_second (Transfer *transfer)
{
  HrHttp *http = transfer->http;
  HrEndpoint *endpoint = transfer->endpoint;
  g_autoptr (GError) error = NULL;

  transfer->late = FALSE;
  transfer->hedged = TRUE;
  if (hr_pace_get_limit (&endpoint->pace) > 0 || !hr_hedge_take (&endpoint->hedge)
      || !hr_pace_enter (&endpoint->pace, FALSE))
    return;
  transfer->entered = TRUE;
  transfer->second = hr_http_try_new (transfer, &error);
  transfer->request->hedged = transfer->second != NULL;
  if (transfer->second)
    http->counts.hedged++;
  else
    hr_pace_leave (&endpoint->pace);
  transfer->entered = FALSE;
}

void
hr_http_hedge (HrHttp *http)
{
  http->has_late = FALSE;
  if (!http->options.hedge)
    return;
  for (guint i = 0; i < http->running->len; i++) {
    Transfer *transfer = http->running->pdata[i];

    if (transfer->stage != RUNNING || !is_late (transfer))
      continue;
    if (http->n_running < http->options.max_transfers) {
      send_second (transfer);
    } else {
      transfer->late = TRUE;
      http->has_late = TRUE;
    }
  }
}

void
hr_http_hedge_decide (Try *attempt)
{
  Transfer *transfer = attempt->transfer;
  Try *other = transfer->lead == attempt ? transfer->second : transfer->lead;

  if (!transfer->second)
    return;
  if (transfer->second == attempt) {
    transfer->lead = attempt;
    transfer->has_answer = FALSE;
    transfer->http->counts.hedge_won++;
  }
  transfer->second = NULL;
  /* that it would have been later still is part of the truth about the server */
  if (other->first == 0)
    hr_hedge_note (&transfer->endpoint->hedge, hr_http_clock (transfer->http) - other->started);
  /* curl does not let go of a handle while it calls us */
  other->lost = TRUE;
  g_ptr_array_add (transfer->http->lost, other);
}

void
hr_http_hedge_drop (Transfer *transfer, Try *failed)
{
  if (failed == transfer->lead) {
    transfer->lead = transfer->second;
    transfer->has_answer = FALSE;
  }
  transfer->second = NULL;
  hr_http_try_free (failed);
}
