/* pipe-socket.h: how pipesink and pipesrc wait for who is at the other end */
#pragma once
#include <poll.h>
#include "headrace.h"

/* until @fd is ready; FALSE with #HR_CORE_ERROR_STOPPED once nobody wants it any more */
gboolean pipe_socket_wait (int fd, short events, HrOut *out, GError **error);
