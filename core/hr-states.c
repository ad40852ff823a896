/* hr-states.c: a pipeline is started, stopped, waited for, and wound up */
#include "hr-auto.h"
#include "hr-handout.h"
#include "hr-headspace.h"
#include "hr-log.h"
#include "hr-pipeline-private.h"
#include "hr-tell.h"
#include "hr-topology.h"
#include "hr-trace.h"
#include <sys/resource.h>
#include <unistd.h>

/* the process that started it, or 0; stop() may come while start() is under way */
static pid_t
get_process (HrPipeline *pipeline)
{
  return __atomic_load_n (&pipeline->pid, __ATOMIC_ACQUIRE);
}

gboolean
hr_pipeline_is_foreign (HrPipeline *pipeline)
{
  pid_t process = get_process (pipeline);

  return process != 0 && process != getpid ();
}

HrState
hr_pipeline_get_state (HrPipeline *pipeline)
{
  HrState state;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), HR_STATE_DONE);
  if (hr_pipeline_is_foreign (pipeline))
    return HR_STATE_DONE;
  hr_mutex_lock (&pipeline->lock);
  state = pipeline->state;
  hr_mutex_unlock (&pipeline->lock);
  return state;
}

gboolean
hr_pipeline_check_process (HrPipeline *pipeline, GError **error)
{
  pid_t process = get_process (pipeline);

  if (process == 0 || process == getpid ())
    return TRUE;
  g_set_error (
      error, HR_CORE_ERROR, HR_CORE_ERROR_FORKED,
      "started in process %d, used in process %d: threads do not survive a fork; create the "
      "pipeline in the process that uses it",
      (int)process, (int)getpid ());
  return FALSE;
}

