/* hr-run.c: an element's part of a running pipeline: its workers, its waits, its end */
#include "hr-async.h"
#include "hr-foreign.h"
#include "hr-log.h"
#include "hr-packer.h"
#include "hr-pool.h"
#include "hr-secrets.h"
#include "hr-tell.h"
#include "hr-trace.h"
#include <stdio.h>
#include <unistd.h>

_Thread_local HrWorker *hr_worker_self;

/* free blocks kept warm for the next samples, per element that allocates */
#define POOL_IDLE (256u << 20)

/* What lies idle in pools is memory, too: with what is in use it stays within the budget. Nearest
 * to the sinks blocks are largest, and the last that are given up. */
static void
make_room (gpointer data)
{
  HrPipeline *pipeline = data;
  guint64 room = hr_gate_get_room (pipeline->memory);

  for (guint i = 0; i < pipeline->order->len; i++) {
    HrElement *element = pipeline->order->pdata[i];

    room -= MIN (room, hr_pool_trim (element->run->pool, room));
  }
}

HrRun *
hr_run_new (HrPipeline *pipeline, HrElement *element)
{
  HrRun *run = g_new0 (HrRun, 1);

  run->pipeline = pipeline;
  run->element = element;
  run->def = element->def;
  run->self = element->self;
  run->shared = g_malloc0 (MAX (run->def->shared_size, 1));
  run->pool = hr_allocator_pool_new (POOL_IDLE);
  hr_pool_set_make_room (run->pool, make_room, pipeline);
  run->threads = g_array_new (FALSE, FALSE, sizeof (pthread_t));
  run->bell.fd = run->closed_fd = -1;
  run->cold_start = -1;
  run->group = 1;
  run->taken.epoch = -1;
  run->n_done = -1;
  hr_mutex_init (&run->lock);
  return run;
}

/* its numbers stay */
static void
worker_stop (HrWorker *worker)
{
  HrRun *run = worker->run;

  if (run->def->worker_stop != NULL)
    run->def->worker_stop (run->self, worker->state);
  g_clear_pointer (&worker->async, hr_async_free);
  if (run->def->worker_size > 0)
    g_clear_pointer (&worker->state, g_free);
  g_clear_pointer (&worker->out, hr_out_free);
}

void
hr_run_free (HrRun *run)
{
  for (guint i = 0; i < run->n_workers; i++) {
    g_free (run->workers[i]->word);
    g_free (run->workers[i]);
  }
  g_clear_pointer (&run->plan, hr_plan_free);
  if (run->def->mixes != NULL)
    g_clear_pointer (&run->mix, hr_mix_run_free);
  g_clear_pointer (&run->front, g_ptr_array_unref);
  g_clear_pointer (&run->checksum, g_checksum_free);
  g_clear_pointer (&run->left_out, g_ptr_array_unref);
  g_clear_pointer (&run->tally, hr_tally_free);
  g_queue_clear_full (&run->skipped, hr_skipped_free);
  g_clear_pointer (&run->known_skipped, g_array_unref);
  g_clear_pointer (&run->foreign_taken, hr_foreign_unref);
  g_clear_pointer (&run->foreign_done, hr_foreign_unref);
  g_clear_pointer (&run->threads, g_array_unref);
  g_clear_pointer (&run->allocators, g_hash_table_unref);
  hr_allocator_unref (run->pool);
  hr_bell_clear (&run->bell);
  if (run->closed_fd >= 0)
    close (run->closed_fd);
  hr_mutex_clear (&run->lock);
  g_free (run->shared);
  g_free (run);
}

/* takes @own: says who, and shows no secret */
static void
propagate (const HrRun *run, GError *own, GError **error)
{
  g_autofree char *shown = hr_secrets_hide (own->message, HR_SECRETS_IN_TEXT);

  g_set_error (error, own->domain, own->code, "%s \"%s\": %s", run->def->name,
               run->element->common.name, shown);
  g_error_free (own);
}

