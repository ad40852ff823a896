/* wire-stream.h: messages through a stream socket, with descriptors beside them; nothing here waits
 */
#pragma once
#include "wire.h"

G_BEGIN_DECLS

/**
 * HrWireStream:
 *
 * What comes out of a socket, until it is a whole message.
 */
typedef struct _HrWireStream HrWireStream;

typedef enum {
  HR_WIRE_GOT_MESSAGE,
  HR_WIRE_GOT_NOTHING, /* not yet: poll for POLLIN */
  HR_WIRE_GOT_END,     /* the other side has closed it, or died, between two messages */
  HR_WIRE_GOT_CUT,     /* … inside a message: it has died, as the error says, too */
  HR_WIRE_GOT_ERROR
} HrWireGot;

/* @fd stays the caller's, and may be blocking */
HrWireStream *hr_wire_stream_new (int fd, guint64 max_total);
void hr_wire_stream_free (HrWireStream *stream);

/**
 * hr_wire_stream_read:
 * @description: (out): the message's; until the next call
 * @payload: (out) (nullable) (transfer none): the same; keep a reference to have it longer
 * @error: #HR_RESOURCE_ERROR_READ; #HR_RESOURCE_ERROR_CONNECT: cut inside a message. The stream is
 *   of no use after that
 *
 * Checks the header and both checksums.
 */
HrWireGot hr_wire_stream_read (HrWireStream *stream, HrWireHeader *header,
                               const guint8 **description, HrMemory **payload, GError **error);
/* the next descriptor that has come, yours; -1: there is none */
int hr_wire_stream_take_fd (HrWireStream *stream);

/**
 * HrWireSending:
 * @message: what is sent
 * @fd: goes with its first byte; -1: none
 *
 * A message under way; zero the rest.
 */
typedef struct {
  const HrWireMessage *message;
  int fd;
  /*< private >*/
  guint part;
  gsize at;
} HrWireSending;

typedef enum {
  HR_WIRE_SENT,
  HR_WIRE_SENT_PARTLY, /* go on when POLLOUT says so */
  HR_WIRE_SENT_ERROR   /* nobody reads there any more */
} HrWireSent;

/* as much as there is room for; never raises SIGPIPE */
HrWireSent hr_wire_send (int socket, HrWireSending *sending, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrWireStream, hr_wire_stream_free)

G_END_DECLS
