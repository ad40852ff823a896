/* worker.h: a loader's pipeline in a process of its own: what its threads share */
#pragma once
#include "headrace.h"
#include "hr-sync.h"

typedef struct {
  HrMutex lock;
  HrPipeline *pipeline; /* (nullable): until it is made; under the lock */
  gboolean started;     /* it runs, or has run; under the lock */
  HrMutex pulling;      /* held by who pulls from the pipeline, or waits for its end */
  HrMutex sending;      /* held by who sends over the control socket */
} Worker;

/* (transfer none) (nullable): before it has been started */
HrPipeline *worker_get_pipeline (Worker *worker);

/* an answer or a note; FALSE: the loader is gone */
gboolean worker_send (Worker *worker, const char *text);

/* commands.c: the answer to a request, JSON; (transfer full) */
char *worker_answer (Worker *worker, const char *request);
/* what the pipeline has told since, JSON; (transfer full) (nullable): nothing */
char *worker_take_messages (Worker *worker);

/* deliver.c: gives a batch whenever one is asked for, until the loader closes: a thread */
gpointer worker_deliver (gpointer worker);
