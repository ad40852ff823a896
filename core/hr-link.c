/* hr-link.c: the queue; hr-order.c has the tickets */
#include "hr-choice.h"

HrLink *
hr_link_new (HrElement *from, guint from_pad, HrElement *to, guint to_pad)
{
  HrLink *link = g_new0 (HrLink, 1);

  link->from = from;
  link->from_pad = from_pad;
  link->to = to;
  link->to_pad = to_pad;
  hr_mutex_init (&link->lock);
  hr_cond_init (&link->not_empty);
  hr_cond_init (&link->not_full);
  hr_cond_init (&link->parked);
  link->max_items = 1;
  link->max_bytes = G_MAXUINT64;
  link->group = 1;
  link->n_slots = 16;
  link->slots = g_new0 (HrLinkSlot, link->n_slots);
  link->ring_size = 16;
  link->ring = g_new (HrLinkItem, link->ring_size);
  g_queue_init (&link->splits);
  return link;
}

HrElement *
hr_element_get_next (HrElement *element, guint pad)
{
  if (element->outputs == NULL || pad >= element->outputs->len)
    return NULL;
  return ((HrLink *)element->outputs->pdata[pad])->to;
}

HrElement *
hr_element_get_previous (HrElement *element, guint pad)
{
  if (element->inputs == NULL || pad >= element->inputs->len || element->inputs->pdata[pad] == NULL)
    return NULL;
  return ((HrLink *)element->inputs->pdata[pad])->from;
}

static HrLinkItem
take_first (HrLink *link)
{
  HrLinkItem item = link->ring[link->head];

  link->head = (link->head + 1) & (link->ring_size - 1);
  link->count--;
  link->bytes -= item.bytes;
  return item;
}

void
hr_link_drain (HrLink *link)
{
  while (link->count > 0)
    hr_buffer_unref (take_first (link).buffer);
  for (guint i = 0; i < link->n_slots; i++) {
    for (guint k = 0; k < link->slots[i].n_buffers; k++)
      hr_buffer_unref (link->slots[i].buffers[k]);
    g_clear_pointer (&link->slots[i].buffers, g_free);
    link->slots[i].n_buffers = link->slots[i].n_tickets = 0;
  }
  /* samples that nobody finished, for the run was stopped */
  g_queue_clear_full (&link->splits, (GDestroyNotify)hr_split_free);
}

void
hr_link_free (HrLink *link)
{
  hr_link_drain (link);
  hr_mutex_clear (&link->lock);
  hr_cond_clear (&link->not_empty);
  hr_cond_clear (&link->not_full);
  hr_cond_clear (&link->parked);
  g_free (link->slots);
  g_free (link->ring);
  g_free (link);
}

/* ---- putting in ---- */

static gboolean
has_room (const HrLink *link, gsize bytes)
{
  return link->count == 0
         || (link->count < link->max_items && link->bytes + bytes <= link->max_bytes);
}

static void
grow_ring (HrLink *link)
{
  HrLinkItem *ring = g_new (HrLinkItem, link->ring_size * 2);

  for (guint i = 0; i < link->count; i++)
    ring[i] = *hr_link_get_item (link, i);
  g_free (link->ring);
  link->ring = ring;
  link->ring_size *= 2;
  link->head = 0;
}

/* the buffer is accepted: from here on its number stands. Takes it. */
static void
accept (HrLink *link, HrBuffer *buffer, gsize bytes)
{
  HrPipeline *pipeline = link->from->pipeline;
  HrLinkItem *item;

  if (link->stamp != HR_STAMP_KEEP) {
    gint64 before = buffer->sample;

    buffer = hr_buffer_make_writable (buffer);
    buffer->number = link->next_number;
    link->n_samples += MAX (hr_buffer_get_n_members (buffer), 1);
    __atomic_store_n (&link->next_number, link->next_number + 1, __ATOMIC_RELAXED);
    if (link->stamp == HR_STAMP_SAMPLES) {
      buffer->sample = buffer->number;
      if (buffer->flags & HR_BUFFER_BLOCK_END)
        hr_steps_end_block (pipeline->steps, buffer->number + 1);
    } else if (link->stamp == HR_STAMP_JOINED) {
      buffer->sample = buffer->number * link->group;
    } else if (link->stamp == HR_STAMP_AGAIN && !hr_wrong (HR_WRONG_NO_RESTAMP)) {
      buffer->sample = buffer->number * link->group;
      hr_steps_left (pipeline->steps, link->segment, before);
    }
  }
  if (link->count == link->ring_size)
    grow_ring (link);
  item = hr_link_get_item (link, link->count++);
  item->buffer = buffer;
  item->bytes = bytes;
  item->ticket = link->accepted++;
  if (link->weighs)
    hr_link_weigh (link, item);
  link->bytes += bytes;
  hr_rule_check (link->count == 1
                     || (link->count <= link->max_items && link->bytes <= link->max_bytes),
                 "a queue is over its bounds");
  link->max_count = MAX (link->max_count, link->count);
  link->peak_bytes = MAX (link->peak_bytes, link->bytes);
}

