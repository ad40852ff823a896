/* hr-recent.c: the last minute, second by second */
#include "hr-recent.h"

#define SECOND (1000 * 1000 * G_GINT64_CONSTANT (1000))
#define MOST_TIME (60 * SECOND)
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
hr_recent_add (HrRecent *recent, HrAccount *account)
{
  const HrAccount *last;

  hr_mutex_lock (&recent->lock);
  g_queue_push_head (&recent->accounts, account);
  while (last = g_queue_peek_tail (&recent->accounts), account->at - last->at > MOST_TIME)
    g_free (g_queue_pop_tail (&recent->accounts));
  hr_mutex_unlock (&recent->lock);
}

void
hr_recent_note (HrPipeline *pipeline)
{
  HrRecent *recent = pipeline->recent;
  const HrAccount *last;
  gboolean due;

  if (__atomic_load_n (&pipeline->first_account, __ATOMIC_ACQUIRE) == NULL)
    return;
  hr_mutex_lock (&recent->lock);
  last = g_queue_peek_head (&recent->accounts);
  due = last == NULL || hr_now () - last->at >= SECOND;
  hr_mutex_unlock (&recent->lock);
  if (due)
    hr_recent_add (recent, hr_account_new (pipeline));
}

static gboolean
is_enough (const HrAccount *begin, const HrAccount *now)
{
  return now->at - begin->at >= LEAST_TIME && now->steps - begin->steps >= LEAST_STEPS;
}

HrAccount *
hr_recent_get_begin (HrRecent *recent, const HrAccount *first, const HrAccount *now)
{
  const HrAccount *begin = first;
  HrAccount *copy;

  hr_mutex_lock (&recent->lock);
  for (const GList *item = recent->accounts.head; item != NULL; item = item->next) {
    const HrAccount *account = item->data;

    /* the oldest, if all of the run is older */
    if (is_enough (account, now) || now->at - first->at > MOST_TIME)
      begin = account;
    if (is_enough (account, now))
      break;
  }
  copy = g_memdup2 (begin, sizeof *begin + begin->n * sizeof (HrSum));
  hr_mutex_unlock (&recent->lock);
  return copy;
}
