/* hr-pipeline.c: the pipeline object: its settings and its graph */
#include "hr-auto.h"
#include "hr-headspace.h"
#include "hr-recent.h"
#include "hr-trace.h"
#include "hr-value.h"

/* of HrScan, in its order */
static const char *const scans[] = { "auto", "lines", "lengths", NULL };

/* of HrBalanceBy, in its order */
static const char *const balances[] = { "none", "pixels", NULL };

/* of HrOnStall, in its order */
static const char *const on_stall_names[] = { "tell", "fail", NULL };

static const char *const on_error_names[] = { "default", "fail", "skip", NULL };

const HrProp hr_pipeline_props[] = {
  HR_PROP_BOOL (
      HrSettings, serial, FALSE,
      "All elements in one thread, one sample at a time, one request in flight: the reference "
      "whose bytes every other setting delivers"),
  HR_PROP_SIZE (
      HrSettings, memory, 1, G_MAXUINT64, 2 * HR_GIB,
      "Bytes of sample data that look-ahead may hold; the step in hand is never held up by it",
      .flags = HR_PROP_LIVE),
  HR_PROP_UINT (HrSettings, cpus, 0, 4096, 0,
                "Processors that workers may compute on at once; 0: those the process may use",
                .unit = "processors", .flags = HR_PROP_LIVE),
  { .field = "auto", /* no name for a field of C */
    .type = HR_PROP_TYPE_BOOL,
    .offset = HR_PROP_OFFSET (HrSettings, automatic, gboolean),
    .max = 1,
    .doc = "Whatever can find its value itself and is not set does so: as if it were set to auto" },
  HR_PROP_ENUM (
      HrSettings, on_error, on_error_names, HR_ON_ERROR_FAIL,
      "What a bad sample does, where its element does not say: end the run, or leave a hole",
      .flags = HR_PROP_STREAM),
  HR_PROP_STRING (
      HrSettings, max_errors, NULL,
      "Bad samples that the run may skip: a count, or a percentage of those that have been taken, "
      "once they are 100"),
  HR_PROP_STRING (HrSettings, dead_letter, NULL,
                  "File that gets a line of JSON for each sample that is skipped for an error, "
                  "behind what it has"),
  HR_PROP_STRING (HrSettings, trace, NULL,
                  "File that is made anew, with what each thread did when: for Perfetto, or "
                  "chrome://tracing"),
  HR_PROP_DURATION (HrSettings, stall_timeout, 0, 3600 * 24 * HR_SECOND, 120 * HR_SECOND,
                    "When nothing has moved for so long, it is said who waits for what; 0: never"),
  HR_PROP_ENUM (
      HrSettings, on_stall, on_stall_names, HR_ON_STALL_TELL,
      "… and then: only that (tell), or the run ends (fail), unless it is the program that "
      "does not pull"),
  HR_PROP_UINT (HrSettings, limit, 0, G_MAXINT64, 0,
                "Stop after so many samples of all ranks together; 0: all", .unit = "samples",
                .flags = HR_PROP_STREAM | HR_PROP_BOUND),
  HR_PROP_UINT (HrSettings, steps, 0, G_MAXINT32, 0, "Stop after so many steps; 0: all",
                .unit = "steps", .flags = HR_PROP_STREAM | HR_PROP_BOUND),
  HR_PROP_UINT (HrSettings, rank, 0, 1 << 20, 0,
                "Which of the ranks that share the data this one is, from 0"),
  HR_PROP_UINT (HrSettings, world, 1, 1 << 20, 1, "Ranks that share the data", .unit = "ranks"),
  HR_PROP_INT (HrSettings, seed, -1, G_MAXINT64, -1,
               "What shuffle depends on; -1: the sources' own seed",
               .flags = HR_PROP_STREAM | HR_PROP_BOUND),
  HR_PROP_INT (HrSettings, epochs, -1, G_MAXINT32, -1,
               "Times the data is gone through, 0: without end; -1: as often as the sources say",
               .unit = "epochs", .flags = HR_PROP_STREAM | HR_PROP_BOUND),
  HR_PROP_UINT (HrSettings, checkpoint_every, 0, G_MAXINT32, 0,
                "Post a message with a checkpoint behind every so many steps; 0: never",
                .unit = "steps"),
  HR_PROP_ENUM (
      HrSettings, scan, scans, HR_SCAN_AUTO,
      "What is found out about the data before the first sample, and kept: where all lines "
      "begin (lines); and how many tokens and pixels their samples have (lengths); auto: "
      "only what the order needs"),
  HR_PROP_ENUM (HrSettings, balance, balances, HR_BALANCE_NONE,
                "How the samples of a step are dealt to ranks: as they stand (none), or so that "
                "tokens and pixels are about as many for each (pixels); that needs scan=lengths",
                .flags = HR_PROP_STREAM | HR_PROP_SHARE),
  HR_PROP_BOOL (HrSettings, requests, FALSE,
                "Deliver nothing but what hr_pipeline_request() asks for, in the order in which it "
                "is asked for"),
  HR_PROP_INT (HrSettings, headspace, -1, G_MAXINT32, 0,
               "Keep the first so many steps, then stop what makes them and give them to the "
               "trainer again: how fast is it if data costs nothing? -1: 32, and of them those "
               "that fit; 0: no",
               .unit = "steps"),
  HR_PROP_BOOL (HrSettings, checksum, FALSE,
                "Compute one sha256 over all that is delivered; costs about 4 ms a MB"),
  HR_PROP_END,
};

