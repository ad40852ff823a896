/* hr-plan-private.h: the plan as the pipeline sees it */
#pragma once
#include "hr-balance.h"
#include "hr-cursor.h"
#include "hr-plan.h"
#include "hr-row-plan.h"
#include "hr-sequence.h"

/* what the pipeline says: docs/order.md */
typedef struct {
  HrShard shard;    /* group 0: nobody behind the source reads lines */
  gint64 seed;      /* -1: the source's own */
  gint64 epochs;    /* the same */
  guint64 limit;    /* places of the run; 0: all */
  guint64 steps;    /* of the run; 0: all */
  gboolean lines;   /* all lines are to be known … */
  gboolean lengths; /* … and how long they are */
  gboolean balance; /* each step is dealt by them */
  /* window > 0: places that ranks take are packed rows, which are numbered: the shard's group is 1
   */
  HrRowRules rows;
  guint64 row_steps;   /* of the run, where rows are numbered; 0: all … */
  gint64 first_step;   /* … and those before this run */
  guint64 lengths_sum; /* as the checkpoint knows it; 0: it does not */
  /* each line once, as they lie there, of the objects that it says TRUE of; NULL: the order */
  gboolean (*wants_object) (gpointer user, const HrObject *object);
  gpointer wants_user;
  /* slices are asked for; NULL: the rank's own, one after the other */
  HrUnitFunc next_unit;
  gpointer unit_user;
  /* a member of a mix; NULL: of none */
  struct _HrMixRun *mix;
  guint member;
  const char *name;              /* … for errors: where it lies */
  gint shuffle;                  /* … -1: the source's own */
  const gint *closed, *stopping; /* … what ends waiting for others; NULL: it never waits */
  /* the run goes on from a checkpoint: are these the objects that it knows? */
  gboolean (*check_data) (gpointer user, const HrPlan *plan, GError **error);
  gpointer check_user;
} HrPlanOrders;

/* @orders: NULL: nobody reads lines */
HrPlan *hr_plan_new (const HrPlanOrders *orders);
void hr_plan_free (HrPlan *plan);
/* TRUE: where all lines begin is known */
gboolean hr_plan_is_complete (const HrPlan *plan);
/* (transfer none): of a plan that is complete */
HrSequence *hr_plan_get_sequence (HrPlan *plan);
/* what has been dealt so far, FALSE: nothing is. From any thread */
gboolean hr_plan_get_balance (const HrPlan *plan, HrBalanceSums *sums);
/* of all lines of that object; NULL: not known. (transfer none) */
GBytes *hr_plan_get_lengths (HrPlan *plan, guint object);
/* takes a reference of @lengths, HrLength of each line of that object, which knows its lines.
 * FALSE: these are of something else */
gboolean hr_plan_set_lengths (HrPlan *plan, guint object, GBytes *lengths);
/* all of them are known. FALSE: they are not those of the checkpoint, or no row can be made; of a
 * mix that is for all its members together to say */
gboolean hr_plan_check_lengths (HrPlan *plan, GError **error);
gboolean hr_plan_check_lengths_sum (guint64 sum, guint64 wanted, GError **error);
/* a sum over all lengths; 0: not known. From any thread */
guint64 hr_plan_get_lengths_sum (const HrPlan *plan);
/* numbered rows of an epoch that has begun; -1: not known. From any thread */
gint64 hr_plan_get_n_rows (HrPlan *plan, guint epoch);
guint64 hr_plan_count_lines (const HrPlan *plan, guint object);
/* a sha256 over keys, sizes and identities of all objects; once it has begun. (transfer none) */
const char *hr_plan_get_identity (const HrPlan *plan);
const HrPlanRules *hr_plan_get_rules (const HrPlan *plan);
/* the object whose @uri that is: the same string, not an equal one; NULL: none of its. From any
 * thread. (transfer none) */
const HrObject *hr_plan_find_object (const HrPlan *plan, const GRefString *uri);
/* of the whole run; -1: not known yet, or it has no end. From any thread */
gint64 hr_plan_get_n_steps (const HrPlan *plan);

/* where an interrupted run goes on. `unit` and `byte` say where the line at `first` is found, which
 * is not behind `place`: an object, or a group of blocks; not needed where all lines are known */
typedef struct {
  guint epoch;
  gint64 place;   /* the first of a step */
  gint64 n_lines; /* of an epoch, -1: not known */
  guint64 unit;
  gint64 byte;
  gint64 first;
} HrPlanStart;

/* before hr_plan_begin() */
void hr_plan_set_start (HrPlan *plan, const HrPlanStart *start);
/* of a mix, which asks for nothing of this member now: waits until it has gone on */
void hr_plan_wait (HrPlan *plan);
/* since the run has begun; from any thread */
void hr_plan_get_again (const HrPlan *plan, guint64 *n_lines, guint64 *n_bytes);
/* where a run would go on at that place, which has been read. From any thread */
void hr_plan_find_start (HrPlan *plan, guint epoch, gint64 place, HrPlanStart *start);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrPlan, hr_plan_free)