static gboolean
limit_reached (const HrLink *link)
{
  guint64 limit = link->from->pipeline->settings.limit;

  if (link->is_bounded && link->next_number >= link->last_number)
    return TRUE;
  return limit > 0 && hr_link_counts (link) && link->n_samples >= limit;
}

/* Unlocks. Conditions live as long as the pipeline, so they are signalled without the lock. */
static void
unlock_and_tell_consumer (HrLink *link, guint n_new)
{
  guint n_wake =
      link->n_popping > 0 && link->count >= link->min_fill ? MIN (link->n_popping, n_new) : 0;
  gboolean ring = link->to_bell && n_new > 0;

  if (hr_wrong (HR_WRONG_WAITER_FLAG) && n_wake > 0)
    link->n_popping = 0;
  if (ring)
    link->to_bell = FALSE;
  if (n_new > 0) {
    link->count_sum += link->count;
    link->count_n++;
  }
  hr_mutex_unlock (&link->lock);
  if (n_wake == 1)
    hr_cond_signal (&link->not_empty);
  else if (n_wake > 1)
    hr_cond_broadcast (&link->not_empty);
  if (ring)
    hr_bell_ring (&link->to->run->bell);
}

static gboolean
nobody_wants_it (HrLink *link, HrRun *run)
{
  return link->closed || link->ended || hr_run_is_closed (run);
}

/* with the lock; waits until the next sample may be started */
static void
wait_release (HrLink *link, HrRun *run, guint *n_new)
{
  HrPipeline *pipeline = run->pipeline;
  gint64 sample = link->next_number;

  unlock_and_tell_consumer (link, *n_new);
  *n_new = 0;
  hr_worker_begin_wait (hr_worker_self, HR_WAIT_RELEASE, link);
  hr_steps_wait_release (pipeline->steps, sample, &run->closed, &pipeline->stopping);
  hr_worker_end_wait (hr_worker_self);
  hr_mutex_lock (&link->lock);
}

/* with the lock. Who takes out is told, however it waits. */
static void
end_filling (HrLink *link)
{
  if (link->min_fill == 0)
    return;
  link->min_fill = 0;
  hr_cond_broadcast (&link->not_empty);
  if (link->to_bell)
    hr_bell_ring (&link->to->run->bell);
}

static void
wait_room (HrLink *link, guint *n_new)
{
  end_filling (link); /* a prefetchqueue cannot get any fuller */
  /* what has been put in so far must be seen before we sleep */
  if (*n_new > 0) {
    unlock_and_tell_consumer (link, *n_new);
    *n_new = 0;
    hr_mutex_lock (&link->lock);
    return; /* there may be room by now */
  }
  hr_worker_begin_wait (hr_worker_self, HR_WAIT_OUTPUT, link);
  link->n_full++;
  link->n_pushing++;
  hr_cond_wait (&link->not_full, &link->lock);
  link->n_pushing--;
  hr_worker_end_wait (hr_worker_self);
}

/* that was the last sample that anybody wants */
static void
end_at_limit (HrLink *link)
{
  HrElement *from = link->from;

  hr_run_close (from->run);
  if (from->def->pushable) /* it has no thread that would leave */
    hr_link_end (link);
}

