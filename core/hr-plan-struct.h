/* hr-plan-struct.h: what a plan holds, for the files that make it up */
#pragma once
#include "hr-lengths.h"
#include "hr-mix-run.h"
#include "hr-plan-private.h"
#include "hr-sync.h"

struct _HrPlan {
  HrPlanOrders orders;
  HrPlanRules rules;
  GArray *objects; /* HrObject */
  char *identity;
  gboolean listed;
  GPtrArray *tables;  /* HrLineTable, one an object; NULL: not known */
  GPtrArray *lengths; /* GBytes: HrLength of its lines, one an object; NULL: not known */
  HrSequence *sequence;
  const HrMix *mix; /* once it is known */
  HrDealer dealer;  /* of steps that are dealt; its balance is atomic, and the mix's if there is
                       one */
  HrRowPlan *rows;  /* where they are numbered; atomic, and the mix's if there is one */
  GArray *members;  /* HrRowMember: of the row … */
  guint64 members_epoch, members_row; /* … that is this; valid if there are any */
  guint64 lengths_sum;                /* atomic */
  guint64 found_epoch;                /* of a mix: the last one that has anything for us */

  guint epoch;    /* that reads are made for */
  guint64 n;      /* places of an epoch with lines, as limits leave them; valid if n_known */
  gint64 n_lines; /* of an epoch, -1: not known; atomic */
  gint64 n_steps; /* of the run, -1: not known; atomic */
  gboolean n_known;
  guint64 start;       /* places below it have been delivered by another run */
  HrCursor cursor;     /* complete: the places that come next */
  guint64 unit;        /* the next object, or group of blocks */
  gint64 unit_byte;    /* where to begin in it */
  guint64 n_found;     /* lines found in the epoch */
  guint n_out;         /* reads that have not ended */
  gboolean begun;      /* the epoch: something of it has been asked for */
  gboolean enough;     /* limit or steps are reached before it is known how long an epoch is */
  gboolean padded;     /* the epoch's padding has been given */
  GArray *first_block; /* sums: of the blocks of each object; for shuffle=window */

  guint64 again_lines, again_bytes; /* atomic */

  HrMutex lock;  /* marks */
  GArray *marks; /* HrPlanStart: where lines stand that were found; of the last two epochs */
};

/* hr-plan.c */
gboolean hr_plan_has_all_tables (const HrPlan *plan);

/* hr-plan-epochs.c */
void hr_plan_begin_epoch (HrPlan *plan);
void hr_plan_count_steps (HrPlan *plan);
guint64 hr_plan_cut (const HrPlan *plan, guint64 n);
HrCursorNext hr_plan_peek (HrPlan *plan, guint64 *epoch, guint64 *place);
/* all lines of a row into its members. TRUE: some are ours */
gboolean hr_plan_need_row (HrPlan *plan, guint64 epoch, guint64 row);
gboolean hr_plan_is_ours (const HrPlan *plan, const HrRowMember *member);
void hr_plan_set_length (HrPlan *plan, guint64 n_lines);
void hr_plan_set_n_steps (HrPlan *plan, gint64 n_steps);
