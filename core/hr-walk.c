/* hr-walk.c: all elements upstream or downstream of one, each once */
#include "hr-element.h"

typedef struct {
  HrElement *(*follow) (HrElement *element, guint pad);
  HrWalkFunc visit;
  gpointer data;
  GHashTable *seen; /* branches may meet again */
} Walk;

static HrElement *
walk (const Walk *walker, HrElement *element)
{
  HrElement *next, *end = NULL;

  for (guint pad = 0; end == NULL && (next = walker->follow (element, pad)) != NULL; pad++) {
    HrWalk then;

    if (!g_hash_table_add (walker->seen, next))
      continue;
    then = walker->visit (next, walker->data);
    if (then == HR_WALK_END)
      end = next;
    else if (then == HR_WALK_ON)
      end = walk (walker, next);
  }
  return end;
}

HrElement *
hr_element_walk_upstream (HrElement *element, HrWalkFunc visit, gpointer data)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  const Walk walker = { hr_element_get_previous, visit, data, seen };

  return walk (&walker, element);
}

HrElement *
hr_element_walk_downstream (HrElement *element, HrWalkFunc visit, gpointer data)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  const Walk walker = { hr_element_get_next, visit, data, seen };

  return walk (&walker, element);
}
