/* hr-program.c: what the program that holds a pipeline gives it, takes from it and asks it for */
#include "hr-headspace.h"
#include "hr-tell.h"
#include "hr-trace.h"

/* nanoseconds */
#define STOP_CHECK_TIME (20 * G_GINT64_CONSTANT (1000000))

/* @until: 0: for ever. NULL with run->asking: it has not come in time */
static HrBuffer *
pull_from_link (HrRun *run, gint64 until)
{
  HrLink *link = run->element->inputs->pdata[0];
  HrBuffer *buffer;
  gint64 ticket;

  for (;;) {
    guint64 held;
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
    held = hr_sink_hold (buffer);
    if (hr_sink_delivers (run, buffer))
      held = hr_headspace_keep (run, buffer, held);
    hr_sink_deliver (run, run->step - 1, held);
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

/* what the program did since the last pull is its step */
static void
trainer_is_back (HrRun *run)
{
  gint64 now = hr_now ();

  if (!hr_headspace_replays (run->pipeline))
    hr_sink_done (run, now);
  hr_headspace_done (run, now);
}

/* the same; behind the end of what is kept, that again */
static HrBuffer *
pull_next (HrRun *run, gint64 until)
{
  HrBuffer *buffer = NULL;

  if (!hr_headspace_is_full (run) && !hr_headspace_replays (run->pipeline))
    buffer = pull_from_link (run, until);
  if (buffer == NULL && (hr_headspace_is_full (run) || !run->asking))
    buffer = hr_headspace_next (run, until, &run->asking);
  return buffer;
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
    HrTraceTrack *outside = hr_trace_enter (run->pull_track);

    if (run->step > 0 && !run->asking)
      trainer_is_back (run);
    buffer = pipeline->serial_run != NULL ? hr_serial_pull (pipeline->serial_run)
                                          : pull_next (run, timeout < 0 ? 0 : hr_now () + timeout);
    *timed_out = run->asking;
    hr_trace_enter (outside);
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

/* ---- what it gives and what it works on ---- */

/* a run that did not begin has nothing to take from */
static gboolean
is_over (HrElement *element)
{
  return hr_run_is_closed (element->run)
         || hr_pipeline_get_state (element->pipeline) == HR_STATE_DONE;
}

static HrElement *
find_app_element (HrPipeline *pipeline, const char *call, const char *name, gboolean takes,
                  GError **error)
{
  HrElement *element;
  gboolean fits;

  if (!hr_pipeline_check_process (pipeline, error))
    return NULL;
  element = hr_pipeline_get_element (pipeline, name);
  fits = element != NULL && (takes ? element->def->take != NULL : element->def->pushable);
  if (fits && element->run != NULL && hr_pipeline_get_state (pipeline) != HR_STATE_STOPPED)
    return element;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE, "%s: %s \"%s\"", call,
               element == NULL ? "there is no element"
               : fits          ? "the pipeline has not been started:"
               : takes         ? "not an appmap:"
                               : "not an appsrc:",
               name);
  return NULL;
}

gboolean
hr_pipeline_push_timed (HrPipeline *pipeline, const char *name, HrBuffer *buffer, gint64 timeout,
                        gboolean *timed_out, GError **error)
{
  HrElement *element;
  gboolean wanted = FALSE;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && buffer != NULL && timeout >= 0, FALSE);
  g_return_val_if_fail (hr_buffer_is_writable (buffer), FALSE);
  *timed_out = FALSE;
  element = find_app_element (pipeline, "push", name, FALSE, error);
  if (element == NULL) {
    hr_buffer_unref (buffer);
    return FALSE;
  }
  buffer->sample = -1;
  *timed_out =
      !hr_link_push_until (element->outputs->pdata[0], buffer, hr_now () + timeout, &wanted);
  return wanted;
}

gboolean
hr_pipeline_push (HrPipeline *pipeline, const char *name, HrBuffer *buffer, GError **error)
{
  HrElement *element;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && buffer != NULL, FALSE);
  element = find_app_element (pipeline, "push", name, FALSE, error);
  if (element == NULL) {
    hr_buffer_unref (buffer);
    return FALSE;
  }
  buffer = hr_buffer_make_writable (buffer);
  buffer->sample = -1;
  return hr_link_push (element->outputs->pdata[0], &buffer, 1);
}

