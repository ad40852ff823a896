/* wire-stream.c */
#include "wire-stream.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* descriptors that one recvmsg() may bring, and all that may lie around before they are taken */
#define MAX_FDS 16

struct _HrWireStream {
  int fd;
  guint64 max_total;
  guint8 head[HR_WIRE_HEADER_SIZE];
  gsize have; /* bytes of the message at hand */
  gboolean has_header;
  HrWireHeader header;
  HrMemory *bytes;   /* the whole of it, once its length is known */
  HrMemory *payload; /* of the message that was read last … */
  HrMemory *last;    /* … and all of it */
  GArray *fds;
};

HrWireStream *
hr_wire_stream_new (int fd, guint64 max_total)
{
  HrWireStream *stream = g_new0 (HrWireStream, 1);

  stream->fd = fd;
  stream->max_total = max_total;
  stream->fds = g_array_new (FALSE, FALSE, sizeof (int));
  return stream;
}

void
hr_wire_stream_free (HrWireStream *stream)
{
  int fd;

  if (stream == NULL)
    return;
  while ((fd = hr_wire_stream_take_fd (stream)) >= 0)
    close (fd);
  g_array_unref (stream->fds);
  g_clear_pointer (&stream->bytes, hr_memory_unref);
  g_clear_pointer (&stream->payload, hr_memory_unref);
  g_clear_pointer (&stream->last, hr_memory_unref);
  g_free (stream);
}

int
hr_wire_stream_take_fd (HrWireStream *stream)
{
  int fd;

  if (stream->fds->len == 0)
    return -1;
  fd = g_array_index (stream->fds, int, 0);
  g_array_remove_index (stream->fds, 0);
  return fd;
}

static gboolean
keep_fds (HrWireStream *stream, struct msghdr *message, GError **error)
{
  for (struct cmsghdr *part = CMSG_FIRSTHDR (message); part != NULL;
       part = CMSG_NXTHDR (message, part))
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
      g_array_append_vals (stream->fds, CMSG_DATA (part),
                           (guint)((part->cmsg_len - CMSG_LEN (0)) / sizeof (int)));
  if ((message->msg_flags & MSG_CTRUNC) == 0 && stream->fds->len <= MAX_FDS)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
               stream->fds->len > MAX_FDS
                   ? "the other side sends descriptors that nobody has asked for"
                   : "a descriptor came that this process has no room for; raise its limit "
                     "(ulimit -n)");
  return FALSE;
}

/* up to @size bytes; 0 with *got as it is */
static gssize
receive (HrWireStream *stream, guint8 *into, gsize size, HrWireGot *got, GError **error)
{
  union {
    struct cmsghdr align;
    char room[CMSG_SPACE (MAX_FDS * sizeof (int))];
  } control;
  struct iovec bytes = { into, size };
  struct msghdr message = {
    .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
  };
  gssize n;

  do {
    n = recvmsg (stream->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n > 0 && keep_fds (stream, &message, error))
    return n;
  *got = n > 0                                     ? HR_WIRE_GOT_ERROR
         : n == 0 || errno == ECONNRESET           ? HR_WIRE_GOT_END
         : errno == EAGAIN || errno == EWOULDBLOCK ? HR_WIRE_GOT_NOTHING
                                                   : HR_WIRE_GOT_ERROR;
  if (n < 0 && *got == HR_WIRE_GOT_ERROR)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "the socket: %s",
                 g_strerror (errno));
  if (*got == HR_WIRE_GOT_END && stream->have > 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "it has died: its connection was cut inside a message, after %" G_GSIZE_FORMAT
                 " bytes of it",
                 stream->have);
    *got = HR_WIRE_GOT_CUT;
  }
  return 0;
}

static gboolean
begin_message (HrWireStream *stream, GError **error)
{
  if (!hr_wire_read_header (stream->head, stream->max_total, &stream->header, error))
    return FALSE;
  stream->bytes = hr_memory_new_from_allocator (hr_allocator_heap (), stream->header.total, error);
  if (stream->bytes == NULL)
    return FALSE;
  memcpy (stream->bytes->data, stream->head, HR_WIRE_HEADER_SIZE);
  stream->has_header = TRUE;
  return TRUE;
}

