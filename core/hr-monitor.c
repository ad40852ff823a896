/* hr-monitor.c: a thread that looks now and then whether elements wait for each other in a circle,
 * whether anything moves; that keeps account of the last minute, and finds the settings which are
 * automatic */
#include "hr-auto.h"
#include "hr-deadlock.h"
#include "hr-recent.h"
#include "hr-watchdog.h"

#define INTERVAL 200000000

struct _HrMonitor {
  HrPipeline *pipeline;
  pthread_t thread;
  HrMutex lock;
  HrCond wake;
  gboolean leave;
};

static void *
thread_main (void *data)
{
  struct _HrMonitor *monitor = data;
  /* one thread waits for nobody */
  g_autoptr (HrDeadlock) finder =
      monitor->pipeline->settings.serial ? NULL : hr_deadlock_new (monitor->pipeline);
  g_autoptr (HrWatchdog) watchdog = hr_watchdog_new (monitor->pipeline);

  HrAuto *automatic = monitor->pipeline->automatic;
  gint64 look = hr_now () + INTERVAL, turn = automatic != NULL ? hr_now () : G_MAXINT64;

  pthread_setname_np (pthread_self (), "monitor");
  hr_mutex_lock (&monitor->lock);
  while (!monitor->leave) {
    hr_cond_wait_until (&monitor->wake, &monitor->lock, MIN (look, turn));
    if (monitor->leave)
      break;
    hr_mutex_unlock (&monitor->lock);
    if (hr_now () >= turn)
      turn = hr_auto_look (automatic);
    if (hr_now () >= look) {
      if (finder != NULL)
        hr_deadlock_look (finder);
      hr_watchdog_look (watchdog);
      hr_recent_note (monitor->pipeline);
      look = hr_now () + INTERVAL;
    }
    hr_mutex_lock (&monitor->lock);
  }
  hr_mutex_unlock (&monitor->lock);
  return NULL;
}

gboolean
hr_monitor_start (HrPipeline *pipeline, GError **error)
{
  struct _HrMonitor *monitor = g_new0 (struct _HrMonitor, 1);
  int failed;

  monitor->pipeline = pipeline;
  hr_mutex_init (&monitor->lock);
  hr_cond_init (&monitor->wake);
  failed = pthread_create (&monitor->thread, NULL, thread_main, monitor);
  if (failed != 0) {
    hr_cond_clear (&monitor->wake);
    hr_mutex_clear (&monitor->lock);
    g_free (monitor);
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "cannot start a thread: %s",
                 g_strerror (failed));
    return FALSE;
  }
  pipeline->monitor = monitor;
  return TRUE;
}

void
hr_monitor_join (HrPipeline *pipeline)
{
  struct _HrMonitor *monitor = g_steal_pointer (&pipeline->monitor);

  if (monitor == NULL)
    return;
  hr_mutex_lock (&monitor->lock);
  monitor->leave = TRUE;
  hr_mutex_unlock (&monitor->lock);
  hr_cond_signal (&monitor->wake);
  pthread_join (monitor->thread, NULL);
  hr_cond_clear (&monitor->wake);
  hr_mutex_clear (&monitor->lock);
  g_free (monitor);
}
