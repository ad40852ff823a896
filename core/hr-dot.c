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

/* What the element does: "45 % busy, 2 workers, 311 items". Returns its busy share; -1: it has not
 * begun */
static double
add_numbers (GString *label, HrElement *element)
{
  HrRun *run = element->run;
  guint64 items;
  double busy, all;
  HrWorker sum;

  if (run == NULL)
    return -1;
  hr_run_sum (run, &sum);
  items = sum.items;
  busy = sum.working;
  all = busy + sum.blocked_in + sum.blocked_out + sum.blocked_cpu;
  if (hr_element_def_is_pulled (element->def)) {
    items = (guint64)hr_counter_get (&run->step);
    busy = hr_counter_get (&run->train_time);
    all = busy + hr_counter_get (&run->wait_time);
  }
  busy = all > 0 ? CLAMP (busy / all, 0, 1) : 0;
  g_string_append_printf (label, "\n%.0f %% busy", 100 * busy);
  if (hr_run_get_n_workers (run) > 1)
    g_string_append_printf (label, ", %u workers", hr_run_get_n_workers (run));
  g_string_append_printf (label, ", %" G_GUINT64_FORMAT " items", items);
  return busy;
}

/* "name", what is set, and what it does, a line each; the fuller of colour the busier */
static void
add_node (GString *text, HrElement *element)
{
  GString *label = g_string_new (hr_element_get_name (element));
  g_autofree char *done = NULL;
  double busy;

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
  busy = add_numbers (label, element);
  done = g_string_free (label, FALSE);
  g_string_append_printf (text, "  e%u [label=", element->index);
  add_quoted (text, done);
  if (busy >= 0)
    g_string_append_printf (text, ", fillcolor=\"0.083 0.%03d 1.000\"",
                            (int)(600 * busy)); /* orange */
  g_string_append (text, "];\n");
}

/* how full it is, how full it has been, and how much comes through; the thicker the fuller */
static void
add_edge (GString *text, HrLink *link, double seconds)
{
  guint64 accepted, room;
  guint count, most;

  g_string_append_printf (text, "  e%u -> e%u", link->from->index, link->to->index);
  hr_mutex_lock (&link->lock);
  accepted = (guint64)link->accepted;
  count = link->count;
  most = link->max_count;
  room = link->max_items;
  hr_mutex_unlock (&link->lock);
  if (link->to->run != NULL && seconds > 0)
    g_string_append_printf (text,
                            " [label=\"%u of %" G_GUINT64_FORMAT " (max %u)\\n%" G_GUINT64_FORMAT
                            ", %.1f/s\", penwidth=%d]",
                            count, room, most, accepted, accepted / seconds,
                            1 + (int)MIN (4, room > 0 ? 4 * (guint64)count / room : 0));
  g_string_append (text, ";\n");
}

char *
hr_pipeline_to_dot (HrPipeline *pipeline)
{
  gint64 end;
  GString *text;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), NULL);
  if (hr_pipeline_is_foreign (pipeline)) /* locks may be held by threads that are not here */
    return g_strdup ("digraph pipeline {\n}\n");
  text = g_string_new ("digraph pipeline {\n  rankdir=LR;\n"
                       "  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n");
  hr_mutex_lock (&pipeline->live); /* not while it is being made, or taken apart */
  end = pipeline->ended_at > 0 ? pipeline->ended_at : hr_now ();
  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++)
    add_node (text, pipeline->elements->pdata[i]);
  for (guint i = 0; i < pipeline->links->len; i++) {
    HrLink *link = pipeline->links->pdata[i];

    if (link->to->index
        < hr_pipeline_get_n_elements (pipeline)) /* not the program's end of a sink */
      add_edge (text, link, pipeline->started_at > 0 ? (end - pipeline->started_at) / 1e9 : 0);
  }
  hr_mutex_unlock (&pipeline->live);
  g_string_append (text, "}\n");
  return g_string_free (text, FALSE);
}
