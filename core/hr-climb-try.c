/* hr-climb-try.c: what binds, by what was counted in a window, and what to try for it */
#include "hr-climb-private.h"
#include <math.h>

/* what is made wider gets this much more than would just do: samples are not all alike */
#define SPARE 1.25
#define MOST_FACTOR 4.0
/* of a step's time: what cannot be made shorter takes nearly all of it */
#define ALL 0.92

/* ---- what binds ---- */

typedef struct {
  const HrClimb *climb;
  const HrClimbCounts *counts;
  gdouble steps, period, cpu; /* of the window; seconds a step */
  gdouble *times;             /* by part: seconds a step, of each of its workers */
  gdouble goal;               /* no step can take less, whatever is made wider */
} Analysis;

static gdouble
busy_of (const Analysis *a, guint part)
{
  return (a->counts->parts[part].busy - a->climb->parts[part].busy) / a->steps;
}

/* who is busy filling a queue that is never empty holds nobody up */
static gboolean
is_awaited (const Analysis *a, guint part)
{
  return a->counts->parts[part].n_awaited > a->climb->parts[part].n_awaited;
}

static gdouble
cpu_of (const Analysis *a, guint part)
{
  return (a->counts->parts[part].cpu - a->climb->parts[part].cpu) / a->steps;
}

static gdouble
items_of (const Analysis *a, guint part)
{
  return (gdouble)(a->counts->parts[part].items - a->climb->parts[part].items) / a->steps;
}

static gboolean
widens (const HrClimbKnob *knob)
{
  return knob->knob.kind == HR_KNOB_WORKERS || knob->knob.kind == HR_KNOB_CONCURRENCY;
}

static gboolean
has_rested (const HrClimb *climb, const HrClimbKnob *knob, gdouble now)
{
  guint doublings = MIN (MAX (knob->n_fails, 1) - 1, HR_CLIMB_DOUBLINGS);

  return climb->settled < 0 || knob->returned < 0
         || now >= knob->returned + HR_CLIMB_REST * (gdouble)(1u << doublings);
}

/* bytes of a step, where it has most */
static gdouble
bytes_of_step (const Analysis *a)
{
  gdouble most = 1;

  for (guint i = 0; i < a->climb->n_parts; i++)
    most = MAX (most, (gdouble)(a->counts->parts[i].bytes - a->climb->parts[i].bytes) / a->steps);
  return most;
}

static guint64
limit_of (const Analysis *a, const HrClimbKnob *knob)
{
  const HrKnob *own = &knob->knob;
  gdouble most = (gdouble)own->most, others = 0;

  switch (own->kind) {
  case HR_KNOB_WORKERS:
    if (own->computes)
      most = MIN (most, a->counts->cpus);
    else if (cpu_of (a, own->part) > 0)
      most = MIN (most, ceil (a->counts->cpus * busy_of (a, own->part) / cpu_of (a, own->part)));
    break;
  case HR_KNOB_AHEAD:
    most = MIN (most, (gdouble)a->counts->memory / bytes_of_step (a));
    break;
  case HR_KNOB_QUEUE_BYTES:
    for (guint i = 0; i < a->climb->n_knobs; i++)
      if (&a->climb->knobs[i] != knob && a->climb->knobs[i].knob.active
          && a->climb->knobs[i].knob.kind == HR_KNOB_QUEUE_BYTES)
        others += (gdouble)a->climb->knobs[i].knob.value;
    most = MIN (most, (gdouble)a->counts->memory - others);
    break;
  case HR_KNOB_CONCURRENCY:
  case HR_KNOB_QUEUE_ITEMS:
    break;
  }
  return most >= (gdouble)own->most ? own->most : most > 0 ? (guint64)most : 0;
}

