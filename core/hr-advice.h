/* hr-advice.h: what would help, in words. Private to the core. */
#pragma once
#include <json-glib/json-glib.h>
#include "hr-model.h"

/* Returns: (transfer full): {element, kind}: what the trainer waits for; NULL: nothing has worked
 * yet
 */
JsonNode *hr_advice_bottleneck_to_json (const HrModel *model);
/* Returns: (transfer full): {text, element, property, value, predicted_wait_ratio,
 * predicted_speedup, next}; what is not known is null */
JsonNode *hr_advice_to_json (const HrModel *model, const HrChange *change);
