/* hr-lengths.c: how long the sample of each line is: kept from another run, or found out by running
 * the front of the pipeline once over all lines */
#include "hr-lengths.h"
#include "hr-front.h"
#include "hr-json.h"
#include "hr-log.h"

#define BLOB "lengths"
/* between two messages that tell how far it has come */
#define TELL_INTERVAL (1000 * (gint64)1000000)

typedef struct {
  HrOut *out;
  HrRun *run;
  HrPlan *plan;
  HrPlanCache *cache;
  char *key;
  GArray *missing; /* guint: objects whose lengths are found out */
  guint64 n_lines; /* … and all their lines */
  guint64 n_seen;
  guint at;        /* the object at hand, of those missing … */
  guint64 first;   /* … the place of its first line … */
  GArray *lengths; /* … HrLength, of its lines so far */
  gint64 told_at;
} Scan;

static const HrObject *
get_object (const Scan *scan, guint index)
{
  return hr_plan_get_object (scan->plan, g_array_index (scan->missing, guint, index));
}

/* ---- a sample ---- */

static guint32
clip (guint64 n)
{
  return (guint32)MIN (n, G_MAXUINT32);
}

/* of int32 [n, 2] */
static guint64
count_pixels (const HrBuffer *sample, const char *name)
{
  HrTensor *tensor = hr_buffer_get_tensor (sample, name);
  const gint32 *sides = tensor != NULL ? hr_tensor_get_data (tensor) : NULL;
  guint64 n = 0;

  for (gint64 i = 0; tensor != NULL && i < hr_tensor_get_dim (tensor, 0); i++)
    n += (guint64)sides[2 * i] * (guint64)sides[2 * i + 1];
  return n;
}

static guint64
count_image_tokens (const HrBuffer *sample)
{
  HrTensor *types = hr_buffer_get_tensor (sample, "mm_token_type_ids");
  guint64 n = 0;

  for (gint64 i = 0; types != NULL && i < hr_tensor_get_dim (types, 0); i++)
    if (hr_tensor_get_dtype (types).bits == 32)
      n += ((const gint32 *)hr_tensor_get_data (types))[i] != 0;
    else
      n += ((const gint64 *)hr_tensor_get_data (types))[i] != 0;
  return n;
}

static HrLength
measure (const HrBuffer *sample)
{
  HrTensor *ids = hr_buffer_get_tensor (sample, "input_ids");
  HrTensor *targets = hr_buffer_get_tensor (sample, "image_targets");
  HrLength length = { .tokens = HR_LENGTH_HOLE, .image_tokens = HR_LENGTH_NO_KIND };

  if (sample->flags & HR_BUFFER_HOLE) {
    const GError *why = hr_buffer_get_error (sample);

    if (why != NULL && why->domain == HR_DATA_ERROR)
      length.image_tokens = (guint32)why->code;
    length.decoded = (sample->flags & HR_BUFFER_DROPPED) || why == NULL;
    return length;
  }
  length.tokens = ids != NULL ? (guint32)MIN (hr_tensor_get_dim (ids, 0), G_MAXINT32) : 0;
  length.image_tokens = clip (count_image_tokens (sample));
  length.decoded = clip (count_pixels (sample, "image_sizes"));
  length.delivered =
      targets != NULL ? clip (count_pixels (sample, "image_targets")) : length.decoded;
  return length;
}

/* ---- objects ---- */

static void
keep_object (Scan *scan)
{
  guint object = g_array_index (scan->missing, guint, scan->at);
  g_autoptr (GBytes) blob =
      g_bytes_new (scan->lengths->data, scan->lengths->len * sizeof (HrLength));

  hr_plan_set_lengths (scan->plan, object, blob);
  hr_plan_cache_store (scan->cache, hr_plan_get_object (scan->plan, object), BLOB, scan->key, blob);
  scan->first += scan->lengths->len;
  scan->at++;
  g_array_set_size (scan->lengths, 0);
}

