/* unix-socket.h: a name under which two processes of one machine find each other */
#pragma once
#include "headrace.h"

G_BEGIN_DECLS

/**
 * hr_unix_listen:
 * @location: a path, whose file is made, or "@name", which leaves none
 * @error: #HR_RESOURCE_ERROR; also if somebody listens there already
 *
 * A file that nobody listens to any more, as a killed process leaves it, is replaced.
 *
 * Returns: a descriptor, or -1
 */
int hr_unix_listen (const char *location, GError **error);
/* closes it, and takes the file away */
void hr_unix_unlisten (int fd, const char *location);
/**
 * hr_unix_accept:
 * @wake_fd: give up when this becomes readable, with #HR_CORE_ERROR_STOPPED; -1: do not wait at all
 *
 * Returns: a descriptor, or -1, without an error if @wake_fd is -1 and nobody is there
 */
int hr_unix_accept (int fd, int wake_fd, GError **error);
/**
 * hr_unix_connect:
 * @timeout: nanoseconds, for who listens there to come up
 * @wake_fd: give up when this becomes readable, with #HR_CORE_ERROR_STOPPED
 *
 * Returns: a descriptor, or -1
 */
int hr_unix_connect (const char *location, gint64 timeout, int wake_fd, GError **error);

G_END_DECLS
