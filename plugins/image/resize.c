/* resize.c: images get the size at which their patches fit */
#include "headrace.h"
#include "resample.h"
#include "sizing.h"

typedef struct {
  HR_SIZING_FIELDS
  gint reference;
} Resize;

typedef struct {
  HrResampler *resampler;
} Worker;

static const char *const reference_names[] = { "pillow", "torchvision", NULL };

static const HrProp props[] = {
  HR_SIZING_PROPS (Resize),
  HR_PROP_ENUM (Resize, reference, reference_names, 0,
                "Whose bicubic, to the bit: Pillow's up to 11.3, or torchvision's for uint8",
                .flags = HR_PROP_STREAM),
  HR_PROP_END
};

static gboolean
resize_check (gconstpointer data, GError **error)
{
  const Resize *self = data;

  return hr_sizing_check (self->min_pixels, self->max_pixels, error);
}

static gboolean
resize_check_place (gconstpointer self, HrElement *element, GError **error)
{
  (void)self;
  return hr_sizing_check_place (element, error) && hr_sizing_check_lists (element, error);
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

/* One decision, once: who comes first writes it down, and all others obey. */
static gboolean
resize_prepare (gconstpointer data, gpointer worker, HrBuffer *sample, HrOut *out, GError **error)
{
  const Resize *self = data;
  HrSmartResize rule = HR_SIZING_RULE (self);

  (void)worker, (void)out;
  return hr_sizing_decide (&rule, sample, error);
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
        "reference's. Images of which one side is more than 200 times the other are aspect-ratio. "
        "See docs/images.md.",
    .examples = (const char *const[]){ "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! "
                                       "imagedecode ! resize max-pixels=262144 on-error=skip ! "
                                       "fakesink",
                                       NULL },
    .needs = "images:pixels, batch?", .gives = "images:pixels, image_targets", .passes = "images",
    .worker_size = sizeof (Worker), .props = props, .parallel = HR_PARALLEL_YES,
    .check = resize_check, .check_place = resize_check_place, .worker_start = resize_worker_start,
    .worker_stop = resize_worker_stop, .each_field = "images", .each_names = "image_links",
    .prepare = resize_prepare, .each = resize_each, .cost = hr_sizing_get_cost)
