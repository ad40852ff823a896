/* hr-headspace.c */
#include "hr-headspace.h"
#include "hr-json.h"
#include <math.h>

/* headspace=-1 */
#define DEFAULT_STEPS 32
/* how often who waits looks whether the run is over */
#define LOOK_TIME (20 * G_GINT64_CONSTANT (1000000))

typedef struct {
  HrBuffer *buffer;
  gint64 samples, images;
} Kept;

/* what the trainer has done from @begin to @end */
typedef struct {
  gint64 steps, samples, images;
  gint64 begin, end;
  gint64 waited, trained; /* nanoseconds */
} Pace;

struct _HrHeadspace {
  gint64 wanted;              /* steps */
  gboolean exact;             /* … all of which must fit */
  GArray *kept;               /* Kept */
  guint epoch;                /* of the last */
  guint64 held;               /* bytes of the budget */
  gint64 n_samples, n_images; /* that the sink had counted */
  gint64 n_given;
  gboolean in_hand; /* the trainer has a step … */
  Kept step;        /* … with so many samples … */
  gint64 got_at;    /* … since then */
  gint replays;     /* atomic */

  HrMutex lock;
  Pace own; /* from the end of the first step on */
  Pace replay;
  guint64 n_kept, n_bytes;
  guint64 copied; /* by all elements, when the replay began */
  char *stats;    /* the run's own */
};

/* ---- life ---- */

static gboolean
refuse (GError **error, const char *why)
{
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT, "headspace: %s", why);
  return FALSE;
}

static gboolean
check_sink (HrPipeline *pipeline, GError **error)
{
  const HrElement *sink = NULL;
  g_autofree char *why = NULL;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];

    if (element->outputs->len > 0)
      continue;
    if (sink != NULL) {
      why = g_strdup_printf ("it measures one trainer, and \"%s\" and \"%s\" are two sinks",
                             sink->common.name, element->common.name);
      return refuse (error, why);
    }
    sink = element;
  }
  if (sink->def->trains || hr_element_def_is_pulled (sink->def))
    return TRUE;
  why = g_strdup_printf ("%s \"%s\" is no trainer, so there is nothing to measure; trainsim stands "
                         "for one, and programs train behind appsink, cudasink, shmsink and "
                         "pipesink",
                         sink->def->name, sink->common.name);
  return refuse (error, why);
}

gboolean
hr_headspace_start (HrPipeline *pipeline, GError **error)
{
  const HrSettings *settings = &pipeline->settings;
  HrHeadspace *headspace;

  if (settings->headspace == 0)
    return TRUE;
  if (settings->headspace == 1)
    return refuse (error, "2 steps or more: the first one tells of the start only");
  if (settings->serial)
    return refuse (error, "serial=true is the reference for what is delivered, not for how fast");
  if (settings->requests)
    return refuse (error, "requests=true delivers what is asked for and nothing else");
  if (settings->checkpoint_every > 0)
    return refuse (error, "there are no checkpoints: what is replayed stands nowhere in the order; "
                          "leave checkpoint-every out");
  if (!check_sink (pipeline, error))
    return FALSE;
  headspace = g_new0 (HrHeadspace, 1);
  headspace->exact = settings->headspace > 0;
  headspace->wanted = headspace->exact ? settings->headspace : DEFAULT_STEPS;
  headspace->kept = g_array_new (FALSE, FALSE, sizeof (Kept));
  hr_mutex_init (&headspace->lock);
  pipeline->headspace = headspace;
  return TRUE;
}

void
hr_headspace_let_go (HrPipeline *pipeline)
{
  HrHeadspace *headspace = pipeline->headspace;

  if (headspace == NULL)
    return;
  for (guint i = 0; i < headspace->kept->len; i++)
    hr_buffer_unref (g_array_index (headspace->kept, Kept, i).buffer);
  g_array_set_size (headspace->kept, 0);
  hr_gate_give (pipeline->memory, headspace->held);
  headspace->held = 0;
}

