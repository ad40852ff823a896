/* fields.c: what Python has becomes fields of a buffer. Arrays are not copied: the buffer holds
 * them. Who lets go of the last of it may be a thread of the pipeline, and those never call Python:
 * what they let go of waits here until a call of Python comes by. */
#include "dlpack.h"
#include "py.h"
#include <string.h>

/* one thing of Python's that memory refers to */
typedef struct {
  Py_buffer view;         /* … through the buffer protocol, */
  DLPackManaged *capsule; /* or through DLPack */
} Held;

static GMutex lock;
static GSList *dead; /* Held; with the lock */
static PyObject *dumps;

static void
bury (gpointer held)
{
  g_mutex_lock (&lock);
  dead = g_slist_prepend (dead, held);
  g_mutex_unlock (&lock);
}

void
py_let_go (void)
{
  GSList *list;

  g_mutex_lock (&lock);
  list = g_steal_pointer (&dead);
  g_mutex_unlock (&lock);
  while (list != NULL) {
    Held *held = list->data;

    list = g_slist_delete_link (list, list);
    if (held->capsule != NULL && held->capsule->deleter != NULL)
      held->capsule->deleter (held->capsule);
    else if (held->capsule == NULL)
      PyBuffer_Release (&held->view);
    g_free (held);
  }
}

/* ---- arrays ---- */

static HrMemory *
wrap (gpointer data, gsize size, Held *held)
{
  if (size > 0)
    return hr_memory_new_wrapped (data, size, bury, held);
  bury (held);
  return hr_memory_new (0);
}

/* of struct.unpack(); FALSE with an exception */
static gboolean
parse_format (const char *format, Py_ssize_t size, const char *name, HrDType *dtype)
{
  const char *letter = format == NULL                                       ? "B"
                       : strchr ("@=<", *format) != NULL && *format != '\0' ? format + 1
                                                                            : format;

  if (*letter != '\0' && letter[1] == '\0') {
    gint code = strchr ("bhilqn", *letter) != NULL    ? HR_DTYPE_INT
                : strchr ("BHILQNc", *letter) != NULL ? HR_DTYPE_UINT
                : strchr ("efd", *letter) != NULL     ? HR_DTYPE_FLOAT
                : *letter == '?'                      ? HR_DTYPE_BOOL
                                                      : -1;

    if (code >= 0) {
      *dtype = (HrDType){ (guint8)code, (guint8)(size * 8), 1 };
      return TRUE;
    }
  }
  PyErr_Format (PyExc_TypeError,
                "field \"%s\": an array of format \"%s\"; expected bool, int8 to int64, uint8 to "
                "uint64, float16, float32 or float64 in this machine's byte order",
                name, format);
  return FALSE;
}

static HrTensor *
from_buffer (PyObject *object, const char *name)
{
  Held *held = g_new0 (Held, 1);
  Py_buffer *view = &held->view;
  HrMemory *memory;
  HrDType dtype;

  if (PyObject_GetBuffer (object, view, PyBUF_FULL_RO) < 0) {
    g_free (held);
    PyErr_Clear ();
    PyErr_Format (PyExc_TypeError,
                  "field \"%s\": %R has no format that the buffer protocol can tell; expected an "
                  "array of numbers or bool",
                  name, (PyObject *)Py_TYPE (object));
    return NULL;
  }
  if (!parse_format (view->format, view->itemsize, name, &dtype)) {
    bury (held);
    return NULL;
  }
  if (PyBuffer_IsContiguous (view, 'C')) {
    gint64 shape[PyBUF_MAX_NDIM];

    for (int i = 0; i < view->ndim; i++)
      shape[i] = view->shape != NULL ? view->shape[i] : view->len / view->itemsize;
    memory = wrap (view->buf, (gsize)view->len, held);
    return hr_tensor_new (memory, 0, dtype, (guint)view->ndim, shape);
  }
  /* elements want rows one behind the other */
  memory = hr_memory_new ((gsize)view->len);
  if (PyBuffer_ToContiguous (memory->data, view, view->len, 'C') < 0) {
    hr_memory_unref (memory);
    bury (held);
    return NULL;
  }
  {
    HrTensor *tensor =
        hr_tensor_new (memory, 0, dtype, (guint)view->ndim, (const gint64 *)view->shape);

    bury (held);
    return tensor;
  }
}

/* the same bytes, without gaps */
static void
copy_strided (guint8 *into, const guint8 *from, const DLPackTensor *tensor, int dim, gsize item)
{
  gsize step = item;

  if (dim == tensor->n_dims) {
    memcpy (into, from, item);
    return;
  }
  for (int i = dim + 1; i < tensor->n_dims; i++)
    step *= (gsize)tensor->shape[i];
  for (int64_t i = 0; i < tensor->shape[dim]; i++)
    copy_strided (into + (gsize)i * step, from + i * tensor->strides[dim] * (int64_t)item, tensor,
                  dim + 1, item);
}

static gboolean
is_compact (const DLPackTensor *tensor)
{
  int64_t step = 1;

  for (int i = tensor->n_dims; tensor->strides != NULL && i-- > 0; step *= tensor->shape[i])
    if (tensor->shape[i] > 1 && tensor->strides[i] != step)
      return FALSE;
  return TRUE;
}

