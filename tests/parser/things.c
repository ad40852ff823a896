/* things.c: an element with a property of each type */
#include "things.h"

const char *const colours[] = { "red", "green", "blue", NULL };

const HrProp thing_props[] = {
  HR_PROP_BOOL (Thing, flag, FALSE, "A switch"),
  HR_PROP_INT (Thing, shift, -8, 8, 0, "A signed number", .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Thing, count, 1, 64, 3, "A count", .unit = "things", .flags = HR_PROP_LIVE),
  HR_PROP_DOUBLE (Thing, ratio, 0, 1, 0.1, "A ratio"),
  HR_PROP_SIZE (Thing, max_bytes, 1, G_MAXUINT64, 2 * HR_GIB, "A size", .flags = HR_PROP_LIVE),
  HR_PROP_DURATION (Thing, step_time, 0, 3600 * HR_SECOND, 200 * HR_MSEC, "A time"),
  HR_PROP_STRING (Thing, mark, "none", "A text"),
  HR_PROP_ENUM (Thing, colour, colours, 1, "A choice"),
  HR_PROP_STRV (Thing, keep, "id,source", "A list"),
  HR_PROP_END
};

static gboolean
thing_process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  (void)self;
  (void)worker;
  (void)out;
  (void)error;
  hr_buffer_unref (in);
  return TRUE;
}

HR_ELEMENT (thing, Thing, .summary = "Has a property of each type", .props = thing_props,
            .parallel = HR_PARALLEL_YES, .process = thing_process)
