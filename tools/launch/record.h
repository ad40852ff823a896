/* record.h: a run's numbers in a file, for hr-report */
#pragma once
#include "headrace.h"

typedef struct _LaunchRecord LaunchRecord;

/* Makes the file anew and writes what the run is. Each line is a JSON object, so what a run that
 * was killed leaves can be read. NULL: the error is set. */
LaunchRecord *launch_record_new (const char *path, HrPipeline *pipeline, GError **error);
/* one thread: the numbers of now, if a second is over since the last row */
void launch_record_tick (LaunchRecord *record);
/* the numbers of the end, which the report compares. FALSE: something could not be written */
gboolean launch_record_end (LaunchRecord *record, JsonNode *stats, GError **error);
void launch_record_free (LaunchRecord *record);
