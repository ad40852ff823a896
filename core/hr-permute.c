/* hr-permute.c */
#include "hr-permute.h"
#include "hr-random.h"

#define N_ROUNDS 8

guint64
hr_permute_key (guint64 seed, guint64 epoch, HrKeyPurpose purpose, guint64 index)
{
  return hr_mix64 (hr_mix64 (hr_mix64 (hr_mix64 (seed) ^ epoch) ^ purpose) ^ index);
}

/* half of the bits of n - 1, rounded up */
static guint
half_bits (guint64 n)
{
  guint bits = n > 1 ? 64 - (guint)__builtin_clzll (n - 1) : 1;

  return (bits + 1) / 2;
}

guint64
hr_permute (guint64 key, guint64 n, guint64 index)
{
  guint half = half_bits (n);
  guint64 mask = ((guint64)1 << half) - 1, x = index;

  g_return_val_if_fail (index < n, index);
  do {
    guint64 left = x >> half, right = x & mask;

    for (guint round = 0; round < N_ROUNDS; round++) {
      guint64 next = left ^ (hr_mix64 (hr_mix64 (key + round) ^ right) & mask);

      left = right;
      right = next;
    }
    x = left << half | right;
  } while (x >= n);
  return x;
}
