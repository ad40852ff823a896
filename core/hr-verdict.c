/* hr-verdict.c: the bottleneck is the element that is busy while the others wait for it */
#include "hr-verdict.h"

/* below this the trainer is hardly kept waiting, whatever happens upstream */
#define GOOD_WAIT_RATIO 0.05

static const char *
kind_of (HrRun *run)
{
  if (run->def->trains || hr_element_def_is_pulled (run->def))
    return "trainer";
  if (run->def->take != NULL) /* the program computes */
    return "cpu";
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
    gint64 wait, train, copied, waited;

    if (element->run == NULL || !(element->def->trains || hr_element_def_is_pulled (element->def)))
      continue;
    wait = hr_counter_get (&element->run->wait_time);
    train = hr_counter_get (&element->run->train_time);
    hr_pipeline_get_transfers (pipeline, &copied, &waited);
    waited = MIN (waited, train);
    wait += waited;
    train -= waited;
    if (train > 0 && (double)wait <= GOOD_WAIT_RATIO * (wait + train)) {
      *verdict = (HrVerdict){ element, "trainer" };
      return TRUE;
    }
  }
  return FALSE;
}

/* copies to a device go on beside what the worker does */
static double
transfer_share (HrRun *run)
{
  gint64 copied = 0, waited = 0, end = run->pipeline->ended_at;

  if (run->def->transfers == NULL || !run->started)
    return 0;
  run->def->transfers (run->self, run->shared, &copied, &waited);
  end = end > 0 ? end : hr_now ();
  return (double)copied / MAX (end - run->pipeline->started_at, 1);
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

    if (run == NULL || run->def->trains || hr_element_def_is_pulled (run->def))
      continue;
    hr_run_sum (run, &sum);
    /* the share of its workers' time in which it worked, or waited for a processor to work on */
    busy = (double)(sum.working + sum.blocked_cpu) / hr_run_get_n_workers (run);
    if (busy > most) {
      most = busy;
      *verdict = (HrVerdict){ element, kind_of (run) };
    }
    if (transfer_share (run) > most) {
      most = transfer_share (run);
      *verdict = (HrVerdict){ element, "transfer" };
    }
  }
  return verdict->element != NULL;
}
