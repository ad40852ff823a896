/* pipe-socket.c: what pipesink and pipesrc both do */
#include "pipe-socket.h"

/* nobody who waits is deaf for longer: for who asks what it waits for */
#define LOOK_MS 500

gboolean
pipe_socket_check (const char *address, gint64 fd, GError **error)
{
  if ((address != NULL) != (fd >= 0))
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "set either address, a name, or fd, a connected socket");
  return FALSE;
}

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
  } while (poll (fds, G_N_ELEMENTS (fds), LOOK_MS) <= 0);
  return TRUE;
}
