/* fake-server.c: an HTTP/1.1 server on loopback that answers as a test says, faults included */
#include "fake-server.h"
#include "hr-sync.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
  FakeServer *server;
  guint number;
  int fd;
  gboolean counted; /* in at_once */
  GThread *thread;
} Connection;

struct _FakeServer {
  int fd;
  char *url;
  FakeAnswer answer;
  gpointer data;
  GThread *thread;
  HrMutex lock;
  gboolean stopped;
  GPtrArray *connections;
  guint n_requests;
  guint at_once;
  guint most_at_once;
};

static gboolean
send_all (int fd, const char *bytes, gsize size)
{
  while (size > 0) {
    gssize n = send (fd, bytes, size, MSG_NOSIGNAL);

    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return FALSE;
    bytes += n;
    size -= n;
  }
  return TRUE;
}

static gboolean
is_stopped (FakeServer *server)
{
  gboolean stopped;

  hr_mutex_lock (&server->lock);
  stopped = server->stopped;
  hr_mutex_unlock (&server->lock);
  return stopped;
}

/* until the client closes, or the server */
static void
wait_for_end (Connection *connection)
{
  char byte;

  while (!is_stopped (connection->server) && recv (connection->fd, &byte, 1, 0) > 0)
    ;
}

/* also while the client may give up */
static gboolean
pause_for (Connection *connection, guint milliseconds)
{
  struct pollfd fd = { .fd = connection->fd, .events = POLLRDHUP };

  return milliseconds == 0 || poll (&fd, 1, milliseconds) == 0;
}

static gboolean
read_head (Connection *connection, GString *head)
{
  g_string_truncate (head, 0);
  while (!g_str_has_suffix (head->str, "\r\n\r\n")) {
    char byte;

    if (recv (connection->fd, &byte, 1, 0) <= 0)
      return FALSE;
    g_string_append_c (head, byte);
  }
  return TRUE;
}

char *
fake_request_get_header (const FakeRequest *request, const char *name)
{
  g_auto (GStrv) lines = g_strsplit (request->head, "\r\n", -1);
  gsize length = strlen (name);

  for (char **line = lines; *line; line++)
    if (g_ascii_strncasecmp (*line, name, length) == 0 && (*line)[length] == ':')
      return g_strstrip (g_strdup (*line + length + 1));
  return NULL;
}

static void
parse_request (FakeRequest *request, const char *head)
{
  g_auto (GStrv) words = g_strsplit (head, " ", 3);
  g_autofree char *range = NULL;

  request->method = g_strdup (words[0]);
  request->target = g_strdup (words[1]);
  request->head = g_strdup (strstr (head, "\r\n") + 2);
  request->first = request->last = -1;
  range = fake_request_get_header (request, "Range");
  if (range && sscanf (range, "bytes=%ld-%ld", &request->first, &request->last) != 2)
    request->first = request->last = -1;
}

static void
request_clear (FakeRequest *request)
{
  g_free (request->method);
  g_free (request->target);
  g_free (request->head);
}

/* before the client has all of it, and may ask for more */
static void
uncount (Connection *connection)
{
  hr_mutex_lock (&connection->server->lock);
  connection->server->at_once -= connection->counted;
  connection->counted = FALSE;
  hr_mutex_unlock (&connection->server->lock);
}

static gboolean
send_plain (Connection *connection, const char *bytes, gsize size)
{
  if (!send_all (connection->fd, bytes, size - 1))
    return FALSE;
  uncount (connection);
  return send_all (connection->fd, bytes + size - 1, 1);
}