void
hr_headspace_free (HrHeadspace *headspace)
{
  if (headspace == NULL)
    return;
  g_array_unref (headspace->kept);
  hr_mutex_clear (&headspace->lock);
  g_free (headspace->stats);
  g_free (headspace);
}

/* ---- keeping ---- */

/* what works ahead of the trainer needs its share */
static guint64
get_bound (HrPipeline *pipeline)
{
  return hr_gate_get_capacity (pipeline->memory) / 2;
}

static void
fail_too_large (HrRun *sink, guint64 n_bytes)
{
  HrPipeline *pipeline = sink->pipeline;
  const HrHeadspace *headspace = pipeline->headspace;
  guint64 fits = headspace->kept->len, n = fits + 1;
  gdouble each = (gdouble)n_bytes / (gdouble)n;
  gdouble all = each * (gdouble)(headspace->exact ? headspace->wanted : 1);
  GString *text = g_string_new (NULL);

  g_string_append_printf (text,
                          "headspace: the first %" G_GUINT64_FORMAT
                          " steps hold %.1f MiB, more than half of memory "
                          "(%.1f MiB), whose other half is for the pipeline; set memory=%.0fMiB",
                          n, (gdouble)n_bytes / HR_MIB, 2 * (gdouble)get_bound (pipeline) / HR_MIB,
                          ceil (2.1 * all / HR_MIB));
  if (headspace->exact && fits >= 2)
    g_string_append_printf (text, ", or headspace=%" G_GUINT64_FORMAT, fits);
  hr_pipeline_fail (
      pipeline, sink->element,
      g_error_new_literal (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY, text->str));
  g_string_free (text, TRUE);
}

static void
add (HrHeadspace *headspace, HrBuffer *buffer, guint64 n_bytes, guint64 held)
{
  Kept kept = headspace->step;

  kept.buffer = hr_buffer_ref (buffer);
  g_array_append_val (headspace->kept, kept);
  headspace->epoch = buffer->epoch;
  headspace->held += held;
  hr_mutex_lock (&headspace->lock);
  headspace->n_kept++;
  headspace->n_bytes += n_bytes;
  hr_mutex_unlock (&headspace->lock);
}

/* the trainer is given the next */
static void
give (HrHeadspace *headspace, Kept step, gint64 now)
{
  headspace->step = step;
  headspace->got_at = now;
  headspace->in_hand = TRUE;
}

guint64
hr_headspace_keep (HrRun *sink, HrBuffer *buffer, guint64 held)
{
  HrHeadspace *headspace = sink->pipeline->headspace;
  guint64 n_bytes, sum;

  if (headspace == NULL || (buffer->flags & HR_BUFFER_HOLE))
    return held;
  give (headspace,
        (Kept){ .samples = sink->n_samples - headspace->n_samples,
                .images = sink->n_images - headspace->n_images },
        sink->got_at);
  headspace->n_samples = sink->n_samples;
  headspace->n_images = sink->n_images;
  if (headspace->n_given++ > headspace->kept->len) /* one did not fit: the first ones are kept */
    return held;
  n_bytes = MAX (hr_buffer_get_n_bytes (buffer), held);
  sum = headspace->n_bytes + n_bytes;
  if (sum <= get_bound (sink->pipeline)) {
    add (headspace, buffer, n_bytes, held);
    return 0;
  }
  if (headspace->exact || headspace->kept->len == 0)
    fail_too_large (sink, sum);
  return held;
}

void
hr_headspace_done (HrRun *sink, gint64 now)
{
  HrHeadspace *headspace = sink->pipeline->headspace;
  Pace *pace;

  if (headspace == NULL || !headspace->in_hand)
    return;
  headspace->in_hand = FALSE;
  hr_mutex_lock (&headspace->lock);
  pace = hr_headspace_replays (sink->pipeline) ? &headspace->replay : &headspace->own;
  if (pace->begin == 0) { /* the first step of all */
    pace->begin = now;
  } else {
    pace->steps++;
    pace->samples += headspace->step.samples;
    pace->images += headspace->step.images;
    pace->waited += headspace->got_at - pace->end;
    pace->trained += now - headspace->got_at;
  }
  pace->end = now;
  hr_mutex_unlock (&headspace->lock);
}

