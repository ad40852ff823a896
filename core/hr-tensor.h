/* hr-tensor.h: a typed, shaped view of memory */
#pragma once
#include "hr-memory.h"

G_BEGIN_DECLS

/**
 * HrDTypeCode:
 * @HR_DTYPE_INT: two's complement
 * @HR_DTYPE_UINT: unsigned
 * @HR_DTYPE_FLOAT: IEEE 754
 * @HR_DTYPE_BFLOAT: bfloat16
 * @HR_DTYPE_BOOL: a byte that is 0 or 1
 *
 * DLPack's type codes: DLDataTypeCode.
 */
typedef enum {
  HR_DTYPE_INT = 0,
  HR_DTYPE_UINT = 1,
  HR_DTYPE_FLOAT = 2,
  HR_DTYPE_BFLOAT = 4,
  HR_DTYPE_BOOL = 6
} HrDTypeCode;

/**
 * HrDType:
 * @code: #HrDTypeCode
 * @bits: 8, 16, 32, 64
 * @lanes: 1
 *
 * DLPack's DLDataType: what an element of a tensor is.
 */
typedef struct {
  guint8 code;
  guint8 bits;
  guint16 lanes;
} HrDType;

#define HR_UINT8 ((HrDType){ HR_DTYPE_UINT, 8, 1 })
#define HR_INT32 ((HrDType){ HR_DTYPE_INT, 32, 1 })
#define HR_INT64 ((HrDType){ HR_DTYPE_INT, 64, 1 })
#define HR_FLOAT32 ((HrDType){ HR_DTYPE_FLOAT, 32, 1 })
#define HR_FLOAT16 ((HrDType){ HR_DTYPE_FLOAT, 16, 1 })
#define HR_BFLOAT16 ((HrDType){ HR_DTYPE_BFLOAT, 16, 1 })

/**
 * HrTensor:
 *
 * {memory, byte offset, dtype, shape, strides}, refcounted and immutable; strides count elements.
 */
typedef struct _HrTensor HrTensor;

#define HR_TYPE_TENSOR (hr_tensor_get_type ())
GType hr_tensor_get_type (void);

/* takes @memory; C-contiguous. It is a programmer's error if the memory is too small */
HrTensor *hr_tensor_new (HrMemory *memory, gsize offset, HrDType dtype, guint n_dims,
                         const gint64 *shape);
/* takes @memory; @strides in elements */
HrTensor *hr_tensor_new_strided (HrMemory *memory, gsize offset, HrDType dtype, guint n_dims,
                                 const gint64 *shape, const gint64 *strides);

/**
 * hr_tensor_fits: (skip)
 * @size: bytes of the memory
 * @offset: byte of the first element
 * @dtype: type of an element
 * @n_dims: number of dimensions
 * @shape: (array length=n_dims): sizes
 * @strides: (nullable): in elements; %NULL: C-contiguous
 *
 * For shapes that somebody else has written: is it one, and does it lie inside such a memory?
 *
 * Returns: %TRUE if it does
 */
gboolean hr_tensor_fits (gsize size, gsize offset, HrDType dtype, guint n_dims, const gint64 *shape,
                         const gint64 *strides);
/* uint8 [size]: takes @memory */
HrTensor *hr_tensor_new_bytes (HrMemory *memory);
HrTensor *hr_tensor_ref (HrTensor *tensor);
void hr_tensor_unref (HrTensor *tensor);

HrMemory *hr_tensor_get_memory (const HrTensor *tensor);
/* the first element, NULL for memory the CPU cannot reach */
gpointer hr_tensor_get_data (const HrTensor *tensor);
/* the bytes of a contiguous tensor, without a copy; (transfer full) */
GBytes *hr_tensor_get_bytes (HrTensor *tensor);
gsize hr_tensor_get_offset (const HrTensor *tensor);
HrDType hr_tensor_get_dtype (const HrTensor *tensor);
const char *hr_tensor_get_dtype_name (const HrTensor *tensor);
guint hr_tensor_get_n_dims (const HrTensor *tensor);
gint64 hr_tensor_get_dim (const HrTensor *tensor, guint dim);
const gint64 *hr_tensor_get_shape (const HrTensor *tensor);
const gint64 *hr_tensor_get_strides (const HrTensor *tensor);
gboolean hr_tensor_is_contiguous (const HrTensor *tensor);
/* bytes of all elements, without gaps */
gsize hr_tensor_get_n_bytes (const HrTensor *tensor);
/* "uint8", "bfloat16", … as torch and numpy call them. (transfer none) */
const char *hr_dtype_get_name (HrDType dtype);

gint hr_tensor_live (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrTensor, hr_tensor_unref)

G_END_DECLS
