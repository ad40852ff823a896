/* fetch-transfer.c: images from S3 and the web */
#include "fetch-job.h"
#include "s3-uri.h"
#include <string.h>

static HrHttpRoom
make_room (HrHttpRequest *request, gsize bytes, GError **error)
{
  HrFetchItem *item = request->user_data;
  gsize size = request->body ? request->body->size : 0;
  HrMemory *memory;

  /* of unknown length: in steps that double */
  if (request->response.content_length < 0)
    bytes = MAX (bytes, MIN (MAX (size * 2, FETCH_FIRST_ESTIMATE), request->max_bytes));
  if (!hr_fetch_reserve (item, bytes)) {
    item->stage = ITEM_PAUSED;
    return HR_HTTP_PAUSE;
  }
  /* this is another one, for good: what was kept is not there any more */
  g_clear_pointer (&request->known_etag, g_free);
  hr_fetch_forget_kept (item);
  memory = hr_fetch_grow (item, request->body, request->received, bytes, error);
  if (!memory)
    return HR_HTTP_REFUSE;
  g_clear_pointer (&request->body, hr_memory_unref);
  request->body = memory;
  return HR_HTTP_READY;
}

/* a bucket that the record itself names; that of the data set is the user's word */
static gboolean
is_bad_bucket (const HrFetchItem *item, HrHttpRequest *request)
{
  const char *link = hr_fetch_get_link (item), *code;

  if (!link || g_ascii_strncasecmp (link, "s3://", 5) != 0)
    return FALSE;
  code = hr_s3_request_get_code (request);
  return g_strcmp0 (code, "NoSuchBucket") == 0 || g_strcmp0 (code, "InvalidBucketName") == 0;
}

/* what is wrong with one link is the sample's fault, all else the run's */
static GError *
judge (const HrFetchItem *item, HrHttpRequest *request, GError *error)
{
  gboolean is_web = hr_fetch_is_web (hr_fetch_get_uri (item));
  guint status = request->response.status;
  int kind = -1;

  if (g_error_matches (error, HR_DATA_ERROR, HR_DATA_ERROR_LINK_REFUSED))
    return error;
  if (request->too_large)
    kind = HR_DATA_ERROR_IMAGE_TOO_LARGE;
  else if (request->barred)
    kind = HR_DATA_ERROR_LINK_REFUSED;
  else if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND)
           || is_bad_bucket (item, request))
    kind = HR_DATA_ERROR_MEDIA_NOT_FOUND;
  else if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN))
    kind = HR_DATA_ERROR_MEDIA_FORBIDDEN;
  /* Of a web link a server may say anything, and means the link; who did not answer at all, after
   * all tries, was chosen by the record. One that asks for less, or is broken, ends the run. */
  else if (is_web && status == 0 && !request->no_socket)
    kind = HR_DATA_ERROR_MEDIA_NOT_FOUND;
  else if (is_web && status >= 300 && status < 500 && status != 408 && status != 429)
    kind = HR_DATA_ERROR_MEDIA_NOT_FOUND;
  return kind >= 0 ? hr_data_error_from (error, (HrDataError)kind) : error;
}

static void
ask_again (HrFetchItem *item)
{
  GError *error = NULL;

  item->n_redirects = 0;
  if (!hr_fetch_start_transfer (item, &error))
    hr_fetch_fail (item, error);
}

/* the server says that what was kept still holds */
static void
take_kept (HrFetchItem *item, const HrHttpResponse *response)
{
  if (!response->etag || strcmp (response->etag, item->known_etag) == 0) {
    hr_object_cache_hit (&item->job->state->shared->cache, item->key, item->size, TRUE);
    hr_fetch_item_done (item);
    return;
  }
  /* not what it was asked for: the object itself, then */
  hr_fetch_forget_kept (item);
  ask_again (item);
}

/* no part of it: it is empty, or the server does not say how large it is */
static gboolean
tells_nothing (const HrFetchItem *item, const HrHttpRequest *request, const GError *error)
{
  const HrHttpResponse *response = &request->response;

  if (item->part == 0)
    return FALSE;
  return error ? response->status == 416 : response->range_first >= 0 && response->range_total < 0;
}

