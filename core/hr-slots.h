/* hr-slots.h: a few results are kept for readers that go through the same order, each at its own
 * pace; private to the core */
#pragma once
#include <glib.h>

/* the first member of what is kept; all zero: it holds nothing yet */
typedef struct {
  guint64 epoch;
  guint64 number;
  guint64 used; /* when it was asked for last; 0: never */
} HrSlot;

/**
 * hr_slots_find:
 * @slots: (array length=n): structs of @size bytes that begin with an #HrSlot
 * @clock: counts the questions
 * @found: (out): FALSE: what it held is to be made anew
 *
 * Returns: (transfer none): what holds @number of @epoch, or else what nobody has asked for the
 *   longest time, which is now that one's
 */
gpointer hr_slots_find (gpointer slots, gsize size, guint n, guint64 *clock, guint64 epoch,
                        guint64 number, gboolean *found);
