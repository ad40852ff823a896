/* plugin.c: the plugin's list */
#include "headrace.h"

extern const HrElementDef hr_element_mix;

HR_PLUGIN (order, "0.1.0", "Several sets as one", &hr_element_mix)
