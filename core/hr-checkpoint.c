/* hr-checkpoint.c: where a run is, as a document that another run can go on from */
#include "hr-checkpoint.h"
#include "hr-foreign.h"
#include "hr-json.h"
#include "hr-packer.h"
#include "hr-secrets.h"
#include "hr-tell.h"
#include <string.h>

/* of sets with more objects only the hash of all is kept, and a change cannot be named */
#define MAX_OBJECTS 1000

/* ---- positions ---- */

/* the source whose order counts; of a mix, all members tell the same */
static HrRun *
find_source (const HrPipeline *pipeline)
{
  HrRun *found = NULL;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;

    if (run->orders.shard.group > 0)
      found = run;
  }
  return found;
}

#ifdef HR_RULES
static guint
count_holes (const HrBuffer *batch)
{
  guint n = 0;

  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++)
    n += (hr_buffer_get_member (batch, i)->flags & HR_BUFFER_HOLE) != 0;
  return n;
}
#else
#define count_holes(batch) 0
#endif

gboolean
hr_position_behind (const HrRun *sink, const HrBuffer *buffer, HrPosition *position)
{
  const HrRun *source = find_source (sink->pipeline);
  gboolean requests = sink->pipeline->settings.requests;
  const HrShard *shard;

  if (source == NULL || buffer->place < 0)
    return FALSE;
  shard = &source->orders.shard;
  *position = (HrPosition){ .epoch = buffer->epoch };
  /* what is asked for may be of any rank */
  position->step = requests
                       ? buffer->place / (gint64)hr_shard_step_size (shard)
                       : (gint64)(hr_shard_count (shard, (guint64)buffer->place) / shard->group);
  if (source->orders.rows.window > 0) {
    /* rows in steps of as many as there are ranks, from where this run began */
    gint64 world = (gint64)shard->world;
    gint64 first = source->start.epoch == buffer->epoch ? source->start.place : 0;

    position->step = first + ((buffer->place - first) / world + 1) * world;
  } else if (source->orders.balance || (requests && sink->packer == 0)) /* anybody's places */
    position->step = buffer->place / (gint64)hr_shard_step_size (shard) + 1;
  else if (sink->packer == 0)
    position->step = (gint64)((hr_shard_count (shard, (guint64)buffer->place) + sink->group
                               - (hr_wrong (HR_WRONG_SURVIVORS) ? count_holes (buffer) : 0))
                              / shard->group);
  else if (buffer->flags & HR_BUFFER_BLOCK_END)
    position->step++;
  else
    position->row = buffer->row + 1;
  return TRUE;
}

/* ---- what the stream is made of ---- */

static gboolean
counts (const HrProp *prop)
{
  return (prop->flags & HR_PROP_STREAM) && !(prop->flags & (HR_PROP_BOUND | HR_PROP_SHARE));
}

static void
add_properties (JsonBuilder *into, gconstpointer self, const HrProp *props, const char *seed)
{
  json_builder_begin_object (into);
  for (guint i = 0; props != NULL && props[i].field != NULL; i++)
    if (counts (&props[i])) {
      g_autofree char *value = seed != NULL && strcmp (props[i].field, "seed") == 0
                                   ? g_strdup (seed)
                                   : hr_prop_get_string (self, &props[i]);
      g_autofree char *shown = hr_secrets_hide (value != NULL ? value : "", HR_SECRETS_IN_VALUE);

      json_builder_set_member_name (into, hr_prop_name (&props[i]));
      json_builder_add_string_value (into, shown);
    }
  json_builder_end_object (into);
}

static gboolean
has_stream_property (const HrElementDef *def)
{
  for (guint i = 0; def->props != NULL && def->props[i].field != NULL; i++)
    if (counts (&def->props[i]))
      return TRUE;
  return FALSE;
}

/* what only passes buffers on, and where they end, may change */
static gboolean
makes_the_stream (const HrElement *element)
{
  const HrElementDef *def = element->def;

  return element->outputs->len > 0
         && (def->gives != NULL || def->takes != NULL || def->group != NULL
             || has_stream_property (def));
}

