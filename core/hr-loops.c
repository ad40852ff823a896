/* hr-loops.c: what the threads of an element do, by its kind */
#include "hr-async.h"
#include "hr-choice.h"
#include "hr-headspace.h"
#include "hr-tell.h"
#include "hr-trace.h"
#include <poll.h>
#include <string.h>

/* A worker that is alone takes several buffers at once, as many as it can work off in about this
 * time: a hand-over then costs a fraction, and what follows does not wait for long. */
#define RUN_TIME 40000

static HrLink *
input (const HrWorker *worker, guint pad)
{
  return worker->run->element->inputs->pdata[pad];
}

static HrLink *
output (const HrWorker *worker, guint pad)
{
  return worker->run->element->outputs->pdata[pad];
}

/* the buffers a worker has popped and not yet handed on */
typedef struct {
  HrLink *link;
  gint64 ticket; /* of the first that is not handed on */
  guint done;    /* how many of them are finished … */
  guint n_out;   /* … and what they have become: the first of out->buffers */
} Hand;

/* out->flush: what is finished goes on before we wait */
static void
flush_hand (HrOut *out)
{
  Hand *hand = out->flush_data;
  guint n = hand->n_out;

  if (hand->done == 0)
    return;
  hr_link_deposit (hand->link, hand->ticket, hand->done, out->buffers, n);
  if (out->n_buffers > n) /* there may be no array at all */
    memmove (out->buffers, out->buffers + n, (out->n_buffers - n) * sizeof *out->buffers);
  out->n_buffers -= n;
  out->first -= MIN (out->first, n);
  hand->ticket += hand->done;
  hand->done = hand->n_out = 0;
}

static void
count_items (HrWorker *worker, HrBuffer **items, guint n)
{
  gsize bytes = 0;

  for (guint i = 0; i < n; i++)
    bytes += hr_buffer_get_n_bytes (items[i]);
  hr_counter_add (&worker->items, n);
  hr_counter_add (&worker->bytes, bytes);
}

/* time inside functions, without what they waited for */
static void
count_work (HrWorker *worker, gint64 begin, gint64 end)
{
  HrOut *out = worker->out;

  hr_counter_add (&worker->working, end - begin - out->waited - out->waited_cpu - out->waited_in);
  hr_counter_add (&worker->blocked_in, out->waited_in);
  hr_counter_add (&worker->blocked_out, out->waited);
  hr_counter_add (&worker->blocked_cpu, out->waited_cpu);
  out->waited = out->waited_cpu = out->waited_in = 0;
}

static void
work_on_member (HrWorker *worker, HrLink *link, HrMember member)
{
  HrOut *out = worker->out;

  hr_each_member (worker, member.split, member.index);
  if (hr_link_split_done (link, member.split)) {
    gint64 ticket = member.split->ticket;

    hr_each_end (worker, member.split);
    hr_link_deposit (link, ticket, 1, out->buffers, out->n_buffers);
    out->n_buffers = 0;
  }
}

/* a sample of several members, and others who may help */
static void
begin_split (HrWorker *worker, HrLink *link, HrBuffer *in, gint64 ticket)
{
  HrOut *out = worker->out;
  HrSplit *split = hr_each_begin (worker, in);

  if (split == NULL) {
    hr_link_deposit (link, ticket, 1, out->buffers, out->n_buffers);
    out->n_buffers = 0;
    return;
  }
  split->ticket = ticket;
  split->step = hr_link_get_step (link, split->sample, ticket);
  work_on_member (worker, link, hr_link_offer_split (link, split));
}

