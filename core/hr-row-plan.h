/* hr-row-plan.h: all packed rows of an epoch, numbered before a line is read; private to the core.
 * docs/order.md */
#pragma once
#include "hr-lengths.h"
#include "hr-sequence.h"

/* what a packer makes of a block */
typedef struct {
  guint window; /* samples of a block; 0: rows are not numbered */
  gint64 max_tokens;
  gint64 max_image_tokens; /* 0: any */
} HrRowRules;

/* a line of a row, in the order of places. @hole: it makes no sample, nobody need read it */
typedef struct {
  guint64 place;
  guint object;
  guint64 line;
  gboolean hole;
  gboolean dropped; /* by a policy, not for an error */
  gint kind;        /* HrDataError, -1: nobody said */
} HrRowMember;

/* TRUE: it is in a row */
gboolean hr_row_rules_fit (const HrRowRules *rules, const HrLength *length);

typedef struct _HrRowPlan HrRowPlan;

/* @lengths: (element-type GBytes): HrLength of the lines of each object. Borrows both. Used by one
 * thread */
HrRowPlan *hr_row_plan_new (HrSequence *sequence, GPtrArray *lengths, const HrRowRules *rules);
void hr_row_plan_free (HrRowPlan *plan);
/* rows of the first @n places of an epoch */
guint64 hr_row_plan_count (HrRowPlan *plan, guint64 epoch, guint64 n);
/* @members: (element-type HrRowMember): emptied, then filled. @row: below the count */
void hr_row_plan_get (HrRowPlan *plan, guint64 epoch, guint64 n, guint64 row, GArray *members);
