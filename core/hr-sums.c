/* hr-sums.c */
#include "hr-sums.h"

GArray *
hr_sums_new (void)
{
  GArray *sums = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint64 none = 0;

  g_array_append_val (sums, none);
  return sums;
}

void
hr_sums_add (GArray *sums, guint64 n)
{
  guint64 sum = hr_sums_get_last (sums) + n;

  g_array_append_val (sums, sum);
}

guint64
hr_sums_find (const GArray *sums, guint64 value)
{
  guint64 low = 0, high = sums->len - 1;

  while (high - low > 1) {
    guint64 middle = low + (high - low) / 2;

    if (hr_sums_get (sums, middle) <= value)
      low = middle;
    else
      high = middle;
  }
  return low;
}
