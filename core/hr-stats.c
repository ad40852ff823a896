/* hr-stats.c: the numbers of a run as one JSON object; docs/stats.md has the keys */
#include "hr-headspace.h"
#include "hr-auto.h"
#include "hr-json.h"
#include "hr-packer.h"
#include "hr-trace.h"
#include "hr-verdict.h"
#include <math.h>
#include <string.h>
#include <sys/resource.h>

static double
seconds (gint64 nanoseconds)
{
  return nanoseconds / 1e9;
}

/* ---- an element ---- */

void
hr_run_sum (HrRun *run, HrWorker *sum)
{
  *sum = (HrWorker){ 0 };
  hr_mutex_lock (&run->lock);
  for (guint i = 0; i < run->n_workers; i++) {
    const HrWorker *worker = run->workers[i];

    sum->items += hr_counter_get (&worker->items);
    sum->bytes += hr_counter_get (&worker->bytes);
    sum->copied += hr_counter_get (&worker->copied);
    sum->blocked_in += hr_counter_get (&worker->blocked_in);
    sum->working += hr_counter_get (&worker->working);
    sum->slept += hr_counter_get (&worker->slept);
    sum->blocked_out += hr_counter_get (&worker->blocked_out);
    sum->blocked_cpu += hr_counter_get (&worker->blocked_cpu);
    sum->cpu += hr_worker_get_cpu_time (worker);
  }
  hr_mutex_unlock (&run->lock);
}

/* who feeds it */
static void
add_inputs (JsonBuilder *builder, const HrElement *element)
{
  json_builder_set_member_name (builder, "inputs");
  json_builder_begin_array (builder);
  for (guint i = 0; i < element->inputs->len; i++) {
    const HrLink *link = element->inputs->pdata[i];

    json_builder_add_string_value (builder, hr_element_get_name (link->from));
  }
  json_builder_end_array (builder);
}

/* the queue in front of it; of several, the fullest */
static void
add_queue (JsonBuilder *builder, const HrElement *element)
{
  double mean = 0;
  guint max = 0, now = 0;
  guint64 room = 0;
  gsize bytes = 0;

  for (guint i = 0; i < element->inputs->len; i++) {
    HrLink *link = element->inputs->pdata[i];

    hr_mutex_lock (&link->lock);
    mean = MAX (mean, link->count_n > 0 ? (double)link->count_sum / link->count_n : 0);
    max = MAX (max, link->max_count);
    bytes = MAX (bytes, link->peak_bytes);
    now = MAX (now, link->count);
    room = MAX (room, link->max_items);
    hr_mutex_unlock (&link->lock);
  }
  json_builder_set_member_name (builder, "queue");
  json_builder_begin_object (builder);
  hr_json_add_double (builder, "mean", mean);
  hr_json_add_int (builder, "max", max);
  hr_json_add_int (builder, "bytes", (gint64)bytes);
  hr_json_add_int (builder, "now", now);
  hr_json_add_int (builder, "room", (gint64)room);
  json_builder_end_object (builder);
}

/* what a run that goes on has read once more: sources, and packers for the block at hand */
static void
add_again (JsonBuilder *builder, const HrRun *run)
{
  const HrPlan *plan = __atomic_load_n (&run->plan, __ATOMIC_ACQUIRE);
  guint64 n_lines = __atomic_load_n (&run->again_lines, __ATOMIC_RELAXED);
  guint64 n_bytes = __atomic_load_n (&run->again_bytes, __ATOMIC_RELAXED);

  if (plan != NULL)
    hr_plan_get_again (plan, &n_lines, &n_bytes);
  hr_json_add_int (builder, "reread_lines", (gint64)n_lines);
  hr_json_add_int (builder, "reread_bytes", (gint64)n_bytes);
}

/* {"images": "memfd"} */
static void
add_allocators (JsonBuilder *builder, const HrRun *run)
{
  g_autoptr (GList) fields =
      g_list_sort (g_hash_table_get_keys (run->allocators), (GCompareFunc)strcmp);

  json_builder_set_member_name (builder, "allocators");
  json_builder_begin_object (builder);
  for (const GList *item = fields; item != NULL; item = item->next)
    hr_json_add_string (builder, item->data, hr_run_get_allocator (run, item->data)->name);
  json_builder_end_object (builder);
}

static void
add_element (JsonBuilder *builder, HrElement *element)
{
  HrRun *run = element->run;
  HrWorker sum = { 0 };

  json_builder_begin_object (builder);
  hr_json_add_string (builder, "name", hr_element_get_name (element));
  hr_json_add_string (builder, "factory", element->def->name);
  add_inputs (builder, element);
  if (run != NULL) {
    hr_run_sum (run, &sum);
    hr_json_add_int (builder, "workers", hr_run_get_n_workers (run));
    hr_json_add_int (builder, "items",
                     (gint64)(hr_element_def_is_pulled (element->def)
                                  ? (guint64)hr_counter_get (&run->step)
                                  : sum.items));
    hr_json_add_int (builder, "bytes", (gint64)sum.bytes);
    hr_json_add_int (builder, "bytes_copied", (gint64)sum.copied);
    hr_json_add_double (builder, "blocked_in_s", seconds (sum.blocked_in));
    hr_json_add_double (builder, "working_s", seconds (sum.working));
    hr_json_add_double (builder, "blocked_out_s", seconds (sum.blocked_out));
    hr_json_add_double (builder, "blocked_cpu_s", seconds (sum.blocked_cpu));
    hr_json_add_double (builder, "cpu_s", seconds (sum.cpu));
    add_queue (builder, element);
    if (run->allocators != NULL)
      add_allocators (builder, run);
    if ((element->def->plans || hr_packer_is (run)) && run->pipeline->resume != NULL)
      add_again (builder, run);
    if (element->def->metrics != NULL && run->started)
      element->def->metrics (run->self, run->shared, builder);
  }
  json_builder_end_object (builder);
}

