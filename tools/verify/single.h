/* single.h: a pipeline that gives its samples one by one */
#pragma once
#include "headrace.h"

/**
 * verify_single:
 * @pipeline: a straight one, as its user wrote it
 * @error: #HR_PARSE_ERROR
 *
 * The same elements with the same settings, but without those that make batches, prefetch or end
 * it; `appsink` is the end. Where images are resized and no `patchify` follows, one is added that
 * leaves the bytes as they are.
 *
 * Returns: (transfer full) (nullable): the new pipeline
 */
HrPipeline *verify_single (HrPipeline *pipeline, GError **error);

/**
 * verify_pulled:
 *
 * The same elements with the same settings, but with `appsink` for the only sink.
 *
 * Returns: (transfer full) (nullable): the new pipeline
 */
HrPipeline *verify_pulled (HrPipeline *pipeline, GError **error);

/* [{"factory", "name", "properties": {…}}] of all elements; (transfer full) */
JsonNode *verify_describe (HrPipeline *pipeline);
