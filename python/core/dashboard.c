/* dashboard.c: headrace._dashboard: the page of hr-launch --dashboard, of numbers that a program
 * has. A module of its own, which is imported where a dashboard is asked for: no other program
 * loads an HTTP server. */
#include "dashboard.h"
#include <json-glib/json-glib.h>
#include <unistd.h>
#include "py.h"

typedef struct {
  PyObject_HEAD GMutex lock; /* of text */
  char *text;                /* the numbers, JSON */
  Dashboard *dashboard;      /* NULL: closed */
  pid_t pid;                 /* whose it is: a fork's copy has no thread */
} Page;

/* by the dashboard's thread, which knows nothing of Python */
static char *
read_text (gpointer data)
{
  Page *self = data;
  char *text;

  g_mutex_lock (&self->lock);
  text = g_strdup (self->text);
  g_mutex_unlock (&self->lock);
  return text;
}

/* FALSE with an exception: it is no object */
static gboolean
put_text (Page *self, const char *text)
{
  g_autoptr (JsonNode) node = json_from_string (text, NULL);

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node)) {
    PyErr_SetString (PyExc_ValueError, "stats: expected a JSON object, as Pipeline.stats() has it");
    return FALSE;
  }
  g_mutex_lock (&self->lock);
  g_free (self->text);
  self->text = g_strdup (text);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

/* as an exception of headrace's own classes */
static PyObject *
raise_error (const GError *error)
{
  PyObject *core = PyImport_ImportModule ("headrace._core");
  g_autofree char *message = g_strconcat ("dashboard: ", error->message, NULL);
  PyObject *exception =
      core != NULL ? PyObject_CallMethod (core, "error", "sis", g_quark_to_string (error->domain),
                                          error->code, message)
                   : NULL;

  if (exception != NULL)
    PyErr_SetObject ((PyObject *)Py_TYPE (exception), exception);
  Py_XDECREF (exception);
  Py_XDECREF (core);
  return NULL;
}

static PyObject *
make (PyTypeObject *class, PyObject *args, PyObject *keywords)
{
  static char *names[] = { "stats", "where", "token", NULL };
  const char *text, *where, *token;
  Page *self;
  g_autoptr (GError) error = NULL;

  if (!PyArg_ParseTupleAndKeywords (args, keywords, "ssz:Dashboard", names, &text, &where, &token))
    return NULL;
  self = (Page *)((allocfunc)PyType_GetSlot (class, Py_tp_alloc)) (class, 0);
  if (self == NULL)
    return NULL;
  g_mutex_init (&self->lock);
  self->pid = getpid ();
  if (!put_text (self, text)) {
    Py_DECREF (self);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS self->dashboard = dashboard_new (read_text, self, where, token, &error);
  Py_END_ALLOW_THREADS if (self->dashboard == NULL)
  {
    Py_DECREF (self);
    return raise_error (error);
  }
  return (PyObject *)self;
}

static PyObject *
show (PyObject *object, PyObject *args)
{
  const char *text;

  if (!PyArg_ParseTuple (args, "s:show", &text))
    return NULL;
  return put_text ((Page *)object, text) ? Py_NewRef (Py_None) : NULL;
}

static PyObject *
note (PyObject *object, PyObject *args)
{
  Page *self = (Page *)object;
  const char *kind, *text;

  if (!PyArg_ParseTuple (args, "ss:note", &kind, &text))
    return NULL;
  if (self->dashboard != NULL)
    dashboard_note (self->dashboard, kind, text);
  Py_RETURN_NONE;
}

static void
let_go (Page *self)
{
  Dashboard *dashboard = g_steal_pointer (&self->dashboard);

  if (dashboard != NULL && self->pid == getpid ())
    dashboard_free (dashboard);
}

static PyObject *
close_page (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  Py_BEGIN_ALLOW_THREADS let_go ((Page *)object);
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *
get_uri (PyObject *object, void *closure G_GNUC_UNUSED)
{
  const Page *self = (Page *)object;

  if (self->dashboard == NULL)
    Py_RETURN_NONE;
  return PyUnicode_FromString (dashboard_get_uri (self->dashboard));
}

static void
dealloc (PyObject *object)
{
  Page *self = (Page *)object;
  PyTypeObject *type = Py_TYPE (object);

  let_go (self);
  g_free (self->text);
  g_mutex_clear (&self->lock);
  ((freefunc)PyType_GetSlot (type, Py_tp_free)) (object);
  Py_DECREF (type);
}

static PyMethodDef methods[] = {
  { "show", show, METH_VARARGS,
    "show(stats)\n--\n\nThe numbers as they are now: JSON, as Pipeline.stats() has it." },
  { "note", note, METH_VARARGS, "note(kind, text)\n--\n\nA line for the page." },
  { "close", close_page, METH_NOARGS,
    "close()\n--\n\nEnds it; while a page is looking not before it has seen the last numbers." },
  { NULL, NULL, 0, NULL }
};

static PyGetSetDef properties[] = { { "uri", get_uri, NULL, "Its address; None: closed.", NULL },
                                    { NULL, NULL, NULL, NULL, NULL } };

static PyType_Slot slots[] = {
  { Py_tp_doc, "Dashboard(stats, where, token)\n--\n\nA page in the browser; docs/dashboard.md." },
  { Py_tp_new, make },
  { Py_tp_methods, methods },
  { Py_tp_getset, properties },
  { Py_tp_dealloc, dealloc },
  { 0, NULL }
};

static PyType_Spec spec = { "headrace._dashboard.Dashboard", sizeof (Page), 0, Py_TPFLAGS_DEFAULT,
                            slots };

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, .m_name = "headrace._dashboard" };

PyMODINIT_FUNC PyInit__dashboard (void);

PyMODINIT_FUNC
PyInit__dashboard (void)
{
  PyObject *module = PyModule_Create (&definition);
  PyObject *type = module != NULL ? PyType_FromModuleAndSpec (module, &spec, NULL) : NULL;

  if (type == NULL || PyModule_AddType (module, (PyTypeObject *)type) < 0)
    Py_CLEAR (module);
  Py_XDECREF (type);
  return module;
}
