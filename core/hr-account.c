/* hr-account.c: what had been counted at some moment */
#include "hr-account.h"
#include "hr-processors.h"

gboolean
hr_account_is_trainer (const HrElementDef *def)
{
  return def->trains || hr_element_def_is_pulled (def);
}

HrRun *
hr_account_find_taker (HrPipeline *pipeline)
{
  HrRun *taker = NULL;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];

    if (element->run == NULL || element->outputs->len > 0)
      continue;
    if (hr_account_is_trainer (element->def))
      return element->run;
    taker = taker != NULL ? taker : element->run;
  }
  return taker;
}

static void
sum_up (HrRun *run, HrSum *sum)
{
  HrWorker workers;
  gint64 waited = 0;

  hr_run_sum (run, &workers);
  *sum = (HrSum){ workers.working,
                  workers.slept,
                  workers.blocked_cpu,
                  workers.cpu,
                  (gint64)workers.items,
                  (gint64)workers.bytes,
                  (gint64)workers.copied,
                  hr_counter_get (&run->first_byte_time),
                  hr_counter_get (&run->body_time),
                  (gint64)hr_counter_get (&run->n_transfers),
                  0 };
  if (run->def->transfers != NULL && run->started)
    run->def->transfers (run->self, run->shared, &sum->moved, &waited);
}

static void
sum_up_trainer (HrPipeline *pipeline, const HrRun *run, HrAccount *account)
{
  gint64 asked = __atomic_load_n (&run->asked_at, __ATOMIC_RELAXED);
  gint64 got = __atomic_load_n (&run->got_at, __ATOMIC_RELAXED);
  gint64 copied, waited;

  account->steps = hr_counter_get (&run->step);
  account->samples = hr_counter_get (&run->n_samples);
  account->cold_start = MAX (hr_counter_get (&run->cold_start), 0);
  account->wait = hr_counter_get (&run->wait_time);
  account->train = hr_counter_get (&run->train_time);
  if (asked > 0 && account->steps > 0)
    account->wait += MAX (account->at - asked, 0);
  if (got > 0)
    account->train += MAX (account->at - got, 0);
  hr_pipeline_get_transfers (pipeline, &copied, &waited);
  waited = MIN (waited, account->train);
  account->wait += waited;
  account->train -= waited;
}

HrAccount *
hr_account_new (HrPipeline *pipeline)
{
  guint n = pipeline->elements->len;
  HrAccount *account = g_malloc0 (sizeof *account + n * sizeof (HrSum));
  const HrRun *taker = hr_account_find_taker (pipeline);

  account->at = pipeline->ended_at > 0 ? pipeline->ended_at : hr_now ();
  account->cpu = hr_pipeline_get_cpu_time (pipeline);
  account->idle = hr_processors_get_idle ();
  account->n = n;
  if (taker != NULL)
    sum_up_trainer (pipeline, taker, account);
  for (guint i = 0; i < n; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (element->run != NULL)
      sum_up (element->run, &account->sums[i]);
  }
  return account;
}

void
hr_account_subtract (HrAccount *account, const HrAccount *before)
{
  account->at -= before->at;
  account->cpu -= before->cpu;
  account->idle = account->idle < 0 || before->idle < 0 ? -1 : account->idle - before->idle;
  account->steps -= before->steps;
  account->samples -= before->samples;
  /* what goes on was looked at a moment apart from what has ended */
  account->wait = MAX (account->wait - before->wait, 0);
  account->train = MAX (account->train - before->train, 0);
  account->cold_start -= before->cold_start;
  for (guint i = 0; i < account->n; i++) {
    HrSum *sum = &account->sums[i];
    const HrSum *less = &before->sums[i];

    sum->worked -= less->worked;
    sum->slept -= less->slept;
    sum->permit -= less->permit;
    sum->cpu -= less->cpu;
    sum->items -= less->items;
    sum->bytes -= less->bytes;
    sum->copied -= less->copied;
    sum->first_byte -= less->first_byte;
    sum->body -= less->body;
    sum->n_transfers -= less->n_transfers;
    sum->moved -= less->moved;
  }
}

void
hr_account_begin (HrAccount *account, const HrPipeline *pipeline)
{
  account->at -= pipeline->started_at;
  account->idle = -1;
}
