/* hr-size-class.c */
#include "hr-size-class.h"

#define ALIGNMENT 64

guint
hr_size_class (gsize size, gsize *capacity)
{
  guint shift;
  gsize steps;

  size = MAX (size, ALIGNMENT);
  if (size > G_MAXSIZE / 4) {
    *capacity = 0;
    return 0;
  }
  if (size > HR_LARGE_BLOCK)
    size = (gsize)1 << (64 - __builtin_clzll (size - 1));
  /* size is in (4 << shift, 8 << shift] once it is counted in steps of 1 << shift */
  shift = 61 - __builtin_clzll (size - 1);
  steps = (size + ((gsize)1 << shift) - 1) >> shift;
  *capacity = ((steps << shift) + ALIGNMENT - 1) & ~(gsize)(ALIGNMENT - 1);
  return shift * 4 + steps - 5;
}
