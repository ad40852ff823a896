/* write.c: whole writes, with errors that name the file */
#include "write.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void
set_error (GError **error, const char *path)
{
  int code = errno;

  g_set_error (error, HR_RESOURCE_ERROR,
               code == ENOENT                    ? HR_RESOURCE_ERROR_NOT_FOUND
               : code == EACCES || code == EPERM ? HR_RESOURCE_ERROR_FORBIDDEN
                                                 : HR_RESOURCE_ERROR_WRITE,
               "%s: %s", path, g_strerror (code));
}

int
open_file (const char *path, GError **error)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

  if (fd < 0)
    set_error (error, path);
  return fd;
}

gboolean
write_bytes (int fd, const char *path, gconstpointer data, gsize size, GError **error)
{
  const guint8 *bytes = data;

  while (size > 0) {
    /* Linux writes at most 2 GiB at once */
    gssize n = write (fd, bytes, MIN (size, 1 << 30));

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      set_error (error, path);
      return FALSE;
    }
    bytes += n;
    size -= (gsize)n;
  }
  return TRUE;
}

gboolean
close_file (int fd, const char *path, gboolean ok, GError **error)
{
  gboolean closed = close (fd) == 0;

  if (ok && !closed)
    set_error (error, path);
  return ok && closed;
}

/* copies dimension @dim and all below it to *@to */
static void
gather (const HrTensor *tensor, guint dim, const guint8 *from, gsize width, guint8 **to)
{
  gint64 step = hr_tensor_get_strides (tensor)[dim] * (gint64)width;

  for (gint64 i = 0; i < hr_tensor_get_shape (tensor)[dim]; i++, from += step) {
    if (dim + 1 < hr_tensor_get_n_dims (tensor)) {
      gather (tensor, dim + 1, from, width, to);
    } else {
      memcpy (*to, from, width);
      *to += width;
    }
  }
}

gboolean
write_tensor (int fd, const char *path, const HrTensor *tensor, GError **error)
{
  const guint8 *data = hr_tensor_get_data (tensor);
  gsize n_bytes = hr_tensor_get_n_bytes (tensor);
  g_autofree guint8 *gathered = NULL;

  if (n_bytes == 0)
    return TRUE;
  if (data == NULL) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
                 "%s: a tensor is in memory that the processor cannot read", path);
    return FALSE;
  }
  if (!hr_tensor_is_contiguous (tensor)) {
    HrDType dtype = hr_tensor_get_dtype (tensor);
    guint8 *end = gathered = g_malloc (n_bytes);

    gather (tensor, 0, data, (gsize)dtype.bits * dtype.lanes / 8, &end);
    data = gathered;
  }
  return write_bytes (fd, path, data, n_bytes, error);
}
