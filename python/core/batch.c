/* batch.c: a buffer as a read-only mapping of its fields, with where its samples come from */
#include "py.h"

typedef struct {
  PyObject_HEAD HrBuffer *buffer;
} Batch;

static PyObject *type, *loads;

PyObject *
py_batch_new (HrBuffer *buffer)
{
  Batch *self = (Batch *)py_alloc (type);

  if (self != NULL)
    self->buffer = hr_buffer_ref (buffer);
  return (PyObject *)self;
}

HrBuffer *
py_batch_get (PyObject *object)
{
  if (PyObject_TypeCheck (object, (PyTypeObject *)type))
    return ((Batch *)object)->buffer;
  PyErr_SetString (PyExc_TypeError, "a headrace.Batch, as pull() returns it, was expected");
  return NULL;
}

static void
dealloc (PyObject *object)
{
  g_clear_pointer (&((Batch *)object)->buffer, hr_buffer_unref);
  py_free (object);
}

/* ---- fields ---- */

static PyObject *
string_or_none (const char *text)
{
  return text != NULL ? PyUnicode_FromString (text) : Py_NewRef (Py_None);
}

static PyObject *
from_json (JsonNode *node)
{
  g_autofree char *text = json_to_string (node, FALSE);

  return PyObject_CallFunction (loads, "s", text);
}

static PyObject *
from_item (const HrList *list, guint index)
{
  switch (hr_list_get_item_type (list, index)) {
  case HR_FIELD_TENSOR:
    return py_tensor_new (hr_list_get_tensor (list, index));
  case HR_FIELD_STRING:
    return string_or_none (hr_list_get_string (list, index));
  default:
    return from_json (hr_list_get_json (list, index));
  }
}

static PyObject *
from_list (const HrList *list)
{
  guint n = hr_list_get_length (list);
  PyObject *items = PyList_New (n);

  for (guint i = 0; items != NULL && i < n; i++) {
    PyObject *item = from_item (list, i);

    if (item == NULL || PyList_SetItem (items, i, item) < 0)
      Py_CLEAR (items);
  }
  return items;
}

static PyObject *
from_field (const HrBuffer *buffer, const char *name, HrFieldType kind)
{
  switch (kind) {
  case HR_FIELD_TENSOR:
    return py_tensor_new (hr_buffer_get_tensor (buffer, name));
  case HR_FIELD_LIST:
    return from_list (hr_buffer_get_list (buffer, name));
  case HR_FIELD_STRING:
    return string_or_none (hr_buffer_get_string (buffer, name));
  default:
    return from_json (hr_buffer_get_json (buffer, name));
  }
}

static PyObject *
subscript (PyObject *object, PyObject *key)
{
  const HrBuffer *buffer = ((Batch *)object)->buffer;
  const char *wanted = PyUnicode_Check (key) ? PyUnicode_AsUTF8AndSize (key, NULL) : NULL;

  if (PyErr_Occurred ())
    return NULL;
  for (guint i = 0; wanted != NULL && i < hr_buffer_get_n_fields (buffer); i++) {
    HrFieldType kind;
    const char *name = hr_buffer_get_field (buffer, i, &kind);

    if (g_str_equal (name, wanted))
      return from_field (buffer, name, kind);
  }
  PyErr_SetObject (PyExc_KeyError, key);
  return NULL;
}

static Py_ssize_t
length (PyObject *object)
{
  return hr_buffer_get_n_fields (((Batch *)object)->buffer);
}

static PyObject *
keys (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  const HrBuffer *buffer = ((Batch *)object)->buffer;
  guint n = hr_buffer_get_n_fields (buffer);
  PyObject *names = PyList_New (n);

  for (guint i = 0; names != NULL && i < n; i++) {
    HrFieldType kind;
    PyObject *name = PyUnicode_FromString (hr_buffer_get_field (buffer, i, &kind));

    if (name == NULL || PyList_SetItem (names, i, name) < 0)
      Py_CLEAR (names);
  }
  return names;
}

static PyObject *
iterate (PyObject *object)
{
  PyObject *names = keys (object, NULL);
  PyObject *iterator = names != NULL ? PyObject_GetIter (names) : NULL;

  Py_XDECREF (names);
  return iterator;
}

/* ---- where it comes from ---- */

static PyObject *
number_or_none (gint64 number)
{
  return number >= 0 ? PyLong_FromLongLong (number) : Py_NewRef (Py_None);
}

/* what a policy left out, and what fills the last step up, is no error */
static PyObject *
describe (const HrBuffer *sample)
{
  const HrOrigin *origin = hr_buffer_get_origin (sample);
  const GError *error = hr_buffer_get_error (sample);

  return Py_BuildValue (
      "{sNsNsNsNsNsNsNsN}", "uri", string_or_none (origin != NULL ? origin->uri : NULL), "line",
      number_or_none (origin != NULL ? origin->line : -1), "byte",
      number_or_none (origin != NULL ? origin->byte : -1), "id",
      string_or_none (origin != NULL ? origin->id : NULL), "place", number_or_none (sample->place),
      "skipped", PyBool_FromLong ((sample->flags & HR_BUFFER_HOLE) != 0), "kind",
      string_or_none (error != NULL ? py_error_kind (error) : NULL), "error",
      string_or_none (error != NULL ? error->message : NULL));
}

