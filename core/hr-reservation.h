/* hr-reservation.h: bytes of the pipeline's budget, owned by the memory they pay for */
#pragma once
#include "hr-memory.h"

G_BEGIN_DECLS

/**
 * HrReservation:
 * @owner: whose budget it is
 * @number: the sample it was granted to
 * @bytes: what it holds now; read and change it with atomics
 * @give_back: the bytes are free again; called at most once, from any thread, without locks held
 * @drop_owner: (nullable): the reservation is gone and lets go of @owner
 *
 * Shared by everything that was allocated under one grant (and by the branches of a tee): counted
 * once, back with the last reference or on delivery, whichever comes first.
 */
struct _HrReservation {
  gint ref_count;
  gpointer owner;
  gint64 number;
  guint64 bytes;
  void (*give_back) (gpointer owner, gint64 number, guint64 bytes);
  void (*drop_owner) (gpointer owner);
};

HrReservation *hr_reservation_new (gpointer owner, gint64 number, guint64 bytes,
                                   void (*give_back) (gpointer owner, gint64 number, guint64 bytes),
                                   void (*drop_owner) (gpointer owner));
HrReservation *hr_reservation_ref (HrReservation *reservation);
/* NULL is nothing */
void hr_reservation_unref (HrReservation *reservation);
/* whoever asks has the bytes now, and gives them back; the object stays and holds 0 */
guint64 hr_reservation_take (HrReservation *reservation);
/* gives the bytes back now; the object stays and holds 0 */
void hr_reservation_release (HrReservation *reservation);

G_END_DECLS
