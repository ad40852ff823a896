/* s3src.c: lines of objects in S3 */
#include "headrace.h"
#include "expand.h"
#include "http-metrics.h"
#include "http-wait.h"
#include "line-limit.h"
#include "line-source.h"
#include "object-cache.h"
#include "order-props.h"
#include "s3-objects.h"
#include "s3-props.h"
#include "s3-request.h"
#include "s3-uri.h"
#include <string.h>

typedef struct {
  char *location;
  guint64 part_bytes;
  guint64 block_bytes;
  guint64 max_line_bytes;
  guint64 max_expansion;
  guint64 read_ahead;
  guint64 page_keys;
  guint64 io_threads;
  HR_CACHE_FIELDS
  HR_ORDER_FIELDS
  HR_S3_FIELDS
} S3src;

static const HrProp props[] = {
  HR_PROP_STRING (S3src, location, NULL,
                  "s3://BUCKET/KEY, s3://BUCKET/PREFIX/ (every *.jsonl, *.jsonl.gz and *.jsonl.zst "
                  "under it) or with a pattern "
                  "(* ? [ ] **)",
                  .flags = HR_PROP_REQUIRED | HR_PROP_STREAM),
  HR_PROP_SIZE (S3src, part_bytes, 1, HR_GIB, 4 * HR_MIB, "Bytes asked for by one request"),
  HR_PROP_SIZE (S3src, block_bytes, 1, HR_GIB, HR_MIB,
                "Bytes given on at once; for shuffle=window those of a block",
                .flags = HR_PROP_STREAM),
  HR_PROP_SIZE (S3src, max_line_bytes, 0, 2 * HR_GIB - 1, 0,
                "Longest line that is given on whole; 0: the limit of the jsonlparse behind it",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (
      S3src, max_expansion, 0, G_MAXINT32, 250,
      "Bytes of text that each byte of a compressed object (*.gz, *.zst) may make, so that a "
      "small one does not fill the disk; 0: any number",
      .unit = "bytes"),
  HR_PROP_UINT (S3src, read_ahead, 0, 1024, 3,
                "Requests in flight beside the one that is waited for", .unit = "requests"),
  HR_PROP_UINT (S3src, page_keys, 0, 1000, 0,
                "Keys asked for by one list request; 0: as many as the server gives",
                .unit = "keys"),
  HR_CACHE_PROPS (S3src),
  HR_S3_PROP_IO_THREADS (S3src),
  HR_ORDER_PROPS (S3src),
  HR_S3_PROPS (S3src),
  HR_PROP_END
};

/* for all workers */
typedef struct {
  HrHttpMetrics metrics;
  HrObjectCache cache;
} Shared;

typedef struct {
  HrHttp *http;
  HrS3Config *config;
  HrLineSource *source;
  HrExpander *expander;
  HrOut *out;
  Shared *shared;
} State;

/* one ranged GET */
typedef struct {
  State *state;
  HrHttpRequest *request; /* until it is done */
  gboolean submitted;
  GBytes *key; /* in the cache; NULL: is not kept */
  gint64 start;
  gint64 size;    /* of the object, as listed */
  gsize expected; /* bytes it has */
  HrMemory *body;
  gsize received;
  GError *error;
} Part;

static void
part_done (HrHttpRequest *request, GError *error)
{
  Part *part = request->user_data;
  const HrTransfer transfer = hr_http_request_get_transfer (request, error != NULL);

  hr_out_count_transfer (part->state->out, &transfer);
  part->request = NULL;
  part->error = error;
  part->body = g_steal_pointer (&request->body);
  part->received = request->received;
  if (part->key && !error)
    hr_object_cache_miss (&part->state->shared->cache, part->key, NULL,
                          part->body ? part->body->data : NULL, part->received, TRUE);
}

/* it is a part of the version that was listed: nobody has to be asked for that */
static gboolean
take_kept (Part *part)
{
  HrObjectCache *cache = &part->state->shared->cache;
  g_auto (HrBlob) blob = { .fd = -1 };

  if (!hr_object_cache_open (cache, part->key, &blob) || blob.size != part->expected)
    return FALSE;
  part->body = hr_memory_new (MAX (blob.size, 1));
  if (!hr_object_cache_read (cache, &blob, part->body->data)) {
    g_clear_pointer (&part->body, hr_memory_unref);
    return FALSE;
  }
  part->received = blob.size;
  hr_object_cache_hit (cache, part->key, blob.size, FALSE);
  return TRUE;
}

static void
submit (Part *part)
{
  if (part->submitted)
    return;
  part->submitted = TRUE;
  if (part->key && take_kept (part))
    g_clear_pointer (&part->request, hr_http_request_free);
  else
    hr_http_submit (part->state->http, part->request);
}

/* an object without an ETag is whatever lies there at the time */
static void
make_key (Part *part, const HrObject *object, gint64 first, gint64 last)
{
  g_autofree char *endpoint = NULL;

  if (!hr_object_cache_is_on (&part->state->shared->cache)
      || !hr_object_cache_is_strong (object->etag) || object->size < 0)
    return;
  endpoint = hr_s3_config_get_endpoint (part->state->config);
  part->key = hr_object_cache_key (endpoint, object->uri, object->etag, first, last);
}

static gpointer
open_part (gpointer data, const HrObject *object, gint64 start, gint64 end, GError **error)
{
  State *state = data;
  g_auto (HrS3Uri) uri = { 0 };
  Part *part;

  if (!hr_s3_uri_parse (&uri, object->uri, error))
    return NULL;
  part = g_new0 (Part, 1);
  part->state = state;
  part->start = start;
  part->size = object->size;
  part->request = hr_s3_get (state->config, uri.bucket, uri.key);
  part->request->done = part_done;
  part->request->user_data = part;
  /* a range of nothing, or of all, is no range: an empty object has none */
  if (end >= 0 && (start > 0 || end < object->size))
    hr_http_request_set_range (part->request, start, end - 1);
  part->expected = (end >= 0 ? MIN (end, object->size) : object->size) - start;
  make_key (part, object, start, end);
  hr_http_request_set_identity (part->request, object->etag, object->size);
  if (!hr_out_is_serial (state->out))
    submit (part);
  return part;
}

static gssize
read_part (gpointer data, gpointer handle, gint64 offset, guint8 *into, gsize size, GError **error)
{
  State *state = data;
  Part *part = handle;
  gsize at = offset - part->start;

  submit (part);
  while (part->request) {
    hr_out_answer (state->out);
    if (!hr_http_poll_or_stop (state->http, hr_out_get_wake_fd (state->out), HR_POLL_MS, error))
      return -1;
  }
  if (part->error) {
    g_propagate_error (error, g_steal_pointer (&part->error));
    return -1;
  }
  size = MIN (size, part->received - MIN (at, part->received));
  if (size > 0)
    memcpy (into, part->body->data + at, size);
  hr_out_count_copy (state->out, size);
  hr_out_count_read (state->out, size);
  return size;
}

static void
close_part (gpointer data, gpointer handle)
{
  State *state = data;
  Part *part = handle;

  if (part->request && part->submitted)
    hr_http_cancel (state->http, part->request);
  else if (part->request)
    hr_http_request_free (part->request);
  g_clear_pointer (&part->body, hr_memory_unref);
  g_clear_pointer (&part->key, g_bytes_unref);
  g_clear_error (&part->error);
  g_free (part);
}

static gboolean
list (const S3src *self, State *state, HrOut *out, GError **error)
{
  static const HrLineSourceFuncs funcs = { open_part, read_part, close_part };
  HrPlan *plan = hr_out_get_plan (out);
  gboolean serial = hr_out_is_serial (out);
  HrHttpOptions http = HR_S3_HTTP_OPTIONS (self, serial ? 1 : self->read_ahead + 1);
  HrPlanRules rules = HR_ORDER_RULES (self, self->part_bytes);
  g_autofree char *root = NULL;
  HrLineSourceOptions options;

  http.io_threads = serial ? 1 : self->io_threads;
  state->http = hr_http_new (&http, error);
  if (!state->http
      || !hr_s3_objects_list (state->http, state->config, self->location, plan, &root,
                              self->page_keys, hr_out_get_wake_fd (out), error))
    return FALSE;
  hr_plan_listed (plan);
  state->expander = hr_expander_new (&funcs, state, self->part_bytes, self->max_expansion);
  if (!hr_expander_prepare (state->expander, out, &rules, error))
    return FALSE;
  if (!hr_plan_begin (plan, &rules, error))
    return FALSE;
  options = (HrLineSourceOptions){ .root = root,
                                   .part_bytes = self->part_bytes,
                                   .ahead = serial ? 0 : self->read_ahead,
                                   .block_bytes = self->block_bytes,
                                   .max_line_bytes = hr_line_limit (out, self->max_line_bytes) };
  state->source = hr_line_source_new (&hr_expander_funcs, state->expander, &options);
  return TRUE;
}

static HrFlow
s3src_create (gconstpointer self, gpointer worker, HrOut *out, GError **error)
{
  State *state = worker;
  HrFlow flow = HR_FLOW_ERROR;

  state->out = out;
  if (state->source || list (self, state, out, error))
    flow = hr_line_source_create (state->source, out, error);
  if (state->http)
    hr_http_metrics_publish (&state->shared->metrics, state->http);
  return flow;
}

static guint64
s3src_waits_for (gconstpointer self G_GNUC_UNUSED, gpointer worker, GString *into)
{
  State *state = worker;

  return state->http ? hr_http_describe (state->http, into) : 0;
}

static void
s3src_metrics (gconstpointer self, gpointer data, JsonBuilder *into)
{
  Shared *shared = data;

  hr_http_metrics_add (&shared->metrics, into);
  hr_object_cache_add_metrics (&shared->cache, ((const S3src *)self)->cache, into);
}

static gboolean
s3src_start (gconstpointer selfp, gpointer shared, HrElement *element, GError **error G_GNUC_UNUSED)
{
  const S3src *self = selfp;

  hr_object_cache_start (&((Shared *)shared)->cache, self->cache, self->cache_size, element);
  return TRUE;
}

static void
s3src_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  hr_object_cache_stop (&((Shared *)shared)->cache);
}