/* ---- the run ---- */

static const char *
status_name (HrPipeline *pipeline, int *exit)
{
  gboolean skipped = FALSE;

  for (guint i = 0; i < HR_N_DATA_ERRORS; i++)
    skipped = skipped || hr_counter_get (&pipeline->skipped[i]) > 0;
  *exit = g_atomic_int_get (&pipeline->failed) ? 1 : skipped ? 3 : 0;
  if (*exit == 1)
    return "failed";
  if (g_atomic_int_get (&pipeline->stopping))
    return "stopped";
  if (pipeline->ended_at == 0)
    return pipeline->pid == 0 ? "not-started" : "running";
  return skipped ? "ended-with-skipped" : "ended";
}

static HrElement *
find_sink (HrPipeline *pipeline)
{
  HrElement *any = NULL;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (element->run == NULL || element->outputs->len > 0)
      continue;
    if (element->def->trains || hr_element_def_is_pulled (element->def))
      return element;
    any = any != NULL ? any : element;
  }
  return any;
}

static void
add_kinds (JsonBuilder *builder, const gint64 *counts)
{
  for (guint i = 0; i < HR_N_DATA_ERRORS; i++) {
    gint64 n = hr_counter_get (&counts[i]);

    if (n > 0)
      hr_json_add_int (builder, hr_data_error_kind ((int)i), n);
  }
}

static void
add_skipped (JsonBuilder *builder, HrPipeline *pipeline)
{
  json_builder_set_member_name (builder, "skipped");
  json_builder_begin_object (builder);
  add_kinds (builder, pipeline->skipped);
  json_builder_end_object (builder);
  json_builder_set_member_name (builder, "dropped");
  json_builder_begin_object (builder);
  add_kinds (builder, pipeline->dropped);
  if (hr_counter_get (&pipeline->n_dropped) > 0)
    hr_json_add_int (builder, "policy", hr_counter_get (&pipeline->n_dropped));
  json_builder_end_object (builder);
}

void
hr_pipeline_get_transfers (HrPipeline *pipeline, gint64 *copied, gint64 *waited)
{
  *copied = *waited = 0;
  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;
    gint64 time = 0, stood = 0;

    if (run == NULL || !run->started || run->def->transfers == NULL)
      continue;
    run->def->transfers (run->self, run->shared, &time, &stood);
    *copied += time;
    *waited += stood;
  }
}

static void
add_times (JsonBuilder *builder, HrPipeline *pipeline, const HrRun *run)
{
  gint64 wait = run != NULL ? hr_counter_get (&run->wait_time) : 0;
  gint64 train = run != NULL ? hr_counter_get (&run->train_time) : 0;
  gint64 cold = run != NULL ? hr_counter_get (&run->cold_start) : -1;
  gint64 end = pipeline->ended_at > 0 ? pipeline->ended_at : hr_now ();
  gint64 copied, waited;
  /* a sink that only swallows waits all the time, which says nothing */
  gboolean trains =
      run != NULL && (run->def->trains || hr_element_def_is_pulled (run->def)) && wait + train > 0;

  hr_pipeline_get_transfers (pipeline, &copied, &waited);
  /* the device stood still while the program went on: that lies in its own time */
  hr_json_add_double (builder, "wait_ratio",
                      trains ? (double)(wait + MIN (waited, train)) / (wait + train) : NAN);
  hr_json_add_double (builder, "prepare_s", seconds (wait));
  hr_json_add_double (builder, "transfer_s", seconds (copied));
  hr_json_add_double (builder, "transfer_wait_s", seconds (waited));
  hr_json_add_double (builder, "train_s", seconds (train));
  hr_json_add_double (builder, "cold_start_s", cold >= 0 ? seconds (cold) : NAN);
  hr_json_add_double (builder, "wall_s",
                      pipeline->started_at > 0 ? seconds (end - pipeline->started_at) : 0);
}

static gint64
peak_rss (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (gint64)usage.ru_maxrss * 1024;
}

