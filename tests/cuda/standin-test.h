/* standin-test.h: what the tests of the stand-in share */
#pragma once
#include "standin/standin.h"

#define X(name, arguments) int cuda##name arguments;
#define T(name, arguments) const char *cuda##name arguments;
HR_CUDA_FUNCTIONS (X, T)
HR_CUDA_LIBRARY_FUNCTIONS (X)
#undef X
#undef T

/* what was misused since the last call; @kinds: with spaces, in their order; "" for none */
void standin_test_misuses (const char *kinds);
/* runs this test again, in a process whose environment says so */
void standin_test_in_process (const char *variable, const char *value);