/* from @begin on; returns the end */
static gint64
work_off (HrWorker *worker, HrBuffer **items, guint n, Hand *hand, gint64 begin)
{
  HrOut *out = worker->out;
  gboolean traced = hr_trace_is_on ();
  gint64 end = 0;

  out->flush = flush_hand;
  out->flush_data = hand;
  for (guint i = 0; i < n; i++) {
    gint64 sample = traced ? items[i]->sample : -1;

    if (hr_run_is_closed (worker->run)) {
      hr_buffer_unref (items[i]);
    } else {
      hr_work_process (worker, items[i]);
      if (hr_wrong (HR_WRONG_PERMIT_IN_PUSH))
        hr_out_take_permit (out);
    }
    hand->done++;
    hand->n_out = out->n_buffers;
    if (traced) {
      end = hr_now ();
      hr_trace_work (worker->run, begin, end, sample, 1);
      begin = end;
    }
  }
  out->flush = NULL;
  return traced ? end : hr_now ();
}

static guint
adapt (guint max, gint64 time, guint n)
{
  gint64 each = MAX (time / n, 1);
  guint fits = (guint)CLAMP (RUN_TIME / each, 1, HR_MAX_RUN);

  /* one cheap buffer is no proof: grow by steps, shrink at once */
  return MIN (fits, max * 2);
}

static void
flush_all (HrOut *out)
{
  hr_link_push (output (out->worker, 0), out->buffers, out->n_buffers);
  out->n_buffers = 0;
}

static void
transform_loop (HrWorker *worker)
{
  HrRun *run = worker->run;
  HrOut *out = worker->out;
  HrLink *link = input (worker, 0);
  HrBuffer *items[HR_MAX_RUN];
  HrMember member;
  Hand hand;
  guint max = 1, n;
  gint64 ticket, begin, end, sample, mark = hr_now ();
  gboolean alone; /* asked once: it may change at any time */

  while (alone = hr_run_get_n_workers (run) == 1,
         (n = hr_link_pop (link, worker->index, alone ? max : 1, items, &ticket, &member)) > 0) {
    begin = hr_now ();
    hr_counter_add (&worker->blocked_in, begin - mark);
    if (n == HR_POP_MEMBER) {
      sample = member.split->sample->sample;
      hr_trace_touch (run, begin, sample);
      work_on_member (worker, link, member);
      mark = hr_now ();
      count_work (worker, begin, mark);
      hr_trace_member (run, begin, mark, sample, member.index);
      continue;
    }
    count_items (worker, items, n);
    if (run->def->each != NULL && !alone && !(items[0]->flags & HR_BUFFER_HOLE)) {
      sample = items[0]->sample;
      hr_trace_touch (run, begin, sample);
      begin_split (worker, link, items[0], ticket);
      mark = hr_now ();
      count_work (worker, begin, mark);
      hr_trace_split (run, begin, mark, sample);
      continue;
    }
    hand = (Hand){ .link = link, .ticket = ticket };
    end = work_off (worker, items, n, &hand, begin);
    count_work (worker, begin, end);
    out->flush_data = &hand;
    flush_hand (out);
    if (hr_wrong (HR_WRONG_PERMIT_IN_PUSH))
      hr_out_give_permit (out);
    mark = hr_now ();
    hr_counter_add (&worker->blocked_out, mark - end);
    max = adapt (max, end - begin, n);
  }
  if (run->def->finish != NULL && !hr_run_is_closed (run)) {
    hr_work_finish (worker);
    flush_all (out);
  }
}

static void
flush_source (HrOut *out)
{
  count_items (out->worker, out->buffers, out->n_buffers);
  for (guint i = 0; i < out->n_buffers; i++)
    out->buffers[i]->sample = -1; /* no sample yet; the link says when it becomes one */
  flush_all (out);
  out->sample = hr_run_get_next (out->worker->run);
}

static void
source_loop (HrWorker *worker)
{
  HrOut *out = worker->out;
  gint64 begin = hr_now (), end;
  HrFlow flow = HR_FLOW_MORE;

  out->flush = flush_source;
  while (flow == HR_FLOW_MORE && !hr_run_is_closed (worker->run)) {
    guint64 items = worker->items;

    flow = hr_work_create (worker);
    end = hr_now ();
    count_work (worker, begin, end);
    hr_trace_work (worker->run, begin, end, -1, (guint)(worker->items - items) + out->n_buffers);
    flush_source (out);
    begin = hr_now ();
    hr_counter_add (&worker->blocked_out, begin - end);
  }
}

