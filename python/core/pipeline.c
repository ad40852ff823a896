/* pipeline.c: a pipeline: made from text, set, started, pulled, stopped */
#include "py.h"
#include "hr-split.h"

typedef struct {
  PyObject_HEAD HrPipeline *pipeline;
  gboolean pulling; /* under Python's lock */
} Pipeline;

static PyObject *type;

static HrPipeline *
get (PyObject *object)
{
  return ((Pipeline *)object)->pipeline;
}

HrPipeline *
py_pipeline_get (PyObject *object)
{
  return get (object);
}

static GHashTable *
to_variables (PyObject *dict)
{
  GHashTable *variables = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  PyObject *items = PyMapping_Items (dict);

  for (Py_ssize_t i = 0; items != NULL && i < PyList_Size (items); i++) {
    PyObject *value, *text;
    const char *name, *as_text = NULL;

    if (!PyArg_ParseTuple (PyList_GetItem (items, i), "sO;variables maps names to values", &name,
                           &value))
      break;
    text = PyObject_Str (value);
    if (text != NULL)
      as_text = PyUnicode_AsUTF8AndSize (text, NULL);
    if (as_text != NULL)
      g_hash_table_insert (variables, g_strdup (name), g_strdup (as_text));
    Py_XDECREF (text);
    if (as_text == NULL)
      break;
  }
  Py_XDECREF (items);
  if (PyErr_Occurred ())
    g_clear_pointer (&variables, g_hash_table_unref);
  return variables;
}

static PyObject *
make (PyTypeObject *class G_GNUC_UNUSED, PyObject *args, PyObject *keywords)
{
  static char *names[] = { "text", "variables", NULL };
  PyObject *dict = NULL;
  const char *text;
  g_autoptr (GHashTable) variables = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  GError *error = NULL;
  Pipeline *self;

  if (!PyArg_ParseTupleAndKeywords (args, keywords, "s|$O:Pipeline", names, &text, &dict))
    return NULL;
  if (dict != NULL && !Py_IsNone (dict)) {
    variables = to_variables (dict);
    if (variables == NULL)
      return NULL;
  }
  pipeline = hr_parse_launch_full (text, variables, &error);
  if (pipeline == NULL)
    return py_raise (error);
  self = (Pipeline *)py_alloc (type);
  if (self != NULL)
    self->pipeline = g_steal_pointer (&pipeline);
  return (PyObject *)self;
}

/* Joins the threads, which do not need Python's lock. */
static void
dealloc (PyObject *object)
{
  HrPipeline *pipeline = g_steal_pointer (&((Pipeline *)object)->pipeline);

  if (pipeline != NULL) {
    Py_BEGIN_ALLOW_THREADS hr_pipeline_stop (pipeline);
    g_object_unref (pipeline);
    Py_END_ALLOW_THREADS
  }
  py_free (object);
}

/* ---- properties ---- */

static HrElement *
find (PyObject *object, const char *name)
{
  HrElement *element = hr_pipeline_get_element (get (object), name);

  if (element == NULL)
    PyErr_Format (PyExc_KeyError, "there is no element \"%s\" in the pipeline", name);
  return element;
}

static PyObject *
set (PyObject *object, PyObject *args)
{
  PyObject *value, *text;
  const char *element_name, *property, *as_text;
  GError *error = NULL;
  HrElement *element = NULL;
  gboolean ok;

  if (!PyArg_ParseTuple (args, "zsO:set", &element_name, &property, &value)
      || (element_name != NULL && (element = find (object, element_name)) == NULL))
    return NULL;
  text = PyBool_Check (value) ? PyUnicode_FromString (Py_IsTrue (value) ? "true" : "false")
                              : PyObject_Str (value);
  as_text = text != NULL ? PyUnicode_AsUTF8AndSize (text, NULL) : NULL;
  ok = as_text != NULL
       && (element != NULL ? hr_element_set_from_string (element, property, as_text, &error)
                           : hr_pipeline_set_from_string (get (object), property, as_text, &error));
  Py_XDECREF (text);
  if (!ok)
    return error != NULL ? py_raise (error) : NULL;
  Py_RETURN_NONE;
}

