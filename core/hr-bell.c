/* hr-bell.c */
#include "hr-bell.h"
#include "hr-error.h"
#include "hr-sync.h"
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

gboolean
hr_bell_init (HrBell *bell, GError **error)
{
  bell->rung = 0;
  bell->fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell->fd < 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "eventfd: %s",
                 g_strerror (errno));
    return FALSE;
  }
  return TRUE;
}

void
hr_bell_clear (HrBell *bell)
{
  if (bell->fd >= 0)
    close (bell->fd);
  bell->fd = -1;
}

void
hr_bell_ring (HrBell *bell)
{
  /* one write is enough until somebody has listened */
  if (g_atomic_int_compare_and_exchange (&bell->rung, 0, 1)) {
    guint64 one = 1;
    ssize_t written = write (bell->fd, &one, sizeof one);

    (void)written; /* the counter of an eventfd cannot be full here */
  }
}

void
hr_bell_hush (HrBell *bell)
{
  guint64 count;
  ssize_t got;

  hr_stall (); /* who has looked before this has looked too early */
  got = read (bell->fd, &count, sizeof count);
  (void)got; /* nothing to read is fine too */
  g_atomic_int_set (&bell->rung, 0);
}