gboolean
hr_headspace_is_full (const HrRun *sink)
{
  const HrHeadspace *headspace = sink->pipeline->headspace;

  return headspace != NULL && headspace->n_given >= headspace->wanted;
}

/* ---- the replay ---- */

gboolean
hr_headspace_replays (HrPipeline *pipeline)
{
  return pipeline->headspace != NULL && g_atomic_int_get (&pipeline->headspace->replays);
}

/* The sink, or who pulls, is the last one: nobody else takes processors. FALSE: not by then */
static gboolean
wait_alone (HrPipeline *pipeline, gint64 until)
{
  gboolean alone;

  hr_mutex_lock (&pipeline->lock);
  while (!(alone = pipeline->n_running == 1) && !g_atomic_int_get (&pipeline->stopping)
         && (until == 0 || hr_now () < until)) {
    gint64 look = hr_now () + LOOK_TIME;

    hr_cond_wait_until (&pipeline->changed, &pipeline->lock, until > 0 ? MIN (look, until) : look);
  }
  hr_mutex_unlock (&pipeline->lock);
  return alone;
}

static guint64
sum_copied (HrPipeline *pipeline)
{
  guint64 sum = 0;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;

    hr_mutex_lock (&run->lock);
    for (guint k = 0; k < run->n_workers; k++)
      sum += hr_counter_get (&run->workers[k]->copied);
    hr_mutex_unlock (&run->lock);
  }
  return sum;
}

static gboolean
begin (HrRun *sink, gint64 until)
{
  HrPipeline *pipeline = sink->pipeline;
  HrHeadspace *headspace = pipeline->headspace;
  char *stats;

  hr_link_close (sink->element->inputs->pdata[0]);
  if (!wait_alone (pipeline, until))
    return FALSE;
  stats = hr_pipeline_get_stats (pipeline);
  hr_mutex_lock (&headspace->lock);
  headspace->stats = stats;
  headspace->copied = sum_copied (pipeline);
  headspace->replay.begin = headspace->replay.end = hr_now ();
  g_atomic_int_set (&headspace->replays, 1);
  hr_mutex_unlock (&headspace->lock);
  return TRUE;
}

/* each was told when it came for the first time; who reads in another process would tell it again
 */
static void
forget_holes (HrBuffer *buffer)
{
  for (guint i = 0; i < hr_buffer_get_n_members (buffer); i++)
    if (hr_buffer_get_member (buffer, i)->flags & HR_BUFFER_HOLE) {
      hr_buffer_lose_member (buffer, i, NULL);
      hr_buffer_get_member (buffer, i)->flags &= ~(guint)HR_BUFFER_DROPPED;
    }
  g_clear_pointer (&buffer->left_out, g_ptr_array_unref);
}

HrBuffer *
hr_headspace_next (HrRun *sink, gint64 until, gboolean *late)
{
  HrHeadspace *headspace = sink->pipeline->headspace;
  const Kept *next;
  HrBuffer *buffer;

  *late = FALSE;
  if (headspace == NULL || headspace->kept->len == 0)
    return NULL;
  if (!hr_headspace_replays (sink->pipeline) && !begin (sink, until)) {
    *late = !hr_run_is_closed (sink);
    return NULL;
  }
  if (hr_run_is_closed (sink) || headspace->replay.steps >= headspace->n_given)
    return NULL;
  next = &g_array_index (headspace->kept, Kept, headspace->replay.steps % headspace->kept->len);
  /* a header of its own: the fields and their bytes are those that were there before */
  buffer = hr_buffer_make_writable (hr_buffer_ref (next->buffer));
  buffer->number = sink->step + headspace->replay.steps;
  buffer->epoch = headspace->epoch; /* no new one begins */
  forget_holes (buffer);
  give (headspace, *next, hr_now ());
  return buffer;
}

/* ---- numbers ---- */

gint64
hr_headspace_count_steps (HrPipeline *pipeline, gint64 n)
{
  gint64 first = pipeline->first_step;

  return pipeline->headspace == NULL || n < 0
             ? n
             : first + 2 * MIN (MAX (n - first, 0), pipeline->headspace->wanted);
}

