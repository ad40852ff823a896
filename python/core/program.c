/* program.c: what a program gives a pipeline, and the work that it does for it */
#include "py.h"

/* "ValueError: it is empty", or the text */
static GError *
to_error (PyObject *object, gboolean fatal)
{
  PyObject *text = PyObject_Str (object);
  const char *words = text != NULL ? PyUnicode_AsUTF8AndSize (text, NULL) : NULL;
  g_autofree char *name = NULL;
  GError *error = NULL;

  if (words != NULL && PyObject_IsInstance (object, PyExc_BaseException) == 1) {
    PyObject *type = PyObject_GetAttrString ((PyObject *)Py_TYPE (object), "__name__");
    const char *of = type != NULL ? PyUnicode_AsUTF8AndSize (type, NULL) : NULL;

    if (of != NULL)
      name = g_strconcat (of, *words != '\0' ? ": " : "", NULL);
    Py_XDECREF (type);
  }
  if (words != NULL && !PyErr_Occurred ()) {
    if (fatal)
      g_set_error (&error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "%s%s", name != NULL ? name : "",
                   words);
    else
      hr_set_data_error (&error, HR_DATA_ERROR_OTHER, "%s%s", name != NULL ? name : "", words);
  }
  Py_XDECREF (text);
  return error;
}

static gint64
get_number (PyObject *dict, const char *key)
{
  PyObject *value = PyDict_GetItemString (dict, key);

  return value != NULL && !Py_IsNone (value) ? PyLong_AsLongLong (value) : -1;
}

/* (nullable) (transfer full); the caller looks for an exception */
static char *
get_text (PyObject *dict, const char *key)
{
  PyObject *value = PyDict_GetItemString (dict, key);
  const char *text =
      value != NULL && !Py_IsNone (value) ? PyUnicode_AsUTF8AndSize (value, NULL) : NULL;

  return g_strdup (text);
}

/* NULL with an exception */
static HrOrigin *
to_origin (PyObject *dict)
{
  g_autofree char *uri = NULL, *id = NULL;
  g_autoptr (GRefString) shared = NULL;
  gint64 line, byte;
  HrOrigin *origin;

  if (!PyDict_Check (dict)) {
    PyErr_SetString (PyExc_TypeError, "origin: a dict with some of uri, line, byte, id");
    return NULL;
  }
  uri = get_text (dict, "uri");
  id = get_text (dict, "id");
  line = get_number (dict, "line");
  byte = get_number (dict, "byte");
  if (PyErr_Occurred ())
    return NULL;
  shared = g_ref_string_new (uri != NULL ? uri : "python");
  origin = hr_origin_new (shared, NULL, byte, -1, line);
  origin->id = g_steal_pointer (&id);
  return origin;
}

static gboolean
stand_for (HrBuffer *buffer, PyObject *like, PyObject *origin, PyObject *epoch)
{
  if (!Py_IsNone (like)) {
    const HrBuffer *other = py_batch_get (like);
    HrOrigin *from = other != NULL ? hr_buffer_get_origin (other) : NULL;

    if (other == NULL)
      return FALSE;
    hr_buffer_stand_for (buffer, other);
    hr_buffer_set_origin (buffer, from != NULL ? hr_origin_ref (from) : NULL);
  }
  if (!Py_IsNone (origin)) {
    HrOrigin *from = to_origin (origin);

    if (from == NULL)
      return FALSE;
    hr_buffer_set_origin (buffer, from);
  }
  if (!Py_IsNone (epoch))
    buffer->epoch = (guint)PyLong_AsUnsignedLong (epoch);
  return !PyErr_Occurred ();
}

/* takes @buffer; True, False, or NULL with an exception */
static PyObject *
push (HrPipeline *pipeline, const char *element, HrBuffer *buffer)
{
  GError *error = NULL;
  gboolean timed_out, wanted;

  do {
    Py_BEGIN_ALLOW_THREADS wanted = hr_pipeline_push_timed (
        pipeline, element, buffer, PY_SIGNAL_CHECK_TIME, &timed_out, &error);
    Py_END_ALLOW_THREADS py_let_go ();
  } while (timed_out && PyErr_CheckSignals () == 0);
  if (timed_out) { /* a signal's handler has raised */
    hr_buffer_unref (buffer);
    return NULL;
  }
  return error != NULL ? py_raise (error) : PyBool_FromLong (wanted);
}

