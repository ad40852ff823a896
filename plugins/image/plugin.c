/* plugin.c: the plugin's list */
#include "headrace.h"

extern const HrElementDef hr_element_imagedecode;
extern const HrElementDef hr_element_imagefetch;
extern const HrElementDef hr_element_patchify;
extern const HrElementDef hr_element_resize;

HR_PLUGIN (image, "0.1.0", "Images: sizes, pixels, patches", &hr_element_imagedecode,
           &hr_element_imagefetch, &hr_element_patchify, &hr_element_resize)
