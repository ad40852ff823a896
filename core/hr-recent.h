/* hr-recent.h: the last minute, second by second, so that the verdict can be of what goes on now.
 * Private to the core. */
#pragma once
#include "hr-account.h"

HrRecent *hr_recent_new (void);
void hr_recent_free (HrRecent *recent);
/* one thread, now and then: what has been counted so far is kept, once a second */
void hr_recent_note (HrPipeline *pipeline);
/* What had been counted when the last seconds began: ten of them, or as many as twenty steps took,
 * at most a minute. (transfer full); NULL: there has been no step yet */
HrAccount *hr_recent_get_begin (HrPipeline *pipeline, const HrAccount *now);
