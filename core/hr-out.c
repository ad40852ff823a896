/* hr-out.c: what an element's function may use while it is called */
#include "hr-pool.h"
#include "hr-watchdog.h"
#include <poll.h>

HrOut *
hr_out_new (HrWorker *worker)
{
  HrOut *out = g_new0 (HrOut, 1);

  out->worker = worker;
  return out;
}

void
hr_out_free (HrOut *out)
{
  for (guint i = 0; i < out->n_buffers; i++)
    hr_buffer_unref (out->buffers[i]);
  g_free (out->buffers);
  g_clear_error (&out->fatal);
  g_free (out);
}

void
hr_out_add (HrOut *out, HrBuffer *buffer)
{
  if (out->n_buffers == out->n_room) {
    out->n_room = MAX (16, out->n_room * 2);
    out->buffers = g_renew (HrBuffer *, out->buffers, out->n_room);
  }
  out->buffers[out->n_buffers++] = buffer;
}

void
hr_out_begin (HrOut *out, const HrBuffer *in)
{
  out->sample = in->sample;
  out->row = in->number;
}

/**
 * hr_out_push:
 * @buffer: (transfer full): for the next element
 *
 * Gives a buffer to the next element. It is collected, and handed on when the function returns, or
 * before the core waits for anything.
 */
void
hr_out_push (HrOut *out, HrBuffer *buffer)
{
  if (out->inherit != NULL && buffer->reservation == NULL)
    buffer->reservation = hr_reservation_ref (out->inherit);
  hr_out_add (out, buffer);
}

