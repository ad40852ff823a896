/* words.c: the stats document read, and its numbers in words */
#include "words.h"
#include <math.h>
#include <string.h>
#include "headrace.h"

gdouble
launch_get_number (JsonObject *object, const char *name)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, name) : NULL;

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node))
    return NAN;
  return json_node_get_double (node);
}

gint64
launch_get_whole (JsonObject *object, const char *name)
{
  gdouble value = launch_get_number (object, name);

  return isnan (value) ? 0 : (gint64)value;
}

const char *
launch_get_string (JsonObject *object, const char *name)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, name) : NULL;

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;
}

JsonObject *
launch_get_object (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

JsonArray *
launch_get_array (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

const char *
launch_plural (gint64 n)
{
  return n == 1 ? "" : "s";
}

void
launch_append_seconds (GString *text, gdouble seconds)
{
  if (seconds < 0.0995)
    g_string_append_printf (text, "%.1f ms", seconds * 1000);
  else if (seconds < 99.5)
    g_string_append_printf (text, "%.2f s", seconds);
  else
    g_string_append_printf (text, "%.0f s", seconds);
}

void
launch_append_duration (GString *text, gdouble seconds)
{
  gint64 whole = (gint64)MIN (seconds + 0.5, 1e9);

  if (whole < 60)
    g_string_append_printf (text, "%d s", (int)whole);
  else if (whole < 3600)
    g_string_append_printf (text, "%d min %02d s", (int)(whole / 60), (int)(whole % 60));
  else if (whole < 24 * 3600)
    g_string_append_printf (text, "%d h %02d min", (int)(whole / 3600), (int)(whole / 60 % 60));
  else
    g_string_append_printf (text, "%d d %02d h", (int)(whole / 86400), (int)(whole / 3600 % 24));
}

void
launch_append_bytes (GString *text, gdouble bytes)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
  guint unit = 0;

  while (bytes >= 1023.5 && unit + 1 < G_N_ELEMENTS (units)) {
    bytes /= 1024;
    unit++;
  }
  g_string_append_printf (text, unit == 0 || bytes >= 99.5 ? "%.0f %s" : "%.1f %s", bytes,
                          units[unit]);
}

gint64
launch_append_kinds (GString *text, JsonObject *kinds)
{
  g_autoptr (GList) names = kinds != NULL ? json_object_get_members (kinds) : NULL;
  gint64 sum = 0, below = G_MAXINT64;
  guint n = 0;

  for (GList *name = names; name != NULL; name = name->next)
    sum += launch_get_whole (kinds, name->data);
  if (text == NULL)
    return sum;
  /* few kinds: the next largest each time */
  while (below > 0) {
    gint64 next = 0;

    for (GList *name = names; name != NULL; name = name->next)
      if (launch_get_whole (kinds, name->data) < below)
        next = MAX (next, launch_get_whole (kinds, name->data));
    for (GList *name = names; name != NULL && next > 0; name = name->next)
      if (launch_get_whole (kinds, name->data) == next)
        g_string_append_printf (text, "%s%" G_GINT64_FORMAT " %s", n++ > 0 ? ", " : "", next,
                                (const char *)name->data);
    below = next;
  }
  return sum;
}

gboolean
launch_has_batches (JsonObject *stats)
{
  JsonArray *elements = launch_get_array (stats, "elements");

  for (guint i = 0; elements != NULL && i < json_array_get_length (elements); i++) {
    const char *factory =
        launch_get_string (json_array_get_object_element (elements, i), "factory");
    const HrElementDef *def = factory != NULL ? hr_registry_find (factory, NULL) : NULL;

    if (def != NULL && def->group != NULL)
      return TRUE;
  }
  return FALSE;
}
