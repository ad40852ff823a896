/* hr-climb.c: settings by trial: what binds is made wider, by factors; it stays so if steps come
 * faster, else it goes back and is left alone for a time that grows
 *
 * A look has slices of some steps each; from how much they differ follows how sure their mean is.
 * Two settings are compared until it is clear which is better, or for MOST_SLICES. */
#include "hr-climb.h"
#include <math.h>
#include <string.h>

#define SLICE_SECONDS 0.09
#define SLICE_STEPS 3
#define LEAST_SLICES 4
#define MOST_SLICES 32
/* a setting that gives less is not worth its threads and bytes */
#define LEAST_GAIN 0.05
/* the trainer is hardly kept waiting; when it waits more again the climb goes on */
#define FED 0.05
#define HUNGRY 0.10
/* settled, and the rate is that much another: the load has changed */
#define CHANGED 0.25
/* seconds until a setting that was no better is tried again; doubled each time */
#define REST 60
#define MOST_DOUBLINGS 5
/* what is made wider gets this much more than would just do: samples are not all alike */
#define SPARE 1.25
#define MOST_FACTOR 4.0
/* two values that are nearer to each other make no difference */
#define APART 1.2
/* of a step's time: what cannot be made shorter takes nearly all of it */
#define ALL 0.92
/* a part whose work is that much computing gains nothing from more workers than processors */
#define COMPUTES 0.5

typedef enum { PHASE_LOOK, PHASE_TRIAL, PHASE_SETTLED } Phase;

typedef struct {
  HrKnob knob;
  guint64 before;              /* the trial */
  guint64 floor;               /* it was worse there, and too far below; 0: unknown */
  guint64 ceiling;             /* it was worse there; 0: unknown */
  gboolean spent, spent_below; /* more, fewer were no better when they were tried last */
  gdouble returned;            /* when; -1: never */
  guint n_fails;               /* one after the other */
} Knob;

/* what a window has shown */
typedef struct {
  gdouble rate, error; /* steps a second, and how sure that is */
  gdouble waiting;     /* the trainer's share */
  gdouble train;       /* seconds a step */
} Look;

struct _HrClimb {
  Knob *knobs;
  guint n_knobs, n_parts;
  HrClimbPart *parts; /* at the window's begin */
  HrClimbCounts begin, slice;
  guint n_slices;
  gdouble sum, squares; /* of the slices' rates */
  Phase phase;
  gboolean begun, waits; /* what was under way before the change has to leave first */
  guint64 clear_steps;
  gdouble clear_at;
  guint cpus;
  Look base;        /* before the trial, or when it settled */
  gboolean was_fed; /* … then */
  gboolean gained;  /* since it settled last */
  guint n_odd;      /* windows in a row that are unlike base */
  gdouble settled, retry;
  guint n_idle; /* times that it looked again, and found nothing */
};

HrClimb *
hr_climb_new (const HrKnob *knobs, guint n_knobs, guint n_parts)
{
  HrClimb *climb = g_new0 (HrClimb, 1);

  climb->knobs = g_new0 (Knob, MAX (n_knobs, 1));
  climb->n_knobs = n_knobs;
  climb->n_parts = n_parts;
  climb->parts = g_new0 (HrClimbPart, MAX (n_parts, 1));
  climb->settled = -1;
  for (guint i = 0; i < n_knobs; i++)
    climb->knobs[i] = (Knob){ .knob = knobs[i], .returned = -1 };
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
  return climb->phase == PHASE_SETTLED;
}

gdouble
hr_climb_get_settled (const HrClimb *climb)
{
  return climb->settled;
}

void
hr_climb_set_knob (HrClimb *climb, guint index, gboolean active, guint64 value)
{
  Knob *knob = &climb->knobs[index];

  if (knob->knob.active == active && knob->knob.value == value)
    return;
  /* what was being tried is no longer what is compared */
  knob->before = knob->knob.value = value;
  knob->knob.active = active;
  knob->spent = knob->spent_below = FALSE;
  knob->floor = knob->ceiling = 0;
  climb->begun = FALSE;
  climb->phase = PHASE_LOOK;
}

static void
turn (HrClimb *climb, Knob *knob, guint64 value)
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

static Look
look_at (const HrClimb *climb, const HrClimbCounts *counts)
{
  gdouble time = counts->now - climb->begin.now, n = climb->n_slices, mean = climb->sum / n;
  gdouble steps = (gdouble)(counts->steps - climb->begin.steps);
  gdouble train = counts->train - climb->begin.train, wait = counts->wait - climb->begin.wait;
  gdouble variance = MAX (climb->squares / n - mean * mean, 0) * n / (n - 1);

  return (Look){ .rate = steps / time,
                 .error = sqrt (variance / n),
                 .waiting = train + wait > 0 ? wait / (train + wait) : 1,
                 .train = train / steps };
}

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
computes (const Analysis *a, guint part)
{
  return cpu_of (a, part) >= COMPUTES * busy_of (a, part);
}

