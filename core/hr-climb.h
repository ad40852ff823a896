/* hr-climb.h: which settings make a run faster, found by trying them. Private to the core. Pure
 * functions of numbers, no clock and no thread: docs/auto.md explains them. */
#pragma once
#include <glib.h>

typedef enum {
  HR_KNOB_WORKERS,     /* of a part */
  HR_KNOB_CONCURRENCY, /* transfers of a part at once */
  HR_KNOB_AHEAD,       /* steps that are prepared ahead */
  HR_KNOB_QUEUE_ITEMS, /* in front of a part */
  HR_KNOB_QUEUE_BYTES  /* … */
} HrKnobKind;

/**
 * HrKnob:
 * @part: whose; index into #HrClimbCounts.parts
 * @value: as it is now
 * @computes: workers that each hold a processor while they work: no more than there are of those
 * @active: may be turned; else somebody else sets it
 * @n_changes: how often @value was changed …
 * @n_late: … after the climb had settled for the first time
 * @n_returns: changes back to a value that it had come from
 */
typedef struct {
  HrKnobKind kind;
  guint part;
  guint64 value, least, most;
  gboolean computes, active;
  guint n_changes, n_late, n_returns;
} HrKnob;

/**
 * HrClimbPart:
 * @busy: seconds of work, of all its workers together; with @concurrent transfers: that they were
 *   in flight, summed over all of them
 * @cpu: seconds of processors
 * @n_starved, @n_full: how often the queue in front of it was empty for it, and full for others
 * @n_awaited: how often who comes next found nothing from it; of who has nobody behind it: items
 * @width: workers, or transfers at once, as it is now
 *
 * Sums since the beginning, but @width.
 */
typedef struct {
  gdouble busy, cpu;
  guint64 items, bytes;
  guint64 n_starved, n_full;
  guint64 n_awaited;
  guint width;
} HrClimbPart;

/**
 * HrClimbCounts:
 * @now: seconds of a clock that never goes back
 * @steps: that the trainer has got
 * @train, @wait: its time, its own and what it waited; seconds
 * @cpus: processors that may be computed on
 * @memory: bytes that may be under way
 * @ahead: steps that are prepared ahead, as it is now
 * @gated: … and no more than those: samples that are under way are of so many steps
 */
typedef struct {
  gdouble now;
  guint64 steps;
  gdouble train, wait;
  guint cpus;
  guint64 memory, ahead;
  gboolean gated;
  const HrClimbPart *parts;
} HrClimbCounts;

typedef struct _HrClimb HrClimb;

/* copies @knobs */
HrClimb *hr_climb_new (const HrKnob *knobs, guint n_knobs, guint n_parts);
void hr_climb_free (HrClimb *climb);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrClimb, hr_climb_free)

/* What has been counted by now; call it some times a second. TRUE: values of knobs have changed,
 * and are to be applied before the next call */
gboolean hr_climb_look (HrClimb *climb, const HrClimbCounts *counts);

const HrKnob *hr_climb_get_knob (const HrClimb *climb, guint index);
/* somebody has set it, or wants it to be turned from now on */
void hr_climb_set_knob (HrClimb *climb, guint index, gboolean active, guint64 value);
/* nothing is being tried */
gboolean hr_climb_is_settled (const HrClimb *climb);
/* seconds of the clock when it settled last; -1: never yet */
gdouble hr_climb_get_settled (const HrClimb *climb);
