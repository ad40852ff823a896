/* hr-topology.h: what follows from the graph: who stamps, what a step is, who looks ahead */
#pragma once
#include "hr-pipeline-private.h"

/* Gives every element its run and every link its bounds; makes gates and steps. Refuses what the
 * rules of order do not allow. */
gboolean hr_topology_apply (HrPipeline *pipeline, GError **error);
/* Part of that: gives every source its order. */
gboolean hr_topology_give_orders (HrPipeline *pipeline, GError **error);
/* (again) from its elements' properties */
void hr_topology_bound_link (HrLink *link);
/* a prefetchqueue's depth may have changed */
void hr_topology_update_ahead (HrPipeline *pipeline);
guint64 hr_topology_count_cpus (const HrPipeline *pipeline);
/* those that the process may use, whatever the pipeline says */
guint64 hr_topology_count_processors (void);