static gboolean
widens (const Knob *knob)
{
  return knob->knob.kind == HR_KNOB_WORKERS || knob->knob.kind == HR_KNOB_CONCURRENCY;
}

static gboolean
has_rested (const HrClimb *climb, const Knob *knob, gdouble now)
{
  guint doublings = MIN (MAX (knob->n_fails, 1) - 1, MOST_DOUBLINGS);

  return climb->settled < 0 || knob->returned < 0
         || now >= knob->returned + REST * (gdouble)(1u << doublings);
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
limit_of (const Analysis *a, const Knob *knob)
{
  const HrKnob *own = &knob->knob;
  gdouble most = (gdouble)own->most, others = 0;

  switch (own->kind) {
  case HR_KNOB_WORKERS:
    if (computes (a, own->part))
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
reach (const Analysis *a, const Knob *knob, gdouble wanted)
{
  gdouble value = (gdouble)knob->knob.value;
  guint64 limit = limit_of (a, knob);

  if (!knob->knob.active || knob->spent || !has_rested (a->climb, knob, a->counts->now))
    return 0;
  wanted = MAX (ceil (wanted), value + 1);
  if (knob->ceiling > 0 && wanted >= (gdouble)knob->ceiling)
    wanted = MIN (floor (sqrt (value * (gdouble)knob->ceiling)), (gdouble)knob->ceiling / APART);
  return wanted >= (gdouble)limit ? limit : (guint64)wanted;
}

static gboolean
can_grow (const Analysis *a, const Knob *knob)
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
      const Knob *knob = &a->climb->knobs[k];

      grows |= widens (knob) && knob->knob.part == i && can_grow (a, knob);
    }
    if (!grows)
      a->goal = MAX (a->goal, a->times[i]);
  }
}

/* ---- what to try ---- */

static gboolean
try_value (HrClimb *climb, Knob *knob, guint64 value)
{
  if (value <= knob->knob.value)
    return FALSE;
  turn (climb, knob, value);
  return TRUE;
}

static Knob *
find_ahead (HrClimb *climb)
{
  for (guint i = 0; i < climb->n_knobs; i++)
    if (climb->knobs[i].knob.kind == HR_KNOB_AHEAD && climb->knobs[i].knob.active)
      return &climb->knobs[i];
  return NULL;
}

/* as many samples must be under way as there are places for them, and then some */
static void
look_ahead_for (const Analysis *a, HrClimb *climb, const Knob *knob)
{
  Knob *ahead = find_ahead (climb);
  gdouble items = items_of (a, knob->knob.part), wanted;

  if (ahead == NULL || !a->counts->gated || items <= 0 || ahead->knob.value != ahead->before)
    return;
  wanted = 2 * (gdouble)knob->knob.value / items;
  if (wanted > (gdouble)ahead->knob.value + 1)
    try_value (climb, ahead, reach (a, ahead, wanted - 1));
}

static gdouble
factor_of (const Analysis *a, const Knob *knob)
{
  guint part = knob->knob.part;
  gboolean slower = knob->floor > 0; /* each has become, by the last step */

  gdouble factor = a->goal > 0 ? SPARE * a->times[part] / a->goal : MOST_FACTOR;

  return CLAMP (factor, 1.5, slower ? 2 : MOST_FACTOR);
}

static gboolean
is_wanted (const Analysis *a, const Knob *knob, gdouble least)
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
    Knob *knob = &climb->knobs[i];

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
    Knob *knob = &climb->knobs[i];
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
  Knob *ahead = find_ahead (climb);

  return ahead != NULL
         && try_value (climb, ahead, reach (a, ahead, 2 * (gdouble)ahead->knob.value));
}

/* what is not idle, one after the other */
static gboolean
try_next (const Analysis *a, HrClimb *climb)
{
  Knob *best = NULL;

  for (guint i = 0; i < climb->n_knobs; i++) {
    Knob *knob = &climb->knobs[i];

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
    Knob *knob = &climb->knobs[i];
    gdouble value = (gdouble)knob->knob.value, fewer = floor (sqrt (value * (gdouble)knob->floor));

    if (knob->knob.kind != HR_KNOB_CONCURRENCY || knob->floor == 0 || !knob->knob.active
        || knob->spent_below || fewer > value / APART || !has_rested (climb, knob, a->counts->now))
      continue;
    turn (climb, knob, (guint64)fewer);
    return TRUE;
  }
  return FALSE;
}

static gboolean
try_something (HrClimb *climb, const HrClimbCounts *counts)
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