/* those of which all lines have come, empty ones too */
static void
keep_objects (Scan *scan)
{
  while (scan->at < scan->missing->len
         && scan->lengths->len
                == hr_plan_count_lines (scan->plan, g_array_index (scan->missing, guint, scan->at)))
    keep_object (scan);
}

static gboolean
has_changed (const Scan *scan, GError **error)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
               "%s: has not the lines any more that were counted in it",
               get_object (scan, MIN (scan->at, scan->missing->len - 1))->uri);
  return FALSE;
}

static gboolean
add_sample (Scan *scan, const HrBuffer *sample, GError **error)
{
  HrLength length = measure (sample);

  if (scan->at == scan->missing->len || sample->place != (gint64)(scan->first + scan->lengths->len))
    return has_changed (scan, error);
  g_array_append_val (scan->lengths, length);
  scan->n_seen++;
  keep_objects (scan);
  return TRUE;
}

/* ---- the inner run ---- */

static gboolean
is_missing (gpointer data, const HrObject *object)
{
  const Scan *scan = data;

  for (guint i = 0; i < scan->missing->len; i++) {
    const HrObject *one = get_object (scan, i);

    if (g_str_equal (one->key, object->key)
        && hr_object_get_bytes (one) == hr_object_get_bytes (object)
        && g_strcmp0 (one->etag, object->etag) == 0)
      return TRUE;
  }
  return FALSE;
}

static void
tell (Scan *scan, gboolean always)
{
  gint64 now = hr_now ();

  if (!always && now - scan->told_at < TELL_INTERVAL)
    return;
  scan->told_at = now;
  hr_pipeline_post_text (scan->run->pipeline, HR_MESSAGE_SCAN,
                         g_strdup_printf ("scan: lengths of %" G_GUINT64_FORMAT
                                          " of %" G_GUINT64_FORMAT " lines in %u objects",
                                          scan->n_seen, scan->n_lines, scan->missing->len));
}

/* nobody reads them: the run itself tells the same of the same lines */
static void
forget_messages (HrPipeline *inner)
{
  HrMessage *message;

  while ((message = hr_pipeline_pop_message (inner, 0)) != NULL)
    hr_message_unref (message);
}

