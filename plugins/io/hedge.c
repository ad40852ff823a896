/* hedge.c: when a request that is late is worth a second one */
#include "hedge.h"
#include <math.h>

/* answers before anything is known */
#define ENOUGH 64
/* then what was before counts half */
#define MANY 1024
/* answers between two looks */
#define STEP 16
/* sooner than that a second request helps nobody: 50 ms */
#define LEAST (50 * G_GINT64_CONSTANT (1000000))
/* bins a factor of two, the first ends at 2^16 ns */
#define PER_OCTAVE 4
#define FIRST 16
/* a second request for so many */
#define PER_HEDGE 20

void
hr_hedge_init (HrHedge *hedge)
{
  *hedge = (HrHedge){ .limit = G_MAXINT64 };
  hr_mutex_init (&hedge->lock);
}

void
hr_hedge_clear (HrHedge *hedge)
{
  hr_mutex_clear (&hedge->lock);
}

/* the end of a bin, so that the limit is never below the time it stands for */
static gint64
get_end (guint bin)
{
  return (gint64)exp2 (FIRST + (gdouble)bin / PER_OCTAVE);
}

static void
look (HrHedge *hedge)
{
  guint beyond = hedge->n / 20, bin = HR_HEDGE_BINS;

  /* from the slowest on */
  for (guint sum = 0; bin > 0 && sum <= beyond; bin--)
    sum += hedge->bins[bin - 1];
  hedge->limit = MAX (get_end (bin), LEAST);
}

static void
forget_half (HrHedge *hedge)
{
  hedge->n = 0;
  for (guint i = 0; i < HR_HEDGE_BINS; i++)
    hedge->n += hedge->bins[i] /= 2;
}

void
hr_hedge_note (HrHedge *hedge, gint64 first_byte)
{
  gdouble bin = ceil ((log2 (MAX (first_byte, 1)) - FIRST) * PER_OCTAVE);

  hr_mutex_lock (&hedge->lock);
  hedge->bins[(guint)CLAMP (bin, 0, HR_HEDGE_BINS - 1)]++;
  hedge->n++;
  if (hedge->n >= ENOUGH && hedge->n % STEP == 0)
    look (hedge);
  if (hedge->n >= MANY)
    forget_half (hedge);
  hr_mutex_unlock (&hedge->lock);
}

gint64
hr_hedge_get_limit (HrHedge *hedge)
{
  gint64 limit;

  hr_mutex_lock (&hedge->lock);
  limit = hedge->limit;
  hr_mutex_unlock (&hedge->lock);
  return limit;
}

void
hr_hedge_count (HrHedge *hedge)
{
  hr_mutex_lock (&hedge->lock);
  hedge->requests++;
  hr_mutex_unlock (&hedge->lock);
}

gboolean
hr_hedge_take (HrHedge *hedge)
{
  gboolean may;

  hr_mutex_lock (&hedge->lock);
  may = (hedge->hedges + 1) * PER_HEDGE <= hedge->requests;
  hedge->hedges += may;
  hr_mutex_unlock (&hedge->lock);
  return may;
}