gboolean
hr_run_start (HrRun *run, GError **error)
{
  GError *own = NULL;

  if ((run->def->submit != NULL || run->def->merge != NULL) && !hr_bell_init (&run->bell, error))
    return FALSE;
  if (run->def->start != NULL && !run->def->start (run->self, run->shared, run->element, &own)) {
    propagate (run, own, error);
    return FALSE;
  }
  run->started = TRUE;
  return TRUE;
}

/* after all threads have been joined */
void
hr_run_stop (HrRun *run)
{
  for (guint i = 0; i < run->n_workers; i++)
    worker_stop (run->workers[i]);
  if (run->started && run->def->stop != NULL)
    run->def->stop (run->self, run->shared);
  run->started = FALSE;
}

HrWorker *
hr_worker_new (HrRun *run, GError **error)
{
  HrWorker *worker = g_new0 (HrWorker, 1);

  worker->run = run;
  worker->index = run->n_workers;
  worker->state = run->def->worker_size > 0 ? g_malloc0 (run->def->worker_size) : run->shared;
  worker->out = hr_out_new (worker);
  if (run->def->worker_start != NULL) {
    GError *own = NULL;

    if (!run->def->worker_start (run->self, run->shared, worker->state, &own)) {
      propagate (run, own, error);
      if (run->def->worker_size > 0)
        g_free (worker->state);
      hr_out_free (worker->out);
      g_free (worker);
      return NULL;
    }
  }
  if (run->def->submit != NULL)
    worker->async = hr_async_new (worker);
  if (!run->pipeline->settings.serial) /* there, one thread does all */
    worker->track = hr_trace_add_track (run->pipeline, run, worker->index);
  hr_mutex_lock (&run->lock);
  run->workers[run->n_workers++] = worker;
  hr_mutex_unlock (&run->lock);
  return worker;
}

/* ---- where bytes come from ---- */

void
hr_run_set_allocator (HrRun *run, const char *field, HrAllocator *allocator)
{
  if (run->allocators == NULL)
    run->allocators =
        g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)hr_allocator_unref);
  if (!g_hash_table_contains (run->allocators, field))
    g_hash_table_insert (run->allocators, (gpointer)field, hr_allocator_ref (allocator));
}

HrAllocator *
hr_run_get_allocator (const HrRun *run, const char *field)
{
  HrAllocator *proposed = NULL;

  if (run->allocators != NULL)
    proposed = g_hash_table_lookup (run->allocators, field);
  if (run->allocators != NULL && proposed == NULL)
    proposed = g_hash_table_lookup (run->allocators, "*");
  return proposed != NULL ? proposed : run->pool;
}

/* ---- effective settings ---- */

gboolean
hr_run_is_closed (const HrRun *run)
{
  return g_atomic_int_get (&run->closed) || g_atomic_int_get (&run->pipeline->stopping);
}

guint
hr_run_get_n_workers (const HrRun *run)
{
  guint64 workers = hr_live_uint (&run->element->common.workers);

  if (run->def->parallel == HR_PARALLEL_NO || workers == 0)
    return 1;
  return (guint)MIN (workers, HR_MAX_WORKERS);
}

guint64
hr_run_get_window (const HrRun *run)
{
  guint64 window = hr_live_uint (&run->element->common.window);
  guint n;

  if (window > 0)
    return window;
  n = run->def->concurrency != NULL && !hr_wrong (HR_WRONG_ASYNC_WINDOW)
          ? run->def->concurrency (run->self)
          : hr_run_get_n_workers (run);
  if (run->behind_prefetch && !hr_wrong (HR_WRONG_PREFETCH_WINDOW))
    return n;
  if (n == 1 && run->def->concurrency == NULL) /* no order to restore: what it may have in hand */
    return HR_MAX_RUN;
  return 8 * (guint64)n;
}

#define DEFAULT_ITEMS 128
#define DEFAULT_BYTES (64u << 20)

