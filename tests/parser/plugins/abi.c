/* a plugin whose tables have another size */
#include "hr-plugin.h"

static gboolean
process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  (void)self;
  (void)worker;
  (void)out;
  (void)error;
  hr_buffer_unref (in);
  return TRUE;
}

static const HrElementDef old = { .abi_size = sizeof (HrElementDef) - 8,
                                  .name = "regold",
                                  .summary = "Made long ago",
                                  .self_size = 8,
                                  .process = process };
HR_PLUGIN (abi, "0.0", "Made long ago", &old)
