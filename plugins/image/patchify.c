/* patchify.c: images become the rows of numbers that a vision model reads */
#include "headrace.h"
#include "patch.h"
#include "sizing.h"

typedef struct {
  guint64 patch_size;
  guint64 merge_size;
  guint64 temporal_patch_size;
  gint dtype;
  gint normalize;
  char **image_mean;
  char **image_std;
  double rescale_factor;
} Patchify;

/* in the order of the enumerations in patch.h */
static const char *const dtypes[] = { "float32", "bfloat16", "float16", "uint8", NULL };
static const char *const spellings[] = { "torchvision", "pillow", NULL };

static const HrProp props[] = {
  HR_SIZING_PATCH_PROPS (Patchify),
  HR_PROP_UINT (Patchify, temporal_patch_size, 1, 16, 2,
                "Times a still image is repeated in a patch", .flags = HR_PROP_STREAM,
                .unit = "frames"),
  HR_PROP_ENUM (Patchify, dtype, dtypes, HR_PATCH_FLOAT32,
                "Type of pixel_values; uint8: the bytes as they are, not normalised",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Patchify, normalize, spellings, HR_PATCH_TORCHVISION,
                "Whose order of operations, to the last bit of float32: the processor on "
                "torchvision, or the one on Pillow",
                .flags = HR_PROP_STREAM),
  HR_PROP_STRV (Patchify, image_mean, "0.5,0.5,0.5", "Mean of red, green, blue, of 0 to 1",
                .flags = HR_PROP_STREAM),
  HR_PROP_STRV (Patchify, image_std, "0.5,0.5,0.5", "Deviation of red, green, blue",
                .flags = HR_PROP_STREAM),
  HR_PROP_DOUBLE (Patchify, rescale_factor, 1e-6, 1, 1.0 / 255,
                  "What a byte is multiplied with first", .flags = HR_PROP_STREAM),
  HR_PROP_END
};

typedef struct {
  HrPatchShape shape;
  HrPatchTable table;
} Shared;

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