void
hr_run_get_bounds (const HrRun *run, guint64 *items, guint64 *bytes)
{
  guint64 own_items = hr_live_uint (&run->element->common.queue_items);
  guint64 own_bytes = hr_live_uint (&run->element->common.queue_bytes);

  *items = own_items > 0                                                  ? own_items
           : run->behind_prefetch && !hr_wrong (HR_WRONG_PREFETCH_WINDOW) ? 1
                                                                          : DEFAULT_ITEMS;
  *bytes = own_bytes > 0 ? own_bytes : DEFAULT_BYTES;
  /* the queues of a mix together hold as much as one: most wait while one member is needed */
  if (own_bytes == 0 && run->def->mixes != NULL)
    *bytes = MAX (DEFAULT_BYTES / run->element->inputs->len, 1);
}

gint64
hr_run_get_next (const HrRun *run)
{
  return run->numbers != NULL ? __atomic_load_n (&run->numbers->next_number, __ATOMIC_RELAXED) : 0;
}

void
hr_run_count_transfer (HrRun *run, const HrTransfer *transfer, gint64 sample)
{
  hr_counter_add (&run->first_byte_time, transfer->first_byte);
  hr_counter_add (&run->body_time, transfer->body);
  hr_counter_add (&run->n_transfers, 1);
  hr_trace_transfer (run, transfer, sample);
}

/* ---- waits ---- */

void
hr_worker_begin_wait (HrWorker *worker, HrWait wait, gpointer what)
{
  if (worker == NULL) /* the owner's thread, in push or pull */
    return;
  if (hr_trace_is_on ())
    worker->waits_since = hr_now ();
  hr_counter_add (&worker->wait_count, 1);
  __atomic_store_n (&worker->wait_for, what, __ATOMIC_RELAXED);
  __atomic_store_n (&worker->wait, wait, __ATOMIC_RELEASE);
}

void
hr_worker_end_wait (HrWorker *worker)
{
  if (worker == NULL)
    return;
  /* what an asynchronous one does meanwhile is told by itself */
  if (hr_trace_is_on () && worker->async == NULL)
    hr_trace_wait (worker->run, (HrWait)worker->wait, worker->waits_since, hr_now ());
  __atomic_store_n (&worker->wait, HR_WAIT_NONE, __ATOMIC_RELEASE);
}

int
hr_run_get_closed_fd (HrRun *run)
{
  int fd;

  hr_mutex_lock (&run->lock);
  if (run->closed_fd < 0) {
    HrBell bell;

    if (hr_bell_init (&bell, NULL)) {
      run->closed_fd = bell.fd;
      if (hr_run_is_closed (run))
        hr_bell_ring (&bell);
    }
  }
  fd = run->closed_fd;
  hr_mutex_unlock (&run->lock);
  return fd;
}

/* whatever its workers wait for: look again */
void
hr_run_wake (HrRun *run)
{
  HrElement *element = run->element;

  for (guint i = 0; i < element->inputs->len; i++)
    hr_link_wake (element->inputs->pdata[i]);
  for (guint i = 0; i < element->outputs->len; i++)
    hr_link_wake (element->outputs->pdata[i]);
  if (run->bell.fd >= 0)
    hr_bell_ring (&run->bell);
  if (run->reader.requests != NULL)
    hr_requests_wake (run->reader.requests);
  hr_mutex_lock (&run->lock);
  if (run->closed_fd >= 0 && hr_run_is_closed (run)) {
    HrBell bell = { run->closed_fd, 0 };

    hr_bell_ring (&bell); /* never hushed: the descriptor stays readable */
  }
  hr_mutex_unlock (&run->lock);
}

void
hr_run_close (HrRun *run)
{
  HrPipeline *pipeline = run->pipeline;

  g_atomic_int_set (&run->closed, 1);
  hr_run_wake (run);
  hr_gate_wake (pipeline->memory);
  if (pipeline->cpus != NULL)
    hr_gate_wake (pipeline->cpus);
  if (run->mix != NULL)
    hr_mix_run_wake (run->mix);
  hr_steps_wake (pipeline->steps);
}