/* The bytes of a step count until it has been taken, or two would be there that nobody counts: the
 * one that is being written out, and the next. FALSE: the end. */
static gboolean
take_one (HrWorker *worker, HrBuffer *buffer, gint64 step)
{
  HrRun *run = worker->run;
  guint64 bytes = hr_sink_hold (buffer);
  gboolean within = hr_tell_taken (run, buffer);

  if (!within || ((buffer->flags & HR_BUFFER_HOLE) && !run->def->relays))
    hr_buffer_unref (buffer);
  else {
    bytes = hr_headspace_keep (run, buffer, bytes);
    within = hr_work_consume (worker, buffer);
  }
  if (bytes > 0)
    hr_sink_deliver (run, step, bytes);
  return within;
}

/* FALSE: the sink could not take it */
static gboolean
replay (HrWorker *worker)
{
  HrBuffer *buffer;
  gboolean late, within = TRUE;

  while (within && (buffer = hr_headspace_next (worker->run, 0, &late)) != NULL) {
    gint64 begin = hr_now ();

    within = hr_work_consume (worker, buffer);
    hr_trace_work (worker->run, begin, hr_now (), -1, 0);
    if (within)
      hr_headspace_done (worker->run, hr_now ());
  }
  return within;
}

/* returns its end */
static gint64
trace_step (const HrRun *run, gint64 begin, gint64 step)
{
  gint64 end = hr_now ();

  hr_trace_step (run, begin, end, run->pipeline->first_step + step);
  return end;
}

static void
sink_loop (HrWorker *worker)
{
  HrRun *run = worker->run;
  HrLink *link = input (worker, 0);
  HrBuffer *items[HR_MAX_RUN];
  gint64 ticket, begin, mark = hr_now ();
  gboolean within = TRUE, one = run->gated || run->pipeline->headspace != NULL;
  guint max = 1, n;

  while (!hr_headspace_is_full (run)) {
    hr_sink_ask (run);
    n = hr_link_pop (link, 0, one ? 1 : max, items, &ticket, NULL);
    if (n == 0)
      break;
    begin = hr_now ();
    hr_counter_add (&worker->blocked_in, begin - mark);
    count_items (worker, items, n);
    hr_sink_take (run, items, n, begin);
    mark = begin;
    for (guint i = 0; i < n; i++) {
      gint64 step = run->step - n + i;

      hr_trace_taken (run, items[i], mark);
      /* what is left when the run is stopped, or could not be taken, is not done: who goes on from
       * a checkpoint begins with it */
      within = within && !hr_run_is_closed (run);
      if (within)
        within = take_one (worker, items[i], step);
      else
        hr_buffer_unref (items[i]);
      if (hr_trace_is_on () && i + 1 < n)
        mark = trace_step (run, mark, step);
    }
    hr_sink_deliver (run, run->step - 1, 0);
    hr_link_settle (link, n);
    if (hr_trace_is_on ())
      mark = trace_step (run, mark, run->step - 1);
    else
      mark = hr_now ();
    count_work (worker, begin, mark);
    if (!within)
      break;
    hr_sink_done (run, mark);
    hr_headspace_done (run, mark);
    max = adapt (max, mark - begin, n);
  }
  if (within && replay (worker))
    hr_work_finish (worker);
  hr_sink_leave (run);
}

/* ---- one input, several outputs ---- */

/* Each branch takes what it has room for. We wait only for the one that is furthest behind, so that
 * what one branch waits for (a join) never depends on another's room for later buffers. The last
 * branch gets our own reference: a sample that all have dropped must not live on in here. Clears
 * @wanted. */
