/* hr-trace.h: what each thread did when, in a file that Perfetto and Chrome show: docs/trace.md
 *
 * Each thread notes what it has done in a ring of its own, without locks; one thread makes events
 * of that and writes the file. What that cannot keep up with is left out, and counted. */
#pragma once
#include "hr-pipeline-private.h"

/* where the calling thread notes; NULL: nothing is traced */
extern _Thread_local HrTraceTrack *hr_trace_track;

/* creates the file of pipeline->settings.trace, if that is set; the graph is complete */
gboolean hr_trace_start (HrPipeline *pipeline, GError **error);
/* all threads have been joined: writes what is left */
void hr_trace_end (HrPipeline *pipeline);
void hr_trace_free (HrTrace *trace);
/* "trace": …, in the stats */
void hr_trace_add_stats (HrPipeline *pipeline, JsonBuilder *builder);

/* (nullable): a track for a thread of @run, NULL: of all elements; NULL if nothing is traced */
HrTraceTrack *hr_trace_add_track (HrPipeline *pipeline, const HrRun *run, guint worker);
/* the calling thread notes in @track (nullable) from here on; returns where it did before */
HrTraceTrack *hr_trace_enter (HrTraceTrack *track);

static inline gboolean
hr_trace_is_on (void)
{
  return G_UNLIKELY (hr_trace_track != NULL);
}

/* ---- what has been done; nothing where hr_trace_is_on() is not so ---- */

/* @sample: its number, -1: of none, or of several; @items: buffers that this took, or a source made
 */
void hr_trace_work (const HrRun *run, gint64 begin, gint64 end, gint64 sample, guint items);
/* The work on @sample that begins at @begin is part of its way. Before others may hand it on, and
 * it has come to its step; hr_trace_split() and hr_trace_member() do not say so themselves */
void hr_trace_touch (const HrRun *run, gint64 begin, gint64 sample);
/* hr_trace_work() on a sample whose members others may work on */
void hr_trace_split (const HrRun *run, gint64 begin, gint64 end, gint64 sample);
/* one of its members */
void hr_trace_member (const HrRun *run, gint64 begin, gint64 end, gint64 sample, guint member);
/* what a sink does with a step is the trainer's */
void hr_trace_step (const HrRun *run, gint64 begin, gint64 end, gint64 step);
/* the samples of @buffer belong to the step that began at @begin, and is noted when it is over */
void hr_trace_taken (const HrRun *run, const HrBuffer *buffer, gint64 begin);
void hr_trace_wait (const HrRun *run, HrWait wait, gint64 begin, gint64 end);
/* an asynchronous element's work on a sample; @done: FALSE: the run has ended before it */
void hr_trace_ticket (const HrRun *run, gint64 begin, gint64 end, gint64 sample, gboolean done);
void hr_trace_transfer (const HrRun *run, const HrTransfer *transfer, gint64 sample);
/* from any thread, with pipeline->lock */
void hr_trace_message (HrPipeline *pipeline, const HrMessage *message);
