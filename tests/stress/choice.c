/* choice.c: does a worker start the costliest sample of the earliest step? The rule, written down
 * once more. */
#include "hr-each.h"
#include "stress.h"

enum { SALT_COST = 200 };

/* one of eight is not known */
guint64
stress_cost (gconstpointer self, const HrBuffer *in, guint index)
{
  Node *node = ((const Self *)self)->node;
  guint64 hash = stress_hash (node, stress_get (in).id * 8 + index, SALT_COST);

  return hash % 8 == 0 ? 0 : hash % 1000;
}

/* What this thread's next pop must have seen: it was accepted, and in the window, before. */
static _Thread_local gint64 accepted, emitted;

static gboolean
is_checked (const Node *node)
{
  const Config *config = node->run->config;

  /* a window that is full of bytes lets only its head start */
  return node->costs && !node->run->serial && node->arg > 1 && config->live == 0
         && config->bytes == 0 && node->bytes == 0 && !node->run->many_sources;
}

void
stress_note_choice (const Node *node)
{
  HrLink *link;

  if (!is_checked (node))
    return;
  link = node->element->inputs->pdata[0];
  hr_mutex_lock (&link->lock);
  accepted = link->accepted;
  emitted = link->emitted;
  hr_mutex_unlock (&link->lock);
}

static gboolean
is_same_step (const Node *node, gint64 a, gint64 b)
{
  const Run *run = node->run;
  gboolean same = TRUE;

  if (node->packer != NULL) /* each row is a step */
    return a == b;
  if (run->marked != NULL)
    return stress_row_of (run, a) == stress_row_of (run, b);
  for (int i = 0; i < run->n_sinks; i++)
    same = same && a / run->groups[i] == b / run->groups[i];
  return same;
}

static guint64
most_of (const Node *node, const HrBuffer *sample)
{
  HrList *list = node->kind == 'E' ? hr_buffer_get_list (sample, "m") : NULL;
  guint n = node->kind == 'E' ? list == NULL ? 0 : hr_list_get_length (list) : 1;
  guint64 most = 0;

  for (guint i = 0; i < n; i++)
    most = MAX (most, stress_cost (node->element->self, sample, i));
  return most;
}

void
stress_check_choice (const Node *node, const HrBuffer *in, guint index)
{
  HrLink *link = node->element->inputs->pdata[0];
  gint64 sample = in->sample;
  guint64 cost;

  if (!is_checked (node))
    return;
  cost = stress_cost (node->element->self, in, index);
  hr_mutex_lock (&link->lock);
  for (guint i = 0; i < link->count; i++) {
    const HrLinkItem *item = hr_link_get_item (link, i);
    gboolean hole = (item->buffer->flags & HR_BUFFER_HOLE) != 0;

    if (item->ticket >= accepted || item->ticket - emitted >= stress_window (node))
      break;
    if (item->buffer->sample < sample && !is_same_step (node, item->buffer->sample, sample))
      stress_die ("sample %" G_GINT64_FORMAT " is started, and %" G_GINT64_FORMAT
                  " of an earlier step is not",
                  sample, item->buffer->sample);
    if (!hole && is_same_step (node, item->buffer->sample, sample)
        && most_of (node, item->buffer) > cost)
      stress_die ("sample %" G_GINT64_FORMAT " is started, and %" G_GINT64_FORMAT
                  " of the same step costs more",
                  sample, item->buffer->sample);
  }
  hr_mutex_unlock (&link->lock);
}