static gboolean
check_capsule (const DLPackTensor *tensor, const char *name)
{
  HrDType dtype = { tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes };

  if (tensor->device.type != DLPACK_CPU && tensor->device.type != DLPACK_CUDA_HOST)
    PyErr_Format (PyExc_ValueError,
                  "field \"%s\": the tensor is in the memory of a device; pass tensor.cpu()", name);
  else if (dtype.lanes != 1 || dtype.bits % 8 != 0 || dtype.bits > 64
           || (dtype.code > HR_DTYPE_FLOAT && dtype.code != HR_DTYPE_BFLOAT
               && dtype.code != HR_DTYPE_BOOL))
    PyErr_Format (PyExc_TypeError,
                  "field \"%s\": a tensor of DLPack's type %d with %d bits; expected integers, "
                  "bool, float16, bfloat16, float32 or float64",
                  name, dtype.code, dtype.bits);
  else
    return TRUE;
  return FALSE;
}

static HrTensor *
from_dlpack (PyObject *object, const char *name)
{
  PyObject *capsule = PyObject_CallMethod (object, "__dlpack__", NULL);
  DLPackManaged *managed = capsule != NULL ? PyCapsule_GetPointer (capsule, "dltensor") : NULL;
  const DLPackTensor *tensor;
  HrTensor *made = NULL;
  gsize item, size;
  Held *held;

  if (managed == NULL || !check_capsule (&managed->tensor, name)) {
    Py_XDECREF (capsule);
    return NULL;
  }
  PyCapsule_SetName (capsule, "used_dltensor");
  Py_DECREF (capsule);
  held = g_new0 (Held, 1);
  held->capsule = managed;
  tensor = &managed->tensor;
  item = size = tensor->dtype.bits / 8;
  for (int i = 0; i < tensor->n_dims; i++)
    size *= (gsize)tensor->shape[i];
  {
    HrDType dtype = { tensor->dtype.code, tensor->dtype.bits, 1 };
    guint8 *data = tensor->data != NULL ? (guint8 *)tensor->data + tensor->byte_offset : NULL;
    gboolean compact = is_compact (tensor);
    HrMemory *memory = compact ? wrap (data, size, held) : hr_memory_new (size);

    if (!compact && size > 0)
      copy_strided (memory->data, data, tensor, 0, item);
    made = hr_tensor_new (memory, 0, dtype, (guint)tensor->n_dims, tensor->shape);
    if (!compact)
      bury (held);
  }
  return made;
}

static gboolean
is_array (PyObject *value)
{
  return py_tensor_get (value) != NULL || PyObject_CheckBuffer (value)
         || PyObject_HasAttrString (value, "__dlpack__");
}

static HrTensor *
to_tensor (PyObject *value, const char *name)
{
  HrTensor *own = py_tensor_get (value);

  if (own != NULL)
    return hr_tensor_ref (own);
  return PyObject_CheckBuffer (value) ? from_buffer (value, name) : from_dlpack (value, name);
}

/* ---- the other kinds ---- */

/* NULL with an exception; C's strings end at NUL */
static const char *
to_utf8 (PyObject *text, const char *name)
{
  Py_ssize_t size;
  const char *utf8 = PyUnicode_AsUTF8AndSize (text, &size);

  if (utf8 == NULL || strlen (utf8) == (gsize)size)
    return utf8;
  PyErr_Format (PyExc_ValueError, "field \"%s\": a text with U+0000 in it", name);
  return NULL;
}

/* Of what json.dumps() writes json-glib reads these two wrongly, without a word. */
static const char *
find_unreadable (const char *json)
{
  gboolean in_string = FALSE;

  for (const char *c = json; *c != '\0'; c++) {
    gsize number = in_string ? 0 : strspn (c, "0123456789.eE+-");

    if (number > 18u + (*c == '-') && strcspn (c, ".eE") >= number)
      return "an integer of more than 18 digits";
    if (number > 0)
      c += number - 1;
    else if (*c == '"')
      in_string = !in_string;
    else if (g_str_has_prefix (c, "\\u0000"))
      return "a text with U+0000 in it";
    else if (*c == '\\')
      c++;
  }
  return NULL;
}

static JsonNode *
to_json (PyObject *value, const char *name)
{
  PyObject *text = PyObject_CallFunctionObjArgs (dumps, value, NULL);
  const char *json = text != NULL ? PyUnicode_AsUTF8AndSize (text, NULL) : NULL;
  const char *wrong = json != NULL ? find_unreadable (json) : NULL;
  g_autoptr (GError) error = NULL;
  JsonNode *node = json != NULL && wrong == NULL ? json_from_string (json, &error) : NULL;

  if (node == NULL && text == NULL && PyErr_ExceptionMatches (PyExc_TypeError)) {
    PyErr_Clear ();
    PyErr_Format (PyExc_TypeError,
                  "field \"%s\": expected an array, a list of arrays, str, bytes, or what JSON "
                  "has, not %R",
                  name, (PyObject *)Py_TYPE (value));
  } else if (node == NULL && !PyErr_Occurred ()) {
    PyErr_Format (PyExc_ValueError, "field \"%s\": %s", name,
                  wrong != NULL   ? wrong
                  : error != NULL ? error->message
                                  : "not JSON");
  }
  Py_XDECREF (text);
  return node;
}

