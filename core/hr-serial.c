/* hr-serial.c: serial=true: one thread does everything, one sample at a time, and only what the
 * sink needs next. No order to keep, no bound to hold: the reference for all other settings. */
#include "hr-async.h"
#include "hr-each.h"
#include "hr-tell.h"
#include "hr-trace.h"

struct _HrSerial {
  HrPipeline *pipeline;
  GPtrArray *sinks;
  HrMutex lock; /* the program may pull from one sink while the others have this thread */
  pthread_t thread;
  gboolean has_thread;
  HrTraceTrack *track; /* the thread's; NULL: nothing is traced */
};

static void demand (HrLink *link);

static HrLink *
input (const HrElement *element, guint pad)
{
  return element->inputs->pdata[pad];
}

static HrWorker *
worker_of (const HrElement *element)
{
  return element->run->workers[0];
}

/* only hr_pipeline_push() and stop() come from other threads, and they lock */
static gboolean
has_item (HrLink *link)
{
  gboolean has;

  hr_mutex_lock (&link->lock);
  has = link->count > 0;
  hr_mutex_unlock (&link->lock);
  return has;
}

static gboolean
is_over (HrLink *link)
{
  gboolean over;

  hr_mutex_lock (&link->lock);
  over = link->closed || (link->ended && link->count == 0);
  hr_mutex_unlock (&link->lock);
  return over;
}

static void
end_element (HrElement *element)
{
  for (guint i = 0; i < element->outputs->len; i++)
    hr_link_end (element->outputs->pdata[i]);
  for (guint i = 0; i < element->inputs->len; i++)
    hr_link_close (element->inputs->pdata[i]);
}

static void
hand_on (HrElement *element)
{
  HrOut *out = worker_of (element)->out;

  hr_link_push (element->outputs->pdata[0], out->buffers, out->n_buffers);
  out->n_buffers = 0;
  if (g_atomic_int_get (&element->run->closed)) /* that was the last that anybody wants */
    end_element (element);
}

static void
count (HrWorker *worker, const HrBuffer *buffer)
{
  hr_counter_add (&worker->items, 1);
  hr_counter_add (&worker->bytes, hr_buffer_get_n_bytes (buffer));
}

static HrBuffer *
take (HrElement *element, guint pad)
{
  gboolean ended;
  HrBuffer *buffer = hr_link_try_pop (input (element, pad), &ended);

  if (buffer != NULL)
    count (worker_of (element), buffer);
  return buffer;
}

static void
work_on_one (HrElement *element)
{
  HrWorker *worker = worker_of (element);
  HrBuffer *in = take (element, 0);

  if (element->def->submit != NULL)
    hr_async_one (worker, in);
  else
    hr_work_process (worker, in);
  hand_on (element);
}

static void
transform (HrElement *element)
{
  if (has_item (input (element, 0))) {
    work_on_one (element);
  } else if (is_over (input (element, 0))) {
    if (element->def->finish != NULL) {
      hr_work_finish (worker_of (element));
      hand_on (element);
    }
    end_element (element);
  } else {
    demand (input (element, 0));
  }
}

static void
route (HrElement *element)
{
  HrWorker *worker = worker_of (element);
  guint n = element->outputs->len;
  HrBuffer *in;
  guint64 wanted;

  if (!has_item (input (element, 0))) {
    if (is_over (input (element, 0)))
      end_element (element);
    else
      demand (input (element, 0));
    return;
  }
  in = take (element, 0);
  wanted = element->def->route (element->self, worker->state, in, n);
  for (guint pad = 0; pad < n; pad++)
    if (wanted & ((guint64)1 << pad)) {
      HrBuffer *copy = hr_buffer_ref (in);

      hr_link_push (element->outputs->pdata[pad], &copy, 1);
    }
  hr_buffer_unref (in);
}

static void
join_zip (HrElement *element)
{
  guint n = element->inputs->len;
  g_autofree HrBuffer **in = g_new0 (HrBuffer *, n);
  HrOut *out = worker_of (element)->out;
  HrBuffer *merged;

  for (guint i = 0; i < n; i++) {
    if (is_over (input (element, i))) {
      end_element (element);
      return;
    }
    if (!has_item (input (element, i))) {
      demand (input (element, i));
      return;
    }
  }
  for (guint i = 0; i < n; i++)
    in[i] = take (element, i);
  merged = hr_join_merge (worker_of (element), in, n);
  if (merged != NULL) {
    hr_out_add (out, merged);
    hand_on (element);
  }
}

