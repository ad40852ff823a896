/* hr-async.h: elements that keep many buffers in flight on one thread, which never waits for
 * anything but its bell and its own descriptors */
#pragma once
#include "hr-pipeline-private.h"

typedef struct _HrAsync HrAsync;

HrAsync *hr_async_new (HrWorker *worker);
/* after worker_stop(): no transfer refers to a ticket any more */
void hr_async_free (HrAsync *async);
void hr_async_loop (HrWorker *worker);
/* serial mode: one buffer, to its end; the outcome is in worker->out */
void hr_async_one (HrWorker *worker, HrBuffer *in);
