/* line-limit.c: how long a line may be, as the elements behind a source say */
#include "line-limit.h"

#define PROPERTY "max-line-bytes"
#define UNKNOWN_LIMIT (64 * 1024 * 1024)

gsize
hr_line_limit (HrOut *out, guint64 wanted)
{
  HrElement *element = hr_out_get_element (out);

  if (wanted > 0)
    return wanted;
  while ((element = hr_element_get_next (element, 0)))
    if (g_object_class_find_property (G_OBJECT_GET_CLASS (element), PROPERTY)) {
      guint64 limit = 0;

      g_object_get (element, PROPERTY, &limit, NULL);
      return limit > 0 ? limit : UNKNOWN_LIMIT;
    }
  return UNKNOWN_LIMIT;
}