gboolean
hr_link_push (HrLink *link, HrBuffer **buffers, guint n)
{
  HrRun *run = link->from->run;
  HrPipeline *pipeline = run->pipeline;
  gboolean wanted = TRUE, enough = FALSE;
  guint n_new = 0, i = 0;

  hr_stall ();
  hr_mutex_lock (&link->lock);
  while (i < n) {
    gsize bytes;

    enough = limit_reached (link);
    if (enough || nobody_wants_it (link, run)) {
      wanted = FALSE;
      break;
    }
    if (link->stamp == HR_STAMP_SAMPLES
        && !hr_steps_may_release (pipeline->steps, link->next_number)) {
      wait_release (link, run, &n_new);
      continue;
    }
    bytes = hr_buffer_get_n_bytes (buffers[i]);
    if (!has_room (link, bytes)) {
      wait_room (link, &n_new);
      continue;
    }
    accept (link, buffers[i++], bytes);
    n_new++;
    enough = limit_reached (link);
  }
  unlock_and_tell_consumer (link, n_new);
  for (; i < n; i++)
    hr_buffer_unref (buffers[i]);
  if (enough)
    end_at_limit (link);
  return wanted;
}

/* with the lock; FALSE: the time has come */
static gboolean
wait_until (HrLink *link, HrRun *run, gsize bytes, gint64 until)
{
  HrSteps *steps = link->from->pipeline->steps;
  gint64 sample = link->next_number;
  gboolean in_time = TRUE;

  if (link->stamp == HR_STAMP_SAMPLES && !hr_steps_may_release (steps, sample)) {
    hr_mutex_unlock (&link->lock);
    hr_steps_wait_release_until (steps, sample, &run->closed, &run->pipeline->stopping, until);
    in_time = hr_now () < until;
    hr_mutex_lock (&link->lock);
    return in_time;
  }
  end_filling (link);
  link->n_pushing++;
  while (in_time && !has_room (link, bytes) && !nobody_wants_it (link, run))
    in_time = hr_cond_wait_until (&link->not_full, &link->lock, until);
  link->n_pushing--;
  return in_time;
}

gboolean
hr_link_push_until (HrLink *link, HrBuffer *buffer, gint64 until, gboolean *wanted)
{
  HrRun *run = link->from->run;
  HrSteps *steps = link->from->pipeline->steps;
  gsize bytes = hr_buffer_get_n_bytes (buffer);
  gboolean enough;

  hr_stall ();
  hr_mutex_lock (&link->lock);
  while (!(enough = limit_reached (link)) && !nobody_wants_it (link, run)
         && ((link->stamp == HR_STAMP_SAMPLES && !hr_steps_may_release (steps, link->next_number))
             || !has_room (link, bytes)))
    if (!wait_until (link, run, bytes, until)) {
      hr_mutex_unlock (&link->lock);
      return FALSE;
    }
  *wanted = !enough && !nobody_wants_it (link, run);
  if (*wanted) {
    accept (link, buffer, bytes);
    enough = limit_reached (link);
  } else {
    hr_buffer_unref (buffer);
  }
  unlock_and_tell_consumer (link, *wanted);
  if (enough)
    end_at_limit (link);
  return TRUE;
}

guint
hr_link_push_some (HrLink *link, HrBuffer **buffers, const gboolean *last, guint n)
{
  guint n_new = 0;

  hr_stall ();
  hr_mutex_lock (&link->lock);
  if (nobody_wants_it (link, link->from->run)) {
    hr_mutex_unlock (&link->lock);
    for (guint i = 0; i < n; i++)
      if (last[i])
        hr_buffer_unref (buffers[i]);
    return n;
  }
  for (; n_new < n; n_new++) {
    gsize bytes = hr_buffer_get_n_bytes (buffers[n_new]);

    if (!has_room (link, bytes)) {
      link->wanted_bytes = bytes;
      break;
    }
    accept (link, last[n_new] ? buffers[n_new] : hr_buffer_ref (buffers[n_new]), bytes);
  }
  unlock_and_tell_consumer (link, n_new);
  return n_new;
}

void
hr_link_wait_room (HrLink *link)
{
  guint none = 0;

  hr_mutex_lock (&link->lock);
  while (!has_room (link, link->wanted_bytes) && !nobody_wants_it (link, link->from->run))
    wait_room (link, &none);
  hr_mutex_unlock (&link->lock);
}

