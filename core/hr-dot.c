/* hr-dot.c: the graph in Graphviz's language */
#include "hr-pipeline-private.h"
#include "hr-secrets.h"

static void
add_quoted (GString *text, const char *string)
{
  g_string_append_c (text, '"');
  for (; *string != '\0'; string++) {
    if (*string == '"' || *string == '\\')
      g_string_append_c (text, '\\');
    g_string_append_c (text, *string);
  }
  g_string_append_c (text, '"');
}

/* "name", and what is set, a line each */
static void
add_label (GString *text, HrElement *element)
{
  GString *label = g_string_new (hr_element_get_name (element));
  g_autofree char *done = NULL;

  if (g_strcmp0 (hr_element_get_name (element), element->def->name) != 0)
    g_string_append_printf (label, "\n%s", element->def->name);
  for (const HrProp *prop = element->def->props; prop != NULL && prop->field != NULL; prop++) {
    g_autofree char *value = NULL;
    g_autofree char *shown = NULL;

    if (hr_prop_is_default (element->self, prop))
      continue;
    value = hr_prop_get_string (element->self, prop);
    shown = hr_secrets_hide (value != NULL ? value : "", HR_SECRETS_IN_VALUE);
    g_string_append_printf (label, "\n%s=%s", hr_prop_name (prop), shown);
  }
  done = g_string_free (label, FALSE);
  add_quoted (text, done);
}

char *
hr_pipeline_to_dot (HrPipeline *pipeline)
{
  GString *text;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), NULL);
  text = g_string_new ("digraph pipeline {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = pipeline->elements->pdata[i];

    g_string_append_printf (text, "  e%u [label=", i);
    add_label (text, element);
    g_string_append (text, "];\n");
  }
  for (guint i = 0; i < pipeline->links->len; i++) {
    HrLink *link = pipeline->links->pdata[i];
    guint most;

    if (link->to->index >= hr_pipeline_get_n_elements (pipeline))
      continue; /* the program's end of a sink */
    g_string_append_printf (text, "  e%u -> e%u", link->from->index, link->to->index);
    hr_mutex_lock (&link->lock);
    most = link->max_count;
    hr_mutex_unlock (&link->lock);
    if (most > 0)
      g_string_append_printf (text, " [label=\"max %u\"]", most);
    g_string_append (text, ";\n");
  }
  g_string_append (text, "}\n");
  return g_string_free (text, FALSE);
}
