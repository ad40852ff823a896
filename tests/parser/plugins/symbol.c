/* a plugin that calls what nobody has */
#include "hr-plugin.h"

gboolean hr_no_library_has_this (void);

static gboolean
process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  (void)self;
  (void)worker;
  (void)out;
  (void)error;
  hr_buffer_unref (in);
  return hr_no_library_has_this ();
}

HR_ELEMENT (regsymbol, int, .summary = "Calls what nobody has", .process = process)
HR_PLUGIN (symbol, "1", "Does not load", &hr_element_regsymbol)
