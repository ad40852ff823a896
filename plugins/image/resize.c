/* resize.c: images get the size at which their patches fit */
#include "headrace.h"
#include "resample.h"
#include "smart-resize.h"

typedef struct {
  guint64 min_pixels;
  guint64 max_pixels;
  guint64 patch_size;
  guint64 merge_size;
  gint smart_resize;
  gint reference;
} Resize;

typedef struct {
  HrResampler *resampler;
} Worker;

static const char *const smart_resize_names[] = { "hf", "qwen-vl-utils", NULL };
static const char *const reference_names[] = { "pillow", "torchvision", NULL };

#define MOST_PIXELS (1 << 30)

static const HrProp props[] = {
  HR_PROP_UINT (Resize, min_pixels, 1, MOST_PIXELS, 65536, "Fewest pixels of a resized image",
                .flags = HR_PROP_STREAM, .unit = "pixels"),
  HR_PROP_UINT (Resize, max_pixels, 1, MOST_PIXELS, 16777216,
                "Most pixels of a resized image; very long ones may end a little above",
                .flags = HR_PROP_STREAM, .unit = "pixels"),
  HR_PROP_UINT (Resize, patch_size, 1, 1024, 16, "Side of the model's patches",
                .flags = HR_PROP_STREAM, .unit = "pixels"),
  HR_PROP_UINT (Resize, merge_size, 1, 64, 2,
                "Patches a side that become one token: sides are multiples of patch-size times it",
                .flags = HR_PROP_STREAM, .unit = "patches"),
  HR_PROP_ENUM (Resize, smart_resize, smart_resize_names, 0,
                "Whose rule for the size: transformers', or qwen-vl-utils', which rounds otherwise",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Resize, reference, reference_names, 0,
                "Whose bicubic, to the bit: Pillow's up to 11.3, or torchvision's for uint8",
                .flags = HR_PROP_STREAM),
  HR_PROP_END
};

static gboolean
resize_check (gconstpointer data, GError **error)
{
  const Resize *self = data;
  if (self->min_pixels <= self->max_pixels)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "min-pixels=%" G_GUINT64_FORMAT " is more than max-pixels=%" G_GUINT64_FORMAT,
               self->min_pixels, self->max_pixels);
  return FALSE;
}

static gboolean
resize_worker_start (gconstpointer data, gpointer shared, gpointer worker, GError **error)
{
  (void)shared, (void)error;
  ((Worker *)worker)->resampler =
      hr_resampler_new (((const Resize *)data)->reference, hr_kernels ());
  return TRUE;
}

static void
resize_worker_stop (gconstpointer self, gpointer worker)
{
  (void)self;
  g_clear_pointer (&((Worker *)worker)->resampler, hr_resampler_free);
}

/* height and width of image @index: as imagefetch read them, else as decoded */
static gboolean
get_size (const HrBuffer *sample, guint index, guint32 *height, guint32 *width, GError **error)
{
  HrTensor *sizes = hr_buffer_get_tensor (sample, "image_sizes");
  HrTensor *pixels = hr_list_get_tensor (hr_buffer_get_list (sample, "images"), index);
  if (sizes != NULL && index < hr_tensor_get_shape (sizes)[0]) {
    const gint32 *size = (const gint32 *)hr_tensor_get_data (sizes) + 2 * index;
    *height = size[0];
    *width = size[1];
    if (size[0] > 0 && size[1] > 0)
      return TRUE;
  }
  if (pixels == NULL || hr_tensor_get_n_dims (pixels) != 3 || hr_tensor_get_shape (pixels)[0] < 1
      || hr_tensor_get_shape (pixels)[1] < 1) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "image %u is no uint8 [height, width, 3]", index);
    return FALSE;
  }
  *height = hr_tensor_get_shape (pixels)[0];
  *width = hr_tensor_get_shape (pixels)[1];
  return TRUE;
}

