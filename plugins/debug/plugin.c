/* plugin.c: the plugin's list */
#include "headrace.h"

extern const HrElementDef hr_element_appmap, hr_element_appsink, hr_element_appsrc,
    hr_element_fakesink, hr_element_fakesrc, hr_element_fault, hr_element_filesink,
    hr_element_identity, hr_element_join, hr_element_npysink, hr_element_tee, hr_element_trainsim;

HR_PLUGIN (debug, "0.1.0", "Generic elements, for programs, tests and measurements",
           &hr_element_appmap, &hr_element_appsink, &hr_element_appsrc, &hr_element_fakesink,
           &hr_element_fakesrc, &hr_element_fault, &hr_element_filesink, &hr_element_identity,
           &hr_element_join, &hr_element_npysink, &hr_element_tee, &hr_element_trainsim)
