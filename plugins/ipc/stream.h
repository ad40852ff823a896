/* stream.h: whole messages, by value, over a connected stream socket. Every byte of a buffer goes
 * through it. Nothing here waits without an eye on another descriptor. */
#pragma once
#include "wire.h"

G_BEGIN_DECLS

typedef enum {
  HR_STREAM_MESSAGE,
  HR_STREAM_CLOSED, /* the other end has closed, between two messages */
  HR_STREAM_WOKEN,  /* the other descriptor is readable, or the time is over; before a message began
                     */
  HR_STREAM_ERROR
} HrStreamResult;

/**
 * HrStreamMessage:
 * @description: header.description bytes, checked
 * @payload: (nullable): the bytes that it holds itself
 */
typedef struct {
  HrWireHeader header;
  guint8 *description;
  HrMemory *payload;
} HrStreamMessage;

void hr_stream_message_clear (HrStreamMessage *message);

/**
 * hr_stream_send:
 * @fd: a stream socket, not blocking
 * @wake_fd: give up when this becomes readable; -1: never
 * @error: #HR_CORE_ERROR_STOPPED: given up; #HR_RESOURCE_ERROR_CONNECT: the other end has closed
 *
 * On failure a part of the message may have been sent: the socket is of no more use.
 */
gboolean hr_stream_send (int fd, int wake_fd, const HrWireMessage *message, GError **error);

/* memory for a message's payload; %NULL with an error */
typedef HrMemory *(*HrStreamAlloc) (gpointer user, gsize size, GError **error);

/**
 * hr_stream_receive:
 * @fd: a stream socket, not blocking
 * @wake_fd: give up when this becomes readable; -1: never
 * @timeout_ms: how long to wait for a message to begin; -1: for ever
 * @max_total: the longest message that is taken
 * @alloc: for the payload
 * @message: (out): clear it
 * @error: set if %HR_STREAM_ERROR; #HR_CORE_ERROR_STOPPED: woken in the middle of a message;
 *   #HR_RESOURCE_ERROR_CONNECT: the other end closed there
 */
HrStreamResult hr_stream_receive (int fd, int wake_fd, int timeout_ms, guint64 max_total,
                                  HrStreamAlloc alloc, gpointer user, HrStreamMessage *message,
                                  GError **error);

/* @fd is a connected stream socket, and does not block from now on; else an error */
gboolean hr_stream_prepare (int fd, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrStreamMessage, hr_stream_message_clear)

G_END_DECLS
