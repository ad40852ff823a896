/* hr-random.h: randomness that is a pure function of its key: seed, epoch, sample; never of a
 * thread */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* splitmix64's finalizer: neighbours share nothing. Chain it over the parts of a key:
 * hr_mix64 (hr_mix64 (seed) ^ index). Constants: Steele, Lea, Flood, OOPSLA 2014. */
static inline guint64
hr_mix64 (guint64 key)
{
  key += G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  key = (key ^ (key >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  key = (key ^ (key >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return key ^ (key >> 31);
}

/* uniform in [0, 1), 53 bits */
static inline gdouble
hr_uniform64 (guint64 key)
{
  return (gdouble)(hr_mix64 (key) >> 11) / 9007199254740992.0;
}

G_END_DECLS
