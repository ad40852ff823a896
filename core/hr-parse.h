/* hr-parse.h: the parser, with the place of its error. Private to the core. */
#pragma once
#include "hr-pipeline.h"

/* As hr_parse_launch_full(); on failure @offset and @length (both optional) are what the caret and
 * its tail stand under, in bytes of @text. */
HrPipeline *hr_parse_text (const char *text, GHashTable *variables, gsize *offset, gsize *length,
                           GError **error);
