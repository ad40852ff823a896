/* imagefetch.c: links become the bytes of images, many transfers at once on one thread */
#include "fetch-job.h"
#include "data-uri.h"
#include "media-link.h"
#include "sizing.h"

static const HrProp props[] = {
  HR_PROP_UINT (HrImagefetch, concurrency, 1, 4096, 64, "Transfers in flight at once",
                .unit = "transfers", .flags = HR_PROP_LIVE | HR_PROP_AUTO),
  HR_S3_PROP_IO_THREADS (HrImagefetch),
  HR_PROP_SIZE (HrImagefetch, max_bytes, 1, 4 * HR_GIB, 256 * HR_MIB,
                "Largest encoded image; a larger one is a bad sample (image-too-large)",
                .flags = HR_PROP_STREAM),
  HR_PROP_STRV (HrImagefetch, allow_links, NULL,
                "Links that may be followed besides relative ones inside the root: all; file, s3, "
                "http, https; or folders and prefixes",
                .flags = HR_PROP_STREAM),
  HR_PROP_STRV (HrImagefetch, allow_addresses, NULL,
                "Addresses that http and https links may lead to besides those of the public "
                "internet: all, or addresses and networks such as 10.0.0.0/8",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (HrImagefetch, redirects, 0, 20, 5,
                "Redirects that are followed for one http or https link; each must be one that "
                "allow-links lets pass, and none leads from https to http",
                .flags = HR_PROP_STREAM, .unit = "redirects"),
  HR_PROP_STRING (HrImagefetch, media_root, NULL,
                  "Tree that relative links may not leave; if unset jsonlparse's, or the location "
                  "given to the source",
                  .flags = HR_PROP_STREAM),
  HR_CACHE_PROPS (HrImagefetch),
  HR_PROP_DURATION (HrImagefetch, cache_age, 0, 10 * 365 * 24 * 3600 * HR_SECOND, 0,
                    "How long what is kept in cache is taken without asking the server whether it "
                    "is still the same; 0: it is always asked (If-None-Match)"),
  HR_S3_PROPS (HrImagefetch),
  HR_PROP_END
};

/* FALSE: the job is over, or cannot go on before resume() */
static gboolean
start_item (HrFetchItem *item)
{
  const char *link = hr_fetch_get_uri (item);
  gboolean is_data = hr_data_uri_is (link), is_file = *link == '/';
  GError *error = NULL;
  gboolean last = item->job->n_left == 1;

  if (!is_data && !is_file) {
    if (hr_fetch_start_transfer (item, &error)) {
      if (!item->at_hand)
        return TRUE;
      hr_fetch_item_done (item);
      return !last;
    }
  } else if (is_data ? hr_fetch_decode_data (item, &error) : hr_fetch_read_file (item, &error)) {
    hr_fetch_item_done (item);
    return !last;
  }
  if (error)
    hr_fetch_fail (item, error);
  return FALSE;
}

static void
start_items (HrFetchJob *job)
{
  guint n = job->n_items;

  for (guint i = 0; i < n; i++)
    if (job->items[i].stage == ITEM_NEW && !start_item (&job->items[i]))
      return;
}

/* ---- the element ---- */

static const char *
get_root (HrFetchState *state, const HrBuffer *in)
{
  HrOrigin *origin = hr_buffer_get_origin (in);
  const char *text = state->self->media_root;

  if (!text && origin)
    text = origin->root;
  if (text && g_strcmp0 (text, state->root_text) != 0) {
    g_free (state->root_text);
    g_free (state->root);
    state->root_text = g_strdup (text);
    state->root = hr_media_link_folder (text);
  }
  return text ? state->root : NULL;
}

/* all links of a sample, before anything is opened */
static gboolean
check_links (HrFetchJob *job, GError **error)
{
  HrFetchState *state = job->state;
  const char *root = get_root (state, job->buffer);

  for (guint i = 0; i < job->n_items; i++) {
    HrFetchItem *item = &job->items[i];

    if (hr_fetch_get_uri (item) == NULL) {
      g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                   "image %u is no link: put this element behind jsonlparse, before imagedecode "
                   "and batch",
                   i);
      return FALSE;
    }
    if (!hr_media_link_check (hr_fetch_get_link (item), hr_fetch_get_uri (item), root,
                              (const char *const *)state->self->allow_links, error)) {
      hr_data_error_set_member (*error, hr_fetch_get_link (item), i);
      return FALSE;
    }
  }
  return TRUE;
}