gboolean
hr_out_reject (HrOut *out, HrBuffer *buffer, HrOrigin *origin, GError *error, GError **fatal)
{
  HrRun *run = out->worker->run;
  GError *why = NULL;

  if (buffer == NULL)
    buffer = hr_buffer_new ();
  else
    buffer = hr_buffer_make_writable (buffer);
  if (origin != NULL)
    hr_buffer_set_origin (buffer, origin);
  if (!hr_fault (run, hr_buffer_get_origin (buffer), NULL, -1, error, &why)) {
    hr_buffer_unref (buffer);
    g_set_error_literal (fatal, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
    return FALSE;
  }
  hr_buffer_make_hole (buffer, why);
  hr_out_push (out, buffer);
  return TRUE;
}

HrBuffer *
hr_out_note_drop (HrOut *out, HrBuffer *buffer, GError *why)
{
  buffer = hr_buffer_make_writable (buffer);
  hr_fault_drop (out->worker->run, hr_buffer_get_origin (buffer), why);
  hr_buffer_make_hole (buffer, why);
  buffer->flags |= HR_BUFFER_DROPPED;
  return buffer;
}

void
hr_out_drop (HrOut *out, HrBuffer *buffer, HrOrigin *origin, GError *why)
{
  buffer = buffer != NULL ? hr_buffer_make_writable (buffer) : hr_buffer_new ();
  if (origin != NULL)
    hr_buffer_set_origin (buffer, origin);
  hr_fault_drop (out->worker->run, hr_buffer_get_origin (buffer), why);
  hr_buffer_make_hole (buffer, why);
  buffer->flags |= HR_BUFFER_DROPPED;
  hr_out_push (out, buffer);
}

void
hr_out_pad (HrOut *out, guint epoch, gint64 place, const HrRowMark *row)
{
  HrBuffer *hole = hr_buffer_new ();

  hole->epoch = epoch;
  hole->place = place;
  hr_buffer_make_hole (hole, NULL);
  hr_buffer_mark_row (hole, row);
  hr_out_push (out, hole);
}

void
hr_out_leave_out (HrOut *out, guint epoch, HrOrigin *origin, const HrWanted *wanted)
{
  HrRun *run = out->worker->run;
  HrBuffer *hole = hr_buffer_new ();
  GError *why = NULL;

  hole->epoch = epoch;
  hole->place = wanted->place;
  hr_buffer_set_origin (hole, origin);
  if (wanted->kind >= 0)
    hr_set_data_error (&why, wanted->kind, "it was %s when lengths were found out (scan=lengths)",
                       hr_data_error_kind (wanted->kind));
  if (wanted->dropped)
    hr_fault_drop (run, origin, why);
  else
    hr_fault_known (run, origin, why);
  hr_buffer_make_hole (hole, why);
  hole->flags |= wanted->dropped ? HR_BUFFER_DROPPED : 0;
  hr_buffer_mark_row (hole, &wanted->row);
  hr_out_push (out, hole);
}

gboolean
hr_out_has_numbered_rows (HrOut *out)
{
  return out->worker->run->numbered_rows;
}

/* ---- permits ---- */

static gboolean
needs_permit (const HrRun *run)
{
  return run->pipeline->cpus != NULL && !run->def->light && !run->def->waits;
}

/* Takes a processor. When the element is being closed it goes on without one: it will leave soon.
 */
void
hr_out_take_permit (HrOut *out)
{
  HrRun *run = out->worker->run;
  HrPipeline *pipeline = run->pipeline;
  HrGateWaiter waiter = { .number = out->sample, .amount = 1 };
  HrCond granted;
  gint64 since;

  if (!needs_permit (run) || out->has_permit)
    return;
  if (pipeline->weighs) {
    waiter.step = hr_steps_get_begin (pipeline->steps, out->sample);
    waiter.cost = run->packer > 0 ? 0 : out->cost; /* rows of one block: as they stand */
  }
  hr_cond_init (&granted);
  waiter.cond = &granted;
  if (hr_gate_request (pipeline->cpus, &waiter)) {
    out->has_permit = TRUE;
  } else {
    since = hr_now ();
    hr_worker_begin_wait (out->worker, HR_WAIT_PERMIT, NULL);
    out->has_permit = hr_gate_wait (pipeline->cpus, &waiter, &run->closed, &pipeline->stopping);
    hr_worker_end_wait (out->worker);
    out->waited_cpu += hr_now () - since;
  }
  hr_cond_clear (&granted);
}

void
hr_out_give_permit (HrOut *out)
{
  if (!out->has_permit)
    return;
  out->has_permit = FALSE;
  hr_gate_give (out->worker->run->pipeline->cpus, 1);
}

/* ---- bytes ---- */

static void
give_back (gpointer owner, gint64 number G_GNUC_UNUSED, guint64 bytes)
{
  hr_gate_give (owner, bytes);
}

/* A recycled block that has more memory than was asked for pays for all of it, or gives it back. */
void
hr_reserve_granted (HrGate *gate, HrMemory *memory, gint64 sample)
{
  gsize excess = hr_pool_get_excess (memory);

  if (excess > 0 && !hr_gate_try_take (gate, excess)) {
    hr_pool_drop_excess (memory);
    excess = 0;
  }
  memory->reservation = hr_reservation_new (hr_gate_ref (gate), sample, memory->size + excess,
                                            give_back, (void (*) (gpointer))hr_gate_unref);
}

/* Nothing that others need may be held while waiting: not the results so far, not a processor. */
static gboolean
wait_for_budget (HrOut *out, HrGateWaiter *waiter)
{
  HrRun *run = out->worker->run;
  HrPipeline *pipeline = run->pipeline;
  gboolean had_permit = out->has_permit;
  gboolean granted;
  gint64 since = hr_now (); /* handing on may wait as well */

  if (!hr_wrong (HR_WRONG_PERMIT_IN_BUDGET))
    hr_out_give_permit (out);
  if (out->flush != NULL)
    out->flush (out);
  hr_pipeline_end_warm_up (pipeline);
  hr_worker_begin_wait (out->worker, HR_WAIT_BUDGET, NULL);
  granted = hr_gate_wait (pipeline->memory, waiter, &run->closed, &pipeline->stopping);
  hr_worker_end_wait (out->worker);
  out->waited += hr_now () - since;
  if (granted && had_permit)
    hr_out_take_permit (out);
  return granted;
}

HrMemory *
hr_out_alloc (HrOut *out, const char *field, gsize size, GError **error)
{
  HrRun *run = out->worker->run;
  HrGate *gate = run->pipeline->memory;
  /* a source that numbers samples: what it has collected comes first */
  gint64 sample =
      run->def->create != NULL && !run->raw ? out->sample + out->n_buffers : out->sample;
  HrGateWaiter waiter = { .number = run->packer > 0 ? out->row : sample,
                          .segment = run->segment,
                          .amount = size };
  HrAllocator *allocator = hr_run_get_allocator (run, field);
  HrMemory *memory;
  HrCond granted;
  gboolean ok;

  hr_cond_init (&granted);
  waiter.cond = &granted;
  ok = hr_gate_request (gate, &waiter) || wait_for_budget (out, &waiter);
  hr_cond_clear (&granted);
  if (!ok) {
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
    return NULL;
  }
  if (allocator == run->pool && size <= 1024) /* warm and cheap without a pool */
    allocator = hr_allocator_heap ();
  memory = hr_memory_new_from_allocator (allocator, size, error);
  if (memory == NULL)
    hr_gate_give (gate, size);
  else
    hr_reserve_granted (gate, memory, sample);
  return memory;
}

/* ---- the rest ---- */

gboolean
hr_out_is_closed (HrOut *out)
{
  return hr_run_is_closed (out->worker->run);
}

int
hr_out_get_wake_fd (HrOut *out)
{
  return hr_run_get_closed_fd (out->worker->run);
}

gboolean
hr_out_sleep (HrOut *out, gint64 nanoseconds)
{
  struct pollfd fd = { hr_out_get_wake_fd (out), POLLIN, 0 };
  gint64 begin = hr_now (), until = begin + nanoseconds;
  gint64 left = nanoseconds;

  if (hr_out_is_closed (out))
    return FALSE;
  hr_worker_begin_wait (out->worker, HR_WAIT_OUTSIDE, NULL);
  while (left > 0 && !hr_out_is_closed (out)) {
    struct timespec time = { left / 1000000000, left % 1000000000 };

    if (ppoll (&fd, 1, &time, NULL) > 0)
      break;
    left = until - hr_now ();
  }
  hr_worker_end_wait (out->worker);
  hr_counter_add (&out->worker->slept, hr_now () - begin);
  return !hr_out_is_closed (out);
}

void
hr_out_count_transfer (HrOut *out, const HrTransfer *transfer)
{
  hr_run_count_transfer (out->worker->run, transfer, -1);
}

void
hr_out_count_copy (HrOut *out, gsize bytes)
{
  HrWorker *worker = out->worker;

  hr_counter_add (&worker->copied, bytes);
}

void
hr_out_count_read (HrOut *out, gsize bytes)
{
  hr_counter_add (&out->worker->read, bytes);
}

void
hr_out_answer (HrOut *out)
{
  hr_worker_answer (out->worker);
}

gboolean
hr_out_is_serial (HrOut *out)
{
  return out->worker->run->pipeline->settings.serial;
}

HrPlan *
hr_out_get_plan (HrOut *out)
{
  HrRun *run = out->worker->run;

  if (run->plan == NULL) {
    HrPlan *plan = hr_plan_new (&run->orders);

    if (run->orders.check_data != NULL)
      hr_plan_set_start (plan, &run->start);
    __atomic_store_n (&run->plan, plan, __ATOMIC_RELEASE);
  }
  return run->plan;
}

HrPlanNext
hr_out_peek_place (HrOut *out, HrMixPlace *place)
{
  return hr_mix_run_peek (out->worker->run->mix, place);
}

void
hr_out_advance_place (HrOut *out)
{
  hr_mix_run_advance (out->worker->run->mix);
}

HrElement *
hr_out_get_element (HrOut *out)
{
  return out->worker->run->element;
}

void
hr_out_wait_request (HrOut *out)
{
  HrRun *run = out->worker->run;
  gint64 begin;

  if (run->reader.requests == NULL) {
    if (run->plan != NULL)
      hr_plan_wait (run->plan);
    return;
  }
  begin = hr_now ();
  hr_worker_begin_wait (out->worker, HR_WAIT_OUTSIDE, NULL);
  hr_requests_wait (&run->reader, &run->closed, &run->pipeline->stopping);
  hr_worker_end_wait (out->worker);
  out->waited_in += hr_now () - begin;
}
