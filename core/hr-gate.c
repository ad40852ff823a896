/* hr-gate.c: one lock, a capacity, and a list of waiters sorted by number; exactly the one that is
 * granted is woken */
#include "hr-gate.h"
#include "hr-rules.h"

struct _HrGate {
  HrMutex lock;
  gint ref_count;
  gint n_waiting; /* also read without the lock, see hr_gate_pump() */
  guint64 capacity;
  guint64 used, max_used, max_over, n_forced;
  HrGateForced forced;
  gpointer data;
  HrGateWaiter *first, *last;
};

HrGate *
hr_gate_new (guint64 capacity, HrGateForced forced, gpointer data)
{
  HrGate *gate = g_new0 (HrGate, 1);

  hr_mutex_init (&gate->lock);
  gate->ref_count = 1;
  gate->capacity = capacity;
  gate->forced = forced;
  gate->data = data;
  return gate;
}

HrGate *
hr_gate_ref (HrGate *gate)
{
  g_atomic_int_inc (&gate->ref_count);
  return gate;
}

void
hr_gate_unref (HrGate *gate)
{
  if (g_atomic_int_dec_and_test (&gate->ref_count)) {
    hr_mutex_clear (&gate->lock);
    g_free (gate);
  }
}

void
hr_gate_detach (HrGate *gate)
{
  hr_mutex_lock (&gate->lock);
  gate->forced = NULL;
  hr_mutex_unlock (&gate->lock);
}

static void
unlink_waiter (HrGate *gate, HrGateWaiter *waiter)
{
  if (waiter->previous != NULL)
    waiter->previous->next = waiter->next;
  else
    gate->first = waiter->next;
  if (waiter->next != NULL)
    waiter->next->previous = waiter->previous;
  else
    gate->last = waiter->previous;
  waiter->previous = waiter->next = NULL;
  g_atomic_int_add (&gate->n_waiting, -1);
}

static gboolean
comes_before (const HrGateWaiter *a, const HrGateWaiter *b)
{
  if (a->segment != b->segment)
    return a->segment > b->segment;
  if (a->step != b->step)
    return a->step < b->step;
  if (a->cost != b->cost)
    return a->cost > b->cost;
  return a->number <= b->number;
}

/* sorted from the tail: who comes last mostly has the highest number */
static void
link_waiter (HrGate *gate, HrGateWaiter *waiter)
{
  HrGateWaiter *before = gate->last;

  if (!hr_wrong (HR_WRONG_BUDGET_FIFO) || gate->forced == NULL)
    while (before != NULL && !comes_before (before, waiter))
      before = before->previous;
  waiter->previous = before;
  waiter->next = before != NULL ? before->next : gate->first;
  if (waiter->next != NULL)
    waiter->next->previous = waiter;
  else
    gate->last = waiter;
  if (before != NULL)
    before->next = waiter;
  else
    gate->first = waiter;
  g_atomic_int_inc (&gate->n_waiting);
}

static gboolean
is_forced (HrGate *gate, HrGateWaiter *waiter)
{
  return gate->forced != NULL && gate->forced (gate->data, waiter->number, waiter->segment);
}

static void
grant (HrGate *gate, HrGateWaiter *waiter, gboolean forced)
{
  gate->used += waiter->amount;
  gate->max_used = MAX (gate->max_used, gate->used);
  if (forced) {
    gate->n_forced++;
    gate->max_over = MAX (gate->max_over, gate->used - gate->capacity);
  }
  waiter->granted = TRUE;
  /* the waiter's own: under the lock, for it may be gone right after */
  if (waiter->cond != NULL)
    hr_cond_signal (waiter->cond);
  if (waiter->bell != NULL)
    hr_bell_ring (waiter->bell);
}

static gboolean
fits (HrGate *gate, HrGateWaiter *waiter)
{
  return gate->used <= gate->capacity && waiter->amount <= gate->capacity - gate->used;
}

/* In order: the first of a segment that neither fits nor is forced blocks the rest of it, for the
 * rest have higher numbers. Only the waiters of earlier segments may still be forced. */
static void
pump_locked (HrGate *gate)
{
  HrGateWaiter *waiter = gate->first, *next;
  gboolean blocked = FALSE;

  for (; waiter != NULL; waiter = next) {
    gboolean fit = !blocked && fits (gate, waiter);

    next = waiter->next;
    if (fit || is_forced (gate, waiter)) {
      if (hr_wrong (HR_WRONG_BUDGET_FIFO) && blocked)
        return;
      unlink_waiter (gate, waiter);
      grant (gate, waiter, !fit);
    } else {
      blocked = TRUE;
      if (gate->forced == NULL || waiter->segment == gate->last->segment)
        return;
    }
  }
}