static guint64
estimate (const HrFetchState *state, guint n_images)
{
  gdouble mean = state->n_images > 0 ? state->mean_bytes : FETCH_FIRST_ESTIMATE;

  return n_images * (guint64)CLAMP (mean, 1, state->self->max_bytes);
}

static guint64
imagefetch_estimate (gconstpointer self G_GNUC_UNUSED, gpointer worker, const HrBuffer *in)
{
  HrList *links = hr_buffer_get_list (in, "images");

  return links ? estimate (worker, hr_list_get_length (links)) : 0;
}

static void
imagefetch_submit (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrBuffer *in,
                   HrTicket *ticket)
{
  HrList *links = hr_buffer_get_list (in, "images");
  HrFetchJob *job = g_new0 (HrFetchJob, 1);
  GError *error = NULL;

  job->state = worker;
  g_hash_table_add (job->state->jobs, job);
  job->ticket = ticket;
  job->buffer = in;
  job->n_left = job->n_items = links ? hr_list_get_length (links) : 0;
  job->items = g_new0 (HrFetchItem, MAX (job->n_items, 1));
  job->reserved = estimate (worker, job->n_items);
  for (guint i = 0; i < job->n_items; i++) {
    job->items[i].job = job;
    job->items[i].index = i;
    job->items[i].part = job->state->shared->measured ? FETCH_FIRST_PART : 0;
  }
  hr_ticket_set_data (ticket, job);
  if (hr_ticket_is_serial (ticket))
    hr_http_set_max_transfers (job->state->http, 1);
  if (!check_links (job, &error) || job->n_items == 0)
    hr_fetch_finish (job, error);
  else
    start_items (job);
}

static void
imagefetch_resume (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrTicket *ticket)
{
  HrFetchState *state = worker;
  HrFetchJob *job = hr_ticket_get_data (ticket);

  job->parked = FALSE;
  if (job->wanted > job->reserved) {
    /* more has become known meanwhile */
    job->parked = !hr_ticket_reserve (ticket, job->wanted);
    job->reserved = job->wanted;
    if (job->parked)
      return;
  }
  for (guint i = 0; i < job->n_items; i++)
    if (job->items[i].stage == ITEM_PAUSED) {
      job->items[i].stage = ITEM_FLYING;
      hr_http_resume (state->http, job->items[i].request);
    }
  start_items (job);
}

static guint64
imagefetch_waits_for (gconstpointer self G_GNUC_UNUSED, gpointer worker, GString *into)
{
  return hr_http_describe (((HrFetchState *)worker)->http, into);
}

static guint
imagefetch_concurrency (gconstpointer self)
{
  return (guint)hr_live_uint (&((const HrImagefetch *)self)->concurrency);
}

/* it may have changed since */
static void
take_concurrency (HrFetchState *state, guint concurrency)
{
  if (concurrency == state->concurrency)
    return;
  state->concurrency = concurrency;
  hr_http_set_max_transfers (state->http, concurrency);
}

static gboolean
imagefetch_poll (gconstpointer self, gpointer worker, int wake_fd, int timeout_ms, GError **error)
{
  HrFetchState *state = worker;
  gboolean good;

  take_concurrency (state, imagefetch_concurrency (self));
  good = hr_http_poll (state->http, wake_fd, timeout_ms, error);

  hr_http_metrics_publish (&state->shared->metrics, state->http);
  return good;
}

static void
imagefetch_metrics (gconstpointer self, gpointer shared, JsonBuilder *into)
{
  HrFetchShared *state = shared;

  hr_http_metrics_add (&state->metrics, into);
  json_builder_set_member_name (into, "fetched_bytes");
  json_builder_add_int_value (into,
                              (gint64)__atomic_load_n (&state->fetched_bytes, __ATOMIC_RELAXED));
  hr_object_cache_add_metrics (&state->cache, ((const HrImagefetch *)self)->cache, into);
}

static gboolean
imagefetch_check (gconstpointer selfp, GError **error)
{
  const HrImagefetch *self = selfp;
  g_autoptr (HrAddressGuard) guard = NULL;

  if (!hr_media_link_check_allow ((const char *const *)self->allow_links, error))
    return FALSE;
  guard = hr_address_guard_new ((const char *const *)self->allow_addresses, error);
  return guard != NULL;
}

static gboolean
imagefetch_check_place (gconstpointer self G_GNUC_UNUSED, HrElement *element, GError **error)
{
  gboolean turned;

  return hr_sizing_is_turned (element, &turned, error);
}

