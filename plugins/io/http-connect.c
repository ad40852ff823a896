/* http-connect.c: which addresses a try may reach, and over which sockets */
#include "http-private.h"
#include "hr-error.h"
#include <errno.h>
#include <sys/socket.h>

static gboolean
may_reach (Try *attempt, GInetAddress *address)
{
  g_clear_error (&attempt->barred);
  return hr_address_guard_check (attempt->transfer->request->guard, address, &attempt->barred);
}

/* Asked for each address of a name, after it was resolved: no name, spelling or redirect gets round
 * it. */
static gboolean
may_connect (Try *attempt, struct curl_sockaddr *address)
{
  g_autoptr (GSocketAddress) whole = NULL;

  if (!attempt->transfer->request->guard)
    return TRUE;
  whole = g_socket_address_new_from_native (&address->addr, address->addrlen);
  return G_IS_INET_SOCKET_ADDRESS (whole)
         && may_reach (attempt, g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (whole)));
}

/* programs that the host starts must not hold our connections open */
static curl_socket_t
open_socket (void *data, curlsocktype purpose G_GNUC_UNUSED, struct curl_sockaddr *address)
{
  Try *attempt = data;
  int fd;

  if (!may_connect (attempt, address))
    return CURL_SOCKET_BAD;
  g_clear_error (&attempt->fault);
  fd = socket (address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  attempt->transfer->request->no_socket = fd < 0 && (errno == EMFILE || errno == ENFILE);
  if (attempt->transfer->request->no_socket) /* curl would blame the server */
    g_set_error (&attempt->fault, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "no socket: %s (ulimit -n); fewer requests at once need fewer",
                 g_strerror (errno));
  if (fd >= 0)
    hr_http_sockets_opened (attempt->transfer->http->sockets, fd);
  return fd;
}

static int
close_socket (void *sockets, curl_socket_t fd)
{
  return hr_http_sockets_close (sockets, fd);
}

/* a connection that stood already was perhaps made for a request that may go further */
static int
before_request (void *data, char *remote, char *local, int remote_port G_GNUC_UNUSED,
                int local_port)
{
  Try *attempt = data;
  g_autoptr (GInetAddress) address = NULL;

  if (!hr_http_sockets_use (attempt->transfer->http->sockets, local, local_port)) {
    g_set_error_literal (&attempt->fault, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                         "the answer before on this connection was longer than it was said to be");
    return CURL_PREREQFUNC_ABORT;
  }
  if (!attempt->transfer->request->guard)
    return CURL_PREREQFUNC_OK;
  address = g_inet_address_new_from_string (remote);
  return address && may_reach (attempt, address) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

void
hr_http_connect_set_up (HrHttp *http, CURL *easy)
{
  curl_easy_setopt (easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt (easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
  curl_easy_setopt (easy, CURLOPT_CLOSESOCKETDATA, http->sockets);
  curl_easy_setopt (easy, CURLOPT_PREREQFUNCTION, before_request);
}
