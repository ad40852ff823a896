/* hr-link-state.c: how a link stands, for those who find out why nothing moves */
#include "hr-link.h"
#include "hr-pipeline-private.h"

/* not even half empty: nobody has woken the producer */
gboolean
hr_link_is_full (HrLink *link)
{
  gboolean full;

  hr_mutex_lock (&link->lock);
  full = link->count > 0 && !link->closed
         && (link->count > link->max_items / 2 || link->bytes > link->max_bytes / 2);
  hr_mutex_unlock (&link->lock);
  return full;
}

gboolean
hr_link_is_empty (HrLink *link)
{
  gboolean empty;

  hr_mutex_lock (&link->lock);
  empty = link->count == 0 && !link->ended && link->splits.length == 0;
  hr_mutex_unlock (&link->lock);
  return empty;
}

gboolean
hr_link_is_filling (HrLink *link)
{
  gboolean filling;

  hr_mutex_lock (&link->lock);
  filling = link->count > 0 && link->count < link->min_fill && !link->ended;
  hr_mutex_unlock (&link->lock);
  return filling;
}

gboolean
hr_link_is_shut (HrLink *link)
{
  gboolean shut;

  hr_mutex_lock (&link->lock);
  shut =
      link->count > 0
      && !hr_link_window_has (link, hr_link_get_item (link, 0), hr_run_get_window (link->to->run));
  hr_mutex_unlock (&link->lock);
  return shut;
}
