/* hr-trace-file.h: a trace's file: events in Chrome's Trace Event Format, an array in JSON that may
 * end anywhere between two of them */
#pragma once
#include "hr-pipeline-private.h"

typedef enum {
  HR_TRACE_WORK,
  HR_TRACE_TOUCH, /* of a sample, whose slice comes later */
  HR_TRACE_MEMBER,
  HR_TRACE_STEP,
  HR_TRACE_TAKEN, /* n samples from `sample` on */
  HR_TRACE_WAIT,
  HR_TRACE_TICKET,
  HR_TRACE_TRANSFER
} HrTraceKind;

/* what a thread notes; times are hr_now()'s */
typedef struct {
  guint8 kind;     /* HrTraceKind */
  guint8 what;     /* HR_TRACE_WAIT: HrWait; HR_TRACE_TICKET: it is done; HR_TRACE_WORK: it has been
                    * touched already */
  guint16 element; /* its index */
  guint n;         /* items; which member */
  gint64 begin, end;
  gint64 sample;        /* HR_TRACE_STEP: the step */
  HrTransfer *transfer; /* HR_TRACE_TRANSFER: owned, its name too */
} HrTraceRecord;

/* of a record; NULL is fine */
void hr_trace_transfer_free (HrTransfer *transfer);

typedef struct _HrTraceFile HrTraceFile;

/* @path is made anew */
HrTraceFile *hr_trace_file_new (const char *path, HrPipeline *pipeline, GError **error);
/* the last event, and what is not written yet. FALSE: it could not be, which flush() has not said
 * yet: error set */
gboolean hr_trace_file_end (HrTraceFile *file, GError **error);
void hr_trace_file_free (HrTraceFile *file);

/* threads have numbers: those of an element's workers begin at this */
guint hr_trace_file_get_tid (const HrElement *element, guint worker);
/* before the thread's first record; @sort: where it is shown */
void hr_trace_file_name_thread (HrTraceFile *file, guint tid, const char *name);
/* Takes what @record owns. In the order of the stream: what has been done with a sample further up
 * comes first */
void hr_trace_file_add (HrTraceFile *file, guint tid, HrTraceRecord *record);
/* at this time @n events of the thread had been left out since it was last told */
void hr_trace_file_add_lost (HrTraceFile *file, guint tid, guint64 n, gint64 now);
void hr_trace_file_add_message (HrTraceFile *file, const HrMessage *message, gint64 time);
/* how full queues and budget are, as far as that has changed */
void hr_trace_file_add_counters (HrTraceFile *file, gint64 now);
/* to the disk, if it has been kept for long. FALSE: it cannot be written: error set, once */
gboolean hr_trace_file_flush (HrTraceFile *file, gint64 now, GError **error);

guint64 hr_trace_file_get_n_events (const HrTraceFile *file);
/* (nullable): why nothing is written any more */
const char *hr_trace_file_get_error (const HrTraceFile *file);
