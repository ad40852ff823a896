/* shmsrc.c: buffers of another process of this machine, read in place */
#include <poll.h>
#include "hr-sync.h"
#include "shm-reader.h"
#include "shm-socket.h"

typedef struct {
  char *address;
  gint64 fd;
  gint64 reader;
  guint64 max_batches;
  gint64 timeout;
} ShmSrc;

typedef struct {
  HrShmReader *reader;
  guint64 n_buffers;
  gboolean failed;
} State;

static const HrProp props[] = {
  HR_PROP_STRING (ShmSrc, address, NULL, "The name that shmsink has on this machine"),
  HR_PROP_INT (ShmSrc, fd, -1, G_MAXINT, -1,
               "Instead: a connected unix socket (SOCK_STREAM) of this process, whose other end is "
               "shmsink's; it is closed when the last batch has been let go"),
  HR_PROP_INT (ShmSrc, reader, -1, 255, -1,
               "Which of the writer's readers this is, from 0; -1: any that is not there yet. With "
               "share=rank: the rank"),
  HR_PROP_UINT (ShmSrc, max_batches, 1, 1 << 16, 2,
                "Batches that the writer may send ahead, beside the one that is being used",
                .unit = "batches"),
  HR_PROP_DURATION (ShmSrc, timeout, 0, 24 * 3600 * HR_SECOND, 60 * HR_SECOND,
                    "How long to wait for somebody to have that address"),
  HR_PROP_END
};

static gboolean
shmsrc_check (gconstpointer data, GError **error)
{
  const ShmSrc *self = data;

  return hr_shm_check_ends (self->address, self->fd, error);
}

static gboolean
stopped (GError **error)
{
  g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  return FALSE;
}

/* -1 with the error */
static int
find_writer (const ShmSrc *self, HrOut *out, GError **error)
{
  gint64 until = hr_now () + self->timeout, pause = 5 * 1000000;
  GError *why = NULL;
  int fd;

  while ((fd = hr_shm_connect (self->address, &why)) < 0 && why == NULL && hr_now () < until) {
    hr_out_answer (out);
    if (!hr_out_sleep (out, pause)) {
      stopped (error);
      return -1;
    }
    pause = MIN (pause * 2, 200 * 1000000);
  }
  if (fd < 0 && why == NULL)
    g_set_error (&why, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT,
                 "address=%s: for %.0f s nobody has had that name on this machine; start the "
                 "pipeline with \"shmsink address=%s\", or raise timeout",
                 self->address, (double)self->timeout / 1e9, self->address);
  if (why != NULL)
    g_propagate_error (error, why);
  return fd;
}

static gboolean
connect_writer (const ShmSrc *self, State *state, HrOut *out, GError **error)
{
  int fd = self->address != NULL ? find_writer (self, out, error) : (int)self->fd;

  if (fd < 0)
    return FALSE;
  state->reader = hr_shm_reader_new (fd, (gint)self->reader, (guint)self->max_batches, error);
  return state->reader != NULL;
}

static void
push (State *state, HrBuffer *buffer, const HrWirePosition *position, HrOut *out)
{
  hr_out_count_read (out, hr_buffer_get_n_bytes (buffer));
  hr_out_adopt (out, buffer, position->checkpoint, position->refusal, position->n_steps);
  state->n_buffers++;
  hr_out_push (out, buffer);
}

static HrFlow
shmsrc_create (gconstpointer data, gpointer shared, HrOut *out, GError **error)
{
  State *state = shared;

  if (state->failed) { /* a writer's bad sample is no sample here that could be skipped */
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "the writer has failed");
    return HR_FLOW_ERROR;
  }
  if (state->reader == NULL && !connect_writer (data, state, out, error))
    return HR_FLOW_ERROR;
  if (state->n_buffers > 0) /* what came last has been handed on */
    hr_shm_reader_grant (state->reader, 1);
  for (;;) {
    g_auto (HrWirePosition) position = { .n_steps = -1 };
    struct pollfd fds[2] = { { .fd = -1 }, { hr_out_get_wake_fd (out), POLLIN, 0 } };
    HrBuffer *buffer = NULL;

    hr_stall ();
    if (hr_out_is_closed (out)) {
      stopped (error);
      return HR_FLOW_ERROR;
    }
    switch (hr_shm_reader_read (state->reader, &buffer, &position, error)) {
    case HR_SHM_BUFFER:
      push (state, buffer, &position, out);
      return HR_FLOW_MORE;
    case HR_SHM_END:
      return HR_FLOW_END;
    case HR_SHM_ERROR:
      state->failed = TRUE;
      return HR_FLOW_ERROR;
    case HR_SHM_NOTHING:
      break;
    }
    fds[0].fd = hr_shm_reader_get_fd (state->reader, &fds[0].events);
    poll (fds, G_N_ELEMENTS (fds), HR_SHM_LOOK_MS);
    if (fds[0].revents & POLLOUT)
      hr_shm_reader_flush (state->reader);
    hr_out_answer (out);
  }
}

static void
shmsrc_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  State *state = shared;

  if (state->reader == NULL)
    return;
  hr_shm_reader_leave (state->reader);
  g_clear_pointer (&state->reader, hr_shm_reader_unref);
}

static guint64
shmsrc_waits_for (gconstpointer data, gpointer shared, GString *into)
{
  State *state = shared;

  if (state->reader != NULL)
    return hr_shm_reader_describe (state->reader, into);
  g_string_append_printf (into, "waits for a shmsink with address=%s",
                          ((const ShmSrc *)data)->address);
  return 0;
}

/* what has come is one step ahead: the others wait at the writer */
static void
shmsrc_lookahead (gconstpointer self G_GNUC_UNUSED, guint *steps, guint64 *bytes, guint *warm_up)
{
  *steps = 1;
  *bytes = 0;
  *warm_up = 0;
}

HR_ELEMENT (
    shmsrc, ShmSrc, .summary = "Take buffers from another process of this machine, without a copy",
    .description =
        "The buffers that shmsink in another process gets: fields, samples, holes and origins are "
        "the same, and tensors are read where they were written. That memory lives as long as "
        "somebody here holds it, also behind the pipeline's end and the writer's; letting it go "
        "is what gives it back. With one reader, or share=rank, you may write to it; else it is "
        "read-only, and writing to it ends the process. What was skipped over there is counted "
        "and told here, too, and hr_pipeline_get_checkpoint() gives the writer's place. If the "
        "writer fails, its error is this one's, if it dies, the error says that. "
        "docs/processes.md",
    .examples = (const char *const[]){ "shmsrc address=${ADDRESS:-train} ! trainsim step-time=1ms",
                                       NULL },
    .gives = "*", .props = props, .shared_size = sizeof (State), .waits = TRUE,
    .check = shmsrc_check, .create = shmsrc_create, .stop = shmsrc_stop,
    .waits_for = shmsrc_waits_for, .lookahead = shmsrc_lookahead)
