/* hr-each.h: a sample whose members (images) are worked on one by one, by several workers at once
 */
#pragma once
#include "hr-pipeline-private.h"

struct _HrSplit {
  HrBuffer *sample; /* without the list; read-only while members are worked on */
  gint64 ticket;
  gint64 step;        /* as in HrLinkItem */
  guint n;            /* members */
  guint64 *costs;     /* of the members; NULL: the element does not tell them */
  guint *order;       /* in which they are taken; NULL: as they stand */
  guint next;         /* the first in that order that nobody has taken; under the link's lock */
  guint left;         /* not finished yet; under the link's lock */
  HrTensor **members; /* what they have become */
  HrMutex lock;       /* failed_at, error */
  guint failed_at;    /* the lowest member that failed; n: none */
  GError *error;
};

/* Takes @in. NULL: there is nothing to share, the outcome is in worker->out already. */
HrSplit *hr_each_begin (HrWorker *worker, HrBuffer *in);
void hr_each_member (HrWorker *worker, HrSplit *split, guint index);
/* all members are done: puts the sample or a hole in worker->out; frees @split */
void hr_each_end (HrWorker *worker, HrSplit *split);
/* the three, one after the other, by one worker */
void hr_each_all (HrWorker *worker, HrBuffer *in);
void hr_split_free (HrSplit *split);
