/* plugin.c: the elements of this folder */
#include "hr-plugin.h"

extern const HrElementDef hr_element_deadlettersrc, hr_element_filesrc;

HR_PLUGIN (files, "0.1.0", "Files on disk, and what a run has skipped", &hr_element_deadlettersrc,
           &hr_element_filesrc)
