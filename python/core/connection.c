/* connection.c: a loader's end of the socket to the process of its pipeline: requests and their
 * answers, and what it tells of itself */
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "control.h"
#include "py.h"

typedef struct {
  PyObject_HEAD GMutex lock; /* of all that follows */
  int fd;                    /* -1: closed */
  GQueue notes;              /* char * */
} Connection;

static PyObject *type;

static PyObject *
make (PyTypeObject *class G_GNUC_UNUSED, PyObject *args, PyObject *keywords)
{
  static char *names[] = { "fd", NULL };
  int fd;
  Connection *self;

  if (!PyArg_ParseTupleAndKeywords (args, keywords, "i:Connection", names, &fd))
    return NULL;
  self = (Connection *)py_alloc (type);
  if (self == NULL)
    return NULL;
  g_mutex_init (&self->lock);
  self->fd = fd;
  g_queue_init (&self->notes);
  return (PyObject *)self;
}

/* the answer; notes before it are kept. NULL: an error, or the other end has closed */
static char *
read_answer (Connection *self, GError **error)
{
  char *text;

  while ((text = control_receive (self->fd, error)) != NULL
         && g_str_has_prefix (text, CONTROL_NOTE))
    g_queue_push_tail (&self->notes, text);
  return text;
}

/* those that are there: without a request all that comes is notes */
static void
read_notes (Connection *self)
{
  struct pollfd fd = { .fd = self->fd, .events = POLLIN };
  char *text;

  while (self->fd >= 0 && poll (&fd, 1, 0) > 0 && (text = control_receive (self->fd, NULL)) != NULL)
    g_queue_push_tail (&self->notes, text);
}

static PyObject *
request (PyObject *object, PyObject *args)
{
  Connection *self = (Connection *)object;
  const char *text;
  g_autofree char *answer = NULL;
  GError *error = NULL;

  if (!PyArg_ParseTuple (args, "s:request", &text))
    return NULL;
  Py_BEGIN_ALLOW_THREADS g_mutex_lock (&self->lock);
  if (self->fd >= 0 && control_send (self->fd, text, &error))
    answer = read_answer (self, &error);
  g_mutex_unlock (&self->lock);
  Py_END_ALLOW_THREADS if (error != NULL) return py_raise (error);
  return answer != NULL ? PyUnicode_FromString (answer) : Py_NewRef (Py_None);
}

static PyObject *
pop_note (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  Connection *self = (Connection *)object;
  g_autofree char *note = NULL;

  Py_BEGIN_ALLOW_THREADS g_mutex_lock (&self->lock);
  if (g_queue_is_empty (&self->notes))
    read_notes (self);
  note = g_queue_pop_head (&self->notes);
  g_mutex_unlock (&self->lock);
  Py_END_ALLOW_THREADS return note != NULL ? PyUnicode_FromString (note + strlen (CONTROL_NOTE))
                                           : Py_NewRef (Py_None);
}

static void
release (Connection *self)
{
  g_mutex_lock (&self->lock);
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
  g_mutex_unlock (&self->lock);
}

static PyObject *
close_socket (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  Py_BEGIN_ALLOW_THREADS release ((Connection *)object);
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static void
dealloc (PyObject *object)
{
  Connection *self = (Connection *)object;

  release (self);
  g_queue_clear_full (&self->notes, g_free);
  g_mutex_clear (&self->lock);
  py_free (object);
}

static PyMethodDef methods[] = {
  { "request", request, METH_VARARGS,
    "request(text)\n--\n\nSends it and waits for the answer; None: the other end has closed." },
  { "pop_note", pop_note, METH_NOARGS,
    "pop_note()\n--\n\nThe next thing that the other end has told of itself, or None." },
  { "close", close_socket, METH_NOARGS, "close()\n--\n\nCloses the socket." },
  { NULL, NULL, 0, NULL }
};

static PyType_Slot slots[] = {
  { Py_tp_doc, "Connection(fd)\n--\n\nA loader's end of the socket to the process of its pipeline; "
               "takes it." },
  { Py_tp_new, make },
  { Py_tp_methods, methods },
  { Py_tp_dealloc, dealloc },
  { 0, NULL }
};

static PyType_Spec spec = { "headrace._core.Connection", sizeof (Connection), 0, Py_TPFLAGS_DEFAULT,
                            slots };

int
py_add_connection (PyObject *module)
{
  type = py_add_type (module, &spec);
  return type != NULL ? 0 : -1;
}
