/* hr-tensor.c: a typed, shaped view of memory */
#include "hr-tensor.h"
#include "hr-ref.h"

struct _HrTensor {
  gint ref_count;
  guint n_dims;
  HrDType dtype;
  gboolean contiguous;
  HrMemory *memory;
  gsize offset;
  gsize n_bytes;
  gint64 dims[]; /* shape, then strides */
};

static HrLive live;

G_DEFINE_BOXED_TYPE (HrTensor, hr_tensor, hr_tensor_ref, hr_tensor_unref)

static gsize
item_size (HrDType dtype)
{
  return ((gsize)dtype.bits * dtype.lanes + 7) / 8;
}

/* bytes of all elements; FALSE if a dimension is negative or the product is no size */
static gboolean
count_bytes (HrDType dtype, guint n_dims, const gint64 *shape, gsize *n_bytes)
{
  gboolean empty = FALSE;

  *n_bytes = item_size (dtype);
  for (guint i = 0; i < n_dims; i++) {
    if (shape[i] < 0)
      return FALSE;
    if (shape[i] == 0)
      empty = TRUE;
    else if (__builtin_mul_overflow (*n_bytes, (guint64)shape[i], n_bytes))
      return FALSE;
  }
  if (*n_bytes > G_MAXSSIZE)
    return FALSE;
  if (empty)
    *n_bytes = 0;
  return TRUE;
}

/* are the lowest and the highest element inside? */
static gboolean
lies_inside (gsize size, gsize offset, gsize item, guint n_dims, const gint64 *shape,
             const gint64 *strides)
{
  gint64 low = (gint64)offset, high = (gint64)offset;

  for (guint i = 0; i < n_dims; i++) {
    gint64 reach;
    gint64 *end = strides[i] < 0 ? &low : &high;

    if (__builtin_mul_overflow (shape[i] - 1, strides[i], &reach)
        || __builtin_mul_overflow (reach, (gint64)item, &reach)
        || __builtin_add_overflow (*end, reach, end))
      return FALSE;
  }
  return low >= 0 && (guint64)high <= size && item <= size - (gsize)high;
}

gboolean
hr_tensor_fits (gsize size, gsize offset, HrDType dtype, guint n_dims, const gint64 *shape,
                const gint64 *strides)
{
  gsize n_bytes;

  if (offset > size || !count_bytes (dtype, n_dims, shape, &n_bytes))
    return FALSE;
  if (strides == NULL)
    return n_bytes <= size - offset;
  return n_bytes == 0 || lies_inside (size, offset, item_size (dtype), n_dims, shape, strides);
}

static HrTensor *
tensor_new (HrMemory *memory, gsize offset, HrDType dtype, guint n_dims, const gint64 *shape,
            const gint64 *strides)
{
  HrTensor *tensor;
  gsize n_bytes;
  gint64 next = 1;

  if (offset > memory->size || !count_bytes (dtype, n_dims, shape, &n_bytes)) {
    g_critical ("hr_tensor_new: not a shape, or its offset is outside its memory");
    hr_memory_unref (memory);
    return NULL;
  }
  tensor = g_malloc (sizeof (HrTensor) + 2 * n_dims * sizeof (gint64));
  *tensor = (HrTensor){ 1, n_dims, dtype, TRUE, memory, offset, n_bytes };
  hr_live_add (&live, 1);
  for (guint i = n_dims; i-- > 0;) {
    tensor->dims[i] = shape[i];
    tensor->dims[n_dims + i] = strides != NULL ? strides[i] : next;
    if (shape[i] != 1 && tensor->dims[n_dims + i] != next)
      tensor->contiguous = n_bytes == 0;
    next *= MAX (shape[i], 1);
  }
  if (n_bytes > 0
      && !lies_inside (memory->size, offset, item_size (dtype), n_dims, tensor->dims,
                       tensor->dims + n_dims)) {
    g_critical ("hr_tensor_new: %" G_GSIZE_FORMAT " bytes of memory are too few for the shape",
                memory->size);
    hr_tensor_unref (tensor);
    return NULL;
  }
  return tensor;
}

