/* hr-bell.h: what a thread sleeps on that must never wait for one thing alone: an eventfd */
#pragma once
#include <glib.h>

typedef struct {
  int fd;
  gint rung;
} HrBell;

gboolean hr_bell_init (HrBell *bell, GError **error);
void hr_bell_clear (HrBell *bell);
/* from any thread, with any lock held: a leaf */
void hr_bell_ring (HrBell *bell);
/* forget the rings so far; look at everything after this, not before: at whether it is over, too */
void hr_bell_hush (HrBell *bell);
