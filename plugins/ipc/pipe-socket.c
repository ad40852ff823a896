/* pipe-socket.c: how pipesink and pipesrc wait */
#include "pipe-socket.h"
#include "shm-socket.h"

gboolean
pipe_socket_wait (int fd, short events, HrOut *out, GError **error)
{
  struct pollfd fds[] = { { .fd = fd, .events = events },
                          { .fd = hr_out_get_wake_fd (out), .events = POLLIN } };

  do {
    hr_out_answer (out);
    if (hr_out_is_closed (out)) {
      g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
      return FALSE;
    }
  } while (poll (fds, G_N_ELEMENTS (fds), HR_SHM_LOOK_MS) <= 0);
  return TRUE;
}
