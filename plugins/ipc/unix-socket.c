/* unix-socket.c: listening, accepting and connecting, on one machine */
#include "unix-socket.h"
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* between two looks whether somebody listens by now, in milliseconds */
#define LOOK_TIME 20

static gboolean
set_errno (GError **error, const char *what, const char *location)
{
  int number = errno;

  g_set_error (error, HR_RESOURCE_ERROR,
               number == EACCES || number == EPERM ? HR_RESOURCE_ERROR_FORBIDDEN
                                                   : HR_RESOURCE_ERROR_CONNECT,
               "location=%s: %s: %s", location, what, g_strerror (number));
  return FALSE;
}

static gboolean
make_address (const char *location, struct sockaddr_un *address, socklen_t *size, GError **error)
{
  gsize length = strlen (location);

  *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
  if (length == 0 || length >= sizeof address->sun_path) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
                 "location=%s: a socket's name has 1 to %" G_GSIZE_FORMAT " bytes", location,
                 sizeof address->sun_path - 1);
    return FALSE;
  }
  memcpy (address->sun_path, location, length);
  if (location[0] == '@')
    address->sun_path[0] = '\0';
  *size = (socklen_t)(offsetof (struct sockaddr_un, sun_path) + length
                      + (location[0] == '@' ? 0 : 1));
  return TRUE;
}

static int
open_socket (void)
{
  return socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* TRUE: connected; else errno says why not */
static gboolean
try_connect (int fd, const struct sockaddr_un *address, socklen_t size)
{
  int status;

  do
    status = connect (fd, (const struct sockaddr *)address, size);
  while (status < 0 && errno == EINTR);
  return status == 0;
}

/* a file of a socket that nobody listens to, left by a process that was killed */
static void
remove_stale (const char *location, const struct sockaddr_un *address, socklen_t size)
{
  int fd = location[0] != '@' ? open_socket () : -1;

  if (fd < 0)
    return;
  if (!try_connect (fd, address, size) && errno == ECONNREFUSED)
    unlink (location);
  close (fd);
}

int
hr_unix_listen (const char *location, GError **error)
{
  struct sockaddr_un address;
  socklen_t size;
  int fd;

  if (!make_address (location, &address, &size, error))
    return -1;
  remove_stale (location, &address, size);
  fd = open_socket ();
  if (fd < 0 || bind (fd, (const struct sockaddr *)&address, size) < 0 || listen (fd, 16) < 0) {
    set_errno (error, "cannot listen there", location);
    if (fd >= 0)
      close (fd);
    return -1;
  }
  return fd;
}

void
hr_unix_unlisten (int fd, const char *location)
{
  if (fd < 0)
    return;
  if (location[0] != '@')
    unlink (location);
  close (fd);
}

/* FALSE: woken */
static gboolean
wait_readable (int fd, int wake_fd, int timeout_ms)
{
  struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = wake_fd, .events = POLLIN } };

  while (poll (fds, G_N_ELEMENTS (fds), timeout_ms) < 0 && errno == EINTR)
    ;
  return fds[1].revents == 0;
}

static void
set_stopped (GError **error)
{
  g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED,
                       "the pipeline is being stopped");
}

int
hr_unix_accept (int fd, int wake_fd, GError **error)
{
  struct pollfd ready = { .fd = fd, .events = POLLIN };
  int got;

  if (wake_fd < 0 && poll (&ready, 1, 0) <= 0)
    return -1;
  if (wake_fd >= 0 && !wait_readable (fd, wake_fd, -1)) {
    set_stopped (error);
    return -1;
  }
  do
    got = accept4 (fd, NULL, NULL, SOCK_CLOEXEC);
  while (got < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (got < 0)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT, "cannot take a reader: %s",
                 g_strerror (errno));
  return got;
}

int
hr_unix_connect (const char *location, gint64 timeout, int wake_fd, GError **error)
{
  gint64 until = g_get_monotonic_time () + timeout / 1000;
  struct sockaddr_un address;
  socklen_t size;

  if (!make_address (location, &address, &size, error))
    return -1;
  for (;;) {
    int fd = open_socket (), number;

    if (fd >= 0 && try_connect (fd, &address, size))
      return fd;
    number = errno;
    if (fd >= 0)
      close (fd);
    errno = number;
    if ((number != ENOENT && number != ECONNREFUSED) || g_get_monotonic_time () >= until) {
      set_errno (error, number == ENOENT || number == ECONNREFUSED ? "nobody listens there"
                                                                   : "cannot connect",
                 location);
      return -1;
    }
    if (!wait_readable (-1, wake_fd, LOOK_TIME)) {
      set_stopped (error);
      return -1;
    }
  }
}
