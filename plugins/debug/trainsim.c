/* trainsim.c: stands for a trainer */
#include "headrace.h"

typedef struct {
  gint64 step_time;
  guint64 change_after;
  gint64 later_step_time;
} TrainSim;

static const HrProp props[] = {
  HR_PROP_DURATION (TrainSim, step_time, 0, 3600 * HR_SECOND, 200 * HR_MSEC,
                    "How long a step takes", .flags = HR_PROP_LIVE),
  HR_PROP_UINT (TrainSim, change_after, 0, G_MAXINT64, 0,
                "Steps after which each takes later-step-time; 0: never", .unit = "steps"),
  HR_PROP_DURATION (TrainSim, later_step_time, 0, 3600 * HR_SECOND, 200 * HR_MSEC,
                    "How long a step takes behind the change", .flags = HR_PROP_LIVE),
  HR_PROP_END
};

/* steps that it has taken; a sink has one thread */
typedef struct {
  guint64 n;
} State;

static gboolean
trainsim_consume (gconstpointer data, gpointer worker, HrBuffer *in, HrOut *out,
                  GError **error G_GNUC_UNUSED)
{
  const TrainSim *self = data;
  State *state = worker;
  gboolean later = self->change_after > 0 && state->n >= self->change_after;
  gint64 step_time = hr_live_int (later ? &self->later_step_time : &self->step_time);

  state->n++;

  /* a trainer holds its batch until the step is done */
  if (step_time > 0)
    hr_out_sleep (out, step_time);
  hr_buffer_unref (in);
  return TRUE;
}

HR_ELEMENT (
    trainsim, TrainSim, .summary = "Stand for a trainer: hold each batch for one step",
    .description =
        "Takes a batch (or a sample, without `batch`), holds it for step-time, and asks for the "
        "next. The run's wait ratio is what a trainer with such steps would see: the time from "
        "asking for a batch until it is there, over that and the steps, the first batch apart. "
        "With "
        "change-after it becomes faster or slower on the way, as real ones do.",
    .examples =
        (const char *const[]){ "fakesrc num-buffers=12 ! batch size=4 ! trainsim step-time=2ms",
                               "fakesrc num-buffers=12 ! trainsim step-time=4ms change-after=6 "
                               "later-step-time=1ms",
                               NULL },
    .worker_size = sizeof (State), .props = props, .waits = TRUE, .trains = TRUE,
    .takes_holes = TRUE, .consume = trainsim_consume)
