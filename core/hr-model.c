/* hr-model.c: how long a step takes and why, from what was measured, and what would change it
 *
 * With steps prepared ahead a step takes as long as the slowest of what goes on at the same time:
 * the trainer, each element, all computing elements on the processors there are. On demand it takes
 * the trainer's time, then the slowest element's, and one buffer's way through all. In serial mode
 * all of it, one after the other.
 */
#include "hr-model.h"
#include <math.h>

/* a model that is further from what was measured is wrong about something */
#define TOLERANCE 0.15
#define LEAST_STEPS 20
#define DEFAULT_AHEAD 4
#define MOST_WIDTH 1024
/* what is made wider gets this much more than would just do: samples are not all alike */
#define SPARE 1.25
/* this share of the processors in other hands is more than what always goes on */
#define CROWD 0.1
/* who wants no more than this share of them gets it, however many others there are */
#define MODEST 0.1
/* a change that makes it less than this many times as fast is none */
#define LEAST_SPEEDUP 1.05
/* who works for less than this share of the time is not what is waited for, though all others work
 * less */
#define BUSY 0.5
/* one change at a time: what was measured says little of a run that is quite another */
#define MOST_GROWTH 8

static gdouble
part_time (const HrModelPart *part)
{
  gdouble width = MAX (1, MIN ((gdouble)part->width, MAX (part->items, 1)));

  return part->busy / width;
}

/* prepared ahead, buffers of several steps are under way, and all workers have one */
static gdouble
part_time_ahead (const HrModelPart *part)
{
  return part->busy / MAX (1, part->width);
}

static gdouble
cpu_time (const HrModel *model)
{
  gdouble sum = 0;

  for (guint i = 0; i < model->n_parts; i++)
    sum += model->parts[i].cpu;
  return sum;
}

/* those that it could have computed on, had it wanted */
static gdouble
could_use (const HrModel *model)
{
  gdouble processors = MAX (1, model->processors);

  return model->free > 0 ? MIN (processors, model->free) : processors;
}

/* others take processors that it may use: how many it gets if it wants more, nobody can say */
static gboolean
is_crowded (const HrModel *model)
{
  return could_use (model) < (1 - CROWD) * MAX (1, model->processors);
}

static gdouble
capacity (const HrModel *model)
{
  return model->starved ? could_use (model) : MAX (1, model->processors);
}

/* in serial mode one after the other computes */
static gdouble
processor_time (const HrModel *model)
{
  return model->serial ? 0 : cpu_time (model) / capacity (model);
}

/* the slowest of all that is prepared */
static gdouble
slowest (const HrModel *model, int *binds)
{
  gdouble most = processor_time (model);

  *binds = most > 0 ? HR_MODEL_PROCESSORS : HR_MODEL_NOTHING;
  for (guint i = 0; i < model->n_parts; i++) {
    const HrModelPart *part = &model->parts[i];
    gdouble time = model->serial      ? part->busy
                   : model->ahead > 0 ? part_time_ahead (part)
                                      : part_time (part);

    if (time > 0 && time >= most) {
      most = time;
      *binds = (int)i;
    }
  }
  return most;
}

/* seconds until a step is there when nothing was prepared */
static gdouble
way_through (const HrModel *model)
{
  gdouble sum = 0;

  for (guint i = 0; i < model->n_parts; i++) {
    const HrModelPart *part = &model->parts[i];

    sum += model->serial ? part->busy : part->busy / MAX (part->items, 1);
  }
  return sum;
}

gdouble
hr_model_period (const HrModel *model, int *binds)
{
  int who;
  gdouble time = slowest (model, &who), way;

  if (model->serial) {
    time = model->train + way_through (model);
  } else if (model->ahead == 0) {
    /* the first buffer's way is part of it */
    way = way_through (model);
    if (who >= 0)
      way -= model->parts[who].busy / MAX (model->parts[who].items, 1);
    time += model->train + MAX (way, 0);
  } else if (time <= model->train) {
    time = model->train;
    who = HR_MODEL_TRAINER;
  }
  if (binds != NULL)
    *binds = who;
  return time;
}

gdouble
hr_model_wait_ratio (const HrModel *model)
{
  gdouble period = hr_model_period (model, NULL);

  return period > 0 ? CLAMP (1 - model->train / period, 0, 1) : 0;
}

gdouble
hr_model_measured (const HrModel *model)
{
  gdouble sum = model->train + model->wait;

  return sum > 0 ? model->wait / sum : 0;
}

static gboolean
has_enough_steps (const HrModel *model)
{
  return model->steps >= MAX (LEAST_STEPS, (guint64)model->ahead * 5);
}

gboolean
hr_model_is_sure (const HrModel *model)
{
  gdouble measured = model->train + model->wait;

  return has_enough_steps (model) && measured > 0
         && fabs (hr_model_period (model, NULL) - measured) <= TOLERANCE * measured;
}

int
hr_model_bottleneck (const HrModel *model)
{
  int who;

  if (model->train > 0 && hr_model_measured (model) <= HR_MODEL_GOOD_WAIT_RATIO)
    return HR_MODEL_TRAINER;
  slowest (model, &who);
  return who;
}

int
hr_model_hungriest (const HrModel *model)
{
  int who = -1;

  for (guint i = 0; i < model->n_parts; i++)
    if (who < 0 || model->parts[i].cpu > model->parts[who].cpu)
      who = (int)i;
  return who;
}

/* ---- changes ---- */

