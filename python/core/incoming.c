/* incoming.c: batches from the process of a pipeline */
#include "incoming.h"
#include "stream.h"
#include <unistd.h>

/* the process is ours, and of the same version: no bound but that of arithmetic */
#define MAX_TOTAL (G_GUINT64_CONSTANT (1) << 46)

struct _Incoming {
  int fd;
  gboolean asked;
  HrAllocator *allocator;
};

Incoming *
incoming_new (int fd, GError **error)
{
  Incoming *incoming;

  if (!hr_stream_prepare (fd, error))
    return NULL;
  incoming = g_new0 (Incoming, 1);
  incoming->fd = fd;
  incoming->allocator = hr_allocator_pool_new (256 << 20);
  return incoming;
}

void
incoming_free (Incoming *incoming)
{
  if (incoming == NULL)
    return;
  close (incoming->fd);
  hr_allocator_unref (incoming->allocator);
  g_free (incoming);
}

int
incoming_get_fd (const Incoming *incoming)
{
  return incoming->fd;
}

static gboolean
ask (Incoming *incoming, GError **error)
{
  g_autoptr (HrWireMessage) credit = hr_wire_message_new (HR_WIRE_CREDIT, g_byte_array_new ());

  return hr_stream_send (incoming->fd, -1, credit, error);
}

static HrMemory *
alloc (gpointer user, gsize size, GError **error)
{
  return hr_memory_new_from_allocator (((Incoming *)user)->allocator, size, error);
}

static IncomingResult
read_message (const HrStreamMessage *message, HrBuffer **batch, GError **error)
{
  g_auto (HrWirePosition) position = { 0 };
  g_auto (HrWireMark) mark = { 0 };

  if (message->header.kind == HR_WIRE_BUFFER) {
    *batch = hr_wire_read_buffer (message->description, message->header.description,
                                  message->payload, NULL, NULL, &position, error);
    return *batch != NULL ? INCOMING_BATCH : INCOMING_END;
  }
  if (hr_wire_read_mark (message->header.kind, message->description, message->header.description,
                         &mark, error)
      && mark.why != NULL)
    g_propagate_error (error, g_steal_pointer (&mark.why));
  return INCOMING_END;
}

/* takes @own; that the process is gone is told by how it ended */
static IncomingResult
end_with (GError *own, GError **error)
{
  if (!g_error_matches (own, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT)) {
    g_propagate_error (error, own);
    return INCOMING_END;
  }
  g_error_free (own);
  return INCOMING_CLOSED;
}

IncomingResult
incoming_take (Incoming *incoming, HrBuffer **batch, GError **error)
{
  g_auto (HrStreamMessage) message = { 0 };
  GError *own = NULL;

  if (!incoming->asked && !ask (incoming, &own))
    return end_with (own, error);
  incoming->asked = TRUE;
  switch (hr_stream_receive (incoming->fd, -1, 0, MAX_TOTAL, alloc, incoming, &message, &own)) {
  case HR_STREAM_WOKEN:
    return INCOMING_NOTHING;
  case HR_STREAM_CLOSED:
    return INCOMING_CLOSED;
  case HR_STREAM_ERROR:
    return end_with (own, error);
  default:
    incoming->asked = FALSE;
    return read_message (&message, batch, error);
  }
}