static HrWireGot
end_message (HrWireStream *stream, HrWireHeader *header, const guint8 **description,
             HrMemory **payload, GError **error)
{
  guint64 begin = hr_wire_payload_offset (&stream->header);

  g_clear_pointer (&stream->payload, hr_memory_unref);
  g_clear_pointer (&stream->last, hr_memory_unref);
  *header = stream->header;
  stream->last = g_steal_pointer (&stream->bytes);
  stream->has_header = FALSE;
  stream->have = 0;
  *description = stream->last->data + HR_WIRE_HEADER_SIZE;
  if (!hr_wire_check_description (header, *description, error))
    return HR_WIRE_GOT_ERROR;
  if (header->total > begin)
    stream->payload = hr_memory_view (stream->last, begin, header->total - begin);
  *payload = stream->payload;
  return HR_WIRE_GOT_MESSAGE;
}

HrWireGot
hr_wire_stream_read (HrWireStream *stream, HrWireHeader *header, const guint8 **description,
                     HrMemory **payload, GError **error)
{
  HrWireGot got = HR_WIRE_GOT_NOTHING;

  *payload = NULL;
  for (;;) {
    gsize wanted = stream->has_header ? stream->header.total : HR_WIRE_HEADER_SIZE;
    guint8 *into = stream->has_header ? stream->bytes->data : stream->head;
    gssize n;

    if (stream->have == wanted && stream->has_header)
      return end_message (stream, header, description, payload, error);
    if (stream->have == wanted && !begin_message (stream, error))
      return HR_WIRE_GOT_ERROR;
    if (stream->have == wanted)
      continue;
    n = receive (stream, into + stream->have, wanted - stream->have, &got, error);
    if (n == 0)
      return got;
    stream->have += (gsize)n;
  }
}

/* ---- sending ---- */

/* what is left of the message, or the first so many pieces of that */
static guint
gather (const HrWireSending *sending, struct iovec *pieces, guint n_room)
{
  const HrWireMessage *message = sending->message;
  guint n = 0;

  for (guint part = sending->part; part <= message->parts->len && n < n_room; part++) {
    struct iovec piece = part == 0 ? (struct iovec){ message->head->data, message->head->len }
                                   : g_array_index (message->parts, struct iovec, part - 1);
    gsize skip = part == sending->part ? sending->at : 0;

    pieces[n++] = (struct iovec){ (guint8 *)piece.iov_base + skip, piece.iov_len - skip };
  }
  return n;
}

static void
advance (HrWireSending *sending, gsize sent, const struct iovec *pieces)
{
  for (guint i = 0; sent > 0; i++) {
    gsize n = MIN (sent, pieces[i].iov_len);

    sending->at += n;
    sent -= n;
    if (n < pieces[i].iov_len)
      return;
    sending->part++;
    sending->at = 0;
  }
}

HrWireSent
hr_wire_send (int fd, HrWireSending *sending, GError **error)
{
  struct iovec pieces[64];

  while (sending->part <= sending->message->parts->len) {
    union {
      struct cmsghdr align;
      char room[CMSG_SPACE (sizeof (int))];
    } control = { .room = { 0 } };
    struct msghdr message = { .msg_iov = pieces,
                              .msg_iovlen = gather (sending, pieces, G_N_ELEMENTS (pieces)) };
    gssize n;

    if (sending->fd >= 0 && sending->part == 0 && sending->at == 0) {
      message.msg_control = &control;
      message.msg_controllen = sizeof control;
      control.align.cmsg_level = SOL_SOCKET;
      control.align.cmsg_type = SCM_RIGHTS;
      control.align.cmsg_len = CMSG_LEN (sizeof (int));
      memcpy (CMSG_DATA (&control.align), &sending->fd, sizeof (int));
    }
    n = sendmsg (fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0)
      advance (sending, (gsize)n, pieces);
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return HR_WIRE_SENT_PARTLY;
    else if (errno != EINTR) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE, "%s", g_strerror (errno));
      return HR_WIRE_SENT_ERROR;
    }
  }
  return HR_WIRE_SENT;
}
