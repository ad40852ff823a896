/* cast.h: elements that stand for the real ones in the tests of this folder */
#pragma once
#include "hr-element-private.h"

/* adds them to the registry */
void cast_register (void);
