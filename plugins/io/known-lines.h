/* known-lines.h: where the lines of a plan's objects begin: from the cache, from a scan, into the
 * cache */
#pragma once
#include "hr-plan-cache.h"
#include "line-source.h"

G_BEGIN_DECLS

/* those of @lines's objects that the cache has, and if the plan needs all, those that a scan finds.
 * Once, after hr_plan_begin() */
gboolean known_lines_begin (HrPlanCache *cache, HrPlan *plan, const HrLineSourceFuncs *funcs,
                            gpointer data, const HrLineSourceOptions *options, int wake_fd,
                            GError **error);
/* an object has been read: its table is known from now on. Takes @table, which is not frozen */
void known_lines_add (HrPlanCache *cache, HrPlan *plan, guint object, gpointer table);

G_END_DECLS
