/* hrheavy.c: elements of bench/heavy
 *
 *   HR_PLUGIN_PATH=build/release/bench hr-launch '… ! imagefetch ! forgetsizes forget=true ! …' */
#include "headrace.h"
#include "image-header.h"
#include "sizing.h"

/* ---- forgetsizes: what stands behind it knows no costs, so it works in the order ---- */

typedef struct {
  gboolean forget;
} Forget;

static const HrProp forget_props[] = { HR_PROP_BOOL (Forget, forget, FALSE,
                                                     "Do it; else pass samples on as they are",
                                                     .flags = HR_PROP_STREAM),
                                       HR_PROP_END };

static gboolean
forget_process (gconstpointer data, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  (void)worker, (void)error;
  in = hr_buffer_make_writable (in);
  if (((const Forget *)data)->forget)
    hr_buffer_remove (in, "image_sizes");
  hr_out_push (out, in);
  return TRUE;
}

HR_ELEMENT (forgetsizes, Forget, .summary = "Take the sizes of images away",
            .description = "Removes image_sizes.", .props = forget_props, .light = TRUE,
            .process = forget_process)

/* ---- decodesim: takes as long as decoding would, on any number of processors ---- */

typedef struct {
  gdouble pixel_time;
} Sim;

static const HrProp sim_props[] = {
  HR_PROP_DOUBLE (Sim, pixel_time, 0, 1e6, 4, "Nanoseconds it sleeps a pixel"), HR_PROP_END
};

static gboolean
sim_each (gconstpointer data, gpointer worker, const HrBuffer *sample, guint index,
          HrTensor **member, HrOut *out, GError **error)
{
  HrImageHeader header;

  (void)worker, (void)sample, (void)index;
  if (!hr_image_header_read (hr_tensor_get_data (*member), hr_tensor_get_n_bytes (*member),
                             G_MAXUINT64, &header, error))
    return FALSE;
  hr_out_sleep (out, (gint64)(((const Sim *)data)->pixel_time * header.width * header.height));
  return TRUE;
}

HR_ELEMENT (decodesim, Sim, .summary = "Take the time of decoding",
            .description = "Sleeps for each image as long as its pixels say, and passes it on.",
            .needs = "images:encoded", .props = sim_props, .parallel = HR_PARALLEL_YES,
            .waits = TRUE, .each_field = "images", .each_names = "image_links", .each = sim_each,
            .cost = hr_sizing_get_cost)

HR_PLUGIN (heavy, "1.0", "Elements of a benchmark", &hr_element_forgetsizes, &hr_element_decodesim)
