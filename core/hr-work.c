/* hr-work.c: calls an element's function for one buffer and makes of the outcome what travels on:
 * results, or a hole. The same for threads and for serial mode. */
#include "hr-each.h"
#include "hr-log.h"
#include "hr-packer.h"
#include "hr-pipeline-private.h"

/* what a sample leaves behind when it does not go on */
static void
add_hole (HrOut *out, const HrBuffer *like, HrOrigin *origin, GError *why)
{
  HrBuffer *hole = hr_buffer_new ();

  hr_buffer_stand_for (hole, like);
  hr_buffer_set_origin (hole, origin);
  hr_buffer_make_hole (hole, why);
  hr_out_add (out, hole);
}

/* the text block that samples are cut from stays counted until the last of them is gone */
static HrReservation *
find_reservation (const HrBuffer *buffer)
{
  for (guint i = 0; i < hr_buffer_get_n_fields (buffer); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (buffer, i, &type);

    if (type == HR_FIELD_TENSOR) {
      HrMemory *memory = hr_tensor_get_memory (hr_buffer_get_tensor (buffer, name));

      if (memory->reservation != NULL)
        return hr_reservation_ref (memory->reservation);
    }
  }
  return NULL;
}

/* its numbers are those of its samples; later, unordered elements may give it others */
static gboolean
is_new_batch (const HrOut *out, const HrBuffer *buffer)
{
  return out->worker->run->def->group != NULL && hr_buffer_get_n_members (buffer) > 0;
}

/* Outputs stand for their input; a batch stands for its first member where it is made. */
static void
number_outputs (HrOut *out, const HrBuffer *like)
{
  for (guint i = out->first; i < out->n_buffers; i++) {
    HrBuffer *buffer = out->buffers[i];

    if (is_new_batch (out, buffer))
      like = hr_buffer_get_member (buffer, 0);
    if (buffer->sample == like->sample && buffer->place == like->place
        && buffer->epoch == like->epoch
        && (buffer->number == like->number || is_new_batch (out, buffer)))
      continue;
    buffer = out->buffers[i] = hr_buffer_make_writable (buffer);
    hr_buffer_stand_for (buffer, like);
  }
}

static void
drop_outputs (HrOut *out)
{
  while (out->n_buffers > out->first)
    hr_buffer_unref (out->buffers[--out->n_buffers]);
}

/* What was made of a block's lines stands where these do. An element that makes more or fewer than
 * one sample of a line gives an order that nothing can be said about. */
static void
place_outputs (HrOut *out, const HrRows *rows, guint epoch)
{
  HrRun *run = out->worker->run;
  guint n = out->n_buffers - out->first;

  if (n != hr_rows_get_length (rows)) {
    if (!hr_run_is_closed (run))
      hr_pipeline_fail (run->pipeline, run->element,
                        g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                                     "made %u samples of %u lines; it must make one of each line "
                                     "that the block's rows name, or a hole",
                                     n, hr_rows_get_length (rows)));
    return;
  }
  for (guint i = 0; i < n; i++) {
    HrBuffer *buffer = hr_buffer_make_writable (out->buffers[out->first + i]);

    buffer->epoch = epoch;
    buffer->place = hr_rows_get (rows, i)->place;
    hr_buffer_mark_row (buffer, &hr_rows_get (rows, i)->row);
    out->buffers[out->first + i] = buffer;
  }
}

/* a whole block is bad: of each of its lines a hole is left, not of the block */
static void
fill_up (HrOut *out, const HrBuffer *like, const HrRows *rows)
{
  while (out->n_buffers - out->first < hr_rows_get_length (rows))
    add_hole (out, like, NULL, NULL);
  place_outputs (out, rows, like->epoch);
}

/* TRUE: the number of its outputs may differ from that of its inputs */
static gboolean
changes_count (const HrElementDef *def)
{
  return def->group != NULL || def->stamps;
}

static void
check_count (HrOut *out, const HrBuffer *like, HrOrigin *origin)
{
  HrRun *run = out->worker->run;
  guint n = out->n_buffers - out->first;

  if (n == 1 || changes_count (run->def) || like->sample < 0)
    return;
  if (n == 0) { /* dropped by the element: counted, and its place stays */
    __atomic_add_fetch (&run->pipeline->n_dropped, 1, __ATOMIC_RELAXED);
    add_hole (out, like, origin != NULL ? hr_origin_ref (origin) : NULL, NULL);
    return;
  }
  drop_outputs (out);
  hr_pipeline_fail (
      run->pipeline, run->element,
      g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                   "pushed %u buffers for one sample; an element that makes several must "
                   "declare .stamps or .group",
                   n));
}

/* ---- two rules that can be broken, see hr-rules.h ---- */

static gboolean
is_all_holes (const HrBuffer *buffer)
{
  gboolean all = hr_buffer_get_n_members (buffer) > 0;

  for (guint i = 0; all && i < hr_buffer_get_n_members (buffer); i++)
    all = (hr_buffer_get_member (buffer, i)->flags & HR_BUFFER_HOLE) != 0;
  return all;
}

static void
break_rules (HrOut *out, const HrBuffer *like)
{
  HrRun *run = out->worker->run;

  if (run->def->group == NULL)
    return;
  if (hr_wrong (HR_WRONG_HOLES_NOT_COUNTED) && out->n_buffers > out->first
      && is_all_holes (out->buffers[out->n_buffers - 1]))
    hr_buffer_unref (out->buffers[--out->n_buffers]);
  if (hr_wrong (HR_WRONG_LOWEST_UNBATCHED)) {
    hr_steps_batched (run->pipeline->steps, like->sample);
    hr_gate_pump (run->pipeline->memory);
  }
}