static void
push_to_branches (HrWorker *worker, HrBuffer **items, guint64 *wanted, guint n)
{
  guint n_out = worker->run->element->outputs->len;
  HrBuffer *branch[HR_MAX_RUN];
  gboolean last[HR_MAX_RUN];
  guint index[HR_MAX_RUN];

  for (;;) {
    guint behind = 0, first = n;

    for (guint pad = 0; pad < n_out; pad++) {
      guint64 bit = (guint64)1 << pad;
      guint n_branch = 0, n_taken;

      for (guint i = 0; i < n; i++)
        if (wanted[i] & bit) {
          branch[n_branch] = items[i];
          last[n_branch] = wanted[i] == bit;
          index[n_branch++] = i;
        }
      n_taken = hr_link_push_some (output (worker, pad), branch, last, n_branch);
      for (guint k = 0; k < n_taken; k++)
        wanted[index[k]] &= ~bit;
      if (n_taken < n_branch && index[n_taken] < first) {
        first = index[n_taken];
        behind = pad;
      }
    }
    if (first == n)
      return;
    hr_link_wait_room (output (worker, behind));
  }
}

static void
route_loop (HrWorker *worker)
{
  HrRun *run = worker->run;
  HrLink *link = input (worker, 0);
  guint n_out = run->element->outputs->len, n;
  HrBuffer *items[HR_MAX_RUN];
  guint64 wanted[HR_MAX_RUN], pads = n_out < 64 ? ((guint64)1 << n_out) - 1 : G_MAXUINT64;
  gint64 ticket, begin, end, sample, mark = hr_now ();

  while ((n = hr_link_pop (link, 0, HR_MAX_RUN, items, &ticket, NULL)) > 0) {
    begin = hr_now ();
    hr_counter_add (&worker->blocked_in, begin - mark);
    count_items (worker, items, n);
    sample = n == 1 ? items[0]->sample : -1;
    for (guint i = 0; i < n; i++) {
      wanted[i] = run->def->route (run->self, worker->state, items[i], n_out) & pads;
      if (wanted[i] == 0)
        hr_buffer_unref (items[i]);
    }
    end = hr_now ();
    count_work (worker, begin, end);
    hr_trace_work (run, begin, end, sample, n);
    push_to_branches (worker, items, wanted, n);
    hr_link_settle (link, n);
    mark = hr_now ();
    hr_counter_add (&worker->blocked_out, mark - end);
  }
}

/* ---- several inputs, one output ---- */

static HrBuffer *
pop_one (HrWorker *worker, HrLink *link)
{
  HrBuffer *buffer;
  gint64 ticket;

  if (hr_link_pop (link, worker->index, 1, &buffer, &ticket, NULL) == 0)
    return NULL;
  hr_link_settle (link, 1);
  return buffer;
}

static void
join_zip (HrWorker *worker)
{
  HrRun *run = worker->run;
  guint n = run->element->inputs->len;
  g_autofree HrBuffer **in = g_new0 (HrBuffer *, n);
  gint64 begin, end, mark = hr_now ();

  for (;;) {
    guint got = 0;
    HrBuffer *merged;

    while (got < n && (in[got] = pop_one (worker, input (worker, got))) != NULL)
      got++;
    begin = hr_now ();
    hr_counter_add (&worker->blocked_in, begin - mark);
    if (got < n) {
      while (got > 0)
        hr_buffer_unref (in[--got]);
      return;
    }
    count_items (worker, in, n);
    merged = hr_join_merge (worker, in, n);
    end = hr_now ();
    count_work (worker, begin, end);
    hr_trace_work (run, begin, end, -1, n);
    if (merged == NULL || !hr_link_push (output (worker, 0), &merged, 1))
      return;
    mark = hr_now ();
    hr_counter_add (&worker->blocked_out, mark - end);
  }
}