HrBuffer *
hr_pipeline_make_hole (HrPipeline *pipeline, const char *name, HrBuffer *buffer, GError *why,
                       GError **error)
{
  HrElement *element;
  GError *hole = NULL;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && buffer != NULL, NULL);
  element = find_app_element (pipeline, "push", name, FALSE, error);
  if (element == NULL) {
    g_clear_error (&why);
    hr_buffer_unref (buffer);
    return NULL;
  }
  buffer = hr_buffer_make_writable (buffer);
  if (why == NULL) {
    hr_fault_drop (element->run, hr_buffer_get_origin (buffer), NULL);
  } else if (!hr_fault (element->run, hr_buffer_get_origin (buffer), NULL, -1, why, &hole)) {
    hr_buffer_unref (buffer);
    return NULL;
  }
  hr_buffer_make_hole (buffer, hole);
  buffer->flags |= why == NULL ? HR_BUFFER_DROPPED : 0;
  return buffer;
}

void
hr_pipeline_end (HrPipeline *pipeline, const char *name)
{
  HrElement *element;

  g_return_if_fail (HR_IS_PIPELINE (pipeline));
  element = find_app_element (pipeline, "end", name, FALSE, NULL);
  if (element != NULL)
    hr_link_end (element->outputs->pdata[0]);
}

HrBuffer *
hr_pipeline_take (HrPipeline *pipeline, const char *name, gint64 timeout, gboolean *timed_out,
                  GError **error)
{
  gint64 until = hr_now () + timeout;
  HrBuffer *buffer = NULL;
  gboolean ended;
  HrElement *element;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && timeout >= 0 && timed_out != NULL, NULL);
  *timed_out = FALSE;
  element = find_app_element (pipeline, "take", name, TRUE, error);
  if (element == NULL)
    return NULL;
  /* the element does not hear of stop() before all its threads have left */
  ended = is_over (element);
  while (buffer == NULL && !ended && !*timed_out) {
    gint64 now = hr_now ();

    *timed_out = now + STOP_CHECK_TIME >= until;
    buffer = element->def->take (element->run->shared, MIN (until, now + STOP_CHECK_TIME), &ended);
    ended = ended || is_over (element);
  }
  *timed_out = *timed_out && buffer == NULL && !ended;
  return buffer;
}

static gboolean
answer (HrPipeline *pipeline, const char *name, const HrBuffer *taken, HrBuffer *result,
        GError *why, GError **error)
{
  HrElement *element = find_app_element (pipeline, "answer", name, TRUE, error);

  if (element != NULL && !is_over (element)
      && element->def->answer (element->run->shared, taken->number, result, why))
    return TRUE;
  if (element != NULL && !is_over (element))
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                 "answer: \"%s\" does not wait for an answer to that sample: it is answered once",
                 name);
  if (result != NULL)
    hr_buffer_unref (result);
  g_clear_error (&why);
  return FALSE;
}

gboolean
hr_pipeline_answer (HrPipeline *pipeline, const char *name, HrBuffer *taken, HrBuffer *result,
                    GError **error)
{
  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && taken != NULL, FALSE);
  return answer (pipeline, name, taken, result, NULL, error);
}

gboolean
hr_pipeline_reject (HrPipeline *pipeline, const char *name, HrBuffer *taken, const GError *why,
                    GError **error)
{
  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && taken != NULL && why != NULL, FALSE);
  return answer (pipeline, name, taken, NULL, g_error_copy (why), error);
}
