/* shmsink.c: buffers to other processes of this machine, which read them in place */
#include <string.h>
#include "hr-memfd.h"
#include "shm-socket.h"
#include "shm-writer.h"

typedef enum { SHARE_SAME, SHARE_RANK } Share;

static const char *const shares[] = { "same", "rank", NULL };

typedef struct {
  char *address;
  gint64 fd;
  guint64 readers;
  gint share;
} ShmSink;

typedef struct {
  const ShmSink *self;
  HrElement *element;
  HrShmWriter *writer;
  HrAllocator *pools;
  GPtrArray *round; /* HrBuffer: share=rank: one for each reader, once there are as many */
  GArray *epochs;   /* guint: of the last buffer that each reader was sent */
  gboolean ended;   /* all have been told */
} State;

/* free memory that is kept warm for the next batches */
#define MAX_IDLE (256u << 20)
/* what is smaller goes in the message: a block of its own would be a page, and a release */
#define SMALL 2048

static const HrProp props[] = {
  HR_PROP_STRING (ShmSink, address, NULL,
                  "The name that shmsrc looks for on this machine; no file is made"),
  HR_PROP_INT (ShmSink, fd, -1, G_MAXINT, -1,
               "Instead: a connected unix socket (SOCK_STREAM) of this process, whose other end is "
               "shmsrc's; it is closed in the end"),
  HR_PROP_UINT (ShmSink, readers, 1, 256, 1, "How many processes read", .unit = "processes"),
  HR_PROP_ENUM (ShmSink, share, shares, SHARE_SAME,
                "same: all readers get all batches, for tensor-parallel peers; rank: reader r of n "
                "gets batches r, n + r, 2n + r …, for data-parallel ranks"),
  HR_PROP_END
};

static gboolean
shmsink_check (gconstpointer data, GError **error)
{
  const ShmSink *self = data;

  if (!hr_shm_check_ends (self->address, self->fd, error))
    return FALSE;
  if (self->fd < 0 || self->readers == 1)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "fd is one connection, for one reader, and readers=%" G_GUINT64_FORMAT
               "; use address",
               self->readers);
  return FALSE;
}

static gboolean
shmsink_start (gconstpointer data, gpointer shared, HrElement *element, GError **error)
{
  const ShmSink *self = data;
  State *state = shared;

  state->self = self;
  state->element = element;
  state->writer = hr_shm_writer_new (element, self->address, (int)self->fd, (guint)self->readers,
                                     self->readers == 1 || self->share == SHARE_RANK, error);
  if (state->writer == NULL)
    return FALSE;
  state->round = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  state->epochs = g_array_new (FALSE, TRUE, sizeof (guint));
  g_array_set_size (state->epochs, (guint)self->readers);
  state->pools = hr_allocator_memfd_new (MAX_IDLE);
  hr_element_propose_allocator (element, "*", state->pools);
  return TRUE;
}

/* ---- a message, and the memory that it speaks of ---- */

typedef struct {
  State *state;
  HrOut *out;
  GPtrArray *blocks; /* HrMemory, by number; NULL: in the message */
} Sharing;

static void
forget_block (gpointer block)
{
  g_clear_pointer ((HrMemory **)&block, hr_memory_unref);
}

static gboolean
share (gpointer user, guint block, HrMemory *memory, const guint8 *data, gsize size,
       HrWirePlace *place, GError **error)
{
  Sharing *sharing = user;
  State *state = sharing->state;
  g_autoptr (HrMemory) copy = NULL;

  *place = (HrWirePlace){ HR_WIRE_INLINE, 0 };
  if (hr_shm_writer_share (state->writer, memory, data, place)) {
    hr_memory_ref (memory);
  } else {
    hr_out_count_copy (sharing->out, size);
    if (size <= SMALL)
      return TRUE;
    copy = hr_memory_new_from_allocator (state->pools, size, error);
    if (copy == NULL)
      return FALSE;
    memcpy (copy->data, data, size);
    hr_shm_writer_share (state->writer, copy, copy->data, place);
    memory = g_steal_pointer (&copy);
  }
  g_ptr_array_set_size (sharing->blocks, (gint)block + 1);
  sharing->blocks->pdata[block] = memory;
  return TRUE;
}

static void
find_position (State *state, HrBuffer *behind, HrWirePosition *position)
{
  g_autoptr (GError) error = NULL;

  position->checkpoint =
      hr_element_get_checkpoint (state->element, behind, &position->n_steps, &error);
  if (error != NULL)
    position->refusal = g_strdup (error->message);
}

static gboolean
tell_epoch (State *state, guint reader, guint epoch, HrOut *out, GError **error)
{
  guint *last = &g_array_index (state->epochs, guint, reader);
  g_autoptr (HrWireMessage) mark = NULL;

  if (epoch == *last)
    return TRUE;
  mark = hr_wire_write_epoch (*last);
  *last = epoch;
  return hr_shm_writer_send (state->writer, reader, mark, NULL, out, error);
}