static gboolean
pass_on (HrWorker *worker, HrBuffer *buffer)
{
  gint64 begin = hr_now ();
  gboolean wanted;

  count_items (worker, &buffer, 1);
  hr_trace_work (worker->run, begin, begin, -1, 1);
  wanted = hr_link_push (output (worker, 0), &buffer, 1);
  hr_counter_add (&worker->blocked_out, hr_now () - begin);
  return wanted;
}

static void
join_concat (HrWorker *worker)
{
  for (guint i = 0; i < worker->run->element->inputs->len; i++) {
    HrBuffer *buffer;

    while ((buffer = pop_one (worker, input (worker, i))) != NULL)
      if (!pass_on (worker, buffer))
        return;
  }
}

static void
join_any (HrWorker *worker)
{
  HrRun *run = worker->run;
  guint n = run->element->inputs->len, first = 0;
  struct pollfd fd = { run->bell.fd, POLLIN, 0 };

  for (;;) {
    guint n_ended = 0;
    HrBuffer *buffer = NULL;

    hr_bell_hush (&run->bell);
    if (hr_run_is_closed (run))
      return;
    for (guint i = 0; i < n && buffer == NULL; i++) {
      gboolean ended;

      buffer = hr_link_try_pop (input (worker, (first + i) % n), &ended);
      n_ended += ended;
    }
    first = (first + 1) % n; /* every input gets its turn */
    if (buffer != NULL) {
      if (!pass_on (worker, buffer))
        return;
    } else if (n_ended == n) {
      return;
    } else {
      gint64 begin = hr_now ();

      hr_worker_begin_wait (worker, HR_WAIT_INPUT, NULL);
      poll (&fd, 1, -1);
      hr_worker_end_wait (worker);
      hr_counter_add (&worker->blocked_in, hr_now () - begin);
    }
  }
}

static void
flush_chosen (HrOut *out)
{
  for (guint i = 0; i < out->n_buffers; i++)
    out->buffers[i]->sample = -1;
  flush_all (out);
}

/* the element says which input comes next */
static void
choose_loop (HrWorker *worker)
{
  HrRun *run = worker->run;
  HrOut *out = worker->out;
  gint64 begin, end;
  guint pad, n_accepted = 0; /* since the last choice */

  if (hr_mix_run_wait (run->mix, &run->closed, &run->pipeline->stopping) == NULL)
    return;
  out->flush = flush_chosen;
  while (!hr_run_is_closed (run)) {
    HrBuffer *in;
    HrFlow flow;

    begin = hr_now ();
    flow = hr_work_choose (worker, &pad);
    end = hr_now ();
    count_work (worker, begin, end);
    hr_trace_work (run, begin, end, -1, n_accepted);
    flush_all (out); /* before we wait */
    begin = hr_now ();
    hr_counter_add (&worker->blocked_out, begin - end);
    if (flow != HR_FLOW_MORE)
      return;
    if (pad == HR_NO_INPUT)
      continue;
    in = pop_one (worker, input (worker, pad));
    hr_counter_add (&worker->blocked_in, hr_now () - begin);
    n_accepted = in != NULL;
    if (in != NULL)
      count_items (worker, &in, 1);
    run->def->accept (run->self, worker->state, pad, in);
  }
}

static void
join_loop (HrWorker *worker)
{
  switch (worker->run->def->join (worker->run->self)) {
  case HR_JOIN_ZIP:
    join_zip (worker);
    break;
  case HR_JOIN_CONCAT:
    join_concat (worker);
    break;
  case HR_JOIN_ANY:
    join_any (worker);
    break;
  }
}

HrLoop
hr_loop_for (const HrElementDef *def)
{
  if (def->create != NULL)
    return source_loop;
  if (def->submit != NULL)
    return hr_async_loop;
  if (def->route != NULL)
    return route_loop;
  if (def->merge != NULL)
    return join_loop;
  if (def->choose != NULL)
    return choose_loop;
  if (def->consume != NULL)
    return sink_loop;
  return transform_loop;
}
