/* pace.c: how many requests a server gets at once */
#include "pace.h"

void
hr_pace_init (HrPace *pace)
{
  hr_mutex_init (&pace->lock);
  pace->limit = 0;
  pace->running = 0;
  pace->halved = G_MININT64;
}

void
hr_pace_clear (HrPace *pace)
{
  hr_mutex_clear (&pace->lock);
}

gboolean
hr_pace_enter (HrPace *pace, gboolean anyway)
{
  gboolean may;

  hr_mutex_lock (&pace->lock);
  may = anyway || pace->limit == 0 || pace->running + 1 <= pace->limit;
  if (may)
    pace->running++;
  hr_mutex_unlock (&pace->lock);
  return may;
}

void
hr_pace_leave (HrPace *pace)
{
  hr_mutex_lock (&pace->lock);
  pace->running--;
  hr_mutex_unlock (&pace->lock);
}

void
hr_pace_grow (HrPace *pace, guint most)
{
  hr_mutex_lock (&pace->lock);
  if (pace->limit > 0)
    pace->limit += 1 / pace->limit;
  if (pace->limit >= most)
    pace->limit = 0;
  hr_mutex_unlock (&pace->lock);
}

gboolean
hr_pace_halve (HrPace *pace, gint64 started, gint64 now)
{
  gboolean is_new;

  hr_mutex_lock (&pace->lock);
  is_new = started >= pace->halved;
  if (is_new) {
    gdouble level = pace->limit > 0 ? MIN (pace->limit, pace->running) : pace->running;

    pace->limit = MAX (level / 2, 1);
    pace->halved = now;
  }
  hr_mutex_unlock (&pace->lock);
  return is_new;
}

guint
hr_pace_get_limit (HrPace *pace)
{
  guint limit;

  hr_mutex_lock (&pace->lock);
  limit = (guint)pace->limit;
  hr_mutex_unlock (&pace->lock);
  return limit;
}