static gdouble
rate (const Pace *pace, gint64 n)
{
  return pace->steps > 0 && pace->end > pace->begin
             ? (gdouble)n / ((gdouble)(pace->end - pace->begin) / HR_SECOND)
             : NAN;
}

static void
add_pace (JsonBuilder *builder, const char *name, const Pace *pace)
{
  gint64 sum = pace->waited + pace->trained;

  if (name != NULL) {
    json_builder_set_member_name (builder, name);
    json_builder_begin_object (builder);
  }
  hr_json_add_int (builder, "steps", pace->steps);
  hr_json_add_double (builder, "wall_s", (gdouble)(pace->end - pace->begin) / HR_SECOND);
  hr_json_add_double (builder, "steps_per_s", rate (pace, pace->steps));
  hr_json_add_double (builder, "samples_per_s", rate (pace, pace->samples));
  hr_json_add_double (builder, "images_per_s", pace->images > 0 ? rate (pace, pace->images) : NAN);
  hr_json_add_double (builder, "wait_ratio", sum > 0 ? (gdouble)pace->waited / (gdouble)sum : NAN);
  if (name != NULL)
    json_builder_end_object (builder);
}

static char *
describe (const HrHeadspace *headspace)
{
  gdouble could = rate (&headspace->replay, headspace->replay.samples);
  gdouble does = rate (&headspace->own, headspace->own.samples);

  if (isnan (could) || isnan (does) || could <= 0)
    return NULL;
  return g_strdup_printf ("with data at no cost the trainer does %.1f samples/s; it gets %.1f "
                          "(%.0f %%)",
                          could, does, does / could * 100);
}

void
hr_headspace_add_stats (HrPipeline *pipeline, JsonBuilder *builder)
{
  HrHeadspace *headspace = pipeline->headspace;
  g_autofree char *text = NULL;
  gdouble share;

  json_builder_set_member_name (builder, "headspace");
  if (headspace == NULL) {
    json_builder_add_null_value (builder);
    return;
  }
  json_builder_begin_object (builder);
  hr_mutex_lock (&headspace->lock);
  text = describe (headspace);
  share = rate (&headspace->own, headspace->own.steps)
          / rate (&headspace->replay, headspace->replay.steps);
  hr_json_add_bool (builder, "replays", hr_headspace_replays (pipeline));
  hr_json_add_int (builder, "wanted_steps", headspace->wanted);
  hr_json_add_int (builder, "cached_steps", (gint64)headspace->n_kept);
  hr_json_add_int (builder, "cached_bytes", (gint64)headspace->n_bytes);
  hr_json_add_int (builder, "bytes_copied",
                   headspace->stats != NULL ? (gint64)(sum_copied (pipeline) - headspace->copied)
                                            : 0);
  add_pace (builder, NULL, &headspace->replay);
  add_pace (builder, "own", &headspace->own);
  hr_json_add_double (builder, "share", share);
  hr_json_add_string (builder, "text", text);
  hr_mutex_unlock (&headspace->lock);
  json_builder_end_object (builder);
}

char *
hr_headspace_keep_stats (HrPipeline *pipeline, char *now)
{
  static const char *const since[] = { "status",         "exit",      "sha256",
                                       "peak_rss_bytes", "headspace", "trace" };
  HrHeadspace *headspace = pipeline->headspace;
  g_autoptr (JsonNode) own = NULL;
  g_autoptr (JsonNode) all = NULL;

  if (headspace == NULL)
    return now;
  hr_mutex_lock (&headspace->lock);
  own = headspace->stats != NULL ? json_from_string (headspace->stats, NULL) : NULL;
  hr_mutex_unlock (&headspace->lock);
  if (own == NULL)
    return now;
  all = json_from_string (now, NULL);
  g_free (now);
  for (guint i = 0; i < G_N_ELEMENTS (since); i++)
    json_object_set_member (json_node_get_object (own), since[i],
                            json_object_dup_member (json_node_get_object (all), since[i]));
  return hr_json_write (own, FALSE);
}
