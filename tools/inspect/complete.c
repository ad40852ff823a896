/* complete.c: what may stand at the end of a pipeline text, for the completion of shells */
#include "hr-pipeline-private.h"
#include "hr-text.h"
#include "inspect.h"
#include <stdio.h>
#include <string.h>

/* where the text ends */
typedef struct {
  char *element; /* whose settings are being written, NULL: the pipeline's */
  char *setting; /* whose value, or NULL */
  char *begun;   /* of the last word; "" if none is begun */
  gboolean node; /* an element may stand here */
} Place;

static void
place_clear (Place *place)
{
  g_free (place->element);
  g_free (place->setting);
  g_free (place->begun);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Place, place_clear)

/* FALSE: in the middle of a quotation, or of what is no pipeline */
static gboolean
find_place (const char *string, Place *place)
{
  HrText text = { .text = string };
  const gsize end = strlen (string);
  g_auto (HrToken) token = { 0 };
  g_autofree char *word = NULL; /* a name, of what is not yet known */

  *place = (Place){ .node = TRUE };
  for (;;) {
    HrTextMode mode = token.type == HR_TOKEN_EQUALS ? HR_TEXT_VALUE : HR_TEXT_NAME;
    gboolean last;

    if (mode == HR_TEXT_VALUE && text.at == end) {
      place->setting = g_steal_pointer (&word);
      place->begun = g_strdup ("");
      return TRUE;
    }
    if (!hr_text_next (&text, mode, &token, NULL))
      return FALSE;
    last = token.type == HR_TOKEN_WORD && token.offset + token.length == end;
    if (token.type == HR_TOKEN_EQUALS)
      continue;
    if (mode == HR_TEXT_VALUE) {
      if (last) {
        place->setting = g_steal_pointer (&word);
        place->begun = g_strdup (token.value);
        return TRUE;
      }
      g_clear_pointer (&word, g_free);
      place->node = FALSE;
      continue;
    }
    /* no "=" behind it: it was an element, or a reference to one */
    if (word != NULL) {
      g_free (place->element);
      place->element = g_steal_pointer (&word);
      place->node = FALSE;
    }
    if (token.type == HR_TOKEN_END || last) {
      place->begun = g_strdup (last ? token.value : "");
      return TRUE;
    }
    if (token.type == HR_TOKEN_LINK)
      place->node = TRUE;
    else
      word = g_strdup (token.value);
  }
}

static void
print_names (const HrProp *props, const char *begun)
{
  for (; props != NULL && props->field != NULL; props++) {
    const char *name = hr_prop_name (props);

    if (g_str_has_prefix (name, begun))
      printf ("%s=\n", name);
  }
}

static void
print_elements (const char *begun)
{
  g_autoptr (GPtrArray) rows = hr_registry_list ();

  for (guint i = 0; i < rows->len; i++) {
    const HrElementInfo *row = rows->pdata[i];

    if (g_str_has_prefix (row->name, begun))
      printf ("%s\n", row->name);
  }
}

static const HrProp *
find_prop (const HrProp *props, const char *name)
{
  for (; props != NULL && props->field != NULL; props++)
    if (g_str_equal (hr_prop_name (props), name))
      return props;
  return NULL;
}

static void
print_values (const HrProp *prop, const char *begun)
{
  static const char *const bools[] = { "true", "false", NULL };
  const char *const *values = NULL;

  if (prop->type == HR_PROP_TYPE_ENUM)
    values = prop->choices;
  else if (prop->type == HR_PROP_TYPE_BOOL)
    values = bools;
  if ((prop->flags & HR_PROP_AUTO) != 0 && g_str_has_prefix ("auto", begun))
    printf ("%s=auto\n", hr_prop_name (prop));
  for (; values != NULL && *values != NULL; values++)
    if (g_str_has_prefix (*values, begun))
      printf ("%s=%s\n", hr_prop_name (prop), *values);
}

void
inspect_complete (const char *text)
{
  g_auto (Place) place = { 0 };
  const HrElementDef *def = NULL;
  const HrProp *own = hr_pipeline_props, *common = NULL;

  if (!find_place (text, &place))
    return;
  if (place.element != NULL) {
    def = hr_registry_find (place.element, NULL);
    own = def != NULL ? def->props : NULL;
    common = def != NULL ? hr_common_props : NULL;
  }
  if (place.setting != NULL) {
    const HrProp *prop = find_prop (own, place.setting);

    if (prop == NULL)
      prop = find_prop (common, place.setting);
    if (prop != NULL)
      print_values (prop, place.begun);
    return;
  }
  if (place.node)
    print_elements (place.begun);
  if (!place.node || place.element == NULL) {
    print_names (own, place.begun);
    print_names (common, place.begun);
  }
}
