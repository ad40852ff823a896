/* hr-model.h: how long a step takes and why, from what was measured, and what would change it.
 * Private to the core. Pure functions of numbers: docs/verdict.md explains them. */
#pragma once
#include <glib.h>

/* below this the trainer is hardly kept waiting, whatever happens upstream */
#define HR_MODEL_GOOD_WAIT_RATIO 0.05

typedef enum {
  HR_MODEL_WORK,      /* its workers compute, or wait for a disk */
  HR_MODEL_COPY,      /* … copy bytes, and hardly anything else */
  HR_MODEL_LATENCY,   /* requests in flight, waiting for their answers */
  HR_MODEL_BANDWIDTH, /* … reading them */
  HR_MODEL_TRANSFER,  /* copies to a device */
  HR_MODEL_SECOND     /* another trainer, beside the one whose waiting is looked at */
} HrModelKind;

/**
 * HrModelPart:
 * @busy: seconds of work a step, of all workers together, as it is where a processor is free; of
 *   requests: that they were in flight, summed over all of them; of bandwidth and transfers: that
 *   any was under way
 * @cpu: seconds of processors a step
 * @items: buffers or requests a step
 * @width: how many go on at once: workers, concurrency; 1 of bandwidth and transfers
 * @grows: a property can make it wider
 * @automatic: that property is found while it runs (docs/auto.md), so that nobody need set it
 * @copied: bytes a step
 */
typedef struct {
  const char *name;
  HrModelKind kind;
  gdouble busy, cpu, items;
  guint width;
  gboolean grows;
  gdouble copied;
  gboolean automatic;
} HrModelPart;

/**
 * HrModel:
 * @train: seconds of the trainer's own, a step
 * @wait: seconds it waited, a step; measured, never predicted from
 * @steps: that were measured
 * @ahead: steps that are prepared while the trainer works; 0: on demand
 * @processors: that may be computed on
 * @machine: that there are
 * @free: those that others, programs and this program's other threads, left to the pipeline: what
 * it computed on and what had nothing to do; 0: not known
 * @starved: what computes waited for processors: it would have used more of them. Else the pipeline
 *   got all that it asked for, however few were free
 * @trainer: its name; NULL: there is only a sink that takes what comes
 */
typedef struct {
  const char *trainer;
  gdouble train, wait;
  guint64 steps;
  guint ahead;
  gboolean serial;
  guint processors, machine;
  gdouble free;
  gboolean starved;
  HrModelPart *parts;
  guint n_parts;
} HrModel;

/* what binds: a part, or the trainer, or the processors, all of them; or nothing has worked yet */
#define HR_MODEL_TRAINER (-1)
#define HR_MODEL_PROCESSORS (-2)
#define HR_MODEL_NOTHING (-3)

/* seconds a step takes by the model; @binds: (out) (optional) */
gdouble hr_model_period (const HrModel *model, int *binds);
/* the trainer's share of waiting by the model */
gdouble hr_model_wait_ratio (const HrModel *model);
/* what was measured */
gdouble hr_model_measured (const HrModel *model);
/* Is the model right about the run as it was? If not it predicts nothing. */
gboolean hr_model_is_sure (const HrModel *model);

/* what the trainer waits for: a part, or %HR_MODEL_TRAINER, %HR_MODEL_PROCESSORS,
 * %HR_MODEL_NOTHING */
int hr_model_bottleneck (const HrModel *model);
/* the part that computes most; -1: there is none */
int hr_model_hungriest (const HrModel *model);

typedef enum {
  HR_CHANGE_NONE,        /* the trainer is fed */
  HR_CHANGE_NOT_SERIAL,  /* leave out serial=true; with a value: and a prefetchqueue */
  HR_CHANGE_PREFETCH,    /* a prefetchqueue */
  HR_CHANGE_WORKERS,     /* of part */
  HR_CHANGE_CONCURRENCY, /* of part */
  HR_CHANGE_CPUS,        /* the pipeline's cpus */
  HR_CHANGE_PROCESSORS,  /* all processors are at work: a larger machine, or less work */
  HR_CHANGE_CROWDED,     /* … for others, too */
  HR_CHANGE_AUTOMATIC,   /* the property of part that would help is found by itself */
  HR_CHANGE_HELD,        /* part works more than others, and little: something else holds it */
  HR_CHANGE_ALONE,       /* part has one worker and can have no more: less work for it */
  HR_CHANGE_BYTES        /* part's line is full, or it copies too much: fewer bytes */
} HrChangeKind;

/**
 * HrChange:
 * @part: whose; -1: nobody's
 * @value: of the property
 * @wait_ratio: predicted; NAN: nothing is predicted
 * @speedup: predicted: how many times as many steps a second; NAN: nothing is predicted
 * @next: what binds then, or if no setting helps, what would bind if there were less of it; a part,
 *   or %HR_MODEL_TRAINER or %HR_MODEL_PROCESSORS; %HR_MODEL_NOTHING: that cannot be told
 */
typedef struct {
  HrChangeKind kind;
  int part;
  guint value;
  gdouble wait_ratio, speedup;
  int next;
} HrChange;

/* the one change that helps most, and how far */
void hr_model_advise (const HrModel *model, HrChange *change);
