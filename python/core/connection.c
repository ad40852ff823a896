/* connection.c: a loader's end of the sockets to the process of its pipeline: requests and their
 * answers, notes that it sends of itself, and batches */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "control.h"
#include "incoming.h"
#include "py.h"

/* how long a pull waits before it looks whether somebody has pressed Ctrl-C, in milliseconds */
#define SIGNAL_CHECK_TIME 50

typedef struct {
  PyObject_HEAD int control; /* -1: closed */
  Incoming *incoming;
  gboolean pulling; /* under Python's lock */
  GMutex lock;      /* of what follows; who reads from the control socket holds it */
  GQueue notes;     /* char * */
} Connection;

static PyObject *type;

static PyObject *
make (PyTypeObject *class G_GNUC_UNUSED, PyObject *args, PyObject *keywords)
{
  static char *names[] = { "control", "data", NULL };
  int control, data;
  GError *error = NULL;
  Incoming *incoming;
  Connection *self;

  if (!PyArg_ParseTupleAndKeywords (args, keywords, "ii:Connection", names, &control, &data))
    return NULL;
  incoming = incoming_new (data, &error);
  if (incoming == NULL)
    return py_raise (error);
  self = (Connection *)py_alloc (type);
  if (self == NULL)
    return NULL;
  self->control = control;
  self->incoming = incoming;
  g_mutex_init (&self->lock);
  g_queue_init (&self->notes);
  return (PyObject *)self;
}

/* ---- requests and notes; under the lock ---- */

static gboolean
is_note (const char *text)
{
  return g_str_has_prefix (text, CONTROL_NOTE);
}

/* the next answer; notes before it are kept. NULL: an error, or the other end has closed */
static char *
read_answer (Connection *self, GError **error)
{
  char *text;

  while ((text = control_receive (self->control, error)) != NULL && is_note (text))
    g_queue_push_tail (&self->notes, text);
  return text;
}

/* notes that are there; without a request every message is one */
static void
read_notes (Connection *self)
{
  struct pollfd fd = { .fd = self->control, .events = POLLIN };
  char *text;

  while (poll (&fd, 1, 0) > 0 && (text = control_receive (self->control, NULL)) != NULL)
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
  if (self->control >= 0 && control_send (self->control, text, &error))
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
  if (self->control >= 0)
    read_notes (self);
  note = g_queue_pop_head (&self->notes);
  g_mutex_unlock (&self->lock);
  Py_END_ALLOW_THREADS return note != NULL ? PyUnicode_FromString (note + strlen (CONTROL_NOTE))
                                           : Py_NewRef (Py_None);
}

/* ---- batches ---- */

/* Many notes may come before the batch that they belong to, more than a socket holds. */
static void
wait_for_batch (Connection *self)
{
  gboolean ours = g_mutex_trylock (&self->lock);
  struct pollfd fds[] = { { .fd = incoming_get_fd (self->incoming), .events = POLLIN },
                          { .fd = ours ? self->control : -1, .events = POLLIN } };

  poll (fds, G_N_ELEMENTS (fds), SIGNAL_CHECK_TIME);
  if (fds[1].revents & POLLIN)
    read_notes (self);
  if (ours)
    g_mutex_unlock (&self->lock);
}

static PyObject *
pull (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  Connection *self = (Connection *)object;
  IncomingResult result = INCOMING_CLOSED;
  HrBuffer *buffer = NULL;
  GError *error = NULL;
  PyObject *batch;

  if (self->pulling) {
    PyErr_SetString (PyExc_RuntimeError, "another thread is pulling from this pipeline");
    return NULL;
  }
  self->pulling = TRUE;
  do {
    Py_BEGIN_ALLOW_THREADS if (self->incoming != NULL) result =
        incoming_take (self->incoming, &buffer, &error);
    if (result == INCOMING_NOTHING)
      wait_for_batch (self);
    Py_END_ALLOW_THREADS
  } while (result == INCOMING_NOTHING && PyErr_CheckSignals () == 0);
  self->pulling = FALSE;
  if (result == INCOMING_NOTHING) /* a signal's handler has raised */
    return NULL;
  if (result == INCOMING_CLOSED) {
    PyErr_SetString (PyExc_EOFError, "the process of the pipeline has closed its end");
    return NULL;
  }
  if (buffer == NULL)
    return error != NULL ? py_raise (error) : Py_NewRef (Py_None);
  batch = py_batch_new (buffer);
  hr_buffer_unref (buffer);
  return batch;
}

/* ---- ends ---- */

static void
release (Connection *self)
{
  g_mutex_lock (&self->lock);
  if (self->control >= 0)
    close (self->control);
  self->control = -1;
  g_mutex_unlock (&self->lock);
  g_clear_pointer (&self->incoming, incoming_free);
}

static PyObject *
close_sockets (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  Connection *self = (Connection *)object;

  if (self->pulling) {
    PyErr_SetString (PyExc_RuntimeError, "another thread is pulling from this pipeline");
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS release (self);
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
    "pop_note()\n--\n\nThe next note that the other end has sent of itself, or None." },
  { "pull", pull, METH_NOARGS,
    "pull()\n--\n\nThe next Batch, or None at the end; EOFError: the other end has closed." },
  { "close", close_sockets, METH_NOARGS, "close()\n--\n\nCloses both sockets." },
  { NULL, NULL, 0, NULL }
};

static PyType_Slot slots[] = {
  { Py_tp_doc, "Connection(control, data)\n--\n\nA loader's end of the sockets to the process of "
               "its pipeline, of which it takes the descriptors." },
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