static PyObject *
get_samples (PyObject *object, void *closure G_GNUC_UNUSED)
{
  const HrBuffer *buffer = ((Batch *)object)->buffer;
  guint n = hr_buffer_get_n_members (buffer);
  gboolean single = n == 0 && !(buffer->flags & HR_BUFFER_BATCH);
  PyObject *samples = PyList_New (single ? 1 : n);

  for (guint i = 0; samples != NULL && i < (single ? 1 : n); i++) {
    PyObject *sample = describe (single ? buffer : hr_buffer_get_member (buffer, i));

    if (sample == NULL || PyList_SetItem (samples, i, sample) < 0)
      Py_CLEAR (samples);
  }
  return samples;
}

static PyObject *
get_step (PyObject *object, void *closure G_GNUC_UNUSED)
{
  return PyLong_FromLongLong (((Batch *)object)->buffer->number);
}

static PyObject *
get_epoch (PyObject *object, void *closure G_GNUC_UNUSED)
{
  return PyLong_FromUnsignedLong (((Batch *)object)->buffer->epoch);
}

static PyObject *
get_place (PyObject *object, void *closure G_GNUC_UNUSED)
{
  return number_or_none (((Batch *)object)->buffer->place);
}

static PyObject *
get_block_end (PyObject *object, void *closure G_GNUC_UNUSED)
{
  return PyBool_FromLong ((((Batch *)object)->buffer->flags & HR_BUFFER_BLOCK_END) != 0);
}

static PyObject *
get_n_bytes (PyObject *object, void *closure G_GNUC_UNUSED)
{
  return PyLong_FromSize_t (hr_buffer_get_n_bytes (((Batch *)object)->buffer));
}

static PyObject *
digest (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  HrBuffer *buffer = ((Batch *)object)->buffer;
  g_autofree char *sum = NULL;

  Py_BEGIN_ALLOW_THREADS sum = hr_buffer_get_digest (buffer);
  Py_END_ALLOW_THREADS return PyUnicode_FromString (sum);
}

static PyObject *
repr (PyObject *object)
{
  const HrBuffer *buffer = ((Batch *)object)->buffer;
  PyObject *names = keys (object, NULL), *text;

  if (names == NULL)
    return NULL;
  text = PyUnicode_FromFormat ("headrace.Batch(step=%lld, epoch=%u, fields=%R)",
                               (long long)buffer->number, buffer->epoch, names);
  Py_DECREF (names);
  return text;
}

static PyMethodDef methods[] = {
  { "keys", keys, METH_NOARGS, "keys()\n--\n\nNames of the fields." },
  { "digest", digest, METH_NOARGS,
    "digest()\n--\n\nsha256, in hexadecimal, of names, dtypes, shapes and bytes of all fields." },
  { NULL, NULL, 0, NULL }
};

static PyGetSetDef properties[] = {
  { "step", get_step, NULL, "The step of this run, counted from 0.", NULL },
  { "epoch", get_epoch, NULL, "Counted from 0.", NULL },
  { "place", get_place, NULL, "Where its first sample stands in its epoch's order, or None.",
    NULL },
  { "block_end", get_block_end, NULL, "Whether it is the last packed row of its block.", NULL },
  { "samples", get_samples, NULL,
    "Where each sample comes from: a list of dicts with uri, line, byte, id, place, skipped, kind\n"
    "and error. Those that were skipped, and what fills the last step up, are among them.",
    NULL },
  { "nbytes", get_n_bytes, NULL, "Bytes of all tensors.", NULL },
  { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot slots[] = {
  { Py_tp_doc, "What a step delivers: a read-only mapping of field names to Tensor, list, str, or\n"
               "what JSON has. It holds its memory until it is gone." },
  { Py_tp_methods, methods },
  { Py_tp_getset, properties },
  { Py_tp_repr, repr },
  { Py_tp_iter, iterate },
  { Py_tp_dealloc, dealloc },
  { Py_mp_length, length },
  { Py_mp_subscript, subscript },
  { 0, NULL }
};

static PyType_Spec spec = { "headrace.Batch", sizeof (Batch), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };

int
py_add_batch (PyObject *module)
{
  PyObject *json = PyImport_ImportModule ("json");

  loads = json != NULL ? PyObject_GetAttrString (json, "loads") : NULL;
  Py_XDECREF (json);
  type = loads != NULL ? py_add_type (module, &spec) : NULL;
  return type != NULL ? 0 : -1;
}
