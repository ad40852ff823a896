/* hr-balance.h: the samples of a step, dealt to ranks so that none has much more to do than the
 * others; private to the core. docs/order.md */
#pragma once
#include "hr-lengths.h"
#include "hr-shard.h"

/* HR_BALANCE_TOKEN for a token and 1 for each pixel that is given on: what one costs a model. Holes
 * and padding: 0 */
#define HR_BALANCE_TOKEN 4096
guint64 hr_balance_cost (const HrLength *length);

/**
 * hr_balance_deal:
 * @costs: (array length=world*size)
 * @slots: (out) (array length=world*size): rank r gets slots[r * size] to slots[r * size + size -
 * 1], indices of @costs, in rising order
 *
 * The costliest first (of equal ones the lower index), each to the rank that has the least so far
 * (of several the lowest) and room.
 */
void hr_balance_deal (const guint64 *costs, guint world, guint size, guint *slots);

/* what has been dealt so far; sums over steps */
typedef struct {
  guint64 steps;
  gdouble mean;    /* cost of a rank */
  gdouble most;    /* … of the one that has most */
  gdouble without; /* … if each had the samples as they stand */
} HrBalanceSums;

typedef struct _HrBalance HrBalance;

/* @measure: of the order; called by one thread at a time. Keeps the steps that each of @n_readers,
 * which go through the order at their own pace, is at: (n_readers + 1) * 12 bytes a sample of a
 * step. Any thread. */
HrBalance *hr_balance_new (HrMeasureFunc measure, gpointer user, const HrShard *shard,
                           guint n_readers);
void hr_balance_free (HrBalance *balance);
/* from any thread */
void hr_balance_get_sums (HrBalance *balance, HrBalanceSums *sums);

/* what one reader sees of it. @counts: the steps that it goes through are summed up */
typedef struct {
  HrBalance *balance;
  gboolean counts;
  gboolean begun; /* the step it is in: */
  guint64 epoch, step;
} HrDealer;

/* the place that stands at @place, the slots of ranks following each other, when each step has been
 * dealt. @n: places of the epoch with lines. For HrCursor.deal, by one thread a dealer */
guint64 hr_dealer_get_place (gpointer dealer, guint64 epoch, guint64 n, guint64 place);
