/* hr-permute.h: permutations that are calculated, not stored: docs/order.md */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* what a key is for: the same seed and epoch permute several things */
typedef enum {
  HR_KEY_BLOCKS = 1, /* shuffle=window: the blocks of an epoch */
  HR_KEY_GROUP,      /* … the lines of a group of blocks */
  HR_KEY_LINES,      /* shuffle=full: the lines of an epoch */
  HR_KEY_MEMBER,     /* the seed of a mix's member */
  HR_KEY_PATTERN     /* the places of a window of a mix */
} HrKeyPurpose;

/**
 * hr_permute_key:
 * @index: which of those that the purpose has in an epoch
 *
 * mix64 (mix64 (mix64 (mix64 (seed) ^ epoch) ^ purpose) ^ index), see hr-random.h.
 */
guint64 hr_permute_key (guint64 seed, guint64 epoch, HrKeyPurpose purpose, guint64 index);

/**
 * hr_permute:
 * @key: each makes another permutation of …
 * @n: … the numbers below this
 * @index: below @n
 *
 * Where @index comes from: a Feistel network of 8 rounds over the even number of bits that n - 1
 * needs, gone through again while its result is n or more (cycle walking; Black and Rogaway 2002).
 *
 * Returns: a number below @n; for one key and n, a different one for every index
 */
guint64 hr_permute (guint64 key, guint64 n, guint64 index);

G_END_DECLS
