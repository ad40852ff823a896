/* retry-bucket.h: how many further tries a server is asked to bear */
#pragma once
#include "hr-sync.h"
#include "retry.h"

G_BEGIN_DECLS

/* as in the standard mode of the AWS SDKs: a full bucket, what tries take out, what success gives
 */
#define HR_RETRY_BUCKET_TOKENS 500
#define HR_RETRY_COST 5
#define HR_RETRY_COST_TIMEOUT 10
#define HR_RETRY_REFUND 1 /* for a success at the first try; of a later one what it had cost */
/* nanoseconds for one token, so that a server that comes back is found */
#define HR_RETRY_BUCKET_REFILL (200 * G_GINT64_CONSTANT (1000000))

/**
 * HrRetryBucket:
 *
 * Tokens of one server, for all clients of the process. Where most requests succeed it is full;
 * where most fail, it is soon empty, and then there is one further try a second for all of them
 * together.
 */
typedef struct {
  HrMutex lock;
  guint tokens;
  gint64 filled; /* up to when, nanoseconds */
} HrRetryBucket;

void hr_retry_bucket_init (HrRetryBucket *bucket, gint64 now);
void hr_retry_bucket_clear (HrRetryBucket *bucket);
/* FALSE: it has less than @cost, and gives nothing */
gboolean hr_retry_bucket_take (HrRetryBucket *bucket, guint cost, gint64 now);
void hr_retry_bucket_give (HrRetryBucket *bucket, guint tokens);
guint hr_retry_bucket_get (HrRetryBucket *bucket);

/* what the next try takes after one that ended so; nothing for a request that we mended */
guint hr_retry_cost (HrRetry retry, gboolean timed_out);

G_END_DECLS
