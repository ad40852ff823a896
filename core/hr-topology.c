/* hr-topology.c */
#include "hr-topology.h"
#include "hr-checkpoint.h"
#include <sched.h>

/* ---- from sink to source ---- */

static void
visit (HrElement *element, GPtrArray *order, GHashTable *seen)
{
  if (!g_hash_table_add (seen, element))
    return;
  for (guint i = 0; i < element->outputs->len; i++)
    visit (((HrLink *)element->outputs->pdata[i])->to, order, seen);
  g_ptr_array_add (order, element);
}

static GPtrArray *
sink_to_source (HrPipeline *pipeline)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GPtrArray *order = g_ptr_array_new ();

  for (guint i = 0; i < pipeline->elements->len; i++)
    visit (pipeline->elements->pdata[i], order, seen);
  return order;
}

/* ---- numbers ---- */

static gboolean
is_source (const HrElement *element)
{
  return element->inputs->len == 0;
}

/* from sink to source: does somebody behind it make samples of blocks */
static void
find_stampers (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->order->len; i++) {
    HrElement *element = pipeline->order->pdata[i];

    for (guint k = 0; k < element->outputs->len; k++) {
      const HrElement *to = ((HrLink *)element->outputs->pdata[k])->to;

      element->run->stamps_below |= to->def->stamps || to->run->stamps_below;
    }
  }
}

static gboolean
has_several_branches (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->elements->len; i++)
    if (((HrElement *)pipeline->elements->pdata[i])->outputs->len > 1)
      return TRUE;
  return FALSE;
}

/* from source to sink: samples in each buffer, and what a link does to numbers */
static gboolean
number_links (HrPipeline *pipeline, GError **error)
{
  for (guint i = pipeline->order->len; i-- > 0;) {
    HrElement *element = pipeline->order->pdata[i];
    HrRun *run = element->run;
    const HrElementDef *def = element->def;
    gboolean raw = is_source (element); /* what comes in has no sample numbers */
    HrStamp stamp = HR_STAMP_KEEP;
    guint group = 1;

    for (guint k = 0; k < element->inputs->len; k++) {
      HrLink *in = element->inputs->pdata[k];

      in->weighs = def->cost != NULL && !pipeline->settings.serial;
      pipeline->weighs |= in->weighs;
      group = MAX (group, in->group);
      raw = raw || in->raw;
      run->packer = MAX (run->packer, in->from->run->packer_out);
    }
    run->group = group;
    run->packer_out = run->packer;
    if (def->block != NULL && def->block (run->self) > 0) {
      run->packer_out = hr_steps_add_packer (pipeline->steps, def->block (run->self) * group) + 1;
      stamp = HR_STAMP_COUNT;
    } else if (def->group != NULL) {
      group *= MAX (def->group (run->self), 1);
      stamp = HR_STAMP_COUNT;
    } else if (raw) {
      raw = run->stamps_below;
      if (is_source (element) || def->stamps || def->choose != NULL)
        stamp = raw ? HR_STAMP_COUNT : HR_STAMP_SAMPLES;
    } else if (def->merge != NULL && def->join (run->self) != HR_JOIN_ZIP) {
      stamp = HR_STAMP_JOINED;
    } else if (!element->common.ordered && element->outputs->len > 0) {
      if (has_several_branches (pipeline)) {
        g_set_error (
            error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
            "%s \"%s\": ordered=false in a pipeline with a tee: its branches would not hold the "
            "same samples",
            def->name, element->common.name);
        return FALSE;
      }
      stamp = HR_STAMP_AGAIN;
    }
    run->raw = raw;
    for (guint k = 0; k < element->outputs->len; k++) {
      HrLink *out = element->outputs->pdata[k];

      out->raw = raw;
      out->group = group;
      out->stamp = stamp;
      if (stamp == HR_STAMP_AGAIN)
        out->segment = hr_steps_add_segment (pipeline->steps, group);
    }
  }
  return TRUE;
}

/* the first link at or below it that numbers samples; those below it have found theirs */
static HrLink *
find_numbers (const HrElement *element)
{
  for (guint i = 0; i < element->outputs->len; i++) {
    HrLink *out = element->outputs->pdata[i];

    if (out->stamp == HR_STAMP_SAMPLES)
      return out;
    if (out->raw && out->to->run->numbers != NULL)
      return out->to->run->numbers;
  }
  return NULL;
}

/* from sink to source: which unordered element comes next */
static void
find_segments (HrPipeline *pipeline)
{
  guint last = hr_steps_get_last_segment (pipeline->steps);

  for (guint i = 0; i < pipeline->order->len; i++) {
    HrElement *element = pipeline->order->pdata[i];
    HrLink *out = element->outputs->len > 0 ? element->outputs->pdata[0] : NULL;
    HrRun *run = element->run;

    run->numbers = find_numbers (element);
    if (run->packer > 0)
      run->segment = hr_steps_get_row_segment (pipeline->steps, run->packer - 1);
    else if (out == NULL || run->packer_out > 0)
      run->segment = last;
    else
      run->segment = out->stamp == HR_STAMP_AGAIN ? out->segment : out->to->run->segment;
  }
}

/* ---- look-ahead ---- */

