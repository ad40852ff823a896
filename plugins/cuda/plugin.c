/* plugin.c: the plugin's list */
#include "headrace.h"

extern const HrElementDef hr_element_cudasink;
extern const HrElementDef hr_element_cudaupload;

HR_PLUGIN (cuda, "0.1.0", "Batches on GPUs", &hr_element_cudasink, &hr_element_cudaupload)
