/* hr-mix-run.h: the members of a mix find together while it runs: each source tells how many
 * samples it has, and waits until all have; from then on the order is known. Private to the core */
#pragma once
#include "hr-cursor.h"
#include "hr-mix.h"
#include "hr-plan-private.h"
#include "hr-sync.h"

typedef struct _HrMixRun HrMixRun;

/* ---- before it runs ---- */

HrMixRun *hr_mix_run_new (const HrMixRules *rules, guint n_members);
void hr_mix_run_free (HrMixRun *run);
/* (transfer none) */
const HrMixRules *hr_mix_run_get_rules (const HrMixRun *run);
/* @orders: those of a member; the mix goes through the same places */
void hr_mix_run_set_places (HrMixRun *run, const HrPlanOrders *orders);
/* … and begins there */
void hr_mix_run_set_start (HrMixRun *run, const HrPlanStart *start);

/* ---- any thread ---- */

/* the last one to tell finds out whether they go together: HR_PARSE_ERROR_CONFLICT */
gboolean hr_mix_run_tell (HrMixRun *run, guint member, const HrMixMember *what, GError **error);
/* (transfer none) (nullable): not before all have told */
const HrMix *hr_mix_run_get (HrMixRun *run);
/* … waits for it; %NULL: closed. @closed: also NULL: does not wait */
const HrMix *hr_mix_run_wait (HrMixRun *run, const gint *closed, const gint *stopping);
/* who waits looks again */
void hr_mix_run_wake (HrMixRun *run);
/* the first member that has not told; -1: all have */
gint hr_mix_run_find_missing (HrMixRun *run);

/* ---- the mix's thread, once all have told ---- */

HrPlanNext hr_mix_run_peek (HrMixRun *run, HrMixPlace *place);
void hr_mix_run_advance (HrMixRun *run);