/**
 * hr_tensor_new:
 * @memory: (transfer full): the bytes
 * @offset: byte of the first element
 * @dtype: type of an element
 * @n_dims: number of dimensions; 0 is a scalar
 * @shape: (array length=n_dims): sizes, copied
 *
 * Makes a tensor of bytes that are there. It is a programmer's error if the memory is too small.
 *
 * Returns: (transfer full): a C-contiguous tensor
 */
HrTensor *
hr_tensor_new (HrMemory *memory, gsize offset, HrDType dtype, guint n_dims, const gint64 *shape)
{
  return tensor_new (memory, offset, dtype, n_dims, shape, NULL);
}

/**
 * hr_tensor_new_strided:
 * @memory: (transfer full): the bytes
 * @offset: byte of the first element
 * @dtype: type of an element
 * @n_dims: number of dimensions
 * @shape: (array length=n_dims): sizes, copied
 * @strides: (array length=n_dims): steps in elements, may be negative or 0, copied
 *
 * Makes a tensor of bytes that are there, with any steps. It is a programmer's error if it reaches
 * beyond the memory.
 *
 * Returns: (transfer full): a tensor
 */
HrTensor *
hr_tensor_new_strided (HrMemory *memory, gsize offset, HrDType dtype, guint n_dims,
                       const gint64 *shape, const gint64 *strides)
{
  return tensor_new (memory, offset, dtype, n_dims, shape, strides);
}

/**
 * hr_tensor_new_bytes:
 * @memory: (transfer full): the bytes
 *
 * Makes a tensor of all bytes of a block.
 *
 * Returns: (transfer full): all of @memory as uint8 [size]
 */
HrTensor *
hr_tensor_new_bytes (HrMemory *memory)
{
  gint64 size = (gint64)memory->size;

  return tensor_new (memory, 0, HR_UINT8, 1, &size, NULL);
}

/**
 * hr_tensor_ref:
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @tensor
 */
HrTensor *
hr_tensor_ref (HrTensor *tensor)
{
  hr_ref_inc (&tensor->ref_count);
  return tensor;
}

/**
 * hr_tensor_unref:
 * @tensor: (transfer full): a tensor
 *
 * Gives a reference back; with the last one it dies, and gives back its memory.
 */
void
hr_tensor_unref (HrTensor *tensor)
{
  if (tensor == NULL || !hr_ref_dec (&tensor->ref_count))
    return;
  hr_memory_unref (tensor->memory);
  g_free (tensor);
  hr_live_add (&live, -1);
}

/**
 * hr_tensor_get_memory:
 *
 * Finds the block.
 *
 * Returns: (transfer none): the block it lies in
 */
HrMemory *
hr_tensor_get_memory (const HrTensor *tensor)
{
  return tensor->memory;
}

/**
 * hr_tensor_get_data: (skip)
 *
 * Finds the bytes.
 *
 * Returns: (nullable): the first element, %NULL for memory the CPU cannot reach. Write only into a
 *   tensor that you made and have not passed on.
 */
gpointer
hr_tensor_get_data (const HrTensor *tensor)
{
  return tensor->memory->data != NULL ? tensor->memory->data + tensor->offset : NULL;
}

/**
 * hr_tensor_get_offset:
 *
 * Tells where in its block it begins.
 *
 * Returns: bytes from the start of its memory to its first element
 */
gsize
hr_tensor_get_offset (const HrTensor *tensor)
{
  return tensor->offset;
}

/**
 * hr_tensor_get_dtype: (skip)
 *
 * Tells what its elements are.
 *
 * Returns: the type of its elements
 */
HrDType
hr_tensor_get_dtype (const HrTensor *tensor)
{
  return tensor->dtype;
}

/**
 * hr_tensor_get_bytes:
 *
 * For bindings: the bytes of all elements of a contiguous tensor, without a copy. They hold the
 * tensor.
 *
 * Returns: (transfer full) (nullable): the bytes; %NULL if it has gaps, or if the CPU cannot reach
 *   it
 */
GBytes *
hr_tensor_get_bytes (HrTensor *tensor)
{
  gpointer data = hr_tensor_get_data (tensor);

  if (data == NULL || !hr_tensor_is_contiguous (tensor))
    return NULL;
  return g_bytes_new_with_free_func (data, hr_tensor_get_n_bytes (tensor),
                                     (GDestroyNotify)hr_tensor_unref, hr_tensor_ref (tensor));
}

