/* tensor.c: a tensor of a batch: DLPack for torch, the buffer protocol for numpy; both without a
 * copy, each with a reference of its own
 *
 * A tensor on a GPU has DLPack alone. Its stream is told as the array API standard says,
 * https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html:
 * what the consumer puts into it from then on finds the batch there. Once the consumer has let the
 * tensor go, its bytes are used again behind all that is in that stream. */
#include "dlpack.h"
#include "py.h"

typedef struct {
  PyObject_HEAD HrTensor *tensor;
} Tensor;

static PyObject *type;

PyObject *
py_tensor_new (HrTensor *tensor)
{
  Tensor *self = (Tensor *)py_alloc (type);

  if (self != NULL)
    self->tensor = hr_tensor_ref (tensor);
  return (PyObject *)self;
}

HrTensor *
py_tensor_get (PyObject *object)
{
  return PyObject_TypeCheck (object, (PyTypeObject *)type) ? ((Tensor *)object)->tensor : NULL;
}

static void
dealloc (PyObject *object)
{
  g_clear_pointer (&((Tensor *)object)->tensor, hr_tensor_unref);
  py_free (object);
}

/* ---- what it is ---- */

static PyObject *
get_shape (PyObject *object, void *closure G_GNUC_UNUSED)
{
  const HrTensor *tensor = ((Tensor *)object)->tensor;
  guint n = hr_tensor_get_n_dims (tensor);
  PyObject *shape = PyTuple_New (n);

  for (guint i = 0; shape != NULL && i < n; i++) {
    PyObject *size = PyLong_FromLongLong (hr_tensor_get_dim (tensor, i));

    if (size == NULL || PyTuple_SetItem (shape, i, size) < 0)
      Py_CLEAR (shape);
  }
  return shape;
}

static PyObject *
get_dtype (PyObject *object, void *closure G_GNUC_UNUSED)
{
  return PyUnicode_FromString (hr_tensor_get_dtype_name (((Tensor *)object)->tensor));
}

static PyObject *
get_n_bytes (PyObject *object, void *closure G_GNUC_UNUSED)
{
  return PyLong_FromSize_t (hr_tensor_get_n_bytes (((Tensor *)object)->tensor));
}

static PyObject *
repr (PyObject *object)
{
  PyObject *shape = get_shape (object, NULL), *text;

  if (shape == NULL)
    return NULL;
  text = PyUnicode_FromFormat ("headrace.Tensor(shape=%R, dtype=%s)", shape,
                               hr_tensor_get_dtype_name (((Tensor *)object)->tensor));
  Py_DECREF (shape);
  return text;
}

/* ---- DLPack ---- */

static HrDevice
device_of (const HrTensor *tensor)
{
  HrDevice device;

  hr_memory_get_device (hr_tensor_get_memory (tensor), &device);
  return device;
}

static void
fill (DLPackTensor *into, HrTensor *tensor)
{
  HrDType dtype = hr_tensor_get_dtype (tensor);
  HrDevice device = device_of (tensor);

  *into = (DLPackTensor){ .data = (gpointer)(device.address + hr_tensor_get_offset (tensor)),
                          .device = { device.type, device.id },
                          .n_dims = (int32_t)hr_tensor_get_n_dims (tensor),
                          .dtype = { dtype.code, dtype.bits, dtype.lanes },
                          /* nobody writes there, only the structure has no const */
                          .shape = (int64_t *)hr_tensor_get_shape (tensor),
                          .strides = (int64_t *)hr_tensor_get_strides (tensor) };
}

static void
delete_managed (DLPackManaged *managed)
{
  hr_tensor_unref (managed->context);
  g_free (managed);
}

static void
delete_versioned (DLPackVersioned *managed)
{
  hr_tensor_unref (managed->context);
  g_free (managed);
}

#define UNUSED_NAME "dltensor"
#define UNUSED_VERSIONED_NAME "dltensor_versioned"

/* of a capsule that nobody has taken: who takes it renames it */
static void
free_capsule (PyObject *capsule)
{
  if (PyCapsule_IsValid (capsule, UNUSED_NAME))
    delete_managed (PyCapsule_GetPointer (capsule, UNUSED_NAME));
  else if (PyCapsule_IsValid (capsule, UNUSED_VERSIONED_NAME))
    delete_versioned (PyCapsule_GetPointer (capsule, UNUSED_VERSIONED_NAME));
}

static PyObject *
make_managed (HrTensor *tensor)
{
  DLPackManaged *managed = g_new0 (DLPackManaged, 1);
  PyObject *capsule;

  fill (&managed->tensor, tensor);
  managed->context = hr_tensor_ref (tensor);
  managed->deleter = delete_managed;
  capsule = PyCapsule_New (managed, UNUSED_NAME, free_capsule);
  if (capsule == NULL)
    delete_managed (managed);
  return capsule;
}