static gint64
cpu_time (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return ((gint64)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000
         + ((gint64)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

gint64
hr_pipeline_get_cpu_time (HrPipeline *pipeline)
{
  return (pipeline->cpu_at_end > 0 ? pipeline->cpu_at_end : cpu_time ()) - pipeline->cpu_at_start;
}

static void
stop_elements (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (element->run != NULL)
      hr_run_stop (element->run);
  }
  for (guint i = 0; i < pipeline->links->len; i++)
    hr_link_drain (pipeline->links->pdata[i]);
}

static void
join_threads (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;

    for (guint k = 0; run != NULL; k++) {
      pthread_t thread = 0;

      hr_mutex_lock (&run->lock); /* workers= may be raised meanwhile */
      if (k < run->threads->len)
        thread = g_array_index (run->threads, pthread_t, k);
      else
        run->leaving = TRUE;
      hr_mutex_unlock (&run->lock);
      if (thread == 0)
        break;
      pthread_join (thread, NULL);
    }
  }
  if (pipeline->serial_run != NULL)
    hr_serial_join (pipeline->serial_run);
  hr_monitor_join (pipeline);
}

void
hr_pipeline_thread_left (HrPipeline *pipeline)
{
  hr_mutex_lock (&pipeline->lock);
  if (--pipeline->n_running == 0 && pipeline->state == HR_STATE_RUNNING) {
    if (!g_atomic_int_get (&pipeline->stopping)) {
      hr_mutex_unlock (&pipeline->lock);
      hr_tell_rest (pipeline);
      hr_mutex_lock (&pipeline->lock);
    }
    /* together: who pops messages until the run is done gets this one too */
    pipeline->state = HR_STATE_DONE;
    hr_pipeline_post_locked (pipeline, HR_MESSAGE_DONE, NULL, NULL, NULL);
  }
  hr_cond_broadcast (&pipeline->changed);
  hr_mutex_unlock (&pipeline->lock);
}

void
hr_pipeline_end_pulling (HrPipeline *pipeline)
{
  gboolean was;

  hr_mutex_lock (&pipeline->lock);
  was = pipeline->pull_sink != NULL && !pipeline->pulled_out;
  pipeline->pulled_out = TRUE;
  hr_mutex_unlock (&pipeline->lock);
  if (was)
    hr_pipeline_thread_left (pipeline);
}

static void
close_letters (HrPipeline *pipeline)
{
  GError *error = NULL;

  if (!hr_tell_sync (pipeline, &error))
    hr_pipeline_fail (pipeline, NULL, error);
  hr_tell_clear (pipeline);
}

/* after this nothing of the run is left but its numbers */
static void
wind_up (HrPipeline *pipeline)
{
  char *stats;

  join_threads (pipeline);
  hr_pipeline_end_pulling (pipeline);
  close_letters (pipeline);
  hr_trace_end (pipeline);
  hr_mutex_lock (&pipeline->live); /* no live change after this */
  hr_mutex_lock (&pipeline->lock);
  pipeline->state = HR_STATE_DONE;
  hr_mutex_unlock (&pipeline->lock);
  pipeline->ended_at = hr_now ();
  pipeline->cpu_at_end = cpu_time ();
  hr_mutex_unlock (&pipeline->live);
  stats = hr_pipeline_get_stats (pipeline);
  hr_mutex_lock (&pipeline->live); /* somebody may just be reading an element's own numbers */
  pipeline->final_stats = stats;
  stop_elements (pipeline);
  hr_headspace_let_go (pipeline);
  hr_mutex_unlock (&pipeline->live);
  hr_mutex_lock (&pipeline->lock);
  pipeline->wound_up = TRUE;
  hr_cond_broadcast (&pipeline->changed);
  hr_mutex_unlock (&pipeline->lock);
}

static gboolean
start_elements (HrPipeline *pipeline, GError **error)
{
  HrElement *culprit = NULL;
  GPtrArray *order;

  if (!hr_pipeline_check (pipeline, &culprit, error))
    return FALSE;
  hr_handout_add (pipeline);
  if (!hr_topology_apply (pipeline, error) || !hr_headspace_start (pipeline, error)
      || !hr_tell_start (pipeline, error) || !hr_trace_start (pipeline, error))
    return FALSE;
  pipeline->automatic = hr_auto_new (pipeline);
  order = pipeline->order;
  for (guint i = 0; i < order->len; i++) { /* from sink to source */
    HrElement *element = order->pdata[i];

    if (!hr_run_start (element->run, error))
      return FALSE;
  }
  return TRUE;
}

/* While this is being made nobody reads statistics; stop() may come, and is heard afterwards. */
static gboolean
prepare_run (HrPipeline *pipeline, GError **error)
{
  gboolean ok;

  hr_mutex_lock (&pipeline->live);
  __atomic_store_n (&pipeline->pid, getpid (), __ATOMIC_RELEASE);
  pipeline->started_at = hr_now ();
  pipeline->cpu_at_start = cpu_time ();
  for (guint i = 0; i < pipeline->elements->len; i++)
    __atomic_store_n (&((HrElement *)pipeline->elements->pdata[i])->frozen, TRUE, __ATOMIC_RELEASE);
  ok = start_elements (pipeline, error);
  if (ok) {
    hr_mutex_lock (&pipeline->lock);
    pipeline->state = HR_STATE_RUNNING;
    pipeline->n_running = 1 + (pipeline->pull_sink != NULL); /* until all threads are there */
    hr_mutex_unlock (&pipeline->lock);
  }
  hr_mutex_unlock (&pipeline->live);
  return ok;
}

static gboolean
start_threads (HrPipeline *pipeline, GError **error)
{
  gboolean ok = TRUE;

  if (pipeline->settings.serial)
    return hr_serial_start (pipeline, error) && hr_monitor_start (pipeline, error);
  hr_mutex_lock (&pipeline->live);                 /* a live change of workers comes after this */
  for (guint i = 0; i < pipeline->links->len; i++) /* … and what was set meanwhile holds */
    hr_topology_bound_link (pipeline->links->pdata[i]);
  hr_topology_update_ahead (pipeline);
  hr_pipeline_settings_changed (pipeline);
  for (guint i = 0; ok && i < pipeline->order->len; i++) {
    HrElement *element = pipeline->order->pdata[i];
    const HrElementDef *def = element->def;

    /* a live change may have been quicker */
    if (!hr_element_def_is_pulled (def) && !def->pushable
        && hr_run_get_n_workers (element->run) > element->run->n_workers)
      ok = hr_run_spawn (element->run,
                         hr_run_get_n_workers (element->run) - element->run->n_workers, error);
  }
  hr_mutex_unlock (&pipeline->live);
  return ok && hr_monitor_start (pipeline, error);
}

gboolean
hr_pipeline_start (HrPipeline *pipeline, GError **error)
{
  GError *own = NULL;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), FALSE);
  if (!hr_pipeline_check_process (pipeline, error))
    return FALSE;
  if (hr_pipeline_get_state (pipeline) != HR_STATE_STOPPED) {
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                         "a pipeline runs once; make a new one of the same text");
    return FALSE;
  }
  if (!prepare_run (pipeline, error)) {
    wind_up (pipeline);
    return FALSE;
  }
  if (!start_threads (pipeline, &own)) {
    hr_pipeline_stop (pipeline);
    wind_up (pipeline);
    g_propagate_error (error, own);
    return FALSE;
  }
  hr_log ("core", HR_LOG_INFO, -1, "started, %u elements", pipeline->elements->len);
  hr_pipeline_thread_left (pipeline);
  return TRUE;
}