/* the value to try, for about @wanted; not more than its value: there is none */
static guint64
reach (const Analysis *a, const HrClimbKnob *knob, gdouble wanted)
{
  gdouble value = (gdouble)knob->knob.value;
  guint64 limit = limit_of (a, knob);

  if (!knob->knob.active || knob->spent || !has_rested (a->climb, knob, a->counts->now))
    return 0;
  wanted = MAX (ceil (wanted), value + 1);
  if (knob->ceiling > 0 && wanted >= (gdouble)knob->ceiling)
    wanted = MIN (floor (sqrt (value * (gdouble)knob->ceiling)),
                  (gdouble)knob->ceiling / HR_CLIMB_APART);
  return wanted >= (gdouble)limit ? limit : (guint64)wanted;
}

static gboolean
can_grow (const Analysis *a, const HrClimbKnob *knob)
{
  return reach (a, knob, (gdouble)knob->knob.value * MOST_FACTOR) > knob->knob.value;
}

static void
analyse (Analysis *a)
{
  guint n = a->climb->n_parts;
  gdouble cpu = 0;

  a->steps = (gdouble)(a->counts->steps - a->climb->begin.steps);
  a->period = (a->counts->now - a->climb->begin.now) / a->steps;
  for (guint i = 0; i < n; i++) {
    a->times[i] = busy_of (a, i) / MAX (a->counts->parts[i].width, 1);
    cpu += cpu_of (a, i);
  }
  a->cpu = cpu / MAX (a->counts->cpus, 1);
  a->goal = MAX (a->cpu, (a->counts->train - a->climb->begin.train) / a->steps);
  for (guint i = 0; i < n; i++) {
    gboolean grows = FALSE;

    for (guint k = 0; k < a->climb->n_knobs; k++) {
      const HrClimbKnob *knob = &a->climb->knobs[k];

      grows |= widens (knob) && knob->knob.part == i && can_grow (a, knob);
    }
    if (!grows && is_awaited (a, i))
      a->goal = MAX (a->goal, a->times[i]);
  }
}

/* ---- what to try ---- */

static gboolean
try_value (HrClimb *climb, HrClimbKnob *knob, guint64 value)
{
  if (value <= knob->knob.value)
    return FALSE;
  hr_climb_turn (climb, knob, value);
  return TRUE;
}

static HrClimbKnob *
find_ahead (HrClimb *climb)
{
  for (guint i = 0; i < climb->n_knobs; i++)
    if (climb->knobs[i].knob.kind == HR_KNOB_AHEAD && climb->knobs[i].knob.active)
      return &climb->knobs[i];
  return NULL;
}

/* as many samples must be under way as there are places for them, and then some */
static void
look_ahead_for (const Analysis *a, HrClimb *climb, const HrClimbKnob *knob)
{
  HrClimbKnob *ahead = find_ahead (climb);
  gdouble items = items_of (a, knob->knob.part), wanted;

  if (ahead == NULL || !a->counts->gated || items <= 0 || ahead->knob.value != ahead->before)
    return;
  wanted = 2 * (gdouble)knob->knob.value / items;
  if (wanted > (gdouble)ahead->knob.value + 1)
    try_value (climb, ahead, reach (a, ahead, wanted - 1));
}

static gdouble
factor_of (const Analysis *a, const HrClimbKnob *knob)
{
  guint part = knob->knob.part;
  gboolean slower = knob->floor > 0; /* each has become, by the last step */

  gdouble factor = a->goal > 0 ? SPARE * a->times[part] / a->goal : MOST_FACTOR;

  return CLAMP (factor, 1.5, slower ? 2 : MOST_FACTOR);
}

static gboolean
is_wanted (const Analysis *a, const HrClimbKnob *knob, gdouble least)
{
  return widens (knob) && can_grow (a, knob) && a->times[knob->knob.part] >= least;
}

