/* show-text.c: elements as text for people */
#include "inspect.h"
#include "style.h"
#include <stdio.h>
#include <string.h>

#define WIDTH 96

char *
inspect_range (const HrProp *prop)
{
  g_autofree char *least = NULL;
  g_autofree char *greatest = NULL;

  if (!hr_prop_get_range (prop, &least, &greatest))
    return NULL;
  if (least != NULL && greatest != NULL)
    return g_strdup_printf ("%s to %s", least, greatest);
  if (least != NULL)
    return g_strdup_printf ("at least %s", least);
  return greatest != NULL ? g_strdup_printf ("at most %s", greatest) : NULL;
}

static void
add_trait (GString *traits, const char *trait)
{
  g_string_append_printf (traits, "%s%s", traits->len > 0 ? ", " : "", trait);
}

char *
inspect_traits (const HrElementDef *def)
{
  g_autoptr (GString) traits = g_string_new (NULL);

  if (def->parallel == HR_PARALLEL_YES)
    add_trait (traits, "parallel");
  if (def->network)
    add_trait (traits, "waits for a network");
  else if (def->waits)
    add_trait (traits, "waits rather than computes");
  if (def->pullable)
    add_trait (traits, "a program pulls from it");
  if (def->pushable)
    add_trait (traits, "a program pushes into it");
  if (def->take != NULL)
    add_trait (traits, "a program does its work");
  if (def->trains)
    add_trait (traits, "stands for the trainer");
  if (traits->len == 0)
    return NULL;
  return g_string_free (g_steal_pointer (&traits), FALSE);
}

gboolean
inspect_is_launched (const HrElementDef *def)
{
  return !def->pushable && def->take == NULL;
}

void
inspect_wrapped (const char *text, guint indent, guint column)
{
  g_auto (GStrv) words = g_strsplit_set (text, " \n", -1);
  gboolean first = TRUE;

  for (char **word = words; *word != NULL; word++) {
    guint width = (guint)g_utf8_strlen (*word, -1);

    if (width == 0)
      continue;
    if (!first && column + 1 + width > WIDTH) {
      printf ("\n%*s", (int)indent, "");
      column = indent;
      first = TRUE;
    }
    printf ("%s%s", first ? "" : " ", *word);
    column += width + !first;
    first = FALSE;
  }
  putchar ('\n');
}

/* as they are in the description: an empty line between */
static void
print_paragraphs (const char *text)
{
  g_auto (GStrv) paragraphs = g_strsplit (text, "\n\n", -1);

  for (char **paragraph = paragraphs; *paragraph != NULL; paragraph++) {
    printf ("\n  ");
    inspect_wrapped (*paragraph, 2, 2);
  }
}

void
inspect_list_text (void)
{
  g_autoptr (GPtrArray) rows = hr_registry_list ();
  guint width = 0, plugins = 0;
  const char *plugin = NULL;

  for (guint i = 0; i < rows->len; i++)
    width = MAX (width, (guint)strlen (((HrElementInfo *)g_ptr_array_index (rows, i))->name));
  for (guint i = 0; i < rows->len; i++) {
    const HrElementInfo *row = g_ptr_array_index (rows, i);

    if (plugin == NULL || !g_str_equal (row->plugin, plugin)) {
      printf ("%s%s%s:%s\n", plugins > 0 ? "\n" : "", style_on (STYLE_TITLE), row->plugin,
              style_off ());
      plugin = row->plugin;
      plugins++;
    }
    printf ("  %s%-*s%s  ", style_on (STYLE_NAME), (int)width, row->name, style_off ());
    inspect_wrapped (row->summary, width + 4, width + 4);
  }
  printf ("%s%u elements in %u plugins; hr-inspect ELEMENT shows one in full\n",
          rows->len > 0 ? "\n" : "", rows->len, plugins);
}

static void
print_fact (const char *name, const char *value)
{
  if (value == NULL || *value == '\0')
    return;
  printf ("  %s%-8s%s ", style_on (STYLE_FACT), name, style_off ());
  inspect_wrapped (value, 11, 11);
}

