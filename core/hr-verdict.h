/* hr-verdict.h: what the trainer waits for, why, and what would help. docs/verdict.md */
#pragma once
#include "hr-model.h"
#include "hr-pipeline-private.h"

typedef struct {
  HrElement *element;
  const char *kind; /* network-latency network-bandwidth cpu copy transfer trainer */
} HrVerdict;

/* The first step is there: what is counted from now on is the run in its stride. The thread of the
 * first sink that has one; later calls do nothing. */
void hr_verdict_begin (HrPipeline *pipeline);
/* FALSE: nothing has run yet */
gboolean hr_verdict_find (HrPipeline *pipeline, HrVerdict *verdict);
/* Returns: (transfer full): an object {text, change, predicted_wait_ratio, next}: what would help
 */
JsonNode *hr_verdict_advise (HrPipeline *pipeline);
/* hr-stats.c: the sum of all workers' counters */
void hr_run_sum (HrRun *run, HrWorker *sum);
