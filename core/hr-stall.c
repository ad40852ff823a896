/* hr-stall.c: HR_STALL=seed: random short sleeps in queue operations */
#include "hr-random.h"
#include "hr-sync.h"
#include <stdlib.h>

gint hr_stall_per_mille = 0;

static guint64 seed;
static gint counter;
static _Thread_local guint64 state;

void
hr_stall_sleep (void)
{
  if (state == 0)
    state = hr_mix64 (seed + (guint)g_atomic_int_add (&counter, 1) * 7919u + 1);
  state = hr_mix64 (state);
  if ((gint)(state % 1000) < hr_stall_per_mille) {
    struct timespec time = { 0, (glong)(state >> 32) % 300000 };

    nanosleep (&time, NULL);
  }
}

/* read once, before any thread of ours can exist */
static void __attribute__ ((constructor)) read_environment (void)
{
  const char *value = getenv ("HR_STALL");

  if (value != NULL && *value != '\0') {
    seed = g_ascii_strtoull (value, NULL, 10);
    hr_stall_per_mille = 30;
  }
}
