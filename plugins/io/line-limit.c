/* line-limit.c: how long a line may be, as the elements behind a source say */
#include "line-limit.h"

#define PROPERTY "max-line-bytes"
#define UNKNOWN_LIMIT (64 * 1024 * 1024)

/* of several branches the one that takes the longest lines */
static HrWalk
ask_for_limit (HrElement *element, gpointer data)
{
  guint64 *most = data, limit = 0;

  if (g_object_class_find_property (G_OBJECT_GET_CLASS (element), PROPERTY) == NULL)
    return HR_WALK_ON;
  g_object_get (element, PROPERTY, &limit, NULL);
  *most = MAX (*most, limit > 0 ? limit : UNKNOWN_LIMIT);
  return HR_WALK_TURN;
}

gsize
hr_line_limit (HrOut *out, guint64 wanted)
{
  guint64 most = 0;

  if (wanted > 0)
    return wanted;
  hr_element_walk_downstream (hr_out_get_element (out), ask_for_limit, &most);
  return most > 0 ? most : UNKNOWN_LIMIT;
}