static gboolean
patchify_check (gconstpointer data, GError **error)
{
  const Patchify *self = data;
  double mean[3], std[3];

  if (!read_three (self->image_mean, "image-mean", mean, error)
      || !read_three (self->image_std, "image-std", std, error))
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

static gboolean
patchify_check_place (gconstpointer data, HrElement *element, GError **error)
{
  const Patchify *self = data;

  return hr_sizing_check_place (element, error)
         && (self->dtype != HR_PATCH_UINT8 || check_plain_bytes (element, error));
}

static gboolean
patchify_start (gconstpointer data, gpointer shared_data, HrElement *element, GError **error)
{
  const Patchify *self = data;
  Shared *shared = shared_data;
  double mean[3], std[3];

  shared->shape = (HrPatchShape){ (guint)hr_sizing_get_uint (element, "patch-size"),
                                  (guint)hr_sizing_get_uint (element, "merge-size"),
                                  (guint)self->temporal_patch_size };
  if (!read_three (self->image_mean, "image-mean", mean, error)
      || !read_three (self->image_std, "image-std", std, error))
    return FALSE;
  hr_patch_table_init (&shared->table, (HrPatchType)self->dtype, (HrPatchSpelling)self->normalize,
                       mean, std, self->rescale_factor);
  return TRUE;
}

/* ---- a sample or a batch ---- */

/* FALSE: it is no image that patches fit into */
static gboolean
check_image (const Shared *shared, HrTensor *image, guint index, GError **error)
{
  gint64 block = (gint64)shared->shape.size * shared->shape.merge;

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

/* how many rows each image has: that says as well where each begins */
static HrTensor *
make_grids (const Shared *shared, const HrList *images, gsize *rows, GError **error)
{
  guint n = hr_list_get_length (images);
  g_autoptr (HrMemory) memory = hr_memory_new ((gsize)n * 3 * sizeof (gint64));
  gint64 *grid = (gint64 *)(gpointer)memory->data;

  *rows = 0;
  for (guint i = 0; i < n; i++, grid += 3) {
    HrTensor *image = hr_list_get_tensor (images, i);

    if (!check_image (shared, image, i, error))
      return NULL;
    grid[0] = 1;
    grid[1] = hr_tensor_get_dim (image, 0) / shared->shape.size;
    grid[2] = hr_tensor_get_dim (image, 1) / shared->shape.size;
    *rows += (gsize)(grid[1] * grid[2]);
  }
  return hr_tensor_new (g_steal_pointer (&memory), 0, HR_INT64, 2, (const gint64[]){ n, 3 });
}

/* the samples of a batch hold the same pixels; nobody needs them twice */
static void
forget_pixels (HrBuffer *batch)
{
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    HrBuffer *member = hr_buffer_get_member (batch, i);

    if (hr_buffer_is_writable (member))
      hr_buffer_remove (member, "images");
  }
}

static HrDType
dtype_of (HrPatchType type)
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

static gboolean
patchify_prepare (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrBuffer *sample, HrOut *out,
                  GError **error)
{
  const Shared *shared = worker;
  HrList *images = hr_buffer_get_list (sample, "images");
  gint64 shape[2] = { 0, (gint64)hr_patch_columns (&shared->shape) };
  HrTensor *grids;
  HrMemory *memory;
  gsize rows;

  if (images == NULL || hr_list_get_length (images) == 0) { /* text alone has no pixels */
    hr_buffer_remove (sample, "images");
    return TRUE;
  }
  grids = make_grids (shared, images, &rows, error);
  if (grids == NULL)
    return FALSE;
  memory = hr_out_alloc (out, "pixel_values",
                         rows * (gsize)shape[1] * hr_patch_type_size (shared->table.type), error);
  if (memory == NULL) {
    hr_tensor_unref (grids);
    return FALSE;
  }
  shape[0] = (gint64)rows;
  hr_buffer_set_tensor (sample, "pixel_values",
                        hr_tensor_new (memory, 0, dtype_of (shared->table.type), 2, shape));
  hr_buffer_set_tensor (sample, "image_grid_thw", grids);
  forget_pixels (sample);
  return TRUE;
}

/* each image at its place in the one array; they do not overlap, so many workers may write */
static gboolean
patchify_each (gconstpointer self G_GNUC_UNUSED, gpointer worker, const HrBuffer *sample,
               guint index, HrTensor **member, HrOut *out G_GNUC_UNUSED,
               GError **error G_GNUC_UNUSED)
{
  const Shared *shared = worker;
  const gint64 *grid = hr_tensor_get_data (hr_buffer_get_tensor (sample, "image_grid_thw"));
  guint8 *into = hr_tensor_get_data (hr_buffer_get_tensor (sample, "pixel_values"));
  gsize row = hr_patch_columns (&shared->shape) * hr_patch_type_size (shared->table.type);
  gsize before = 0;

  for (guint i = 0; i < index; i++)
    before += (gsize)(grid[3 * i + 1] * grid[3 * i + 2]);
  hr_patch_write (&shared->shape, &shared->table, hr_tensor_get_data (*member),
                  (gsize)hr_tensor_get_dim (*member, 0), (gsize)hr_tensor_get_dim (*member, 1),
                  into + before * row);
  g_clear_pointer (member, hr_tensor_unref);
  return TRUE;
}

HR_ELEMENT (
    patchify, Patchify, .summary = "Turn images into normalised patches for a vision model",
    .description =
        "Of a sample or a whole batch: all \"images\", uint8 [height, width, 3], become one "
        "\"pixel_values\", float32 [rows, 3 * temporal-patch-size * patch-size * patch-size], a "
        "row a "
        "patch, images one after the other; \"image_grid_thw\", int64 [images, 3], says how many "
        "rows "
        "each has: frames, rows and columns of patches. Patches of one token are neighbours. "
        "Rescaling and normalising are a table of 256 numbers a channel. Each image is written "
        "straight to its place, by many workers at once. Put it behind prefetchqueue: pixels are "
        "an "
        "eighth of the bytes of their patches.\n\n"
        "A sample of text alone passes, and gets no pixel_values.",
    .examples =
        (const char *const[]){
            "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! imagedecode ! "
            "resize max-pixels=262144 ! patchify dtype=bfloat16 ! fakesink",
            NULL },
    .needs = "images:pixels, batch?", .gives = "pixel_values, image_grid_thw", .takes = "images",
    .shared_size = sizeof (Shared), .props = props, .parallel = HR_PARALLEL_YES,
    .check = patchify_check, .check_place = patchify_check_place, .start = patchify_start,
    .each_field = "images", .each_names = "image_links", .prepare = patchify_prepare,
    .each = patchify_each)
