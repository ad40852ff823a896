/* hr-balance.c */
#include "hr-balance.h"
#include "hr-sync.h"

struct _HrBalance {
  HrSequence *sequence;
  GPtrArray *lengths;
  HrShard shard;
  guint n; /* samples of a step */
  guint64 *costs;
  guint *slots;
  gboolean dealt; /* a step has been, which is: */
  guint64 epoch, step;
  HrMutex lock; /* sums */
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
hr_balance_new (HrSequence *sequence, GPtrArray *lengths, const HrShard *shard)
{
  HrBalance *balance = g_new0 (HrBalance, 1);

  balance->sequence = sequence;
  balance->lengths = lengths;
  balance->shard = *shard;
  balance->n = (guint)hr_shard_step_size (shard);
  balance->costs = g_new (guint64, balance->n);
  balance->slots = g_new (guint, balance->n);
  hr_mutex_init (&balance->lock);
  return balance;
}

void
hr_balance_free (HrBalance *balance)
{
  hr_mutex_clear (&balance->lock);
  g_free (balance->costs);
  g_free (balance->slots);
  g_free (balance);
}

static guint64
get_cost (HrBalance *balance, guint64 epoch, guint64 place)
{
  const HrLength *lengths;
  guint object;
  guint64 line;

  hr_sequence_locate (balance->sequence, epoch, place, &object, &line);
  lengths = g_bytes_get_data (balance->lengths->pdata[object], NULL);
  return hr_balance_cost (&lengths[line]);
}

/* @slots: NULL: as they stand */
static guint64
find_most (const HrBalance *balance, const guint *slots)
{
  guint size = (guint)balance->shard.group;
  guint64 most = 0, load = 0;

  for (guint i = 0; i < balance->n; i++) {
    load = (i % size == 0 ? 0 : load) + balance->costs[slots != NULL ? slots[i] : i];
    most = MAX (most, load);
  }
  return most;
}

static void
count (HrBalance *balance)
{
  gdouble sum = 0;

  for (guint i = 0; i < balance->n; i++)
    sum += (gdouble)balance->costs[i];
  hr_mutex_lock (&balance->lock);
  balance->sums.steps++;
  balance->sums.mean += sum / (gdouble)balance->shard.world;
  balance->sums.most += (gdouble)find_most (balance, balance->slots);
  balance->sums.without += (gdouble)find_most (balance, NULL);
  hr_mutex_unlock (&balance->lock);
}

guint64
hr_balance_get_place (gpointer data, guint64 epoch, guint64 n, guint64 place)
{
  HrBalance *balance = data;
  guint64 step = place / balance->n, first = step * balance->n;

  if (!balance->dealt || balance->epoch != epoch || balance->step != step) {
    for (guint i = 0; i < balance->n; i++)
      balance->costs[i] = first + i < n ? get_cost (balance, epoch, first + i) : 0;
    hr_balance_deal (balance->costs, (guint)balance->shard.world, (guint)balance->shard.group,
                     balance->slots);
    balance->dealt = TRUE;
    balance->epoch = epoch;
    balance->step = step;
    count (balance);
  }
  return first + balance->slots[place - first];
}

void
hr_balance_get_sums (HrBalance *balance, HrBalanceSums *sums)
{
  hr_mutex_lock (&balance->lock);
  *sums = balance->sums;
  hr_mutex_unlock (&balance->lock);
}
