/* hr-async.c */
#include "hr-async.h"
#include "hr-trace.h"
#include "hr-watchdog.h"

typedef enum {
  TICKET_PARKED, /* not submitted: its bytes are not granted yet */
  TICKET_FLYING,
  TICKET_GROWING, /* wants more bytes, and its element stands still */
  TICKET_DONE
} TicketState;

/* A place in the window, from submit to emission. */
struct _HrTicket {
  HrAsync *async;
  TicketState state;
  HrBuffer *buffer; /* the input until it is submitted, the result when it is done */
  HrBuffer like;    /* its numbers */
  HrOrigin *origin;
  gpointer data;
  gint64 submitted; /* traced: when that was */
  HrGateWaiter waiter;
  guint64 granted;   /* bytes granted and not given to memory yet */
  guint64 allocated; /* bytes given to memory */
};

struct _HrAsync {
  HrWorker *worker;
  GQueue tickets;     /* HrTicket, in the order of the input */
  GPtrArray *waiting; /* those of them that wait for bytes */
  guint n_flying;
  guint n_taken; /* traced: buffers, since the last slice of work */
};

HrAsync *
hr_async_new (HrWorker *worker)
{
  HrAsync *async = g_new0 (HrAsync, 1);

  async->worker = worker;
  async->waiting = g_ptr_array_new ();
  return async;
}

static HrGate *
gate (const HrAsync *async)
{
  return async->worker->run->pipeline->memory;
}

static void
give_back (HrTicket *ticket)
{
  if (ticket->granted > 0)
    hr_gate_give (gate (ticket->async), ticket->granted);
  ticket->granted = 0;
}

static void
ticket_free (HrTicket *ticket)
{
  give_back (ticket);
  g_clear_pointer (&ticket->buffer, hr_buffer_unref);
  g_clear_pointer (&ticket->origin, hr_origin_unref);
  g_free (ticket);
}

void
hr_async_free (HrAsync *async)
{
  g_queue_clear_full (&async->tickets, (GDestroyNotify)ticket_free);
  g_ptr_array_unref (async->waiting);
  g_free (async);
}

/* ---- what the element calls ---- */

/* @done: FALSE: the run ends before it */
static void
trace (const HrTicket *ticket, gboolean done)
{
  if (hr_trace_is_on ())
    hr_trace_ticket (ticket->async->worker->run, ticket->submitted, hr_now (), ticket->like.sample,
                     done);
}

/* @error: NULL: left out on purpose */
static void
become_hole (HrTicket *ticket, GError *error)
{
  HrRun *run = ticket->async->worker->run;
  GError *why = NULL;

  if (error == NULL)
    hr_fault_drop (run, ticket->origin, NULL);
  else if (!hr_fault (run, ticket->origin, NULL, -1, error, &why))
    return; /* the run ends; nobody will look at the ticket */
  g_clear_pointer (&ticket->buffer, hr_buffer_unref);
  ticket->buffer = hr_buffer_new ();
  hr_buffer_set_origin (ticket->buffer,
                        ticket->origin != NULL ? hr_origin_ref (ticket->origin) : NULL);
  hr_buffer_make_hole (ticket->buffer, why);
  ticket->buffer->flags |= error == NULL ? HR_BUFFER_DROPPED : 0;
}

void
hr_ticket_done (HrTicket *ticket, HrBuffer *buffer, GError *error)
{
  HrAsync *async = ticket->async;

  g_return_if_fail (ticket->state == TICKET_FLYING || ticket->state == TICKET_GROWING);
  if (ticket->state == TICKET_GROWING) { /* it failed while it stood still */
    g_ptr_array_remove_fast (async->waiting, ticket);
    if (hr_gate_cancel (gate (async), &ticket->waiter))
      ticket->granted += ticket->waiter.amount;
  }
  ticket->buffer = buffer;
  if (error != NULL || buffer == NULL)
    become_hole (ticket, error);
  if (ticket->buffer != NULL) {
    buffer = ticket->buffer = hr_buffer_make_writable (ticket->buffer);
    hr_buffer_stand_for (buffer, &ticket->like);
  }
  give_back (ticket);
  trace (ticket, TRUE);
  ticket->state = TICKET_DONE;
  async->n_flying--;
}

/* TRUE: granted; FALSE: the bell will ring */
static gboolean
ask_for (HrTicket *ticket, guint64 bytes)
{
  HrAsync *async = ticket->async;
  HrRun *run = async->worker->run;

  ticket->waiter = (HrGateWaiter){
    .number = run->packer > 0            ? ticket->like.number
              : ticket->like.sample >= 0 ? ticket->like.sample
                                         : hr_run_get_next (run),
    .segment = run->segment,
    .amount = bytes,
    .bell = &run->bell,
  };
  if (hr_gate_request (gate (async), &ticket->waiter)) {
    ticket->granted += bytes;
    return TRUE;
  }
  hr_pipeline_end_warm_up (run->pipeline);
  g_ptr_array_add (async->waiting, ticket);
  return FALSE;
}

