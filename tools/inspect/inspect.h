/* inspect.h: what hr-inspect shows, as text and as JSON */
#pragma once
#include "hr-element-private.h"
#include "hr-registry.h"

/* all elements by plugin, from the lists alone: no plugin is opened */
void inspect_list_text (void);
void inspect_list_json (JsonBuilder *json);

/* one element in full */
void inspect_element_text (const HrElementDef *def);
void inspect_element_json (JsonBuilder *json, const HrElementDef *def);

/* "from 1 to 64", "at least 0" or NULL; (transfer full) */
char *inspect_range (const HrProp *prop);
/* "parallel, network": what the table says about how it runs, NULL if nothing; (transfer full) */
char *inspect_traits (const HrElementDef *def);
