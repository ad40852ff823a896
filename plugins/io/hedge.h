/* hedge.h: when a request that is late is worth a second one */
#pragma once
#include "hr-sync.h"

G_BEGIN_DECLS

#define HR_HEDGE_BINS 128

/**
 * HrHedge:
 *
 * How long a server takes for its first byte, and when that is so long that a second request is
 * likely to be answered sooner: after the time within which 95 of 100 answers begin. As many
 * requests as one in twenty get a second one, never more. For all clients of the process.
 */
typedef struct {
  HrMutex lock;
  guint bins[HR_HEDGE_BINS]; /* of the logarithm of the time */
  guint n;
  gint64 limit; /* nanoseconds; as it is known from them */
  guint64 requests;
  guint64 hedges;
} HrHedge;

void hr_hedge_init (HrHedge *hedge);
void hr_hedge_clear (HrHedge *hedge);
/* an answer began after so many nanoseconds */
void hr_hedge_note (HrHedge *hedge, gint64 first_byte);
/* after how many nanoseconds an answer is late; G_MAXINT64: that is not known */
gint64 hr_hedge_get_limit (HrHedge *hedge);
/* a request was sent */
void hr_hedge_count (HrHedge *hedge);
/* one more second request is within what is allowed, and is counted */
gboolean hr_hedge_take (HrHedge *hedge);

G_END_DECLS
