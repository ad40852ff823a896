/* hr-verdict.c: what the trainer waits for: the numbers of the run, as hr-model.h wants them */
#include "hr-verdict.h"
#include "hr-advice.h"
#include "hr-topology.h"

/* a copy is no slower than this, or it is not what took the time */
#define COPY_SECONDS_PER_BYTE 1e-9

/* of one element, up to some moment */
typedef struct {
  gint64 worked; /* and waited for a processor */
  gint64 cpu;
  gint64 items, copied;
  gint64 flown; /* requests, summed */
  gint64 n_transfers;
  gint64 moved; /* to a device */
} Sum;

struct _HrVerdictBase {
  gint64 steps;
  gint64 wait, train; /* without what the device was waited for */
  Sum sums[];
};

static gboolean
is_trainer (const HrElementDef *def)
{
  return def->trains || hr_element_def_is_pulled (def);
}

static HrRun *
find_trainer (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];

    if (element->run != NULL && is_trainer (element->def))
      return element->run;
  }
  return NULL;
}

static void
sum_up (HrRun *run, Sum *sum)
{
  HrWorker workers;
  gint64 waited = 0;

  hr_run_sum (run, &workers);
  *sum = (Sum){ workers.working + workers.blocked_cpu,
                workers.cpu,
                (gint64)workers.items,
                (gint64)workers.copied,
                hr_counter_get (&run->first_byte_time) + hr_counter_get (&run->body_time),
                (gint64)hr_counter_get (&run->n_transfers),
                0 };
  if (run->def->transfers != NULL && run->started)
    run->def->transfers (run->self, run->shared, &sum->moved, &waited);
}

/* … or a sink that takes what comes: a trainer that takes no time */
static HrRun *
find_taker (HrPipeline *pipeline)
{
  HrRun *run = find_trainer (pipeline);

  for (guint i = 0; run == NULL && i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];

    if (element->run != NULL && element->outputs->len == 0)
      run = element->run;
  }
  return run;
}

/* the trainer's time, what it waited for a device counted as waiting */
static void
sum_trainer (HrPipeline *pipeline, const HrRun *run, gint64 *wait, gint64 *train)
{
  gint64 copied, waited;

  *wait = hr_counter_get (&run->wait_time);
  *train = hr_counter_get (&run->train_time);
  hr_pipeline_get_transfers (pipeline, &copied, &waited);
  waited = MIN (waited, *train);
  *wait += waited;
  *train -= waited;
}

void
hr_verdict_begin (HrPipeline *pipeline)
{
  guint n = pipeline->elements->len;
  HrRun *trainer = find_taker (pipeline);
  HrVerdictBase *base, *none = NULL;

  if (trainer == NULL || __atomic_load_n (&pipeline->verdict_base, __ATOMIC_ACQUIRE) != NULL)
    return;
  base = g_malloc0 (sizeof *base + n * sizeof (Sum));
  base->steps = hr_counter_get (&trainer->step);
  sum_trainer (pipeline, trainer, &base->wait, &base->train);
  for (guint i = 0; i < n; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (element->run != NULL)
      sum_up (element->run, &base->sums[i]);
  }
  if (!__atomic_compare_exchange_n (&pipeline->verdict_base, &none, base, FALSE, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
    g_free (base);
}

/* ---- the model ---- */

/* its transfers wait longer for their first byte than they read */
static gboolean
is_late (const HrRun *run)
{
  return hr_counter_get (&run->first_byte_time) >= hr_counter_get (&run->body_time);
}

static HrModelKind
kind_of_part (const HrRun *run)
{
  if (run->def->submit != NULL && hr_counter_get (&run->n_transfers) > 0)
    return is_late (run) ? HR_MODEL_LATENCY : HR_MODEL_BANDWIDTH;
  return HR_MODEL_WORK;
}

static void
fill_part (HrModelPart *part, const HrRun *run, const Sum *sum, gdouble steps)
{
  const HrElementDef *def = run->def;

  part->name = hr_element_get_name (run->element);
  part->kind = kind_of_part (run);
  part->busy = (gdouble)sum->worked / 1e9 / steps;
  part->cpu = (gdouble)sum->cpu / 1e9 / steps;
  part->items = (gdouble)sum->items / steps;
  part->width = hr_run_get_n_workers (run);
  part->grows = def->parallel == HR_PARALLEL_YES || def->each != NULL;
  if (part->kind == HR_MODEL_LATENCY) {
    part->busy = (gdouble)sum->flown / 1e9 / steps;
    part->items = (gdouble)sum->n_transfers / steps;
    part->width = def->concurrency != NULL ? (guint)def->concurrency (run->self) : 1;
    part->grows = def->concurrency != NULL;
  }
}

/* steps that are prepared while the trainer works; of a serial run: that would be */
static guint
steps_ahead (HrPipeline *pipeline, const HrRun *trainer)
{
  gboolean batches = FALSE;

  /* without a batch nobody asks for steps: the queues between elements look ahead */
  if (!pipeline->settings.serial)
    return trainer->gated ? (guint)trainer->ahead : 1;
  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];
    guint64 bytes = 0;
    guint steps = 0, warm_up = 0;

    if (element->def->lookahead != NULL) {
      element->def->lookahead (element->self, &steps, &bytes, &warm_up);
      return steps;
    }
    batches |= element->def->group != NULL;
  }
  return batches ? 0 : 1;
}

/* In serial mode one thread does all, and the process has the only clock: each element has its part
 * of it. */
