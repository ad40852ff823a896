/* hr-recent.c: the last minute, second by second */
#include "hr-recent.h"

#define SECOND (1000 * 1000 * G_GINT64_CONSTANT (1000))
#define MOST 60
#define LEAST_TIME (10 * SECOND)
#define LEAST_STEPS 20

struct _HrRecent {
  HrMutex lock;
  GQueue accounts; /* HrAccount, the newest first */
};

HrRecent *
hr_recent_new (void)
{
  HrRecent *recent = g_new0 (HrRecent, 1);

  hr_mutex_init (&recent->lock);
  g_queue_init (&recent->accounts);
  return recent;
}

void
hr_recent_free (HrRecent *recent)
{
  g_queue_clear_full (&recent->accounts, g_free);
  hr_mutex_clear (&recent->lock);
  g_free (recent);
}

void
hr_recent_note (HrPipeline *pipeline)
{
  HrRecent *recent = pipeline->recent;
  const HrAccount *last;
  HrAccount *account;
  gboolean due;

  if (__atomic_load_n (&pipeline->first_account, __ATOMIC_ACQUIRE) == NULL)
    return;
  hr_mutex_lock (&recent->lock);
  last = g_queue_peek_head (&recent->accounts);
  due = last == NULL || hr_now () - last->at >= SECOND;
  hr_mutex_unlock (&recent->lock);
  if (!due)
    return;
  account = hr_account_new (pipeline);
  hr_mutex_lock (&recent->lock);
  g_queue_push_head (&recent->accounts, account);
  if (g_queue_get_length (&recent->accounts) > MOST)
    g_free (g_queue_pop_tail (&recent->accounts));
  hr_mutex_unlock (&recent->lock);
}

static gboolean
is_enough (const HrAccount *begin, const HrAccount *now)
{
  return now->at - begin->at >= LEAST_TIME && now->steps - begin->steps >= LEAST_STEPS;
}

HrAccount *
hr_recent_get_begin (HrPipeline *pipeline, const HrAccount *now)
{
  HrRecent *recent = pipeline->recent;
  const HrAccount *first = __atomic_load_n (&pipeline->first_account, __ATOMIC_ACQUIRE);
  const HrAccount *begin = NULL;

  if (first == NULL)
    return NULL;
  hr_mutex_lock (&recent->lock);
  for (const GList *item = recent->accounts.head; item != NULL; item = item->next) {
    begin = item->data;
    if (is_enough (begin, now))
      break;
  }
  if (begin == NULL || (!is_enough (begin, now) && g_queue_get_length (&recent->accounts) < MOST))
    begin = first;
  begin = g_memdup2 (begin, sizeof *begin + begin->n * sizeof (HrSum));
  hr_mutex_unlock (&recent->lock);
  return (HrAccount *)begin;
}
