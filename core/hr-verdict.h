/* hr-verdict.h: which element the others wait for */
#pragma once
#include "hr-pipeline-private.h"

typedef struct {
  HrElement *element;
  const char *kind; /* network-latency network-bandwidth cpu copy transfer trainer */
} HrVerdict;

/* FALSE: nothing has run yet */
gboolean hr_verdict_find (HrPipeline *pipeline, HrVerdict *verdict);
/* hr-stats.c: the sum of all workers' counters */
void hr_run_sum (HrRun *run, HrWorker *sum);
