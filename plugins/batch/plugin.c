/* plugin.c: the plugin's list */
#include "headrace.h"

extern const HrElementDef hr_element_batch, hr_element_prefetchqueue;

HR_PLUGIN (batch, "0.1.0", "Batches, and how many of them are made ahead", &hr_element_batch,
           &hr_element_prefetchqueue)