gboolean
hr_link_try_push (HrLink *link, HrBuffer *buffer)
{
  HrRun *run = link->from->run;
  gsize bytes = hr_buffer_get_n_bytes (buffer);

  hr_stall ();
  hr_mutex_lock (&link->lock);
  if (nobody_wants_it (link, run)) {
    hr_mutex_unlock (&link->lock);
    hr_buffer_unref (buffer);
    return TRUE;
  }
  if (!has_room (link, bytes)) {
    end_filling (link);
    link->n_full++;
    link->from_bell = TRUE;
    hr_mutex_unlock (&link->lock);
    return FALSE;
  }
  accept (link, buffer, bytes);
  unlock_and_tell_consumer (link, 1);
  return TRUE;
}

void
hr_link_end (HrLink *link)
{
  gboolean ring;

  hr_mutex_lock (&link->lock);
  link->ended = TRUE;
  ring = link->to_bell;
  link->to_bell = FALSE;
  hr_mutex_unlock (&link->lock);
  hr_cond_broadcast (&link->not_empty);
  hr_cond_broadcast (&link->parked);
  if (ring)
    hr_bell_ring (&link->to->run->bell);
}

/* ---- closing, upstream ---- */

void
hr_link_close (HrLink *link)
{
  HrElement *from = link->from;
  GQueue dropped = G_QUEUE_INIT;
  gboolean all = TRUE;

  hr_mutex_lock (&link->lock);
  if (link->closed) {
    hr_mutex_unlock (&link->lock);
    return;
  }
  link->closed = TRUE;
  while (link->count > 0)
    g_queue_push_tail (&dropped, take_first (link).buffer);
  hr_mutex_unlock (&link->lock);
  hr_cond_broadcast (&link->not_full);
  g_queue_clear_full (&dropped, (GDestroyNotify)hr_buffer_unref);

  for (guint i = 0; i < from->outputs->len && all; i++) {
    HrLink *other = from->outputs->pdata[i];

    hr_mutex_lock (&other->lock);
    all = other->closed;
    hr_mutex_unlock (&other->lock);
  }
  if (!all) /* a branch of a tee goes on */
    return;
  if (!hr_wrong (HR_WRONG_CLOSE_QUEUES_ONLY))
    hr_run_close (from->run);
  for (guint i = 0; i < from->inputs->len; i++)
    hr_link_close (from->inputs->pdata[i]);
}

void
hr_link_end_warm_up (HrLink *link)
{
  hr_mutex_lock (&link->lock);
  end_filling (link);
  hr_mutex_unlock (&link->lock);
}

void
hr_link_wake (HrLink *link)
{
  hr_mutex_lock (&link->lock);
  hr_mutex_unlock (&link->lock);
  hr_cond_broadcast (&link->not_empty);
  hr_cond_broadcast (&link->not_full);
  hr_cond_broadcast (&link->parked);
}

void
hr_link_set_bounds (HrLink *link, guint64 max_items, guint64 max_bytes)
{
  gboolean ring;

  hr_mutex_lock (&link->lock);
  link->max_items = max_items;
  link->max_bytes = max_bytes;
  ring = link->from_bell;
  link->from_bell = FALSE;
  hr_mutex_unlock (&link->lock);
  hr_cond_broadcast (&link->not_full);
  if (ring)
    hr_bell_ring (&link->from->run->bell);
}

/* ---- taking out ---- */

/* Unlocks. A producer that sleeps is woken when the link is half empty, not at each item. */
static void
unlock_and_tell_producer (HrLink *link)
{
  gboolean half = link->count <= link->max_items / 2 && link->bytes <= link->max_bytes / 2;
  guint n_wake = half ? link->n_pushing : 0;
  gboolean ring = half && link->from_bell;

  if (ring)
    link->from_bell = FALSE;
  hr_mutex_unlock (&link->lock);
  if (n_wake == 1)
    hr_cond_signal (&link->not_full);
  else if (n_wake > 1)
    hr_cond_broadcast (&link->not_full);
  if (ring)
    hr_bell_ring (&link->from->run->bell);
}

