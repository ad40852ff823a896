/* hr-propose.c: who writes a field gets the allocator that its consumer proposes
 *
 * From the consumer the graph is walked upstream, once a field, to whoever writes it: the element
 * that has it in `gives`, or copies it (rewrites_of). An element that may hand on what it got
 * (passes) is asked, and so is whoever wrote that. */
#include "hr-field-set.h"
#include "hr-pipeline-private.h"

static gboolean
lists (const char *list, const char *name)
{
  g_autoptr (GArray) specs = hr_field_specs (list);

  for (guint i = 0; i < specs->len; i++)
    if (g_str_equal (g_array_index (specs, HrFieldSpec, i).name, name))
      return TRUE;
  return FALSE;
}

static const char *const *
rewritten (const HrElement *element)
{
  static const char *const none[] = { NULL };
  const char *const *names =
      element->def->rewrites_of != NULL ? element->def->rewrites_of (element->self) : NULL;

  return names != NULL ? names : none;
}

static gboolean
writes (const HrElement *element, const char *field)
{
  return lists (element->def->gives, field) || lists (element->def->gives, "*")
         || g_strv_contains (rewritten (element), field);
}

typedef struct {
  const char *field;
  HrAllocator *allocator;
} Proposal;

static HrWalk
propose_to (HrElement *from, gpointer data)
{
  const Proposal *proposal = data;
  const HrElementDef *def = from->def;

  if (writes (from, proposal->field)) {
    hr_run_set_allocator (from->run, proposal->field, proposal->allocator);
    return lists (def->passes, proposal->field) ? HR_WALK_ON : HR_WALK_TURN;
  }
  /* one of the same name upstream of who takes it is another one */
  return lists (def->takes, proposal->field) || lists (def->takes, "*") ? HR_WALK_TURN : HR_WALK_ON;
}

static void
propose (HrElement *element, const char *field, HrAllocator *allocator)
{
  Proposal proposal = { field, allocator };

  hr_element_walk_upstream (element, propose_to, &proposal);
}

/* names that its table knows */
static HrWalk
collect_names (HrElement *from, gpointer names)
{
  g_autoptr (GArray) specs = hr_field_specs (from->def->gives);

  for (guint i = 0; i < specs->len; i++)
    g_hash_table_add (names, (gpointer)g_array_index (specs, HrFieldSpec, i).name);
  for (const char *const *name = rewritten (from); *name != NULL; name++)
    g_hash_table_add (names, (gpointer)g_intern_string (*name));
  return HR_WALK_ON;
}

void
hr_element_propose_allocator (HrElement *element, const char *field, HrAllocator *allocator)
{
  g_autoptr (GHashTable) names = NULL;
  GHashTableIter iter;
  gpointer name;

  g_return_if_fail (HR_IS_ELEMENT (element) && field != NULL && allocator != NULL);
  g_return_if_fail (element->run != NULL && !element->run->started);
  if (!g_str_equal (field, "*")) {
    propose (element, g_intern_string (field), allocator);
    return;
  }
  names = g_hash_table_new (NULL, NULL);
  hr_element_walk_upstream (element, collect_names, names);
  g_hash_table_iter_init (&iter, names);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    propose (element, name, allocator); /* "*" among them: what tables do not know */
}
