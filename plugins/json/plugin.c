/* plugin.c: the plugin's list */
#include "headrace.h"

extern const HrElementDef hr_element_jsonlparse;

HR_PLUGIN (json, "0.1.0", "JSON lines", &hr_element_jsonlparse)
