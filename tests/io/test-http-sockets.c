/* bytes that nobody asked for are in a kept connection: the next answer is not read from there */
#include "http-sockets.h"
#include "http-wait.h"
#include <gio/gio.h>
#include <sys/socket.h>

/* ---- a server whose first answer is followed by what looks like another ---- */

typedef struct {
  GSocket *listener;
  GThread *thread;
  gint got;  /* the first one has been read */
  gint late; /* the other one has been sent */
  guint n;   /* connections */
} Server;

static gboolean
read_head (GSocket *socket)
{
  GString *head = g_string_new (NULL);
  gboolean whole = FALSE;

  while (!whole) {
    char byte;

    if (g_socket_receive (socket, &byte, 1, NULL, NULL) != 1)
      break;
    g_string_append_c (head, byte);
    whole = g_str_has_suffix (head->str, "\r\n\r\n");
  }
  g_string_free (head, TRUE);
  return whole;
}

static void
answer (GSocket *socket, const char *etag, const char *body)
{
  g_autofree char *text =
      g_strdup_printf ("HTTP/1.1 200 OK\r\nETag: \"%s\"\r\nContent-Length: %zu\r\n\r\n%s", etag,
                       strlen (body), body);

  g_socket_send (socket, text, strlen (text), NULL, NULL);
}

static gpointer
serve (gpointer data)
{
  Server *server = data;
  GSocket *socket;

  while ((socket = g_socket_accept (server->listener, NULL, NULL))) {
    server->n++;
    while (read_head (socket)) {
      answer (socket, "right", "right");
      if (server->n > 1 || g_atomic_int_get (&server->late))
        continue;
      while (!g_atomic_int_get (&server->got))
        g_usleep (1000);
      answer (socket, "wrong", "wrong");
      g_atomic_int_set (&server->late, 1);
    }
    g_object_unref (socket);
  }
  return NULL;
}

static char *
start (Server *server)
{
  g_autoptr (GInetAddress) loopback = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4);
  g_autoptr (GSocketAddress) any = g_inet_socket_address_new (loopback, 0), own = NULL;

  server->listener =
      g_socket_new (G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, NULL);
  g_assert_true (g_socket_bind (server->listener, any, TRUE, NULL));
  g_assert_true (g_socket_listen (server->listener, NULL));
  own = g_socket_get_local_address (server->listener, NULL);
  server->thread = g_thread_new ("server", serve, server);
  return g_strdup_printf ("http://127.0.0.1:%u/",
                          g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (own)));
}

static void
end (Server *server)
{
  /* accept() ends */
  shutdown (g_socket_get_fd (server->listener), SHUT_RDWR);
  g_thread_join (server->thread);
  g_object_unref (server->listener);
}

static void
get (HrHttp *http, const char *url)
{
  g_auto (HrHttpAnswer) got = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_true (hr_http_wait (http, hr_http_request_new (url, url), -1, &got, &error));
  g_assert_no_error (error);
  g_assert_cmpmem (got.body->data, got.size, "right", 5);
}

/* curl would send the second request over the first connection, and take what is there */
static void
test_left_over (void)
{
  Server server = { 0 };
  g_autofree char *url = start (&server);
  HrHttp *http = hr_http_new (&HR_HTTP_OPTIONS, NULL);

  get (http, url);
  g_atomic_int_set (&server.got, 1);
  while (!g_atomic_int_get (&server.late))
    g_usleep (1000);
  g_usleep (20000); /* to the other side of loopback */
  for (guint i = 0; i < 5; i++)
    get (http, url);
  g_assert_cmpuint (hr_http_get_counts (http)->retries, ==, 1);
  hr_http_free (http);
  end (&server);
  g_assert_cmpuint (server.n, ==, 2);
}

/* a clean one is kept */
static void
test_kept (void)
{
  Server server = { .late = 1 };
  g_autofree char *url = start (&server);
  HrHttp *http = hr_http_new (&HR_HTTP_OPTIONS, NULL);

  for (guint i = 0; i < 20; i++)
    get (http, url);
  g_assert_cmpuint (hr_http_get_counts (http)->retries, ==, 0);
  hr_http_free (http);
  end (&server);
  g_assert_cmpuint (server.n, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/http-sockets/left-over", test_left_over);
  g_test_add_func ("/io/http-sockets/kept", test_kept);
  return g_test_run ();
}
