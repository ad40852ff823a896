/* filesink.c: raw bytes into a file */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "headrace.h"
#include "write.h"

typedef struct {
  char *location;
  char *field;
} FileSink;

typedef struct {
  int fd;
} State;

static const HrProp props[] = {
  HR_PROP_STRING (FileSink, location, NULL, "The file; it is replaced", .flags = HR_PROP_REQUIRED),
  HR_PROP_STRING (FileSink, field, NULL, "The field to write; all byte tensors if unset"),
  HR_PROP_END
};

static gboolean
filesink_start (gconstpointer data, gpointer shared, HrElement *element G_GNUC_UNUSED,
                GError **error)
{
  const FileSink *self = data;
  State *state = shared;

  state->fd = open_file (self->location, error);
  return state->fd >= 0;
}

static void
filesink_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  close (((State *)shared)->fd);
}

static gboolean
is_bytes (const HrTensor *tensor)
{
  HrDType dtype = hr_tensor_get_dtype (tensor);

  return dtype.code == HR_DTYPE_UINT && dtype.bits == 8;
}

static gboolean
write_list (const FileSink *self, const State *state, const HrList *list, GError **error)
{
  for (guint i = 0; i < hr_list_get_length (list); i++) {
    const HrTensor *tensor = hr_list_get_tensor (list, i);
    const char *string = hr_list_get_string (list, i);

    if (tensor != NULL && (self->field != NULL || is_bytes (tensor))) {
      if (!write_tensor (state->fd, self->location, tensor, error))
        return FALSE;
    } else if (string != NULL && self->field != NULL) {
      if (!write_bytes (state->fd, self->location, string, strlen (string), error))
        return FALSE;
    }
  }
  return TRUE;
}

static gboolean
write_field (const FileSink *self, const State *state, const HrBuffer *in, const char *name,
             GError **error)
{
  const HrTensor *tensor = hr_buffer_get_tensor (in, name);
  const HrList *list = hr_buffer_get_list (in, name);
  const char *string = hr_buffer_get_string (in, name);

  if (tensor != NULL)
    return (self->field == NULL && !is_bytes (tensor))
           || write_tensor (state->fd, self->location, tensor, error);
  if (list != NULL)
    return write_list (self, state, list, error);
  if (string != NULL && self->field != NULL)
    return write_bytes (state->fd, self->location, string, strlen (string), error);
  return TRUE;
}

static gboolean
filesink_consume (gconstpointer data, gpointer worker, HrBuffer *in, HrOut *out G_GNUC_UNUSED,
                  GError **error)
{
  const FileSink *self = data;
  gboolean ok = TRUE;

  if (self->field != NULL)
    ok = write_field (self, worker, in, self->field, error);
  else
    for (guint i = 0; i < hr_buffer_get_n_fields (in) && ok; i++)
      ok = write_field (self, worker, in, hr_buffer_get_field (in, i, NULL), error);
  hr_buffer_unref (in);
  return ok;
}

HR_ELEMENT (
    filesink, FileSink, .summary = "Write raw bytes into a file",
    .description =
        "Writes the elements of one field (a tensor of any dtype in C order, a string, or a "
        "list of them), or of all uint8 tensors, one after another and nothing between them.",
    .examples =
        (const char *const[]){ "fakesrc num-buffers=4 size=1KiB ! filesink location=/dev/null",
                               NULL },
    .props = props, .shared_size = sizeof (State), .start = filesink_start, .stop = filesink_stop,
    .consume = filesink_consume)