/* @behind: the buffer whose place is where the run is once this one has been used */
static gboolean
send (State *state, HrBuffer *buffer, HrBuffer *behind, guint first, guint n_readers, HrOut *out,
      GError **error)
{
  g_auto (HrWirePosition) position = { .n_steps = -1 };
  g_autoptr (GPtrArray) blocks = g_ptr_array_new_with_free_func (forget_block);
  Sharing sharing = { state, out, blocks };
  g_autoptr (HrWireMessage) message = NULL;
  gboolean good;

  find_position (state, behind, &position);
  message = hr_wire_write_buffer (buffer, &position, share, &sharing, error);
  good = message != NULL;
  for (guint i = first; good && i < first + n_readers; i++)
    good = hr_shm_writer_wait (state->writer, i, out, error)
           && tell_epoch (state, i, buffer->epoch, out, error)
           && hr_shm_writer_send (state->writer, i, message, blocks, out, error);
  return good;
}

static gboolean
shmsink_consume (gconstpointer data, gpointer shared, HrBuffer *in, HrOut *out, GError **error)
{
  const ShmSink *self = data;
  State *state = shared;
  guint n = (guint)self->readers;
  gboolean good = TRUE;

  if (self->share == SHARE_SAME) {
    good = send (state, in, in, 0, n, out, error);
    hr_buffer_unref (in);
    return good;
  }
  g_ptr_array_add (state->round, in);
  if (state->round->len < n)
    return TRUE;
  for (guint i = 0; good && i < n; i++)
    good = send (state, state->round->pdata[i], in, i, 1, out, error);
  g_ptr_array_set_size (state->round, 0);
  return good;
}

/* ---- the end ---- */

static gboolean
shmsink_finish (gconstpointer data, gpointer shared, HrOut *out, GError **error G_GNUC_UNUSED)
{
  State *state = shared;
  g_autoptr (HrWireMessage) mark = NULL;

  if (state->round->len > 0) {
    g_autoptr (GError) note =
        g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                     "the last %u batches are not enough for all %u readers and are left out: with "
                     "share=rank all readers get as many",
                     state->round->len, (guint)((const ShmSink *)data)->readers);

    hr_element_warn (state->element, note);
  }
  mark = hr_wire_write_end (hr_shm_writer_get_n_sent (state->writer, 0), NULL);
  hr_shm_writer_end (state->writer, mark, out);
  state->ended = !hr_out_is_closed (out);
  return TRUE;
}

static void
shmsink_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  State *state = shared;
  g_autoptr (GError) why = NULL;

  if (!state->ended && !hr_element_get_outcome (state->element, &why)) {
    g_autoptr (HrWireMessage) mark =
        hr_wire_write_failed (hr_shm_writer_get_n_sent (state->writer, 0), why, NULL);

    hr_shm_writer_end (state->writer, mark, NULL);
  }
  g_clear_pointer (&state->writer, hr_shm_writer_free);
  g_ptr_array_unref (state->round);
  g_array_unref (state->epochs);
  hr_allocator_unref (state->pools);
}

static guint64
shmsink_waits_for (gconstpointer self G_GNUC_UNUSED, gpointer shared, GString *into)
{
  return hr_shm_writer_describe (((State *)shared)->writer, into);
}

static void
shmsink_metrics (gconstpointer self G_GNUC_UNUSED, gpointer shared, JsonBuilder *into)
{
  State *state = shared;

  if (state->writer != NULL)
    hr_shm_writer_add_metrics (state->writer, into);
}

HR_ELEMENT (
    shmsink, ShmSink, .summary = "Give buffers to other processes of this machine, without a copy",
    .description =
        "shmsrc in another process gets the same buffers: tensors lie in shared memory that both "
        "have mapped, and only where they lie goes through a socket. Elements before it write "
        "there from the beginning; what lies elsewhere is copied, and counted (`bytes_copied`). "
        "A reader grants how many batches may be on their way to it, and memory is used again "
        "when all who got it have let it go. It waits for all its readers, and then for the "
        "slowest. When a reader dies the run fails, when one takes no more the run is stopped; "
        "the others are told. Nothing is left in the file system or in memory, however a process "
        "ends. Both ends run as the same user. docs/processes.md",
    .examples = (const char *const[]){ "fakesrc num-buffers=40 ! batch size=4 ! prefetchqueue ! "
                                       "shmsink address=${ADDRESS:-train}",
                                       NULL },
    .props = props, .shared_size = sizeof (State), .waits = TRUE, .trains = TRUE, .relays = TRUE,
    .check = shmsink_check, .start = shmsink_start, .stop = shmsink_stop,
    .consume = shmsink_consume, .finish = shmsink_finish, .waits_for = shmsink_waits_for,
    .metrics = shmsink_metrics)