static void
add_rates (JsonBuilder *builder, HrPipeline *pipeline, const HrRun *run)
{
  gint64 end = pipeline->ended_at > 0 ? pipeline->ended_at : hr_now ();
  double wall = pipeline->started_at > 0 ? seconds (end - pipeline->started_at) : 0;
  double cpu = seconds (hr_pipeline_get_cpu_time (pipeline));
  gint64 images = run != NULL ? hr_counter_get (&run->n_images) : 0;

  hr_json_add_double (builder, "cpu_s", cpu);
  hr_json_add_double (builder, "images_per_s", images > 0 && wall > 0 ? images / wall : NAN);
  hr_json_add_double (builder, "cpu_ms_per_image", images > 0 ? cpu * 1000 / images : NAN);
  hr_json_add_int (builder, "peak_rss_bytes", peak_rss ());
}

static void
add_budget (JsonBuilder *builder, HrPipeline *pipeline)
{
  HrGateStats stats = { 0 };

  if (pipeline->memory != NULL)
    hr_gate_get_stats (pipeline->memory, &stats);
  hr_json_add_int (builder, "budget_peak_bytes", (gint64)stats.max_used);
  hr_json_add_int (builder, "over_budget_bytes", (gint64)stats.max_over);
}

static void
add_n_steps (JsonBuilder *builder, HrPipeline *pipeline)
{
  gint64 n = hr_pipeline_get_n_steps (pipeline);

  hr_json_add_int (builder, "first_step", pipeline->first_step);
  json_builder_set_member_name (builder, "n_steps");
  if (n >= 0)
    json_builder_add_int_value (builder, n);
  else
    json_builder_add_null_value (builder);
}

/* of the first source that deals steps */
static void
add_balance (JsonBuilder *builder, HrPipeline *pipeline)
{
  HrBalanceSums sums = { 0 };

  for (guint i = 0; sums.steps == 0 && i < pipeline->elements->len; i++) {
    const HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;
    const HrPlan *plan = run != NULL ? __atomic_load_n (&run->plan, __ATOMIC_ACQUIRE) : NULL;

    if (plan != NULL)
      hr_plan_get_balance (plan, &sums);
  }
  json_builder_set_member_name (builder, "balance");
  if (sums.mean == 0) {
    json_builder_add_null_value (builder);
    return;
  }
  json_builder_begin_object (builder);
  hr_json_add_int (builder, "steps", (gint64)sums.steps);
  hr_json_add_double (builder, "max_to_mean", sums.most / sums.mean);
  hr_json_add_double (builder, "max_to_mean_without", sums.without / sums.mean);
  json_builder_end_object (builder);
}

static void
add_scans (JsonBuilder *builder, HrPipeline *pipeline)
{
  json_builder_set_member_name (builder, "scans");
  json_builder_begin_array (builder);
  hr_mutex_lock (&pipeline->lock);
  for (guint i = 0; i < pipeline->scans->len; i++)
    json_builder_add_value (builder, json_from_string (pipeline->scans->pdata[i], NULL));
  hr_mutex_unlock (&pipeline->lock);
  json_builder_end_array (builder);
}

static char *
make_stats (HrPipeline *pipeline)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  HrElement *sink = find_sink (pipeline);
  HrRun *run = sink != NULL ? sink->run : NULL;
  const char *status;
  int exit;

  json_builder_begin_object (builder);
  status = status_name (pipeline, &exit);
  hr_json_add_string (builder, "status", status);
  hr_json_add_int (builder, "exit", exit);
  hr_json_add_int (builder, "steps", run != NULL ? hr_counter_get (&run->step) : 0);
  add_n_steps (builder, pipeline);
  hr_json_add_int (builder, "samples", run != NULL ? hr_counter_get (&run->n_samples) : 0);
  hr_json_add_int (builder, "images", run != NULL ? hr_counter_get (&run->n_images) : 0);
  add_skipped (builder, pipeline);
  add_times (builder, pipeline, run);
  add_rates (builder, pipeline, run);
  add_budget (builder, pipeline);
  /* while it runs the sum is still being made */
  hr_json_add_string (builder, "sha256",
                      run != NULL && run->checksum != NULL && pipeline->ended_at > 0
                          ? g_checksum_get_string (run->checksum)
                          : NULL);
  add_balance (builder, pipeline);
  hr_verdict_add (builder, pipeline);
  hr_headspace_add_stats (pipeline, builder);
  hr_auto_add_stats (pipeline->automatic, builder);
  add_scans (builder, pipeline);
  hr_trace_add_stats (pipeline, builder);
  json_builder_set_member_name (builder, "elements");
  json_builder_begin_array (builder);
  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++)
    add_element (builder, pipeline->elements->pdata[i]);
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  return hr_headspace_keep_stats (pipeline, hr_json_write (root, FALSE));
}

/**
 * hr_pipeline_get_stats:
 *
 * The numbers of the run. Times are seconds, sizes bytes.
 *
 * Returns: (transfer full): one JSON object, docs/stats.md; also while it runs
 */
char *
hr_pipeline_get_stats (HrPipeline *pipeline)
{
  char *stats;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), NULL);
  if (hr_pipeline_is_foreign (pipeline))
    return g_strdup ("{\"status\":\"forked\",\"exit\":1}");
  hr_mutex_lock (&pipeline->live);
  stats = pipeline->final_stats != NULL ? g_strdup (pipeline->final_stats) : make_stats (pipeline);
  hr_mutex_unlock (&pipeline->live);
  return stats;
}