static void
share_clock (HrPipeline *pipeline, HrModel *model)
{
  gint64 end = pipeline->ended_at > 0 ? pipeline->ended_at : hr_now ();
  gdouble wall = (gdouble)MAX (end - pipeline->started_at, 1);
  gdouble share = MIN (1, (gdouble)hr_pipeline_get_cpu_time (pipeline) / wall), busy = 0;
  gdouble all = (model->train + model->wait) * share;

  for (guint i = 0; i < model->n_parts; i++)
    busy += model->parts[i].busy;
  for (guint i = 0; i < model->n_parts; i++)
    model->parts[i].cpu =
        busy > 0 ? MIN (model->parts[i].busy, all * model->parts[i].busy / busy) : 0;
}

/* Returns: the parts' array; NULL: there has been no step in its stride */
static HrModelPart *
make_model (HrPipeline *pipeline, HrModel *model)
{
  const HrVerdictBase *base = __atomic_load_n (&pipeline->verdict_base, __ATOMIC_ACQUIRE);
  HrRun *trainer = find_taker (pipeline);
  guint n = pipeline->elements->len;
  HrModelPart *parts;
  gint64 wait, train;
  gdouble steps;

  if (trainer == NULL || base == NULL || hr_counter_get (&trainer->step) <= base->steps)
    return NULL;
  steps = (gdouble)(hr_counter_get (&trainer->step) - base->steps);
  sum_trainer (pipeline, trainer, &wait, &train);
  if (!is_trainer (trainer->def)) { /* its time is an element's */
    wait += train - base->train;
    train = base->train;
  }
  *model = (HrModel){ .train = (gdouble)(train - base->train) / 1e9 / steps,
                      .wait = (gdouble)(wait - base->wait) / 1e9 / steps,
                      .steps = (guint64)steps,
                      .ahead = steps_ahead (pipeline, trainer),
                      .serial = pipeline->settings.serial,
                      .processors = (guint)hr_topology_count_cpus (pipeline),
                      .machine = (guint)hr_topology_count_processors () };
  parts = model->parts = g_new0 (HrModelPart, 2 * n);
  for (guint i = 0; i < n; i++) {
    const HrElement *element = pipeline->elements->pdata[i];
    Sum sum;

    if (element->run == NULL || element->def->trains)
      continue;
    sum_up (element->run, &sum);
    sum.worked -= base->sums[i].worked;
    sum.cpu -= base->sums[i].cpu;
    sum.items -= base->sums[i].items;
    sum.flown -= base->sums[i].flown;
    sum.n_transfers -= base->sums[i].n_transfers;
    sum.moved -= base->sums[i].moved;
    if (!is_trainer (element->def)) /* a sink of another kind works beside the others */
      fill_part (&parts[model->n_parts++], element->run, &sum, steps);
    if (sum.moved > 0)
      parts[model->n_parts++] = (HrModelPart){ .name = hr_element_get_name ((HrElement *)element),
                                               .kind = HR_MODEL_TRANSFER,
                                               .busy = (gdouble)sum.moved / 1e9 / steps,
                                               .items = 1,
                                               .width = 1 };
  }
  if (model->serial)
    share_clock (pipeline, model);
  return parts;
}

JsonNode *
hr_verdict_advise (HrPipeline *pipeline)
{
  HrModel model;
  g_autofree HrModelPart *parts = make_model (pipeline, &model);
  HrChange change;

  if (parts == NULL)
    return NULL;
  hr_model_advise (&model, &change);
  return hr_advice_to_json (&model, &change);
}

/* ---- the bottleneck ---- */

static const char *
kind_of (const HrRun *run, const Sum *sum)
{
  if (is_trainer (run->def))
    return "trainer";
  if (run->def->take != NULL) /* the program computes */
    return "cpu";
  if (run->def->network || run->def->submit != NULL)
    return is_late (run) ? "network-latency" : "network-bandwidth";
  if ((gdouble)sum->copied * COPY_SECONDS_PER_BYTE * 1e9 >= (gdouble)sum->worked && sum->copied > 0)
    return "copy";
  return "cpu";
}

static gboolean
trainer_is_fed (HrPipeline *pipeline, HrVerdict *verdict)
{
  HrRun *run = find_trainer (pipeline);
  gint64 wait, train;

  if (run == NULL)
    return FALSE;
  sum_trainer (pipeline, run, &wait, &train);
  if (train <= 0 || (gdouble)wait > HR_MODEL_GOOD_WAIT_RATIO * (gdouble)(wait + train))
    return FALSE;
  *verdict = (HrVerdict){ run->element, "trainer" };
  return TRUE;
}

gboolean
hr_verdict_find (HrPipeline *pipeline, HrVerdict *verdict)
{
  gint64 end = pipeline->ended_at > 0 ? pipeline->ended_at : hr_now ();
  double wall = (double)MAX (end - pipeline->started_at, 1), most = 0;

  if (trainer_is_fed (pipeline, verdict))
    return TRUE;
  *verdict = (HrVerdict){ NULL, NULL };
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];
    HrRun *run = element->run;
    double busy;
    Sum sum;

    if (run == NULL || is_trainer (run->def))
      continue;
    sum_up (run, &sum);
    /* the share of its workers' time in which it worked, or waited for a processor to work on */
    busy = (double)sum.worked / hr_run_get_n_workers (run) / wall;
    if (busy > most) {
      most = busy;
      *verdict = (HrVerdict){ element, kind_of (run, &sum) };
    }
    /* copies to a device go on beside what the worker does */
    if ((double)sum.moved / wall > most) {
      most = (double)sum.moved / wall;
      *verdict = (HrVerdict){ element, "transfer" };
    }
  }
  return verdict->element != NULL;
}
