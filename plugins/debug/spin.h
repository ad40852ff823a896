/* spin.h: computing that is good for nothing but taking time */
#pragma once
#include <glib.h>
#include <time.h>

/* uses a processor for @nanoseconds of this thread's own time: when others have it, it takes longer
 */
static inline void
spin (gint64 nanoseconds)
{
  struct timespec t;
  gint64 end;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  end = t.tv_sec * G_GINT64_CONSTANT (1000000000) + t.tv_nsec + nanoseconds;
  do
    clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  while (t.tv_sec * G_GINT64_CONSTANT (1000000000) + t.tv_nsec < end);
}
