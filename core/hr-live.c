/* hr-live.c: what may change while the pipeline runs: workers, bounds, budgets */
#include "hr-pipeline-private.h"
#include "hr-topology.h"

static void
raise_workers (HrElement *element)
{
  HrRun *run = element->run;
  guint wanted = hr_run_get_n_workers (run), have;
  g_autoptr (GError) error = NULL;

  if (element->pipeline->settings.serial || element->def->parallel == HR_PARALLEL_NO)
    return;
  hr_mutex_lock (&run->lock);
  have = run->n_workers;
  hr_mutex_unlock (&run->lock);
  if (wanted > have && !hr_run_spawn (run, wanted - have, &error))
    g_warning ("%s", error->message);
}

void
hr_element_live_changed (HrElement *element)
{
  HrPipeline *pipeline = element->pipeline;

  /* not yet: start() will look; and an element may set something of its own in there */
  if (pipeline == NULL || hr_pipeline_get_state (pipeline) != HR_STATE_RUNNING)
    return;
  /* one change at a time, or two of them would both add the missing workers; none while threads are
   * being created, and none after all have been joined */
  hr_mutex_lock (&pipeline->live);
  if (hr_pipeline_get_state (pipeline) != HR_STATE_RUNNING) {
    hr_mutex_unlock (&pipeline->live);
    return;
  }
  raise_workers (element);
  for (guint i = 0; i < element->inputs->len; i++)
    hr_topology_bound_link (element->inputs->pdata[i]);
  for (guint i = 0; i < element->outputs->len; i++)
    hr_topology_bound_link (element->outputs->pdata[i]);
  if (element->def->lookahead != NULL)
    hr_topology_update_ahead (pipeline);
  hr_run_wake (element->run);
  hr_mutex_unlock (&pipeline->live);
}

void
hr_pipeline_settings_changed (HrPipeline *pipeline)
{
  if (hr_pipeline_get_state (pipeline) != HR_STATE_RUNNING)
    return;
  hr_gate_set_capacity (pipeline->memory, hr_live_uint (&pipeline->settings.memory));
  if (pipeline->cpus != NULL)
    hr_gate_set_capacity (pipeline->cpus, hr_topology_count_cpus (pipeline));
}

void
hr_pipeline_end_warm_up (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->links->len; i++) {
    HrLink *link = pipeline->links->pdata[i];

    if (link->from->def->lookahead != NULL)
      hr_link_end_warm_up (link);
  }
}
