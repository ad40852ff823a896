/* hr-climb-private.h: what the climb remembers: hr-climb.c measures and judges, hr-climb-try.c
 * chooses what to try */
#pragma once
#include "hr-climb.h"

/* seconds until a setting that was no better is tried again; doubled each time */
#define HR_CLIMB_REST 60
#define HR_CLIMB_DOUBLINGS 5
/* two values that are nearer to each other make no difference */
#define HR_CLIMB_APART 1.2

typedef enum { HR_CLIMB_LOOK, HR_CLIMB_TRIAL, HR_CLIMB_SETTLED } HrClimbPhase;

typedef struct {
  HrKnob knob;
  guint64 before;              /* the trial */
  guint64 floor;               /* it was worse there, and too far below; 0: unknown */
  guint64 ceiling;             /* it was worse there; 0: unknown */
  gboolean spent, spent_below; /* more, fewer were no better when they were tried last */
  gdouble returned;            /* when; -1: never */
  guint n_fails;               /* one after the other */
} HrClimbKnob;

/* what a window has shown */
typedef struct {
  gdouble rate, error; /* steps a second, and how sure that is */
  gdouble waiting;     /* the trainer's share */
  gdouble train;       /* seconds a step */
} HrClimbLook;

struct _HrClimb {
  HrClimbKnob *knobs;
  guint n_knobs, n_parts;
  HrClimbPart *parts; /* at the window's begin */
  HrClimbCounts begin, slice;
  guint n_slices;
  gdouble sum, squares; /* of the slices' rates */
  HrClimbPhase phase;
  gboolean begun, waits; /* what was under way before the change has to leave first */
  guint64 clear_steps;
  gdouble clear_at;
  guint cpus;
  HrClimbLook base; /* before the trial, or when it settled */
  gboolean was_fed; /* … then */
  gboolean gained;  /* since it settled last */
  guint n_odd;      /* windows in a row that are unlike base */
  gdouble settled, retry;
  guint n_idle;   /* times that it looked again, and found nothing */
  guint n_barren; /* looks before it first settled that found nothing */
};

void hr_climb_turn (HrClimb *climb, HrClimbKnob *knob, guint64 value);
/* FALSE: there is nothing (left) to try; else values have changed, from those in `before` */
gboolean hr_climb_try (HrClimb *climb, const HrClimbCounts *counts);
