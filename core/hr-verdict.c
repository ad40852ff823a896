/* hr-verdict.c: the bottleneck is the element that is busy while the others wait for it */
#include "hr-verdict.h"

/* below this the trainer is hardly kept waiting, whatever happens upstream */
#define GOOD_WAIT_RATIO 0.05

static const char *
kind_of (HrRun *run)
{
  if (run->def->trains || run->def->pullable)
    return "trainer";
  if (run->def->network || run->def->submit != NULL)
    return hr_counter_get (&run->first_byte_time) >= hr_counter_get (&run->body_time)
               ? "network-latency"
               : "network-bandwidth";
  return "cpu";
}

static gboolean
trainer_is_fed (HrPipeline *pipeline, HrVerdict *verdict)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];
    gint64 wait, train;

    if (element->run == NULL || !(element->def->trains || element->def->pullable))
      continue;
    wait = hr_counter_get (&element->run->wait_time);
    train = hr_counter_get (&element->run->train_time);
    if (train > 0 && (double)wait <= GOOD_WAIT_RATIO * (wait + train)) {
      *verdict = (HrVerdict){ element, "trainer" };
      return TRUE;
    }
  }
  return FALSE;
}

gboolean
hr_verdict_find (HrPipeline *pipeline, HrVerdict *verdict)
{
  double most = 0;

  if (trainer_is_fed (pipeline, verdict))
    return TRUE;
  *verdict = (HrVerdict){ NULL, NULL };
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];
    HrRun *run = element->run;
    HrWorker sum;
    double busy;

    if (run == NULL || run->def->trains || run->def->pullable)
      continue;
    hr_run_sum (run, &sum);
    /* the share of its workers' time in which it worked, or waited for a processor to work on */
    busy = (double)(sum.working + sum.blocked_cpu) / hr_run_get_n_workers (run);
    if (busy > most) {
      most = busy;
      *verdict = (HrVerdict){ element, kind_of (run) };
    }
  }
  return verdict->element != NULL;
}
