/* hr-foreign.h: what a buffer that another process made tells of the run that made it; private to
 * the core */
#pragma once
#include "hr-pipeline-private.h"

/* refcounted, constant */
struct _HrForeign {
  char *checkpoint; /* NULL: there is none … */
  char *refusal;    /* … and why */
};

HrForeign *hr_foreign_ref (HrForeign *foreign);
void hr_foreign_unref (HrForeign *foreign);

/* a sink is done with the last buffer of another run that it has got. With its lock */
void hr_foreign_done (HrRun *sink, HrForeign *foreign);
/* of what all sinks are done with; (transfer full) (nullable) */
HrForeign *hr_foreign_find_done (HrPipeline *pipeline, gint64 *steps);
/* (transfer full) (nullable): the document, or the error */
char *hr_foreign_get_checkpoint (const HrForeign *foreign, GError **error);
