/* hr-sink.c: the end of the line: asks for a step, takes it, and measures how long that took */
#include "hr-checkpoint.h"
#include "hr-foreign.h"
#include "hr-trace.h"
#include "hr-verdict.h"

void
hr_sink_ask (HrRun *run)
{
  __atomic_store_n (&run->asked_at, hr_now (), __ATOMIC_RELAXED);
  hr_steps_ask (run->pipeline->steps, run->sink, run->step);
}

static guint64
take_tensor (HrTensor *tensor)
{
  HrMemory *memory = hr_tensor_get_memory (tensor);

  return memory->reservation != NULL ? hr_reservation_take (memory->reservation) : 0;
}

/* @own: nobody else has the buffer that it is a member of; behind a tee several sinks do this at
 * once */
static guint64
take_bytes (HrBuffer *buffer, gboolean own)
{
  guint64 bytes = 0;

  own = own && hr_buffer_is_writable (buffer);
  for (guint i = 0; i < hr_buffer_get_n_fields (buffer); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (buffer, i, &type);

    if (type == HR_FIELD_TENSOR) {
      bytes += take_tensor (hr_buffer_get_tensor (buffer, name));
    } else if (type == HR_FIELD_LIST) {
      HrList *list = hr_buffer_get_list (buffer, name);

      for (guint k = 0; k < hr_list_get_length (list); k++) {
        HrTensor *tensor = hr_list_get_tensor (list, k);

        if (tensor != NULL)
          bytes += take_tensor (tensor);
      }
    }
  }
  if (buffer->reservation != NULL && own)
    g_clear_pointer (&buffer->reservation, hr_reservation_unref); /* of the block it was cut from */
  for (guint i = 0; i < hr_buffer_get_n_members (buffer); i++)
    bytes += take_bytes (hr_buffer_get_member (buffer, i), own);
  return bytes;
}

guint64
hr_sink_hold (HrBuffer *buffer)
{
  return hr_wrong (HR_WRONG_HELD_COUNTS) ? 0 : take_bytes (buffer, TRUE);
}

void
hr_sink_deliver (HrRun *run, gint64 step, guint64 bytes)
{
  HrPipeline *pipeline = run->pipeline;

  /* before the next step is in hand, or the bytes of both would be out at once */
  if (bytes > 0)
    hr_gate_give (pipeline->memory, bytes);
  if (hr_steps_deliver (pipeline->steps, run->sink, step))
    hr_gate_pump (pipeline->memory);
}

static void
count_images (HrRun *run, const HrBuffer *buffer)
{
  HrList *images = hr_buffer_get_list (buffer, "images");
  HrTensor *grids = hr_buffer_get_tensor (buffer, "image_grid_thw");
  guint n = hr_buffer_get_n_members (buffer);

  if (images != NULL)
    hr_counter_add (&run->n_images, hr_list_get_length (images));
  else if (grids != NULL && hr_tensor_get_n_dims (grids) > 0) /* they have become patches */
    hr_counter_add (&run->n_images, hr_tensor_get_dim (grids, 0));
  if (n == 0 && !(buffer->flags & (HR_BUFFER_HOLE | HR_BUFFER_BATCH)))
    hr_counter_add (&run->n_samples, 1);
  for (guint i = 0; i < n; i++)
    if (!(hr_buffer_get_member (buffer, i)->flags & HR_BUFFER_HOLE))
      hr_counter_add (&run->n_samples, 1);
}

/* A batch that was lost behind where it was made is a step all the same, or this rank would take
 * one less than the others: it is delivered as a batch of holes. */
static void
keep_lost_batches (HrBuffer **buffers, guint n)
{
  for (guint i = 0; i < n; i++)
    if ((buffers[i]->flags & HR_BUFFER_HOLE) && (buffers[i]->flags & HR_BUFFER_BATCH)) {
      buffers[i] = hr_buffer_make_writable (buffers[i]);
      buffers[i]->flags &= ~(guint)HR_BUFFER_HOLE;
    }
}

/* the sink's own thread tells itself what it waits for, and does */
static void
trace_take (const HrRun *run, HrBuffer **buffers, guint n, gint64 asked_at, gint64 now)
{
  if (!hr_trace_is_on () || hr_worker_self != NULL)
    return;
  hr_trace_wait (run, HR_WAIT_INPUT, asked_at, now);
  for (guint i = 0; i < n; i++)
    hr_trace_taken (run, buffers[i], run->got_at);
}

void
hr_sink_take (HrRun *run, HrBuffer **buffers, guint n, gint64 now)
{
  gint64 waited = now - run->asked_at;

  keep_lost_batches (buffers, n);
  hr_counter_add (&run->step, n);
  __atomic_store_n (&run->asked_at, 0, __ATOMIC_RELAXED);
  if (run->cold_start < 0) { /* the first step has a time of its own */
    __atomic_store_n (&run->cold_start, waited, __ATOMIC_RELAXED);
    hr_verdict_begin (run->pipeline);
  } else {
    hr_counter_add (&run->wait_time, waited);
  }
  if (!hr_position_behind (run, buffers[n - 1], &run->taken))
    run->taken.epoch = -1;
  if (buffers[n - 1]->foreign != NULL) {
    g_clear_pointer (&run->foreign_taken, hr_foreign_unref);
    run->foreign_taken = hr_foreign_ref (buffers[n - 1]->foreign);
  }
  for (guint i = 0; i < n; i++) {
    count_images (run, buffers[i]);
    if (run->checksum != NULL)
      hr_digest_update (run->checksum, buffers[i]);
  }
  __atomic_store_n (&run->got_at, run->checksum != NULL ? hr_now () : now, __ATOMIC_RELAXED);
  trace_take (run, buffers, n, now - waited, now);
}

void
hr_sink_done (HrRun *run, gint64 now)
{
  if (run->taken.epoch >= 0) {
    hr_mutex_lock (&run->lock);
    run->done = run->taken;
    run->n_done = run->pipeline->first_step + run->step;
    hr_mutex_unlock (&run->lock);
    hr_checkpoint_note (run->pipeline);
  }
  if (run->foreign_taken != NULL) {
    hr_mutex_lock (&run->lock);
    hr_foreign_done (run, run->foreign_taken);
    hr_mutex_unlock (&run->lock);
    hr_checkpoint_note (run->pipeline);
  }
  if (run->got_at > 0) {
    hr_counter_add (&run->train_time, now - run->got_at);
    if (hr_worker_self == NULL)
      hr_trace_step (run, run->got_at, now, run->pipeline->first_step + run->step - 1);
  }
  __atomic_store_n (&run->got_at, 0, __ATOMIC_RELAXED);
}

gboolean
hr_sink_delivers (const HrRun *run, const HrBuffer *buffer)
{
  return !(buffer->flags & HR_BUFFER_HOLE) || (buffer->flags & HR_BUFFER_BLOCK_END)
         || run->pipeline->measures;
}

void
hr_sink_leave (HrRun *run)
{
  __atomic_store_n (&run->asked_at, 0, __ATOMIC_RELAXED);
  __atomic_store_n (&run->got_at, 0, __ATOMIC_RELAXED);
  /* when all leave, nobody shall get bytes for it */
  if (g_atomic_int_get (&run->pipeline->stopping))
    return;
  hr_steps_leave (run->pipeline->steps, run->sink);
  hr_gate_pump (run->pipeline->memory);
}
