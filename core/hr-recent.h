/* hr-recent.h: the last minute, second by second, so that the verdict can be of what goes on now.
 * Private to the core. */
#pragma once
#include "hr-account.h"

HrRecent *hr_recent_new (void);
void hr_recent_free (HrRecent *recent);
/* one thread, now and then: what has been counted so far is kept, once a second */
void hr_recent_note (HrPipeline *pipeline);
/* Part of that: takes @account, and forgets those that are a minute older. */
void hr_recent_add (HrRecent *recent, HrAccount *account);
/* What had been counted when the last seconds began: ten of them, or as many as twenty steps took,
 * at most a minute. @first: at the first step. (transfer full) */
HrAccount *hr_recent_get_begin (HrRecent *recent, const HrAccount *first, const HrAccount *now);
