/* hr-split.h: a pipeline in two parts: what runs elsewhere, and the sink that is pulled from here.
 * For the Python package, not installed. */
#pragma once
#include "hr-pipeline.h"

G_BEGIN_DECLS

/**
 * hr_pipeline_split: (skip)
 * @instead: an element with its properties, "shmsink fd=4"
 * @sink: (out) (nullable): the text of the only pullable sink; %NULL if there is none, or several
 *
 * Returns: (transfer full): the canonical text with @instead in that sink's place, under its name
 */
char *hr_pipeline_split (HrPipeline *pipeline, const char *instead, char **sink);

G_END_DECLS