JsonNode *
hr_checkpoint_describe_elements (HrPipeline *pipeline)
{
  g_autoptr (JsonBuilder) into = json_builder_new ();
  g_autofree char *seed = pipeline->settings.seed >= 0
                              ? g_strdup_printf ("%" G_GINT64_FORMAT, pipeline->settings.seed)
                              : NULL;

  json_builder_begin_array (into);
  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];

    if (!makes_the_stream (element))
      continue;
    json_builder_begin_object (into);
    json_builder_set_member_name (into, "element");
    json_builder_add_string_value (into, element->def->name);
    json_builder_set_member_name (into, "properties");
    add_properties (into, element->self, element->def->props,
                    element->def->plans || element->def->mixes ? seed : NULL);
    json_builder_end_object (into);
  }
  json_builder_end_array (into);
  return json_builder_get_root (into);
}

JsonNode *
hr_checkpoint_describe_pipeline (HrPipeline *pipeline)
{
  g_autoptr (JsonBuilder) into = json_builder_new ();

  add_properties (into, &pipeline->settings, hr_pipeline_props, NULL);
  return json_builder_get_root (into);
}

/* ---- the data ---- */

static void
add_int (JsonBuilder *into, const char *name, gint64 value)
{
  json_builder_set_member_name (into, name);
  if (value >= 0)
    json_builder_add_int_value (into, value);
  else
    json_builder_add_null_value (into);
}

static void
add_objects (JsonBuilder *into, const HrPlan *plan)
{
  guint n = hr_plan_get_n_objects (plan);

  json_builder_set_member_name (into, "n_objects");
  json_builder_add_int_value (into, n);
  json_builder_set_member_name (into, "identity");
  json_builder_add_string_value (into, hr_plan_get_identity (plan));
  if (n > MAX_OBJECTS)
    return;
  json_builder_set_member_name (into, "objects");
  json_builder_begin_array (into);
  for (guint i = 0; i < n; i++) {
    const HrObject *object = hr_plan_get_object (plan, i);

    json_builder_begin_object (into);
    json_builder_set_member_name (into, "key");
    json_builder_add_string_value (into, object->key);
    add_int (into, "size", hr_object_get_bytes (object));
    json_builder_set_member_name (into, "etag");
    json_builder_add_string_value (into, object->etag != NULL ? object->etag : "");
    json_builder_end_object (into);
  }
  json_builder_end_array (into);
}

static void
add_source (JsonBuilder *into, const HrRun *run, const HrPlanStart *start)
{
  json_builder_begin_object (into);
  add_objects (into, run->plan);
  add_int (into, "lines", start->n_lines);
  add_int (into, "unit", (gint64)start->unit);
  add_int (into, "byte", start->byte);
  add_int (into, "first", start->first);
  json_builder_end_object (into);
}

/* of a mix, its members in the order of its inputs */
static void
add_data (JsonBuilder *into, const HrRun *source, const HrPlanStart *start)
{
  const HrElement *mix =
      source->mix != NULL ? ((HrLink *)source->element->outputs->pdata[0])->to : NULL;

  json_builder_set_member_name (into, "data");
  json_builder_begin_array (into);
  if (mix == NULL)
    add_source (into, source, start);
  for (guint i = 0; mix != NULL && i < mix->inputs->len; i++)
    add_source (into, ((HrLink *)mix->inputs->pdata[i])->from->run, start);
  json_builder_end_array (into);
}

/* ---- the document ---- */

static gboolean
refuse (GError **error, const char *what)
{
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE, "no checkpoint: %s", what);
  return FALSE;
}

/* can the order be told, and is everything that is delivered made of it alone? */
static gboolean
check_graph (HrPipeline *pipeline, GError **error)
{
  const HrRun *source = find_source (pipeline);

  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];
    const HrElementDef *def = element->def;
    g_autofree char *what = NULL;

    if (element->inputs->len == 0 && element->run->orders.shard.group > 0 && element->run != source
        && (source->mix == NULL || source->mix != element->run->mix))
      return refuse (error, "several sources, and no mix that says how they follow each other");
    if (element->inputs->len == 0 && element->run->orders.shard.group == 0)
      what = g_strdup_printf ("%s \"%s\" has no order that is known beforehand", def->name,
                              element->common.name);
    else if (!element->common.ordered && element->outputs->len > 0 && element->inputs->len > 0)
      what = g_strdup_printf ("%s \"%s\" has ordered=false: what comes when is chance", def->name,
                              element->common.name);
    else if (def->finish != NULL && def->group == NULL && element->outputs->len > 0)
      what = g_strdup_printf ("%s \"%s\" holds samples back and does not say which", def->name,
                              element->common.name);
    if (what != NULL)
      return refuse (error, what);
  }
  return TRUE;
}

