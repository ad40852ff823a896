/* hr-auto.h: settings that the core finds while the pipeline runs: what hr-climb.h says is applied
 * as live changes. docs/auto.md */
#pragma once
#include <json-glib/json-glib.h>
#include "hr-pipeline-private.h"

/* Marks what auto=true means and gives all automatic settings their first values: after
 * hr_topology_apply(), before there are threads. Not in serial mode. */
HrAuto *hr_auto_new (HrPipeline *pipeline);
void hr_auto_free (HrAuto *automatic);
/* Counts, and changes settings now and then; one thread. Returns: hr_now() of the next look */
gint64 hr_auto_look (HrAuto *automatic);
/* {settled, settled_s, changes, late_changes, settings: [{element, property, value, changes,
 * late_changes, returns}]}, or null if nothing is automatic; any thread. @automatic: may be NULL */
void hr_auto_add_stats (HrAuto *automatic, JsonBuilder *into);
/* for tests: it takes the clock to run so many times as fast, and finds settings as much sooner */
extern guint hr_auto_hurry;
