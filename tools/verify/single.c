/* single.c: a pipeline that gives its samples one by one */
#include "single.h"
#include <string.h>

static gboolean
needs_batch (const HrElementDef *def)
{
  g_auto (GStrv) needs = g_strsplit (def->needs != NULL ? def->needs : "", ",", -1);

  for (char **need = needs; *need != NULL; need++)
    if (g_str_equal (g_strstrip (*need), "batch"))
      return TRUE;
  return FALSE;
}

/* what would not work on single samples, or not give them on */
static gboolean
is_left_out (const HrElementDef *def)
{
  return def->consume != NULL || def->pullable || def->group != NULL || def->block != NULL
         || def->lookahead != NULL || needs_batch (def);
}

/* FALSE: here is no program */
static gboolean
works_alone (HrElement *element, const HrElementDef *def, GError **error)
{
  if (!def->pushable && def->take == NULL)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT, "%s \"%s\" %s", def->name,
               hr_element_get_name (element),
               def->pushable ? "gets its buffers from a program; use another element"
                             : "gives its samples to a program; leave it out");
  return FALSE;
}

static gboolean
is_straight (HrPipeline *pipeline, GError **error)
{
  guint n = hr_pipeline_get_n_elements (pipeline);

  for (guint i = 0; i < n; i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);
    const HrElementDef *def = hr_registry_find (hr_element_get_factory (element), error);
    HrElement *next = i + 1 < n ? hr_pipeline_get_nth_element (pipeline, i + 1) : NULL;

    if (def == NULL || !works_alone (element, def, error))
      return FALSE;
    if (def->route == NULL && def->merge == NULL && hr_element_get_next (element, 0) == next)
      continue;
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                 "\"%s\": only a pipeline without branches can be checked; give each branch alone",
                 hr_element_get_name (element));
    return FALSE;
  }
  return TRUE;
}

/* serial, memory, on-error, …: as they are */
static void
copy_settings (HrPipeline *from, HrPipeline *to)
{
  guint n;
  g_autofree GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (from), &n);

  for (guint i = 0; i < n; i++) {
    g_auto (GValue) value = G_VALUE_INIT;

    if ((specs[i]->flags & G_PARAM_READWRITE) != G_PARAM_READWRITE)
      continue;
    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (G_OBJECT (from), specs[i]->name, &value);
    g_object_set_property (G_OBJECT (to), specs[i]->name, &value);
  }
}

/* the only one; NULL with an error */
static HrElement *
find_sink (HrPipeline *pipeline, GError **error)
{
  HrElement *sink = NULL;
  guint n = 0;

  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);
    const HrElementDef *def = hr_registry_find (hr_element_get_factory (element), error);

    if (def == NULL || !works_alone (element, def, error))
      return NULL;
    if (def->consume == NULL && !def->pullable)
      continue;
    sink = element;
    n++;
  }
  if (n == 1)
    return sink;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "%u sinks: only a pipeline with one can be checked; give each branch alone", n);
  return NULL;
}

HrPipeline *
verify_pulled (HrPipeline *pipeline, GError **error)
{
  HrElement *sink = find_sink (pipeline, error);
  g_autoptr (GString) text = NULL;
  g_autofree char *canonical = hr_pipeline_to_string (pipeline), *words = NULL, *link = NULL;
  const char *at;

  if (sink == NULL)
    return NULL;
  words = hr_element_to_string (sink);
  link = g_strconcat ("! ", words, NULL);
  text = g_string_new (canonical);
  at = g_strrstr (text->str, link);
  g_return_val_if_fail (at != NULL, NULL);
  g_string_erase (text, at - text->str, (gssize)strlen (link));
  g_string_insert (text, at - text->str, "! appsink");
  return hr_parse_launch (text->str, error);
}

HrPipeline *
verify_single (HrPipeline *pipeline, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean resized = FALSE, patches = FALSE;
  HrPipeline *single;

  if (!is_straight (pipeline, error))
    return NULL;
  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);
    const char *factory = hr_element_get_factory (element);
    g_autofree char *words = NULL;

    if (is_left_out (hr_registry_find (factory, NULL)))
      continue;
    resized |= g_str_equal (factory, "resize");
    patches |= g_str_equal (factory, "patchify");
    words = hr_element_to_string (element);
    g_string_append_printf (text, "%s ! ", words);
  }
  if (resized && !patches)
    g_string_append (text, "patchify dtype=uint8 ! ");
  g_string_append (text, "appsink");
  single = hr_parse_launch (text->str, error);
  if (single != NULL)
    copy_settings (pipeline, single);
  return single;
}

/* ---- as JSON ---- */

static JsonNode *
value_node (const GValue *value)
{
  JsonNode *node = json_node_alloc ();
  JsonArray *array;

  if (G_VALUE_HOLDS_BOOLEAN (value))
    return json_node_init_boolean (node, g_value_get_boolean (value));
  if (G_VALUE_HOLDS_INT64 (value))
    return json_node_init_int (node, g_value_get_int64 (value));
  if (G_VALUE_HOLDS_UINT64 (value))
    return json_node_init_int (node, (gint64)MIN (g_value_get_uint64 (value), G_MAXINT64));
  if (G_VALUE_HOLDS_DOUBLE (value))
    return json_node_init_double (node, g_value_get_double (value));
  if (G_VALUE_HOLDS_ENUM (value)) {
    g_autoptr (GTypeClass) klass = g_type_class_ref (G_VALUE_TYPE (value));
    const GEnumValue *choice = g_enum_get_value ((GEnumClass *)klass, g_value_get_enum (value));

    return json_node_init_string (node, choice->value_nick);
  }
  if (G_VALUE_HOLDS_STRING (value) && g_value_get_string (value) != NULL)
    return json_node_init_string (node, g_value_get_string (value));
  if (!G_VALUE_HOLDS (value, G_TYPE_STRV))
    return json_node_init_null (node);
  array = json_array_new ();
  for (char **item = g_value_get_boxed (value); item != NULL && *item != NULL; item++)
    json_array_add_string_element (array, *item);
  json_node_init (node, JSON_NODE_ARRAY);
  json_node_take_array (node, array);
  return node;
}

static JsonObject *
describe_properties (HrElement *element)
{
  JsonObject *object = json_object_new ();
  guint n;
  g_autofree GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (G_OBJECT (element)), &n);

  for (guint i = 0; i < n; i++) {
    g_auto (GValue) value = G_VALUE_INIT;

    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (G_OBJECT (element), specs[i]->name, &value);
    json_object_set_member (object, specs[i]->name, value_node (&value));
  }
  return object;
}

JsonNode *
verify_describe (HrPipeline *pipeline)
{
  JsonArray *array = json_array_new ();
  JsonNode *node = json_node_new (JSON_NODE_ARRAY);

  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);
    JsonObject *object = json_object_new ();

    json_object_set_string_member (object, "factory", hr_element_get_factory (element));
    json_object_set_string_member (object, "name", hr_element_get_name (element));
    json_object_set_object_member (object, "properties", describe_properties (element));
    json_array_add_object_element (array, object);
  }
  json_node_take_array (node, array);
  return node;
}
