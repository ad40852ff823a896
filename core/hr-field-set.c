/* hr-field-set.c: which fields a link carries */
#include "hr-field-set.h"
#include <string.h>

GArray *
hr_field_specs (const char *list)
{
  GArray *specs = g_array_new (FALSE, FALSE, sizeof (HrFieldSpec));
  g_auto (GStrv) items = g_strsplit (list != NULL ? list : "", ",", -1);

  for (char **item = items; *item != NULL; item++) {
    char *name = g_strstrip (*item);
    char *form = strchr (name, ':');
    HrFieldSpec spec;

    if (form != NULL)
      *form++ = '\0';
    if (*name == '\0')
      continue;
    spec = (HrFieldSpec){ g_intern_string (name), g_intern_string (form) };
    g_array_append_val (specs, spec);
  }
  return specs;
}

char *
hr_field_spec_to_string (const HrFieldSpec *spec)
{
  return spec->form != NULL ? g_strconcat (spec->name, ":", spec->form, NULL)
                            : g_strdup (spec->name);
}

HrFieldSet *
hr_field_set_new (void)
{
  HrFieldSet *set = g_new0 (HrFieldSet, 1);

  set->fields = g_array_new (FALSE, FALSE, sizeof (HrSetField));
  return set;
}

HrFieldSet *
hr_field_set_copy (const HrFieldSet *set)
{
  HrFieldSet *copy = g_new0 (HrFieldSet, 1);

  copy->fields = g_array_copy (set->fields);
  copy->open = set->open;
  return copy;
}

void
hr_field_set_free (HrFieldSet *set)
{
  g_array_unref (set->fields);
  g_free (set);
}

const HrSetField *
hr_field_set_find (const HrFieldSet *set, const char *name)
{
  for (guint i = 0; i < set->fields->len; i++) {
    const HrSetField *field = &g_array_index (set->fields, HrSetField, i);

    if (g_str_equal (field->spec.name, name))
      return field;
  }
  return NULL;
}

gboolean
hr_field_set_has (const HrFieldSet *set, const HrFieldSpec *spec)
{
  const HrSetField *field = hr_field_set_find (set, spec->name);

  if (g_str_equal (spec->name, "batch?"))
    return TRUE;
  if (field == NULL)
    return set->open;
  return spec->form == NULL || field->spec.form == spec->form;
}

gboolean
hr_field_set_suits (const HrFieldSet *set, const GArray *needs)
{
  if (needs->len == 0 || hr_field_set_find (set, "batch") == NULL)
    return TRUE;
  for (guint i = 0; i < needs->len; i++)
    if (g_str_has_prefix (g_array_index (needs, HrFieldSpec, i).name, "batch"))
      return TRUE;
  return FALSE;
}

void
hr_field_set_put (HrFieldSet *set, const HrFieldSpec *spec, HrElement *giver)
{
  HrSetField *field = (HrSetField *)hr_field_set_find (set, spec->name);
  HrSetField added = { *spec, giver };

  if (field != NULL)
    *field = added;
  else
    g_array_append_val (set->fields, added);
}

void
hr_field_set_remove (HrFieldSet *set, const char *name)
{
  const HrSetField *field = hr_field_set_find (set, name);

  if (field != NULL)
    g_array_remove_index (set->fields,
                          (guint)(field - &g_array_index (set->fields, HrSetField, 0)));
}

void
hr_field_set_apply (HrFieldSet *set, const char *takes, const char *gives, HrElement *giver)
{
  g_autoptr (GArray) taken = hr_field_specs (takes);
  g_autoptr (GArray) given = hr_field_specs (gives);

  for (guint i = 0; i < taken->len; i++) {
    const char *name = g_array_index (taken, HrFieldSpec, i).name;

    if (g_str_equal (name, "*")) {
      g_array_set_size (set->fields, 0);
      set->open = FALSE;
    } else {
      hr_field_set_remove (set, name);
    }
  }
  for (guint i = 0; i < given->len; i++) {
    const HrFieldSpec *spec = &g_array_index (given, HrFieldSpec, i);

    if (g_str_equal (spec->name, "*"))
      set->open = TRUE;
    else
      hr_field_set_put (set, spec, giver);
  }
}

static gint
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

char *
hr_field_set_key (const HrFieldSet *set)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < set->fields->len; i++)
    g_ptr_array_add (words,
                     hr_field_spec_to_string (&g_array_index (set->fields, HrSetField, i).spec));
  g_ptr_array_sort (words, compare_strings);
  g_ptr_array_add (words, NULL);
  return g_strjoinv (",", (char **)words->pdata);
}
