/* delay.c: a TCP proxy that makes a link long: each byte arrives --delay later than it was sent,
 * and bandwidth stays what it is. It reads along as HTTP/1.1 and logs connections and requests with
 * begin and end as the client sees them, so that "requests in flight" is somebody else's word.
 *
 *   delay --to 127.0.0.1:9000 [--listen ADDRESS:PORT] [--delay MILLISECONDS] [--log FILE]
 *
 * Prints `listening on ADDRESS:PORT`; on SIGTERM or SIGINT one JSON object with the totals and
 * its own CPU time. A line of the log is a JSON object too; times are seconds since the start. */
#include "delay-http.h"
#include <arpa/inet.h>
#include <errno.h>
#include <glib-unix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define READ_SIZE (256 * 1024)
/* far above bandwidth * delay of a loopback; only so that memory has a bound */
#define MAX_BUFFERED (256 * 1024 * 1024)

typedef struct _Connection Connection;

/* bytes on their way; size 0 stands for the end */
typedef struct {
  gint64 due;
  gsize size, sent;
  guint8 data[];
} Chunk;

/* one direction */
typedef struct {
  Connection *connection;
  Side *side;
  int from, to;
  GQueue chunks;
  gsize buffered;
  gboolean reading; /* we want to read `from` */
  gboolean blocked; /* `to` takes no more at the moment */
  gboolean ended;   /* `from` has ended */
  gboolean done;    /* and `to` knows it */
} Half;

struct _Connection {
  gint64 opened;
  int client, server;
  Half up, down;
  Talk talk;
  gboolean closed;
};

typedef struct {
  gint64 due;
  Half *half;
} Due;

static int epoll_fd, timer_fd;
static gint64 delay_us, timer_at;
static GQueue dues = G_QUEUE_INIT; /* Due, in order of time */
static GHashTable *connections;    /* a set: the open ones */
static GPtrArray *graveyard;       /* closed in this round: events may still name them */
static Watch counts;
static guint n_connections;
static guint64 bytes_up, bytes_down;

static void
update_watch (Connection *c)
{
  struct epoll_event client = { .data.ptr = &c->up }, server = { .data.ptr = &c->down };

  /* up reads from the client, down writes to it */
  client.events = (c->up.reading ? EPOLLIN : 0) | (c->down.blocked ? EPOLLOUT : 0);
  server.events = (c->down.reading ? EPOLLIN : 0) | (c->up.blocked ? EPOLLOUT : 0);
  epoll_ctl (epoll_fd, EPOLL_CTL_MOD, c->client, &client);
  epoll_ctl (epoll_fd, EPOLL_CTL_MOD, c->server, &server);
}

static void
close_connection (Connection *c)
{
  if (c->closed)
    return;
  c->closed = TRUE;
  talk_clear (&c->talk);
  if (counts.log)
    fprintf (counts.log, "{\"connection\":%u,\"opened\":%.6f,\"closed\":%.6f}\n", c->talk.id,
             watch_seconds (&counts, c->opened), watch_seconds (&counts, g_get_monotonic_time ()));
  close (c->client);
  close (c->server);
  g_hash_table_remove (connections, c);
  g_ptr_array_add (graveyard, c);
}

static void
free_connection (Connection *c)
{
  for (GList *l = dues.head; l;) {
    GList *next = l->next;
    Due *due = l->data;

    if (due->half->connection == c) {
      g_free (due);
      g_queue_delete_link (&dues, l);
    }
    l = next;
  }
  g_queue_clear_full (&c->up.chunks, g_free);
  g_queue_clear_full (&c->down.chunks, g_free);
  g_free (c);
}

static void
set_timer (void)
{
  Due *first = g_queue_peek_head (&dues);
  gint64 at = first ? first->due : 0;
  struct itimerspec spec = { .it_value = { at / G_USEC_PER_SEC, (at % G_USEC_PER_SEC) * 1000 } };

  if (at != timer_at)
    timerfd_settime (timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
  timer_at = at;
}

static void
enqueue (Half *half, Chunk *chunk)
{
  Due *due = g_new (Due, 1);
  GList *after = dues.tail;

  g_queue_push_tail (&half->chunks, chunk);
  half->buffered += chunk->size;
  due->due = chunk->due;
  due->half = half;
  /* all delays are equal, so this is the tail, but for the first bytes of a connection */
  while (after && ((Due *)after->data)->due > due->due)
    after = after->prev;
  g_queue_insert_after (&dues, after, due);
}

static void
receive (Half *half)
{
  static guint8 bytes[READ_SIZE];
  Connection *c = half->connection;
  gint64 now = g_get_monotonic_time ();
  /* a client sees its connection opened only one round trip after it asked for it */
  gint64 sent = half == &c->up ? MAX (now, c->opened + 2 * delay_us) : now;
  ssize_t n = read (half->from, bytes, sizeof bytes);
  Chunk *chunk;

  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n < 0) {
    close_connection (c);
    return;
  }
  chunk = g_malloc (sizeof (Chunk) + (gsize)n);
  chunk->due = sent + delay_us;
  chunk->size = (gsize)n;
  chunk->sent = 0;
  memcpy (chunk->data, bytes, (gsize)n);
  if (half == &c->up)
    talk_read (&c->talk, half->side, bytes, (gsize)n);
  enqueue (half, chunk);
  half->ended = n == 0;
  half->reading = !half->ended && half->buffered < MAX_BUFFERED;
  if (!half->reading)
    update_watch (c);
}

