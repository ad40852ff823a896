/* retry.h: which answers are worth another try, and when */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  HR_RETRY_NO,
  HR_RETRY_SOON,      /* a transport fault, a 5xx: backoff from the short base */
  HR_RETRY_THROTTLED, /* the server asks for less: backoff from the long base */
  HR_RETRY_AT_ONCE    /* the request was mended (region, credentials, clock): no wait */
} HrRetry;

/* nanoseconds */
typedef struct {
  gint64 base;
  gint64 throttled_base;
  gint64 cap;
} HrRetryTimes;

#define HR_RETRY_TIMES ((HrRetryTimes){ 50 * 1000000ll, 1000000000ll, 20 * 1000000000ll })

/* what an HTTP status alone says */
HrRetry hr_retry_for_status (guint status);
/* what a curl code says; @code is a CURLcode */
HrRetry hr_retry_for_curl (int code);

/**
 * hr_retry_delay:
 * @tries: how many there have been, at least 1
 * @retry_after: nanoseconds the server asked for, 0 none
 * @random: in [0, 1)
 *
 * Full jitter: a uniform draw from [0, min (cap, base * 2^(tries-1))), so that clients which failed
 * together do not come back together; not earlier than the server asked for, which is believed
 * up to three times the cap.
 */
gint64 hr_retry_delay (const HrRetryTimes *times, HrRetry retry, guint tries, gint64 retry_after,
                       gdouble random);

/* the value of Retry-After, seconds or a date, as nanoseconds from @now (seconds since 1970); 0 if
 * it is neither */
gint64 hr_retry_after (const char *value, gint64 now);
/* an HTTP date as seconds since 1970, -1 if it is none */
gint64 hr_http_date (const char *value);

G_END_DECLS
