/* verdict.c: what would help against the bottleneck, and how far */
#include "verdict.h"
#include <string.h>
#include "headrace.h"

typedef struct {
  const char *name, *factory;
  gint64 workers;
  gdouble busy; /* part of the run in which it could do no more: works / (workers * wall) */
} Element;

static gdouble
number (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_double (node) : 0;
}

static Element
read_element (JsonObject *object, gdouble wall)
{
  Element element = {
    .name = json_object_get_string_member_with_default (object, "name", ""),
    .factory = json_object_get_string_member_with_default (object, "factory", ""),
    .workers = MAX (1, (gint64)number (object, "workers")),
  };

  element.busy = wall > 0 ? number (object, "working_s") / (wall * (gdouble)element.workers) : 0;
  return element;
}

/* What limits the run once @name does not: the busiest of the others. */
static Element
find_next (JsonArray *elements, const char *name, gdouble wall)
{
  Element next = { NULL };

  for (guint i = 0; i < json_array_get_length (elements); i++) {
    Element element = read_element (json_array_get_object_element (elements, i), wall);

    if (strcmp (element.name, name) != 0 && element.busy > next.busy)
      next = element;
  }
  return next;
}

static gboolean
has_factory (JsonArray *elements, const char *factory)
{
  for (guint i = 0; i < json_array_get_length (elements); i++)
    if (strcmp (json_object_get_string_member_with_default (
                    json_array_get_object_element (elements, i), "factory", ""),
                factory)
        == 0)
      return TRUE;
  return FALSE;
}

static gboolean
is_parallel (const Element *element)
{
  const HrElementDef *def = hr_registry_find (element->factory, NULL);

  return def != NULL && (def->parallel == HR_PARALLEL_YES || def->each != NULL);
}

static char *
advise (JsonArray *elements, const Element *element, const char *kind)
{
  if (strcmp (kind, "trainer") == 0)
    return g_strdup ("the data is there in time; only a faster trainer would make this faster");
  if (strcmp (kind, "network-latency") == 0) {
    if (!has_factory (elements, "prefetchqueue"))
      return g_strdup (
          "answers are slow: a prefetchqueue before the sink, or more concurrency, would "
          "hide that");
    return g_strdup (
        "answers are slow: more concurrency, or more max-batches ahead, would hide that");
  }
  if (strcmp (kind, "network-bandwidth") == 0)
    return g_strdup ("the line or the server is full: fewer bytes, or another place to read from");
  if (strcmp (kind, "cpu") == 0 && is_parallel (element))
    return g_strdup_printf ("workers=%" G_GINT64_FORMAT " would help while processors are free",
                            element->workers * 2);
  if (strcmp (kind, "cpu") == 0)
    return g_strdup ("it has one worker only; less work for it would help");
  if (strcmp (kind, "copy") == 0)
    return g_strdup ("bytes are copied: the stats say where");
  if (strcmp (kind, "transfer") == 0)
    return g_strdup ("bytes go to the device too late: send fewer, or earlier");
  return NULL;
}

char *
launch_advice (JsonObject *stats, const char *name, const char *kind)
{
  gdouble wall = number (stats, "wall_s");
  JsonNode *node = json_object_get_member (stats, "elements");
  Element element = { .workers = 1 }, next;
  JsonArray *elements;
  g_autofree char *advice = NULL;

  if (node == NULL || !JSON_NODE_HOLDS_ARRAY (node))
    return NULL;
  elements = json_node_get_array (node);
  for (guint i = 0; i < json_array_get_length (elements); i++) {
    Element other = read_element (json_array_get_object_element (elements, i), wall);

    if (strcmp (other.name, name) == 0)
      element = other;
  }
  advice = advise (elements, &element, kind);
  next = find_next (elements, name, wall);
  /* a prediction only where the numbers carry one */
  if (advice == NULL || next.name == NULL || next.busy < 0.02 || next.busy > element.busy)
    return g_steal_pointer (&advice);
  return g_strdup_printf ("%s, up to %.1f times this speed, where %s is next", advice,
                          MIN (element.busy, 1) / next.busy, next.name);
}
