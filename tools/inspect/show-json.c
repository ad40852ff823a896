/* show-json.c: elements as JSON, for programs and for the pages in docs/elements */
#include "inspect.h"
#include "hr-json.h"

static void
add_strings (JsonBuilder *json, const char *name, const char *const *values)
{
  json_builder_set_member_name (json, name);
  json_builder_begin_array (json);
  for (; values != NULL && *values != NULL; values++)
    json_builder_add_string_value (json, *values);
  json_builder_end_array (json);
}

void
inspect_list_json (JsonBuilder *json)
{
  g_autoptr (GPtrArray) rows = hr_registry_list ();

  json_builder_begin_object (json);
  json_builder_set_member_name (json, "elements");
  json_builder_begin_array (json);
  for (guint i = 0; i < rows->len; i++) {
    const HrElementInfo *row = g_ptr_array_index (rows, i);

    json_builder_begin_object (json);
    hr_json_add_string (json, "name", row->name);
    hr_json_add_string (json, "plugin", row->plugin);
    hr_json_add_string (json, "file", row->file);
    hr_json_add_string (json, "summary", row->summary);
    hr_json_add_string (json, "needs", row->needs);
    hr_json_add_string (json, "gives", row->gives);
    hr_json_add_string (json, "takes", row->takes);
    json_builder_end_object (json);
  }
  json_builder_end_array (json);
  json_builder_end_object (json);
}

/* values are texts as a pipeline would hold them: "2GiB", "200ms" */
static void
add_prop (JsonBuilder *json, const HrProp *prop)
{
  g_autofree char *least = NULL;
  g_autofree char *greatest = NULL;
  g_autofree char *range = inspect_range (prop);
  g_autofree char *initial = hr_prop_get_default (prop);

  hr_prop_get_range (prop, &least, &greatest);
  json_builder_begin_object (json);
  hr_json_add_string (json, "name", hr_prop_name (prop));
  hr_json_add_string (json, "type", hr_prop_type_name (prop));
  hr_json_add_string (json, "default", initial);
  hr_json_add_string (json, "min", least);
  hr_json_add_string (json, "max", greatest);
  hr_json_add_string (json, "range", range);
  if (prop->type == HR_PROP_TYPE_ENUM)
    add_strings (json, "choices", prop->choices);
  hr_json_add_string (json, "unit", prop->unit);
  hr_json_add_bool (json, "live", (prop->flags & HR_PROP_LIVE) != 0);
  hr_json_add_bool (json, "auto", (prop->flags & HR_PROP_AUTO) != 0);
  hr_json_add_bool (json, "stream", (prop->flags & HR_PROP_STREAM) != 0);
  hr_json_add_bool (json, "required", (prop->flags & HR_PROP_REQUIRED) != 0);
  hr_json_add_string (json, "doc", prop->doc);
  json_builder_end_object (json);
}

static void
add_props (JsonBuilder *json, const char *name, const HrProp *props)
{
  json_builder_set_member_name (json, name);
  json_builder_begin_array (json);
  for (; props != NULL && props->field != NULL; props++)
    add_prop (json, props);
  json_builder_end_array (json);
}

void
inspect_element_json (JsonBuilder *json, const HrElementDef *def)
{
  const char *file = NULL;
  const HrPluginDef *plugin = hr_registry_get_plugin (def, &file);
  g_autofree char *traits = inspect_traits (def);

  json_builder_begin_object (json);
  hr_json_add_string (json, "name", def->name);
  hr_json_add_string (json, "summary", def->summary);
  hr_json_add_string (json, "description", def->description);
  hr_json_add_string (json, "kind", hr_element_def_kind (def));
  hr_json_add_string (json, "each", def->each_field);
  hr_json_add_bool (json, "parallel", def->parallel == HR_PARALLEL_YES);
  hr_json_add_string (json, "traits", traits != NULL ? traits : "");
  hr_json_add_string (json, "needs", def->needs != NULL ? def->needs : "");
  hr_json_add_string (json, "gives", def->gives != NULL ? def->gives : "");
  hr_json_add_string (json, "takes", def->takes != NULL ? def->takes : "");
  hr_json_add_string (json, "plugin", plugin != NULL ? plugin->name : NULL);
  hr_json_add_string (json, "version", plugin != NULL ? plugin->version : NULL);
  hr_json_add_string (json, "file", file);
  add_props (json, "properties", def->props);
  add_props (json, "common_properties", hr_common_props);
  add_strings (json, "examples", def->examples);
  hr_json_add_bool (json, "launched", inspect_is_launched (def));
  json_builder_end_object (json);
}
