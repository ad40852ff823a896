/* hr-rules.h: the scheduling rules of docs/scheduling.md, each of which can be broken in the core
 * that tests/stress compiles for itself, to prove that the stress would notice */
#pragma once
#include <glib.h>

typedef enum {
  HR_RULES_RIGHT,
  HR_WRONG_LOWEST_UNDELIVERED, /* only the lowest undelivered sample is granted over the budget */
  HR_WRONG_LOWEST_UNBATCHED,   /* … or the lowest that is in no batch yet */
  HR_WRONG_BUDGET_FIFO,        /* budget waiters are served as they come */
  HR_WRONG_PERMIT_IN_BUDGET,   /* the permit is kept while waiting for the budget */
  HR_WRONG_PERMIT_IN_PUSH,     /* the permit is kept while pushing */
  HR_WRONG_ASYNC_WAITS,        /* the asynchronous thread waits for the budget */
  HR_WRONG_HOLES_NOT_COUNTED,  /* a batch of holes is not delivered */
  HR_WRONG_CLOSE_QUEUES_ONLY,  /* close wakes those who push, not those in other waits */
  HR_WRONG_NO_RESTAMP,         /* unordered elements do not stamp new numbers */
  HR_WRONG_WAITER_FLAG,        /* a flag instead of a count of waiters */
  HR_WRONG_ASYNC_WINDOW,       /* an asynchronous element has the window of one worker */
  HR_WRONG_PREFETCH_WINDOW,    /* elements behind prefetchqueue have the ordinary window */
  HR_WRONG_HELD_COUNTS,        /* what the trainer holds counts against the budget */
  HR_WRONG_HEAVY_ANYWHERE,     /* the costliest sample first, whatever its step */
  HR_WRONG_NUMBER_ORDER,       /* costs change nothing */
  HR_WRONG_ROWS_ARE_GROUPS,    /* behind a packer, steps are counted as if they were groups */
  HR_WRONG_EMPTY_BLOCK,        /* a block that makes no row releases nothing */
  HR_WRONG_BLOCK_OF_ROWS,      /* all rows of the block in hand are granted over the budget */
  HR_WRONG_OPEN_BLOCKS,        /* blocks that have no size stay open: nobody tells where they end */
  /* docs/resume.md; not for the stress, but for hr-verify */
  HR_WRONG_CURSOR,    /* a checkpoint stands one step too early */
  HR_WRONG_SURVIVORS, /* a checkpoint counts the samples that are left: a hole shifts it */
  HR_WRONG_NO_START   /* a resumed run begins where the block does, not at its place */
} HrWrongRule;

#ifdef HR_RULES
extern HrWrongRule hr_wrong_rule;
#define hr_wrong(rule) (hr_wrong_rule == (rule))
/* what must hold at that place; the stress says what happens if not */
extern void hr_rule_broken (const char *what);
#define hr_rule_check(holds, what)                                                                 \
  do {                                                                                             \
    if (!(holds))                                                                                  \
      hr_rule_broken (what);                                                                       \
  } while (0)
#else
#define hr_wrong(rule) FALSE
#define hr_rule_check(holds, what) ((void)0)
#endif