/* FALSE: the socket takes no more, or is broken */
static gboolean
deliver_chunk (Half *half, Chunk *chunk)
{
  Connection *c = half->connection;
  ssize_t n = 0;

  if (chunk->size == 0) {
    shutdown (half->to, SHUT_WR);
    half->done = TRUE;
  } else
    n = send (half->to, chunk->data + chunk->sent, chunk->size - chunk->sent, MSG_NOSIGNAL);
  if (n < 0) {
    half->blocked = errno == EAGAIN || errno == EINTR;
    if (!half->blocked)
      close_connection (c);
    return FALSE;
  }
  if (half == &c->down)
    talk_read (&c->talk, half->side, chunk->data + chunk->sent, (gsize)n);
  *(half == &c->down ? &bytes_down : &bytes_up) += (guint64)n;
  chunk->sent += (gsize)n;
  half->buffered -= (gsize)n;
  if (chunk->sent == chunk->size)
    g_free (g_queue_pop_head (&half->chunks));
  return TRUE;
}

static void
deliver (Half *half)
{
  Connection *c = half->connection;
  gint64 now = g_get_monotonic_time ();
  gboolean was_blocked = half->blocked, was_reading = half->reading;
  Chunk *chunk;

  half->blocked = FALSE;
  while ((chunk = g_queue_peek_head (&half->chunks)) && chunk->due <= now)
    if (!deliver_chunk (half, chunk))
      break;
  if (c->closed)
    return;
  half->reading = !half->ended && half->buffered < MAX_BUFFERED;
  if (c->up.done && c->down.done)
    close_connection (c);
  else if (half->blocked != was_blocked || half->reading != was_reading)
    update_watch (c);
}

static void
deliver_due (void)
{
  gint64 now = g_get_monotonic_time ();
  Due *due;

  while ((due = g_queue_peek_head (&dues)) && due->due <= now) {
    Half *half = due->half;

    g_free (g_queue_pop_head (&dues));
    if (!half->connection->closed && !half->blocked)
      deliver (half);
  }
}

static void
half_init (Half *half, Connection *c, Side *side, int from, int to)
{
  half->connection = c;
  half->side = side;
  half->from = from;
  half->to = to;
  half->reading = TRUE;
  g_queue_init (&half->chunks);
}

