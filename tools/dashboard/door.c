/* door.c: lets visitors in: only so many at a time, and none that stands still */
#include "door.h"

#define MOST_VISITORS 64
#define PATIENCE 10 /* seconds */

struct _Door {
  SoupServer *server;
  GSocket *socket;
  GSource *source;
  guint n_visitors;
};

static void
leave (gpointer data, GObject *gone)
{
  Door *door = data;

  (void)gone;
  door->n_visitors--;
}

static gboolean
let_in (GSocket *socket, GIOCondition condition, gpointer data)
{
  Door *door = data;
  g_autoptr (GSocket) own = g_socket_accept (socket, NULL, NULL);
  g_autoptr (GSocketConnection) connection = NULL;
  g_autoptr (GSocketAddress) local = NULL;
  g_autoptr (GSocketAddress) remote = NULL;

  (void)condition;
  if (own == NULL) {
    /* no descriptor is left, and the next try would be at once */
    g_usleep (G_USEC_PER_SEC / 10);
    return G_SOURCE_CONTINUE;
  }
  if (door->n_visitors >= MOST_VISITORS)
    return G_SOURCE_CONTINUE;
  g_socket_set_timeout (own, PATIENCE);
  local = g_socket_get_local_address (own, NULL);
  remote = g_socket_get_remote_address (own, NULL);
  connection = g_socket_connection_factory_create_connection (own);
  door->n_visitors++;
  g_object_weak_ref (G_OBJECT (connection), leave, door);
  soup_server_accept_iostream (door->server, G_IO_STREAM (connection), local, remote, NULL);
  return G_SOURCE_CONTINUE;
}

Door *
door_new (SoupServer *server, GInetAddress *address, guint16 port, GError **error)
{
  g_autoptr (GSocketAddress) at = g_inet_socket_address_new (address, port);
  g_autoptr (GSocket) socket = g_socket_new (g_inet_address_get_family (address),
                                             G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, error);
  Door *door;

  if (socket == NULL || !g_socket_bind (socket, at, TRUE, error)
      || !g_socket_listen (socket, error))
    return NULL;
  g_socket_set_blocking (socket, FALSE);
  door = g_new0 (Door, 1);
  door->server = server;
  door->socket = g_steal_pointer (&socket);
  door->source = g_socket_create_source (door->socket, G_IO_IN, NULL);
  g_source_set_callback (door->source, G_SOURCE_FUNC (let_in), door, NULL);
  g_source_attach (door->source, g_main_context_get_thread_default ());
  return door;
}

guint16
door_get_port (const Door *door)
{
  g_autoptr (GSocketAddress) at = g_socket_get_local_address (door->socket, NULL);

  return at != NULL ? g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (at)) : 0;
}

void
door_free (Door *door)
{
  g_source_destroy (door->source);
  g_source_unref (door->source);
  g_object_unref (door->socket);
  g_free (door);
}