/* the end of an epoch is the beginning of the next */
static void
normalize (HrPosition *position, const HrShard *shard, gint64 n_lines)
{
  guint64 size = hr_shard_step_size (shard);

  if (n_lines > 0 && (guint64)position->step * size >= hr_shard_round (shard, (guint64)n_lines)) {
    position->epoch++;
    position->step = 0;
  }
}

static void
normalize_row (HrPosition *position, HrPlan *plan)
{
  gint64 n = hr_plan_get_n_rows (plan, (guint)position->epoch);

  if (n >= 0 && position->step >= n) {
    position->epoch++;
    position->step = 0;
  }
}

/* in hexadecimal: JSON's numbers have not as many digits */
static void
add_lengths_sum (JsonBuilder *into, const HrRun *source)
{
  guint64 of = source->mix != NULL ? hr_mix_run_get_lengths_sum (source->mix)
                                   : hr_plan_get_lengths_sum (source->plan);
  g_autofree char *sum = g_strdup_printf ("%" G_GINT64_MODIFIER "x", of);

  json_builder_set_member_name (into, "lengths");
  json_builder_add_string_value (into, sum);
}

/* an open block: how many of its rows have been taken, and what it is made without */
static void
add_block (JsonBuilder *into, HrPipeline *pipeline, const HrPosition *position,
           const HrShard *shard)
{
  HrRun *packer = hr_packer_find (pipeline);
  gint64 first = (gint64)hr_shard_place (shard, (guint64)position->step * shard->group);
  g_autoptr (GArray) skipped =
      packer != NULL ? hr_packer_get_skipped (packer, position->epoch, first) : NULL;

  /* the blocks of each rank make their own number of rows: nobody else can go on from here */
  add_int (into, "rank",
           packer != NULL && !packer->numbered_rows ? (gint64)pipeline->settings.rank : -1);
  add_int (into, "row", position->row);
  json_builder_set_member_name (into, "skipped");
  json_builder_begin_array (into);
  for (guint i = 0; skipped != NULL && position->row > 0 && i < skipped->len; i++)
    json_builder_add_int_value (into, g_array_index (skipped, gint64, i));
  json_builder_end_array (into);
}

static char *
write_document (HrPipeline *pipeline, HrPosition position, gint64 steps)
{
  g_autoptr (JsonBuilder) into = json_builder_new ();
  HrRun *source = find_source (pipeline);
  const HrShard *shard = &source->orders.shard;
  gboolean rows = source->orders.rows.window > 0;
  g_autoptr (JsonNode) root = NULL;
  HrPlanStart start;

  if (hr_wrong (HR_WRONG_CURSOR) && position.step > 0)
    position.step--;
  if (rows)
    normalize_row (&position, source->plan);
  hr_plan_find_start (source->plan, (guint)position.epoch,
                      position.step * (gint64)hr_shard_step_size (shard), &start);
  if (!rows)
    normalize (&position, shard, start.n_lines);
  if (position.step == 0 && position.row == 0)
    start = (HrPlanStart){ .n_lines = start.n_lines };
  json_builder_begin_object (into);
  add_int (into, "checkpoint", HR_CHECKPOINT_FORMAT);
  json_builder_set_member_name (into, "headrace");
  json_builder_add_string_value (into, HR_VERSION);
  add_int (into, "epoch", position.epoch);
  add_int (into, "step", position.step);
  add_int (into, "steps", steps);
  add_block (into, pipeline, &position, shard);
  add_int (into, "samples_per_step", rows ? 0 : (gint64)hr_shard_step_size (shard));
  add_lengths_sum (into, source);
  json_builder_set_member_name (into, "drop_last");
  json_builder_add_boolean_value (into, shard->drop_last);
  json_builder_set_member_name (into, "pipeline");
  json_builder_add_value (into, hr_checkpoint_describe_pipeline (pipeline));
  json_builder_set_member_name (into, "elements");
  json_builder_add_value (into, hr_checkpoint_describe_elements (pipeline));
  add_data (into, source, &start);
  json_builder_end_object (into);
  root = json_builder_get_root (into);
  return hr_json_write (root, TRUE);
}