gboolean
hr_gate_request (HrGate *gate, HrGateWaiter *waiter)
{
  gboolean granted;

  hr_stall ();
  hr_mutex_lock (&gate->lock);
  waiter->granted = FALSE;
  link_waiter (gate, waiter);
  pump_locked (gate);
  granted = waiter->granted;
  hr_mutex_unlock (&gate->lock);
  return granted;
}

/* the end of a wait: FALSE if it was in vain, and then it no longer stands in anybody's way */
static gboolean
settle_locked (HrGate *gate, HrGateWaiter *waiter)
{
  if (waiter->granted)
    return TRUE;
  unlink_waiter (gate, waiter);
  pump_locked (gate);
  return FALSE;
}

gboolean
hr_gate_cancel (HrGate *gate, HrGateWaiter *waiter)
{
  gboolean granted;

  hr_mutex_lock (&gate->lock);
  granted = settle_locked (gate, waiter);
  hr_mutex_unlock (&gate->lock);
  return granted;
}

gboolean
hr_gate_is_granted (HrGate *gate, HrGateWaiter *waiter)
{
  gboolean granted;

  hr_mutex_lock (&gate->lock);
  granted = waiter->granted;
  hr_mutex_unlock (&gate->lock);
  return granted;
}

gboolean
hr_gate_wait (HrGate *gate, HrGateWaiter *waiter, const gint *closed, const gint *stopping)
{
  gboolean granted;

  hr_mutex_lock (&gate->lock);
  while (!waiter->granted && !g_atomic_int_get (closed) && !g_atomic_int_get (stopping))
    hr_cond_wait (waiter->cond, &gate->lock);
  granted = settle_locked (gate, waiter);
  hr_mutex_unlock (&gate->lock);
  return granted;
}

void
hr_gate_take (HrGate *gate, guint64 amount)
{
  hr_mutex_lock (&gate->lock);
  gate->used += amount;
  gate->max_used = MAX (gate->max_used, gate->used);
  if (gate->used > gate->capacity)
    gate->max_over = MAX (gate->max_over, gate->used - gate->capacity);
  hr_mutex_unlock (&gate->lock);
}

gboolean
hr_gate_try_take (HrGate *gate, guint64 amount)
{
  gboolean taken;

  hr_mutex_lock (&gate->lock);
  taken =
      gate->first == NULL && gate->used <= gate->capacity && amount <= gate->capacity - gate->used;
  if (taken) {
    gate->used += amount;
    gate->max_used = MAX (gate->max_used, gate->used);
  }
  hr_mutex_unlock (&gate->lock);
  return taken;
}

guint64
hr_gate_get_room (HrGate *gate)
{
  guint64 room;

  hr_mutex_lock (&gate->lock);
  room = gate->used < gate->capacity ? gate->capacity - gate->used : 0;
  hr_mutex_unlock (&gate->lock);
  return room;
}

void
hr_gate_give (HrGate *gate, guint64 amount)
{
  hr_mutex_lock (&gate->lock);
  g_assert (gate->used >= amount);
  gate->used -= amount;
  if (gate->first != NULL)
    pump_locked (gate);
  hr_mutex_unlock (&gate->lock);
}

/* A waiter links itself before it asks what is forced; here what is forced has changed before we
 * ask who waits. So one of both sees the other. */
void
hr_gate_pump (HrGate *gate)
{
  if (g_atomic_int_get (&gate->n_waiting) == 0)
    return;
  hr_mutex_lock (&gate->lock);
  pump_locked (gate);
  hr_mutex_unlock (&gate->lock);
}

void
hr_gate_set_capacity (HrGate *gate, guint64 capacity)
{
  hr_mutex_lock (&gate->lock);
  gate->capacity = capacity;
  pump_locked (gate);
  hr_mutex_unlock (&gate->lock);
}

guint64
hr_gate_get_capacity (HrGate *gate)
{
  guint64 capacity;

  hr_mutex_lock (&gate->lock);
  capacity = gate->capacity;
  hr_mutex_unlock (&gate->lock);
  return capacity;
}

void
hr_gate_wake (HrGate *gate)
{
  hr_mutex_lock (&gate->lock);
  for (HrGateWaiter *waiter = gate->first; waiter != NULL; waiter = waiter->next) {
    if (waiter->cond != NULL)
      hr_cond_signal (waiter->cond);
    if (waiter->bell != NULL)
      hr_bell_ring (waiter->bell);
  }
  hr_mutex_unlock (&gate->lock);
}

void
hr_gate_get_stats (HrGate *gate, HrGateStats *stats)
{
  hr_mutex_lock (&gate->lock);
  stats->used = gate->used;
  stats->max_used = gate->max_used;
  stats->max_over = gate->max_over;
  stats->n_forced = gate->n_forced;
  stats->n_waiting = (guint)gate->n_waiting;
  hr_mutex_unlock (&gate->lock);
}
