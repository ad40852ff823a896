/* wire-private.h: numbers that both directions of the format share */
#pragma once
#include "wire.h"

#define HR_WIRE_MAGIC "HRwm"
#define HR_WIRE_MAX_DIMS 64

/* numbers of the format: never give one another meaning */
enum { HR_WIRE_VALUE_TENSOR, HR_WIRE_VALUE_STRING, HR_WIRE_VALUE_JSON };
enum {
  HR_WIRE_ERROR_NONE,
  HR_WIRE_ERROR_PARSE,
  HR_WIRE_ERROR_CORE,
  HR_WIRE_ERROR_RESOURCE,
  HR_WIRE_ERROR_DATA
};

/* bytes from the lowest to the highest element, and where in them the first one is. Fewer than the
 * tensor has: elements lie on each other, and make many of few bytes; nobody can tell what that
 * will cost, so no message has one */
gsize hr_wire_find_span (const HrTensor *tensor, gsize *first);
/* the header's own checksum, of bytes that begin with one */
void hr_wire_seal (GByteArray *bytes);