static PyObject *
from_value (const GValue *value)
{
  if (G_VALUE_HOLDS_BOOLEAN (value))
    return PyBool_FromLong (g_value_get_boolean (value));
  if (G_VALUE_HOLDS_UINT64 (value))
    return PyLong_FromUnsignedLongLong (g_value_get_uint64 (value));
  if (G_VALUE_HOLDS_INT64 (value))
    return PyLong_FromLongLong (g_value_get_int64 (value));
  if (G_VALUE_HOLDS_DOUBLE (value))
    return PyFloat_FromDouble (g_value_get_double (value));
  if (G_VALUE_HOLDS_STRING (value)) {
    const char *text = g_value_get_string (value);

    return text != NULL ? PyUnicode_FromString (text) : Py_NewRef (Py_None);
  }
  {
    g_autofree char *text = g_strdup_value_contents (value);

    return PyUnicode_FromString (text);
  }
}

static PyObject *
get_property (PyObject *object, PyObject *args)
{
  const char *element_name, *property;
  GObject *owner = G_OBJECT (get (object));
  g_auto (GValue) value = G_VALUE_INIT;

  if (!PyArg_ParseTuple (args, "zs:get", &element_name, &property))
    return NULL;
  if (element_name != NULL)
    owner = (GObject *)find (object, element_name);
  if (owner == NULL)
    return NULL;
  if (g_object_class_find_property (G_OBJECT_GET_CLASS (owner), property) == NULL)
    return PyErr_Format (PyExc_KeyError, "there is no property \"%s\"", property);
  g_object_get_property (owner, property, &value);
  return from_value (&value);
}

static PyObject *
get_elements (PyObject *object, void *closure G_GNUC_UNUSED)
{
  guint n = hr_pipeline_get_n_elements (get (object));
  PyObject *names = PyList_New (n);

  for (guint i = 0; names != NULL && i < n; i++) {
    PyObject *name =
        PyUnicode_FromString (hr_element_get_name (hr_pipeline_get_nth_element (get (object), i)));

    if (name == NULL || PyList_SetItem (names, i, name) < 0)
      Py_CLEAR (names);
  }
  return names;
}

static PyObject *
get_maps (PyObject *object, void *closure G_GNUC_UNUSED)
{
  PyObject *names = PyList_New (0);

  for (guint i = 0; names != NULL && i < hr_pipeline_get_n_elements (get (object)); i++) {
    HrElement *element = hr_pipeline_get_nth_element (get (object), i);
    const HrElementDef *def = hr_registry_find (hr_element_get_factory (element), NULL);
    PyObject *name;

    if (def == NULL || def->take == NULL)
      continue;
    name = PyUnicode_FromString (hr_element_get_name (element));
    if (name == NULL || PyList_Append (names, name) < 0)
      Py_CLEAR (names);
    Py_XDECREF (name);
  }
  return names;
}

/* ---- the run ---- */

static PyObject *
start (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  GError *error = NULL;
  gboolean ok;

  Py_BEGIN_ALLOW_THREADS ok = hr_pipeline_start (get (object), &error);
  Py_END_ALLOW_THREADS if (!ok) return py_raise (error);
  Py_RETURN_NONE;
}

static PyObject *
pull (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  Pipeline *self = (Pipeline *)object;
  HrPipeline *pipeline = self->pipeline;
  HrBuffer *buffer;
  GError *error = NULL;
  gboolean timed_out;
  PyObject *batch;

  if (self->pulling) {
    PyErr_SetString (PyExc_RuntimeError, "another thread is pulling from this pipeline");
    return NULL;
  }
  self->pulling = TRUE;
  do {
    Py_BEGIN_ALLOW_THREADS buffer =
        hr_pipeline_pull_timed (pipeline, PY_SIGNAL_CHECK_TIME, &timed_out, &error);
    Py_END_ALLOW_THREADS py_let_go ();
  } while (buffer == NULL && timed_out && PyErr_CheckSignals () == 0);
  self->pulling = FALSE;
  if (buffer == NULL) {
    if (timed_out) /* a signal's handler has raised */
      return NULL;
    return error != NULL ? py_raise (error) : Py_NewRef (Py_None);
  }
  batch = py_batch_new (buffer);
  hr_buffer_unref (buffer);
  return batch;
}