gboolean
hr_ticket_reserve (HrTicket *ticket, guint64 bytes)
{
  guint64 have = ticket->granted + ticket->allocated;

  g_return_val_if_fail (ticket->state == TICKET_FLYING, FALSE);
  if (bytes <= have) {
    guint64 spare = MIN (have - bytes, ticket->granted);

    if (spare > 0) {
      ticket->granted -= spare;
      hr_gate_give (gate (ticket->async), spare);
    }
    return TRUE;
  }
  if (ask_for (ticket, bytes - have))
    return TRUE;
  ticket->state = TICKET_GROWING;
  return FALSE;
}

HrMemory *
hr_ticket_alloc (HrTicket *ticket, const char *field, gsize size, GError **error)
{
  HrAsync *async = ticket->async;
  HrAllocator *allocator = hr_run_get_allocator (async->worker->run, field);
  HrMemory *memory = hr_memory_new_from_allocator (allocator, size, error);

  if (memory == NULL)
    return NULL;
  if (size > ticket->granted) { /* not announced by hr_ticket_reserve(): counted, not waited for */
    hr_gate_take (gate (async), size - ticket->granted);
    ticket->granted = size;
  }
  ticket->granted -= size;
  ticket->allocated += size;
  hr_reserve_granted (gate (async), memory, ticket->like.sample);
  return memory;
}

gint64
hr_ticket_get_number (const HrTicket *ticket)
{
  return ticket->like.sample;
}

void
hr_ticket_set_data (HrTicket *ticket, gpointer data)
{
  ticket->data = data;
}

/**
 * hr_ticket_get_data: (skip)
 *
 * Gives what hr_ticket_set_data() was given.
 *
 * Returns: (nullable): the element's own
 */
gpointer
hr_ticket_get_data (const HrTicket *ticket)
{
  return ticket->data;
}

gboolean
hr_ticket_is_serial (const HrTicket *ticket)
{
  return ticket->async->worker->run->pipeline->settings.serial;
}

void
hr_ticket_count_transfer (HrTicket *ticket, const HrTransfer *transfer)
{
  hr_run_count_transfer (ticket->async->worker->run, transfer, ticket->like.sample);
}

/* ---- the thread ---- */

static void
submit (HrTicket *ticket)
{
  HrAsync *async = ticket->async;
  HrRun *run = async->worker->run;

  ticket->state = TICKET_FLYING;
  if (hr_trace_is_on ())
    ticket->submitted = hr_now ();
  async->n_flying++;
  run->def->submit (run->self, async->worker->state, g_steal_pointer (&ticket->buffer), ticket);
}

static HrTicket *
admit (HrAsync *async, HrBuffer *in)
{
  HrWorker *worker = async->worker;
  HrRun *run = worker->run;
  HrTicket *ticket = g_new0 (HrTicket, 1);
  HrOrigin *origin = hr_buffer_get_origin (in);
  guint64 bytes = 0;

  ticket->async = async;
  ticket->buffer = in;
  hr_buffer_stand_for (&ticket->like, in);
  ticket->origin = origin != NULL ? hr_origin_ref (origin) : NULL;
  g_queue_push_tail (&async->tickets, ticket);
  if (in->flags & HR_BUFFER_HOLE) {
    ticket->state = TICKET_DONE;
    return ticket;
  }
  if (run->def->estimate != NULL)
    bytes = run->def->estimate (run->self, worker->state, in);
  if (bytes == 0 || ask_for (ticket, bytes))
    submit (ticket);
  return ticket;
}

static void
go_on (HrAsync *async)
{
  HrRun *run = async->worker->run;

  for (guint i = 0; i < async->waiting->len;) {
    HrTicket *ticket = async->waiting->pdata[i];
    guint left;

    if (!hr_gate_is_granted (gate (async), &ticket->waiter)) {
      i++;
      continue;
    }
    g_ptr_array_remove_index (async->waiting, i);
    left = async->waiting->len;
    ticket->granted += ticket->waiter.amount;
    if (ticket->state == TICKET_GROWING) {
      ticket->state = TICKET_FLYING;
      run->def->resume (run->self, async->worker->state, ticket);
    } else {
      submit (ticket);
    }
    if (async->waiting->len
        < left) /* it has finished others that waited, and the places have changed */
      i = 0;
  }
}

