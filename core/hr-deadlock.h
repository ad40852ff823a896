/* hr-deadlock.h: finds elements that wait for each other in a circle, and names them */
#pragma once
#include "hr-pipeline-private.h"

typedef struct _HrDeadlock HrDeadlock;

HrDeadlock *hr_deadlock_new (HrPipeline *pipeline);
void hr_deadlock_free (HrDeadlock *finder);
/* A circle that stood at the last look too, with nobody in it having moved, ends the run. */
void hr_deadlock_look (HrDeadlock *finder);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrDeadlock, hr_deadlock_free)
