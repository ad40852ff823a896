/* hr-front.c: the elements that know how long samples are */
#include "hr-front.h"
#include "hr-checkpoint.h"
#include "hr-field-set.h"
#include "hr-json.h"

/* ---- which they are ---- */

static gboolean
gives (const HrElementDef *def, const char *name, const char *form)
{
  g_autoptr (GArray) fields = hr_field_specs (def->gives);
  gboolean found = FALSE;

  for (guint i = 0; i < fields->len; i++) {
    const HrFieldSpec *field = &g_array_index (fields, HrFieldSpec, i);

    found |=
        g_str_equal (field->name, name) && (form == NULL || g_strcmp0 (field->form, form) == 0);
  }
  return found;
}

/* a mix changes only what follows what */
static HrElement *
next_of (const HrElement *element)
{
  HrElement *next = element->outputs->len == 1 ? ((HrLink *)element->outputs->pdata[0])->to : NULL;

  return next != NULL && next->def->mixes != NULL ? next_of (next) : next;
}

/* one after the other, each sample for itself, and no pixels yet */
static gboolean
may_be_in_front (const HrElement *element)
{
  const HrElementDef *def = element->def;

  return element->inputs->len == 1 && element->outputs->len == 1 && def->group == NULL
         && !gives (def, "images", "pixels");
}

static gboolean
has_tokens_behind (const HrElement *element)
{
  for (; element != NULL; element = next_of (element))
    if (gives (element->def, "input_ids", NULL))
      return TRUE;
  return FALSE;
}

GPtrArray *
hr_front_find (HrElement *source, GError **error)
{
  g_autoptr (GPtrArray) front = g_ptr_array_new ();
  HrElement *element = source;
  guint n = 0;

  do {
    g_ptr_array_add (front, element);
    if (gives (element->def, "input_ids", NULL))
      return g_steal_pointer (&front);
    if (gives (element->def, "image_sizes", NULL))
      n = front->len;
    element = next_of (element);
  } while (element != NULL && may_be_in_front (element));
  if (n > 0 && !has_tokens_behind (element)) {
    g_ptr_array_set_size (front, (gint)n);
    return g_steal_pointer (&front);
  }
  g_set_error (
      error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
      "scan=lengths: no element behind %s \"%s\" tells how long samples are before batches "
      "are made and pixels are decoded\nput tokenize (or, for images alone, imagefetch) "
      "there: … ! jsonlparse ! imagefetch ! tokenize ! imagedecode ! resize ! batch ! …",
      source->def->name, source->common.name);
  return NULL;
}

/* ---- what lengths depend on ---- */

/* properties of sources that say in which order lines come, and how often, not what they are */
static gboolean
is_order (const HrElementDef *def, const HrProp *prop)
{
  static const char *const names[] = { "shuffle",       "seed",   "epochs", "block_bytes",
                                       "window_blocks", "weight", "repeat" };

  for (guint i = 0; def->plans && i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (prop->field, names[i]))
      return TRUE;
  return FALSE;
}

static void
add_text (JsonBuilder *into, const char *name, const char *value)
{
  json_builder_set_member_name (into, name);
  json_builder_add_string_value (into, value != NULL ? value : "");
}

static void
describe (JsonBuilder *into, HrElement *element)
{
  const HrElementDef *def = element->def;
  const HrProp *props = def->props;

  json_builder_begin_object (into);
  add_text (into, "element", def->name);
  for (guint i = 0; props != NULL && props[i].field != NULL; i++)
    if ((props[i].flags & HR_PROP_STREAM) && !is_order (def, &props[i])) {
      g_autofree char *value = hr_prop_get_string (element->self, &props[i]);

      add_text (into, hr_prop_name (&props[i]), value);
    }
  if (def->identify != NULL) {
    g_autofree char *identity = def->identify (element->self, element->run->shared);

    add_text (into, " identity", identity);
  }
  /* a bad sample is a hole, or never got so far */
  add_text (into, " on-error", hr_fault_skips (element->run) ? "skip" : "fail");
  json_builder_end_object (into);
}

char *
hr_front_describe (GPtrArray *front)
{
  g_autoptr (JsonBuilder) into = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;

  json_builder_begin_array (into);
  json_builder_add_string_value (into, HR_VERSION);
  for (guint i = 0; i < front->len; i++)
    describe (into, front->pdata[i]);
  json_builder_end_array (into);
  root = json_builder_get_root (into);
  return hr_json_write (root, FALSE);
}

/* ---- a pipeline of them ---- */

static gboolean
needs (const HrElementDef *def, const char *name)
{
  g_autoptr (GArray) fields = hr_field_specs (def->needs);
  gboolean found = FALSE;

  for (guint i = 0; i < fields->len; i++)
    found |= g_str_equal (g_array_index (fields, HrFieldSpec, i).name, name);
  return found;
}

gboolean
hr_element_is_measured (HrElement *element, const char *field)
{
  g_return_val_if_fail (HR_IS_ELEMENT (element), FALSE);
  for (HrElement *at = next_of (element); at != NULL; at = next_of (at))
    if (needs (at->def, field))
      return FALSE;
  return element->pipeline != NULL && element->pipeline->measures;
}

static const HrElementDef lengths_sink = { .abi_size = sizeof (HrElementDef),
                                           .name = "lengths",
                                           .summary = "What the scan takes its lengths from",
                                           .pullable = TRUE };

static HrElement *
copy_element (HrElement *element)
{
  HrElement *copy = hr_element_new (element->def);
  const HrProp *props = element->def->props;

  for (guint i = 0; props != NULL && props[i].field != NULL; i++) {
    g_autofree char *value = hr_prop_get_string (element->self, &props[i]);

    if (element->set[i] && value != NULL && !is_order (element->def, &props[i]))
      hr_element_set_from_string (copy, hr_prop_name (&props[i]), value, NULL);
  }
  hr_props_clear (&copy->common, hr_common_props);
  copy->common = element->common;
  copy->common.name = g_strdup (element->common.name);
  copy->common.max_errors = g_strdup (element->common.max_errors);
  copy->common.ordered = TRUE;
  hr_element_copy_marks (copy, element);
  return copy;
}

HrPipeline *
hr_front_copy (GPtrArray *front, gboolean (*wants) (gpointer user, const HrObject *object),
               gpointer user)
{
  const HrPipeline *pipeline = ((HrElement *)front->pdata[0])->pipeline;
  HrPipeline *copy = hr_pipeline_new ();
  HrElement *last = NULL, *sink = hr_element_new (&lengths_sink);

  copy->settings.serial = pipeline->settings.serial;
  copy->settings.automatic = pipeline->settings.automatic;
  copy->settings.memory = pipeline->settings.memory;
  copy->settings.cpus = pipeline->settings.cpus;
  copy->settings.on_error = pipeline->settings.on_error;
  copy->settings.max_errors = g_strdup (pipeline->settings.max_errors);
  copy->measures = TRUE;
  copy->wants_object = wants;
  copy->wants_user = user;
  for (guint i = 0; i < front->len; i++) {
    HrElement *element = copy_element (front->pdata[i]);

    hr_pipeline_add (copy, element);
    if (last != NULL)
      hr_pipeline_link (copy, last, element);
    last = element;
  }
  sink->common.name = g_strdup ("lengths");
  hr_pipeline_add (copy, sink);
  hr_pipeline_link (copy, last, sink);
  return copy;
}
