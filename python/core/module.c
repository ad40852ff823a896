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

static PyMethodDef methods[] = {
  { "error", (PyCFunction)(void *)make_error, METH_VARARGS | METH_KEYWORDS,
    "error(domain, code, message)\n--\n\nThe exception for an error of another process." },
  { "live", live, METH_NOARGS,
    "live()\n--\n\nHow many buffers, tensors and blocks of memory there are: for tests of leaks." },
  { NULL, NULL, 0, NULL }
};

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, .m_name = "headrace._core",
                                         .m_size = -1, .m_methods = methods };

PyMODINIT_FUNC PyInit__core (void);

PyMODINIT_FUNC
PyInit__core (void)
{
  PyObject *module = PyModule_Create (&definition);

  if (module != NULL
      && (py_add_errors (module) < 0 || py_add_tensor (module) < 0 || py_add_batch (module) < 0
          || py_add_pipeline (module) < 0 || py_add_connection (module) < 0 || py_init_fields () < 0
          || PyModule_AddStringConstant (module, "__version__", HR_VERSION) < 0))
    Py_CLEAR (module);
  return module;
}