void
hr_work_process (HrWorker *worker, HrBuffer *in)
{
  HrRun *run = worker->run;
  const HrElementDef *def = run->def;
  HrOut *out = worker->out;
  HrBuffer like = { .place = -1 };
  HrRows *rows;
  HrOrigin *origin;
  GError *error = NULL, *why = NULL;
  gboolean ok;

  if ((in->flags & HR_BUFFER_HOLE) && !def->takes_holes) {
    hr_out_add (out, in);
    return;
  }
  if (def->each != NULL) {
    hr_each_all (worker, in);
    return;
  }
  if (hr_packer_is (run))
    in = hr_packer_admit (run, in);
  hr_buffer_stand_for (&like, in);
  origin = hr_buffer_get_origin (in);
  if (origin != NULL)
    hr_origin_ref (origin);
  rows = hr_buffer_get_rows (in);
  if (rows != NULL)
    hr_rows_ref (rows);
  out->first = out->n_buffers;
  hr_out_begin (out, in);
  if (in->sample < 0)
    out->sample = hr_run_get_next (run);
  hr_log (run->element->common.name, HR_LOG_TRACE, out->sample, "begins, number %" G_GINT64_FORMAT,
          in->number);
  if (def->stamps)
    out->inherit = find_reservation (in);
  if (def->cost != NULL)
    out->cost = def->cost (run->self, in, 0);
  hr_out_take_permit (out);
  ok = def->process (run->self, worker->state, in, out, &error);
  hr_out_give_permit (out);
  g_clear_pointer (&out->inherit, hr_reservation_unref);
  if (ok) {
    number_outputs (out, &like);
    if (rows != NULL && def->stamps)
      place_outputs (out, rows, like.epoch);
    check_count (out, &like, origin);
    break_rules (out, &like);
  } else {
    if (error == NULL)
      error = g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "failed without saying why");
    drop_outputs (out);
    if (hr_fault (run, origin, NULL, -1, error, &why)) {
      add_hole (out, &like, origin != NULL ? hr_origin_ref (origin) : NULL, why);
      if (rows != NULL && def->stamps)
        fill_up (out, &like, rows);
    }
  }
  if (hr_packer_is (run))
    hr_packer_count (out);
  g_clear_pointer (&origin, hr_origin_unref);
  hr_rows_unref (rows);
}

void
hr_work_finish (HrWorker *worker)
{
  HrRun *run = worker->run;
  HrOut *out = worker->out;
  HrBuffer like = { .sample = out->sample,
                    .place = -1 }; /* of the last input: what it held back is not later */
  GError *error = NULL;

  if (run->def->finish == NULL || hr_run_is_closed (run))
    return;
  out->first = out->n_buffers;
  hr_out_take_permit (out);
  if (run->def->finish (run->self, worker->state, out, &error)) {
    number_outputs (out, &like);
  } else {
    drop_outputs (out);
    /* there is no sample that a hole could stand for */
    hr_fault_holeless (run, NULL, NULL, error);
  }
  hr_out_give_permit (out);
  if (hr_packer_is (run))
    hr_packer_finish (out);
}

HrFlow
hr_work_create (HrWorker *worker)
{
  HrRun *run = worker->run;
  HrOut *out = worker->out;
  GError *error = NULL;
  HrFlow flow;

  out->sample = hr_run_get_next (run);
  hr_out_take_permit (out);
  flow = run->def->create (run->self, worker->state, out, &error);
  hr_out_give_permit (out);
  if (flow == HR_FLOW_ERROR) {
    if (error == NULL)
      error = g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "failed without saying why");
    if (hr_fault_holeless (run, NULL, NULL, error))
      flow = HR_FLOW_MORE; /* a source has no sample to skip; it goes on with the next */
  }
  return flow;
}

HrFlow
hr_work_choose (HrWorker *worker, guint *input)
{
  HrRun *run = worker->run;
  HrOut *out = worker->out;
  GError *error = NULL;
  HrFlow flow;

  *input = HR_NO_INPUT;
  out->sample = hr_run_get_next (run);
  flow = run->def->choose (run->self, worker->state, out, input, &error);
  if (g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED))
    g_clear_error (&error); /* it was being closed, and waited for memory */
  else if (flow == HR_FLOW_ERROR)
    hr_pipeline_fail (run->pipeline, run->element, error);
  for (guint i = 0; i < out->n_buffers; i++)
    out->buffers[i]->sample = -1; /* no sample yet; the link says when it becomes one */
  return flow;
}

gboolean
hr_work_consume (HrWorker *worker, HrBuffer *in)
{
  HrRun *run = worker->run;
  HrOut *out = worker->out;
  HrOrigin *origin = hr_buffer_get_origin (in);
  HrBuffer like = { .place = -1 };
  GError *error = NULL;
  gboolean ok;

  if (origin != NULL)
    hr_origin_ref (origin);
  hr_buffer_stand_for (&like, in);
  hr_out_begin (out, in);
  hr_out_take_permit (out);
  ok = run->def->consume (run->self, worker->state, in, out, &error);
  hr_out_give_permit (out);
  if (!ok) {
    if (error == NULL)
      error = g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "failed without saying why");
    ok = hr_fault_holeless (run, &like, origin, error);
  }
  g_clear_pointer (&origin, hr_origin_unref);
  return ok;
}