static void
open_connection (int client, int server)
{
  int one = 1;
  struct epoll_event event = { .events = EPOLLIN };
  Connection *c = g_new0 (Connection, 1);

  setsockopt (client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt (server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  g_unix_set_fd_nonblocking (client, TRUE, NULL);
  g_unix_set_fd_nonblocking (server, TRUE, NULL);
  c->opened = g_get_monotonic_time ();
  c->client = client;
  c->server = server;
  g_hash_table_add (connections, c);
  talk_init (&c->talk, &counts, ++n_connections);
  half_init (&c->up, c, &c->talk.up, client, server);
  half_init (&c->down, c, &c->talk.down, server, client);
  event.data.ptr = &c->up;
  epoll_ctl (epoll_fd, EPOLL_CTL_ADD, client, &event);
  event.data.ptr = &c->down;
  epoll_ctl (epoll_fd, EPOLL_CTL_ADD, server, &event);
}

static void
accept_one (int listener, const struct sockaddr_in *target)
{
  int client = accept4 (listener, NULL, NULL, SOCK_CLOEXEC);
  int server = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  /* the target is on this machine: a blocking connect takes no time */
  if (client >= 0 && server >= 0
      && connect (server, (const struct sockaddr *)target, sizeof *target) == 0) {
    open_connection (client, server);
    return;
  }
  g_printerr ("delay: no connection: %s\n", g_strerror (errno));
  if (client >= 0)
    close (client);
  if (server >= 0)
    close (server);
}

static void
handle (Half *half, guint32 events)
{
  Connection *c = half->connection;
  Half *other = half == &c->up ? &c->down : &c->up;

  if (c->closed)
    return;
  if (half->reading && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
    receive (half);
  else if (half->ended && (events & (EPOLLHUP | EPOLLERR)))
    /* no more events from here, but what it has sent is still under way */
    epoll_ctl (epoll_fd, EPOLL_CTL_DEL, half->from, NULL);
  /* the other half writes to this socket */
  if (!c->closed && other->blocked && (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)))
    deliver (other);
}

static void
close_all (void)
{
  g_autoptr (GList) left = g_hash_table_get_keys (connections);

  for (GList *l = left; l; l = l->next)
    close_connection (l->data);
  g_ptr_array_unref (graveyard);
  g_hash_table_unref (connections);
}

static void
report (void)
{
  struct rusage usage;
  double cpu;

  getrusage (RUSAGE_SELF, &usage);
  cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  watch_count (&counts, 0);
  g_print ("{\"connections\":%u,\"requests\":%u,\"aborted\":%u,\"max_in_flight\":%u,"
           "\"mean_in_flight\":%.3f,\"bytes_up\":%" G_GUINT64_FORMAT
           ",\"bytes_down\":%" G_GUINT64_FORMAT ",\"cpu_s\":%.3f}\n",
           n_connections, counts.requests, counts.aborted, counts.max_in_flight,
           watch_mean (&counts), bytes_up, bytes_down, cpu);
}

static gboolean
parse_target (const char *text, struct sockaddr_in *address)
{
  g_auto (GStrv) parts = g_strsplit (text ? text : "", ":", 2);

  address->sin_family = AF_INET;
  if (!parts[0] || !parts[1] || inet_pton (AF_INET, parts[0], &address->sin_addr) != 1)
    return FALSE;
  address->sin_port = htons ((guint16)atoi (parts[1]));
  return TRUE;
}

static int
listen_on (const char *name, struct sockaddr_in address)
{
  char text[INET_ADDRSTRLEN];
  socklen_t size = sizeof address;
  int one = 1, fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind (fd, (struct sockaddr *)&address, sizeof address) < 0 || listen (fd, 1024) < 0) {
    g_printerr ("delay: %s: %s\n", name, g_strerror (errno));
    exit (1);
  }
  getsockname (fd, (struct sockaddr *)&address, &size);
  g_print ("listening on %s:%d\n", inet_ntop (AF_INET, &address.sin_addr, text, sizeof text),
           ntohs (address.sin_port));
  fflush (stdout);
  return fd;
}

static int listener_mark, timer_mark, signal_mark;

static void
watch_fd (int fd, gpointer mark)
{
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = mark };

  epoll_ctl (epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void
run (int listener, const struct sockaddr_in *target)
{
  struct epoll_event events[64];

  for (;;) {
    int n = epoll_wait (epoll_fd, events, G_N_ELEMENTS (events), -1);

    for (int i = 0; i < n; i++) {
      guint64 ticks;

      if (events[i].data.ptr == &signal_mark)
        return;
      if (events[i].data.ptr == &listener_mark)
        accept_one (listener, target);
      else if (events[i].data.ptr != &timer_mark)
        handle (events[i].data.ptr, events[i].events);
      else if (read (timer_fd, &ticks, sizeof ticks) == sizeof ticks)
        timer_at = 0;
    }
    deliver_due ();
    set_timer ();
    g_ptr_array_set_size (graveyard, 0);
  }
}

int
main (int argc, char **argv)
{
  int listener;
  double milliseconds = 15;
  g_autofree char *to = NULL, *log_name = NULL, *at = NULL;
  g_autoptr (GError) error = NULL;
  GOptionEntry entries[] = {
    { "to", 0, 0, G_OPTION_ARG_STRING, &to, "the server", "ADDRESS:PORT" },
    { "listen", 0, 0, G_OPTION_ARG_STRING, &at, "127.0.0.1:0; port 0 is any free one",
      "ADDRESS:PORT" },
    { "delay", 0, 0, G_OPTION_ARG_DOUBLE, &milliseconds, "milliseconds each way; 15", "MS" },
    { "log", 0, 0, G_OPTION_ARG_FILENAME, &log_name, "JSON lines", "FILE" },
    { NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("- a long link");
  struct sockaddr_in target = { 0 }, own = { 0 };
  sigset_t set;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || !parse_target (to, &target)
      || !parse_target (at != NULL ? at : "127.0.0.1:0", &own) || milliseconds < 0) {
    g_printerr ("delay: %s\n", error
                                   ? error->message
                                   : "--to ADDRESS:PORT, --listen ADDRESS:PORT, --delay 0 or more");
    return 2;
  }
  if (log_name && !(counts.log = fopen (log_name, "w"))) {
    g_printerr ("delay: %s: %s\n", log_name, g_strerror (errno));
    return 1;
  }
  delay_us = (gint64)(milliseconds * 1000);
  counts.start_us = counts.flight_changed = g_get_monotonic_time ();
  connections = g_hash_table_new (NULL, NULL);
  graveyard = g_ptr_array_new_with_free_func ((GDestroyNotify)free_connection);
  sigemptyset (&set);
  sigaddset (&set, SIGTERM);
  sigaddset (&set, SIGINT);
  sigprocmask (SIG_BLOCK, &set, NULL);
  epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
  timer_fd = timerfd_create (CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  listener = listen_on (at, own);
  watch_fd (signalfd (-1, &set, SFD_CLOEXEC), &signal_mark);
  watch_fd (timer_fd, &timer_mark);
  watch_fd (listener, &listener_mark);
  run (listener, &target);
  close_all ();
  report ();
  if (counts.log)
    fclose (counts.log);
  return 0;
}
