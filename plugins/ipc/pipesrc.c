/* pipesrc.c: from another process by value */
#include "pipe-socket.h"
#include "shm-socket.h"
#include "wire-stream.h"
#include <unistd.h>

/* between two looks whether somebody listens by now */
#define LOOK_TIME (20 * HR_MSEC)

typedef struct {
  char *address;
  gint64 fd;
  gint64 timeout;
  guint64 max_bytes;
} PipeSrc;

typedef struct {
  int fd;
  HrWireStream *stream;
  guint64 n_received;
  gboolean failed;
} State;

static const HrProp props[] = {
  HR_PROP_STRING (PipeSrc, address, NULL, "The name that pipesink has on this machine"),
  HR_PROP_INT (PipeSrc, fd, -1, G_MAXINT, -1,
               "Instead: a connected unix socket (SOCK_STREAM) of this process, whose other end is "
               "pipesink's; it is closed in the end"),
  HR_PROP_DURATION (PipeSrc, timeout, 0, 24 * 3600 * HR_SECOND, 60 * HR_SECOND,
                    "How long to wait for somebody to have that address"),
  HR_PROP_SIZE (PipeSrc, max_bytes, 1, G_MAXINT64, G_GUINT64_CONSTANT (4) << 30,
                "Most bytes of one buffer that are taken"),
  HR_PROP_END
};

static gboolean
pipesrc_check (gconstpointer data, GError **error)
{
  const PipeSrc *self = data;

  return hr_shm_check_ends (self->address, self->fd, error);
}

static gboolean
pipesrc_start (gconstpointer data, gpointer shared, HrElement *element G_GNUC_UNUSED,
               GError **error)
{
  const PipeSrc *self = data;
  State *state = shared;

  state->fd = (int)self->fd;
  return self->address != NULL || hr_shm_check (state->fd, error);
}

static gboolean
find_writer (const PipeSrc *self, State *state, HrOut *out, GError **error)
{
  gint64 until = g_get_monotonic_time () + self->timeout / 1000;

  while (state->fd < 0) {
    GError *own = NULL;

    state->fd = hr_shm_connect (self->address, &own);
    if (own == NULL && state->fd < 0 && g_get_monotonic_time () >= until)
      g_set_error (&own, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT,
                   "address=%s: for %.0f s nobody has had that name on this machine; start the "
                   "pipeline with \"pipesink address=%s\", or raise timeout",
                   self->address, (double)self->timeout / 1e9, self->address);
    if (own != NULL) {
      g_propagate_error (error, own);
      return FALSE;
    }
    hr_out_answer (out);
    if (state->fd < 0 && !hr_out_sleep (out, LOOK_TIME)) {
      g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
      return FALSE;
    }
  }
  state->stream = hr_wire_stream_new (state->fd, self->max_bytes);
  return TRUE;
}

static HrFlow
take_buffer (State *state, const HrWireHeader *header, const guint8 *description, HrMemory *payload,
             HrOut *out, GError **error)
{
  g_auto (HrWirePosition) position = { .n_steps = -1 };
  HrBuffer *buffer =
      hr_wire_read_buffer (description, header->description, payload, NULL, NULL, &position, error);

  if (buffer == NULL)
    return HR_FLOW_ERROR;
  hr_out_count_read (out, header->total);
  hr_out_count_copy (out, payload != NULL ? payload->size : 0);
  hr_out_adopt (out, buffer, position.checkpoint, position.refusal, position.n_steps);
  state->n_received++;
  hr_out_push (out, buffer);
  return HR_FLOW_MORE;
}

static HrFlow
take_mark (State *state, const HrWireHeader *header, const guint8 *description, GError **error)
{
  g_auto (HrWireMark) mark = { 0 };

  if (!hr_wire_read_mark (header->kind, description, header->description, &mark, error))
    return HR_FLOW_ERROR;
  if (header->kind == HR_WIRE_EPOCH)
    return HR_FLOW_MORE;
  if (g_error_matches (mark.why, HR_CORE_ERROR,
                       HR_CORE_ERROR_STOPPED)) { /* here nobody has stopped */
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "the writer, after %" G_GUINT64_FORMAT " batches: %s", state->n_received,
                 mark.why->message);
    return HR_FLOW_ERROR;
  }
  if (mark.why != NULL) {
    g_propagate_error (error, g_steal_pointer (&mark.why));
    return HR_FLOW_ERROR;
  }
  if (mark.n_buffers == state->n_received)
    return HR_FLOW_END;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
               "%" G_GUINT64_FORMAT " buffers have come, %" G_GUINT64_FORMAT " were sent",
               state->n_received, mark.n_buffers);
  return HR_FLOW_ERROR;
}