/* One decision, once: who comes first writes it down, and all others obey. */
static gboolean
resize_prepare (gconstpointer data, gpointer worker, HrBuffer *sample, HrOut *out, GError **error)
{
  const Resize *self = data;
  HrSmartResize rule = { self->smart_resize, self->patch_size * self->merge_size, self->min_pixels,
                         self->max_pixels };
  HrList *images = hr_buffer_get_list (sample, "images");
  guint n = images != NULL ? hr_list_get_length (images) : 0;
  (void)worker, (void)out;
  if (n == 0 || hr_buffer_get_tensor (sample, "image_targets") != NULL)
    return TRUE;
  HrMemory *memory = hr_memory_new (n * 2 * sizeof (gint32));
  gint32 *targets = (gint32 *)memory->data;
  for (guint i = 0; i < n; i++) {
    guint32 height, width;
    if (!get_size (sample, i, &height, &width, error)
        || !hr_smart_resize (&rule, height, width, &targets[2 * i], &targets[2 * i + 1], error)) {
      HrList *links = hr_buffer_get_list (sample, "image_links");
      const char *link =
          links != NULL && i < hr_list_get_length (links) ? hr_list_get_string (links, i) : NULL;
      if (link != NULL)
        g_prefix_error (error, "%s: ", link);
      hr_memory_unref (memory);
      return FALSE;
    }
  }
  hr_buffer_set_tensor (sample, "image_targets",
                        hr_tensor_new (memory, 0, HR_INT32, 2, (const gint64[]){ n, 2 }));
  return TRUE;
}

static gboolean
resize_each (gconstpointer self, gpointer worker, const HrBuffer *sample, guint index,
             HrTensor **member, HrOut *out, GError **error)
{
  HrTensor *targets = hr_buffer_get_tensor (sample, "image_targets");
  const gint64 *shape = hr_tensor_get_shape (*member);
  const gint64 *strides = hr_tensor_get_strides (*member);
  HrDType dtype = hr_tensor_get_dtype (*member);
  (void)self;
  if (hr_tensor_get_n_dims (*member) != 3 || shape[2] != 3 || dtype.code != HR_DTYPE_UINT
      || dtype.bits != 8 || strides[2] != 1 || strides[1] != 3
      || index >= hr_tensor_get_shape (targets)[0]) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "image %u is no uint8 [height, width, 3] with a size to get", index);
    return FALSE;
  }
  const gint32 *target = (const gint32 *)hr_tensor_get_data (targets) + 2 * index;
  /* nothing to do is done by passing it on */
  if (shape[0] == target[0] && shape[1] == target[1] && hr_tensor_is_contiguous (*member))
    return TRUE;
  HrMemory *pixels = hr_out_alloc (out, "images", (gsize)target[0] * target[1] * 3, error);
  if (pixels == NULL)
    return FALSE;
  hr_resampler_resize (((Worker *)worker)->resampler, hr_tensor_get_data (*member), shape[0],
                       shape[1], strides[0], pixels->data, target[0], target[1]);
  hr_tensor_unref (*member);
  *member = hr_tensor_new (pixels, 0, HR_UINT8, 3, (const gint64[]){ target[0], target[1], 3 });
  return TRUE;
}

HR_ELEMENT (
    resize, Resize, .summary = "Resize images so that their patches fit",
    .description =
        "Resizes each image of a sample, uint8 [height, width, 3], by smart_resize: both sides "
        "become multiples of patch-size times merge-size, the area lies between min-pixels and "
        "max-pixels, the shape is kept. The size is decided once, from image_sizes or the pixels, "
        "and written to \"image_targets\", int32 [n, 2] of height and width; where an element "
        "before "
        "has written it, that is obeyed. The filter is antialiased bicubic, the same bytes as the "
        "reference's. Images of which one side is more than 200 times the other are aspect-ratio.",
    .examples = (const char *const[]){ "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! "
                                       "imagedecode ! resize max-pixels=262144 on-error=skip ! "
                                       "fakesink",
                                       NULL },
    .needs = "images:pixels", .gives = "images:pixels, image_targets",
    .worker_size = sizeof (Worker), .props = props, .parallel = HR_PARALLEL_YES,
    .check = resize_check, .worker_start = resize_worker_start, .worker_stop = resize_worker_stop,
    .each_field = "images", .each_names = "image_links", .prepare = resize_prepare,
    .each = resize_each)