static gboolean
send_body (Connection *connection, const FakeReply *reply)
{
  gsize size = MIN (reply->size, reply->cut);

  if (reply->chunked && size > 0) {
    g_autofree char *start = g_strdup_printf ("%lx\r\n", size);

    if (!send_all (connection->fd, start, strlen (start))
        || !send_all (connection->fd, reply->body, size) || !send_all (connection->fd, "\r\n", 2))
      return FALSE;
  } else if (size > 0 && !send_plain (connection, reply->body, size)) {
    return FALSE;
  }
  if (reply->end == FAKE_STALL)
    wait_for_end (connection);
  if (reply->end == FAKE_RESET) {
    struct linger at_once = { 1, 0 };

    /* what was sent should arrive before the reset does */
    pause_for (connection, 20);
    setsockopt (connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  if (reply->end != FAKE_GO_ON)
    return FALSE;
  return !reply->chunked || send_all (connection->fd, "0\r\n\r\n", 5);
}

/* FALSE: the connection ends */
static gboolean
send_reply (Connection *connection, const FakeReply *reply, gboolean head_only)
{
  g_autoptr (GString) head = g_string_new (NULL);

  if (!pause_for (connection, reply->delay))
    return FALSE;
  g_string_append_printf (head, "HTTP/1.1 %u Test\r\n%s", reply->status,
                          reply->headers ? reply->headers : "");
  if (reply->chunked)
    g_string_append (head, "Transfer-Encoding: chunked\r\n");
  else if (!reply->no_length)
    g_string_append_printf (head, "Content-Length: %" G_GINT64_FORMAT "\r\n",
                            reply->length >= 0 ? reply->length : (gint64)reply->size);
  g_string_append (head, "\r\n");
  if (!send_all (connection->fd, head->str, head->len))
    return FALSE;
  if (head_only)
    return TRUE;
  return send_body (connection, reply) && !reply->no_length;
}

/* of a form that is sent: else it would be the beginning of the next request */
static void
read_body (Connection *connection, const FakeRequest *request)
{
  g_autofree char *length = fake_request_get_header (request, "Content-Length");
  char byte;

  for (gint64 left = length ? g_ascii_strtoll (length, NULL, 10) : 0;
       left > 0 && recv (connection->fd, &byte, 1, 0) > 0; left--)
    ;
}

static gboolean
serve (Connection *connection, const char *head)
{
  FakeServer *server = connection->server;
  FakeRequest request = { .connection = connection->number };
  FakeReply reply = { .status = 200, .length = -1, .cut = FAKE_ALL };
  gboolean more;

  parse_request (&request, head);
  read_body (connection, &request);
  hr_mutex_lock (&server->lock);
  request.number = server->n_requests++;
  server->at_once++;
  connection->counted = TRUE;
  server->most_at_once = MAX (server->most_at_once, server->at_once);
  server->answer (&request, &reply, server->data);
  hr_mutex_unlock (&server->lock);
  more = send_reply (connection, &reply, strcmp (request.method, "HEAD") == 0);
  uncount (connection);
  request_clear (&request);
  g_free (reply.headers);
  g_free (reply.body);
  return more;
}

static gpointer
run_connection (gpointer data)
{
  Connection *connection = data;
  g_autoptr (GString) head = g_string_new (NULL);

  while (read_head (connection, head) && serve (connection, head->str))
    ;
  hr_mutex_lock (&connection->server->lock);
  close (connection->fd);
  connection->fd = -1;
  hr_mutex_unlock (&connection->server->lock);
  return NULL;
}

static gpointer
run_server (gpointer data)
{
  FakeServer *server = data;
  int on = 1, fd;

  while ((fd = accept (server->fd, NULL, NULL)) >= 0) {
    Connection *connection = g_new0 (Connection, 1);

    setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    hr_mutex_lock (&server->lock);
    connection->server = server;
    connection->fd = fd;
    connection->number = server->connections->len;
    g_ptr_array_add (server->connections, connection);
    connection->thread = g_thread_new ("connection", run_connection, connection);
    if (server->stopped)
      shutdown (fd, SHUT_RDWR);
    hr_mutex_unlock (&server->lock);
  }
  return NULL;
}

FakeServer *
fake_server_new (FakeAnswer answer, gpointer data)
{
  FakeServer *server = g_new0 (FakeServer, 1);
  struct sockaddr_in address = { .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  socklen_t length = sizeof address;

  hr_mutex_init (&server->lock);
  server->answer = answer;
  server->data = data;
  server->connections = g_ptr_array_new_with_free_func (g_free);
  server->fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (bind (server->fd, (struct sockaddr *)&address, sizeof address), ==, 0);
  g_assert_cmpint (listen (server->fd, 512), ==, 0);
  g_assert_cmpint (getsockname (server->fd, (struct sockaddr *)&address, &length), ==, 0);
  server->url = g_strdup_printf ("http://127.0.0.1:%u", ntohs (address.sin_port));
  server->thread = g_thread_new ("server", run_server, server);
  return server;
}

void
fake_server_free (FakeServer *server)
{
  hr_mutex_lock (&server->lock);
  server->stopped = TRUE;
  shutdown (server->fd, SHUT_RDWR);
  for (guint i = 0; i < server->connections->len; i++) {
    Connection *connection = server->connections->pdata[i];

    if (connection->fd >= 0)
      shutdown (connection->fd, SHUT_RDWR);
  }
  hr_mutex_unlock (&server->lock);
  g_thread_join (server->thread);
  for (guint i = 0; i < server->connections->len; i++)
    g_thread_join (((Connection *)server->connections->pdata[i])->thread);
  close (server->fd);
  g_ptr_array_unref (server->connections);
  hr_mutex_clear (&server->lock);
  g_free (server->url);
  g_free (server);
}

const char *
fake_server_get_url (FakeServer *server)
{
  return server->url;
}

static guint
get_number (FakeServer *server, const guint *number)
{
  guint value;

  hr_mutex_lock (&server->lock);
  value = *number;
  hr_mutex_unlock (&server->lock);
  return value;
}

guint
fake_server_get_n_requests (FakeServer *server)
{
  return get_number (server, &server->n_requests);
}

guint
fake_server_get_most_at_once (FakeServer *server)
{
  return get_number (server, &server->most_at_once);
}

guint
fake_server_get_n_connections (FakeServer *server)
{
  return get_number (server, &server->connections->len);
}

void
fake_reply_set_bytes (FakeReply *reply, gconstpointer bytes, gsize size)
{
  g_free (reply->body);
  reply->body = g_memdup2 (bytes, size);
  reply->size = size;
}

void
fake_reply_set_text (FakeReply *reply, const char *text)
{
  fake_reply_set_bytes (reply, text, strlen (text));
}

void
fake_reply_add_header (FakeReply *reply, const char *name, const char *value)
{
  g_autofree char *old = g_steal_pointer (&reply->headers);

  reply->headers = g_strconcat (old ? old : "", name, ": ", value, "\r\n", NULL);
}

void
fake_reply_object (FakeReply *reply, const FakeRequest *request, gconstpointer bytes, gsize size,
                   const char *etag)
{
  gint64 last = MIN (request->last, (gint64)size - 1);
  g_autofree char *range = NULL;

  fake_reply_add_header (reply, "ETag", etag);
  if (request->first < 0) {
    fake_reply_set_bytes (reply, bytes, size);
    return;
  }
  if (request->first >= (gint64)size) {
    range = g_strdup_printf ("bytes */%" G_GSIZE_FORMAT, size);
    fake_reply_error (reply, 416, "InvalidRange");
  } else {
    reply->status = 206;
    range = g_strdup_printf ("bytes %" G_GINT64_FORMAT "-%" G_GINT64_FORMAT "/%" G_GSIZE_FORMAT,
                             request->first, last, size);
    fake_reply_set_bytes (reply, (const char *)bytes + request->first, last - request->first + 1);
  }
  fake_reply_add_header (reply, "Content-Range", range);
}

void
fake_reply_error (FakeReply *reply, guint status, const char *code)
{
  g_autofree char *text = g_strdup_printf ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>"
                                           "<Code>%s</Code><Message>The test says so.</Message>"
                                           "<RequestId>1</RequestId></Error>",
                                           code);

  reply->status = status;
  fake_reply_add_header (reply, "Content-Type", "application/xml");
  fake_reply_set_text (reply, text);
}