static gint
compare (const HrPosition *a, const HrPosition *b)
{
  if (a->epoch != b->epoch)
    return a->epoch < b->epoch ? -1 : 1;
  if (a->step != b->step)
    return a->step < b->step ? -1 : 1;
  return (a->row > b->row) - (a->row < b->row);
}

/* what all sinks have done with */
static gboolean
find_done (HrPipeline *pipeline, HrPosition *position, gint64 *steps)
{
  gboolean first = TRUE;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];
    HrRun *run = element->run;
    HrPosition done;
    gint64 n;

    if (element->outputs->len > 0)
      continue;
    hr_mutex_lock (&run->lock);
    done = run->done;
    n = run->n_done;
    hr_mutex_unlock (&run->lock);
    if (n < 0)
      return FALSE;
    if (first || compare (&done, position) < 0) {
      *position = done;
      *steps = n;
    }
    first = FALSE;
  }
  return !first;
}

static HrRun *
find_sink (HrPipeline *pipeline)
{
  if (pipeline->pull_sink != NULL)
    return pipeline->pull_sink->run;
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (element->outputs->len == 0)
      return element->run;
  }
  return NULL;
}

char *
hr_pipeline_get_checkpoint (HrPipeline *pipeline, HrBuffer *buffer, GError **error)
{
  HrPosition position = { 0 };
  gint64 steps = 0;
  HrForeign *foreign;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), NULL);
  if (!hr_pipeline_check_process (pipeline, error))
    return NULL;
  if (hr_pipeline_get_state (pipeline) == HR_STATE_STOPPED) {
    refuse (error, "the pipeline has not been started");
    return NULL;
  }
  if (pipeline->headspace != NULL) {
    refuse (error, "with headspace= steps are replayed, and stand nowhere in the order");
    return NULL;
  }
  foreign = buffer == NULL            ? hr_foreign_find_done (pipeline, &steps)
            : buffer->foreign != NULL ? hr_foreign_ref (buffer->foreign)
                                      : NULL;
  if (foreign != NULL) {
    char *document = hr_foreign_get_checkpoint (foreign, error);

    hr_foreign_unref (foreign);
    return document;
  }
  if (!check_graph (pipeline, error))
    return NULL;
  if (buffer != NULL) {
    if (!hr_position_behind (find_sink (pipeline), buffer, &position)) {
      refuse (error, "the buffer is none that this pipeline's sink has delivered");
      return NULL;
    }
    steps = pipeline->first_step + buffer->number + 1;
  } else if (!find_done (pipeline, &position, &steps)) {
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_NO_STEP,
                         "no checkpoint: no step has been taken yet");
    return NULL;
  }
  /* who goes on from there will not come to their samples again */
  return hr_tell_sync (pipeline, error) ? write_document (pipeline, position, steps) : NULL;
}

void
hr_checkpoint_note (HrPipeline *pipeline)
{
  gint64 every = (gint64)pipeline->settings.checkpoint_every, steps = 0;
  HrPosition position = { 0 };
  GError *error = NULL;
  HrForeign *foreign;
  gboolean due;

  if (every == 0)
    return;
  foreign = hr_foreign_find_done (pipeline, &steps);
  if ((foreign == NULL && !find_done (pipeline, &position, &steps)) || steps % every != 0) {
    g_clear_pointer (&foreign, hr_foreign_unref);
    return;
  }
  hr_mutex_lock (&pipeline->lock);
  due = steps > pipeline->told_step;
  if (due)
    pipeline->told_step = steps;
  hr_mutex_unlock (&pipeline->lock);
  if (foreign != NULL) {
    char *document = due ? hr_foreign_get_checkpoint (foreign, NULL) : NULL;

    hr_foreign_unref (foreign);
    if (document != NULL)
      hr_pipeline_post_text (pipeline, HR_MESSAGE_CHECKPOINT, document);
    return;
  }
  if (!due || !check_graph (pipeline, NULL))
    return;
  if (!hr_tell_sync (pipeline, &error))
    hr_pipeline_fail (pipeline, NULL, error);
  else
    hr_pipeline_post_text (pipeline, HR_MESSAGE_CHECKPOINT,
                           write_document (pipeline, position, steps));
}
