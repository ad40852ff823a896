/* hr-checkpoint.h: where a run is, and whether another may go on there; private to the core.
 * docs/resume.md */
#pragma once
#include "hr-pipeline-private.h"

/* raised when a document of before could be read wrongly */
#define HR_CHECKPOINT_FORMAT 1

/* the position behind @buffer, which @sink has got; FALSE: nobody knows its place */
gboolean hr_position_behind (const HrRun *sink, const HrBuffer *buffer, HrPosition *position);

/* a sink is done with a step: tells it, if that is wanted */
void hr_checkpoint_note (HrPipeline *pipeline);

/* the parts of a document that say what the stream is made of; (transfer full) */
JsonNode *hr_checkpoint_describe_elements (HrPipeline *pipeline);
JsonNode *hr_checkpoint_describe_pipeline (HrPipeline *pipeline);

/* hr-resume.c: start() has found out about steps: does the document that the pipeline shall go on
 * from fit, and where do its sources begin? */
gboolean hr_resume_apply (HrPipeline *pipeline, GError **error);
