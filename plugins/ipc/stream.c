/* stream.c: whole messages over a stream socket */
#include "stream.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* pieces that one call sends; a batch of lists has some hundred */
#define MAX_PARTS 256

typedef enum { READY, WOKEN, TIMED_OUT } Wait;

static Wait
wait_for (int fd, short events, int wake_fd, int timeout_ms)
{
  struct pollfd fds[] = { { .fd = fd, .events = events }, { .fd = wake_fd, .events = POLLIN } };
  int n;

  do
    n = poll (fds, G_N_ELEMENTS (fds), timeout_ms);
  while (n < 0 && errno == EINTR);
  if (fds[1].revents != 0)
    return WOKEN;
  return n == 0 ? TIMED_OUT : READY;
}

static gboolean
is_closed (int number)
{
  return number == EPIPE || number == ECONNRESET;
}

static void
set_stopped (GError **error)
{
  g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED,
                       "the pipeline is being stopped");
}

gboolean
hr_stream_prepare (int fd, GError **error)
{
  int type = 0;
  socklen_t size = sizeof type;

  if (getsockopt (fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM
      && fcntl (fd, F_SETFL, O_NONBLOCK) == 0 && fcntl (fd, F_SETFD, FD_CLOEXEC) == 0)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
               "descriptor %d: %s; a connected stream socket was expected", fd,
               type != 0 ? "a socket of another type" : g_strerror (errno));
  return FALSE;
}

/* ---- sending ---- */

/* leaves @done bytes out in front */
static void
skip (struct iovec **parts, guint *n, gsize done)
{
  while (*n > 0 && done >= (*parts)->iov_len) {
    done -= (*parts)->iov_len;
    (*parts)++;
    (*n)--;
  }
  if (*n > 0) {
    (*parts)->iov_base = (guint8 *)(*parts)->iov_base + done;
    (*parts)->iov_len -= done;
  }
}

gboolean
hr_stream_send (int fd, int wake_fd, const HrWireMessage *message, GError **error)
{
  g_autofree struct iovec *all = g_new (struct iovec, message->parts->len + 1);
  struct iovec *parts = all;
  guint n_parts = message->parts->len + 1;

  all[0] = (struct iovec){ message->head->data, message->head->len };
  if (message->parts->len > 0)
    memcpy (all + 1, message->parts->data, message->parts->len * sizeof *all);
  while (n_parts > 0) {
    struct msghdr header = { .msg_iov = parts, .msg_iovlen = MIN (n_parts, MAX_PARTS) };
    ssize_t sent = sendmsg (fd, &header, MSG_NOSIGNAL);

    if (sent >= 0) {
      skip (&parts, &n_parts, (gsize)sent);
    } else if (errno == EAGAIN) {
      if (wait_for (fd, POLLOUT, wake_fd, -1) == WOKEN) {
        set_stopped (error);
        return FALSE;
      }
    } else if (errno != EINTR) {
      g_set_error (error, HR_RESOURCE_ERROR,
                   is_closed (errno) ? HR_RESOURCE_ERROR_CONNECT : HR_RESOURCE_ERROR_WRITE,
                   is_closed (errno) ? "the reader has closed the connection, or was killed"
                                     : "cannot send: %s",
                   g_strerror (errno));
      return FALSE;
    }
  }
  return TRUE;
}

/* ---- receiving ---- */

typedef struct {
  int fd, wake_fd;
  guint64 received; /* bytes of this message */
} Reader;

/* how many bytes of @size have come: fewer with an error, or because the other end has closed */
static gsize
receive_all (Reader *reader, gpointer into, gsize size, GError **error)
{
  guint8 *bytes = into;
  gsize done = 0;

  while (done < size) {
    ssize_t n = recv (reader->fd, bytes + done, size - done, 0);

    if (n > 0) {
      done += (gsize)n;
      reader->received += (guint64)n;
    } else if (n == 0 || is_closed (errno)) {
      break;
    } else if (errno == EAGAIN) {
      if (wait_for (reader->fd, POLLIN, reader->wake_fd, -1) == WOKEN) {
        set_stopped (error);
        break;
      }
    } else if (errno != EINTR) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "cannot receive: %s",
                   g_strerror (errno));
      break;
    }
  }
  return done;
}

static gboolean
receive_part (Reader *reader, const HrWireHeader *header, gpointer into, gsize size, GError **error)
{
  GError *own = NULL;

  if (receive_all (reader, into, size, &own) == size)
    return TRUE;
  if (own == NULL)
    g_set_error (
        &own, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
        "the writer has closed the connection, or was killed, within a message: %" G_GUINT64_FORMAT
        " of %" G_GUINT64_FORMAT " bytes have come",
        reader->received, header != NULL ? header->total : (guint64)HR_WIRE_HEADER_SIZE);
  g_propagate_error (error, own);
  return FALSE;
}

static gboolean
receive_rest (Reader *reader, HrStreamAlloc alloc, gpointer user, HrStreamMessage *message,
              GError **error)
{
  const HrWireHeader *header = &message->header;
  guint64 offset = hr_wire_payload_offset (header);
  guint8 fill[HR_WIRE_ALIGNMENT];

  message->description = g_try_malloc (MAX (header->description, 1));
  if (message->description == NULL) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY,
                 "no memory for a description of %u bytes", header->description);
    return FALSE;
  }
  if (!receive_part (reader, header, message->description, header->description, error)
      || !hr_wire_check_description (header, message->description, error))
    return FALSE;
  if (header->total <= offset)
    return TRUE;
  if (!receive_part (reader, header, fill, offset - HR_WIRE_HEADER_SIZE - header->description,
                     error))
    return FALSE;
  message->payload = alloc (user, header->total - offset, error);
  return message->payload != NULL
         && receive_part (reader, header, message->payload->data, header->total - offset, error);
}

HrStreamResult
hr_stream_receive (int fd, int wake_fd, int timeout_ms, guint64 max_total, HrStreamAlloc alloc,
                   gpointer user, HrStreamMessage *message, GError **error)
{
  Reader reader = { .fd = fd, .wake_fd = wake_fd };
  guint8 head[HR_WIRE_HEADER_SIZE];
  GError *own = NULL;
  gsize n;

  *message = (HrStreamMessage){ 0 };
  if (wait_for (fd, POLLIN, wake_fd, timeout_ms) != READY)
    return HR_STREAM_WOKEN;
  n = receive_all (&reader, head, sizeof head, &own);
  if (n == 0 && own == NULL)
    return HR_STREAM_CLOSED;
  if (own != NULL) {
    g_propagate_error (error, own);
    return HR_STREAM_ERROR;
  }
  if (n < sizeof head)
    receive_part (&reader, NULL, head + n, sizeof head - n, error);
  else if (hr_wire_read_header (head, max_total, &message->header, error)
           && receive_rest (&reader, alloc, user, message, error))
    return HR_STREAM_MESSAGE;
  hr_stream_message_clear (message);
  return HR_STREAM_ERROR;
}

void
hr_stream_message_clear (HrStreamMessage *message)
{
  g_clear_pointer (&message->description, g_free);
  g_clear_pointer (&message->payload, hr_memory_unref);
}
