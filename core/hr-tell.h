/* hr-tell.h: skipped samples are counted, told and limited where a sink takes them, in the order in
 * which it does: so what is said is a pure function of the order, and the same with any number of
 * workers; private to the core */
#pragma once
#include "hr-letter.h"
#include "hr-pipeline-private.h"

/* before the run: opens the file of dead letters, if one is wanted */
gboolean hr_tell_start (HrPipeline *pipeline, GError **error);
void hr_tell_clear (HrPipeline *pipeline);

/* a sample has been skipped: it will be told when its hole has come to a sink, or at the end */
void hr_tell_later (HrPipeline *pipeline, HrLetter *letter);
/* the hole was told by the run that this one goes on from */
void hr_tell_never (HrPipeline *pipeline, const HrBuffer *hole);
/* who made it has no hole for it: at once. FALSE: that was one too many, the run has failed */
gboolean hr_tell_now (HrRun *run, const HrBuffer *sample, const GError *error);
/* @sink gets @buffer next. FALSE: with it the bad samples are too many: the run has failed, and it
 * is not delivered */
gboolean hr_tell_taken (HrRun *sink, const HrBuffer *buffer);
/* all have left, and all is taken: what came to no sink is told */
void hr_tell_rest (HrPipeline *pipeline);
/* what has been told outlives a crash of the machine */
gboolean hr_tell_sync (HrPipeline *pipeline, GError **error);

void hr_tally_free (HrTally *tally);
