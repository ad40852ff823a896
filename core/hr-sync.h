/* hr-sync.h: locks and conditions. pthread's, because ThreadSanitizer sees into them; conditions
 * run on the monotonic clock. HR_STALL=seed makes some operations sleep a little, to shake the
 * order of threads in tests. */
#pragma once
#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <time.h>

typedef pthread_mutex_t HrMutex;
typedef pthread_cond_t HrCond;

static inline void
hr_mutex_init (HrMutex *mutex)
{
  pthread_mutex_init (mutex, NULL);
}

static inline void
hr_mutex_clear (HrMutex *mutex)
{
  pthread_mutex_destroy (mutex);
}

static inline void
hr_mutex_lock (HrMutex *mutex)
{
  pthread_mutex_lock (mutex);
}

static inline void
hr_mutex_unlock (HrMutex *mutex)
{
  pthread_mutex_unlock (mutex);
}

static inline void
hr_cond_init (HrCond *cond)
{
  pthread_condattr_t attributes;

  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (cond, &attributes);
  pthread_condattr_destroy (&attributes);
}

static inline void
hr_cond_clear (HrCond *cond)
{
  pthread_cond_destroy (cond);
}

static inline void
hr_cond_wait (HrCond *cond, HrMutex *mutex)
{
  pthread_cond_wait (cond, mutex);
}

/* until hr_now() is @until; FALSE: the time has come */
static inline gboolean
hr_cond_wait_until (HrCond *cond, HrMutex *mutex, gint64 until)
{
  struct timespec time = { until / 1000000000, until % 1000000000 };

  return pthread_cond_timedwait (cond, mutex, &time) != ETIMEDOUT;
}

static inline void
hr_cond_signal (HrCond *cond)
{
  pthread_cond_signal (cond);
}

static inline void
hr_cond_broadcast (HrCond *cond)
{
  pthread_cond_broadcast (cond);
}

/* nanoseconds of the monotonic clock */
static inline gint64
hr_now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (gint64)time.tv_sec * 1000000000 + time.tv_nsec;
}

extern gint hr_stall_per_mille; /* hr-stall.c; 0: off */
void hr_stall_sleep (void);

/* a place where another thread might well come first */
static inline void
hr_stall (void)
{
  if (G_UNLIKELY (hr_stall_per_mille != 0))
    hr_stall_sleep ();
}
