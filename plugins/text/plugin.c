/* plugin.c: text for language models */
#include "hr-plugin.h"

extern const HrElementDef hr_element_tokenize;

HR_PLUGIN (text, "0.1.0", "Text becomes tokens", &hr_element_tokenize)