/* of which arrays are members, or strings alone; else it is JSON's */
static gboolean
is_list (PyObject *value, gboolean was_list)
{
  Py_ssize_t n = PyList_Check (value) ? PyList_Size (value) : -1;
  gboolean strings = n > 0;

  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PyList_GetItem (value, i);

    if (is_array (item))
      return TRUE;
    strings = strings && PyUnicode_Check (item);
  }
  return n >= 0 && (was_list || strings);
}

static HrList *
to_list (PyObject *value, const char *name)
{
  Py_ssize_t n = PyList_Size (value);
  HrList *list = hr_list_new ((guint)n);

  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PyList_GetItem (value, i);
    const char *string;

    if (PyUnicode_Check (item) && (string = to_utf8 (item, name)) != NULL) {
      hr_list_append_string (list, string);
    } else if (is_array (item)) {
      HrTensor *tensor = to_tensor (item, name);

      if (tensor != NULL)
        hr_list_append_tensor (list, tensor);
    } else if (!PyErr_Occurred ()) {
      JsonNode *node = to_json (item, name);

      if (node != NULL)
        hr_list_append_json (list, node);
    }
    if (PyErr_Occurred ()) {
      hr_list_unref (list);
      return NULL;
    }
  }
  return list;
}

/* A list is looked at in a copy: what its members do when they are asked may change it. */
static void
set_list_or_json (HrBuffer *buffer, const char *name, PyObject *value)
{
  const char *field = g_intern_string (name);
  PyObject *kept =
      PyList_Check (value) ? PyList_GetSlice (value, 0, PyList_Size (value)) : Py_NewRef (value);

  if (kept != NULL && is_list (kept, hr_buffer_get_list (buffer, field) != NULL)) {
    HrList *list = to_list (kept, name);

    if (list != NULL)
      hr_buffer_set_list (buffer, field, list);
  } else if (kept != NULL) {
    JsonNode *node = to_json (kept, name);

    if (node != NULL)
      hr_buffer_set_json (buffer, field, node);
  }
  Py_XDECREF (kept);
}

static gboolean
set_field (HrBuffer *buffer, const char *name, PyObject *value)
{
  const char *field = g_intern_string (name);

  if (PyUnicode_Check (value)) {
    const char *string = to_utf8 (value, name);

    if (string != NULL)
      hr_buffer_set_string (buffer, field, string);
  } else if (is_array (value)) {
    HrTensor *tensor = to_tensor (value, name);

    if (tensor != NULL)
      hr_buffer_set_tensor (buffer, field, tensor);
  } else {
    set_list_or_json (buffer, name, value);
  }
  return !PyErr_Occurred ();
}

static void
remove_others (HrBuffer *buffer, PyObject *fields)
{
  for (guint i = hr_buffer_get_n_fields (buffer); i-- > 0;) {
    HrFieldType kind;
    const char *name = hr_buffer_get_field (buffer, i, &kind);
    PyObject *key = PyUnicode_FromString (name);

    if (key != NULL && !PyMapping_HasKey (fields, key))
      hr_buffer_remove (buffer, name);
    Py_XDECREF (key);
  }
}

gboolean
py_set_fields (HrBuffer *buffer, PyObject *fields)
{
  PyObject *items;

  py_let_go ();
  if (!PyMapping_Check (fields) || PyList_Check (fields)) {
    PyErr_Format (PyExc_TypeError, "expected a dict of field names to values, not %R",
                  (PyObject *)Py_TYPE (fields));
    return FALSE;
  }
  items = PyMapping_Items (fields);
  remove_others (buffer, fields);
  for (Py_ssize_t i = 0; items != NULL && i < PyList_Size (items); i++) {
    PyObject *value;
    const char *name;

    if (!PyArg_ParseTuple (PyList_GetItem (items, i), "sO;fields are names and values", &name,
                           &value)
        || !set_field (buffer, name, value))
      break;
  }
  Py_XDECREF (items);
  return !PyErr_Occurred ();
}

int
py_init_fields (void)
{
  PyObject *json = PyImport_ImportModule ("json");
  PyObject *class = json != NULL ? PyObject_GetAttrString (json, "JSONEncoder") : NULL;
  PyObject *none = PyTuple_New (0);
  PyObject *options = Py_BuildValue ("{sOsO}", "ensure_ascii", Py_False, "allow_nan", Py_False);
  PyObject *encoder = class != NULL && none != NULL && options != NULL
                          ? PyObject_Call (class, none, options)
                          : NULL;

  dumps = encoder != NULL ? PyObject_GetAttrString (encoder, "encode") : NULL;
  Py_XDECREF (encoder);
  Py_XDECREF (options);
  Py_XDECREF (none);
  Py_XDECREF (class);
  Py_XDECREF (json);
  return dumps != NULL ? 0 : -1;
}
