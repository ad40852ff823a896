/* hr-headspace.h: with headspace=N the first N steps are kept, and given to the trainer once more
 * when everything that stands before the sink has left: what would it do if data cost nothing?
 * Private to the core. docs/headspace.md */
#pragma once
#include "hr-pipeline-private.h"

/* before the run, once it is known which elements are sinks. HR_PARSE_ERROR: this pipeline has no
 * trainer that could be measured so */
gboolean hr_headspace_start (HrPipeline *pipeline, GError **error);
/* after all threads have left: what is kept, and its bytes of the budget */
void hr_headspace_let_go (HrPipeline *pipeline);
void hr_headspace_free (HrHeadspace *headspace);

/* ---- for the sink's thread, or the one that pulls; without headspace= they do nothing ---- */

/* @buffer, of which the sink holds @held bytes of the budget, goes to the trainer: keeps it.
 * Returns how many of them are still the sink's. What does not fit ends the run. */
guint64 hr_headspace_keep (HrRun *sink, HrBuffer *buffer, guint64 held);
/* the trainer is done with what it was given last */
void hr_headspace_done (HrRun *sink, gint64 now);
/* TRUE: nothing more is taken from upstream */
gboolean hr_headspace_is_full (const HrRun *sink);
/* What the trainer gets next of what was kept. Before the first, everything upstream is closed, and
 * waited for. @until: hr_now(); 0: for ever. (transfer full) NULL: the end, or with *late: upstream
 * has not left by then */
HrBuffer *hr_headspace_next (HrRun *sink, gint64 until, gboolean *late);

/* ---- any thread ---- */

/* TRUE: nothing but the trainer is at work */
gboolean hr_headspace_replays (HrPipeline *pipeline);
/* steps of the whole run, of @n without a replay; -1: not known */
gint64 hr_headspace_count_steps (HrPipeline *pipeline, gint64 n);
/* a member `headspace` of the object that is open: null without headspace= */
void hr_headspace_add_stats (HrPipeline *pipeline, JsonBuilder *builder);
/* The numbers of the run are those of the time before the replay: takes those of now, and returns
 * the run's, with what has happened since. With pipeline->live */
char *hr_headspace_keep_stats (HrPipeline *pipeline, char *now);