/* as wide as makes it no slower than the rest */
static guint
width_for (const HrModelPart *part, gdouble goal)
{
  gdouble width = goal > 0 ? ceil (SPARE * part->busy / goal) : MOST_WIDTH;

  return (guint)CLAMP (width, part->width + 1.0,
                       MIN (MOST_WIDTH, MAX (part->width, 1) * (gdouble)MOST_GROWTH));
}

/* the time of all but part @without */
static gdouble
rest (const HrModel *model, int without)
{
  gdouble most = MAX (model->train, processor_time (model));

  for (guint i = 0; i < model->n_parts; i++)
    if ((int)i != without)
      most = MAX (most, part_time_ahead (&model->parts[i]));
  return most;
}

static void
predict (const HrModel *model, HrModel *changed, HrChange *change)
{
  int next;
  gdouble after;

  changed->starved = FALSE;
  after = hr_model_period (changed, &next);
  if (cpu_time (changed) > MODEST * MAX (1, changed->processors) * after) {
    changed->starved = TRUE; /* it will want more than it did */
    after = hr_model_period (changed, &next);
  }

  if (!hr_model_is_sure (model) || (next == HR_MODEL_PROCESSORS && is_crowded (changed)))
    return;
  change->next = next;
  change->wait_ratio = hr_model_wait_ratio (changed);
  change->speedup = after > 0 ? hr_model_period (model, NULL) / after : NAN;
}

static void
widen (const HrModel *model, int who, HrChange *change)
{
  g_autofree HrModelPart *parts = g_memdup2 (model->parts, model->n_parts * sizeof *model->parts);
  HrModel changed = *model;
  HrModelPart *part = &parts[who];

  changed.parts = parts;
  change->part = who;
  change->kind = part->kind == HR_MODEL_LATENCY ? HR_CHANGE_CONCURRENCY : HR_CHANGE_WORKERS;
  part->width = change->value = width_for (part, rest (model, who));
  predict (model, &changed, change);
}

static void
advise_processors (const HrModel *model, HrChange *change)
{
  HrModel changed = *model;

  change->kind = is_crowded (model) ? HR_CHANGE_CROWDED : HR_CHANGE_PROCESSORS;
  if (change->kind == HR_CHANGE_CROWDED || model->processors >= model->machine)
    return;
  change->kind = HR_CHANGE_CPUS;
  changed.processors = change->value = model->machine;
  predict (model, &changed, change);
}

static void
advise_ahead (const HrModel *model, HrChange *change)
{
  HrModel changed = *model;

  if (model->serial) {
    changed.serial = FALSE;
    change->kind = HR_CHANGE_NOT_SERIAL;
    predict (model, &changed, change);
    /* one that takes it all, on demand as well: threads alone do not help */
    if (changed.ahead > 0 || !(change->speedup < LEAST_SPEEDUP))
      return;
  } else {
    change->kind = HR_CHANGE_PREFETCH;
  }
  changed.ahead = change->value = DEFAULT_AHEAD;
  predict (model, &changed, change);
}

/* With steps ahead either somebody works all the time, or the trainer is fed: if part @who, which
 * works most, does not, what holds it is none of what is measured. */
static gboolean
is_held (const HrModel *model, int who)
{
  return has_enough_steps (model) && !hr_model_is_sure (model)
         && part_time_ahead (&model->parts[who]) < BUSY * (model->train + model->wait);
}

/* no setting makes it wider: what would be next if there were less of it */
static void
advise_less (const HrModel *model, int who, HrChangeKind kind, HrChange *change)
{
  g_autofree HrModelPart *parts = g_memdup2 (model->parts, model->n_parts * sizeof *model->parts);
  HrModel changed = *model;
  int next;

  changed.parts = parts;
  parts[who].busy = 0;
  change->part = who;
  change->kind = kind;
  hr_model_period (&changed, &next);
  if (hr_model_is_sure (model))
    change->next = next;
}

void
hr_model_advise (const HrModel *model, HrChange *change)
{
  int who = hr_model_bottleneck (model);

  *change = (HrChange){ HR_CHANGE_NONE, -1, 0, NAN, NAN, HR_MODEL_NOTHING };
  if (who == HR_MODEL_TRAINER || who == HR_MODEL_NOTHING)
    return;
  if (model->serial || model->ahead == 0) {
    advise_ahead (model, change);
    return;
  }
  if (who == HR_MODEL_PROCESSORS) {
    advise_processors (model, change);
    return;
  }
  switch (model->parts[who].kind) {
  case HR_MODEL_WORK:
  case HR_MODEL_COPY:
  case HR_MODEL_LATENCY:
    if (is_held (model, who))
      *change = (HrChange){ HR_CHANGE_HELD, who, 0, NAN, NAN, HR_MODEL_NOTHING };
    else if (model->parts[who].grows && model->parts[who].automatic)
      *change = (HrChange){ HR_CHANGE_AUTOMATIC, who, 0, NAN, NAN, HR_MODEL_NOTHING };
    else if (model->parts[who].grows)
      widen (model, who, change);
    else
      advise_less (model, who,
                   model->parts[who].kind == HR_MODEL_COPY ? HR_CHANGE_BYTES : HR_CHANGE_ALONE,
                   change);
    break;
  case HR_MODEL_BANDWIDTH:
  case HR_MODEL_TRANSFER:
    advise_less (model, who, HR_CHANGE_BYTES, change);
    break;
  case HR_MODEL_SECOND:
    advise_less (model, who, HR_CHANGE_ALONE, change);
    break;
  }
}
