/* hr-ref.c: which counter a thread adds to */
#include "hr-ref.h"

__thread guint hr_live_shard;

guint
hr_live_new_shard (void)
{
  static guint next;

  hr_live_shard = __atomic_fetch_add (&next, 1, __ATOMIC_RELAXED) % HR_LIVE_SHARDS + 1;
  return hr_live_shard;
}