PyObject *
py_push (PyObject *object, PyObject *args, PyObject *keywords)
{
  static char *names[] = { "element", "fields", "like", "origin", "epoch", "error", NULL };
  PyObject *fields = Py_None, *like = Py_None, *origin = Py_None, *epoch = Py_None;
  PyObject *why = Py_None;
  HrPipeline *pipeline = py_pipeline_get (object);
  g_autoptr (HrBuffer) buffer = hr_buffer_new ();
  const char *element;
  GError *error = NULL, *bad = NULL;

  if (!PyArg_ParseTupleAndKeywords (args, keywords, "sO|$OOOO:push", names, &element, &fields,
                                    &like, &origin, &epoch, &why)
      || !stand_for (buffer, like, origin, epoch))
    return NULL;
  if (!Py_IsNone (fields) && Py_IsNone (why))
    return py_set_fields (buffer, fields) ? push (pipeline, element, g_steal_pointer (&buffer))
                                          : NULL;
  if (!Py_IsNone (fields)) {
    PyErr_SetString (PyExc_ValueError,
                     "a sample is bad or has fields: with error=, fields is None");
    return NULL;
  }
  if (!Py_IsNone (why) && (bad = to_error (why, FALSE)) == NULL)
    return NULL;
  buffer = hr_pipeline_make_hole (pipeline, element, g_steal_pointer (&buffer), bad, &error);
  if (buffer != NULL)
    return push (pipeline, element, g_steal_pointer (&buffer));
  return error != NULL ? py_raise (error) : Py_NewRef (Py_False);
}

PyObject *
py_end (PyObject *object, PyObject *args)
{
  const char *element;

  if (!PyArg_ParseTuple (args, "s:end", &element))
    return NULL;
  hr_pipeline_end (py_pipeline_get (object), element);
  Py_RETURN_NONE;
}

PyObject *
py_take (PyObject *object, PyObject *args)
{
  HrPipeline *pipeline = py_pipeline_get (object);
  const char *element;
  GError *error = NULL;
  gboolean timed_out;
  HrBuffer *buffer;
  PyObject *sample;

  if (!PyArg_ParseTuple (args, "s:take", &element))
    return NULL;
  do {
    Py_BEGIN_ALLOW_THREADS buffer =
        hr_pipeline_take (pipeline, element, PY_SIGNAL_CHECK_TIME, &timed_out, &error);
    Py_END_ALLOW_THREADS py_let_go ();
  } while (timed_out && PyErr_CheckSignals () == 0);
  if (buffer == NULL) {
    if (timed_out)
      return NULL;
    return error != NULL ? py_raise (error) : Py_NewRef (Py_None);
  }
  sample = py_batch_new (buffer);
  hr_buffer_unref (buffer);
  return sample;
}

PyObject *
py_answer (PyObject *object, PyObject *args, PyObject *keywords)
{
  static char *names[] = { "element", "sample", "fields", "error", "fatal", NULL };
  PyObject *sample, *fields = Py_None, *error = Py_None;
  g_autoptr (HrBuffer) result = NULL;
  const char *element;
  HrBuffer *taken;
  g_autoptr (GError) why = NULL;
  GError *wrong = NULL;
  gboolean wanted;
  int fatal = 0;

  if (!PyArg_ParseTupleAndKeywords (args, keywords, "sO|O$Op:answer", names, &element, &sample,
                                    &fields, &error, &fatal)
      || (taken = py_batch_get (sample)) == NULL)
    return NULL;
  if (!Py_IsNone (error)) {
    if ((why = to_error (error, fatal)) == NULL)
      return NULL;
  } else if (!Py_IsNone (fields)) {
    result = hr_buffer_make_writable (hr_buffer_ref (taken)); /* the sample's is another's, too */
    if (!py_set_fields (result, fields))
      return NULL;
  }
  wanted = why != NULL ? hr_pipeline_reject (py_pipeline_get (object), element, taken, why, &wrong)
                       : hr_pipeline_answer (py_pipeline_get (object), element, taken,
                                             g_steal_pointer (&result), &wrong);
  return wrong != NULL ? py_raise (wrong) : PyBool_FromLong (wanted);
}
