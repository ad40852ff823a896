/* hr-verdict.h: what the trainer waits for, why, and what would help. docs/verdict.md */
#pragma once
#include <json-glib/json-glib.h>
#include "hr-pipeline-private.h"

/* The first step is there: what is counted from now on is the run in its stride. The thread of the
 * first sink that has one; later calls do nothing. */
void hr_verdict_begin (HrPipeline *pipeline);
/* Into an open object: "bottleneck" and "advice" of the whole run, and "recent", the same of its
 * last seconds; docs/stats.md */
void hr_verdict_add (JsonBuilder *json, HrPipeline *pipeline);