static gboolean
imagefetch_start (gconstpointer selfp, gpointer data, HrElement *element, GError **error)
{
  const HrImagefetch *self = selfp;
  HrFetchShared *shared = data;

  shared->measured = hr_element_is_measured (element, "images");
  if (!hr_sizing_is_turned (element, &shared->turned, error))
    return FALSE;
  hr_object_cache_start (&shared->cache, self->cache, self->cache_size, element);
  return TRUE;
}

static void
imagefetch_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  hr_object_cache_stop (&((HrFetchShared *)shared)->cache);
}

static gboolean
imagefetch_worker_start (gconstpointer selfp, gpointer shared, gpointer worker, GError **error)
{
  const HrImagefetch *self = selfp;
  HrFetchState *state = worker;
  HrHttpOptions options;

  state->concurrency = imagefetch_concurrency (self);
  options = HR_S3_HTTP_OPTIONS (self, state->concurrency);
  state->self = self;
  state->shared = shared;
  state->jobs = g_hash_table_new (NULL, NULL);
  state->guard = hr_address_guard_new ((const char *const *)self->allow_addresses, error);
  options.io_threads = self->io_threads;
  state->http = hr_http_new (&options, error);
  return state->guard != NULL && state->http != NULL;
}

/* what was under way when the run ended; the tickets are the core's */
static void
drop_jobs (HrFetchState *state)
{
  GHashTableIter iter;
  gpointer job;

  g_hash_table_iter_init (&iter, state->jobs);
  while (g_hash_table_iter_next (&iter, &job, NULL)) {
    g_hash_table_iter_steal (&iter);
    hr_fetch_job_free (job);
  }
}

static void
imagefetch_worker_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  HrFetchState *state = worker;

  drop_jobs (state);
  g_hash_table_unref (state->jobs);
  g_clear_pointer (&state->http, hr_http_free);
  g_clear_pointer (&state->guard, hr_address_guard_free);
  g_clear_pointer (&state->config, hr_s3_config_unref);
  g_free (state->root_text);
  g_free (state->root);
}

static const char *const examples[] = {
  "filesrc location=tests/data/cases/16-image-links/corpus/ ! jsonlparse ! imagefetch "
  "on-error=skip ! fakesink",
  "s3src location=s3://demo/train/ ! jsonlparse ! imagefetch concurrency=128 ! fakesink",
  "s3src location=s3://demo/train/ ! jsonlparse ! imagefetch cache=/tmp/headrace-images "
  "cache-size=1GiB ! fakesink",
  NULL
};

HR_ELEMENT (
    imagefetch, HrImagefetch, .summary = "Fetch the images that samples link to",
    .description =
        "Follows the links of each sample (files, s3://, data:, and http:// or https:// "
        "where allow-links says so, and at public addresses unless allow-addresses names "
        "others) and gives the images as a list of uint8 [bytes] in "
        "\"images\", and their sizes as \"image_sizes\", int32 [n, 2]: height and width as "
        "imagedecode behind it will deliver them, turned as EXIF says unless it has exif=ignore, "
        "and 0, 0 for what is no image. The images of a sample are fetched "
        "in parallel, and those of many samples at once. Bad links are link-refused, "
        "media-not-found, media-forbidden, media-undecodable (data:) or image-too-large; "
        "a server that does not answer, after tries= times, ends the run. The stats count "
        "requests, retries (further tries), throttled (answers that asked for less) and the bytes "
        "that were read of images, from files or a network (fetched_bytes). With "
        "cache= what comes over the network is kept on disk, and taken from there the next time, "
        "if the server says that it is still the same (see docs/storage.md). The stats count "
        "cache_hits, cache_hit_bytes, cache_misses, cache_stored_bytes, cache_not_stored (what "
        "could not be kept) and cache_spoilt.",
    .examples = examples, .needs = "images:links", .gives = "images:encoded, image_sizes",
    .shared_size = sizeof (HrFetchShared), .worker_size = sizeof (HrFetchState), .props = props,
    .network = TRUE, .check = imagefetch_check, .check_place = imagefetch_check_place,
    .start = imagefetch_start, .stop = imagefetch_stop, .worker_start = imagefetch_worker_start,
    .worker_stop = imagefetch_worker_stop, .estimate = imagefetch_estimate,
    .submit = imagefetch_submit, .resume = imagefetch_resume, .poll = imagefetch_poll,
    .waits_for = imagefetch_waits_for, .concurrency = imagefetch_concurrency,
    .metrics = imagefetch_metrics)
