/* hr-verdict.c: what the trainer waits for: the numbers of the run, as hr-model.h wants them */
#include "hr-verdict.h"
#include <math.h>
#include "hr-advice.h"
#include "hr-json.h"
#include "hr-recent.h"
#include "hr-topology.h"

/* a copy is no slower than this, or it is not what took the time */
#define COPY_SECONDS_PER_BYTE 1e-9
/* an element with one thread for all its transfers that computes for so much of its time is no
 * longer waiting for a network */
#define COMPUTES 0.8
/* processors that have nothing to do for less than this share of their time are full */
#define FULL 0.1
/* this share of an element's time without a processor, and it is short of them */
#define DELAY 0.15

void
hr_verdict_begin (HrPipeline *pipeline)
{
  HrAccount *account, *none = NULL;

  if (__atomic_load_n (&pipeline->first_account, __ATOMIC_ACQUIRE) != NULL)
    return;
  account = hr_account_new (pipeline);
  if (!__atomic_compare_exchange_n (&pipeline->first_account, &none, account, FALSE,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    g_free (account);
}

/* ---- the model ---- */

/* … and hardly anything else: of who waits for others, or for a processor, the processor's time
 * tells */
static gboolean
copies (const HrRun *run, const HrSum *sum)
{
  gint64 time = sum->cpu > 0 ? MIN (sum->cpu, sum->worked) : sum->worked;

  if (sum->copied == 0 || (run->def->waits && 2 * sum->cpu < sum->worked))
    return FALSE;
  return (gdouble)sum->copied * COPY_SECONDS_PER_BYTE * 1e9 >= (gdouble)time;
}

static HrModelKind
kind_of (const HrRun *run, const HrSum *sum)
{
  const HrElementDef *def = run->def;

  if (hr_account_is_trainer (def))
    return HR_MODEL_SECOND;
  if (def->take == NULL && (gdouble)sum->cpu < COMPUTES * (gdouble)sum->worked
      && (sum->n_transfers > 0 || (def->network && def->submit == NULL)))
    return sum->first_byte >= sum->body ? HR_MODEL_LATENCY : HR_MODEL_BANDWIDTH;
  return copies (run, sum) ? HR_MODEL_COPY : HR_MODEL_WORK;
}

/* What computes (it asks for a processor, see hr-element.h) takes its processor time, and no
 * longer, once it has one; only where there are too few of them it takes longer, and that is not
 * its own. */
static gdouble
time_delayed (const HrRun *run, const HrSum *sum, gboolean full)
{
  const HrElementDef *def = run->def;
  gboolean computes = !def->waits && !def->light && def->submit == NULL && sum->cpu > 0;

  return (gdouble)(full && computes ? MAX (sum->worked - sum->slept - sum->cpu, 0) : 0);
}

/* is it at work all the time, and would be less if there were more processors? */
static void
look_for_delay (HrModel *model, const HrModelPart *part, gdouble delayed, gdouble *most)
{
  gdouble time = (part->busy + delayed) / part->width;

  if (time <= *most)
    return;
  *most = time;
  model->starved = delayed > DELAY * part->width * time;
}

/* that of its properties that makes it wider is the core's to find */
static gboolean
is_automatic (const HrRun *run, const char *property)
{
  return !run->pipeline->settings.serial && hr_element_is_auto (run->element, property);
}

static void
fill_part (HrModelPart *part, const HrRun *run, const HrSum *sum, gdouble steps)
{
  const HrElementDef *def = run->def;

  part->name = hr_element_get_name (run->element);
  part->kind = kind_of (run, sum);
  part->busy = (gdouble)sum->worked / 1e9 / steps;
  part->cpu = (gdouble)sum->cpu / 1e9 / steps;
  part->items = (gdouble)sum->items / steps;
  part->copied = (gdouble)sum->copied / steps;
  part->width = hr_run_get_n_workers (run);
  part->grows = def->parallel == HR_PARALLEL_YES || def->each != NULL;
  part->automatic = is_automatic (run, "workers");
  if (part->kind == HR_MODEL_LATENCY && def->submit != NULL) {
    part->busy = (gdouble)(sum->first_byte + sum->body) / 1e9 / steps;
    part->items = (gdouble)sum->n_transfers / steps;
    part->width = def->concurrency != NULL ? (guint)def->concurrency (run->self) : 1;
    part->grows = def->concurrency != NULL;
    part->automatic = is_automatic (run, "concurrency");
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
share_clock (HrModel *model, const HrAccount *account)
{
  gdouble share = MIN (1, (gdouble)account->cpu / (gdouble)MAX (account->at, 1)), busy = 0;
  gdouble all = (model->train + model->wait) * share;

  for (guint i = 0; i < model->n_parts; i++)
    busy += model->parts[i].busy;
  for (guint i = 0; i < model->n_parts; i++)
    model->parts[i].cpu =
        busy > 0 ? MIN (model->parts[i].busy, all * model->parts[i].busy / busy) : 0;
}

/* processors that had nothing to do; NAN: not known */
static gdouble
idle_processors (const HrAccount *account)
{
  return account->idle >= 0 && account->at > 0 ? (gdouble)account->idle / (gdouble)account->at
                                               : NAN;
}

static void
fill_parts (HrModel *model, HrPipeline *pipeline, const HrAccount *account, const HrRun *taker)
{
  gdouble steps = (gdouble)MAX (account->steps, 1), idle = idle_processors (account), cpu = 0;
  gboolean full = idle < FULL * model->machine && !model->serial;
  gdouble most = 0;

  for (guint i = 0; i < account->n; i++) {
    const HrElement *element = pipeline->elements->pdata[i];
    const HrSum *sum = &account->sums[i];

    if (element->run == NULL)
      continue;
    /* a sink of another kind works beside the others */
    if (element->run != taker || !hr_account_is_trainer (element->def)) {
      HrModelPart *part = &model->parts[model->n_parts++];
      gdouble delayed = time_delayed (element->run, sum, full) / 1e9 / steps;

      fill_part (part, element->run, sum, steps);
      part->busy -= delayed;
      look_for_delay (model, part, delayed + (gdouble)sum->permit / 1e9 / steps, &most);
    }
    if (sum->moved > 0)
      model->parts[model->n_parts++] =
          (HrModelPart){ .name = hr_element_get_name ((HrElement *)element),
                         .kind = HR_MODEL_TRANSFER,
                         .busy = (gdouble)sum->moved / 1e9 / steps,
                         .items = 1,
                         .width = 1 };
  }
  if (model->serial)
    share_clock (model, account);
  for (guint i = 0; i < model->n_parts; i++)
    cpu += model->parts[i].cpu * steps;
  if (!isnan (idle))
    model->free = idle + cpu * 1e9 / (gdouble)account->at;
}

/* @account: what came in between; the first step is looked at only where it is all that there is.
 * Returns: the parts' array; NULL: there is no sink, or it never got anything */
static HrModelPart *
make_model (HrPipeline *pipeline, const HrAccount *account, HrModel *model)
{
  const HrRun *taker = hr_account_find_taker (pipeline);
  gdouble steps = (gdouble)MAX (account->steps, 1);
  gdouble wait = (gdouble)(account->wait + account->cold_start), train = (gdouble)account->train;
  gboolean trains;

  if (taker == NULL || (account->steps == 0 && pipeline->ended_at > 0 && account->cold_start == 0))
    return NULL;
  trains = hr_account_is_trainer (taker->def);
  *model = (HrModel){ .trainer = trains ? hr_element_get_name (taker->element) : NULL,
                      /* the time of a sink that takes what comes is an element's */
                      .train = trains ? train / 1e9 / steps : 0,
                      .wait = (trains ? wait : wait + train) / 1e9 / steps,
                      .steps = (guint64)MAX (account->steps, 0),
                      .ahead = steps_ahead (pipeline, taker),
                      .serial = pipeline->settings.serial,
                      .processors = (guint)hr_topology_count_cpus (pipeline),
                      .machine = (guint)hr_topology_count_processors () };
  model->parts = g_new0 (HrModelPart, 2 * account->n);
  fill_parts (model, pipeline, account, taker);
  return model->parts;
}

/* ---- in words ---- */

static void
add_node (JsonBuilder *json, const char *name, JsonNode *node)
{
  json_builder_set_member_name (json, name);
  if (node != NULL)
    json_builder_add_value (json, node);
  else
    json_builder_add_null_value (json);
}

/* @strides: it is more than the first step */
static void
add_verdict (JsonBuilder *json, HrPipeline *pipeline, const HrAccount *account, gboolean strides)
{
  HrModel model;
  g_autofree HrModelPart *parts = make_model (pipeline, account, &model);
  HrChange change;

  add_node (json, "bottleneck", parts != NULL ? hr_advice_bottleneck_to_json (&model) : NULL);
  if (parts == NULL || !strides) {
    add_node (json, "advice", NULL);
    return;
  }
  hr_model_advise (&model, &change);
  add_node (json, "advice", hr_advice_to_json (&model, &change));
}

static void
add_recent (JsonBuilder *json, HrPipeline *pipeline, HrAccount *now)
{
  const HrAccount *first = __atomic_load_n (&pipeline->first_account, __ATOMIC_ACQUIRE);
  g_autofree HrAccount *begin = NULL;
  const HrRun *taker = hr_account_find_taker (pipeline);
  gint64 sum;

  json_builder_set_member_name (json, "recent");
  if (first == NULL || pipeline->ended_at > 0) {
    json_builder_add_null_value (json);
    return;
  }
  begin = hr_recent_get_begin (pipeline->recent, first, now);
  hr_account_subtract (now, begin);
  sum = now->wait + now->train;
  json_builder_begin_object (json);
  hr_json_add_double (json, "seconds", (gdouble)now->at / 1e9);
  hr_json_add_int (json, "steps", now->steps);
  hr_json_add_int (json, "samples", now->samples);
  hr_json_add_double (json, "wait_ratio",
                      sum > 0 && taker != NULL && hr_account_is_trainer (taker->def)
                          ? (gdouble)now->wait / (gdouble)sum
                          : NAN);
  add_verdict (json, pipeline, now, TRUE);
  json_builder_end_object (json);
}

void
hr_verdict_add (JsonBuilder *json, HrPipeline *pipeline)
{
  const HrAccount *first = __atomic_load_n (&pipeline->first_account, __ATOMIC_ACQUIRE);
  g_autofree HrAccount *now = hr_account_new (pipeline);
  g_autofree HrAccount *run = g_memdup2 (now, sizeof *now + now->n * sizeof (HrSum));

  gboolean strides = first != NULL && now->steps > first->steps;

  if (strides)
    hr_account_subtract (run, first);
  else
    hr_account_begin (run, pipeline);
  add_verdict (json, pipeline, run, strides);
  add_recent (json, pipeline, now);
}
