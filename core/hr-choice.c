/* hr-choice.c */
#include "hr-choice.h"

/* Rows of a packer are steps of their own, blocks have no numbers yet. */
gint64
hr_link_get_step (HrLink *link, const HrBuffer *buffer, gint64 ticket)
{
  HrRun *run = link->to->run;

  if (hr_wrong (HR_WRONG_NUMBER_ORDER) || link->raw || run->packer > 0)
    return ticket;
  return hr_steps_get_begin (run->pipeline->steps, buffer->sample);
}

/* of a sample with members: the costliest's */
static guint64
cost_of (const HrRun *run, const HrBuffer *buffer)
{
  HrList *list;
  guint64 most = 0;

  if (run->def->each == NULL)
    return run->def->cost (run->self, buffer, 0);
  list = hr_buffer_get_list (buffer, run->def->each_field);
  for (guint i = 0; list != NULL && i < hr_list_get_length (list); i++)
    most = MAX (most, run->def->cost (run->self, buffer, i));
  return most;
}

void
hr_link_weigh (HrLink *link, HrLinkItem *item)
{
  const HrRun *run = link->to->run;

  item->step = hr_link_get_step (link, item->buffer, item->ticket);
  item->cost = item->buffer->flags & HR_BUFFER_HOLE ? 0 : cost_of (run, item->buffer);
}

void
hr_link_bring_to_front (HrLink *link, guint index)
{
  HrLinkItem item = *hr_link_get_item (link, index);

  for (; index > 0; index--)
    *hr_link_get_item (link, index) = *hr_link_get_item (link, index - 1);
  *hr_link_get_item (link, 0) = item;
}

/* ---- samples that several workers share ---- */

static guint
next_member (const HrSplit *split)
{
  return split->order != NULL ? split->order[split->next] : split->next;
}

static gint
compare_tickets (gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  const HrSplit *left = a, *right = b;

  return left->ticket < right->ticket ? -1 : left->ticket > right->ticket;
}

static gint
compare_costs (gconstpointer a, gconstpointer b, gpointer data)
{
  const HrSplit *split = data;
  guint left = *(const guint *)a, right = *(const guint *)b;

  if (split->costs[left] != split->costs[right])
    return split->costs[left] > split->costs[right] ? -1 : 1;
  return left < right ? -1 : 1;
}

static void
order_members (HrSplit *split)
{
  split->order = g_new (guint, split->n);
  for (guint i = 0; i < split->n; i++)
    split->order[i] = i;
  g_qsort_with_data (split->order, (gint)split->n, sizeof *split->order, compare_costs, split);
}

HrMember
hr_link_take_member (HrLink *link, HrSplit *split)
{
  HrMember member = { split, next_member (split) };

  if (++split->next == split->n)
    g_queue_remove (&link->splits, split);
  return member;
}

/* Who popped the sample has its first member; the others are taken by whoever has nothing to do,
 * before it pops: they belong to an earlier step, or cost more. The earliest sample first, whoever
 * was offered first: so the worker that popped it never waits for the bytes of a later step before
 * all its members are in hands. */
HrMember
hr_link_offer_split (HrLink *link, HrSplit *split)
{
  HrMember member;

  if (split->costs != NULL && split->n > 1 && !hr_wrong (HR_WRONG_NUMBER_ORDER))
    order_members (split);
  hr_mutex_lock (&link->lock);
  g_queue_insert_sorted (&link->splits, split, compare_tickets, NULL);
  member = hr_link_take_member (link, split);
  hr_mutex_unlock (&link->lock);
  if (split->n > 1)
    hr_cond_broadcast (&link->not_empty);
  return member;
}

gboolean
hr_link_split_done (HrLink *link, HrSplit *split)
{
  gboolean last;

  hr_mutex_lock (&link->lock);
  last = --split->left == 0;
  hr_mutex_unlock (&link->lock);
  return last;
}

/* ---- the choice ---- */

/* Members of popped samples belong to the earliest step that has something to start, or all of that
 * step is in hands. Of equals, what has been begun goes on, then the lowest number. Once half of
 * the bytes that the window may hold are there, the lowest number: so that something can leave. */
HrSplit *
hr_link_choose (HrLink *link, guint64 window, gboolean may_pop, guint *index)
{
  HrSplit *first = g_queue_peek_head (&link->splits), *best = NULL;
  guint64 most = 0;
  gboolean any = FALSE;
  gint64 step;

  if (first == NULL && !may_pop)
    return NULL;
  if (link->slot_bytes > link->max_bytes / 2)
    return first != NULL && (!may_pop || first->ticket < hr_link_get_item (link, 0)->ticket) ? first
                                                                                             : NULL;
  step = first != NULL ? first->step : hr_link_get_item (link, 0)->step;
  for (GList *l = link->splits.head; l != NULL && ((HrSplit *)l->data)->step == step; l = l->next) {
    HrSplit *split = l->data;
    guint64 cost = split->costs != NULL ? split->costs[next_member (split)] : 0;

    if (!any || cost > most) {
      any = TRUE;
      most = cost;
      best = split;
    }
  }
  for (guint i = 0; may_pop && i < link->count; i++) {
    const HrLinkItem *item = hr_link_get_item (link, i);

    if (item->step != step || !hr_link_window_has (link, item, window))
      break;
    if (!any || item->cost > most) {
      any = TRUE;
      most = item->cost;
      best = NULL;
      *index = i;
    }
  }
  return best;
}
