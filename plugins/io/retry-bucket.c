/* retry-bucket.c: how many further tries a server is asked to bear */
#include "retry-bucket.h"

void
hr_retry_bucket_init (HrRetryBucket *bucket, gint64 now)
{
  hr_mutex_init (&bucket->lock);
  bucket->tokens = HR_RETRY_BUCKET_TOKENS;
  bucket->filled = now;
}

void
hr_retry_bucket_clear (HrRetryBucket *bucket)
{
  hr_mutex_clear (&bucket->lock);
}

static void
refill (HrRetryBucket *bucket, gint64 now)
{
  gint64 tokens = MAX (now - bucket->filled, 0) / HR_RETRY_BUCKET_REFILL;

  bucket->filled += tokens * HR_RETRY_BUCKET_REFILL;
  bucket->tokens = MIN (bucket->tokens + tokens, HR_RETRY_BUCKET_TOKENS);
}

gboolean
hr_retry_bucket_take (HrRetryBucket *bucket, guint cost, gint64 now)
{
  gboolean enough;

  hr_mutex_lock (&bucket->lock);
  refill (bucket, now);
  enough = bucket->tokens >= cost;
  if (enough)
    bucket->tokens -= cost;
  hr_mutex_unlock (&bucket->lock);
  return enough;
}

void
hr_retry_bucket_give (HrRetryBucket *bucket, guint tokens)
{
  hr_mutex_lock (&bucket->lock);
  bucket->tokens = MIN (bucket->tokens + tokens, HR_RETRY_BUCKET_TOKENS);
  hr_mutex_unlock (&bucket->lock);
}

guint
hr_retry_bucket_get (HrRetryBucket *bucket)
{
  guint tokens;

  hr_mutex_lock (&bucket->lock);
  tokens = bucket->tokens;
  hr_mutex_unlock (&bucket->lock);
  return tokens;
}

guint
hr_retry_cost (HrRetry retry, gboolean timed_out)
{
  if (retry == HR_RETRY_NO || retry == HR_RETRY_AT_ONCE)
    return 0;
  return timed_out ? HR_RETRY_COST_TIMEOUT : HR_RETRY_COST;
}
