/* module.c: headrace._core */
#include "py.h"

PyObject *
py_alloc (PyObject *type)
{
  allocfunc alloc = (allocfunc)PyType_GetSlot ((PyTypeObject *)type, Py_tp_alloc);

  return alloc ((PyTypeObject *)type, 0);
}

void
py_free (PyObject *self)
{
  PyTypeObject *type = Py_TYPE (self);
  freefunc free_self = (freefunc)PyType_GetSlot (type, Py_tp_free);

  free_self (self);
  Py_DECREF (type);
}

PyObject *
py_add_type (PyObject *module, PyType_Spec *spec)
{
  PyObject *type = PyType_FromModuleAndSpec (module, spec, NULL);

  if (type != NULL && PyModule_AddType (module, (PyTypeObject *)type) < 0)
    Py_CLEAR (type);
  return type;
}

static PyObject *
live (PyObject *module G_GNUC_UNUSED, PyObject *unused G_GNUC_UNUSED)
{
  py_let_go ();
  return Py_BuildValue ("(iii)", hr_buffer_live (), hr_tensor_live (), hr_memory_live ());
}

static PyObject *
make_error (PyObject *module G_GNUC_UNUSED, PyObject *args, PyObject *keywords)
{
  static char *names[] = { "domain", "code", "message", NULL };
  const char *domain, *message;
  int code;
  g_autoptr (GError) error = NULL;

  if (!PyArg_ParseTupleAndKeywords (args, keywords, "sis:error", names, &domain, &code, &message))
    return NULL;
  error = g_error_new_literal (g_quark_from_string (domain), code, message);
  return py_exception_new (error);
}

static PyObject *
elements (PyObject *module G_GNUC_UNUSED, PyObject *unused G_GNUC_UNUSED)
{
  g_autoptr (GPtrArray) rows = hr_registry_list ();
  PyObject *list = PyList_New (0);

  for (guint i = 0; list != NULL && i < rows->len; i++) {
    const HrElementInfo *row = rows->pdata[i];
    PyObject *item = Py_BuildValue ("{szszszsz}", "name", row->name, "plugin", row->plugin, "file",
                                    row->file, "summary", row->summary);

    if (item == NULL || PyList_Append (list, item) < 0)
      Py_CLEAR (list);
    Py_XDECREF (item);
  }
  return list;
}

static PyObject *
open_element (PyObject *module G_GNUC_UNUSED, PyObject *args)
{
  const char *name;
  GError *error = NULL;

  if (!PyArg_ParseTuple (args, "s:open_element", &name))
    return NULL;
  if (hr_registry_find (name, &error) == NULL)
    return py_raise (error);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
  { "elements", elements, METH_NOARGS,
    "elements()\n--\n\nAll known elements: a list of dicts with name, plugin, file and summary." },
  { "open_element", open_element, METH_VARARGS,
    "open_element(name)\n--\n\nLoads the plugin of an element; raises why that fails." },
  { "error", (PyCFunction)(void *)make_error, METH_VARARGS | METH_KEYWORDS,
    "error(domain, code, message)\n--\n\nThe exception for an error of another process." },
  { "live", live, METH_NOARGS,
    "live()\n--\n\nHow many buffers, tensors and blocks of memory there are: for tests of leaks." },
  { NULL, NULL, 0, NULL }
};

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, .m_name = "headrace._core",
                                         .m_methods = methods };

/* the module, and the interpreter that has it: the classes are those of one */
static PyObject *only;
static PyInterpreterState *owner;

static void
forget (void)
{
  only = NULL;
  owner = NULL;
}

static PyObject *
make_module (void)
{
  PyObject *module = PyModule_Create (&definition);

  if (module != NULL
      && (py_add_errors (module) < 0 || py_add_tensor (module) < 0 || py_add_batch (module) < 0
          || py_add_pipeline (module) < 0 || py_add_connection (module) < 0 || py_init_fields () < 0
          || PyModule_AddStringConstant (module, "__version__", HR_VERSION) < 0
          || Py_AtExit (forget) < 0))
    Py_CLEAR (module);
  return module;
}

PyMODINIT_FUNC PyInit__core (void);

PyMODINIT_FUNC
PyInit__core (void)
{
  if (owner != NULL && owner != PyInterpreterState_Get ()) {
    PyErr_SetString (PyExc_ImportError,
                     "headrace works in one interpreter of a process, and another one has loaded "
                     "it; use a process of its own");
    return NULL;
  }
  if (only == NULL) {
    only = make_module ();
    owner = only != NULL ? PyInterpreterState_Get () : NULL;
  }
  return Py_XNewRef (only);
}