enum { FIRST_PROPERTY = 1 };

G_DEFINE_FINAL_TYPE (HrPipeline, hr_pipeline, G_TYPE_OBJECT)

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec G_GNUC_UNUSED)
{
  HrPipeline *pipeline = HR_PIPELINE (object);

  hr_prop_set_value (&pipeline->settings, &hr_pipeline_props[id - FIRST_PROPERTY], value);
  hr_pipeline_settings_changed (pipeline);
}

static void
get_property (GObject *object, guint id, GValue *value, GParamSpec *spec G_GNUC_UNUSED)
{
  hr_prop_get_value (&HR_PIPELINE (object)->settings, &hr_pipeline_props[id - FIRST_PROPERTY],
                     value);
}

static void
dispose (GObject *object)
{
  HrPipeline *pipeline = HR_PIPELINE (object);

  /* the threads use us until they have left */
  if (hr_pipeline_get_state (pipeline) == HR_STATE_RUNNING)
    hr_pipeline_stop (pipeline);
  hr_pipeline_wait (pipeline, NULL);
  G_OBJECT_CLASS (hr_pipeline_parent_class)->dispose (object);
}

static void
finalize (GObject *object)
{
  HrPipeline *pipeline = HR_PIPELINE (object);

  /* After a fork, in the child: locks may be held and conditions waited for by threads that are not
   * here, so nothing can be taken apart. It goes with the process. */
  if (hr_pipeline_is_foreign (pipeline)) {
    G_OBJECT_CLASS (hr_pipeline_parent_class)->finalize (object);
    return;
  }
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    g_clear_pointer (&element->run, hr_run_free);
    element->pipeline = NULL;
  }
  g_clear_pointer (&pipeline->serial_run, hr_serial_free);
  g_clear_pointer (&pipeline->trace, hr_trace_free);
  g_ptr_array_unref (pipeline->links);
  g_ptr_array_unref (pipeline->elements);
  g_queue_clear_full (&pipeline->messages, (GDestroyNotify)hr_message_unref);
  if (pipeline->memory != NULL) {
    hr_gate_detach (pipeline->memory); /* memory that is still held refers to it */
    hr_gate_unref (pipeline->memory);
  }
  g_clear_pointer (&pipeline->cpus, hr_gate_unref);
  g_clear_pointer (&pipeline->steps, hr_steps_free);
  hr_bell_clear (&pipeline->stop_bell);
  g_clear_pointer (&pipeline->final_stats, g_free);
  g_clear_pointer (&pipeline->first_account, g_free);
  g_clear_pointer (&pipeline->recent, hr_recent_free);
  g_clear_pointer (&pipeline->headspace, hr_headspace_free);
  g_clear_pointer (&pipeline->automatic, hr_auto_free);
  g_clear_pointer (&pipeline->resume, json_node_unref);
  g_ptr_array_unref (pipeline->scans);
  hr_requests_free (pipeline->requests);
  g_clear_pointer (&pipeline->order, g_ptr_array_unref);
  g_clear_error (&pipeline->error);
  hr_props_clear (&pipeline->settings, hr_pipeline_props);
  hr_cond_clear (&pipeline->changed);
  hr_mutex_clear (&pipeline->live);
  hr_mutex_clear (&pipeline->lock);
  G_OBJECT_CLASS (hr_pipeline_parent_class)->finalize (object);
}