/* how large it is, which may be more than was asked for, and more than is allowed */
static void
note_whole (HrFetchItem *item, HrHttpRequest *request, GError **error)
{
  const HrHttpResponse *response = &request->response;
  guint64 limit = item->job->state->self->max_bytes;

  if (*error)
    return;
  item->whole = request->received;
  if (item->part == 0 || response->range_first < 0)
    return;
  item->whole = (guint64)response->range_total;
  if (item->whole <= limit)
    return;
  request->too_large = TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "%" G_GINT64_FORMAT " bytes, %" G_GUINT64_FORMAT " are allowed",
               response->range_total, limit);
}

static void
request_done (HrHttpRequest *request, GError *error)
{
  HrFetchItem *item = request->user_data;
  const HrTransfer transfer = hr_http_request_get_transfer (request, error != NULL);

  item->request = NULL;
  __atomic_fetch_add (&item->job->state->shared->fetched_bytes, request->received,
                      __ATOMIC_RELAXED);
  hr_ticket_count_transfer (item->job->ticket, &transfer);
  if (tells_nothing (item, request, error)) {
    g_clear_error (&error);
    item->part = 0;
    ask_again (item);
    return;
  }
  if (!error && request->response.status == 304) {
    take_kept (item, &request->response);
    return;
  }
  note_whole (item, request, &error);
  if (error) {
    hr_fetch_fail (item, judge (item, request, error));
    return;
  }
  hr_fetch_forget_kept (item);
  item->memory = g_steal_pointer (&request->body);
  item->size = request->received;
  if (!hr_fetch_is_enough (item)) {
    ask_again (item);
    return;
  }
  if (item->size == item->whole)
    hr_fetch_keep (item, request->response.etag);
  hr_fetch_item_done (item);
}

static HrS3Config *
get_config (HrFetchState *state, GError **error)
{
  HrS3Settings settings = HR_S3_SETTINGS (state->self);

  if (!state->config)
    state->config = hr_s3_config_new (&settings, error);
  return state->config;
}

/* @endpoint: (out) (transfer full): whose object it is */
static HrHttpRequest *
new_request (HrFetchItem *item, char **endpoint, GError **error)
{
  const char *link = hr_fetch_get_uri (item);
  g_auto (HrS3Uri) uri = { 0 };
  g_autoptr (GError) failure = NULL;
  HrS3Config *config;

  if (hr_fetch_is_web (link)) {
    *endpoint = g_strdup ("");
    return hr_fetch_new_web (item);
  }
  if (!hr_s3_uri_parse (&uri, link, &failure) || !*uri.key) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_NOT_FOUND, "names no object in S3%s%s",
                       failure ? ": " : "", failure ? failure->message : "");
    return NULL;
  }
  config = get_config (item->job->state, error);
  if (!config)
    return NULL;
  *endpoint = hr_s3_config_get_endpoint (config);
  return hr_s3_get (config, uri.bucket, uri.key);
}

gboolean
hr_fetch_start_transfer (HrFetchItem *item, GError **error)
{
  HrFetchJob *job = item->job;
  g_autofree char *endpoint = NULL;
  HrHttpRequest *request = new_request (item, &endpoint, error);

  if (!request)
    return FALSE;
  if (!hr_fetch_look_up (item, endpoint, error) || item->at_hand) {
    hr_http_request_free (request);
    return item->at_hand;
  }
  request->known_etag = g_strdup (item->known_etag);
  request->max_bytes = job->state->self->max_bytes;
  if (item->part > 0) {
    hr_http_request_set_range (request, 0, (gint64)MIN (item->part, request->max_bytes) - 1);
    request->question.or_whole = TRUE;
  }
  request->priority = hr_ticket_get_number (job->ticket);
  request->room = make_room;
  request->done = request_done;
  request->user_data = item;
  item->request = request;
  item->stage = ITEM_FLYING;
  hr_http_submit (job->state->http, request);
  return TRUE;
}
