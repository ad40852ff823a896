/* trainsim.c: stands for a trainer */
#include "headrace.h"

typedef struct {
  gint64 step_time;
} TrainSim;

static const HrProp props[] = { HR_PROP_DURATION (TrainSim, step_time, 0, 3600 * HR_SECOND,
                                                  200 * HR_MSEC, "How long a step takes",
                                                  .flags = HR_PROP_LIVE),
                                HR_PROP_END };

static gboolean
trainsim_consume (gconstpointer data, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
                  GError **error G_GNUC_UNUSED)
{
  gint64 step_time = hr_live_int (&((const TrainSim *)data)->step_time);

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
        "asking for a batch until it is there, over that and the steps, the first batch apart.",
    .examples =
        (const char *const[]){ "fakesrc num-buffers=12 ! batch size=4 ! trainsim step-time=2ms",
                               NULL },
    .props = props, .waits = TRUE, .trains = TRUE, .takes_holes = TRUE, .consume = trainsim_consume)
