/* npy.h: NumPy's file format, and a buffer told in JSON */
#pragma once
#include "headrace.h"

/* what stands before the elements in a .npy file; NULL if NumPy has no such dtype */
GString *npy_header (const HrTensor *tensor, GError **error);
/* INDEX.json; (transfer full) */
char *npy_describe (const HrBuffer *buffer, guint64 index);
