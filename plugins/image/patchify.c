/* patchify.c: images become the rows of numbers that a vision model reads */
#include "patching.h"

static const HrProp props[] = { HR_PATCHING_PROPS (HrPatching), HR_PROP_END };

typedef struct {
  HrPatchShape shape;
  HrPatchTable table;
} Shared;

static gboolean
patchify_start (gconstpointer self, gpointer data, HrElement *element, GError **error)
{
  Shared *shared = data;

  return hr_patching_start (self, element, &shared->shape, &shared->table, error);
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
  grids = hr_patching_make_grids (&shared->shape, images, &rows, error);
  if (grids == NULL)
    return FALSE;
  memory = hr_out_alloc (out, "pixel_values",
                         rows * (gsize)shape[1] * hr_patch_type_size (shared->table.type), error);
  if (memory == NULL) {
    hr_tensor_unref (grids);
    return FALSE;
  }
  shape[0] = (gint64)rows;
  hr_buffer_set_tensor (
      sample, "pixel_values",
      hr_tensor_new (memory, 0, hr_patching_get_dtype (shared->table.type), 2, shape));
  hr_buffer_set_tensor (sample, "image_grid_thw", grids);
  hr_patching_forget_pixels (sample);
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
    patchify, HrPatching, .summary = "Turn images into normalised patches for a vision model",
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
        "A sample of text alone passes, and gets no pixel_values. See docs/images.md.",
    .examples =
        (const char *const[]){
            "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! imagedecode ! "
            "resize max-pixels=262144 ! patchify dtype=bfloat16 ! fakesink",
            NULL },
    .needs = "images:pixels, batch?", .gives = "pixel_values, image_grid_thw", .takes = "images",
    .shared_size = sizeof (Shared), .props = props, .parallel = HR_PARALLEL_YES,
    .check = hr_patching_check, .check_place = hr_patching_check_place, .start = patchify_start,
    .each_field = "images", .each_names = "image_links", .prepare = patchify_prepare,
    .each = patchify_each)
