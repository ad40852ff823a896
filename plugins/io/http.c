/* http.c: many HTTP transfers on one thread */
#include "http-private.h"
#include "hr-error.h"

/* a pause between two polls that is longer than this is not the server's */
#define GAP (50 * HR_MSEC_NS)
/* until a request is asked again whether it can be sent now */
#define HOLD (10 * HR_MSEC_NS)

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
  http->multi = curl_multi_init ();
  http->random = g_rand_new ();
  http->transfers = g_hash_table_new (NULL, NULL);
  http->queue = g_sequence_new (NULL);
  http->idle = g_ptr_array_new_with_free_func (curl_easy_cleanup);
  http->broken = g_ptr_array_new ();
  http->now = http->polled = g_get_monotonic_time () * 1000;
  curl_multi_setopt (http->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
  hr_http_set_max_transfers (http, options->max_transfers);
  return http;
}

void
hr_http_set_max_transfers (HrHttp *http, guint max_transfers)
{
  http->options.max_transfers = MAX (max_transfers, 1);
  /* connections that wait for their next request */
  curl_multi_setopt (http->multi, CURLMOPT_MAXCONNECTS, (long)http->options.max_transfers + 8);
}

const HrHttpCounts *
hr_http_get_counts (HrHttp *http)
{
  return &http->counts;
}

guint
hr_http_get_n_requests (HrHttp *http)
{
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
  Transfer *transfer = g_new0 (Transfer, 1);

  transfer->http = http;
  transfer->request = request;
  request->transfer = transfer;
  g_hash_table_add (http->transfers, transfer);
  enqueue (transfer);
}

/* gives place and handle back; the request stays */
static void
leave_stage (Transfer *transfer)
{
  HrHttp *http = transfer->http;

  if (transfer->stage == QUEUED)
    g_sequence_remove (transfer->place);
  if (transfer->stage == RUNNING)
    http->n_running--;
  if (transfer->easy) {
    curl_multi_remove_handle (http->multi, transfer->easy);
    g_ptr_array_add (http->idle, g_steal_pointer (&transfer->easy));
  }
  g_clear_pointer (&transfer->headers, curl_slist_free_all);
  transfer->stage = WAITING;
}

static void
transfer_free (Transfer *transfer)
{
  g_hash_table_remove (transfer->http->transfers, transfer);
  g_ptr_array_remove_fast (transfer->http->broken, transfer);
  g_clear_error (&transfer->fault);
  g_clear_error (&transfer->barred);
  hr_http_request_free (transfer->request);
  g_free (transfer);
}

void
hr_http_cancel (HrHttp *http G_GNUC_UNUSED, HrHttpRequest *request)
{
  Transfer *transfer = request->transfer;

  leave_stage (transfer);
  transfer_free (transfer);
}

void
hr_http_free (HrHttp *http)
{
  GHashTableIter iter;
  gpointer transfer;

  for (;;) {
    g_hash_table_iter_init (&iter, http->transfers);
    if (!g_hash_table_iter_next (&iter, &transfer, NULL))
      break;
    hr_http_cancel (http, ((Transfer *)transfer)->request);
  }
  g_ptr_array_unref (http->idle);
  g_ptr_array_unref (http->broken);
  curl_multi_cleanup (http->multi);
  g_hash_table_unref (http->transfers);
  g_sequence_free (http->queue);
  g_rand_free (http->random);
  g_free (http);
}

/* ---- from try to try ---- */

/* takes @error */
static void
end_request (Transfer *transfer, GError *error)
{
  HrHttpRequest *request = transfer->request;

  leave_stage (transfer);
  if (error) {
    g_prefix_error (&error, "%s: ", request->name);
    if (request->tries > 1) {
      char *message = g_strdup_printf ("%s (%u tries)", error->message, request->tries);

      g_free (error->message);
      error->message = message;
    }
  }
  transfer->http->n_ended++;
  request->done (request, error);
  transfer_free (transfer);
}

/* takes @error */
static void
fail_try (Transfer *transfer, HrRetry retry, GError *error)
{
  HrHttp *http = transfer->http;
  HrHttpRequest *request = transfer->request;
  gint64 asked_for;

  http->counts.throttled += retry == HR_RETRY_THROTTLED;
  if (retry == HR_RETRY_NO || request->tries >= http->options.max_tries) {
    end_request (transfer, error);
    return;
  }
  g_error_free (error);
  leave_stage (transfer);
  asked_for = hr_retry_after (request->response.retry_after, g_get_real_time () / G_USEC_PER_SEC);
  transfer->due = http->now
                  + hr_retry_delay (&http->options.retry, retry, request->tries, asked_for,
                                    g_rand_double (http->random));
}

static void
start_try (Transfer *transfer)
{
  HrHttp *http = transfer->http;
  HrHttpRequest *request = transfer->request;
  GError *error = NULL;

  leave_stage (transfer);
  if (!hr_http_transfer_begin (transfer, &error)) {
    transfer->due = http->now + HOLD;
    if (error)
      end_request (transfer, error);
    else
      http->due = MIN (http->due, transfer->due);
    return;
  }
  request->tries++;
  http->counts.tries++;
  http->counts.retries += request->tries > 1;
  transfer->stage = RUNNING;
  transfer->started = transfer->progress = hr_http_clock (http);
  http->n_running++;
  http->counts.most_running = MAX (http->counts.most_running, http->n_running);
  curl_multi_add_handle (http->multi, transfer->easy);
}

