/* crc-fold.h: what crc.c and the loops for a processor share */
#pragma once
#include <glib.h>

/* Of a reflected polynomial: x^n modulo it, in 64 bits of which the lowest stands for x^63. Folding
 * by d bits multiplies the upper 64 bits of 128 by x^(d + 63), the lower ones by x^(d - 1): one
 * less each, as the product of two reflected numbers is one x too high. */
typedef struct {
  guint64 fold512[2];
  guint64 fold128[2];
} HrCrcFold;

/* @size: a multiple of 16, at least 64. Gives 16 bytes with the same remainder as all of them, to
 * which @state was added at the start */
void hr_crc_fold_clmul (const HrCrcFold *fold, guint64 state, const guint8 *bytes, gsize size,
                        guint8 rest[16]);
