/* vips-start.c: libvips, started when it is needed, without a trace in the host
 *
 * vips_init() writes VIPSHOME into the environment, if it is not there. setenv() may move the array
 * of the environment, and free the old one, while another thread reads it: libcurl, for one, asks
 * for proxies with each connection. So it finds the variable: in a copy of the array that stands in
 * for the program's own meanwhile, and is never freed, as others may still be reading. */
#include "vips-start.h"
#include <pthread.h>
#include <unistd.h>
#include <vips/vips.h>
#include "hr-error.h"
#include "hr-log.h"

/* The PNG loader tells what is wrong by a warning only, in the thread that decodes. */
static __thread char last_warning[HR_VIPS_WARNING];

static char *start_error;

static void
log_warning (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
  (void)domain, (void)level, (void)data;
  g_strlcpy (last_warning, message, sizeof last_warning);
  hr_log ("imagedecode", HR_LOG_INFO, -1, "libvips: %s", message);
}

/* for ever: others may be reading it when we are done */
static char **
add_home (char **old)
{
  static char home[] = "VIPSHOME=" HR_VIPS_PREFIX;
  guint n = g_strv_length (old);
  char **copy = g_new (char *, n + 2);

  for (guint i = 0; i < n; i++)
    copy[i] = old[i];
  copy[n] = home;
  copy[n + 1] = NULL;
  return copy;
}

static void
start_at_home (void)
{
  static char **with_home;
  char **old = __atomic_load_n (&environ, __ATOMIC_ACQUIRE), **ours;
  gboolean have = g_getenv ("VIPSHOME") != NULL;

  if (!have && old != NULL) {
    ours = with_home = add_home (old);
    __atomic_store_n (&environ, ours, __ATOMIC_RELEASE);
  }
  if (vips_init ("headrace") != 0)
    start_error = vips_error_buffer_copy ();
  /* unless the program itself has set something meanwhile, and with that has an array of its own */
  if (!have && old != NULL) {
    ours = with_home;
    __atomic_compare_exchange_n (&environ, &ours, old, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
}

static void
start_once (void)
{
  if (g_type_from_name ("VipsForeignLoad") != 0)
    return;
  start_at_home ();
  if (start_error != NULL)
    return;
  vips_cache_set_max (0);
  vips_concurrency_set (1);
  vips_block_untrusted_set (TRUE);
  g_log_set_handler ("VIPS", G_LOG_LEVEL_WARNING | G_LOG_FLAG_FATAL, log_warning, NULL);
}

gboolean
hr_vips_start (GError **error)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  pthread_once (&once, start_once);
  if (start_error == NULL)
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "libvips does not start: %s",
               start_error);
  return FALSE;
}

char *
hr_vips_last_warning (void)
{
  return last_warning;
}
