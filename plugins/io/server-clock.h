/* server-clock.h: what time it is for a server, so that signatures are of that time */
#pragma once
#include "http-response.h"

G_BEGIN_DECLS

/* @skew: the server's clock - ours, in seconds */
typedef struct {
  gint64 skew;
} HrServerClock;

gint64 hr_server_clock_now (const HrServerClock *clock);
/* what the answer's Date says, or -1 */
gint64 hr_server_clock_read (const HrHttpResponse *response);
/* TRUE: so far from what the answer says that servers refuse what is signed by it */
gboolean hr_server_clock_is_off (const HrServerClock *clock, const HrHttpResponse *response);
/* TRUE: it was another time until now, by more than answers take */
gboolean hr_server_clock_set (HrServerClock *clock, gint64 server_time);

G_END_DECLS