/* hands on what is done, in order or as it comes; TRUE: something stands before a full link */
static gboolean
emit (HrAsync *async)
{
  HrRun *run = async->worker->run;
  HrLink *out = run->element->outputs->pdata[0];
  gboolean ordered = run->element->common.ordered;

  for (GList *l = async->tickets.head, *next; l != NULL; l = next) {
    HrTicket *ticket = l->data;

    next = l->next;
    if (ticket->state != TICKET_DONE) {
      if (ordered)
        return FALSE;
      continue;
    }
    if (ticket->buffer != NULL) {
      gsize bytes = hr_buffer_get_n_bytes (ticket->buffer);

      if (!hr_link_try_push (out, ticket->buffer))
        return TRUE;
      ticket->buffer = NULL;
      hr_counter_add (&async->worker->bytes, bytes);
    }
    g_queue_delete_link (&async->tickets, l);
    ticket_free (ticket);
  }
  return FALSE;
}

/* HR_WRONG_ASYNC_WAITS: what it must never do */
static void
wait_for_bytes (HrAsync *async)
{
  while (async->waiting->len > 0 && !hr_run_is_closed (async->worker->run)) {
    g_usleep (100);
    go_on (async);
  }
}

static gboolean
take_in (HrAsync *async)
{
  HrRun *run = async->worker->run;
  HrLink *link = run->element->inputs->pdata[0];
  gboolean ended = FALSE;

  while (async->tickets.length < hr_run_get_window (run)) {
    HrBuffer *in = hr_link_try_pop (link, &ended);

    if (in == NULL)
      break;
    hr_counter_add (&async->worker->items, 1);
    async->n_taken++;
    admit (async, in);
    if (hr_wrong (HR_WRONG_ASYNC_WAITS))
      wait_for_bytes (async);
  }
  return ended;
}

static void
poll_once (HrAsync *async, gboolean blocked)
{
  HrWorker *worker = async->worker;
  HrRun *run = worker->run;
  HrWait wait = async->n_flying > 0       ? HR_WAIT_OUTSIDE
                : async->waiting->len > 0 ? HR_WAIT_BUDGET
                : blocked                 ? HR_WAIT_OUTPUT
                                          : HR_WAIT_INPUT;
  gint64 begin = hr_now (), end;
  GError *error = NULL;

  hr_worker_begin_wait (worker, wait,
                        blocked ? run->element->outputs->pdata[0] : run->element->inputs->pdata[0]);
  if (!run->def->poll (run->self, worker->state, run->bell.fd, -1, &error))
    hr_pipeline_fail (run->pipeline, run->element, error);
  hr_worker_end_wait (worker);
  hr_worker_answer (worker);
  end = hr_now ();
  if (run->pipeline->settings.serial) /* counted by who asked for it */
    return;
  if (async->n_flying > 0) { /* in flight: that is its work */
    hr_counter_add (&worker->working, end - begin);
    hr_trace_work (run, begin, end, -1, async->n_taken);
    async->n_taken = 0;
  } else {
    hr_counter_add (blocked || async->waiting->len > 0 ? &worker->blocked_out : &worker->blocked_in,
                    end - begin);
    hr_trace_wait (run, wait, begin, end);
  }
}

static void
cancel_waits (HrAsync *async)
{
  for (guint i = 0; i < async->waiting->len; i++) {
    HrTicket *ticket = async->waiting->pdata[i];

    if (hr_gate_cancel (gate (async), &ticket->waiter))
      ticket->granted += ticket->waiter.amount;
  }
  g_ptr_array_set_size (async->waiting, 0);
}

void
hr_async_loop (HrWorker *worker)
{
  HrAsync *async = worker->async;
  HrRun *run = worker->run;

  for (;;) {
    gboolean ended, blocked;
    guint before;

    hr_bell_hush (&run->bell);
    if (hr_run_is_closed (run))
      break;
    go_on (async);
    do { /* what has left makes room for more, which may be done at once (holes) */
      ended = take_in (async);
      before = async->tickets.length;
      blocked = emit (async);
    } while (async->tickets.length < before && !ended);
    if (ended && async->tickets.length == 0)
      break;
    poll_once (async, blocked);
  }
  for (GList *l = async->tickets.head; l != NULL; l = l->next) {
    const HrTicket *ticket = l->data;

    if (ticket->state == TICKET_FLYING || ticket->state == TICKET_GROWING)
      trace (ticket, FALSE);
  }
  cancel_waits (async);
}

void
hr_async_one (HrWorker *worker, HrBuffer *in)
{
  HrAsync *async = worker->async;
  HrRun *run = worker->run;
  HrTicket *ticket = admit (async, in);

  while (ticket->state != TICKET_DONE) {
    hr_bell_hush (&run->bell);
    if (hr_run_is_closed (run))
      break;
    go_on (async);
    if (ticket->state != TICKET_DONE)
      poll_once (async, FALSE);
  }
  cancel_waits (async);
  if (ticket->state == TICKET_DONE) {
    if (ticket->buffer != NULL)
      hr_out_add (worker->out, g_steal_pointer (&ticket->buffer));
    g_queue_remove (&async->tickets, ticket);
    ticket_free (ticket);
  }
}