/* concat, and any: in serial mode the first input that has something is as good as any other */
static void
join_concat (HrElement *element)
{
  for (guint i = 0; i < element->inputs->len; i++) {
    if (is_over (input (element, i)))
      continue;
    if (has_item (input (element, i))) {
      hr_out_add (worker_of (element)->out, take (element, i));
      hand_on (element);
    } else {
      demand (input (element, i));
    }
    return;
  }
  end_element (element);
}

/* which input comes next is not known before each member has been asked once */
static void
choose (HrElement *element)
{
  HrWorker *worker = worker_of (element);
  gint missing = hr_mix_run_find_missing (element->run->mix);
  guint pad = missing >= 0 ? (guint)missing : HR_NO_INPUT;
  HrFlow flow = HR_FLOW_MORE;

  if (missing < 0) {
    flow = hr_work_choose (worker, &pad);
    hand_on (element);
  }
  if (flow != HR_FLOW_MORE)
    end_element (element);
  else if (pad != HR_NO_INPUT && has_item (input (element, pad)))
    element->def->accept (element->self, worker->state, pad, take (element, pad));
  else if (pad != HR_NO_INPUT && is_over (input (element, pad)))
    element->def->accept (element->self, worker->state, pad, NULL);
  else if (pad != HR_NO_INPUT)
    demand (input (element, pad));
}

static void
create (HrElement *element)
{
  HrWorker *worker = worker_of (element);
  HrFlow flow = hr_work_create (worker);

  for (guint i = 0; i < worker->out->n_buffers; i++) {
    count (worker, worker->out->buffers[i]);
    worker->out->buffers[i]->sample = -1;
  }
  hand_on (element);
  if (flow != HR_FLOW_MORE)
    end_element (element);
}

/* until the program pushes, ends, or the pipeline is stopped */
static void
wait_for_program (HrLink *link)
{
  HrRun *run = link->to->run;

  hr_mutex_lock (&link->lock);
  link->n_popping++;
  while (link->count == 0 && !link->ended && !link->closed && !hr_run_is_closed (run))
    hr_cond_wait (&link->not_empty, &link->lock);
  link->n_popping--;
  hr_mutex_unlock (&link->lock);
}

/* does one piece of work that brings @link nearer to its next item or its end */
static void
demand (HrLink *link)
{
  HrElement *element = link->from;
  const HrElementDef *def = element->def;
  HrWorker *worker;
  gint64 begin, nested, end, own;
  guint64 items;
  gboolean idle;

  if (def->pushable) {
    wait_for_program (link);
    return;
  }
  worker = worker_of (element);
  items = worker->items;
  begin = hr_now ();
  nested = element->pipeline->serial_nested;
  element->pipeline->serial_nested = 0;
  if (def->create != NULL)
    create (element);
  else if (def->route != NULL)
    route (element);
  else if (def->choose != NULL)
    choose (element);
  else if (def->merge != NULL && def->join (element->self) == HR_JOIN_ZIP)
    join_zip (element);
  else if (def->merge != NULL)
    join_concat (element);
  else
    transform (element);
  /* what elements upstream took inside is theirs */
  end = hr_now ();
  own = end - begin - element->pipeline->serial_nested;
  /* it had nothing to work on, and has only asked for more */
  idle = worker->items == items && def->create == NULL && def->choose == NULL
         && element->pipeline->serial_nested > 0;
  hr_counter_add (idle ? &worker->blocked_in : &worker->working, own);
  hr_counter_add (&worker->blocked_in, element->pipeline->serial_nested);
  element->pipeline->serial_nested = nested + end - begin;
  if (!idle)
    hr_trace_work (element->run, begin, end,
                   def->process != NULL || def->each != NULL ? worker->out->sample : -1,
                   (guint)(worker->items - items));
}