static PyObject *
stop (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  Py_BEGIN_ALLOW_THREADS hr_pipeline_stop (get (object));
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *
wait_for_end (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  GError *error = NULL;
  gboolean ok;

  Py_BEGIN_ALLOW_THREADS ok = hr_pipeline_wait (get (object), &error);
  Py_END_ALLOW_THREADS if (!ok) return py_raise (error);
  Py_RETURN_NONE;
}

/* ---- place ---- */

static PyObject *
get_checkpoint (PyObject *object, PyObject *args)
{
  PyObject *batch = NULL, *text;
  HrBuffer *buffer = NULL;
  g_autofree char *document = NULL;
  GError *error = NULL;

  if (!PyArg_ParseTuple (args, "|O:checkpoint", &batch))
    return NULL;
  if (batch != NULL && !Py_IsNone (batch) && (buffer = py_batch_get (batch)) == NULL)
    return NULL;
  Py_BEGIN_ALLOW_THREADS document = hr_pipeline_get_checkpoint (get (object), buffer, &error);
  Py_END_ALLOW_THREADS if (document == NULL) return py_raise (error);
  text = PyUnicode_FromString (document);
  return text;
}

static PyObject *
resume (PyObject *object, PyObject *args, PyObject *keywords)
{
  static char *names[] = { "checkpoint", "force", NULL };
  const char *document;
  int force = 0;
  GError *error = NULL;

  if (!PyArg_ParseTupleAndKeywords (args, keywords, "s|$p:resume", names, &document, &force))
    return NULL;
  if (!hr_pipeline_resume (get (object), document, force, &error))
    return py_raise (error);
  Py_RETURN_NONE;
}

static PyObject *
request (PyObject *object, PyObject *args)
{
  unsigned long long epoch, slice;
  GError *error = NULL;

  if (!PyArg_ParseTuple (args, "KK:request", &epoch, &slice))
    return NULL;
  if (!hr_pipeline_request (get (object), epoch, slice, &error))
    return py_raise (error);
  Py_RETURN_NONE;
}

static PyObject *
end_requests (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  hr_pipeline_end_requests (get (object));
  Py_RETURN_NONE;
}

static PyObject *
get_n_steps (PyObject *object, void *closure G_GNUC_UNUSED)
{
  gint64 n = hr_pipeline_get_n_steps (get (object));

  return n >= 0 ? PyLong_FromLongLong (n) : Py_NewRef (Py_None);
}

/* ---- what it tells ---- */

static PyObject *
get_stats (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  g_autofree char *stats = hr_pipeline_get_stats (get (object));

  return PyUnicode_FromString (stats);
}

static PyObject *
get_shown_string (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  g_autofree char *text = hr_pipeline_to_shown_string (get (object));

  return PyUnicode_FromString (text);
}

static PyObject *
get_dot (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  g_autofree char *dot = hr_pipeline_to_dot (get (object));

  return PyUnicode_FromString (dot);
}

static PyObject *
text_or_none (const char *text)
{
  return text != NULL ? PyUnicode_FromString (text) : Py_NewRef (Py_None);
}

static PyObject *
pop_message (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  g_autoptr (HrMessage) message = hr_pipeline_pop_message (get (object), 0);
  g_autofree char *origin = NULL;

  if (message == NULL)
    Py_RETURN_NONE;
  if (message->origin != NULL)
    origin = hr_origin_to_string (message->origin);
  return Py_BuildValue (
      "{sssNsNsNsNsN}", "type", hr_message_type_name (message->type), "element",
      text_or_none (message->element), "kind",
      text_or_none (message->error != NULL ? py_error_kind (message->error) : NULL), "error",
      text_or_none (message->error != NULL ? message->error->message : NULL), "origin",
      text_or_none (origin), "text", text_or_none (message->text));
}

static PyObject *
str (PyObject *object)
{
  g_autofree char *text = hr_pipeline_to_string (get (object));

  return PyUnicode_FromString (text);
}

static PyObject *
split (PyObject *object, PyObject *args)
{
  const char *instead;
  g_autofree char *text = NULL, *sink = NULL;

  if (!PyArg_ParseTuple (args, "s:_split", &instead))
    return NULL;
  text = hr_pipeline_split (get (object), instead, &sink);
  return Py_BuildValue ("sz", text, sink);
}

static PyMethodDef methods[] = {
  { "set", set, METH_VARARGS,
    "set(element, property, value)\n--\n\nSets a property of an element, or with element=None of "
    "the pipeline.\nThe value is read as in a pipeline's text: 16, \"2GiB\", \"50ms\"." },
  { "get", get_property, METH_VARARGS,
    "get(element, property)\n--\n\nThe value of a property of an element, or with element=None of "
    "the pipeline." },
  { "start", start, METH_NOARGS, "start()\n--\n\nStarts all elements and their threads." },
  { "pull", pull, METH_NOARGS,
    "pull()\n--\n\nThe next Batch of the sink, or None at the end. Lets other threads run, and\n"
    "Ctrl-C in, while it waits; with serial=true a step is finished first." },
  { "push", (PyCFunction)(void *)py_push, METH_VARARGS | METH_KEYWORDS,
    "push(element, fields, *, like=None, origin=None, epoch=None, error=None)\n--\n\n"
    "Pushes a sample into an appsrc. Waits while its link is full; lets other threads run, and\n"
    "Ctrl-C in. False: nobody wants any more.\n\n"
    "fields: a dict of names to arrays (numpy, torch on the CPU, whatever has DLPack or the "
    "buffer\n"
    "protocol; uint8 from bytes), lists of arrays, str, or what JSON has. Arrays are not copied\n"
    "unless they have gaps: do not write to them afterwards. None: there is none, a hole takes "
    "its\n"
    "place.\n"
    "like: a Batch whose origin, epoch and place it takes over. origin: a dict with some of uri,\n"
    "line, byte and id, as in Batch.samples.\n"
    "error: an exception or text: the sample is bad, and on-error says what follows." },
  { "end", py_end, METH_VARARGS, "end(element)\n--\n\nNo more will be pushed into that appsrc." },
  { "take", py_take, METH_VARARGS,
    "take(element)\n--\n\nThe next sample that an appmap wants work on, a Batch; None: no more "
    "will "
    "come.\nIn a thread of its own, while another one pulls. Any number may be taken before they "
    "are\n"
    "answered." },
  { "answer", (PyCFunction)(void *)py_answer, METH_VARARGS | METH_KEYWORDS,
    "answer(element, sample, fields=None, *, error=None, fatal=False)\n--\n\n"
    "What take() gave becomes these fields, as in push(). None: it is left out. error: an "
    "exception\n"
    "or text: it is bad, and on-error says what follows; with fatal=True the run ends. False: "
    "nobody\n"
    "wants it any more." },
  { "stop", stop, METH_NOARGS,
    "stop()\n--\n\nAsks all threads to leave, and returns at once. From any thread." },
  { "wait", wait_for_end, METH_NOARGS,
    "wait()\n--\n\nWaits until all threads have left; raises why the run failed." },
  { "checkpoint", get_checkpoint, METH_VARARGS,
    "checkpoint(batch=None)\n--\n\nA document (str, JSON) of where the run is behind that batch, "
    "else behind\nthe last one that all sinks are done with." },
  { "resume", (PyCFunction)(void *)resume, METH_VARARGS | METH_KEYWORDS,
    "resume(checkpoint, *, force=False)\n--\n\nBefore start(): goes on from a checkpoint." },
  { "request", request, METH_VARARGS,
    "request(epoch, slice)\n--\n\nWith requests=true: asks for a part of the order." },
  { "end_requests", end_requests, METH_NOARGS,
    "end_requests()\n--\n\nNothing more will be asked for." },
  { "stats", get_stats, METH_NOARGS, "stats()\n--\n\nStatistics (str, JSON); docs/stats.md." },
  { "to_dot", get_dot, METH_NOARGS, "to_dot()\n--\n\nThe graph for Graphviz." },
  { "to_shown_string", get_shown_string, METH_NOARGS,
    "to_shown_string()\n--\n\nThe text in its canonical form, without what may be secret in its "
    "links." },
  { "_split", split, METH_VARARGS,
    "_split(instead)\n--\n\nThe text with another element in the place of the only pullable sink, "
    "and that\nsink's text, or None." },
  { "pop_message", pop_message, METH_NOARGS,
    "pop_message()\n--\n\nThe next message, a dict with type, element, kind, error, origin and "
    "text, or None." },
  { NULL, NULL, 0, NULL }
};

static PyGetSetDef properties[] = {
  { "elements", get_elements, NULL, "Names of the elements, in the order of the text.", NULL },
  { "maps", get_maps, NULL, "Names of the appmap elements, whose work take() and answer() do.",
    NULL },
  { "n_steps", get_n_steps, NULL,
    "Steps from the beginning of the run to its end, or None if not known.", NULL },
  { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot slots[] = {
  { Py_tp_doc, "Pipeline(text, *, variables=None)\n--\n\n"
               "A graph of elements made from text. str() is the text in its canonical form." },
  { Py_tp_new, make },
  { Py_tp_methods, methods },
  { Py_tp_getset, properties },
  { Py_tp_str, str },
  { Py_tp_dealloc, dealloc },
  { 0, NULL }
};

static PyType_Spec spec = { "headrace.Pipeline", sizeof (Pipeline), 0, Py_TPFLAGS_DEFAULT, slots };

int
py_add_pipeline (PyObject *module)
{
  type = py_add_type (module, &spec);
  return type != NULL ? 0 : -1;
}
