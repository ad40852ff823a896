/* hr-packer.c */
#include "hr-packer.h"
#include "hr-tell.h"

gboolean
hr_packer_is (const HrRun *run)
{
  return run->def->block != NULL && run->def->block (run->self) > 0;
}

HrRun *
hr_packer_find (const HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;

    if (hr_packer_is (run))
      return run;
  }
  return NULL;
}

/* blocks that somebody may still ask a checkpoint inside of */
#define MAX_BLOCKS 4096
/* so many epochs without a row are no accident */
#define MAX_EMPTY_EPOCHS 100

void
hr_skipped_free (gpointer data)
{
  HrSkipped *skipped = data;

  g_array_unref (skipped->places);
  g_free (skipped);
}

static void
note_skipped (HrRun *run, gint64 place)
{
  HrSkipped *last;

  hr_mutex_lock (&run->lock);
  last = g_queue_peek_tail (&run->skipped);
  if (last == NULL || last->epoch != run->block_epoch || last->block != run->block_place) {
    last = g_new0 (HrSkipped, 1);
    last->epoch = run->block_epoch;
    last->block = run->block_place;
    last->places = g_array_new (FALSE, FALSE, sizeof (gint64));
    g_queue_push_tail (&run->skipped, last);
    if (run->skipped.length > MAX_BLOCKS)
      hr_skipped_free (g_queue_pop_head (&run->skipped));
  }
  g_array_append_val (last->places, place);
  hr_mutex_unlock (&run->lock);
}

GArray *
hr_packer_get_skipped (HrRun *run, gint64 epoch, gint64 block)
{
  GArray *found = NULL;

  hr_mutex_lock (&run->lock);
  for (GList *node = run->skipped.tail; node != NULL && found == NULL; node = node->prev) {
    const HrSkipped *skipped = node->data;

    if (skipped->epoch == epoch && skipped->block == block)
      found = g_array_copy (skipped->places);
  }
  hr_mutex_unlock (&run->lock);
  return found;
}

/* With epochs without end, one without a row would be followed by another for ever: all samples are
 * bad, or there are fewer blocks than ranks. */
static void
check_epoch (HrRun *run, guint epoch)
{
  if (run->n_blocks++ == 0 || epoch == run->block_epoch)
    return;
  run->empty_epochs = run->epoch_rows == 0 ? run->empty_epochs + 1 : 0;
  run->epoch_rows = 0;
  if (run->empty_epochs == MAX_EMPTY_EPOCHS)
    hr_pipeline_fail (run->pipeline, run->element,
                      g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                                   "no row came of %d epochs of the samples that rank %" //
                                   G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                                   " has: all were left out, or there are too few for so many "
                                   "ranks and pack-window=%u",
                                   MAX_EMPTY_EPOCHS, run->pipeline->settings.rank,
                                   run->pipeline->settings.world, run->def->block (run->self)));
}

static void
begin_block (HrRun *run, const HrBuffer *first)
{
  if (!run->pipeline->settings.requests && !run->numbered_rows)
    check_epoch (run, first->epoch);
  run->block_place = first->place;
  run->block_row = first->row;
  run->block_epoch = first->epoch;
}

/* padding was never anything */
static gboolean
was_skipped (const HrBuffer *hole)
{
  return (hole->flags & HR_BUFFER_HOLE) && hole->place >= 0
         && (hr_buffer_get_origin (hole) != NULL || hr_buffer_get_error (hole) != NULL);
}

static gboolean
is_known_hole (const HrRun *run, const HrBuffer *buffer)
{
  for (guint i = 0; run->known_skipped != NULL && i < run->known_skipped->len; i++)
    if (g_array_index (run->known_skipped, gint64, i) == buffer->place)
      return TRUE;
  return FALSE;
}

/* It is told with the next row: a run that goes on from a checkpoint tells it once more, or not, as
 * it delivers that row once more, or not. Who waits so holds no bytes: a copy has none. */
static void
leave_out (HrRun *run, const HrBuffer *hole)
{
  HrOrigin *origin = hr_buffer_get_origin (hole);
  HrBuffer *copy = hr_buffer_new ();

  hr_buffer_stand_for (copy, hole);
  hr_buffer_set_origin (copy, origin != NULL ? hr_origin_ref (origin) : NULL);
  hr_buffer_make_hole (copy, g_error_copy (hole->error));
  if (run->left_out == NULL)
    run->left_out = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  g_ptr_array_add (run->left_out, copy);
}

