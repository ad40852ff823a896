/* door.h: lets visitors in: only so many at a time, and none that stands still */
#pragma once
#include <libsoup/soup.h>

typedef struct _Door Door;

/**
 * door_new:
 * @server: gets the connections
 * @address: to listen at
 * @port: 0: any that is free
 *
 * Visitors are let in by the thread's default main context. The run beside it needs its
 * descriptors: whoever comes while many are in is sent away, and who neither sends nor reads for a
 * while is, too.
 *
 * Returns: (transfer full): the door, or %NULL
 */
Door *door_new (SoupServer *server, GInetAddress *address, guint16 port, GError **error);
guint16 door_get_port (const Door *door);
/* after the server and the main context are gone */
void door_free (Door *door);
