/* fakesrc.c: buffers out of nothing, the same every time */
#include <string.h>
#include "headrace.h"
#include "spin.h"

#define MAX_PUSHED 64
#define MAX_BYTES (1 << 20)

typedef struct {
  gint64 num_buffers;
  guint64 size;
  guint64 seed;
  gint64 interval;
  gint64 work;
} FakeSrc;

typedef struct {
  gint64 next;
} State;

static const HrProp props[] = {
  HR_PROP_INT (FakeSrc, num_buffers, -1, G_MAXINT64, -1, "End after so many buffers; -1: never",
               .flags = HR_PROP_STREAM, .unit = "buffers"),
  HR_PROP_SIZE (FakeSrc, size, 0, 64 * HR_GIB, 64, "Bytes of each buffer's field \"bytes\"",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (FakeSrc, seed, 0, G_MAXINT64, 0, "Another seed gives other bytes",
                .flags = HR_PROP_STREAM),
  HR_PROP_DURATION (FakeSrc, interval, 0, 3600 * HR_SECOND, 0, "Sleep so long before each buffer"),
  HR_PROP_DURATION (FakeSrc, work, 0, 3600 * HR_SECOND, 0, "Compute so long for each buffer"),
  HR_PROP_END
};

static void
fill (guint8 *data, gsize size, guint64 seed, gint64 index)
{
  guint64 key = hr_mix64 (hr_mix64 (seed) ^ (guint64)index);

  for (gsize i = 0; i < size; i += 8) {
    guint64 word = GUINT64_TO_LE (hr_mix64 (key + i));

    memcpy (data + i, &word, MIN (8, size - i));
  }
}

static HrFlow
fakesrc_create (gconstpointer data, gpointer worker, HrOut *out, GError **error)
{
  const FakeSrc *self = data;
  State *state = worker;
  /* one sample at a time means one; and who waits or computes for a sample hands it on at once */
  guint most = hr_out_is_serial (out) || self->interval > 0 || self->work > 0 ? 1 : MAX_PUSHED;
  gsize bytes = 0;

  for (guint i = 0; i < most && bytes <= MAX_BYTES; i++) {
    HrMemory *memory;
    HrBuffer *buffer;

    if (self->num_buffers >= 0 && state->next >= self->num_buffers)
      return HR_FLOW_END;
    if (self->interval > 0 && !hr_out_sleep (out, self->interval))
      return HR_FLOW_END;
    memory = hr_out_alloc (out, "bytes", self->size, error);
    if (memory == NULL)
      return HR_FLOW_ERROR;
    fill (memory->data, self->size, self->seed, state->next);
    if (self->work > 0)
      spin (self->work);
    buffer = hr_buffer_new ();
    buffer->number = buffer->sample = state->next++;
    hr_buffer_set_tensor (buffer, "bytes", hr_tensor_new_bytes (memory));
    hr_out_push (out, buffer);
    bytes += self->size;
  }
  return HR_FLOW_MORE;
}

HR_ELEMENT (
    fakesrc, FakeSrc, .summary = "Make buffers of pseudo-random bytes",
    .description =
        "Gives the field \"bytes\", uint8 [size], whose content depends on the seed and the "
        "buffer's number alone. For tests and for measuring everything behind it: `interval` "
        "stands for a source that waits, `work` for one that computes.",
    .examples = (const char *const[]){ "fakesrc num-buffers=100 size=1KiB ! fakesink",
                                       "fakesrc num-buffers=3 interval=1ms ! fakesink", NULL },
    .gives = "bytes", .props = props, .worker_size = sizeof (State), .create = fakesrc_create)
