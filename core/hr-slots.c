/* hr-slots.c */
#include "hr-slots.h"

gpointer
hr_slots_find (gpointer slots, gsize size, guint n, guint64 *clock, guint64 epoch, guint64 number,
               gboolean *found)
{
  HrSlot *oldest = slots;

  for (guint i = 0; i < n; i++) {
    HrSlot *slot = (HrSlot *)((guint8 *)slots + i * size);

    if (slot->used > 0 && slot->epoch == epoch && slot->number == number) {
      slot->used = ++*clock;
      *found = TRUE;
      return slot;
    }
    if (slot->used < oldest->used)
      oldest = slot;
  }
  *oldest = (HrSlot){ epoch, number, ++*clock };
  *found = FALSE;
  return oldest;
}
