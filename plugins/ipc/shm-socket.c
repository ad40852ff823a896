/* shm-socket.c */
#include "shm-socket.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "hr-error.h"

#define PREFIX "headrace/"

static gboolean
make_address (const char *name, struct sockaddr_un *address, socklen_t *length, GError **error)
{
  gsize room = sizeof address->sun_path - 1 - strlen (PREFIX), n = strlen (name);

  *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
  if (n == 0 || n > room) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
                 "address \"%s\" has %" G_GSIZE_FORMAT " bytes, it must have 1 to %" G_GSIZE_FORMAT,
                 name, n, room);
    return FALSE;
  }
  /* the first byte 0 is what makes it abstract */
  memcpy (address->sun_path + 1, PREFIX, strlen (PREFIX));
  memcpy (address->sun_path + 1 + strlen (PREFIX), name, n);
  *length = (socklen_t)(G_STRUCT_OFFSET (struct sockaddr_un, sun_path) + 1 + strlen (PREFIX) + n);
  return TRUE;
}

static int
make_socket (GError **error)
{
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  if (fd < 0)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT, "a socket: %s",
                 g_strerror (errno));
  return fd;
}

gboolean
hr_shm_check_ends (const char *address, gint64 fd, GError **error)
{
  if ((address != NULL) != (fd >= 0))
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "set either address, a name, or fd, a connected socket");
  return FALSE;
}

int
hr_shm_listen (const char *name, GError **error)
{
  struct sockaddr_un address;
  socklen_t length;
  int fd;

  if (!make_address (name, &address, &length, error) || (fd = make_socket (error)) < 0)
    return -1;
  if (bind (fd, (const struct sockaddr *)&address, length) == 0 && listen (fd, 64) == 0)
    return fd;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT, "address=%s: %s", name,
               errno == EADDRINUSE ? "another process of this machine uses that name already; "
                                     "choose one"
                                   : g_strerror (errno));
  close (fd);
  return -1;
}

gboolean
hr_shm_check (int fd, GError **error)
{
  struct ucred who;
  socklen_t length = sizeof who;
  int type = 0;
  socklen_t type_length = sizeof type;

  if (getsockopt (fd, SOL_SOCKET, SO_TYPE, &type, &type_length) < 0 || type != SOCK_STREAM
      || getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
                 "descriptor %d is no connected unix socket of type SOCK_STREAM", fd);
    return FALSE;
  }
  if (who.uid == geteuid () || who.uid == 0)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN,
               "process %d at the other end runs as user %u, this one as %u; both must be the same",
               (int)who.pid, (guint)who.uid, (guint)geteuid ());
  return FALSE;
}

int
hr_shm_accept (int listening, GError **error)
{
  int fd = accept4 (listening, NULL, NULL, SOCK_CLOEXEC);

  if (fd >= 0 && !hr_shm_check (fd, error)) {
    close (fd);
    fd = -1;
  } else if (fd < 0 && errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) {
    /* it would come again at once, and for ever */
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
                 "a reader cannot be let in: %s%s", g_strerror (errno),
                 errno == EMFILE ? "; raise the limit (ulimit -n)" : "");
  }
  return fd;
}

int
hr_shm_connect (const char *name, GError **error)
{
  struct sockaddr_un address;
  socklen_t length;
  int fd;

  if (!make_address (name, &address, &length, error) || (fd = make_socket (error)) < 0)
    return -1;
  if (connect (fd, (const struct sockaddr *)&address, length) < 0) {
    /* nobody, or so many that they wait in a line */
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT, "address=%s: %s", name,
                   g_strerror (errno));
  } else if (hr_shm_check (fd, error)) {
    return fd;
  }
  close (fd);
  return -1;
}