static void
hr_pipeline_class_init (HrPipelineClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->dispose = dispose;
  object_class->finalize = finalize;
  hr_props_install (object_class, hr_pipeline_props, FIRST_PROPERTY);
}

static void
hr_pipeline_init (HrPipeline *pipeline)
{
  hr_mutex_init (&pipeline->lock);
  pipeline->scans = g_ptr_array_new_with_free_func (g_free);
  hr_mutex_init (&pipeline->live);
  hr_cond_init (&pipeline->changed);
  pipeline->stop_bell.fd = -1;
  pipeline->foreign_steps = -1;
  pipeline->elements = g_ptr_array_new_with_free_func (g_object_unref);
  pipeline->links = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_link_free);
  g_queue_init (&pipeline->messages);
  pipeline->requests = hr_requests_new ();
  pipeline->recent = hr_recent_new ();
  hr_props_init (&pipeline->settings, hr_pipeline_props);
}

/* ---- the graph ---- */

HrPipeline *
hr_pipeline_new (void)
{
  return g_object_new (HR_TYPE_PIPELINE, NULL);
}

void
hr_pipeline_add (HrPipeline *pipeline, HrElement *element)
{
  element->pipeline = pipeline;
  element->index = pipeline->elements->len;
  /* with room for one more: start() may add it while others look elements up */
  g_ptr_array_set_size (pipeline->elements, (gint)element->index + 2);
  pipeline->elements->pdata[element->index] = element;
  pipeline->elements->len--;
}

static void
put_at (GPtrArray *pads, guint pad, HrLink *link)
{
  if (pads->len <= pad)
    g_ptr_array_set_size (pads, (gint)pad + 1);
  pads->pdata[pad] = link;
}

void
hr_pipeline_link_pads (HrPipeline *pipeline, HrElement *from, guint from_pad, HrElement *to,
                       guint to_pad)
{
  HrLink *link = hr_link_new (from, from_pad, to, to_pad);

  g_ptr_array_add (pipeline->links, link);
  put_at (from->outputs, from_pad, link);
  put_at (to->inputs, to_pad, link);
}

void
hr_pipeline_link (HrPipeline *pipeline, HrElement *from, HrElement *to)
{
  hr_pipeline_link_pads (pipeline, from, from->outputs->len, to, to->inputs->len);
}

gpointer
hr_pipeline_get_settings (HrPipeline *pipeline)
{
  return &pipeline->settings;
}

HrElement *
hr_pipeline_get_element (HrPipeline *pipeline, const char *name)
{
  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && name != NULL, NULL);
  for (guint i = 0; i < pipeline->elements->len; i++)
    if (g_strcmp0 (hr_element_get_name (pipeline->elements->pdata[i]), name) == 0)
      return pipeline->elements->pdata[i];
  return NULL;
}

guint
hr_pipeline_get_n_elements (HrPipeline *pipeline)
{
  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), 0);
  return pipeline->elements->len - pipeline->hands_out;
}

HrElement *
hr_pipeline_get_nth_element (HrPipeline *pipeline, guint index)
{
  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && index < pipeline->elements->len, NULL);
  return pipeline->elements->pdata[index];
}

gboolean
hr_pipeline_set_from_string (HrPipeline *pipeline, const char *property, const char *value,
                             GError **error)
{
  const HrProp *prop;
  g_autofree char *why = NULL;
  guint64 count;
  double rate;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), FALSE);
  prop = hr_props_find (hr_pipeline_props, property);
  if (prop == NULL) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_UNKNOWN_PROPERTY,
                 "no property \"%s\" of the pipeline", property);
    return FALSE;
  }
  if (hr_pipeline_get_state (pipeline) != HR_STATE_STOPPED && !(prop->flags & HR_PROP_LIVE)) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                 "\"%s\" cannot change any more: the pipeline has been started", property);
    return FALSE;
  }
  if (g_str_equal (prop->field, "max_errors")
      && hr_value_parse_limit (value, &count, &rate, &why) != HR_VALUE_OK) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "bad value \"%s\" for \"max-errors\": %s; it takes a count such as 10 or a "
                 "percentage such as 1%%",
                 value, why != NULL ? why : "out of range");
    return FALSE;
  }
  if (!hr_prop_set_string (&pipeline->settings, prop, value, error))
    return FALSE;
  hr_pipeline_settings_changed (pipeline);
  return TRUE;
}
