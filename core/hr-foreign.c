/* hr-foreign.c: runs of other processes: what is handed on to them, and what comes from them */
#include "hr-foreign.h"
#include "hr-letter.h"
#include "hr-tell.h"

HrForeign *
hr_foreign_ref (HrForeign *foreign)
{
  return g_atomic_rc_box_acquire (foreign);
}

static void
clear (gpointer data)
{
  HrForeign *foreign = data;

  g_free (foreign->checkpoint);
  g_free (foreign->refusal);
}

void
hr_foreign_unref (HrForeign *foreign)
{
  g_atomic_rc_box_release_full (foreign, clear);
}

void
hr_foreign_done (HrRun *sink, HrForeign *foreign)
{
  g_clear_pointer (&sink->foreign_done, hr_foreign_unref);
  sink->foreign_done = hr_foreign_ref (foreign);
  sink->n_done = sink->step;
}

HrForeign *
hr_foreign_find_done (HrPipeline *pipeline, gint64 *steps)
{
  HrForeign *found = NULL;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];
    HrRun *run = element->run;

    if (element->outputs->len > 0)
      continue;
    hr_mutex_lock (&run->lock);
    if (run->foreign_done != NULL && (found == NULL || run->n_done < *steps)) {
      g_clear_pointer (&found, hr_foreign_unref);
      found = hr_foreign_ref (run->foreign_done);
      *steps = run->n_done;
    }
    hr_mutex_unlock (&run->lock);
  }
  return found;
}

char *
hr_foreign_get_checkpoint (const HrForeign *foreign, GError **error)
{
  if (foreign->checkpoint != NULL)
    return g_strdup (foreign->checkpoint);
  g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                       foreign->refusal != NULL ? foreign->refusal
                                                : "no checkpoint: the other process sends none");
  return NULL;
}

/* ---- handing on ---- */

void
hr_element_end_run (HrElement *element, GError *why)
{
  if (why != NULL)
    hr_pipeline_fail (element->pipeline, element, why);
  else
    hr_pipeline_stop (element->pipeline);
}

gboolean
hr_element_get_outcome (HrElement *element, GError **why)
{
  HrPipeline *pipeline = element->pipeline;
  gboolean ended;

  hr_mutex_lock (&pipeline->lock);
  ended = pipeline->error == NULL && !g_atomic_int_get (&pipeline->stopping)
          && pipeline->state != HR_STATE_STOPPED;
  if (pipeline->error != NULL)
    g_propagate_error (why, g_error_copy (pipeline->error));
  else if (!ended)
    g_set_error (why, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "it %s",
                 pipeline->state == HR_STATE_STOPPED ? "could not be started"
                                                     : "was stopped before its end");
  hr_mutex_unlock (&pipeline->lock);
  return ended;
}

char *
hr_element_get_checkpoint (HrElement *element, HrBuffer *buffer, gint64 *n_steps, GError **error)
{
  *n_steps = hr_pipeline_get_n_steps (element->pipeline);
  return hr_pipeline_get_checkpoint (element->pipeline, buffer, error);
}

/* ---- taking over ---- */

/* what is told of a sample when it reaches the sink, is told in the name of who brought it */
static void
adopt_hole (HrRun *run, HrBuffer *hole)
{
  HrLetter *letter = hole->error != NULL ? hr_letter_of (hole->error) : NULL;
  const HrOrigin *origin = hr_buffer_get_origin (hole);

  if (!(hole->flags & HR_BUFFER_HOLE))
    return;
  if (hole->flags & HR_BUFFER_DROPPED) {
    hr_fault_foreign_drop (run, origin, hole->error);
    return;
  }
  if (letter == NULL)
    return;
  letter->element = run->element->index;
  if (origin != NULL)
    letter->origin = hr_origin_ref ((HrOrigin *)origin);
  hr_tell_later (run->pipeline, letter);
}

void
hr_out_adopt (HrOut *out, HrBuffer *buffer, const char *checkpoint, const char *refusal,
              gint64 n_steps)
{
  HrRun *run = out->worker->run;
  HrForeign *foreign = g_atomic_rc_box_new0 (HrForeign);

  foreign->checkpoint = g_strdup (checkpoint);
  foreign->refusal = g_strdup (refusal);
  buffer->foreign = foreign;
  __atomic_store_n (&run->pipeline->foreign_steps, n_steps, __ATOMIC_RELAXED);
  adopt_hole (run, buffer);
  for (guint i = 0; i < hr_buffer_get_n_members (buffer); i++)
    adopt_hole (run, hr_buffer_get_member (buffer, i));
  for (guint i = 0; buffer->left_out != NULL && i < buffer->left_out->len; i++)
    adopt_hole (run, buffer->left_out->pdata[i]);
}
