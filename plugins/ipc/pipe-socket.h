/* pipe-socket.h: what pipesink and pipesrc both do: the two ways to say who is at the other end,
 * and waiting for it */
#pragma once
#include <poll.h>
#include "headrace.h"

/* one of the two, and not both; #HR_PARSE_ERROR_CONFLICT */
gboolean pipe_socket_check (const char *address, gint64 fd, GError **error);
/* until @fd is ready; FALSE with #HR_CORE_ERROR_STOPPED once nobody wants it any more */
gboolean pipe_socket_wait (int fd, short events, HrOut *out, GError **error);
