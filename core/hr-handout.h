/* hr-handout.h: where a program pulls from behind a sink that works on what it hands out */
#pragma once
#include "hr-pipeline-private.h"

/* For a sink that is pullable and has process(): a pulled element behind it, of the same name,
 * which is no part of the text. For start(), after the graph has been checked. */
void hr_handout_add (HrPipeline *pipeline);
