/* hr-climb.c: settings by trial: what binds is made wider, by factors; it stays so if steps come
 * faster, else it goes back and is left alone for a time that grows
 *
 * A look has slices of some steps each; from how much they differ follows how sure their mean is.
 * Two settings are compared until it is clear which is better, or for MOST_SLICES. */
#include "hr-climb-private.h"
#include "hr-model.h"
#include <math.h>
#include <string.h>

#define SLICE_SECONDS 0.09
#define SLICE_STEPS 3
#define LEAST_SLICES 4
#define MOST_SLICES 32
/* so many looks must find nothing before it settles for the first time: in the first one a source
 * that is being opened may hide what binds later */
#define BARREN_LOOKS 4
/* a setting that gives less is not worth its threads and bytes */
#define LEAST_GAIN 0.05
/* fed and settled, and the trainer waits more than that: the climb goes on */
#define HUNGRY (2 * HR_MODEL_GOOD_WAIT_RATIO)
/* settled, and the rate is that much another: the load has changed */
#define CHANGED 0.25

HrClimb *
hr_climb_new (const HrKnob *knobs, guint n_knobs, guint n_parts)
{
  HrClimb *climb = g_new0 (HrClimb, 1);

  climb->knobs = g_new0 (HrClimbKnob, MAX (n_knobs, 1));
  climb->n_knobs = n_knobs;
  climb->n_parts = n_parts;
  climb->parts = g_new0 (HrClimbPart, MAX (n_parts, 1));
  climb->settled = -1;
  for (guint i = 0; i < n_knobs; i++)
    climb->knobs[i] = (HrClimbKnob){ .knob = knobs[i], .returned = -1 };
  return climb;
}

void
hr_climb_free (HrClimb *climb)
{
  g_free (climb->knobs);
  g_free (climb->parts);
  g_free (climb);
}

const HrKnob *
hr_climb_get_knob (const HrClimb *climb, guint index)
{
  return &climb->knobs[index].knob;
}

gboolean
hr_climb_is_settled (const HrClimb *climb)
{
  return climb->phase == HR_CLIMB_SETTLED;
}

gdouble
hr_climb_get_settled (const HrClimb *climb)
{
  return climb->settled;
}

void
hr_climb_set_knob (HrClimb *climb, guint index, gboolean active, guint64 value)
{
  HrClimbKnob *knob = &climb->knobs[index];

  if (knob->knob.active == active && knob->knob.value == value)
    return;
  /* what was being tried is no longer what is compared */
  knob->before = knob->knob.value = value;
  knob->knob.active = active;
  knob->spent = knob->spent_below = FALSE;
  knob->floor = knob->ceiling = 0;
  climb->begun = FALSE;
  climb->phase = HR_CLIMB_LOOK;
}

void
hr_climb_turn (HrClimb *climb, HrClimbKnob *knob, guint64 value)
{
  knob->knob.value = value;
  knob->knob.n_changes++;
  if (climb->settled >= 0)
    knob->knob.n_late++;
}

/* ---- windows ---- */

static void
begin_window (HrClimb *climb, const HrClimbCounts *counts)
{
  climb->begin = climb->slice = *counts;
  memcpy (climb->parts, counts->parts, climb->n_parts * sizeof *climb->parts);
  climb->n_slices = 0;
  climb->sum = climb->squares = 0;
}

/* settings have changed: what is under way was made with the old ones */
static void
clear_first (HrClimb *climb, const HrClimbCounts *counts)
{
  climb->waits = TRUE;
  climb->clear_at = counts->now + SLICE_SECONDS;
  climb->clear_steps = counts->steps + 2 + MIN (counts->ahead, 14);
}

/* TRUE: there is one more */
static gboolean
add_slice (HrClimb *climb, const HrClimbCounts *counts)
{
  gdouble time = counts->now - climb->slice.now, rate;
  guint64 steps = counts->steps - climb->slice.steps;

  if (time < SLICE_SECONDS || steps < SLICE_STEPS)
    return FALSE;
  rate = (gdouble)steps / time;
  climb->sum += rate;
  climb->squares += rate * rate;
  climb->n_slices++;
  climb->slice = *counts;
  return TRUE;
}

