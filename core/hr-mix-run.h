/* hr-mix-run.h: the members of a mix find together while it runs: each source tells how many
 * samples it has, and waits until all have; from then on the order is known. Private to the core */
#pragma once
#include "hr-cursor.h"
#include "hr-mix.h"
#include "hr-plan-private.h"
#include "hr-sync.h"

typedef struct _HrMixRun HrMixRun;

/**
 * HrMixTold:
 * @sequence: (nullable) (transfer full): where lengths are known, one for the mix alone
 * @lengths: (nullable) (transfer full) (element-type GBytes): HrLength of the lines of each object
 * @lengths_sum: over these
 */
typedef struct {
  HrMixMember member;
  HrSequence *sequence;
  GPtrArray *lengths;
  guint64 lengths_sum;
} HrMixTold;

/* ---- before it runs ---- */

HrMixRun *hr_mix_run_new (const HrMixRules *rules, guint n_members);
void hr_mix_run_free (HrMixRun *run);
/* (transfer none) */
const HrMixRules *hr_mix_run_get_rules (const HrMixRun *run);
/* @orders: those of a member; the mix goes through the same places */
void hr_mix_run_set_places (HrMixRun *run, const HrPlanOrders *orders);
/* … and begins there. @lengths_sum: of all members, as the checkpoint knows it; 0: it does not */
void hr_mix_run_set_start (HrMixRun *run, const HrPlanStart *start, guint64 lengths_sum);

/* ---- any thread ---- */

/* the last one to tell finds out whether they go together: HR_PARSE_ERROR_CONFLICT, or what
 * hr_plan_check_lengths() says */
gboolean hr_mix_run_tell (HrMixRun *run, guint member, const HrMixTold *what, GError **error);
/* (transfer none): waits until all have told; %NULL: closed. @closed: also NULL: does not wait */
const HrMix *hr_mix_run_wait (HrMixRun *run, const gint *closed, const gint *stopping);
/* members find out lengths one after the other, as each takes all processors and as much memory as
 * the run: waits for its turn. FALSE: closed */
gboolean hr_mix_run_begin_scan (HrMixRun *run, const gint *closed, const gint *stopping);
void hr_mix_run_end_scan (HrMixRun *run);
/* the epoch that it is in; beyond all others: it has ended */
guint64 hr_mix_run_get_epoch (HrMixRun *run);
/* … waits until that is @epoch at least; or closed. @closed: also NULL: does not wait */
void hr_mix_run_wait_epoch (HrMixRun *run, guint64 epoch, const gint *closed, const gint *stopping);
/* a sum over the lengths of all members; 0: not known */
guint64 hr_mix_run_get_lengths_sum (HrMixRun *run);
/* who waits looks again */
void hr_mix_run_wake (HrMixRun *run);
/* the first member that has not told; -1: all have */
gint hr_mix_run_find_missing (HrMixRun *run);

/* ---- any thread, once all have told ---- */

/* (transfer none): of numbered rows, and of steps that are dealt; else NULL */
HrRowPlan *hr_mix_run_get_rows (HrMixRun *run);
HrBalance *hr_mix_run_get_balance (HrMixRun *run);
/* of rows; -1: without end, or too many to say */
gint64 hr_mix_run_get_n_steps (HrMixRun *run);

/* ---- the mix's thread, once all have told ---- */

HrPlanNext hr_mix_run_peek (HrMixRun *run, HrMixPlace *place);
void hr_mix_run_advance (HrMixRun *run);
