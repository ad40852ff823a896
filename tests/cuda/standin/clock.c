/* clock.c: what is known to be done before what */
#include "standin.h"

static void
grow (StandinClock *clock, guint n)
{
  if (n <= clock->n)
    return;
  clock->at = g_renew (guint64, clock->at, n);
  memset (clock->at + clock->n, 0, (n - clock->n) * sizeof (guint64));
  clock->n = n;
}

void
standin_clock_merge (StandinClock *clock, const StandinClock *other)
{
  grow (clock, other->n);
  for (guint i = 0; i < other->n; i++)
    clock->at[i] = MAX (clock->at[i], other->at[i]);
}

void
standin_clock_set (StandinClock *clock, guint stream, guint64 at)
{
  grow (clock, stream + 1);
  clock->at[stream] = MAX (clock->at[stream], at);
}

guint64
standin_clock_get (const StandinClock *clock, guint stream)
{
  return stream < clock->n ? clock->at[stream] : 0;
}

StandinClock
standin_clock_copy (const StandinClock *clock)
{
  StandinClock copy = { NULL, 0 };

  standin_clock_merge (&copy, clock);
  return copy;
}

void
standin_clock_clear (StandinClock *clock)
{
  g_clear_pointer (&clock->at, g_free);
  clock->n = 0;
}
