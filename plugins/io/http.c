/* http.c: many HTTP transfers on one thread */
#include "http-private.h"
#include "hr-error.h"

/* a pause between two polls that is longer than this is not the server's */
#define GAP (50 * HR_MSEC_NS)

static gpointer
init_curl (gpointer unused G_GNUC_UNUSED)
{
  return GINT_TO_POINTER (curl_global_init (CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

HrHttp *
hr_http_new (const HrHttpOptions *options, GError **error)
{
  static GOnce once = G_ONCE_INIT;
  HrHttp *http;

  if (!g_once (&once, init_curl, NULL)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "libcurl does not start");
    return NULL;
  }
  http = g_new0 (HrHttp, 1);
  http->options = *options;
  if (options->io_threads > 1) {
    http->threads = hr_http_threads_new (options, error);
    if (!http->threads)
      g_clear_pointer (&http, g_free);
    return http;
  }
  http->multi = curl_multi_init ();
  /* so that only the first connection to a server is a whole handshake */
  http->sockets = hr_http_sockets_new ();
  http->share = curl_share_init ();
  curl_share_setopt (http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  http->random = g_rand_new ();
  http->transfers = g_hash_table_new (NULL, NULL);
  http->queue = g_sequence_new (NULL);
  http->idle = g_ptr_array_new_with_free_func (curl_easy_cleanup);
  http->broken = g_ptr_array_new ();
  http->running = g_ptr_array_new ();
  http->waiting = g_ptr_array_new ();
  http->lost = g_ptr_array_new ();
  http->now = http->polled = hr_now ();
  http->next_look = http->next_due = G_MAXINT64;
  curl_multi_setopt (http->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
  hr_http_set_max_transfers (http, options->max_transfers);
  return http;
}

void
hr_http_set_max_transfers (HrHttp *http, guint max_transfers)
{
  if (http->threads) {
    hr_http_threads_set_max_transfers (http->threads, max_transfers);
    return;
  }
  http->options.max_transfers = MAX (max_transfers, 1);
  /* connections that wait for their next request */
  curl_multi_setopt (http->multi, CURLMOPT_MAXCONNECTS, (long)http->options.max_transfers + 8);
}

const HrHttpCounts *
hr_http_get_counts (HrHttp *http)
{
  if (http->threads)
    return hr_http_threads_get_counts (http->threads);
  return &http->counts;
}

void
hr_http_counts_add (HrHttpCounts *sum, const HrHttpCounts *counts)
{
  sum->tries += counts->tries;
  sum->retries += counts->retries;
  sum->throttled += counts->throttled;
  sum->hedged += counts->hedged;
  sum->hedge_won += counts->hedge_won;
  sum->verified += counts->verified;
  sum->corrupt += counts->corrupt;
  sum->halved += counts->halved;
  sum->limit = MAX (sum->limit, counts->limit);
  sum->bytes += counts->bytes;
  sum->most_running += counts->most_running;
}

guint
hr_http_get_n_requests (HrHttp *http)
{
  if (http->threads)
    return hr_http_threads_get_n_requests (http->threads);
  return g_hash_table_size (http->transfers);
}

static gint
compare_priority (gconstpointer a, gconstpointer b, gpointer unused G_GNUC_UNUSED)
{
  gint64 x = ((const Transfer *)a)->request->priority, y = ((const Transfer *)b)->request->priority;

  return (x > y) - (x < y);
}

static void
enqueue (Transfer *transfer)
{
  transfer->stage = QUEUED;
  transfer->place =
      g_sequence_insert_sorted (transfer->http->queue, transfer, compare_priority, NULL);
}

void
hr_http_submit (HrHttp *http, HrHttpRequest *request)
{
  Transfer *transfer;

  request->verify = http->options.verify;
  if (http->threads) {
    hr_http_threads_submit (http->threads, request);
    return;
  }
  transfer = g_new0 (Transfer, 1);
  transfer->http = http;
  transfer->request = request;
  transfer->had_etag = request->question.etag != NULL;
  transfer->had_size = request->question.size;
  request->transfer = transfer;
  g_hash_table_add (http->transfers, transfer);
  enqueue (transfer);
}

void
hr_http_list_add (GPtrArray *list, Transfer *transfer)
{
  transfer->index = list->len;
  g_ptr_array_add (list, transfer);
}

void
hr_http_list_remove (GPtrArray *list, Transfer *transfer)
{
  Transfer *last = list->pdata[list->len - 1];

  last->index = transfer->index;
  g_ptr_array_remove_index_fast (list, transfer->index);
}

void
hr_http_leave_stage (Transfer *transfer)
{
  HrHttp *http = transfer->http;

  if (transfer->stage == QUEUED)
    g_sequence_remove (transfer->place);
  else
    hr_http_list_remove (transfer->stage == WAITING ? http->waiting : http->running, transfer);
  g_clear_pointer (&transfer->lead, hr_http_try_free);
  g_clear_pointer (&transfer->second, hr_http_try_free);
}

void
hr_http_wait_until (Transfer *transfer, gint64 due)
{
  HrHttp *http = transfer->http;

  transfer->stage = WAITING;
  transfer->due = due;
  http->next_due = MIN (http->next_due, due);
  hr_http_list_add (http->waiting, transfer);
}

void
hr_http_transfer_free (Transfer *transfer)
{
  g_hash_table_remove (transfer->http->transfers, transfer);
  g_ptr_array_remove_fast (transfer->http->broken, transfer);
  g_clear_pointer (&transfer->endpoint, hr_endpoint_release);
  g_clear_pointer (&transfer->sum, hr_body_sum_free);
  g_free (transfer->first_cause);
  g_free (transfer->last_cause);
  hr_http_request_free (transfer->request);
  g_free (transfer);
}

void
hr_http_cancel (HrHttp *http, HrHttpRequest *request)
{
  Transfer *transfer = request->transfer;

  if (http->threads) {
    hr_http_threads_cancel (http->threads, request);
    return;
  }
  hr_http_leave_stage (transfer);
  hr_http_transfer_free (transfer);
}

void
hr_http_drop_lost (HrHttp *http)
{
  while (http->lost->len > 0)
    hr_http_try_free (g_ptr_array_steal_index_fast (http->lost, http->lost->len - 1));
}

void
hr_http_free (HrHttp *http)
{
  GHashTableIter iter;
  gpointer transfer;

  if (http->threads) {
    hr_http_threads_free (http->threads);
    g_free (http);
    return;
  }
  for (;;) {
    g_hash_table_iter_init (&iter, http->transfers);
    if (!g_hash_table_iter_next (&iter, &transfer, NULL))
      break;
    hr_http_cancel (http, ((Transfer *)transfer)->request);
  }
  hr_http_drop_lost (http);
  hr_endpoint_forget (http->multi);
  g_ptr_array_unref (http->idle);
  g_ptr_array_unref (http->broken);
  g_ptr_array_unref (http->running);
  g_ptr_array_unref (http->waiting);
  g_ptr_array_unref (http->lost);
  curl_multi_cleanup (http->multi);
  curl_share_cleanup (http->share);
  hr_http_sockets_free (http->sockets);
  g_hash_table_unref (http->transfers);
  g_sequence_free (http->queue);
  g_rand_free (http->random);
  g_free (http);
}

/* ---- the loop ---- */

static gint64
get_deadline (const Transfer *transfer)
{
  const HrHttpOptions *options = &transfer->http->options;
  const Try *lead = transfer->lead;

  return lead->first == 0 ? lead->started + options->first_byte_timeout
                          : lead->progress + options->progress_timeout;
}

void
hr_http_look_at (Transfer *transfer)
{
  HrHttp *http = transfer->http;
  gint64 limit = hr_http_hedge_limit (transfer), due;

  if (transfer->stage != RUNNING)
    return;
  due = get_deadline (transfer);
  if (limit < G_MAXINT64 && !transfer->late)
    due = MIN (due, transfer->lead->progress + limit);
  http->next_look = MIN (http->next_look, due);
}

void
hr_http_resume (HrHttp *http, HrHttpRequest *request)
{
  Transfer *transfer = request->transfer;

  if (http->threads) {
    hr_http_threads_resume (http->threads, request);
    return;
  }
  if (transfer->stage != PAUSED)
    return;
  transfer->stage = RUNNING;
  transfer->lead->progress = hr_http_clock (http);
  hr_http_try_resume (transfer->lead);
  hr_http_look_at (transfer);
  /* calls on_body() with what it had not taken; an error of that is told only here */
  if (curl_easy_pause (transfer->lead->easy, CURLPAUSE_CONT) != CURLE_OK)
    g_ptr_array_add (http->broken, transfer);
}

void
hr_http_release (HrHttp *http G_GNUC_UNUSED, HrHttpRequest *request)
{
  Transfer *transfer = request->transfer;

  if (transfer->stage == PAUSED)
    hr_http_try_pause (transfer->lead);
}

static void
end_broken (HrHttp *http)
{
  while (http->broken->len > 0) {
    Transfer *transfer = g_ptr_array_steal_index_fast (http->broken, 0);

    hr_http_finish_try (transfer->lead, CURLE_WRITE_ERROR);
  }
}

/* those that are due queue again, if their server's bucket has tokens for them */
static void
wake_waiting (HrHttp *http)
{
  if (http->now < http->next_due)
    return;
  http->next_due = G_MAXINT64;
  for (guint i = http->waiting->len; i-- > 0;) {
    Transfer *transfer = http->waiting->pdata[i];

    if (transfer->due > http->now) {
      http->next_due = MIN (http->next_due, transfer->due);
      continue;
    }
    hr_http_list_remove (http->waiting, transfer);
    if (transfer->owes
        && !hr_retry_bucket_take (&transfer->endpoint->bucket, transfer->cost, http->now)) {
      hr_http_wait_for_tokens (transfer);
      i = MIN (i, http->waiting->len); /* its end may have ended others */
      continue;
    }
    transfer->owes = FALSE;
    enqueue (transfer);
  }
}

static void
wake (gpointer multi)
{
  curl_multi_wakeup (multi);
}

/* a place that its server has for it; one whose server is not known yet gets it later */
static gboolean
enter_endpoint (Transfer *transfer)
{
  HrHttp *http = transfer->http;

  if (!transfer->endpoint && transfer->request->url)
    transfer->endpoint = hr_endpoint_get (transfer->request->url);
  if (!transfer->endpoint)
    return TRUE;
  transfer->entered =
      hr_addresses_is_ready (transfer->endpoint->addresses, wake, http->multi, http->now)
      && hr_pace_enter (&transfer->endpoint->pace, http->n_running == 0);
  return transfer->entered;
}

static void
start_queued (HrHttp *http)
{
  GSequenceIter *place = g_sequence_get_begin_iter (http->queue);
  HrEndpoint *full = NULL;

  if (http->has_late) /* those are waited for, who queue are not yet */
    hr_http_hedge (http);
  while (http->n_running < http->options.max_transfers && !g_sequence_iter_is_end (place)) {
    Transfer *transfer = g_sequence_get (place);

    if (full && transfer->endpoint == full) {
      place = g_sequence_iter_next (place);
    } else if (!enter_endpoint (transfer)) {
      full = transfer->endpoint;
    } else {
      g_sequence_remove (place);
      hr_http_start_try (transfer);
      /* if it has failed at once, who knows what is left */
      place = g_sequence_get_begin_iter (http->queue);
    }
  }
}

static Transfer *
find_expired (HrHttp *http)
{
  for (guint i = 0; i < http->running->len; i++) {
    Transfer *transfer = http->running->pdata[i];

    if (transfer->stage == RUNNING && get_deadline (transfer) <= hr_http_clock (http))
      return transfer;
  }
  return NULL;
}

static void
end_expired (HrHttp *http)
{
  Transfer *transfer;

  while ((transfer = find_expired (http))) {
    const HrHttpOptions *options = &http->options;
    gboolean begun = transfer->lead->first > 0;
    gint64 limit = begun ? options->progress_timeout : options->first_byte_timeout;
    GError *error = g_error_new (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT, "%s within %g s",
                                 begun ? "no progress" : "no answer", limit / 1e9);

    if (transfer->second) {
      hr_http_note_cause (transfer, error);
      g_error_free (error);
      hr_http_hedge_drop (transfer, transfer->lead);
    } else {
      hr_http_fail_try (transfer, HR_RETRY_SOON, error);
    }
  }
}

/* what is silent for too long: comes at the time of the first that may be */
static void
look (HrHttp *http)
{
  if (hr_http_clock (http) < http->next_look)
    return;
  end_expired (http);
  hr_http_hedge (http);
  http->next_look = G_MAXINT64;
  for (guint i = 0; i < http->running->len; i++)
    hr_http_look_at (http->running->pdata[i]);
}

static void
reap (HrHttp *http)
{
  CURLMsg *message;
  int left;

  while ((message = curl_multi_info_read (http->multi, &left))) {
    gpointer attempt = NULL;
    CURLcode result = message->data.result;

    if (message->msg != CURLMSG_DONE)
      continue;
    curl_easy_getinfo (message->easy_handle, CURLINFO_PRIVATE, &attempt);
    hr_http_finish_try (attempt, result);
  }
}

static gboolean
check_multi (CURLMcode code, GError **error)
{
  if (code != CURLM_OK)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "libcurl: %s",
                 curl_multi_strerror (code));
  return code == CURLM_OK;
}

gboolean
hr_http_poll (HrHttp *http, int wake_fd, int timeout_ms, GError **error)
{
  struct curl_waitfd extra = { .fd = wake_fd, .events = CURL_WAIT_POLLIN };
  guint n_ended = http->n_ended;
  gint64 next, wait;
  int running;

  if (http->threads)
    return hr_http_threads_poll (http->threads, wake_fd, timeout_ms, error);
  http->now = hr_now ();
  if (http->now - http->polled > GAP)
    http->away += http->now - http->polled;

  end_broken (http);
  wake_waiting (http);
  start_queued (http);
  next = http->next_due;
  if (http->next_look < G_MAXINT64)
    next = MIN (next, http->next_look + http->away);
  wait = timeout_ms < 0 ? 3600 * 1000 : timeout_ms;
  if (next < G_MAXINT64)
    wait = CLAMP ((next - http->now) / HR_MSEC_NS + 1, 0, wait);
  if (http->n_ended != n_ended) /* something has happened already */
    wait = 0;
  if (!check_multi (curl_multi_poll (http->multi, &extra, wake_fd >= 0, wait, NULL), error))
    return FALSE;
  http->now = hr_now ();
  if (!check_multi (curl_multi_perform (http->multi, &running), error))
    return FALSE;
  hr_http_drop_lost (http);
  reap (http);
  look (http);
  http->polled = http->now;
  return TRUE;
}
