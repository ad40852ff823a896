/* brightness.c: an element outside the tree; docs/write-an-element.md goes through it */
#include <headrace.h>

typedef struct {
  double min;
} Brightness;

static const HrProp props[] = {
  HR_PROP_DOUBLE (Brightness, min, 0, 255, 0, "A sample with an image darker than this is bad",
                  .flags = HR_PROP_STREAM),
  HR_PROP_END,
};

static float
mean (const HrTensor *image)
{
  const guint8 *bytes = hr_tensor_get_data (image);
  gsize n = hr_tensor_get_n_bytes (image);
  guint64 sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += bytes[i];
  return (float)((double)sum / (double)n);
}

static gboolean
brightness_process (gconstpointer data, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
                    GError **error)
{
  const Brightness *self = data;
  g_autoptr (HrBuffer) sample = hr_buffer_make_writable (in);
  HrList *images = hr_buffer_get_list (sample, "images");
  HrMemory *memory = hr_out_alloc (out, "brightness", sizeof (float), error);
  float darkest = 255;

  if (memory == NULL)
    return FALSE;
  for (guint i = 0; images && i < hr_list_get_length (images); i++)
    darkest = MIN (darkest, mean (hr_list_get_tensor (images, i)));
  *(float *)memory->data = darkest;
  hr_buffer_set_tensor (sample, "brightness", hr_tensor_new (memory, 0, HR_FLOAT32, 0, NULL));
  if (darkest < self->min) {
    hr_set_data_error (error, HR_DATA_ERROR_OTHER,
                       "an image has a mean of %.1f, at least %g is wanted", darkest, self->min);
    return FALSE;
  }
  hr_out_push (out, g_steal_pointer (&sample));
  return TRUE;
}

HR_ELEMENT (brightness, Brightness, .summary = "Tell how bright images are",
            .description = "Adds \"brightness\", float32 []: the mean of all bytes of the darkest "
                           "image, 0 to 255. A sample below min is bad (other).",
            .needs = "images:pixels", .gives = "brightness", .props = props,
            .parallel = HR_PARALLEL_YES, .process = brightness_process)

HR_PLUGIN (brightness, "1.0", "An example", &hr_element_brightness)