static gboolean
is_warm (HrLink *link)
{
  if (link->min_fill == 0)
    return TRUE;
  if (link->count < link->min_fill && !link->ended && has_room (link, 0))
    return FALSE;
  link->min_fill = 0; /* only once */
  return TRUE;
}

/* the input has ended, but another worker has just popped a sample whose members can be shared */
static gboolean
may_help (const HrLink *link)
{
  return link->to->def->each != NULL && link->popped != link->emitted;
}

/* with the lock: the item that is chosen and, where it is the first, up to @max in a row */
static guint
take_run (HrLink *link, guint index, guint max, guint64 window, HrBuffer **items, gint64 *ticket)
{
  gsize bytes = 0;
  guint n = 0;

  if (index > 0)
    hr_link_bring_to_front (link, index);
  *ticket = hr_link_get_item (link, 0)->ticket;
  do {
    HrLinkItem item = take_first (link);

    items[n++] = item.buffer;
    bytes += item.bytes;
  } while (n < max && link->count > 0 && hr_link_get_item (link, 0)->ticket == *ticket + n
           && hr_link_window_has (link, hr_link_get_item (link, 0), window)
           && bytes <= link->max_bytes / 4);
  link->popped = MAX (link->popped, *ticket + n);
  return n;
}

guint
hr_link_pop (HrLink *link, guint worker, guint max, HrBuffer **items, gint64 *ticket,
             HrMember *member)
{
  HrRun *run = link->to->run;
  guint n = 0;

  hr_stall ();
  hr_mutex_lock (&link->lock);
  for (;;) {
    guint64 window = hr_run_get_window (run);
    guint n_workers = hr_run_get_n_workers (run), index = 0;
    gboolean may_pop = worker < n_workers && link->count > 0 && is_warm (link)
                       && hr_link_window_has (link, hr_link_get_item (link, 0), window);
    HrSplit *split = NULL;

    if (hr_run_is_closed (run) || (link->ended && link->count == 0 && !may_help (link)))
      break;
    if (link->weighs && n_workers > 1)
      split = hr_link_choose (link, window, may_pop, &index);
    else
      split = g_queue_peek_head (&link->splits);
    if (split != NULL) {
      *member = hr_link_take_member (link, split);
      hr_mutex_unlock (&link->lock);
      return HR_POP_MEMBER;
    }
    /* One too many since workers was lowered. Not before the members are taken: those who stay may
     * all wait for bytes of later samples. */
    if (worker >= n_workers) {
      hr_cond_wait (&link->parked, &link->lock);
      continue;
    }
    if (may_pop) {
      n = take_run (link, index, max, window, items, ticket);
      unlock_and_tell_producer (link);
      return n;
    }
    hr_worker_begin_wait (hr_worker_self, HR_WAIT_INPUT, link);
    link->n_starved += link->count == 0;
    link->n_popping++;
    hr_cond_wait (&link->not_empty, &link->lock);
    if (link->n_popping > 0) /* 0 only when HR_WRONG_WAITER_FLAG forgot us */
      link->n_popping--;
    hr_worker_end_wait (hr_worker_self);
  }
  hr_mutex_unlock (&link->lock);
  return 0;
}

gboolean
hr_link_wait_item (HrLink *link, gint64 until)
{
  gboolean in_time = TRUE;

  hr_mutex_lock (&link->lock);
  while (in_time && !hr_run_is_closed (link->to->run) && !(link->ended && link->count == 0)
         && !(link->count > 0 && is_warm (link))) {
    link->n_popping++;
    in_time = hr_cond_wait_until (&link->not_empty, &link->lock, until);
    if (link->n_popping > 0)
      link->n_popping--;
  }
  hr_mutex_unlock (&link->lock);
  return in_time;
}

HrBuffer *
hr_link_try_pop (HrLink *link, gboolean *ended)
{
  HrBuffer *buffer = NULL;

  hr_stall ();
  hr_mutex_lock (&link->lock);
  *ended = link->ended && link->count == 0;
  if (link->count > 0 && is_warm (link)) {
    buffer = take_first (link).buffer;
    unlock_and_tell_producer (link);
    return buffer;
  }
  link->to_bell = !*ended;
  link->n_starved += !*ended;
  hr_mutex_unlock (&link->lock);
  return NULL;
}
