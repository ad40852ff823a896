/* plugin.c: the plugin's list */
#include "headrace.h"

extern const HrElementDef hr_element_pipesink, hr_element_pipesrc, hr_element_shmsink,
    hr_element_shmsrc;

HR_PLUGIN (ipc, "0.1.0", "Buffers between processes", &hr_element_pipesink, &hr_element_pipesrc,
           &hr_element_shmsink, &hr_element_shmsrc)