/* from source to sink: how many steps a prefetchqueue upstream lets sources run ahead */
static void
find_depths (HrPipeline *pipeline)
{
  for (guint i = pipeline->order->len; i-- > 0;) {
    HrElement *element = pipeline->order->pdata[i];
    guint steps = 0, warm_up;
    guint64 bytes;

    if (element->def->lookahead != NULL)
      element->def->lookahead (element->self, &steps, &bytes, &warm_up);
    element->run->ahead = steps;
    for (guint k = 0; k < element->inputs->len; k++)
      element->run->ahead =
          MAX (element->run->ahead, ((HrLink *)element->inputs->pdata[k])->from->run->ahead);
  }
}

/* from source to sink: a batch upstream makes the sink ask for steps; what stands behind a
 * prefetchqueue takes little at once */
static void
look_upstream (HrPipeline *pipeline)
{
  for (guint i = pipeline->order->len; i-- > 0;) {
    HrElement *element = pipeline->order->pdata[i];
    HrRun *run = element->run;

    run->gated = element->def->group != NULL;
    for (guint k = 0; k < element->inputs->len; k++) {
      const HrElement *from = ((HrLink *)element->inputs->pdata[k])->from;

      run->gated |= from->run->gated;
      run->behind_prefetch |= from->def->lookahead != NULL || from->run->behind_prefetch;
    }
  }
}

void
hr_topology_bound_link (HrLink *link)
{
  const HrElement *from = link->from;
  guint64 items, bytes;

  if (from->pipeline->settings.serial) {
    hr_link_set_bounds (link, G_MAXUINT32, G_MAXUINT64);
    return;
  }
  hr_run_get_bounds (link->to->run, &items, &bytes);
  if (from->def->lookahead != NULL) { /* that link is the queue */
    guint steps = 0, warm_up = 0;

    from->def->lookahead (from->self, &steps, &bytes, &warm_up);
    items = MAX (steps, 1);
    if (bytes == 0) /* only the pipeline's memory bounds it */
      bytes = G_MAXUINT64;
  }
  hr_link_set_bounds (link, items, bytes);
}

static void
bound_links (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->links->len; i++) {
    HrLink *link = pipeline->links->pdata[i];

    hr_topology_bound_link (link);
    if (link->from->def->lookahead != NULL && !pipeline->settings.serial) {
      guint steps;
      guint64 bytes;

      link->from->def->lookahead (link->from->self, &steps, &bytes, &link->min_fill);
      link->min_fill = MIN (link->min_fill, (guint)link->max_items);
    }
  }
}

static void
add_sinks (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];
    HrRun *run = element->run;

    if (element->outputs->len > 0 || element->inputs->len == 0)
      continue;
    /* in serial mode a source is asked only when nothing else can be done */
    run->gated = run->gated && !pipeline->settings.serial;
    /* who asks for steps one by one says with that how far to look ahead */
    run->gated = run->gated && !pipeline->settings.requests;
    run->sink = hr_steps_add_sink (pipeline->steps, run->group, run->gated, run->ahead);
    if (run->packer > 0)
      hr_steps_set_packer (pipeline->steps, run->sink, run->packer - 1);
    if (hr_element_def_is_pulled (element->def))
      pipeline->pull_sink = element;
    if (pipeline->settings.checksum)
      run->checksum = g_checksum_new (G_CHECKSUM_SHA256);
  }
}

void
hr_topology_update_ahead (HrPipeline *pipeline)
{
  find_depths (pipeline);
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (element->outputs->len == 0)
      hr_steps_set_ahead (pipeline->steps, element->run->sink, element->run->ahead);
  }
}

guint64
hr_topology_count_cpus (const HrPipeline *pipeline)
{
  guint64 cpus = hr_live_uint (&pipeline->settings.cpus);

  return cpus > 0 ? cpus : hr_topology_count_processors ();
}

guint64
hr_topology_count_processors (void)
{
  cpu_set_t set;

  if (sched_getaffinity (0, sizeof set, &set) == 0)
    return MAX (CPU_COUNT (&set), 1);
  return g_get_num_processors ();
}

/* serial mode never looks ahead: whatever is asked for is needed for the next buffer */
static gboolean
always (gpointer data G_GNUC_UNUSED, gint64 number G_GNUC_UNUSED, guint segment G_GNUC_UNUSED)
{
  return TRUE;
}

gboolean
hr_topology_apply (HrPipeline *pipeline, GError **error)
{
  pipeline->order = sink_to_source (pipeline);
  pipeline->steps = hr_steps_new ();
  pipeline->memory =
      hr_gate_new (hr_live_uint (&pipeline->settings.memory),
                   pipeline->settings.serial ? always : hr_steps_in_hand, pipeline->steps);
  if (!pipeline->settings.serial)
    pipeline->cpus = hr_gate_new (hr_topology_count_cpus (pipeline), NULL, NULL);
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    element->run = hr_run_new (pipeline, element);
  }
  find_stampers (pipeline);
  look_upstream (pipeline);
  find_depths (pipeline);
  if (!number_links (pipeline, error))
    return FALSE;
  find_segments (pipeline);
  if (!hr_topology_give_orders (pipeline, error) || !hr_resume_apply (pipeline, error))
    return FALSE;
  add_sinks (pipeline);
  bound_links (pipeline);
  return TRUE;
}
