/* server-clock.c */
#include "server-clock.h"
#include "retry.h"

/* answers take a while, and say whole seconds */
#define CLOSE_SECONDS 30
/* AWS takes what is 15 minutes off, its security token service what is 5 */
#define OFF_SECONDS (5 * 60)

gint64
hr_server_clock_now (const HrServerClock *clock)
{
  return g_get_real_time () / G_USEC_PER_SEC + clock->skew;
}

gint64
hr_server_clock_read (const HrHttpResponse *response)
{
  gint64 date = response->date ? hr_http_date (response->date) : -1;

  return date > 0 ? date : -1;
}

gboolean
hr_server_clock_is_off (const HrServerClock *clock, const HrHttpResponse *response)
{
  gint64 date = hr_server_clock_read (response);

  return date > 0 && ABS (date - hr_server_clock_now (clock)) > OFF_SECONDS;
}

gboolean
hr_server_clock_set (HrServerClock *clock, gint64 server_time)
{
  gint64 skew = server_time - g_get_real_time () / G_USEC_PER_SEC;

  if (ABS (skew - clock->skew) <= CLOSE_SECONDS)
    return FALSE;
  clock->skew = skew;
  return TRUE;
}
