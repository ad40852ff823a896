/* room.h: how large the blocks are that pools recycle */
#pragma once
#include <glib.h>

#define HR_ROOM_LEAST 65536

/* Four sizes an octave, so that batches of about one size use the same blocks; at most a quarter is
 * unused. Both kinds of memory have pages of that size at least. */
static inline gsize
hr_room_for (gsize size)
{
  guint shift;

  if (size <= HR_ROOM_LEAST || size > G_MAXSIZE / 4)
    return MAX (size, HR_ROOM_LEAST);
  /* size is in (4 << shift, 8 << shift] */
  shift = 61 - (guint)__builtin_clzll (size - 1);
  return (size + ((gsize)1 << shift) - 1) >> shift << shift;
}