HrBuffer *
hr_packer_admit (HrRun *run, HrBuffer *in)
{
  if (run->block_in == 0)
    begin_block (run, in);
  run->block_ends = (in->flags & HR_BUFFER_BLOCK_END) != 0;
  if (!(in->flags & HR_BUFFER_HOLE) && is_known_hole (run, in)) {
    in = hr_buffer_make_writable (in); /* it keeps its origin */
    hr_buffer_make_hole (in, NULL);
  }
  if (was_skipped (in))
    note_skipped (run, in->place);
  if ((in->flags & HR_BUFFER_HOLE) && in->error != NULL)
    leave_out (run, in);
  return in;
}

/* its samples had to be read once more, for the rows that are left */
static void
count_again (HrRun *run, const HrBuffer *row)
{
  for (guint i = 0; i < hr_buffer_get_n_members (row); i++) {
    const HrOrigin *origin = hr_buffer_get_origin (hr_buffer_get_member (row, i));

    __atomic_fetch_add (&run->again_lines, 1, __ATOMIC_RELAXED);
    if (origin != NULL)
      __atomic_fetch_add (&run->again_bytes, (guint64)origin->length, __ATOMIC_RELAXED);
  }
}

/* rows of the first block that another run has delivered */
static void
leave_out_delivered (HrOut *out)
{
  HrRun *run = out->worker->run;
  guint n = out->n_buffers - out->first;

  if (run->delivered_rows >= n) {
    hr_pipeline_fail (
        run->pipeline, run->element,
        g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                     "the block of place %" G_GINT64_FORMAT " makes %u rows, and %u "
                     "of it were delivered before the checkpoint: its samples are not "
                     "what they were",
                     run->block_place, n, run->delivered_rows));
    return;
  }
  for (guint i = 0; i < run->delivered_rows; i++) {
    count_again (run, out->buffers[out->first + i]);
    hr_buffer_unref (out->buffers[out->first + i]);
  }
  for (guint i = out->first; i + run->delivered_rows < out->n_buffers; i++)
    out->buffers[i] = out->buffers[i + run->delivered_rows];
  out->n_buffers -= run->delivered_rows;
  for (guint i = 0; run->left_out != NULL && i < run->left_out->len; i++)
    hr_tell_never (run->pipeline, run->left_out->pdata[i]);
  g_clear_pointer (&run->left_out, g_ptr_array_unref);
}

static void
stamp_rows (HrOut *out)
{
  HrRun *run = out->worker->run;

  for (guint i = out->first; i < out->n_buffers; i++) {
    HrBuffer *row = out->buffers[i] = hr_buffer_make_writable (out->buffers[i]);

    row->epoch = run->block_epoch;
    row->place = run->numbered_rows ? run->block_row : run->block_place;
    row->row = (gint)(i - out->first);
    if (i + 1 == out->n_buffers)
      row->flags |= HR_BUFFER_BLOCK_END;
  }
}

/* who asked for the block must learn that nothing comes of it */
static void
add_empty_row (HrOut *out)
{
  HrBuffer *hole = hr_buffer_new ();

  hr_buffer_make_hole (hole, NULL);
  hr_out_add (out, hole);
}

static void
end_block (HrOut *out)
{
  HrRun *run = out->worker->run;

  if (run->pipeline->settings.requests && out->n_buffers == out->first)
    add_empty_row (out);
  stamp_rows (out);
  if (run->delivered_rows > 0)
    leave_out_delivered (out);
  else if (run->left_out != NULL && out->n_buffers > out->first)
    out->buffers[out->first]->left_out = g_steal_pointer (&run->left_out);
  run->delivered_rows = 0;
  g_clear_pointer (&run->known_skipped, g_array_unref);
  run->block_in = 0;
  run->epoch_rows += out->n_buffers - out->first;
  if (hr_steps_packed (run->pipeline->steps, run->packer_out - 1, out->n_buffers - out->first))
    hr_gate_pump (run->pipeline->memory);
}

void
hr_packer_count (HrOut *out)
{
  HrRun *run = out->worker->run;

  run->block_in++;
  if (run->numbered_rows ? run->block_ends : run->block_in == run->def->block (run->self))
    end_block (out);
}

void
hr_packer_finish (HrOut *out)
{
  if (out->worker->run->block_in > 0)
    end_block (out);
}
