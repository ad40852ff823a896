/* errors.c: a GError as an exception of its domain */
#include "py.h"

static PyObject *base, *parse, *core, *resource, *data, *stopped;

static PyObject *
add (PyObject *module, const char *name, const char *doc, PyObject *first, PyObject *second)
{
  g_autofree char *full = g_strconcat ("headrace.", name, NULL);
  PyObject *bases = second != NULL ? PyTuple_Pack (2, first, second) : PyTuple_Pack (1, first);
  PyObject *class = bases != NULL ? PyErr_NewExceptionWithDoc (full, doc, bases, NULL) : NULL;

  Py_XDECREF (bases);
  if (class != NULL && PyModule_AddObjectRef (module, name, class) < 0)
    Py_CLEAR (class);
  return class;
}

int
py_add_errors (PyObject *module)
{
  return (base = add (module, "Error",
                      "Something went wrong; `kind` says what, str() is one line that says who,\n"
                      "where, what was expected and what to do.",
                      PyExc_Exception, NULL))
                 && (parse = add (module, "ParseError", "The text of a pipeline is wrong.", base,
                                  PyExc_ValueError))
                 && (core = add (module, "CoreError",
                                 "Headrace was used wrongly, or a run cannot go on.", base,
                                 PyExc_RuntimeError))
                 && (resource = add (module, "ResourceError",
                                     "A file, a socket or a service failed.", base, PyExc_OSError))
                 && (data = add (module, "DataError", "A sample is bad.", base, PyExc_ValueError))
                 && (stopped =
                         add (module, "StoppedError", "The pipeline is being stopped.", core, NULL))
             ? 0
             : -1;
}

/* of an enum of hr-error.h, "HR_CORE_ERROR_NO_STEP" -> "no-step" */
static const char *
name_of (const char *const *names, guint n, int code)
{
  return code >= 0 && (guint)code < n ? names[code] : "failed";
}

const char *
py_error_kind (const GError *error)
{
  static const char *const parses[] = {
    "syntax",       "unknown-element", "unknown-property", "bad-value",
    "out-of-range", "duplicate",       "unknown-name",     "link",
    "type",         "variable",        "conflict",         "required"
  };
  static const char *const cores[] = { "failed",   "stopped", "state",  "forked",
                                       "deadlock", "stalled", "plugin", "no-step" };
  static const char *const resources[] = { "failed",  "not-found", "forbidden", "read",   "write",
                                           "connect", "timeout",   "no-memory", "changed" };

  G_STATIC_ASSERT (G_N_ELEMENTS (parses) == HR_PARSE_ERROR_REQUIRED + 1);
  G_STATIC_ASSERT (G_N_ELEMENTS (cores) == HR_CORE_ERROR_NO_STEP + 1);
  G_STATIC_ASSERT (G_N_ELEMENTS (resources) == HR_RESOURCE_ERROR_CHANGED + 1);
  if (error->domain == HR_DATA_ERROR)
    return hr_data_error_kind (error->code);
  if (error->domain == HR_PARSE_ERROR)
    return name_of (parses, G_N_ELEMENTS (parses), error->code);
  if (error->domain == HR_CORE_ERROR)
    return name_of (cores, G_N_ELEMENTS (cores), error->code);
  if (error->domain == HR_RESOURCE_ERROR)
    return name_of (resources, G_N_ELEMENTS (resources), error->code);
  return "failed";
}

static PyObject *
class_of (const GError *error)
{
  if (g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED))
    return stopped;
  return error->domain == HR_PARSE_ERROR      ? parse
         : error->domain == HR_CORE_ERROR     ? core
         : error->domain == HR_RESOURCE_ERROR ? resource
         : error->domain == HR_DATA_ERROR     ? data
                                              : base;
}

PyObject *
py_exception_new (const GError *error)
{
  PyObject *exception = PyObject_CallFunction (class_of (error), "s", error->message);
  PyObject *kind = PyUnicode_FromString (py_error_kind (error));

  if (kind == NULL || exception == NULL || PyObject_SetAttrString (exception, "kind", kind) < 0)
    Py_CLEAR (exception);
  Py_XDECREF (kind);
  return exception;
}

PyObject *
py_raise (GError *error)
{
  PyObject *exception = py_exception_new (error);

  if (exception != NULL)
    PyErr_SetObject ((PyObject *)Py_TYPE (exception), exception);
  Py_XDECREF (exception);
  g_error_free (error);
  return NULL;
}
