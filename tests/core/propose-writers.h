/* propose-writers.h: elements that write fields, each in its own way */
#pragma once
#include "hr-element.h"

#define N_SAMPLES 24
#define A_BYTES 5000
#define B_BYTES 100

extern const HrElementDef hr_element_writes;
extern const HrElementDef hr_element_twice;
extern const HrElementDef hr_element_odd;
extern const HrElementDef hr_element_copies;
extern const HrElementDef hr_element_renames;
extern const HrElementDef hr_element_wraps;
extern const HrElementDef hr_element_flies;
extern const HrElementDef hr_element_tokens;
extern const HrElementDef hr_element_bmps;