void
hr_pipeline_stop (HrPipeline *pipeline)
{
  g_autoptr (HrPipeline) inner = NULL;
  HrState state;

  g_return_if_fail (HR_IS_PIPELINE (pipeline));
  if (!hr_pipeline_check_process (pipeline, NULL))
    return; /* its threads are in another process */
  hr_mutex_lock (&pipeline->lock);
  state = pipeline->state;
  if (state != HR_STATE_DONE) /* before start(), the run ends as soon as it begins */
    g_atomic_int_set (&pipeline->stopping, 1);
  if (pipeline->stop_bell.fd >= 0)
    hr_bell_ring (&pipeline->stop_bell);
  inner = pipeline->inner != NULL ? g_object_ref (pipeline->inner) : NULL;
  hr_mutex_unlock (&pipeline->lock);
  if (inner != NULL)
    hr_pipeline_stop (inner);
  if (state != HR_STATE_RUNNING)
    return;
  hr_log ("core", HR_LOG_INFO, -1, "is being stopped");
  for (guint i = 0; i < pipeline->elements->len; i++)
    hr_run_wake (((HrElement *)pipeline->elements->pdata[i])->run);
  hr_gate_wake (pipeline->memory);
  if (pipeline->cpus != NULL)
    hr_gate_wake (pipeline->cpus);
  hr_steps_wake (pipeline->steps);
  hr_pipeline_end_pulling (pipeline);
}

int
hr_element_get_stop_fd (HrElement *element)
{
  HrPipeline *pipeline = element->pipeline;
  int fd;

  hr_mutex_lock (&pipeline->lock);
  if (pipeline->stop_bell.fd < 0 && hr_bell_init (&pipeline->stop_bell, NULL)
      && g_atomic_int_get (&pipeline->stopping))
    hr_bell_ring (&pipeline->stop_bell);
  fd = pipeline->stop_bell.fd;
  hr_mutex_unlock (&pipeline->lock);
  return fd;
}

gboolean
hr_pipeline_wait (HrPipeline *pipeline, GError **error)
{
  gboolean ok;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), FALSE);
  if (!hr_pipeline_check_process (pipeline, error))
    return FALSE;
  if (get_process (pipeline) != 0 && !pipeline->wound_up)
    wind_up (pipeline);
  hr_mutex_lock (&pipeline->lock);
  ok = pipeline->error == NULL;
  if (!ok && error != NULL)
    *error = g_error_copy (pipeline->error);
  hr_mutex_unlock (&pipeline->lock);
  return ok;
}
