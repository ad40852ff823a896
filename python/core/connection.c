/* connection.c: a loader's end of the socket to the process of its pipeline: requests and their
 * answers, and what it tells of itself */
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "control.h"
#include "py.h"

typedef struct {
  PyObject_HEAD GMutex lock; /* of busy */
  GCond idle;
  gboolean busy; /* somebody works with all that follows */
  pid_t pid;     /* whose connection it is: in a fork's copy nobody is busy */
  int fd;        /* -1: closed */
  guint n_owed;  /* answers to come that nobody waits for any more */
  GQueue notes;  /* char * */
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
  g_cond_init (&self->idle);
  self->pid = getpid ();
  self->fd = fd;
  g_queue_init (&self->notes);
  return (PyObject *)self;
}

/* ---- one at a time ---- */

/* FALSE: somebody else still works with it at @until */
static gboolean
begin (Connection *self, gint64 until)
{
  gboolean got;

  g_mutex_lock (&self->lock);
  while (self->busy && g_cond_wait_until (&self->idle, &self->lock, until))
    ;
  got = !self->busy;
  self->busy = TRUE;
  g_mutex_unlock (&self->lock);
  return got;
}

static void
finish (Connection *self)
{
  g_mutex_lock (&self->lock);
  self->busy = FALSE;
  g_cond_signal (&self->idle);
  g_mutex_unlock (&self->lock);
}

/* Ctrl-C comes through that often */
static gint64
next_look (gint64 until)
{
  return MIN (until, g_get_monotonic_time () + PY_SIGNAL_CHECK_TIME / 1000);
}

/* FALSE with an exception: a signal's handler has raised, or it is later than @until */
static gboolean
may_wait (gint64 until)
{
  if (PyErr_CheckSignals () < 0)
    return FALSE;
  if (g_get_monotonic_time () < until)
    return TRUE;
  PyErr_SetString (PyExc_TimeoutError, "the process of the pipeline does not answer");
  return FALSE;
}

/* ---- what comes ---- */

/* FALSE: nothing has come by @until */
static gboolean
await_text (Connection *self, gint64 until)
{
  struct pollfd fd = { .fd = self->fd, .events = POLLIN };
  gint64 left = MAX (until - g_get_monotonic_time (), 0);

  return poll (&fd, 1, (int)((left + 999) / 1000)) > 0;
}

/* What came before the answer is kept. FALSE: it has not come by @until. *@answer NULL: with an
 * error, or the other end has closed. */
static gboolean
read_answer (Connection *self, gint64 until, char **answer, GError **error)
{
  while (await_text (self, until)) {
    char *text = control_receive (self->fd, error);

    if (text != NULL && g_str_has_prefix (text, CONTROL_NOTE)) {
      g_queue_push_tail (&self->notes, text);
    } else if (text != NULL && self->n_owed > 0) {
      self->n_owed--;
      g_free (text);
    } else {
      *answer = text;
      return TRUE;
    }
  }
  return FALSE;
}

/* those that are there: without a request all that comes is notes, and what is owed */
static void
read_notes (Connection *self)
{
  char *text = NULL;

  while (self->fd >= 0 && await_text (self, 0)
         && (text = control_receive (self->fd, NULL)) != NULL) {
    if (g_str_has_prefix (text, CONTROL_NOTE)) {
      g_queue_push_tail (&self->notes, text);
    } else {
      self->n_owed--;
      g_free (text);
    }
  }
}

/* ---- methods ---- */

/* FALSE with an exception */
static gboolean
wait_for_turn (Connection *self, gint64 until)
{
  gboolean got;

  do {
    Py_BEGIN_ALLOW_THREADS got = begin (self, next_look (until));
    Py_END_ALLOW_THREADS
  } while (!got && may_wait (until));
  return got;
}

static PyObject *
request (PyObject *object, PyObject *args)
{
  Connection *self = (Connection *)object;
  const char *text;
  double within = 0;
  gint64 until = G_MAXINT64;
  g_autofree char *answer = NULL;
  GError *error = NULL;
  gboolean done;

  if (!PyArg_ParseTuple (args, "s|d:request", &text, &within))
    return NULL;
  if (within > 0)
    until = g_get_monotonic_time () + (gint64)(within * 1e6);
  if (!wait_for_turn (self, until))
    return NULL;
  Py_BEGIN_ALLOW_THREADS done = self->fd < 0 || !control_send (self->fd, text, &error);
  Py_END_ALLOW_THREADS while (!done)
  {
    Py_BEGIN_ALLOW_THREADS done = read_answer (self, next_look (until), &answer, &error);
    Py_END_ALLOW_THREADS if (!done && !may_wait (until))
    {
      self->n_owed++;
      finish (self);
      return NULL;
    }
  }
  finish (self);
  if (error != NULL)
    return py_raise (error);
  return answer != NULL ? PyUnicode_FromString (answer) : Py_NewRef (Py_None);
}

static PyObject *
pop_note (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  Connection *self = (Connection *)object;
  g_autofree char *note = NULL;

  if (!wait_for_turn (self, G_MAXINT64))
    return NULL;
  Py_BEGIN_ALLOW_THREADS if (g_queue_is_empty (&self->notes)) read_notes (self);
  Py_END_ALLOW_THREADS note = g_queue_pop_head (&self->notes);
  finish (self);
  return note != NULL ? PyUnicode_FromString (note + strlen (CONTROL_NOTE)) : Py_NewRef (Py_None);
}

static void
release (Connection *self)
{
  if (self->pid == getpid ())
    begin (self, G_MAXINT64);
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
  finish (self);
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
  g_cond_clear (&self->idle);
  py_free (object);
}

static PyMethodDef methods[] = {
  { "request", request, METH_VARARGS,
    "request(text, within=0)\n--\n\nSends it and waits for the answer; None: the other end has "
    "closed.\nLets Ctrl-C in; TimeoutError behind so many seconds, if it is not 0." },
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