static void
finish_try (Transfer *transfer, CURLcode code)
{
  HrRetry retry;
  GError *error = hr_http_transfer_judge (transfer, code, &retry);

  if (error)
    fail_try (transfer, retry, error);
  else
    end_request (transfer, NULL);
}

/* ---- the loop ---- */

void
hr_http_resume (HrHttp *http, HrHttpRequest *request)
{
  Transfer *transfer = request->transfer;

  if (transfer->stage != PAUSED)
    return;
  transfer->stage = RUNNING;
  transfer->progress = hr_http_clock (http);
  http->n_running++;
  /* calls on_body() with what it had not taken; an error of that is told only here */
  if (curl_easy_pause (transfer->easy, CURLPAUSE_CONT) != CURLE_OK)
    g_ptr_array_add (http->broken, transfer);
}

static void
end_broken (HrHttp *http)
{
  while (http->broken->len > 0)
    finish_try (g_ptr_array_steal_index_fast (http->broken, 0), CURLE_WRITE_ERROR);
}

static void
wake_waiting (HrHttp *http)
{
  GHashTableIter iter;
  gpointer key;

  http->due = G_MAXINT64;
  g_hash_table_iter_init (&iter, http->transfers);
  while (g_hash_table_iter_next (&iter, &key, NULL)) {
    Transfer *transfer = key;

    if (transfer->stage != WAITING)
      continue;
    if (transfer->due <= http->now)
      enqueue (transfer);
    else
      http->due = MIN (http->due, transfer->due);
  }
}

static void
start_queued (HrHttp *http)
{
  while (http->n_running < http->options.max_transfers && !g_sequence_is_empty (http->queue))
    start_try (g_sequence_get (g_sequence_get_begin_iter (http->queue)));
}

static gint64
get_deadline (const Transfer *transfer)
{
  const HrHttpOptions *options = &transfer->http->options;

  return transfer->first == 0 ? transfer->started + options->first_byte_timeout
                              : transfer->progress + options->progress_timeout;
}

static Transfer *
find_expired (HrHttp *http, gint64 *next)
{
  GHashTableIter iter;
  gpointer key;

  *next = G_MAXINT64;
  g_hash_table_iter_init (&iter, http->transfers);
  while (g_hash_table_iter_next (&iter, &key, NULL)) {
    Transfer *transfer = key;

    if (transfer->stage != RUNNING)
      continue;
    if (get_deadline (transfer) <= hr_http_clock (http))
      return transfer;
    *next = MIN (*next, get_deadline (transfer) + http->lost);
  }
  return NULL;
}

static void
end_expired (HrHttp *http)
{
  Transfer *transfer;
  gint64 next;

  while ((transfer = find_expired (http, &next))) {
    const HrHttpOptions *options = &http->options;
    gboolean begun = transfer->first > 0;
    gint64 limit = begun ? options->progress_timeout : options->first_byte_timeout;

    fail_try (transfer, HR_RETRY_SOON,
              g_error_new (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT, "%s within %g s",
                           begun ? "no progress" : "no answer", limit / 1e9));
  }
}

static void
reap (HrHttp *http)
{
  CURLMsg *message;
  int left;

  while ((message = curl_multi_info_read (http->multi, &left))) {
    gpointer transfer = NULL;

    if (message->msg != CURLMSG_DONE)
      continue;
    curl_easy_getinfo (message->easy_handle, CURLINFO_PRIVATE, &transfer);
    finish_try (transfer, message->data.result);
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

static void
read_clock (HrHttp *http)
{
  http->now = g_get_monotonic_time () * 1000;
}

gboolean
hr_http_poll (HrHttp *http, int wake_fd, int timeout_ms, GError **error)
{
  struct curl_waitfd extra = { .fd = wake_fd, .events = CURL_WAIT_POLLIN };
  guint n_ended = http->n_ended;
  gint64 next, wait;
  int running;

  read_clock (http);
  if (http->now - http->polled > GAP)
    http->lost += http->now - http->polled;

  end_broken (http);
  wake_waiting (http);
  start_queued (http);
  if (find_expired (http, &next))
    next = http->now;
  next = MIN (next, http->due);
  wait = timeout_ms < 0 ? 3600 * 1000 : timeout_ms;
  if (next < G_MAXINT64)
    wait = CLAMP ((next - http->now) / HR_MSEC_NS + 1, 0, wait);
  if (http->n_ended != n_ended) /* something has happened already */
    wait = 0;
  if (!check_multi (curl_multi_poll (http->multi, &extra, wake_fd >= 0, wait, NULL), error))
    return FALSE;
  read_clock (http);
  if (!check_multi (curl_multi_perform (http->multi, &running), error))
    return FALSE;
  reap (http);
  end_expired (http);
  http->polled = http->now;
  return TRUE;
}