/**
 * hr_tensor_get_dtype_name:
 *
 * Names what its elements are.
 *
 * Returns: (transfer none): "uint8", "bfloat16", … as torch and numpy call it
 */
const char *
hr_tensor_get_dtype_name (const HrTensor *tensor)
{
  return hr_dtype_get_name (tensor->dtype);
}

/**
 * hr_tensor_get_dim:
 * @dim: below the number of dimensions
 *
 * Tells one of its sizes.
 *
 * Returns: the size of that dimension; what hr_tensor_get_shape() holds, for bindings
 */
gint64
hr_tensor_get_dim (const HrTensor *tensor, guint dim)
{
  g_return_val_if_fail (dim < tensor->n_dims, 0);
  return tensor->dims[dim];
}

/**
 * hr_tensor_get_n_dims:
 *
 * Counts its dimensions.
 *
 * Returns: number of dimensions
 */
guint
hr_tensor_get_n_dims (const HrTensor *tensor)
{
  return tensor->n_dims;
}

/**
 * hr_tensor_get_shape: (skip)
 *
 * Tells its sizes.
 *
 * Returns: (transfer none): n_dims sizes
 */
const gint64 *
hr_tensor_get_shape (const HrTensor *tensor)
{
  return tensor->dims;
}

/**
 * hr_tensor_get_strides: (skip)
 *
 * Tells its steps.
 *
 * Returns: (transfer none): n_dims steps, in elements
 */
const gint64 *
hr_tensor_get_strides (const HrTensor *tensor)
{
  return tensor->dims + tensor->n_dims;
}

/**
 * hr_tensor_is_contiguous:
 *
 * Tells whether its elements lie as in C.
 *
 * Returns: %TRUE if its elements lie in C order without gaps
 */
gboolean
hr_tensor_is_contiguous (const HrTensor *tensor)
{
  return tensor->contiguous;
}

/**
 * hr_tensor_get_n_bytes:
 *
 * Tells how large it is.
 *
 * Returns: bytes of all elements, without gaps
 */
gsize
hr_tensor_get_n_bytes (const HrTensor *tensor)
{
  return tensor->n_bytes;
}

/**
 * hr_dtype_get_name:
 * @dtype: a dtype
 *
 * Names a dtype.
 *
 * Returns: (transfer none): "uint8", "bfloat16", … as torch and numpy call it; "unknown" if they
 *   do not
 */
const char *
hr_dtype_get_name (HrDType dtype)
{
  static const struct {
    HrDType dtype;
    const char *name;
  } names[] = {
    { { HR_DTYPE_UINT, 8, 1 }, "uint8" },     { { HR_DTYPE_UINT, 16, 1 }, "uint16" },
    { { HR_DTYPE_UINT, 32, 1 }, "uint32" },   { { HR_DTYPE_UINT, 64, 1 }, "uint64" },
    { { HR_DTYPE_INT, 8, 1 }, "int8" },       { { HR_DTYPE_INT, 16, 1 }, "int16" },
    { { HR_DTYPE_INT, 32, 1 }, "int32" },     { { HR_DTYPE_INT, 64, 1 }, "int64" },
    { { HR_DTYPE_FLOAT, 16, 1 }, "float16" }, { { HR_DTYPE_FLOAT, 32, 1 }, "float32" },
    { { HR_DTYPE_FLOAT, 64, 1 }, "float64" }, { { HR_DTYPE_BFLOAT, 16, 1 }, "bfloat16" },
    { { HR_DTYPE_BOOL, 8, 1 }, "bool" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (names[i].dtype.code == dtype.code && names[i].dtype.bits == dtype.bits
        && names[i].dtype.lanes == dtype.lanes)
      return names[i].name;
  return "unknown";
}

/**
 * hr_tensor_live:
 *
 * Counts the tensors of the process.
 *
 * Returns: number of tensors that exist, for leak checks in tests
 */
gint
hr_tensor_live (void)
{
  return hr_live_sum (&live);
}