/* ---- threads ---- */

static void
start_clock (HrWorker *worker)
{
  clockid_t clock;

  if (pthread_getcpuclockid (pthread_self (), &clock) == 0)
    __atomic_store_n (&worker->clock, clock, __ATOMIC_RELEASE);
}

static gint64
read_clock (clockid_t clock)
{
  struct timespec time;

  return clock_gettime (clock, &time) == 0 ? time.tv_sec * (gint64)1000000000 + time.tv_nsec : 0;
}

static void
stop_clock (HrWorker *worker)
{
  hr_counter_add (&worker->cpu, read_clock (CLOCK_THREAD_CPUTIME_ID));
  __atomic_store_n (&worker->clock, 0, __ATOMIC_RELEASE);
}

gint64
hr_worker_get_cpu_time (const HrWorker *worker)
{
  clockid_t clock = __atomic_load_n (&worker->clock, __ATOMIC_ACQUIRE);
  /* a thread that leaves just now has written the sum by the time its clock is gone */
  gint64 running = clock != 0 ? read_clock (clock) : 0;

  return running > 0 ? running : hr_counter_get (&worker->cpu);
}

static void *
thread_main (void *data)
{
  HrWorker *worker = data;
  HrRun *run = worker->run;
  char name[16];

  snprintf (name, sizeof name, "%s", run->element->common.name);
  pthread_setname_np (pthread_self (), name);
  hr_worker_self = worker;
  hr_trace_enter (worker->track);
  start_clock (worker);
  hr_log (run->element->common.name, HR_LOG_DEBUG, -1, "worker %u begins", worker->index);
  hr_loop_for (run->def) (worker);
  stop_clock (worker);
  hr_worker_self = NULL;
  hr_trace_enter (NULL);
  hr_log (run->element->common.name, HR_LOG_DEBUG, -1,
          "worker %u leaves after %" G_GUINT64_FORMAT " buffers", worker->index, worker->items);
  hr_run_leave (run);
  return NULL;
}

/* adds @n threads; after start() too, when workers= is raised */
gboolean
hr_run_spawn (HrRun *run, guint n, GError **error)
{
  HrPipeline *pipeline = run->pipeline;

  for (guint i = 0; i < n; i++) {
    HrWorker *worker = hr_worker_new (run, error);
    pthread_t thread;
    int failed = 0;

    if (worker == NULL)
      return FALSE;
    hr_mutex_lock (&run->lock);
    if (!run->leaving) {
      hr_mutex_lock (&pipeline->lock);
      pipeline->n_running++;
      hr_mutex_unlock (&pipeline->lock);
      run->n_alive++;
      failed = pthread_create (&thread, NULL, thread_main, worker);
      if (failed == 0)
        g_array_append_val (run->threads, thread);
      else
        run->n_alive--;
    }
    hr_mutex_unlock (&run->lock);
    if (failed != 0) {
      hr_pipeline_thread_left (pipeline);
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                   "%s \"%s\": cannot start a thread: %s", run->def->name,
                   run->element->common.name, g_strerror (failed));
      return FALSE;
    }
  }
  return TRUE;
}

void
hr_run_leave (HrRun *run)
{
  HrElement *element = run->element;
  gboolean last;

  hr_mutex_lock (&run->lock);
  last = --run->n_alive == 0;
  if (last)
    run->leaving = TRUE;
  hr_mutex_unlock (&run->lock);
  if (last) {
    for (guint i = 0; i < element->outputs->len; i++)
      hr_link_end (element->outputs->pdata[i]);
    for (guint i = 0; i < element->inputs->len; i++)
      hr_link_close (element->inputs->pdata[i]);
  }
  hr_pipeline_thread_left (run->pipeline);
}
