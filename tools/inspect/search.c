/* search.c: elements in whose names, summaries, descriptions or properties all words stand */
#include "inspect.h"
#include "style.h"
#include <stdio.h>
#include <string.h>

/* in any case, in UTF-8 */
static gboolean
holds (const char *text, const char *word)
{
  g_autofree char *folded = NULL;

  if (text == NULL)
    return FALSE;
  folded = g_utf8_casefold (text, -1);
  return strstr (folded, word) != NULL;
}

static gboolean
prop_holds (const HrProp *prop, const char *word)
{
  if (holds (hr_prop_name (prop), word) || holds (prop->doc, word))
    return TRUE;
  if (prop->type == HR_PROP_TYPE_ENUM)
    for (const char *const *choice = prop->choices; *choice != NULL; choice++)
      if (holds (*choice, word))
        return TRUE;
  return FALSE;
}

static gboolean
element_holds (const HrElementDef *def, const char *word)
{
  if (holds (def->name, word) || holds (def->summary, word) || holds (def->description, word)
      || holds (def->needs, word) || holds (def->gives, word))
    return TRUE;
  for (const HrProp *prop = def->props; prop != NULL && prop->field != NULL; prop++)
    if (prop_holds (prop, word))
      return TRUE;
  return FALSE;
}

/* folded, as holds() wants them */
static GStrv
fold_words (char **words)
{
  guint n = g_strv_length (words);
  GStrv folded = g_new0 (char *, n + 1);

  for (guint i = 0; i < n; i++)
    folded[i] = g_utf8_casefold (words[i], -1);
  return folded;
}

GPtrArray *
inspect_search (char **words)
{
  g_autoptr (GPtrArray) rows = hr_registry_list ();
  g_auto (GStrv) folded = fold_words (words);
  GPtrArray *found = g_ptr_array_new ();

  for (guint i = 0; i < rows->len; i++) {
    const HrElementInfo *row = rows->pdata[i];
    g_autoptr (GError) error = NULL;
    const HrElementDef *def = hr_registry_find (row->name, &error);
    gboolean all = def != NULL;

    if (def == NULL)
      fprintf (stderr, "hr-inspect: %s is left out: %s\n", row->name, error->message);
    for (char **word = folded; all && *word != NULL; word++)
      all = element_holds (def, *word);
    if (all)
      g_ptr_array_add (found, (gpointer)def);
  }
  return found;
}

void
inspect_found_text (GPtrArray *found, char **words)
{
  g_auto (GStrv) folded = fold_words (words);

  for (guint i = 0; i < found->len; i++) {
    const HrElementDef *def = found->pdata[i];

    printf ("%s%s%s: ", style_on (STYLE_NAME), def->name, style_off ());
    inspect_wrapped (def->summary, 4, (guint)strlen (def->name) + 2);
    for (const HrProp *prop = def->props; prop != NULL && prop->field != NULL; prop++) {
      const char *name = hr_prop_name (prop);
      gboolean any = FALSE;

      for (char **word = folded; !any && *word != NULL; word++)
        any = prop_holds (prop, *word);
      if (!any)
        continue;
      printf ("    %s%s%s  ", style_on (STYLE_MATCH), name, style_off ());
      inspect_wrapped (prop->doc, 8, (guint)strlen (name) + 6);
    }
  }
}

void
inspect_found_json (JsonBuilder *json, GPtrArray *found)
{
  json_builder_begin_object (json);
  json_builder_set_member_name (json, "elements");
  json_builder_begin_array (json);
  for (guint i = 0; i < found->len; i++)
    inspect_element_json (json, found->pdata[i]);
  json_builder_end_array (json);
  json_builder_end_object (json);
}
