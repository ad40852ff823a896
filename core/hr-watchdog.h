/* hr-watchdog.h: says who waits for what when nothing moves any more; private to the core */
#pragma once
#include "hr-pipeline-private.h"

typedef struct _HrWatchdog HrWatchdog;

HrWatchdog *hr_watchdog_new (HrPipeline *pipeline);
void hr_watchdog_free (HrWatchdog *watchdog);
/* called now and then: asks, tells, and if that is wanted ends the run */
void hr_watchdog_look (HrWatchdog *watchdog);

/* a worker's own thread, where it can: has it been asked? Then it says what it waits for outside */
void hr_worker_answer (HrWorker *worker);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrWatchdog, hr_watchdog_free)
