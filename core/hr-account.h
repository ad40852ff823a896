/* hr-account.h: what had been counted at some moment: the difference of two is what went on in
 * between. Private to the core. */
#pragma once
#include "hr-pipeline-private.h"

/* of one element; times in nanoseconds, summed over its workers */
typedef struct {
  gint64 worked;
  gint64 slept;  /* of that */
  gint64 permit; /* waited for one of the pipeline's cpus */
  gint64 cpu;
  gint64 items, bytes, copied;
  gint64 first_byte, body; /* of requests, summed over all of them */
  gint64 n_transfers;
  gint64 moved; /* that copies to a device were under way */
} HrSum;

struct _HrAccount {
  gint64 at;
  gint64 cpu;  /* of the process */
  gint64 idle; /* processor time that nobody used; -1: not known */
  gint64 steps, samples;
  gint64 wait, train; /* what the trainer waited for its device counts as waiting, and not as its
                       * own; what goes on just now is in it */
  gint64 cold_start;  /* what the first step took, which is in none of the two */
  guint n;
  HrSum sums[]; /* of the pipeline's elements */
};

gboolean hr_account_is_trainer (const HrElementDef *def);
/* whose steps are counted: the trainer, or else a sink that takes what comes; NULL: none runs */
HrRun *hr_account_find_taker (HrPipeline *pipeline);

HrAccount *hr_account_new (HrPipeline *pipeline);
/* what came after @before */
void hr_account_subtract (HrAccount *account, const HrAccount *before);
/* what came after start() */
void hr_account_begin (HrAccount *account, const HrPipeline *pipeline);
