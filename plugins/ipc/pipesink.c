/* pipesink.c: to another process by value: every byte goes through a socket */
#include "pipe-socket.h"
#include "shm-socket.h"
#include "wire-stream.h"
#include <unistd.h>

typedef struct {
  char *address;
  gint64 fd;
} PipeSink;

typedef struct {
  HrElement *element;
  int listening;
  int fd; /* the reader, or -1 */
  guint64 n_sent;
} State;

static const HrProp props[] = {
  HR_PROP_STRING (PipeSink, address, NULL,
                  "The name that pipesrc looks for on this machine; no file is made"),
  HR_PROP_INT (PipeSink, fd, -1, G_MAXINT, -1,
               "Instead: a connected unix socket (SOCK_STREAM) of this process, whose other end is "
               "pipesrc's; it is closed in the end"),
  HR_PROP_END
};

static gboolean
pipesink_check (gconstpointer data, GError **error)
{
  const PipeSink *self = data;

  return hr_shm_check_ends (self->address, self->fd, error);
}

static gboolean
pipesink_start (gconstpointer data, gpointer shared, HrElement *element, GError **error)
{
  const PipeSink *self = data;
  State *state = shared;

  state->element = element;
  state->fd = (int)self->fd;
  state->listening = -1;
  if (self->address == NULL)
    return hr_shm_check (state->fd, error);
  state->listening = hr_shm_listen (self->address, error);
  return state->listening >= 0;
}

/* FALSE: with an error */
static gboolean
wait_for_reader (State *state, HrOut *out, GError **error)
{
  while (state->fd < 0) {
    g_autoptr (GError) stranger = NULL;

    if (!pipe_socket_wait (state->listening, POLLIN, out, error))
      return FALSE;
    state->fd = hr_shm_accept (state->listening, &stranger);
    if (stranger != NULL
        && !g_error_matches (stranger, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN)) {
      g_propagate_error (error, g_steal_pointer (&stranger));
      return FALSE;
    }
    if (stranger != NULL)
      hr_element_warn (state->element, stranger);
  }
  if (state->listening >= 0) /* others would wait there for nothing */
    close (state->listening);
  state->listening = -1;
  return TRUE;
}

static gboolean
send_all (State *state, const HrWireMessage *message, HrOut *out, GError **error)
{
  HrWireSending sending = { .message = message, .fd = -1 };
  HrWireSent sent;

  if (!wait_for_reader (state, out, error))
    return FALSE;
  while ((sent = hr_wire_send (state->fd, &sending, error)) == HR_WIRE_SENT_PARTLY)
    if (!pipe_socket_wait (state->fd, POLLOUT, out, error))
      return FALSE;
  if (sent == HR_WIRE_SENT_ERROR)
    g_prefix_error (
        error,
        "the reader has left or was killed, behind %" G_GUINT64_FORMAT " batches: ", state->n_sent);
  return sent == HR_WIRE_SENT;
}

static gboolean
pipesink_consume (gconstpointer data G_GNUC_UNUSED, gpointer worker, HrBuffer *in, HrOut *out,
                  GError **error)
{
  State *state = worker;
  g_autoptr (HrBuffer) buffer = in;
  g_autoptr (GError) refusal = NULL;
  g_auto (HrWirePosition) position = { .n_steps = -1 };
  g_autoptr (HrWireMessage) message = NULL;

  position.checkpoint =
      hr_element_get_checkpoint (state->element, buffer, &position.n_steps, &refusal);
  if (refusal != NULL)
    position.refusal = g_strdup (refusal->message);
  message = hr_wire_write_buffer (buffer, &position, NULL, NULL, error);
  if (message == NULL || !send_all (state, message, out, error))
    return FALSE;
  state->n_sent++;
  hr_out_count_copy (out, message->n_inline);
  return TRUE;
}

static gboolean
pipesink_finish (gconstpointer data G_GNUC_UNUSED, gpointer worker, HrOut *out, GError **error)
{
  State *state = worker;
  g_autoptr (HrWireMessage) message = hr_wire_write_end (state->n_sent, NULL);

  return send_all (state, message, out, error);
}

/* nothing here may wait: as much as there is room for, the reader also sees that we are gone */
static void
send_failure (State *state)
{
  g_autoptr (GError) why = NULL;
  g_autoptr (HrWireMessage) message = NULL;

  if (state->fd < 0 || hr_element_get_outcome (state->element, &why))
    return;
  message = hr_wire_write_failed (state->n_sent, why, NULL);
  hr_wire_send (state->fd, &(HrWireSending){ .message = message, .fd = -1 }, NULL);
}

static void
pipesink_stop (gconstpointer data G_GNUC_UNUSED, gpointer shared)
{
  State *state = shared;

  send_failure (state);
  if (state->fd >= 0)
    close (state->fd);
  if (state->listening >= 0)
    close (state->listening);
}

static guint64
pipesink_waits_for (gconstpointer data G_GNUC_UNUSED, gpointer worker, GString *into)
{
  const State *state = worker;

  if (state->fd < 0)
    g_string_append (into, "waits for a pipesrc to connect");
  else
    g_string_append_printf (
        into, "waits for the reader, which has been sent %" G_GUINT64_FORMAT " batches",
        state->n_sent);
  return state->n_sent;
}

HR_ELEMENT (
    pipesink, PipeSink, .summary = "Give buffers to another process by value",
    .description =
        "Writes each buffer into a unix socket, from which `pipesrc` reads it in another process "
        "of the same user: all of it, pixels too, is copied into the socket and out of it. It "
        "waits until one has connected. `shmsink` does the same by reference; this is what it is "
        "measured against. See docs/processes.md.",
    .examples = (const char *const[]){ "fakesrc num-buffers=40 ! batch size=4 ! prefetchqueue ! "
                                       "pipesink address=${ADDRESS:-train}",
                                       NULL },
    .props = props, .shared_size = sizeof (State), .waits = TRUE, .trains = TRUE, .relays = TRUE,
    .check = pipesink_check, .start = pipesink_start, .stop = pipesink_stop,
    .consume = pipesink_consume, .finish = pipesink_finish, .waits_for = pipesink_waits_for)