static void
print_prop (const HrProp *prop, guint width)
{
  g_autoptr (GString) facts = g_string_new (hr_prop_type_name (prop));
  g_autofree char *range = inspect_range (prop);
  g_autofree char *initial = hr_prop_get_default (prop);

  if (prop->unit != NULL)
    g_string_append_printf (facts, " of %s", prop->unit);
  if (range != NULL)
    g_string_append_printf (facts, ", %s", range);
  if (prop->type == HR_PROP_TYPE_ENUM) {
    g_autofree char *choices = g_strjoinv (" | ", (char **)prop->choices);

    g_string_append_printf (facts, ", %s", choices);
  }
  if ((prop->flags & HR_PROP_REQUIRED) != 0)
    g_string_append (facts, ", required");
  else if (initial == NULL)
    g_string_append (facts, ", unset");
  else
    g_string_append_printf (facts, ", default %s%s%s",
                            prop->type >= HR_PROP_TYPE_STRING && *initial == '\0' ? "\"" : "",
                            initial,
                            prop->type >= HR_PROP_TYPE_STRING && *initial == '\0' ? "\"" : "");
  if ((prop->flags & HR_PROP_LIVE) != 0)
    g_string_append (facts, ", live");
  if ((prop->flags & HR_PROP_AUTO) != 0)
    g_string_append (facts, ", auto");
  if ((prop->flags & HR_PROP_STREAM) != 0)
    g_string_append (facts, ", stream");
  printf ("  %s%-*s%s  ", style_on (STYLE_NAME), (int)width, hr_prop_name (prop), style_off ());
  inspect_wrapped (facts->str, width + 4, width + 4);
  printf ("  %*s  ", (int)width, "");
  inspect_wrapped (prop->doc, width + 4, width + 4);
}

static void
print_props (const char *title, const HrProp *props, guint width)
{
  if (props == NULL || props->field == NULL)
    return;
  printf ("\n%s%s%s\n", style_on (STYLE_TITLE), title, style_off ());
  for (; props->field != NULL; props++)
    print_prop (props, width);
}

static guint
widest (const HrProp *props, guint width)
{
  for (; props != NULL && props->field != NULL; props++)
    width = MAX (width, (guint)strlen (props->field));
  return width;
}

void
inspect_element_text (const HrElementDef *def)
{
  const char *file = NULL;
  const HrPluginDef *plugin = hr_registry_get_plugin (def, &file);
  g_autofree char *traits = inspect_traits (def);
  g_autofree char *kind = traits != NULL
                              ? g_strdup_printf ("%s, %s", hr_element_def_kind (def), traits)
                              : g_strdup (hr_element_def_kind (def));
  g_autofree char *where = plugin != NULL ? g_strdup_printf ("%s %s (%s), %s", plugin->name,
                                                             plugin->version, plugin->summary, file)
                                          : NULL;
  guint width = widest (def->props, widest (hr_common_props, 0));

  printf ("%s%s%s: %s\n\n", style_on (STYLE_TITLE), def->name, style_off (), def->summary);
  print_fact ("kind", kind);
  print_fact ("each", def->each_field != NULL ? def->each_field : NULL);
  print_fact ("needs", def->needs);
  print_fact ("gives", def->gives);
  print_fact ("takes", def->takes);
  print_fact ("plugin", where);
  if (def->description != NULL)
    print_paragraphs (def->description);
  print_props ("Properties", def->props, width);
  print_props ("Properties of every element", hr_common_props, width);
  printf ("\n  live: may change while the pipeline runs; stream: can change what is delivered\n");
  if (def->examples != NULL && def->examples[0] != NULL) {
    printf ("\n%sExamples%s\n", style_on (STYLE_TITLE), style_off ());
    for (const char *const *example = def->examples; *example != NULL; example++) {
      const char *quote = strchr (*example, '\'') != NULL ? "\"" : "'";

      printf ("  %s%s%s%s\n", inspect_is_launched (def) ? "hr-launch " : "in a program: ", quote,
              *example, quote);
    }
  }
}
