/* hr-sequence.h: the order of the lines of a set of objects, once it is known where they begin.
 * docs/order.md */
#pragma once
#include "hr-line-table.h"
#include "hr-plan.h"

/* Pure: what stands where depends on the objects, the rules and the epoch alone. Not locked. */
typedef struct _HrSequence HrSequence;

/* shuffle=window: (element-type guint64) (transfer full): sums of the blocks of each object */
GArray *hr_sequence_sum_blocks (const GArray *objects, guint64 block_bytes);
/* … the block that is read as number @index of @epoch; @sums: of all blocks */
HrExtent hr_sequence_get_block (const GArray *objects, const GArray *sums, guint64 block_bytes,
                                guint64 seed, guint64 epoch, guint64 index);

/* @objects: (element-type HrObject), @tables: (element-type HrLineTable), one an object, complete.
 * Keeps references of the tables, and @objects must outlive it */
HrSequence *hr_sequence_new (const GArray *objects, GPtrArray *tables, const HrPlanRules *rules,
                             guint64 seed);
void hr_sequence_free (HrSequence *sequence);
/* lines in all */
guint64 hr_sequence_get_length (const HrSequence *sequence);
/* the line at @place of @epoch: which object, which of its lines */
void hr_sequence_locate (HrSequence *sequence, guint64 epoch, guint64 place, guint *object,
                         guint64 *line);
/* where somebody who does not know the lines has to begin to read for @place of @epoch: at that
 * byte of an object, or in that group of blocks; and which place is found there. shuffle=none or
 * window */
void hr_sequence_find_unit (HrSequence *sequence, guint64 epoch, guint64 place, guint64 *unit,
                            gint64 *byte, guint64 *first);
/* bytes of a line with its end, and blank lines behind it: [*start, *end) of its object */
void hr_sequence_get_extent (const HrSequence *sequence, guint object, guint64 line, gint64 *start,
                             gint64 *end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrSequence, hr_sequence_free)