static gboolean
s3src_worker_start (gconstpointer selfp, gpointer shared, gpointer worker, GError **error)
{
  State *state = worker;
  const S3src *self = selfp;
  HrS3Settings settings = HR_S3_SETTINGS (self);

  state->shared = shared;
  state->config = hr_s3_config_new (&settings, error);
  return state->config != NULL;
}

static void
s3src_worker_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  State *state = worker;

  g_clear_pointer (&state->source, hr_line_source_free);
  g_clear_pointer (&state->expander, hr_expander_free);
  g_clear_pointer (&state->http, hr_http_free);
  g_clear_pointer (&state->config, hr_s3_config_unref);
}

static gboolean
s3src_check (gconstpointer self, GError **error)
{
  g_auto (HrS3Uri) uri = { 0 };

  return hr_s3_uri_parse (&uri, ((const S3src *)self)->location, error);
}

static const char *const examples[] = {
  "s3src location=s3://demo/train/ ! jsonlparse ! fakesink",
  "s3src location=s3://demo/train/*.jsonl part-bytes=8MiB read-ahead=7 ! fakesink", NULL
};

HR_ELEMENT (
    s3src, S3src, .summary = "Read the lines of objects in S3",
    .description =
        "Lists what the location names, in the order of the bytes of the keys, reads the "
        "objects by ranges (with If-Match, so that an object that is replaced meanwhile ends "
        "the run), several in flight, and gives blocks of whole lines: field \"lines\", uint8 "
        "[n], with offset and number of the first line in the origin. Requests are signed "
        "with the credentials that the AWS tools would use: environment, profiles, roles, "
        "web identities, programs, containers, instances; docs/storage.md. "
        "Faults that may pass are tried again, after random waits that grow up to 20 s; the "
        "stats count requests, retries (further tries) and throttled (answers that asked for "
        "less). With cache= the ranges of an object whose ETag is known are kept on disk, and "
        "taken from there the next time without a request; the stats count cache_hits, "
        "cache_hit_bytes, cache_misses, cache_stored_bytes, cache_not_stored (what could not be "
        "kept) and cache_spoilt.",
    .examples = examples, .gives = "lines", .shared_size = sizeof (Shared),
    .worker_size = sizeof (State), .props = props, .waits = TRUE, .plans = TRUE, .network = TRUE,
    .check = s3src_check, .start = s3src_start, .stop = s3src_stop,
    .worker_start = s3src_worker_start, .worker_stop = s3src_worker_stop, .create = s3src_create,
    .metrics = s3src_metrics, .waits_for = s3src_waits_for)
