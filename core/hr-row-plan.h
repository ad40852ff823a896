/* hr-row-plan.h: all packed rows of an epoch, numbered before a line is read; private to the core.
 * docs/order.md */
#pragma once
#include "hr-cursor.h"
#include "hr-lengths.h"

/* what a packer makes of a block */
typedef struct {
  guint window; /* samples of a block; 0: rows are not numbered */
  gint64 max_tokens;
  gint64 max_image_tokens; /* 0: any */
} HrRowRules;

/* a line of a row, in the order of places. @hole: it makes no sample, nobody need read it */
typedef struct {
  guint64 place;
  guint input; /* of a mix */
  guint object;
  guint64 line;
  gboolean hole;
  gboolean dropped; /* by a policy, not for an error */
  gint kind;        /* HrDataError, -1: nobody said */
} HrRowMember;

/* @lengths: (element-type GBytes) (array length=n): of all sources together, HrLength of the lines
 * of each object. HR_CORE_ERROR_FAILED: there are lines, and none is in a row */
gboolean hr_row_rules_check (const HrRowRules *rules, GPtrArray *const *lengths, guint n,
                             GError **error);

/* Any thread. */
typedef struct _HrRowPlan HrRowPlan;

/**
 * hr_row_plan_new:
 * @measure: of the order; called by one thread at a time
 * @n_lines: places of an epoch
 * @bounds: epochs and limit count; none: what is asked for is not cut
 * @n_readers: that go through the rows, each at its own pace
 *
 * Keeps the blocks and the sums of rows that each reader is at: (n_readers + 1) * (44 bytes a
 * sample of a block + 8 bytes a block of the epoch).
 */
HrRowPlan *hr_row_plan_new (HrMeasureFunc measure, gpointer user, const HrRowRules *rules,
                            guint64 n_lines, const HrBounds *bounds, const HrShard *shard,
                            guint n_readers);
void hr_row_plan_free (HrRowPlan *plan);
/* rows of an epoch. For HrCursor.count */
guint64 hr_row_plan_count (gpointer plan, guint64 epoch);
/* … of one that has been counted, without waiting for others; -1: it has not */
gint64 hr_row_plan_get_count (HrRowPlan *plan, guint64 epoch);
/* steps of a run that begins at row @start of @epoch, behind @first_step others, and takes @most
 * (0: all); -1: without end, or too many to say */
gint64 hr_row_plan_count_steps (HrRowPlan *plan, guint64 epoch, guint64 start, gint64 first_step,
                                guint64 most);
/* @members: (element-type HrRowMember): emptied, then filled. @row: below the count */
void hr_row_plan_get (HrRowPlan *plan, guint64 epoch, guint64 row, GArray *members);
