/* hr-ref.h: reference counts and counts of what is alive; private to the core */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* A thread that raises a count has a reference already, so nothing needs ordering here. */
static inline void
hr_ref_inc (gint *count)
{
  __atomic_fetch_add (count, 1, __ATOMIC_RELAXED);
}

/* TRUE: that was the last. Who sees 1 is the only owner, and nobody can raise it: the cheap way. */
static inline gboolean
hr_ref_dec (gint *count)
{
  return __atomic_load_n (count, __ATOMIC_ACQUIRE) == 1
         || __atomic_fetch_sub (count, 1, __ATOMIC_ACQ_REL) == 1;
}

/* acquire: what former owners wrote is there */
static inline gboolean
hr_ref_is_one (const gint *count)
{
  return __atomic_load_n (count, __ATOMIC_ACQUIRE) == 1;
}

#define HR_LIVE_SHARDS 16

/* Objects are made in one thread and die in another: one counter would travel between their caches
 * with every object. So each thread adds to one of several, and who asks adds them up. */
typedef struct {
  struct {
    gint n;
    char pad[60];
  } shards[HR_LIVE_SHARDS];
} HrLive;

/* which shard this thread adds to */
guint hr_live_new_shard (void);
extern __thread guint hr_live_shard;

static inline void
hr_live_add (HrLive *live, gint n)
{
  guint shard = hr_live_shard;

  if (G_UNLIKELY (shard == 0))
    shard = hr_live_new_shard ();
  __atomic_fetch_add (&live->shards[shard - 1].n, n, __ATOMIC_RELAXED);
}

static inline gint
hr_live_sum (const HrLive *live)
{
  gint sum = 0;

  for (guint i = 0; i < HR_LIVE_SHARDS; i++)
    sum += __atomic_load_n (&live->shards[i].n, __ATOMIC_RELAXED);
  return sum;
}

G_END_DECLS
