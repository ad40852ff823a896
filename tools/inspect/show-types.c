/* show-types.c: how values of properties are written, and who gives and needs which field */
#include "hr-field-set.h"
#include "hr-json.h"
#include "inspect.h"
#include "style.h"
#include <stdio.h>
#include <string.h>

typedef struct {
  HrPropType type;
  const char *name, *how, *example;
} TypeRow;

/* in the order of HrPropType */
static const TypeRow types[] = {
  { HR_PROP_TYPE_BOOL, "bool", "true, yes, on, 1, or false, no, off, 0", "checksum=true" },
  { HR_PROP_TYPE_INT, "int", "a whole number", "n=-1" },
  { HR_PROP_TYPE_UINT, "uint", "a whole number, not negative", "workers=4" },
  { HR_PROP_TYPE_DOUBLE, "double", "a number, with a point whatever the locale is", "rate=0.01" },
  { HR_PROP_TYPE_SIZE, "size",
    "bytes, or with KiB, MiB, GiB, TiB, PiB (1024) or kB, MB, GB, TB, PB (1000)", "memory=2GiB" },
  { HR_PROP_TYPE_DURATION, "duration", "a number and ns, us, ms, s, m, h or d; only 0 stands alone",
    "step-time=100ms" },
  { HR_PROP_TYPE_STRING, "string",
    "any text; in quotes if it has a blank, !, a quote, a backslash or ${", "location=\"a b/\"" },
  { HR_PROP_TYPE_ENUM, "enum", "one of the words that the property lists", "on-error=skip" },
  { HR_PROP_TYPE_STRV, "list", "texts with commas between", "fields=input_ids,labels" }
};

/* a field, in one form, and who gives, needs and takes it away: names of elements */
typedef struct {
  char *spec;
  GPtrArray *gives, *needs, *takes;
} FieldRow;

static void
field_row_free (FieldRow *row)
{
  g_free (row->spec);
  g_ptr_array_unref (row->gives);
  g_ptr_array_unref (row->needs);
  g_ptr_array_unref (row->takes);
  g_free (row);
}

static FieldRow *
row_of (GPtrArray *rows, GHashTable *by_spec, const HrFieldSpec *spec)
{
  g_autofree char *text = hr_field_spec_to_string (spec);
  FieldRow *row = g_hash_table_lookup (by_spec, text);

  if (row == NULL) {
    row = g_new (FieldRow, 1);
    row->spec = g_strdup (text);
    row->gives = g_ptr_array_new ();
    row->needs = g_ptr_array_new ();
    row->takes = g_ptr_array_new ();
    g_ptr_array_add (rows, row);
    g_hash_table_insert (by_spec, row->spec, row);
  }
  return row;
}

static int
compare_rows (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(const FieldRow *const *)a)->spec, (*(const FieldRow *const *)b)->spec);
}

/* (transfer full) (element-type FieldRow): sorted; from the lists beside the plugins, none is
 * opened */
static GPtrArray *
all_fields (void)
{
  g_autoptr (GPtrArray) elements = hr_registry_list ();
  GPtrArray *rows = g_ptr_array_new_with_free_func ((GDestroyNotify)field_row_free);
  g_autoptr (GHashTable) by_spec = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < elements->len; i++) {
    const HrElementInfo *element = elements->pdata[i];
    const char *const lists[] = { element->gives, element->needs, element->takes };

    for (guint list = 0; list < G_N_ELEMENTS (lists); list++) {
      g_autoptr (GArray) specs = hr_field_specs (lists[list]);

      for (guint s = 0; s < specs->len; s++) {
        const HrFieldSpec *spec = &g_array_index (specs, HrFieldSpec, s);
        FieldRow *row;

        /* "*", "batch" and "batch?" say what kind of buffer it is, they are no fields */
        if (g_str_equal (spec->name, "*") || g_str_equal (spec->name, "batch")
            || g_str_equal (spec->name, "batch?"))
          continue;
        row = row_of (rows, by_spec, spec);
        g_ptr_array_add (list == 0   ? row->gives
                         : list == 1 ? row->needs
                                     : row->takes,
                         (gpointer)element->name);
      }
    }
  }
  g_ptr_array_sort (rows, compare_rows);
  return rows;
}

static void
print_who (const char *what, const GPtrArray *who)
{
  g_autoptr (GString) names = g_string_new (NULL);

  if (who->len == 0)
    return;
  for (guint i = 0; i < who->len; i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", (const char *)who->pdata[i]);
  printf ("      %-9s ", what);
  inspect_wrapped (names->str, 16, 16);
}

void
inspect_types_text (void)
{
  g_autoptr (GPtrArray) fields = all_fields ();

  printf ("%sTypes of properties%s\n", style_on (STYLE_TITLE), style_off ());
  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    printf ("  %s%-9s%s ", style_on (STYLE_NAME), types[i].name, style_off ());
    inspect_wrapped (types[i].how, 12, 12);
    printf ("            %s%s%s\n", style_on (STYLE_FACT), types[i].example, style_off ());
  }
  printf ("\n%sFields of a buffer, and in which form%s\n", style_on (STYLE_TITLE), style_off ());
  for (guint i = 0; i < fields->len; i++) {
    const FieldRow *row = fields->pdata[i];

    printf ("  %s%s%s\n", style_on (STYLE_NAME), row->spec, style_off ());
    print_who ("given by", row->gives);
    print_who ("needed by", row->needs);
    print_who ("taken by", row->takes);
  }
}

static void
add_names (JsonBuilder *json, const char *name, const GPtrArray *names)
{
  json_builder_set_member_name (json, name);
  json_builder_begin_array (json);
  for (guint i = 0; i < names->len; i++)
    json_builder_add_string_value (json, names->pdata[i]);
  json_builder_end_array (json);
}

void
inspect_types_json (JsonBuilder *json)
{
  g_autoptr (GPtrArray) fields = all_fields ();

  json_builder_begin_object (json);
  json_builder_set_member_name (json, "property_types");
  json_builder_begin_array (json);
  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    json_builder_begin_object (json);
    hr_json_add_string (json, "name", types[i].name);
    hr_json_add_string (json, "how", types[i].how);
    hr_json_add_string (json, "example", types[i].example);
    json_builder_end_object (json);
  }
  json_builder_end_array (json);
  json_builder_set_member_name (json, "fields");
  json_builder_begin_array (json);
  for (guint i = 0; i < fields->len; i++) {
    const FieldRow *row = fields->pdata[i];

    json_builder_begin_object (json);
    hr_json_add_string (json, "field", row->spec);
    add_names (json, "gives", row->gives);
    add_names (json, "needs", row->needs);
    add_names (json, "takes", row->takes);
    json_builder_end_object (json);
  }
  json_builder_end_array (json);
  json_builder_end_object (json);
}
