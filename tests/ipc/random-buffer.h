/* random-buffer.h: buffers with everything that one can hold, for tests of what carries them */
#pragma once
#include "headrace.h"

/* the same @seed makes the same buffer: a sample or a batch, with tensors of all kinds, views of
 * one memory, lists, texts, JSON, holes, errors and origins */
HrBuffer *random_buffer_new (guint32 seed);
/* the program ends, and says where, if they are not the same in all that can be seen */
void random_buffer_assert_equal (const HrBuffer *a, const HrBuffer *b);
