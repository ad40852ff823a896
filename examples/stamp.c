/* stamp.c: an element outside the tree: gives each sample a text with its number.
 *
 *   cc -shared -fPIC stamp.c -o hrstamp.so $(pkg-config --cflags --libs headrace-1.0)
 *   HR_PLUGIN_PATH=. hr-launch 'fakesrc num-buffers=3 ! stamp prefix=row- ! npysink location=out'
 */
#include <headrace.h>

typedef struct {
  char *prefix;
  guint64 digits;
} Stamp;

static const HrProp props[] = {
  HR_PROP_STRING (Stamp, prefix, "", "Text in front of the number", .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Stamp, digits, 1, 18, 6, "Digits, filled with zeros", .flags = HR_PROP_STREAM),
  HR_PROP_END
};

static gboolean
stamp_process (gconstpointer data, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
               GError **error G_GNUC_UNUSED)
{
  const Stamp *self = data;
  HrBuffer *sample = hr_buffer_make_writable (in);
  g_autofree char *text =
      g_strdup_printf ("%s%0*" G_GINT64_FORMAT, self->prefix, (int)self->digits, sample->sample);

  hr_buffer_set_string (sample, "stamp", text);
  hr_out_push (out, sample);
  return TRUE;
}

HR_ELEMENT (
    stamp, Stamp, .summary = "Give each sample a text with its number",
    .description =
        "Adds the string field `stamp`: prefix, then the number of the sample in the order.",
    .gives = "stamp", .props = props, .parallel = HR_PARALLEL_YES, .light = TRUE,
    .process = stamp_process)

HR_PLUGIN (stamp, "1.0", "An example", &hr_element_stamp)
