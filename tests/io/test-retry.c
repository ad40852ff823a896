/* test-retry.c: what is tried again, and when */
#include "retry.h"
#include <curl/curl.h>

#define SECOND G_GINT64_CONSTANT (1000000000)
#define MSEC (SECOND / 1000)

static void
test_kinds (void)
{
  static const guint soon[] = { 408, 500, 502, 504 }, throttled[] = { 429, 503 },
                     never[] = { 200, 206, 301, 400, 401, 403, 404, 410, 412, 416, 501 };

  for (guint i = 0; i < G_N_ELEMENTS (soon); i++)
    g_assert_cmpint (hr_retry_for_status (soon[i]), ==, HR_RETRY_SOON);
  for (guint i = 0; i < G_N_ELEMENTS (throttled); i++)
    g_assert_cmpint (hr_retry_for_status (throttled[i]), ==, HR_RETRY_THROTTLED);
  for (guint i = 0; i < G_N_ELEMENTS (never); i++)
    g_assert_cmpint (hr_retry_for_status (never[i]), ==, HR_RETRY_NO);
  g_assert_cmpint (hr_retry_for_curl (CURLE_PARTIAL_FILE), ==, HR_RETRY_SOON);
  g_assert_cmpint (hr_retry_for_curl (CURLE_COULDNT_RESOLVE_HOST), ==, HR_RETRY_SOON);
  g_assert_cmpint (hr_retry_for_curl (CURLE_PEER_FAILED_VERIFICATION), ==, HR_RETRY_NO);
  g_assert_cmpint (hr_retry_for_curl (CURLE_URL_MALFORMAT), ==, HR_RETRY_NO);
}

static void
test_delay (void)
{
  HrRetryTimes times = HR_RETRY_TIMES;

  /* the limit doubles from the base to the cap; the draw is anywhere below it */
  for (guint tries = 1; tries < 40; tries++) {
    gint64 soon = MIN (50 * MSEC << MIN (tries - 1, 20), 20 * SECOND);
    gint64 throttled = MIN (SECOND << MIN (tries - 1, 20), 20 * SECOND);

    g_assert_cmpint (hr_retry_delay (&times, HR_RETRY_SOON, tries, 0, 0.0), ==, 0);
    g_assert_cmpint (hr_retry_delay (&times, HR_RETRY_SOON, tries, 0, 0.5), ==, soon / 2);
    g_assert_cmpint (hr_retry_delay (&times, HR_RETRY_THROTTLED, tries, 0, 0.5), ==, throttled / 2);
  }
  g_assert_cmpint (hr_retry_delay (&times, HR_RETRY_AT_ONCE, 3, 5 * SECOND, 0.9), ==, 0);
  /* not before the server says, and not in a year */
  g_assert_cmpint (hr_retry_delay (&times, HR_RETRY_SOON, 1, 7 * SECOND, 0.9), ==, 7 * SECOND);
  g_assert_cmpint (hr_retry_delay (&times, HR_RETRY_SOON, 1, 86400 * SECOND, 0.9), ==, 60 * SECOND);
}

static void
test_after (void)
{
  gint64 now = 1767323045; /* Fri, 02 Jan 2026 03:04:05 GMT */

  g_assert_cmpint (hr_retry_after (NULL, now), ==, 0);
  g_assert_cmpint (hr_retry_after ("3", now), ==, 3 * SECOND);
  g_assert_cmpint (hr_retry_after ("0", now), ==, 0);
  g_assert_cmpint (hr_retry_after ("soon", now), ==, 0);
  g_assert_cmpint (hr_retry_after ("-5", now), ==, 0);
  g_assert_cmpint (hr_retry_after ("99999999999999999999", now), ==, 0);
  g_assert_cmpint (hr_retry_after ("Fri, 02 Jan 2026 03:04:15 GMT", now), ==, 10 * SECOND);
  g_assert_cmpint (hr_retry_after ("Fri, 02 Jan 2026 03:04:00 GMT", now), ==, 0);
  g_assert_cmpint (hr_http_date ("Fri, 02 Jan 2026 03:04:05 GMT"), ==, now);
  g_assert_cmpint (hr_http_date ("nonsense"), ==, -1);
  g_assert_cmpint (hr_http_date ("Sun, 06 Nov 1954 08:49:37 GMT"), ==, -1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/retry/kinds", test_kinds);
  g_test_add_func ("/io/retry/delay", test_delay);
  g_test_add_func ("/io/retry/after", test_after);
  return g_test_run ();
}
