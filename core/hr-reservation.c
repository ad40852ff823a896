/* hr-reservation.c: bytes of the pipeline's budget, owned by the memory they pay for */
#include "hr-reservation.h"
#include "hr-ref.h"

HrReservation *
hr_reservation_new (gpointer owner, gint64 number, guint64 bytes,
                    void (*give_back) (gpointer owner, gint64 number, guint64 bytes),
                    void (*drop_owner) (gpointer owner))
{
  HrReservation *reservation = g_new (HrReservation, 1);

  *reservation = (HrReservation){ 1, owner, number, bytes, give_back, drop_owner };
  return reservation;
}

HrReservation *
hr_reservation_ref (HrReservation *reservation)
{
  hr_ref_inc (&reservation->ref_count);
  return reservation;
}

guint64
hr_reservation_take (HrReservation *reservation)
{
  /* a sink that delivers and a last owner may both come here */
  return __atomic_exchange_n (&reservation->bytes, 0, __ATOMIC_ACQ_REL);
}

void
hr_reservation_release (HrReservation *reservation)
{
  guint64 bytes = hr_reservation_take (reservation);

  if (bytes > 0)
    reservation->give_back (reservation->owner, reservation->number, bytes);
}

void
hr_reservation_unref (HrReservation *reservation)
{
  if (reservation == NULL || !hr_ref_dec (&reservation->ref_count))
    return;
  hr_reservation_release (reservation);
  if (reservation->drop_owner != NULL)
    reservation->drop_owner (reservation->owner);
  g_free (reservation);
}
