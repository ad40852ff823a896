/* patching.c: what patches are made of a batch's images, and how they are told */
#include "patching.h"

/* ---- properties ---- */

static gboolean
read_three (char **texts, const char *property, double *values, GError **error)
{
  guint n = texts != NULL ? g_strv_length (texts) : 0;
  gboolean good = n == 3;

  for (guint i = 0; good && i < n; i++) {
    char *end;

    values[i] = g_ascii_strtod (texts[i], &end);
    good = end != texts[i] && *end == '\0' && values[i] > -1e6 && values[i] < 1e6;
  }
  if (!good)
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "%s wants three numbers, for red, green and blue: 0.5,0.5,0.5", property);
  return good;
}

gboolean
hr_patching_check (gconstpointer self, GError **error)
{
  const HrPatching *patching = self;
  double mean[3], std[3];

  if (!read_three (patching->image_mean, "image-mean", mean, error)
      || !read_three (patching->image_std, "image-std", std, error))
    return FALSE;
  if (std[0] > 0 && std[1] > 0 && std[2] > 0)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_OUT_OF_RANGE,
               "image-std is divided by, so its numbers must be greater than 0");
  return FALSE;
}

/* bytes as they are: a mean that is set would do nothing, and whoever set it expects something */
static gboolean
check_plain_bytes (HrElement *element, GError **error)
{
  static const char *const arithmetic[] = { "image-mean", "image-std", "rescale-factor",
                                            "normalize" };

  for (guint i = 0; i < G_N_ELEMENTS (arithmetic); i++)
    if (hr_element_is_set (element, arithmetic[i])) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                   "%s does nothing with dtype=uint8: the bytes stay as they are\nleave it out, or "
                   "take another dtype",
                   arithmetic[i]);
      return FALSE;
    }
  return TRUE;
}

gboolean
hr_patching_check_place (gconstpointer self, HrElement *element, GError **error)
{
  const HrPatching *patching = self;

  return hr_sizing_check_place (element, error)
         && (patching->dtype != HR_PATCH_UINT8 || check_plain_bytes (element, error));
}

gboolean
hr_patching_start (const HrPatching *patching, HrElement *element, HrPatchShape *shape,
                   HrPatchTable *table, GError **error)
{
  double mean[3], std[3];

  *shape = (HrPatchShape){ (guint)hr_sizing_get_uint (element, "patch-size"),
                           (guint)hr_sizing_get_uint (element, "merge-size"),
                           (guint)patching->temporal_patch_size };
  if (!read_three (patching->image_mean, "image-mean", mean, error)
      || !read_three (patching->image_std, "image-std", std, error))
    return FALSE;
  hr_patch_table_init (table, (HrPatchType)patching->dtype, (HrPatchSpelling)patching->normalize,
                       mean, std, patching->rescale_factor);
  return TRUE;
}

/* ---- a sample or a batch ---- */

/* FALSE: it is no image that patches fit into */
static gboolean
check_image (const HrPatchShape *shape, HrTensor *image, guint index, GError **error)
{
  gint64 block = (gint64)shape->size * shape->merge;

  if (image != NULL && hr_tensor_get_n_dims (image) == 3 && hr_tensor_get_dim (image, 2) == 3
      && hr_tensor_get_dtype (image).code == HR_DTYPE_UINT && hr_tensor_get_dtype (image).bits == 8
      && hr_tensor_is_contiguous (image) && hr_tensor_get_dim (image, 0) > 0
      && hr_tensor_get_dim (image, 1) > 0 && hr_tensor_get_dim (image, 0) % block == 0
      && hr_tensor_get_dim (image, 1) % block == 0)
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
               "image %u is no uint8 [height, width, 3] with sides that are multiples of "
               "patch-size times merge-size, %" G_GINT64_FORMAT ": resize makes it so",
               index, block);
  return FALSE;
}

HrTensor *
hr_patching_make_grids (const HrPatchShape *shape, const HrList *images, gsize *rows,
                        GError **error)
{
  guint n = hr_list_get_length (images);
  g_autoptr (HrMemory) memory = hr_memory_new ((gsize)n * 3 * sizeof (gint64));
  gint64 *grid = (gint64 *)(gpointer)memory->data;

  *rows = 0;
  for (guint i = 0; i < n; i++, grid += 3) {
    HrTensor *image = hr_list_get_tensor (images, i);

    if (!check_image (shape, image, i, error))
      return NULL;
    grid[0] = 1;
    grid[1] = hr_tensor_get_dim (image, 0) / shape->size;
    grid[2] = hr_tensor_get_dim (image, 1) / shape->size;
    *rows += (gsize)(grid[1] * grid[2]);
  }
  return hr_tensor_new (g_steal_pointer (&memory), 0, HR_INT64, 2, (const gint64[]){ n, 3 });
}

void
hr_patching_forget_pixels (HrBuffer *batch)
{
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    HrBuffer *member = hr_buffer_get_member (batch, i);

    if (hr_buffer_is_writable (member))
      hr_buffer_remove (member, "images");
  }
}

HrDType
hr_patching_get_dtype (HrPatchType type)
{
  switch (type) {
  case HR_PATCH_FLOAT32:
    return HR_FLOAT32;
  case HR_PATCH_BFLOAT16:
    return HR_BFLOAT16;
  case HR_PATCH_FLOAT16:
    return HR_FLOAT16;
  default:
    return HR_UINT8;
  }
}
