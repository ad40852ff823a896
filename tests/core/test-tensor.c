/* shapes, strides, bounds and names of types */
#include <string.h>
#include "hr-tensor.h"

static void
test_contiguous (void)
{
  const gint64 shape[] = { 2, 3, 4 };
  HrMemory *memory = hr_memory_new (200);
  g_autoptr (HrTensor) tensor = hr_tensor_new (memory, 8, HR_FLOAT32, 3, shape);
  const gint64 *strides = hr_tensor_get_strides (tensor);

  g_assert_true (hr_tensor_get_memory (tensor) == memory);
  g_assert_true (hr_tensor_get_data (tensor) == memory->data + 8);
  g_assert_cmpuint (hr_tensor_get_offset (tensor), ==, 8);
  g_assert_cmpuint (hr_tensor_get_n_dims (tensor), ==, 3);
  g_assert_cmpmem (hr_tensor_get_shape (tensor), 24, shape, 24);
  g_assert_cmpint (strides[0], ==, 12);
  g_assert_cmpint (strides[1], ==, 4);
  g_assert_cmpint (strides[2], ==, 1);
  g_assert_cmpuint (hr_tensor_get_n_bytes (tensor), ==, 96);
  g_assert_true (hr_tensor_is_contiguous (tensor));
  g_assert_cmpstr (hr_dtype_get_name (hr_tensor_get_dtype (tensor)), ==, "float32");
}

static void
test_bytes (void)
{
  g_autoptr (HrTensor) tensor = hr_tensor_new_bytes (hr_memory_new (5));
  g_autoptr (HrTensor) empty = hr_tensor_new_bytes (hr_memory_new (0));

  g_assert_cmpuint (hr_tensor_get_n_dims (tensor), ==, 1);
  g_assert_cmpint (hr_tensor_get_shape (tensor)[0], ==, 5);
  g_assert_cmpuint (hr_tensor_get_n_bytes (tensor), ==, 5);
  g_assert_cmpuint (hr_tensor_get_n_bytes (empty), ==, 0);
}

static void
test_scalar_and_empty (void)
{
  const gint64 shape[] = { 3, 0, 5 };
  g_autoptr (HrTensor) scalar = hr_tensor_new (hr_memory_new (8), 0, HR_INT64, 0, NULL);
  g_autoptr (HrTensor) empty = hr_tensor_new (hr_memory_new (0), 0, HR_INT64, 3, shape);

  g_assert_cmpuint (hr_tensor_get_n_bytes (scalar), ==, 8);
  g_assert_true (hr_tensor_is_contiguous (scalar));
  g_assert_cmpuint (hr_tensor_get_n_bytes (empty), ==, 0);
  g_assert_true (hr_tensor_is_contiguous (empty));
}

static void
test_strided (void)
{
  /* every second column of a 4 x 6 array, and the same upside down */
  const gint64 shape[] = { 4, 3 }, strides[] = { 6, 2 }, flipped[] = { -6, 2 };
  const gint64 ones[] = { 1, 3 }, any[] = { 77, 1 };
  g_autoptr (HrTensor) tensor =
      hr_tensor_new_strided (hr_memory_new (24), 0, HR_UINT8, 2, shape, strides);
  g_autoptr (HrTensor) down =
      hr_tensor_new_strided (hr_memory_new (24), 18, HR_UINT8, 2, shape, flipped);
  g_autoptr (HrTensor) row = hr_tensor_new_strided (hr_memory_new (3), 0, HR_UINT8, 2, ones, any);

  g_assert_false (hr_tensor_is_contiguous (tensor));
  g_assert_cmpuint (hr_tensor_get_n_bytes (tensor), ==, 12);
  g_assert_cmpmem (hr_tensor_get_strides (tensor), 16, strides, 16);
  g_assert_false (hr_tensor_is_contiguous (down));
  /* the stride of a dimension of one element is never walked */
  g_assert_true (hr_tensor_is_contiguous (row));
}

static void
refuse (HrMemory *memory, gsize offset, HrDType dtype, guint n_dims, const gint64 *shape,
        const gint64 *strides)
{
  g_test_expect_message ("headrace", G_LOG_LEVEL_CRITICAL, "hr_tensor_new*");
  g_assert_null (hr_tensor_new_strided (memory, offset, dtype, n_dims, shape, strides));
  g_test_assert_expected_messages ();
}

static void
test_bounds (void)
{
  const gint64 five[] = { 5 }, one[] = { 1 }, negative[] = { -1 }, back[] = { -1 };
  const gint64 huge[] = { G_MAXINT64, G_MAXINT64 }, wide[] = { G_MAXINT64 / 2, 1 };
  const gint64 two[] = { 2, 2 };

  refuse (hr_memory_new (4), 0, HR_UINT8, 1, five, one);
  refuse (hr_memory_new (5), 1, HR_UINT8, 1, five, one);
  refuse (hr_memory_new (19), 0, HR_FLOAT32, 1, five, one);
  refuse (hr_memory_new (5), 3, HR_UINT8, 1, five, back);
  refuse (hr_memory_new (5), 6, HR_UINT8, 0, NULL, NULL);
  refuse (hr_memory_new (5), 0, HR_UINT8, 1, negative, one);
  refuse (hr_memory_new (5), 0, HR_FLOAT32, 2, huge, huge);
  refuse (hr_memory_new (50), 0, HR_FLOAT32, 2, two, wide);
  g_assert_cmpint (hr_memory_live (), ==, 0);
  g_assert_cmpint (hr_tensor_live (), ==, 0);
}

static void
test_names (void)
{
  const struct {
    HrDType dtype;
    const char *name;
  } rows[] = {
    { HR_UINT8, "uint8" },      { HR_INT32, "int32" },       { HR_INT64, "int64" },
    { HR_FLOAT32, "float32" },  { HR_FLOAT16, "float16" },   { HR_BFLOAT16, "bfloat16" },
    { { 6, 8, 1 }, "bool" },    { { 2, 64, 1 }, "float64" }, { { 0, 8, 1 }, "int8" },
    { { 0, 16, 1 }, "int16" },  { { 1, 16, 1 }, "uint16" },  { { 1, 32, 1 }, "uint32" },
    { { 1, 64, 1 }, "uint64" }, { { 1, 8, 4 }, "unknown" },  { { 5, 128, 1 }, "unknown" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_cmpstr (hr_dtype_get_name (rows[i].dtype), ==, rows[i].name);
}

static gpointer
hammer (gpointer data)
{
  for (guint i = 0; i < 50000; i++)
    hr_tensor_unref (hr_tensor_ref (data));
  hr_tensor_unref (data);
  return NULL;
}

static void
test_threads (void)
{
  HrTensor *tensor = hr_tensor_new_bytes (hr_memory_new (10));
  GThread *threads[4];

  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new ("ref", hammer, hr_tensor_ref (tensor));
  hr_tensor_unref (tensor);
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  g_assert_cmpint (hr_tensor_live (), ==, 0);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensor/contiguous", test_contiguous);
  g_test_add_func ("/tensor/bytes", test_bytes);
  g_test_add_func ("/tensor/scalar-and-empty", test_scalar_and_empty);
  g_test_add_func ("/tensor/strided", test_strided);
  g_test_add_func ("/tensor/bounds", test_bounds);
  g_test_add_func ("/tensor/names", test_names);
  g_test_add_func ("/tensor/threads", test_threads);
  return g_test_run ();
}
