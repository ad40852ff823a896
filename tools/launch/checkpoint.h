/* checkpoint.h: the file that a run goes on from */
#pragma once
#include "headrace.h"

typedef enum { LAUNCH_RESUME_NO, LAUNCH_RESUME_EXACT, LAUNCH_RESUME_FORCE } LaunchResume;

/* before start(): the pipeline shall go on from what @file holds; if there is none, from the
 * beginning. Fails if none could be written there, also with LAUNCH_RESUME_NO */
gboolean launch_checkpoint_read (HrPipeline *pipeline, const char *file, LaunchResume resume,
                                 GError **error);
/* started: FALSE if it can have none, which else would be found out at its end */
gboolean launch_checkpoint_check (HrPipeline *pipeline, GError **error);
/* whole or not at all, also if the machine stops */
gboolean launch_checkpoint_write (const char *file, const char *text, GError **error);
/* the run is over */
gboolean launch_checkpoint_end (HrPipeline *pipeline, const char *file, GError **error);
