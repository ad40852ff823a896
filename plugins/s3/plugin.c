/* plugin.c: the elements of this folder */
#include "hr-plugin.h"

extern const HrElementDef hr_element_s3src;

HR_PLUGIN (s3, "0.1.0", "Objects in S3", &hr_element_s3src)
