/* control.c: messages with a length in front */
#include "control.h"
#include "hr-error.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* A checkpoint is the longest; one of a thousand objects has some hundred KiB. */
#define MAX_LENGTH (64 << 20)
/* a length is somebody's word: memory is taken as the bytes come */
#define CHUNK (64 << 10)

static gboolean
is_closed (int number)
{
  return number == EPIPE || number == ECONNRESET || number == ENOTCONN;
}

static gboolean
send_all (int fd, gconstpointer data, gsize size, GError **error)
{
  const char *bytes = data;

  while (size > 0) {
    ssize_t n = send (fd, bytes, size, MSG_NOSIGNAL);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      if (!is_closed (errno))
        g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
                     "the socket to the pipeline's process: %s", g_strerror (errno));
      return FALSE;
    }
    bytes += n;
    size -= (gsize)n;
  }
  return TRUE;
}

gboolean
control_send (int fd, const char *text, GError **error)
{
  gsize length = strlen (text);
  guint32 head = GUINT32_TO_LE ((guint32)length);

  if (length > MAX_LENGTH) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
                 "a message of %" G_GSIZE_FORMAT " bytes for the pipeline's process; at most %d",
                 length, MAX_LENGTH);
    return FALSE;
  }
  return send_all (fd, &head, sizeof head, error) && send_all (fd, text, length, error);
}

/* how many have come before the other end closed, or an error */
static gsize
receive_all (int fd, gpointer data, gsize size, GError **error)
{
  char *bytes = data;
  gsize done = 0;

  while (done < size) {
    ssize_t n = recv (fd, bytes + done, size - done, 0);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && !is_closed (errno))
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                   "the socket to the pipeline's process: %s", g_strerror (errno));
    if (n <= 0)
      break;
    done += (gsize)n;
  }
  return done;
}

char *
control_receive (int fd, GError **error)
{
  guint32 head;
  gsize length, done = 0;
  g_autoptr (GByteArray) text = g_byte_array_new ();

  if (receive_all (fd, &head, sizeof head, error) < sizeof head)
    return NULL;
  length = GUINT32_FROM_LE (head);
  if (length > MAX_LENGTH) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "the socket to the pipeline's process: a message of %" G_GSIZE_FORMAT
                 " bytes; at most %d",
                 length, MAX_LENGTH);
    return NULL;
  }
  while (done < length) {
    gsize n = MIN (length - done, CHUNK);

    g_byte_array_set_size (text, (guint)(done + n));
    if (receive_all (fd, text->data + done, n, error) < n)
      return NULL;
    done += n;
  }
  g_byte_array_append (text, (const guint8 *)"", 1);
  return (char *)g_byte_array_free (g_steal_pointer (&text), FALSE);
}
