/* hr-steps.h: which samples may be started, and which are in hand
 *
 * Step k of a sink holds its samples [k·G, (k+1)·G). Behind a packer, steps are rows, of which a
 * block of samples makes any number: there the next block is released when fewer than ahead + 1
 * rows of the others are left, and in hand is the block that the next row is of. A sink asks for a
 * step, then takes it. Sources release sample n when every sink has asked for a step that lies at
 * most `ahead` before n's. The samples in hand are those of the lowest step that some sink has not
 * got yet. What stands before an unordered element is one segment: there, numbers are those before
 * that element. What stands behind a packer is one, too: there, numbers are those of rows. */
#pragma once
#include "hr-sync.h"

typedef struct _HrSteps HrSteps;

HrSteps *hr_steps_new (void);
void hr_steps_free (HrSteps *steps);

/* before the run. @group: samples a step; @gated: ahead counts, else samples flow as links have
 * room. Returns the sink's index */
guint hr_steps_add_sink (HrSteps *steps, guint group, gboolean gated, guint64 ahead);
/* an element that makes rows of whole blocks of @block samples each; returns the packer */
guint hr_steps_add_packer (HrSteps *steps, guint block);
/* of all packers, before hr_steps_set_packer(): blocks have no size; who stamps samples tells where
 * each ends, and each is a row
 */
void hr_steps_mark_blocks (HrSteps *steps);
/* those below @end that are in no block yet are one; before the next of them is asked for */
void hr_steps_end_block (HrSteps *steps, gint64 end);
/* the sink's steps are the packer's rows */
void hr_steps_set_packer (HrSteps *steps, guint sink, guint packer);
/* the packer's next block is made: that many rows. TRUE: what is in hand has changed */
gboolean hr_steps_packed (HrSteps *steps, guint packer, guint n_rows);

/* an unordered element; @group: samples in each of its buffers. Returns the segment it ends */
guint hr_steps_add_segment (HrSteps *steps, guint group);

/* behind all unordered elements; once all are added */
guint hr_steps_get_last_segment (HrSteps *steps);
/* behind a packer, where nothing is unordered */
guint hr_steps_get_row_segment (HrSteps *steps, guint packer);

/* sinks */
void hr_steps_ask (HrSteps *steps, guint sink, gint64 step);
/* steps 0 … @step have been taken; TRUE: what is in hand has changed */
gboolean hr_steps_deliver (HrSteps *steps, guint sink, gint64 step);

/* a prefetchqueue's depth has changed; has no effect on sinks that are not gated */
void hr_steps_set_ahead (HrSteps *steps, guint sink, guint64 ahead);
/* the sink has left for good: nobody waits for it any more */
void hr_steps_leave (HrSteps *steps, guint sink);

/* who stamps samples. One stamper may wait at a time; *closed ends the wait with FALSE */
gboolean hr_steps_may_release (HrSteps *steps, gint64 sample);
gboolean hr_steps_wait_release (HrSteps *steps, gint64 sample, const gint *closed,
                                const gint *stopping);
/* the same until hr_now() is @until; 0: for ever */
gboolean hr_steps_wait_release_until (HrSteps *steps, gint64 sample, const gint *closed,
                                      const gint *stopping, gint64 until);
/* who waits for credit looks again */
void hr_steps_wake (HrSteps *steps);

/* The first of the samples that come into hand together with @sample. Where sinks have steps of
 * different size their least common pieces count. Locks at most a leaf. */
gint64 hr_steps_get_begin (HrSteps *steps, gint64 sample);

/* TRUE: a sample of the step in hand, or behind a packer its row. For the gate: locks only a leaf
 */
gboolean hr_steps_in_hand (gpointer steps, gint64 number, guint segment);
/* sample @sample has left the unordered element that ends @segment */
void hr_steps_left (HrSteps *steps, guint segment, gint64 sample);

/* sample @sample has reached a batch: only for a rule that can be broken, see hr-rules.h */
void hr_steps_batched (HrSteps *steps, gint64 sample);

/* for the deadlock finder: the lowest sample that is not released, and the sink it waits for */
gint64 hr_steps_get_released (HrSteps *steps, guint *sink);
