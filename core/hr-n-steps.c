/* hr-n-steps.c: how many steps a run has */
#include "hr-headspace.h"
#include "hr-packer.h"

/* the one source, if there is one, whose order the run goes through; all members of a mix go
 * through the same */
static HrRun *
find_source (const HrPipeline *pipeline)
{
  HrRun *found = NULL;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];

    if (element->inputs->len > 0)
      continue;
    if (element->run == NULL || element->run->orders.shard.group == 0
        || (found != NULL
            && (found->orders.mix == NULL || found->orders.mix != element->run->orders.mix)))
      return NULL;
    found = element->run;
  }
  return found;
}

/* samples of this rank in a step of the sink that counts; 0: there is none */
static guint64
find_group (const HrPipeline *pipeline)
{
  if (pipeline->pull_sink != NULL)
    return pipeline->pull_sink->run->group;
  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];

    if (element->outputs->len == 0)
      return element->run->group;
  }
  return 0;
}

static gint64
count_steps (HrPipeline *pipeline)
{
  const HrSettings *settings = &pipeline->settings;
  const HrRun *source;
  const HrPlan *plan;
  guint64 group;
  gint64 n;

  n = __atomic_load_n (&pipeline->foreign_steps, __ATOMIC_RELAXED);
  if (n >= 0)
    return n;
  if (hr_pipeline_get_state (pipeline) == HR_STATE_STOPPED || settings->requests
      || (source = find_source (pipeline)) == NULL)
    return -1;
  if (hr_packer_find (pipeline) != NULL
      && source->orders.rows.window == 0) /* an epoch's rows are known when they are made */
    return source->orders.epochs == 0 && settings->steps > 0 && settings->limit == 0
               ? (gint64)settings->steps
               : -1;
  plan = __atomic_load_n (&source->plan, __ATOMIC_ACQUIRE);
  group = find_group (pipeline);
  n = plan != NULL && group > 0 ? hr_plan_get_n_steps (plan) : -1;
  return n >= 0 ? n * (gint64)(source->orders.shard.group / group) : -1;
}

gint64
hr_pipeline_get_n_steps (HrPipeline *pipeline)
{
  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), -1);
  return hr_headspace_count_steps (pipeline, count_steps (pipeline));
}
