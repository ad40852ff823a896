/* stress.c: stress [n=CONFIGURATIONS] [seed=FIRST] [hang=SECONDS] [rule=WRONG] [top='S P4 K' …]
 *
 * Runs n random configurations from a seed on, or the one that top= and other keys describe, n
 * times with growing seeds. Ends at the first fault, with the configuration as this command takes
 * it. */
#include "stress.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define HANG 600
#else
#define HANG 60
#endif

HrWrongRule hr_wrong_rule;

void
hr_rule_broken (const char *what)
{
  stress_die ("%s", what);
}

gint stress_progress;
static Config config;

void
stress_die (const char *format, ...)
{
  static gint once;
  va_list args;
  g_autofree char *text = stress_print_config (&config);

  if (!g_atomic_int_compare_and_exchange (&once, 0, 1))
    for (;;)
      pause (); /* another thread tells already */
  fprintf (stderr, "FAULT: ");
  va_start (args, format);
  vfprintf (stderr, format, args);
  va_end (args);
  fprintf (stderr, "\n  %s\n", text);
  stress_dump (stderr);
  fflush (NULL);
  abort ();
}

/* ---- the watchdog ---- */

static gint64 hang = HANG;

static void *
watch (void *data G_GNUC_UNUSED)
{
  gint last = 0;
  gint64 since = hr_now ();

  for (;;) {
    gint now = g_atomic_int_get (&stress_progress);

    if (now != last)
      since = hr_now ();
    last = now;
    if (hr_now () - since > hang * 1000000000)
      stress_die ("HANG: nothing has happened for %d s", (int)hang);
    g_usleep (100000);
  }
  return NULL;
}

static const char *const rules[] = { "right",           "lowest-undelivered", "lowest-unbatched",
                                     "budget-fifo",     "permit-in-budget",   "permit-in-push",
                                     "async-waits",     "holes-not-counted",  "close-queues-only",
                                     "no-restamp",      "waiter-flag",        "async-window",
                                     "prefetch-window", "held-counts",        "heavy-anywhere",
                                     "number-order",    "rows-are-groups",    "empty-block",
                                     "block-of-rows",   "open-blocks",        NULL };

static gboolean
set_rule (const char *name)
{
  for (guint i = 0; rules[i] != NULL; i++)
    if (strcmp (rules[i], name) == 0) {
      hr_wrong_rule = (HrWrongRule)i;
      return TRUE;
    }
  return FALSE;
}

int
main (int argc, char **argv)
{
  gint64 n = 1, secs = G_MAXINT32, begin = hr_now ();
  guint64 seed = 1;
  gboolean verbose = FALSE;
  struct rlimit none = { 0, 0 };
  GPtrArray *keys = g_ptr_array_new ();
  gboolean made = FALSE;
  pthread_t watchdog;
  gint64 i;

  setrlimit (RLIMIT_CORE, &none);
  for (int k = 1; k < argc; k++) {
    if (g_str_has_prefix (argv[k], "n="))
      n = g_ascii_strtoll (argv[k] + 2, NULL, 10);
    else if (g_str_has_prefix (argv[k], "seed="))
      seed = g_ascii_strtoull (argv[k] + 5, NULL, 10);
    else if (g_str_has_prefix (argv[k], "hang="))
      hang = g_ascii_strtoll (argv[k] + 5, NULL, 10);
    else if (g_str_has_prefix (argv[k], "seconds="))
      secs = g_ascii_strtoll (argv[k] + 8, NULL, 10);
    else if (strcmp (argv[k], "-v") == 0)
      verbose = TRUE;
    else if (g_str_has_prefix (argv[k], "rule=")) {
      if (!set_rule (argv[k] + 5)) {
        fprintf (stderr, "no rule %s\n", argv[k] + 5);
        return 2;
      }
    } else {
      g_ptr_array_add (keys, argv[k]);
      made = made || g_str_has_prefix (argv[k], "top=");
    }
  }
  pthread_create (&watchdog, NULL, watch, NULL);
  for (i = 0; i < n && hr_now () - begin < secs * 1000000000; i++) {
    stress_random_config (&config, seed + (guint64)i);
    if (made)
      stress_plain_config (&config, seed + (guint64)i);
    for (guint k = 0; k < keys->len; k++)
      if (!stress_set_config (&config, keys->pdata[k])) {
        fprintf (stderr, "what is %s?\n", (char *)keys->pdata[k]);
        return 2;
      }
    if (verbose) {
      g_autofree char *text = stress_print_config (&config);

      fprintf (stderr, "%s\n", text);
    }
    stress_run (&config);
  }
  g_ptr_array_unref (keys);
  printf ("ok: %" G_GINT64_FORMAT " configurations from seed %" G_GUINT64_FORMAT "\n", i, seed);
  return 0;
}
