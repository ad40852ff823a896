/* hr-order.c: what the tickets of a link have become leaves in their order */
#include "hr-link.h"
#include "hr-pipeline-private.h"
#include <string.h>

/* slots are found by ticket; there are more of them than tickets out */
static HrLinkSlot *
get_slot (HrLink *link, gint64 ticket)
{
  return &link->slots[ticket & (link->n_slots - 1)];
}

static void
grow_slots (HrLink *link)
{
  guint n = link->n_slots;
  HrLinkSlot *slots;

  while (link->popped - link->emitted > n)
    n *= 2;
  slots = g_new0 (HrLinkSlot, n);
  for (gint64 ticket = link->emitted; ticket < link->emitted + link->n_slots; ticket++)
    slots[ticket & (n - 1)] = *get_slot (link, ticket);
  g_free (link->slots);
  link->slots = slots;
  link->n_slots = n;
}

/* with the lock: the window has moved by @n */
static void
advance (HrLink *link, guint n)
{
  link->emitted += n;
  if (link->ended) /* surplus workers of an each element leave when the last sample has */
    hr_cond_broadcast (&link->parked);
  if (link->n_popping > 1 || link->ended)
    hr_cond_broadcast (&link->not_empty);
  else if (link->n_popping == 1 && link->count > 0)
    hr_cond_signal (&link->not_empty);
}

void
hr_link_settle (HrLink *link, guint n)
{
  hr_mutex_lock (&link->lock);
  advance (link, n);
  hr_mutex_unlock (&link->lock);
}

static void
push_out (HrLink *link, HrBuffer **buffers, guint n)
{
  if (n > 0)
    hr_link_push (link->to->outputs->pdata[0], buffers, n);
}

/* with the lock, which is released while pushing: emits what is ready at the head */
static void
emit_ready (HrLink *link)
{
  HrLinkSlot *slot;

  link->emitting = TRUE;
  while ((slot = get_slot (link, link->emitted))->n_tickets > 0) {
    HrLinkSlot ready = *slot;

    memset (slot, 0, sizeof *slot);
    hr_mutex_unlock (&link->lock);
    push_out (link, ready.buffers, ready.n_buffers);
    g_free (ready.buffers);
    hr_mutex_lock (&link->lock);
    link->slot_bytes -= ready.bytes;
    advance (link, ready.n_tickets);
  }
  link->emitting = FALSE;
}

static void
store (HrLink *link, gint64 ticket, guint n_tickets, HrBuffer **buffers, guint n)
{
  HrLinkSlot *slot;

  if (link->popped - link->emitted > link->n_slots)
    grow_slots (link);
  slot = get_slot (link, ticket);
  slot->buffers = n > 0 ? g_memdup2 (buffers, n * sizeof *buffers) : NULL;
  slot->n_buffers = n;
  slot->n_tickets = n_tickets;
  slot->bytes = 0;
  for (guint i = 0; i < n; i++)
    slot->bytes += hr_buffer_get_n_bytes (buffers[i]);
  link->slot_bytes += slot->bytes;
}

void
hr_link_deposit (HrLink *link, gint64 ticket, guint n_tickets, HrBuffer **buffers, guint n)
{
  hr_stall ();
  if (!link->to->common.ordered) {
    push_out (link, buffers, n);
    hr_link_settle (link, n_tickets);
    return;
  }
  hr_mutex_lock (&link->lock);
  if (ticket == link->emitted && !link->emitting) {
    /* it is our turn: straight on, nothing is stored */
    link->emitting = TRUE;
    hr_mutex_unlock (&link->lock);
    push_out (link, buffers, n);
    hr_mutex_lock (&link->lock);
    advance (link, n_tickets);
    emit_ready (link);
  } else {
    store (link, ticket, n_tickets, buffers, n);
    if (!link->emitting && get_slot (link, link->emitted)->n_tickets > 0)
      emit_ready (link);
  }
  hr_mutex_unlock (&link->lock);
}