static gboolean
take_samples (Scan *scan, HrPipeline *inner, GError **error)
{
  HrBuffer *sample;
  GError *own = NULL;

  keep_objects (scan);
  while (own == NULL && !hr_run_is_closed (scan->run)
         && (sample = hr_pipeline_pull (inner, &own)) != NULL) {
    add_sample (scan, sample, &own);
    hr_buffer_unref (sample);
    if (scan->n_seen % 1024 != 0)
      continue;
    forget_messages (inner);
    tell (scan, FALSE);
  }
  if (own == NULL && hr_run_is_closed (scan->run))
    g_set_error_literal (&own, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  else if (own == NULL && scan->at < scan->missing->len)
    has_changed (scan, &own);
  if (own == NULL)
    return TRUE;
  g_propagate_error (error, own);
  return FALSE;
}

/* what it read, and where its time went, is part of what the run did */
static void
keep_stats (const Scan *scan, HrPipeline *inner)
{
  HrPipeline *pipeline = scan->run->pipeline;
  g_autofree char *stats = hr_pipeline_get_stats (inner);
  g_autoptr (JsonNode) all = json_from_string (stats, NULL), root = NULL;
  g_autoptr (JsonBuilder) into = json_builder_new ();
  JsonObject *of = json_node_get_object (all);

  json_builder_begin_object (into);
  json_builder_set_member_name (into, "source");
  json_builder_add_string_value (into, scan->run->element->common.name);
  json_builder_set_member_name (into, "objects");
  json_builder_add_int_value (into, scan->missing->len);
  json_builder_set_member_name (into, "lines");
  json_builder_add_int_value (into, (gint64)scan->n_seen);
  json_builder_set_member_name (into, "elements");
  json_builder_add_value (into, json_object_dup_member (of, "elements"));
  json_builder_end_object (into);
  root = json_builder_get_root (into);
  hr_mutex_lock (&pipeline->lock);
  g_ptr_array_add (pipeline->scans, hr_json_write (root, FALSE));
  hr_mutex_unlock (&pipeline->lock);
}

static void
set_inner (HrPipeline *pipeline, HrPipeline *inner)
{
  hr_mutex_lock (&pipeline->lock);
  pipeline->inner = inner;
  hr_mutex_unlock (&pipeline->lock);
}

/* Threads of its own, while this one waits for what they find. */
static gboolean
run_front (Scan *scan, GError **error)
{
  HrPipeline *pipeline = scan->run->pipeline;
  g_autoptr (HrPipeline) inner = hr_front_copy (scan->run->front, is_missing, scan);
  HrWorker *self = hr_worker_self;
  gint64 since = hr_now ();
  gboolean good;

  set_inner (pipeline, inner);
  if (self != NULL)
    hr_worker_begin_wait (self, HR_WAIT_OUTSIDE, NULL);
  hr_worker_self = NULL; /* in there, this thread is the owner */
  good = !hr_run_is_closed (scan->run) && hr_pipeline_start (inner, error)
         && take_samples (scan, inner, error);
  set_inner (pipeline, NULL);
  hr_pipeline_stop (inner);
  hr_pipeline_wait (inner, NULL);
  keep_stats (scan, inner);
  hr_worker_self = self;
  scan->out->waited += hr_now () - since;
  if (self != NULL)
    hr_worker_end_wait (self);
  if (!good && error != NULL && *error == NULL)
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  return good;
}

/* one run of a front at a time */
static gboolean
scan_in_turn (Scan *scan, GError **error)
{
  HrRun *run = scan->run;
  const HrPlanOrders *orders = &run->orders;
  gboolean good;

  if (orders->mix != NULL && orders->closed != NULL
      && !hr_mix_run_begin_scan (orders->mix, orders->closed, orders->stopping)) {
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
    return FALSE;
  }
  tell (scan, TRUE);
  good = run_front (scan, error);
  if (orders->mix != NULL && orders->closed != NULL)
    hr_mix_run_end_scan (orders->mix);
  if (good)
    tell (scan, TRUE);
  return good;
}

static gboolean
load (Scan *scan, guint object)
{
  g_autoptr (GBytes) blob =
      hr_plan_cache_load (scan->cache, hr_plan_get_object (scan->plan, object), BLOB, scan->key);

  return blob != NULL && hr_plan_set_lengths (scan->plan, object, blob);
}

/* what is said there is the run's error, whatever the source's policy is */
static gboolean
fail (Scan *scan, GError *own, GError **error)
{
  if (!g_error_matches (own, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED)) {
    g_prefix_error (&own, "while the lengths of lines were found out: ");
    hr_pipeline_fail (scan->run->pipeline, NULL, g_steal_pointer (&own));
  }
  g_clear_error (&own);
  g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  return FALSE;
}

gboolean
hr_lengths_find (HrOut *out, HrPlanCache *cache, GError **error)
{
  Scan scan = { .out = out,
                .run = out->worker->run,
                .plan = hr_out_get_plan (out),
                .cache = cache,
                .missing = g_array_new (FALSE, FALSE, sizeof (guint)),
                .lengths = g_array_new (FALSE, FALSE, sizeof (HrLength)) };
  GError *own = NULL;
  gboolean good = TRUE;

  scan.key = hr_front_describe (scan.run->front);
  for (guint i = 0; i < hr_plan_get_n_objects (scan.plan); i++)
    if (!load (&scan, i)) {
      g_array_append_val (scan.missing, i);
      scan.n_lines += hr_plan_count_lines (scan.plan, i);
    }
  if (scan.missing->len > 0 && !(good = scan_in_turn (&scan, &own)))
    fail (&scan, own, error);
  good = good && hr_plan_check_lengths (scan.plan, error);
  g_free (scan.key);
  g_array_unref (scan.missing);
  g_array_unref (scan.lengths);
  return good;
}
