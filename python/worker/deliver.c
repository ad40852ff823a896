/* deliver.c: gives the loader a batch whenever it asks for one */
#include "control.h"
#include "stream.h"
#include "worker.h"
#include <sys/socket.h>

/* ---- what it should know beside ---- */

static gboolean
is_asked (void)
{
  g_auto (HrStreamMessage) message = { 0 };

  return hr_stream_receive (CONTROL_DATA_FD, -1, -1, HR_WIRE_HEADER_SIZE, NULL, NULL, &message,
                            NULL)
             == HR_STREAM_MESSAGE
         && message.header.kind == HR_WIRE_CREDIT;
}

/* before the batch, so that they are there with it */
static void
send_messages (Worker *worker)
{
  g_autofree char *messages = worker_take_messages (worker);
  g_autofree char *note = NULL;

  if (messages == NULL)
    return;
  note = g_strconcat (CONTROL_NOTE "messages ", messages, NULL);
  worker_send (worker, note);
}

/* Behind the batch, while the trainer works: where to go on if this process dies. */
static void
send_checkpoint (Worker *worker, HrBuffer *batch)
{
  g_autofree char *document =
      hr_pipeline_get_checkpoint (worker_get_pipeline (worker), batch, NULL);
  g_autofree char *note = NULL;

  if (document == NULL) /* this run has none; who asks is told why */
    return;
  note =
      g_strdup_printf (CONTROL_NOTE "checkpoint %" G_GINT64_FORMAT " %s", batch->number, document);
  worker_send (worker, note);
}

/* ---- batches ---- */

static HrBuffer *
pull (Worker *worker, GError **error)
{
  HrBuffer *batch;

  hr_mutex_lock (&worker->pulling);
  batch = hr_pipeline_pull (worker_get_pipeline (worker), error);
  hr_mutex_unlock (&worker->pulling);
  return batch;
}

static gboolean
send_batch (Worker *worker, HrBuffer *batch, GError **error)
{
  g_autoptr (HrWireMessage) message = hr_wire_write_buffer (batch, NULL, NULL, NULL, error);

  if (message == NULL) {
    hr_pipeline_stop (worker_get_pipeline (worker));
    return FALSE;
  }
  return hr_stream_send (CONTROL_DATA_FD, -1, message, error);
}

static gboolean
send_end (const GError *why)
{
  g_autoptr (HrWireMessage) message =
      why != NULL ? hr_wire_write_failed (0, why, NULL) : hr_wire_write_end (0, NULL);

  return hr_stream_send (CONTROL_DATA_FD, -1, message, NULL);
}

static gboolean
deliver (Worker *worker)
{
  GError *error = NULL;
  g_autoptr (HrBuffer) batch = pull (worker, &error);
  gboolean ok;

  send_messages (worker);
  if (batch != NULL && send_batch (worker, batch, &error)) {
    send_checkpoint (worker, batch);
    return TRUE;
  }
  ok = send_end (error);
  g_clear_error (&error);
  return ok;
}

gpointer
worker_deliver (gpointer data)
{
  Worker *worker = data;

  while (is_asked () && worker_get_pipeline (worker) != NULL && deliver (worker))
    ;
  shutdown (CONTROL_FD, SHUT_RDWR);
  return NULL;
}