static HrClimbLook
look_at (const HrClimb *climb, const HrClimbCounts *counts)
{
  gdouble time = counts->now - climb->begin.now, n = climb->n_slices, mean = climb->sum / n;
  gdouble steps = (gdouble)(counts->steps - climb->begin.steps);
  gdouble train = counts->train - climb->begin.train, wait = counts->wait - climb->begin.wait;
  gdouble variance = MAX (climb->squares / n - mean * mean, 0) * n / (n - 1);

  return (HrClimbLook){ .rate = steps / time,
                        .error = sqrt (variance / n),
                        .waiting = train + wait > 0 ? wait / (train + wait) : 1,
                        .train = train / steps };
}

/* ---- whether it was better ---- */

typedef enum { JUDGED_UNSURE, JUDGED_BETTER, JUDGED_SAME, JUDGED_WORSE } Judged;

static Judged
judge (const HrClimb *climb, const HrClimbLook *look)
{
  const HrClimbLook *base = &climb->base;
  gdouble gain = look->rate / base->rate - 1;
  gdouble error = 2 * hypot (look->error / look->rate, base->error / base->rate);
  gboolean last = climb->n_slices >= MOST_SLICES;

  if (look->waiting <= HR_MODEL_GOOD_WAIT_RATIO)
    return JUDGED_BETTER;
  if (last)
    error *= 0.75; /* it will not get any surer */
  if (gain >= LEAST_GAIN && gain >= error)
    return JUDGED_BETTER;
  if (gain <= -LEAST_GAIN && gain <= -error)
    return JUDGED_WORSE;
  return last || fabs (gain) + error < LEAST_GAIN ? JUDGED_SAME : JUDGED_UNSURE;
}

static void
go_back (HrClimb *climb, const HrClimbCounts *counts, gboolean worse)
{
  for (guint i = 0; i < climb->n_knobs; i++) {
    HrClimbKnob *knob = &climb->knobs[i];

    if (knob->knob.value == knob->before)
      continue;
    /* who computes waits for a processor if there is one too many: it costs nothing, and noise may
     * have hidden what it gains */
    if (knob->knob.computes && knob->knob.kind == HR_KNOB_WORKERS && !worse) {
      knob->before = knob->knob.value;
      knob->spent = TRUE;
      continue;
    }
    if (knob->knob.value < knob->before) {
      knob->floor = knob->knob.value;
      knob->spent_below = climb->settled >= 0;
    } else {
      if (worse)
        knob->ceiling = knob->knob.value;
      /* between the two there may be better ones */
      knob->spent = !worse || climb->settled >= 0 || knob->knob.value <= knob->before * 2;
    }
    hr_climb_turn (climb, knob, knob->before);
    knob->knob.n_returns++;
    knob->returned = counts->now;
    knob->n_fails++;
  }
}

static void
keep (HrClimb *climb, const HrClimbLook *look)
{
  gdouble gain = look->rate / climb->base.rate;

  climb->gained = TRUE;
  for (guint i = 0; i < climb->n_knobs; i++) {
    HrClimbKnob *knob = &climb->knobs[i];

    knob->spent = knob->spent_below = FALSE; /* now something else binds */
    if (knob->knob.value != knob->before)
      knob->n_fails = 0;
    if (knob->knob.value < knob->before)
      knob->ceiling = knob->before;
    else if (knob->knob.value > knob->before)
      knob->floor = gain * HR_CLIMB_APART < (gdouble)knob->knob.value / (gdouble)knob->before
                        ? knob->before
                        : 0;
    knob->before = knob->knob.value;
  }
}

static void
settle (HrClimb *climb, const HrClimbCounts *counts, const HrClimbLook *look)
{
  climb->phase = HR_CLIMB_SETTLED;
  climb->settled = counts->now;
  climb->base = *look;
  climb->was_fed = look->waiting <= HR_MODEL_GOOD_WAIT_RATIO;
  climb->n_odd = 0;
  climb->n_idle = climb->gained ? 0 : climb->n_idle + 1;
  climb->retry =
      counts->now + HR_CLIMB_REST * (gdouble)(1u << MIN (climb->n_idle, HR_CLIMB_DOUBLINGS));
}