static HrFlow
take_message (State *state, HrOut *out, GError **error)
{
  HrWireHeader header;
  const guint8 *description;
  HrMemory *payload;

  switch (hr_wire_stream_read (state->stream, &header, &description, &payload, error)) {
  case HR_WIRE_GOT_NOTHING:
    return pipe_socket_wait (state->fd, POLLIN, out, error) ? HR_FLOW_MORE : HR_FLOW_ERROR;
  case HR_WIRE_GOT_MESSAGE:
    if (header.kind == HR_WIRE_BUFFER)
      return take_buffer (state, &header, description, payload, out, error);
    if (header.kind <= HR_WIRE_FAILED)
      return take_mark (state, &header, description, error);
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "a message of kind %d, which is of shared memory: is a shmsink at the other end?",
                 header.kind);
    return HR_FLOW_ERROR;
  case HR_WIRE_GOT_END:
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "the writer is gone, or was killed, behind %" G_GUINT64_FORMAT
                 " buffers: it has not said that it was the end%s",
                 state->n_received,
                 state->n_received == 0 ? "; or it has another reader already" : "");
    return HR_FLOW_ERROR;
  default:
    return HR_FLOW_ERROR;
  }
}

static HrFlow
pipesrc_create (gconstpointer data, gpointer worker, HrOut *out, GError **error)
{
  State *state = worker;

  HrFlow flow;

  if (state->failed) { /* a writer's bad sample is no sample here that could be skipped */
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "the writer has failed");
    return HR_FLOW_ERROR;
  }
  if (state->stream == NULL && !find_writer (data, state, out, error))
    return HR_FLOW_ERROR;
  flow = take_message (state, out, error);
  state->failed = flow == HR_FLOW_ERROR;
  return flow;
}

static void
pipesrc_stop (gconstpointer data G_GNUC_UNUSED, gpointer shared)
{
  State *state = shared;

  g_clear_pointer (&state->stream, hr_wire_stream_free);
  if (state->fd >= 0)
    close (state->fd);
}

static guint64
pipesrc_waits_for (gconstpointer data, gpointer worker, GString *into)
{
  const State *state = worker;

  if (state->stream == NULL)
    g_string_append_printf (into, "waits for a pipesink with address=%s",
                            ((const PipeSrc *)data)->address);
  else
    g_string_append_printf (
        into, "waits for the writer, of which %" G_GUINT64_FORMAT " batches have come",
        state->n_received);
  return state->n_received;
}

/* what has come is one step ahead: the others wait at the writer */
static void
pipesrc_lookahead (gconstpointer self G_GNUC_UNUSED, guint *steps, guint64 *bytes, guint *warm_up)
{
  *steps = 1;
  *bytes = 0;
  *warm_up = 0;
}

HR_ELEMENT (
    pipesrc, PipeSrc, .summary = "Take buffers from another process by value",
    .description =
        "Reads from a unix socket what `pipesink` writes there in another process of the same "
        "user: buffers as they were there, with their numbers, origins, and where a run goes on "
        "behind them. Nothing that comes is believed before it is checked. If the other process "
        "dies, the run fails and says so. See docs/processes.md.",
    .examples = (const char *const[]){ "pipesrc address=${ADDRESS:-train} ! trainsim step-time=1ms",
                                       NULL },
    .gives = "*", .props = props, .shared_size = sizeof (State), .waits = TRUE,
    .check = pipesrc_check, .start = pipesrc_start, .stop = pipesrc_stop, .create = pipesrc_create,
    .waits_for = pipesrc_waits_for, .lookahead = pipesrc_lookahead)
