/* a sound plugin of two elements */
#include "hr-plugin.h"

typedef struct {
  guint64 n;
} One;

static const HrProp props[] = { HR_PROP_UINT (One, n, 0, 9, 1, "A number"), HR_PROP_END };

static gboolean
one_process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  (void)self;
  (void)worker;
  (void)out;
  (void)error;
  hr_buffer_unref (in);
  return TRUE;
}

HR_ELEMENT (regone, One, .summary = "The first of two", .needs = "a:b", .gives = "c, d:e",
            .takes = "f", .props = props, .process = one_process)
HR_ELEMENT (regtwo, One, .summary = "The second of two", .process = one_process)
HR_PLUGIN (good, "1.2", "Two elements", &hr_element_regone, &hr_element_regtwo)
