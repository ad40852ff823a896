/* control.h: what a loader and the process of its pipeline say to each other: messages of JSON,
 * each behind its length, over a socket. Requests and answers, one at a time; batches go another
 * way. */
#pragma once
#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* What the process tells of itself begins with this, and is no answer. */
#define CONTROL_NOTE "#"

/* where the process finds its ends of the two sockets */
#define CONTROL_FD 3
#define CONTROL_DATA_FD 4

/* FALSE: with an error #HR_RESOURCE_ERROR, or without one if the other end has closed */
gboolean control_send (int fd, const char *text, GError **error);
/* waits; (transfer full) (nullable): NULL with an error, or without one if the other end has closed
 */
char *control_receive (int fd, GError **error);

G_END_DECLS
