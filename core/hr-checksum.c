/* hr-checksum.c */
#include "hr-checksum.h"
#include "hr-random.h"
#include <string.h>

/* Four chains, so that the processor has four multiplications under way: some bytes a cycle. Each
 * step is one-to-one, so no change of one word goes unseen. */
guint64
hr_checksum64 (const guint8 *bytes, gsize size)
{
  guint64 chains[4] = { size, 1, 2, 3 }, words[4], sum = 0;
  gsize at = 0;

  for (; size - at >= sizeof words; at += sizeof words) {
    memcpy (words, bytes + at, sizeof words);
    for (guint i = 0; i < 4; i++)
      chains[i] = hr_mix64 (chains[i] ^ words[i]);
  }
  memset (words, 0, sizeof words);
  if (size > at)
    memcpy (words, bytes + at, size - at);
  for (guint i = 0; i < 4; i++)
    sum = hr_mix64 (sum ^ hr_mix64 (chains[i] ^ words[i]));
  return sum;
}