/* ---- whether it was better ---- */

typedef enum { JUDGED_UNSURE, JUDGED_BETTER, JUDGED_SAME, JUDGED_WORSE } Judged;

static Judged
judge (const HrClimb *climb, const Look *look)
{
  const Look *base = &climb->base;
  gdouble gain = look->rate / base->rate - 1;
  gdouble error = 2 * hypot (look->error / look->rate, base->error / base->rate);
  gboolean last = climb->n_slices >= MOST_SLICES;

  if (look->waiting <= FED)
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
    Knob *knob = &climb->knobs[i];

    if (knob->knob.value == knob->before)
      continue;
    if (knob->knob.value < knob->before) {
      knob->floor = knob->knob.value;
      knob->spent_below = climb->settled >= 0;
    } else {
      if (worse)
        knob->ceiling = knob->knob.value;
      /* between the two there may be better ones */
      knob->spent = !worse || climb->settled >= 0 || knob->knob.value <= knob->before * 2;
    }
    turn (climb, knob, knob->before);
    knob->knob.n_returns++;
    knob->returned = counts->now;
    knob->n_fails++;
  }
}

static void
keep (HrClimb *climb, const Look *look)
{
  gdouble gain = look->rate / climb->base.rate;

  climb->gained = TRUE;
  for (guint i = 0; i < climb->n_knobs; i++) {
    Knob *knob = &climb->knobs[i];

    knob->spent = knob->spent_below = FALSE; /* now something else binds */
    if (knob->knob.value != knob->before)
      knob->n_fails = 0;
    if (knob->knob.value < knob->before)
      knob->ceiling = knob->before;
    else if (knob->knob.value > knob->before)
      knob->floor =
          gain * APART < (gdouble)knob->knob.value / (gdouble)knob->before ? knob->before : 0;
    knob->before = knob->knob.value;
  }
}

static void
settle (HrClimb *climb, const HrClimbCounts *counts, const Look *look)
{
  climb->phase = PHASE_SETTLED;
  climb->settled = counts->now;
  climb->base = *look;
  climb->was_fed = look->waiting <= FED;
  climb->n_odd = 0;
  climb->n_idle = climb->gained ? 0 : climb->n_idle + 1;
  climb->retry = counts->now + REST * (gdouble)(1u << MIN (climb->n_idle, MOST_DOUBLINGS));
}

/* settled: has the load become another one, or is it time to try again? */
static gboolean
opens_again (HrClimb *climb, const HrClimbCounts *counts, const Look *look)
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
    Knob *knob = &climb->knobs[i];

    knob->spent = knob->spent_below = FALSE;
    if (climb->n_odd > 0) /* what is known is of another load */
      knob->floor = knob->ceiling = 0;
  }
}

/* ---- a look ---- */

static gboolean
decide (HrClimb *climb, const HrClimbCounts *counts)
{
  Look look = look_at (climb, counts);
  Judged judged;

  switch (climb->phase) {
  case PHASE_TRIAL:
    judged = judge (climb, &look);
    if (judged == JUDGED_UNSURE)
      return FALSE;
    if (judged != JUDGED_BETTER) {
      go_back (climb, counts, judged == JUDGED_WORSE);
      climb->phase = PHASE_LOOK;
      return TRUE;
    }
    keep (climb, &look);
    break;
  case PHASE_SETTLED:
    if (climb->n_slices < 2 * LEAST_SLICES)
      return FALSE;
    if (!opens_again (climb, counts, &look)) {
      begin_window (climb, counts);
      return FALSE;
    }
    open_again (climb);
    break;
  case PHASE_LOOK:
    if (look.error > LEAST_GAIN * look.rate && climb->n_slices < 2 * LEAST_SLICES)
      return FALSE;
    break;
  }
  if (look.waiting <= FED || !try_something (climb, counts)) {
    settle (climb, counts, &look);
    begin_window (climb, counts);
    return FALSE;
  }
  climb->base = look;
  climb->phase = PHASE_TRIAL;
  return TRUE;
}

/* fewer processors than before: at once */
static gboolean
obey (HrClimb *climb, const HrClimbCounts *counts)
{
  gboolean fewer = climb->cpus > counts->cpus, changed = FALSE;

  climb->cpus = counts->cpus;
  for (guint i = 0; fewer && i < climb->n_knobs; i++) {
    Knob *knob = &climb->knobs[i];
    const HrClimbPart *part = &counts->parts[knob->knob.part];

    if (knob->knob.kind != HR_KNOB_WORKERS || !knob->knob.active || knob->knob.value <= counts->cpus
        || part->cpu < COMPUTES * part->busy)
      continue;
    turn (climb, knob, MAX (counts->cpus, knob->knob.least));
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
    climb->phase = PHASE_LOOK;
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