static PyObject *
make_versioned (HrTensor *tensor)
{
  DLPackVersioned *managed = g_new0 (DLPackVersioned, 1);
  PyObject *capsule;

  fill (&managed->tensor, tensor);
  managed->major = 1;
  managed->context = hr_tensor_ref (tensor);
  managed->deleter = delete_versioned;
  capsule = PyCapsule_New (managed, UNUSED_VERSIONED_NAME, free_capsule);
  if (capsule == NULL)
    delete_versioned (managed);
  return capsule;
}

/* a pair (major, minor), None or not there */
static long
get_major (PyObject *version)
{
  PyObject *first;
  long major;

  if (version == NULL || Py_IsNone (version))
    return 0;
  first = PySequence_GetItem (version, 0);
  if (first == NULL)
    return -1;
  major = PyLong_AsLong (first);
  Py_DECREF (first);
  return major;
}

/* FALSE: somebody wants it elsewhere */
static gboolean
is_there (const HrTensor *tensor, PyObject *wanted)
{
  HrDevice device = device_of (tensor);
  int kind, id;

  if (wanted == NULL || Py_IsNone (wanted))
    return TRUE;
  if (!PyArg_ParseTuple (wanted, "ii;dl_device is a pair (type, id)", &kind, &id))
    return FALSE;
  if (kind == device.type && (id == device.id || device.type == HR_DEVICE_CPU))
    return TRUE;
  if (device.type == HR_DEVICE_CPU)
    PyErr_SetString (PyExc_BufferError, "this tensor is in CPU memory; copy it with .to(device)");
  else
    PyErr_Format (PyExc_BufferError,
                  "this tensor is on device (%d, %d); copy it from there with .to(device)",
                  device.type, device.id);
  return FALSE;
}

/* The stream as a number: none said is the legacy default stream, -1 none at all; 0 is not allowed,
 * because it may mean either default stream. FALSE: it is none */
static gboolean
read_stream (const HrTensor *tensor, PyObject *stream, guintptr *number)
{
  gboolean on_cpu = device_of (tensor).type == HR_DEVICE_CPU;
  long long value = (long long)HR_STREAM_LEGACY;

  *number = HR_STREAM_LEGACY;
  if (stream == NULL || Py_IsNone (stream))
    return TRUE;
  if (on_cpu) {
    PyErr_SetString (PyExc_BufferError, "a tensor in CPU memory has no stream: stream=None");
    return FALSE;
  }
  value = PyLong_AsLongLong (stream);
  if (PyErr_Occurred ())
    return FALSE;
  if (value == 0 || value < -1) {
    PyErr_Format (PyExc_BufferError,
                  "stream=%lld: 1 is the legacy default stream, 2 that of the thread, -1 none, and "
                  "other streams are their handle",
                  value);
    return FALSE;
  }
  *number = value == -1 ? HR_STREAM_NONE : (guintptr)value;
  return TRUE;
}

static PyObject *
dlpack (PyObject *object, PyObject *args, PyObject *keywords)
{
  static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
  HrTensor *tensor = ((Tensor *)object)->tensor;
  PyObject *stream = NULL, *version = NULL, *device = NULL, *copy = NULL;
  GError *error = NULL;
  guintptr number;
  gboolean lent;
  long major;

  if (!PyArg_ParseTupleAndKeywords (args, keywords, "|$OOOO:__dlpack__", names, &stream, &version,
                                    &device, &copy)
      || !read_stream (tensor, stream, &number))
    return NULL;
  if (copy != NULL && PyObject_IsTrue (copy) == 1) {
    PyErr_SetString (PyExc_BufferError, "copy=True: clone the tensor instead");
    return NULL;
  }
  major = get_major (version);
  if (PyErr_Occurred () || !is_there (tensor, device))
    return NULL;
  Py_BEGIN_ALLOW_THREADS lent = hr_memory_lend (hr_tensor_get_memory (tensor), number, &error);
  Py_END_ALLOW_THREADS if (!lent) return py_raise (error);
  return major >= 1 ? make_versioned (tensor) : make_managed (tensor);
}

static PyObject *
dlpack_device (PyObject *object, PyObject *unused G_GNUC_UNUSED)
{
  HrDevice device = device_of (((Tensor *)object)->tensor);

  return Py_BuildValue ("(ii)", device.type, device.id);
}

/* ---- the buffer protocol ---- */

