/* columns.h: fields of samples become lists of a batch; nothing is copied */
#pragma once
#include "headrace.h"

G_BEGIN_DECLS

/**
 * hr_columns_set:
 * @batch: has its members already
 * @holes: skipped samples have items as well, empty ones: item i is member i's
 * @rows: with @holes: items in all; those behind the members are empty
 * @left_out: (nullable): fields that become something else
 *
 * Each field becomes a list of one item a sample; lists are flattened, and NAME_cu, int32
 * [samples + 1], says whose items are whose: "image_cu" for all lists as long as "images".
 */
void hr_columns_set (HrBuffer *batch, gboolean holes, guint rows, const char *const *left_out);

G_END_DECLS
