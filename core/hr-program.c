/* hr-program.c: what the program that holds a pipeline gives it, takes from it and asks it for */
#include "hr-tell.h"

/* @until: 0: for ever. NULL with run->asking: it has not come in time */
static HrBuffer *
pull_from_link (HrRun *run, gint64 until)
{
  HrLink *link = run->element->inputs->pdata[0];
  HrBuffer *buffer;
  gint64 ticket;

  for (;;) {
    gint64 now;

    if (!run->asking)
      hr_sink_ask (run);
    run->asking = TRUE;
    if (until > 0 && !hr_link_wait_item (link, until))
      return NULL;
    run->asking = FALSE;
    if (hr_link_pop (link, 0, 1, &buffer, &ticket, NULL) == 0)
      return NULL;
    now = hr_now ();
    hr_sink_take (run, &buffer, 1, now);
    /* the program may keep it as long as it likes, and ask another sink first: not counted */
    hr_sink_deliver (run, run->step - 1, hr_sink_hold (buffer));
    hr_link_settle (link, 1);
    if (!hr_tell_taken (run, buffer)) {
      hr_buffer_unref (buffer);
      return NULL;
    }
    if (hr_sink_delivers (run, buffer))
      return buffer;
    hr_buffer_unref (buffer); /* its place has been counted; the program wants samples */
  }
}

/* @timeout: -1: none */
static HrBuffer *
pull (HrPipeline *pipeline, gint64 timeout, gboolean *timed_out, GError **error)
{
  HrBuffer *buffer = NULL;
  HrRun *run;

  *timed_out = FALSE;
  if (!hr_pipeline_check_process (pipeline, error))
    return NULL;
  if (pipeline->pull_sink == NULL || pipeline->pid == 0) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                 pipeline->pid == 0
                     ? "pull: the pipeline has not been started"
                     : "pull: the pipeline has no sink to pull from, such as appsink");
    return NULL;
  }
  run = pipeline->pull_sink->run;
  if (!pipeline->wound_up) {
    if (run->step > 0 && !run->asking)
      hr_sink_done (run, hr_now ()); /* what the program did since the last one is its step */
    buffer = pipeline->serial_run != NULL
                 ? hr_serial_pull (pipeline->serial_run)
                 : pull_from_link (run, timeout < 0 ? 0 : hr_now () + timeout);
    *timed_out = run->asking;
  }
  if (buffer == NULL && !*timed_out) {
    if (!pipeline->wound_up) {
      hr_sink_leave (run);
      hr_pipeline_end_pulling (pipeline);
    }
    hr_pipeline_wait (pipeline, error);
  }
  return buffer;
}

HrBuffer *
hr_pipeline_pull (HrPipeline *pipeline, GError **error)
{
  gboolean timed_out;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), NULL);
  return pull (pipeline, -1, &timed_out, error);
}

HrBuffer *
hr_pipeline_pull_timed (HrPipeline *pipeline, gint64 timeout, gboolean *timed_out, GError **error)
{
  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && timeout >= 0 && timed_out != NULL, NULL);
  return pull (pipeline, timeout, timed_out, error);
}

void
hr_pipeline_propose_allocator (HrPipeline *pipeline, HrAllocator *allocator)
{
  g_return_if_fail (HR_IS_PIPELINE (pipeline) && allocator != NULL);
  g_return_if_fail (hr_pipeline_get_state (pipeline) == HR_STATE_STOPPED);
  g_clear_pointer (&pipeline->pull_allocator, hr_allocator_unref);
  pipeline->pull_allocator = hr_allocator_ref (allocator);
}

gboolean
hr_pipeline_request (HrPipeline *pipeline, guint64 epoch, guint64 slice, GError **error)
{
  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), FALSE);
  if (!hr_pipeline_check_process (pipeline, error))
    return FALSE;
  if (!pipeline->settings.requests || hr_pipeline_get_state (pipeline) == HR_STATE_DONE) {
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                         pipeline->settings.requests
                             ? "request: the run is over"
                             : "request: the pipeline delivers its own order; set requests=true");
    return FALSE;
  }
  hr_requests_add (pipeline->requests, epoch, slice);
  return TRUE;
}

void
hr_pipeline_end_requests (HrPipeline *pipeline)
{
  g_return_if_fail (HR_IS_PIPELINE (pipeline));
  if (!hr_pipeline_is_foreign (pipeline))
    hr_requests_end (pipeline->requests);
}

static HrElement *
find_pushable (HrPipeline *pipeline, const char *name, GError **error)
{
  HrElement *element = hr_pipeline_get_element (pipeline, name);

  if (element == NULL || !element->def->pushable || element->run == NULL) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE, "push: %s \"%s\"",
                 element == NULL           ? "there is no element"
                 : !element->def->pushable ? "not an appsrc:"
                                           : "the pipeline has not been started:",
                 name);
    return NULL;
  }
  return element;
}

gboolean
hr_pipeline_push (HrPipeline *pipeline, const char *name, HrBuffer *buffer, GError **error)
{
  HrElement *element;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && buffer != NULL, FALSE);
  element =
      hr_pipeline_check_process (pipeline, error) ? find_pushable (pipeline, name, error) : NULL;
  if (element == NULL) {
    hr_buffer_unref (buffer);
    return FALSE;
  }
  buffer = hr_buffer_make_writable (buffer);
  buffer->sample = -1;
  return hr_link_push (element->outputs->pdata[0], &buffer, 1);
}

void
hr_pipeline_end (HrPipeline *pipeline, const char *name)
{
  HrElement *element;

  g_return_if_fail (HR_IS_PIPELINE (pipeline));
  element =
      hr_pipeline_check_process (pipeline, NULL) ? find_pushable (pipeline, name, NULL) : NULL;
  if (element != NULL)
    hr_link_end (element->outputs->pdata[0]);
}