/* as struct.unpack() and numpy name them; NULL: they have no name for it */
static const char *
get_format (HrDType dtype)
{
  static const char *const signed_ones[] = { "b", "h", "i", "q" };
  static const char *const unsigned_ones[] = { "B", "H", "I", "Q" };
  guint size = dtype.bits == 8 ? 0 : dtype.bits == 16 ? 1 : dtype.bits == 32 ? 2 : 3;

  switch (dtype.code) {
  case HR_DTYPE_INT:
    return signed_ones[size];
  case HR_DTYPE_UINT:
    return unsigned_ones[size];
  case HR_DTYPE_FLOAT:
    return dtype.bits == 16 ? "e" : dtype.bits == 32 ? "f" : "d";
  case HR_DTYPE_BOOL:
    return "?";
  default:
    return NULL;
  }
}

static int
get_buffer (PyObject *object, Py_buffer *view, int flags)
{
  HrTensor *tensor = ((Tensor *)object)->tensor;
  HrDType dtype = hr_tensor_get_dtype (tensor);
  const char *format = get_format (dtype);

  view->obj = NULL;
  if (device_of (tensor).type != HR_DEVICE_CPU) {
    PyErr_SetString (PyExc_BufferError,
                     "this tensor is on a GPU, where the buffer protocol does not reach; use "
                     "torch.from_dlpack()");
    return -1;
  }
  if (format == NULL || !hr_tensor_is_contiguous (tensor)) {
    PyErr_Format (PyExc_BufferError,
                  format == NULL ? "%s has no name in the buffer protocol; use torch.from_dlpack()"
                                 : "%s: not contiguous; use torch.from_dlpack()",
                  hr_tensor_get_dtype_name (tensor));
    return -1;
  }
  /* batches are read-only by the one rule of ownership, but torch and numpy want to write */
  *view = (Py_buffer){ .buf = hr_tensor_get_data (tensor),
                       .obj = Py_NewRef (object),
                       .len = (Py_ssize_t)hr_tensor_get_n_bytes (tensor),
                       .itemsize = dtype.bits / 8,
                       .readonly = 0,
                       .ndim = (int)hr_tensor_get_n_dims (tensor),
                       .format = flags & PyBUF_FORMAT ? (char *)format : NULL };
  G_STATIC_ASSERT (sizeof (Py_ssize_t) == sizeof (gint64));
  if (flags & PyBUF_ND)
    view->shape = (Py_ssize_t *)hr_tensor_get_shape (tensor);
  else
    view->ndim = 1;
  if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) {
    Py_ssize_t *strides = g_new (Py_ssize_t, MAX (view->ndim, 1)), step = view->itemsize;

    for (int i = view->ndim; i-- > 0; step *= view->shape[i])
      strides[i] = step;
    view->strides = view->internal = strides;
  }
  return 0;
}

static void
release_buffer (PyObject *object G_GNUC_UNUSED, Py_buffer *view)
{
  g_free (view->internal);
}

static PyMethodDef methods[] = {
  { "__dlpack__", (PyCFunction)(void *)dlpack, METH_VARARGS | METH_KEYWORDS,
    "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
    "A capsule that holds the memory until whoever takes it lets it go. On a GPU what is put into\n"
    "the stream from then on comes behind the copy of the batch; the bytes are used again behind\n"
    "all that is in the stream when the capsule's tensor is let go." },
  { "__dlpack_device__", dlpack_device, METH_NOARGS,
    "__dlpack_device__()\n--\n\n(device type, device id) of DLPack." },
  { NULL, NULL, 0, NULL }
};

static PyGetSetDef properties[] = {
  { "shape", get_shape, NULL, "A tuple of sizes.", NULL },
  { "dtype", get_dtype, NULL, "\"uint8\", \"int64\", \"bfloat16\" …, as torch calls it.", NULL },
  { "nbytes", get_n_bytes, NULL, "Bytes of all elements.", NULL },
  { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot slots[] = {
  { Py_tp_doc, "A typed, shaped view of memory. torch.from_dlpack() and numpy.asarray() take it "
               "without a copy;\nthe memory lives as long as any of them." },
  { Py_tp_methods, methods },
  { Py_tp_getset, properties },
  { Py_tp_repr, repr },
  { Py_tp_dealloc, dealloc },
  { Py_bf_getbuffer, get_buffer },
  { Py_bf_releasebuffer, release_buffer },
  { 0, NULL }
};

static PyType_Spec spec = { "headrace.Tensor", sizeof (Tensor), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };

int
py_add_tensor (PyObject *module)
{
  type = py_add_type (module, &spec);
  return type != NULL ? 0 : -1;
}