/* all that are nearly as slow as the slowest: to make only one of them wider shows nothing */
static gboolean
try_slowest (const Analysis *a, HrClimb *climb)
{
  gdouble most = 0;
  gboolean any = FALSE;

  for (guint i = 0; i < climb->n_knobs; i++)
    if (is_wanted (a, &climb->knobs[i], 0))
      most = MAX (most, a->times[climb->knobs[i].knob.part]);
  if (most < 0.3 * a->period)
    return FALSE;
  for (guint i = 0; i < climb->n_knobs; i++) {
    HrClimbKnob *knob = &climb->knobs[i];

    if (is_wanted (a, knob, 0.7 * most)
        && try_value (climb, knob,
                      reach (a, knob, (gdouble)knob->knob.value * factor_of (a, knob)))) {
      look_ahead_for (a, climb, knob);
      any = TRUE;
    }
  }
  return any;
}

/* a queue that is now full, now empty is too small for how uneven its two sides are */
static gboolean
try_queues (const Analysis *a, HrClimb *climb)
{
  gboolean any = FALSE;

  for (guint i = 0; i < climb->n_knobs; i++) {
    HrClimbKnob *knob = &climb->knobs[i];
    const HrClimbPart *now = &a->counts->parts[knob->knob.part];
    const HrClimbPart *then = &climb->parts[knob->knob.part];

    if (knob->knob.kind != HR_KNOB_QUEUE_ITEMS && knob->knob.kind != HR_KNOB_QUEUE_BYTES)
      continue;
    if (now->n_full - then->n_full >= 2 && now->n_starved - then->n_starved >= 2)
      any |= try_value (climb, knob, reach (a, knob, (gdouble)knob->knob.value * MOST_FACTOR));
  }
  return any;
}

static gboolean
try_ahead (const Analysis *a, HrClimb *climb)
{
  HrClimbKnob *ahead = find_ahead (climb);

  return ahead != NULL
         && try_value (climb, ahead, reach (a, ahead, 2 * (gdouble)ahead->knob.value));
}

/* what is not idle, one after the other */
static gboolean
try_next (const Analysis *a, HrClimb *climb)
{
  HrClimbKnob *best = NULL;

  for (guint i = 0; i < climb->n_knobs; i++) {
    HrClimbKnob *knob = &climb->knobs[i];

    if (is_wanted (a, knob, 0.3 * a->period)
        && (best == NULL || a->times[knob->knob.part] > a->times[best->knob.part]))
      best = knob;
  }
  if (best == NULL || !try_value (climb, best, reach (a, best, 2 * (gdouble)best->knob.value)))
    return FALSE;
  look_ahead_for (a, climb, best);
  return TRUE;
}

/* so many transfers that each has become slower: fewer may be faster. Only transfers: who computes
 * waits for a processor, and who has a place too many for nothing. */
static gboolean
try_fewer (const Analysis *a, HrClimb *climb)
{
  for (guint i = 0; i < climb->n_knobs; i++) {
    HrClimbKnob *knob = &climb->knobs[i];
    gdouble value = (gdouble)knob->knob.value, fewer = floor (sqrt (value * (gdouble)knob->floor));

    if (knob->knob.kind != HR_KNOB_CONCURRENCY || knob->floor == 0 || !knob->knob.active
        || knob->spent_below || fewer > value / HR_CLIMB_APART
        || !has_rested (climb, knob, a->counts->now))
      continue;
    hr_climb_turn (climb, knob, (guint64)fewer);
    return TRUE;
  }
  return FALSE;
}

gboolean
hr_climb_try (HrClimb *climb, const HrClimbCounts *counts)
{
  g_autofree gdouble *times = g_new0 (gdouble, MAX (climb->n_parts, 1));
  Analysis a = { .climb = climb, .counts = counts, .times = times };

  for (guint i = 0; i < climb->n_knobs; i++)
    climb->knobs[i].before = climb->knobs[i].knob.value;
  analyse (&a);
  return (a.goal < ALL * a.period
          && (try_slowest (&a, climb) || try_queues (&a, climb) || try_ahead (&a, climb)
              || try_next (&a, climb)))
         || try_fewer (&a, climb);
}