/* the next buffer of a sink, or NULL at its end */
static HrBuffer *
next (HrElement *sink)
{
  HrRun *run = sink->run;
  HrSerial *serial = sink->pipeline->serial_run;
  HrLink *link = input (sink, 0);
  HrBuffer *buffer;
  gboolean ended;

  hr_sink_ask (run);
  hr_mutex_lock (&serial->lock);
  sink->pipeline->serial_nested = 0;
  while (!hr_run_is_closed (run) && !is_over (link) && !has_item (link))
    demand (link);
  buffer = hr_run_is_closed (run) ? NULL : hr_link_try_pop (link, &ended);
  hr_mutex_unlock (&serial->lock);
  if (buffer == NULL)
    return NULL;
  hr_sink_take (run, &buffer, 1, hr_now ());
  hr_sink_deliver (run, run->step - 1, hr_sink_hold (buffer)); /* nothing else goes on meanwhile */
  if (!hr_tell_taken (run, buffer))
    g_clear_pointer (&buffer, hr_buffer_unref);
  return buffer;
}

HrBuffer *
hr_serial_pull (HrSerial *serial)
{
  HrBuffer *buffer;

  while ((buffer = next (serial->pipeline->pull_sink)) != NULL
         && !hr_sink_delivers (serial->pipeline->pull_sink->run, buffer))
    hr_buffer_unref (buffer);
  return buffer;
}

static gboolean
consume_one (HrElement *sink)
{
  HrWorker *worker = worker_of (sink);
  HrBuffer *buffer = next (sink);
  gint64 end = 0;
  gboolean good = buffer != NULL;

  if (good) {
    count (worker, buffer);
    if ((buffer->flags & HR_BUFFER_HOLE) && !sink->run->def->relays)
      hr_buffer_unref (buffer);
    else
      good = hr_work_consume (worker, buffer);
    end = hr_now ();
    hr_counter_add (&worker->working, end - sink->run->got_at); /* what a trace calls the step */
  }
  if (good) {
    hr_sink_done (sink->run, end);
  } else {
    if (buffer == NULL)
      hr_work_finish (worker);
    hr_link_close (input (sink, 0));
    hr_sink_leave (sink->run);
  }
  return good;
}

/* the sinks take turns */
static void *
thread_main (void *data)
{
  HrSerial *serial = data;
  GPtrArray *sinks = serial->sinks;

  pthread_setname_np (pthread_self (), "serial");
  hr_trace_enter (serial->track);
  while (sinks->len > 0)
    for (guint i = 0; i < sinks->len;) {
      if (consume_one (sinks->pdata[i]))
        i++;
      else
        g_ptr_array_remove_index (sinks, i);
    }
  hr_trace_enter (NULL);
  hr_pipeline_thread_left (serial->pipeline);
  return NULL;
}

gboolean
hr_serial_start (HrPipeline *pipeline, GError **error)
{
  HrSerial *serial = g_new0 (HrSerial, 1);
  int failed;

  serial->pipeline = pipeline;
  serial->sinks = g_ptr_array_new ();
  hr_mutex_init (&serial->lock);
  pipeline->serial_run = serial;
  for (guint i = 0; i < pipeline->order->len; i++) {
    HrElement *element = pipeline->order->pdata[i];

    if (!element->def->pushable && hr_worker_new (element->run, error) == NULL)
      return FALSE;
    if (element->outputs->len == 0 && !hr_element_def_is_pulled (element->def))
      g_ptr_array_add (serial->sinks, element);
  }
  if (serial->sinks->len == 0) /* the program pulls: in its own thread */
    return TRUE;
  serial->track = hr_trace_add_track (pipeline, NULL, 0);
  hr_mutex_lock (&pipeline->lock);
  pipeline->n_running++;
  hr_mutex_unlock (&pipeline->lock);
  failed = pthread_create (&serial->thread, NULL, thread_main, serial);
  if (failed != 0) {
    hr_pipeline_thread_left (pipeline);
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "cannot start a thread: %s",
                 g_strerror (failed));
    return FALSE;
  }
  serial->has_thread = TRUE;
  return TRUE;
}

void
hr_serial_join (HrSerial *serial)
{
  if (serial->has_thread)
    pthread_join (serial->thread, NULL);
  serial->has_thread = FALSE;
}

void
hr_serial_free (HrSerial *serial)
{
  g_ptr_array_unref (serial->sinks);
  hr_mutex_clear (&serial->lock);
  g_free (serial);
}
