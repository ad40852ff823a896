/* patching.h: what patches are made of a batch's images, and how they are told: the same for who
 * writes them on the CPU and who does on a device */
#pragma once
#include "headrace.h"
#include "patch.h"
#include "sizing.h"

G_BEGIN_DECLS

/* at the start of the element's struct, in the place of a HrPatching */
#define HR_PATCHING_FIELDS                                                                         \
  guint64 patch_size;                                                                              \
  guint64 merge_size;                                                                              \
  guint64 temporal_patch_size;                                                                     \
  gint dtype;                                                                                      \
  gint normalize;                                                                                  \
  char **image_mean;                                                                               \
  char **image_std;                                                                                \
  double rescale_factor;

typedef struct {
  HR_PATCHING_FIELDS
} HrPatching;

/* of HrPatchType and HrPatchSpelling, in their order */
#define HR_PATCHING_TYPES ((const char *const[]){ "float32", "bfloat16", "float16", "uint8", NULL })
#define HR_PATCHING_SPELLINGS ((const char *const[]){ "torchvision", "pillow", NULL })

/* in its table */
#define HR_PATCHING_PROPS(T)                                                                       \
  HR_SIZING_PATCH_PROPS (T),                                                                       \
      HR_PROP_UINT (T, temporal_patch_size, 1, 16, 2,                                              \
                    "Times a still image is repeated in a patch", .flags = HR_PROP_STREAM,         \
                    .unit = "frames"),                                                             \
      HR_PROP_ENUM (T, dtype, HR_PATCHING_TYPES, HR_PATCH_FLOAT32,                                 \
                    "Type of pixel_values; uint8: the bytes as they are, not normalised",          \
                    .flags = HR_PROP_STREAM),                                                      \
      HR_PROP_ENUM (T, normalize, HR_PATCHING_SPELLINGS, HR_PATCH_TORCHVISION,                     \
                    "Whose order of operations, to the last bit of float32: the processor on "     \
                    "torchvision, or the one on Pillow",                                           \
                    .flags = HR_PROP_STREAM),                                                      \
      HR_PROP_STRV (T, image_mean, "0.5,0.5,0.5", "Mean of red, green, blue, of 0 to 1",           \
                    .flags = HR_PROP_STREAM),                                                      \
      HR_PROP_STRV (T, image_std, "0.5,0.5,0.5", "Deviation of red, green, blue",                  \
                    .flags = HR_PROP_STREAM),                                                      \
      HR_PROP_DOUBLE (T, rescale_factor, 1e-6, 1, 1.0 / 255,                                       \
                      "What a byte is multiplied with first", .flags = HR_PROP_STREAM)

/* check() and check_place() of the element's table, whose struct is a HrPatching or begins with
 * one: HR_PARSE_ERROR */
gboolean hr_patching_check (gconstpointer self, GError **error);
gboolean hr_patching_check_place (gconstpointer self, HrElement *element, GError **error);

/* for start(): @element's sizes are those of who decided before */
gboolean hr_patching_start (const HrPatching *patching, HrElement *element, HrPatchShape *shape,
                            HrPatchTable *table, GError **error);

/**
 * hr_patching_make_grids:
 * @rows: (out): of patches, of all images together
 * @error: #HR_CORE_ERROR_FAILED: it is no image that patches fit into; says which
 *
 * How many rows each image has, which says as well where each begins.
 *
 * Returns: (transfer full): "image_grid_thw", int64 [images, 3]
 */
HrTensor *hr_patching_make_grids (const HrPatchShape *shape, const HrList *images, gsize *rows,
                                  GError **error);

/* the samples of a batch hold the same pixels as it does; nobody needs them twice */
void hr_patching_forget_pixels (HrBuffer *batch);

/* of "pixel_values" */
HrDType hr_patching_get_dtype (HrPatchType type);

G_END_DECLS
