/* test-retry-bucket.c: what tries take out, what success and time put in */
#include "retry-bucket.h"

#define SECOND G_GINT64_CONSTANT (1000000000)

static void
test_cost (void)
{
  g_assert_cmpuint (hr_retry_cost (HR_RETRY_SOON, FALSE), ==, 5);
  g_assert_cmpuint (hr_retry_cost (HR_RETRY_THROTTLED, FALSE), ==, 5);
  g_assert_cmpuint (hr_retry_cost (HR_RETRY_SOON, TRUE), ==, 10);
  /* a signature for another region is no fault of the server's */
  g_assert_cmpuint (hr_retry_cost (HR_RETRY_AT_ONCE, FALSE), ==, 0);
  g_assert_cmpuint (hr_retry_cost (HR_RETRY_NO, TRUE), ==, 0);
}

static void
test_take (void)
{
  HrRetryBucket bucket;
  guint taken = 0;

  hr_retry_bucket_init (&bucket, 7);
  while (hr_retry_bucket_take (&bucket, HR_RETRY_COST, 7))
    taken++;
  g_assert_cmpuint (taken, ==, 100);
  /* nothing is taken where there is not enough */
  hr_retry_bucket_give (&bucket, 4);
  g_assert_false (hr_retry_bucket_take (&bucket, 5, 7));
  g_assert_cmpuint (hr_retry_bucket_get (&bucket), ==, 4);
  hr_retry_bucket_give (&bucket, HR_RETRY_REFUND);
  g_assert_true (hr_retry_bucket_take (&bucket, 5, 7));
  /* it does not overflow */
  for (guint i = 0; i < 1000; i++)
    hr_retry_bucket_give (&bucket, 10);
  g_assert_cmpuint (hr_retry_bucket_get (&bucket), ==, HR_RETRY_BUCKET_TOKENS);
  hr_retry_bucket_clear (&bucket);
}

/* one further try a second, however often it is asked */
static void
test_refill (void)
{
  HrRetryBucket bucket;
  guint taken = 0;

  hr_retry_bucket_init (&bucket, 0);
  while (hr_retry_bucket_take (&bucket, 5, 0))
    ;
  for (gint64 now = 0; now < 60 * SECOND; now += SECOND / 100 + 1)
    taken += hr_retry_bucket_take (&bucket, 5, now);
  g_assert_cmpuint (taken, >=, 58);
  g_assert_cmpuint (taken, <=, 60);
  /* a clock that stands still, or an hour of peace */
  g_assert_false (hr_retry_bucket_take (&bucket, 500, 60 * SECOND));
  g_assert_true (hr_retry_bucket_take (&bucket, 500, 3600 * SECOND));
  g_assert_false (hr_retry_bucket_take (&bucket, 1, 3600 * SECOND));
  hr_retry_bucket_clear (&bucket);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/retry-bucket/cost", test_cost);
  g_test_add_func ("/io/retry-bucket/take", test_take);
  g_test_add_func ("/io/retry-bucket/refill", test_refill);
  return g_test_run ();
}
