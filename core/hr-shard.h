/* hr-shard.h: which places of an order are whose: steps first, then ranks */
#pragma once
#include <glib.h>

/* Step k of an epoch holds the places [k·G, (k+1)·G), G = world · group; rank r has the r-th slice
 * of `group` places. Only whole steps are made: the last is left out (drop_last) or filled up with
 * padding. */
typedef struct {
  guint64 rank;
  guint64 world;
  guint64 group; /* samples a rank gets in a step */
  gboolean drop_last;
} HrShard;

/* samples of all ranks in a step */
static inline guint64
hr_shard_step_size (const HrShard *shard)
{
  return shard->world * shard->group;
}

static inline gboolean
hr_shard_owns (const HrShard *shard, guint64 place)
{
  return place / shard->group % shard->world == shard->rank;
}

/* the rank's places below @place */
static inline guint64
hr_shard_count (const HrShard *shard, guint64 place)
{
  guint64 size = hr_shard_step_size (shard), inside = place % size;
  guint64 first = shard->rank * shard->group;

  return place / size * shard->group + CLAMP (inside, first, first + shard->group) - first;
}

/* the rank's place number @index: the inverse of hr_shard_count() */
static inline guint64
hr_shard_place (const HrShard *shard, guint64 index)
{
  return index / shard->group * hr_shard_step_size (shard) + shard->rank * shard->group
         + index % shard->group;
}

/* the steps that @n samples make */
static inline guint64
hr_shard_count_steps (const HrShard *shard, guint64 n)
{
  guint64 size = hr_shard_step_size (shard);

  return shard->drop_last ? n / size : (n + size - 1) / size;
}

/* … and the places of these, padding included */
static inline guint64
hr_shard_round (const HrShard *shard, guint64 n)
{
  return hr_shard_count_steps (shard, n) * hr_shard_step_size (shard);
}
