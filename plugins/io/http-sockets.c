/* http-sockets.c */
#include "http-sockets.h"
#include <gio/gio.h>
#include <sys/socket.h>
#include <unistd.h>

struct _HrHttpSockets {
  GHashTable *used; /* "address port" of our side -> descriptor */
  GArray *fresh;    /* descriptors over which nothing has been sent */
};

HrHttpSockets *
hr_http_sockets_new (void)
{
  HrHttpSockets *sockets = g_new0 (HrHttpSockets, 1);

  sockets->used = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  sockets->fresh = g_array_new (FALSE, FALSE, sizeof (int));
  return sockets;
}

void
hr_http_sockets_free (HrHttpSockets *sockets)
{
  g_hash_table_unref (sockets->used);
  g_array_unref (sockets->fresh);
  g_free (sockets);
}

void
hr_http_sockets_opened (HrHttpSockets *sockets, int fd)
{
  g_array_append_val (sockets->fresh, fd);
}

static gboolean
is_descriptor (gpointer key G_GNUC_UNUSED, gpointer value, gpointer fd)
{
  return value == fd;
}

int
hr_http_sockets_close (HrHttpSockets *sockets, int fd)
{
  g_hash_table_foreach_remove (sockets->used, is_descriptor, GINT_TO_POINTER (fd));
  for (guint i = 0; i < sockets->fresh->len; i++)
    if (g_array_index (sockets->fresh, int, i) == fd)
      g_array_remove_index_fast (sockets->fresh, i--);
  return close (fd);
}

/* "address port" of its side; NULL: it is not connected */
static char *
get_name (int fd)
{
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  g_autoptr (GSocketAddress) whole = NULL;
  g_autofree char *text = NULL;

  if (getsockname (fd, (struct sockaddr *)&address, &size) != 0)
    return NULL;
  whole = g_socket_address_new_from_native (&address, size);
  if (!G_IS_INET_SOCKET_ADDRESS (whole))
    return NULL;
  text =
      g_inet_address_to_string (g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (whole)));
  return g_strdup_printf ("%s %d", text,
                          g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (whole)));
}

static void
note_use (HrHttpSockets *sockets, const char *name)
{
  for (guint i = 0; i < sockets->fresh->len; i++) {
    int fd = g_array_index (sockets->fresh, int, i);
    g_autofree char *own = get_name (fd);

    if (g_strcmp0 (own, name) != 0)
      continue;
    g_hash_table_insert (sockets->used, g_steal_pointer (&own), GINT_TO_POINTER (fd));
    g_array_remove_index_fast (sockets->fresh, i);
    return;
  }
}

gboolean
hr_http_sockets_use (HrHttpSockets *sockets, const char *local, int port)
{
  g_autofree char *name = g_strdup_printf ("%s %d", local, port);
  gpointer fd;
  char byte;

  if (g_hash_table_lookup_extended (sockets->used, name, NULL, &fd))
    return recv (GPOINTER_TO_INT (fd), &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
  note_use (sockets, name);
  return TRUE;
}
