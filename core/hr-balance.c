/* hr-balance.c */
#include "hr-balance.h"
#include "hr-slots.h"
#include "hr-sync.h"

typedef struct {
  HrSlot slot; /* which step */
  guint64 *costs;
  guint *slots;
} Step;

struct _HrBalance {
  HrMeasureFunc measure;
  gpointer user;
  HrShard shard;
  guint n; /* samples of a step */
  HrMutex lock;
  guint64 clock;
  guint n_steps;
  Step *steps;
  HrBalanceSums sums;
};

guint64
hr_balance_cost (const HrLength *length)
{
  if (length->tokens == HR_LENGTH_HOLE)
    return 0;
  return (guint64)length->tokens * HR_BALANCE_TOKEN + length->delivered;
}

/* ---- dealing ---- */

static gint
costliest_first (gconstpointer a, gconstpointer b, gpointer costs)
{
  guint one = *(const guint *)a, other = *(const guint *)b;
  guint64 x = ((const guint64 *)costs)[one], y = ((const guint64 *)costs)[other];

  return x != y ? (x > y ? -1 : 1) : (one < other ? -1 : 1);
}

static gint
compare_indices (gconstpointer a, gconstpointer b)
{
  guint one = *(const guint *)a, other = *(const guint *)b;

  return (one > other) - (one < other);
}

static guint
find_rank (const guint64 *loads, const guint *taken, guint world, guint size)
{
  guint least = world;

  for (guint rank = 0; rank < world; rank++)
    if (taken[rank] < size && (least == world || loads[rank] < loads[least]))
      least = rank;
  return least;
}

void
hr_balance_deal (const guint64 *costs, guint world, guint size, guint *slots)
{
  guint n = world * size;
  g_autofree guint *order = g_new (guint, n);
  g_autofree guint64 *loads = g_new0 (guint64, world);
  g_autofree guint *taken = g_new0 (guint, world);

  for (guint i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint)n, sizeof *order, costliest_first, (gpointer)costs);
  for (guint i = 0; i < n; i++) {
    guint rank = find_rank (loads, taken, world, size);

    slots[rank * size + taken[rank]++] = order[i];
    loads[rank] += costs[order[i]];
  }
  for (guint rank = 0; rank < world; rank++)
    qsort (slots + rank * size, size, sizeof *slots, compare_indices);
}

/* ---- steps ---- */

HrBalance *
hr_balance_new (HrMeasureFunc measure, gpointer user, const HrShard *shard, guint n_readers)
{
  HrBalance *balance = g_new0 (HrBalance, 1);

  balance->measure = measure;
  balance->user = user;
  balance->shard = *shard;
  balance->n = (guint)hr_shard_step_size (shard);
  balance->n_steps = n_readers + 1;
  balance->steps = g_new0 (Step, balance->n_steps);
  for (guint i = 0; i < balance->n_steps; i++) {
    balance->steps[i].costs = g_new (guint64, balance->n);
    balance->steps[i].slots = g_new (guint, balance->n);
  }
  hr_mutex_init (&balance->lock);
  return balance;
}

void
hr_balance_free (HrBalance *balance)
{
  hr_mutex_clear (&balance->lock);
  for (guint i = 0; i < balance->n_steps; i++) {
    g_free (balance->steps[i].costs);
    g_free (balance->steps[i].slots);
  }
  g_free (balance->steps);
  g_free (balance);
}

static guint64
get_cost (const HrBalance *balance, guint64 epoch, guint64 place)
{
  HrMeasured at;

  balance->measure (balance->user, epoch, place, &at);
  return hr_balance_cost (at.length);
}

/* @slots: NULL: as they stand */
static guint64
find_most (const HrBalance *balance, const guint64 *costs, const guint *slots)
{
  guint size = (guint)balance->shard.group;
  guint64 most = 0, load = 0;

  for (guint i = 0; i < balance->n; i++) {
    load = (i % size == 0 ? 0 : load) + costs[slots != NULL ? slots[i] : i];
    most = MAX (most, load);
  }
  return most;
}

static void
count (HrBalance *balance, const Step *step)
{
  gdouble sum = 0;

  for (guint i = 0; i < balance->n; i++)
    sum += (gdouble)step->costs[i];
  balance->sums.steps++;
  balance->sums.mean += sum / (gdouble)balance->shard.world;
  balance->sums.most += (gdouble)find_most (balance, step->costs, step->slots);
  balance->sums.without += (gdouble)find_most (balance, step->costs, NULL);
}

static const Step *
get_step (HrBalance *balance, guint64 epoch, guint64 n, guint64 number)
{
  guint64 first = number * balance->n;
  gboolean found;
  Step *step = hr_slots_find (balance->steps, sizeof *step, balance->n_steps, &balance->clock,
                              epoch, number, &found);

  if (found)
    return step;
  for (guint i = 0; i < balance->n; i++)
    step->costs[i] = first + i < n ? get_cost (balance, epoch, first + i) : 0;
  hr_balance_deal (step->costs, (guint)balance->shard.world, (guint)balance->shard.group,
                   step->slots);
  return step;
}

guint64
hr_dealer_get_place (gpointer data, guint64 epoch, guint64 n, guint64 place)
{
  HrDealer *dealer = data;
  HrBalance *balance = dealer->balance;
  guint64 number = place / balance->n, first = number * balance->n;
  const Step *step;

  hr_mutex_lock (&balance->lock);
  step = get_step (balance, epoch, n, number);
  if (dealer->counts && (!dealer->begun || dealer->epoch != epoch || dealer->step != number))
    count (balance, step);
  place = first + step->slots[place - first];
  hr_mutex_unlock (&balance->lock);
  dealer->begun = TRUE;
  dealer->epoch = epoch;
  dealer->step = number;
  return place;
}

void
hr_balance_get_sums (HrBalance *balance, HrBalanceSums *sums)
{
  hr_mutex_lock (&balance->lock);
  *sums = balance->sums;
  hr_mutex_unlock (&balance->lock);
}
