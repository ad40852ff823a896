/* hr-sums.h: where each of several runs of things begins, when they follow each other */
#pragma once
#include <glib.h>

/* (element-type guint64): the sum of all numbers before each, and of all; with none yet */
GArray *hr_sums_new (void);
void hr_sums_add (GArray *sums, guint64 n);

/* of the numbers before @index */
static inline guint64
hr_sums_get (const GArray *sums, guint64 index)
{
  return g_array_index (sums, guint64, index);
}

/* of all numbers */
static inline guint64
hr_sums_get_last (const GArray *sums)
{
  return hr_sums_get (sums, sums->len - 1);
}

/* which of the numbers @value, below the sum of all, falls into; empty ones never */
guint64 hr_sums_find (const GArray *sums, guint64 value);
