/* npysink.c: every tensor as a NumPy file, the rest as JSON */
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include "headrace.h"
#include "npy.h"
#include "write.h"

typedef struct {
  char *location;
  gboolean overwrite;
} NpySink;

typedef struct {
  guint64 index;
} State;

static const HrProp props[] = {
  HR_PROP_STRING (NpySink, location, NULL, "The folder; it is made if need be",
                  .flags = HR_PROP_REQUIRED),
  HR_PROP_BOOL (NpySink, overwrite, FALSE,
                "Remove the files of an earlier run from the folder; else they are an error"),
  HR_PROP_END
};

/* "000123.….npy" or "000123.json": a name that only this element gives */
static gboolean
is_ours (const char *name)
{
  return strspn (name, "0123456789") >= 6 && name[strspn (name, "0123456789")] == '.'
         && (g_str_has_suffix (name, ".npy") || g_str_has_suffix (name, ".json"));
}

static gboolean
clear_folder (const NpySink *self, GError **error)
{
  g_autoptr (GDir) dir = g_dir_open (self->location, 0, error);
  const char *name;

  if (dir == NULL) {
    g_prefix_error (error, "%s: ", self->location);
    return FALSE;
  }
  while ((name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (self->location, name, NULL);

    if (!is_ours (name))
      continue;
    if (!self->overwrite) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
                   "%s is there already: give another location, or overwrite=true", path);
      return FALSE;
    }
    if (g_unlink (path) < 0) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE, "%s: %s", path,
                   g_strerror (errno));
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
npysink_start (gconstpointer data, gpointer shared G_GNUC_UNUSED, HrElement *element G_GNUC_UNUSED,
               GError **error)
{
  const NpySink *self = data;

  if (g_mkdir_with_parents (self->location, 0777) < 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE, "%s: %s", self->location,
                 g_strerror (errno));
    return FALSE;
  }
  return clear_folder (self, error);
}

static gboolean
write_npy (const char *path, const HrTensor *tensor, GError **error)
{
  g_autoptr (GString) header = npy_header (tensor, error);
  gboolean ok;
  int fd;

  if (header == NULL) {
    g_prefix_error (error, "%s: ", path);
    return FALSE;
  }
  fd = open_file (path, error);
  if (fd < 0)
    return FALSE;
  ok = write_bytes (fd, path, header->str, header->len, error)
       && write_tensor (fd, path, tensor, error);
  return close_file (fd, path, ok, error);
}

static gboolean
write_tensors (const char *stem, const HrBuffer *in, GError **error)
{
  for (guint i = 0; i < hr_buffer_get_n_fields (in); i++) {
    const char *name = hr_buffer_get_field (in, i, NULL);
    const HrTensor *tensor = hr_buffer_get_tensor (in, name);
    const HrList *list = hr_buffer_get_list (in, name);

    if (tensor != NULL) {
      g_autofree char *path = g_strdup_printf ("%s.%s.npy", stem, name);

      if (!write_npy (path, tensor, error))
        return FALSE;
    }
    for (guint k = 0; list != NULL && k < hr_list_get_length (list); k++) {
      g_autofree char *path = g_strdup_printf ("%s.%s.%u.npy", stem, name, k);

      if (hr_list_get_tensor (list, k) != NULL
          && !write_npy (path, hr_list_get_tensor (list, k), error))
        return FALSE;
    }
  }
  return TRUE;
}

static gboolean
write_json (const char *stem, const HrBuffer *in, guint64 index, GError **error)
{
  g_autofree char *path = g_strdup_printf ("%s.json", stem);
  g_autofree char *text = npy_describe (in, index);
  int fd = open_file (path, error);

  return fd >= 0
         && close_file (fd, path, write_bytes (fd, path, text, strlen (text), error), error);
}

static gboolean
npysink_consume (gconstpointer data, gpointer worker, HrBuffer *in, HrOut *out G_GNUC_UNUSED,
                 GError **error)
{
  const NpySink *self = data;
  State *state = worker;
  guint64 index = state->index++;
  g_autofree char *name = g_strdup_printf ("%06" G_GUINT64_FORMAT, index);
  g_autofree char *stem = g_build_filename (self->location, name, NULL);
  /* the JSON last: where it is, the buffer is whole */
  gboolean ok = write_tensors (stem, in, error) && write_json (stem, in, index, error);

  hr_buffer_unref (in);
  return ok;
}

HR_ELEMENT (
    npysink, NpySink, .summary = "Write every tensor as a NumPy file, the rest as JSON",
    .description =
        "Buffer after buffer, counted from 0 with six digits: a tensor field as "
        "INDEX.FIELD.npy, the tensors of a list as INDEX.FIELD.K.npy (version 1.0, C order; "
        "bfloat16 as uint16), and INDEX.json = {index, epoch, step, sample, id, uri, byte, "
        "length, line, fields, members}. fields gives {dtype, shape} of each tensor, {dtype, "
        "value} of strings and JSON, a list of them for lists; members is the same for each "
        "sample of a batch, skipped ones with \"hole\", \"kind\" and \"message\".",
    .examples =
        (const char *const[]){
            "fakesrc num-buffers=2 ! npysink location=${TMPDIR:-/tmp}/headrace-npysink "
            "overwrite=true",
            NULL },
    .props = props, .shared_size = sizeof (State), .start = npysink_start,
    .consume = npysink_consume)
