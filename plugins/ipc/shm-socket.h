/* shm-socket.h: unix sockets by name, of the abstract kind: they need no file, and go with their
 * process. Only the same user gets through. */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* nobody who waits is deaf for longer: for who asks what it waits for */
#define HR_SHM_LOOK_MS 500

/* the two ways to say who is at the other end: one of them, and not both; @fd -1: not that one.
 * #HR_PARSE_ERROR_CONFLICT */
gboolean hr_shm_check_ends (const char *address, gint64 fd, GError **error);
/* -1 with the error: #HR_RESOURCE_ERROR */
int hr_shm_listen (const char *name, GError **error);
/* the next who has come; -1 without an error: nobody, or one who went again; with one:
 * #HR_RESOURCE_ERROR_FORBIDDEN: a stranger was turned away; else nobody can be let in any more */
int hr_shm_accept (int listening, GError **error);
/* -1 without an error: nobody listens there yet */
int hr_shm_connect (const char *name, GError **error);
/* is @fd such a socket, connected, with the same user at its other end? */
gboolean hr_shm_check (int fd, GError **error);

G_END_DECLS
