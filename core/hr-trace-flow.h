/* hr-trace-flow.h: a trace's arrows, from the fetches of a sample to the step that it is in */
#pragma once
#include "hr-pipeline-private.h"

typedef struct _HrTraceFlows HrTraceFlows;

/* @phase: 's', where it begins, 't', or 'f', where it ends; @id: of the arrow */
typedef void (*HrTraceFlowPoint) (char phase, gint64 id, guint tid, gint64 time, gpointer data);

/* the graph is complete */
HrTraceFlows *hr_trace_flows_new (HrPipeline *pipeline, HrTraceFlowPoint add, gpointer data);
void hr_trace_flows_free (HrTraceFlows *flows);
/* a slice that began at @begin: what an element has fetched for @sample, -1: for none */
void hr_trace_flows_note_fetch (HrTraceFlows *flows, guint element, guint tid, gint64 begin,
                                gint64 sample);
/* … and who has worked on it later */
void hr_trace_flows_note_work (HrTraceFlows *flows, guint element, guint tid, gint64 begin,
                               gint64 sample);
/* … and the step that @n samples from @sample on are in: their arrows are added, each as a whole,
 * so that a run that is killed leaves none without its end */
void hr_trace_flows_end (HrTraceFlows *flows, guint tid, gint64 begin, gint64 sample, guint n);