/* settled: has the load become another one, or is it time to try again? */
static gboolean
opens_again (HrClimb *climb, const HrClimbCounts *counts, const HrClimbLook *look)
{
  gboolean odd = climb->was_fed || fabs (log (look->rate / climb->base.rate)) > log1p (CHANGED)
                 || fabs (look->train - climb->base.train) * look->rate > CHANGED;

  if (look->waiting <= HUNGRY) {
    climb->n_odd = 0;
    return FALSE;
  }
  climb->n_odd = odd ? climb->n_odd + 1 : 0;
  return climb->n_odd >= 2 || counts->now >= climb->retry;
}

static void
open_again (HrClimb *climb)
{
  climb->gained = FALSE;
  for (guint i = 0; i < climb->n_knobs; i++) {
    HrClimbKnob *knob = &climb->knobs[i];

    knob->spent = knob->spent_below = FALSE;
    if (climb->n_odd > 0) /* what is known is of another load */
      knob->floor = knob->ceiling = 0;
  }
}

/* ---- a look ---- */

static gboolean
decide (HrClimb *climb, const HrClimbCounts *counts)
{
  HrClimbLook look = look_at (climb, counts);
  Judged judged;

  switch (climb->phase) {
  case HR_CLIMB_TRIAL:
    judged = judge (climb, &look);
    if (judged == JUDGED_UNSURE)
      return FALSE;
    if (judged != JUDGED_BETTER) {
      go_back (climb, counts, judged == JUDGED_WORSE);
      climb->phase = HR_CLIMB_LOOK;
      return TRUE;
    }
    keep (climb, &look);
    break;
  case HR_CLIMB_SETTLED:
    if (climb->n_slices < 2 * LEAST_SLICES)
      return FALSE;
    if (!opens_again (climb, counts, &look)) {
      begin_window (climb, counts);
      return FALSE;
    }
    open_again (climb);
    break;
  case HR_CLIMB_LOOK:
    if (look.error > LEAST_GAIN * look.rate && climb->n_slices < 2 * LEAST_SLICES)
      return FALSE;
    break;
  }
  if (look.waiting > HR_MODEL_GOOD_WAIT_RATIO && hr_climb_try (climb, counts)) {
    climb->base = look;
    climb->phase = HR_CLIMB_TRIAL;
    return TRUE;
  }
  if (look.waiting > HR_MODEL_GOOD_WAIT_RATIO && climb->settled < 0
      && ++climb->n_barren < BARREN_LOOKS)
    climb->phase = HR_CLIMB_LOOK;
  else
    settle (climb, counts, &look);
  begin_window (climb, counts);
  return FALSE;
}

/* fewer processors than before: at once */
static gboolean
obey (HrClimb *climb, const HrClimbCounts *counts)
{
  gboolean fewer = climb->cpus > counts->cpus, changed = FALSE;

  climb->cpus = counts->cpus;
  for (guint i = 0; fewer && i < climb->n_knobs; i++) {
    HrClimbKnob *knob = &climb->knobs[i];

    if (knob->knob.kind != HR_KNOB_WORKERS || !knob->knob.computes || !knob->knob.active
        || knob->knob.value <= counts->cpus)
      continue;
    hr_climb_turn (climb, knob, MAX (counts->cpus, knob->knob.least));
    knob->before = knob->knob.value;
    changed = TRUE;
  }
  return changed;
}

gboolean
hr_climb_look (HrClimb *climb, const HrClimbCounts *counts)
{
  gboolean changed = obey (climb, counts);

  if (changed) {
    climb->phase = HR_CLIMB_LOOK;
    clear_first (climb, counts);
    return TRUE;
  }
  if (!climb->begun) {
    climb->begun = TRUE;
    clear_first (climb, counts);
  }
  if (climb->waits) {
    climb->waits = counts->now < climb->clear_at || counts->steps < climb->clear_steps;
    if (!climb->waits)
      begin_window (climb, counts);
    return FALSE;
  }
  if (!add_slice (climb, counts) || climb->n_slices < LEAST_SLICES)
    return FALSE;
  changed = decide (climb, counts);
  if (changed)
    clear_first (climb, counts);
  return changed;
}
