/* run.c: the run of the pipeline, and what it tells meanwhile */
#include "answers.h"
#include "control.h"
#include "worker.h"

static gpointer
run (gpointer data)
{
  Worker *worker = data;

  hr_pipeline_wait (worker_get_pipeline (worker), &worker->failure);
  return NULL;
}

static gpointer
tell (gpointer data)
{
  Worker *worker = data;
  HrMessage *message;

  while ((message = hr_pipeline_pop_message (worker_get_pipeline (worker), -1)) != NULL) {
    g_autofree char *text = answers_from_message (message);
    g_autofree char *note = g_strconcat (CONTROL_NOTE, text, NULL);

    hr_message_unref (message);
    worker_send (worker, note);
  }
  return NULL;
}

void
worker_run (Worker *worker)
{
  worker->run = g_thread_new ("run", run, worker);
  worker->tell = g_thread_new ("tell", tell, worker);
}

const GError *
worker_join (Worker *worker)
{
  if (worker->run != NULL)
    g_thread_join (g_steal_pointer (&worker->run));
  if (worker->tell != NULL)
    g_thread_join (g_steal_pointer (&worker->tell));
  return worker->failure;
}
