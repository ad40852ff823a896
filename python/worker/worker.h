/* worker.h: a loader's pipeline in a process of its own: what its threads share */
#pragma once
#include "headrace.h"
#include "hr-sync.h"

typedef struct {
  HrMutex lock;
  HrPipeline *pipeline; /* (nullable): until it is made; under the lock */
  gboolean started;     /* it runs, or has run; under the lock */
  GThread *run, *tell;  /* of who starts it and waits for its end */
  GError *failure;      /* why the run failed; once `run` has been joined */
  HrMutex sending;      /* held by who sends */
} Worker;

/* (transfer none) (nullable): before it has been started */
HrPipeline *worker_get_pipeline (Worker *worker);
/* an answer or a note; FALSE: the loader is gone */
gboolean worker_send (Worker *worker, const char *text);

/* commands.c: the answer to a request, JSON; (transfer full) */
char *worker_answer (Worker *worker, const char *request);

/* run.c: starts the threads that run the pipeline and tell its messages */
void worker_run (Worker *worker);
/* waits for the end of the run, and until all its messages have been told; (nullable): why it
 * failed */
const GError *worker_join (Worker *worker);
