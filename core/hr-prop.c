/* hr-prop.c: rows of properties: values in a struct by offset, their text, their GParamSpecs.
 *
 * Scalars are stored with atomic stores, so a live property may be set while workers read it. */
#include "hr-element-private.h"
#include "hr-secrets.h"
#include "hr-value.h"
#include <math.h>
#include <string.h>

#define PLACE(self, prop, ctype) ((ctype *)((char *)(self) + (prop)->offset))
#define PEEK(self, prop, ctype) (*PLACE ((gpointer)(self), prop, ctype))

/* The table's numbers are doubles; 2^63 and more stand for the greatest number of the type. */
static gint64
to_int (double number)
{
  if (number >= 0x1p63)
    return G_MAXINT64;
  return number <= -0x1p63 ? G_MININT64 : (gint64)number;
}

static guint64
to_uint (double number)
{
  if (number >= 0x1p63)
    return G_MAXUINT64;
  return number <= 0 ? 0 : (guint64)number;
}

/* a value while it is checked, before it is stored */
typedef union {
  gboolean b;
  gint64 i;
  guint64 u;
  double d;
  gint e;
  char *s;
  char **v;
} Value;

static void
store (gpointer self, const HrProp *prop, Value value)
{
  switch (prop->type) {
  case HR_PROP_TYPE_BOOL:
    __atomic_store_n (PLACE (self, prop, gboolean), value.b, __ATOMIC_RELAXED);
    break;
  case HR_PROP_TYPE_INT:
  case HR_PROP_TYPE_DURATION:
    __atomic_store_n (PLACE (self, prop, gint64), value.i, __ATOMIC_RELAXED);
    break;
  case HR_PROP_TYPE_UINT:
  case HR_PROP_TYPE_SIZE:
    __atomic_store_n (PLACE (self, prop, guint64), value.u, __ATOMIC_RELAXED);
    break;
  case HR_PROP_TYPE_DOUBLE:
    *PLACE (self, prop, double) = value.d;
    break;
  case HR_PROP_TYPE_ENUM:
    __atomic_store_n (PLACE (self, prop, gint), value.e, __ATOMIC_RELAXED);
    break;
  case HR_PROP_TYPE_STRING:
    g_free (*PLACE (self, prop, char *));
    *PLACE (self, prop, char *) = value.s;
    break;
  case HR_PROP_TYPE_STRV:
    g_strfreev (*PLACE (self, prop, char **));
    *PLACE (self, prop, char **) = value.v;
    break;
  }
}

static Value
default_value (const HrProp *prop)
{
  Value value = { 0 };

  switch (prop->type) {
  case HR_PROP_TYPE_BOOL:
    value.b = prop->number != 0;
    break;
  case HR_PROP_TYPE_INT:
  case HR_PROP_TYPE_DURATION:
    value.i = to_int (prop->number);
    break;
  case HR_PROP_TYPE_UINT:
  case HR_PROP_TYPE_SIZE:
    value.u = to_uint (prop->number);
    break;
  case HR_PROP_TYPE_DOUBLE:
    value.d = prop->number;
    break;
  case HR_PROP_TYPE_ENUM:
    value.e = (gint)prop->number;
    break;
  case HR_PROP_TYPE_STRING:
    value.s = g_strdup (prop->text);
    break;
  case HR_PROP_TYPE_STRV:
    if (prop->text != NULL && hr_value_parse_strv (prop->text, &value.v, NULL) != HR_VALUE_OK)
      g_critical ("property %s: its default \"%s\" is no list", prop->field, prop->text);
    break;
  }
  return value;
}

const char *
hr_prop_name (const HrProp *prop)
{
  g_autofree char *name = NULL;

  if (strchr (prop->field, '_') == NULL)
    return g_intern_string (prop->field);
  name = g_strdelimit (g_strdup (prop->field), "_", '-');
  return g_intern_string (name);
}

/* "max-bytes" is the name of field max_bytes, and only that */
static gboolean
name_matches (const char *field, const char *name)
{
  for (; *field != '\0' && *name != '\0'; field++, name++)
    if ((*field == '_' ? '-' : *field) != *name)
      return FALSE;
  return *field == *name;
}

const HrProp *
hr_props_find (const HrProp *props, const char *name)
{
  for (; props != NULL && props->field != NULL; props++)
    if (name_matches (props->field, name))
      return props;
  return NULL;
}

void
hr_props_init (gpointer self, const HrProp *props)
{
  for (; props != NULL && props->field != NULL; props++)
    store (self, props, default_value (props));
}

void
hr_props_clear (gpointer self, const HrProp *props)
{
  for (; props != NULL && props->field != NULL; props++)
    if (props->type == HR_PROP_TYPE_STRING || props->type == HR_PROP_TYPE_STRV)
      store (self, props, (Value){ 0 });
}

const char *
hr_prop_type_name (const HrProp *prop)
{
  static const char *const names[] = { "bool",     "int",    "uint", "double", "size",
                                       "duration", "string", "enum", "list" };

  return names[prop->type];
}

static char *
format (const HrProp *prop, Value value)
{
  switch (prop->type) {
  case HR_PROP_TYPE_BOOL:
    return g_strdup (value.b ? "true" : "false");
  case HR_PROP_TYPE_INT:
    return g_strdup_printf ("%" G_GINT64_FORMAT, value.i);
  case HR_PROP_TYPE_UINT:
    return g_strdup_printf ("%" G_GUINT64_FORMAT, value.u);
  case HR_PROP_TYPE_DOUBLE:
    return hr_value_format_double (value.d);
  case HR_PROP_TYPE_SIZE:
    return hr_value_format_size (value.u);
  case HR_PROP_TYPE_DURATION:
    return hr_value_format_duration (value.i);
  case HR_PROP_TYPE_STRING:
    return g_strdup (value.s);
  case HR_PROP_TYPE_ENUM:
    return g_strdup (prop->choices[value.e]);
  case HR_PROP_TYPE_STRV:
    return value.v == NULL ? NULL : hr_value_format_strv ((const char *const *)value.v);
  }
  return NULL;
}

static Value
load (gconstpointer self, const HrProp *prop)
{
  Value value = { 0 };

  switch (prop->type) {
  case HR_PROP_TYPE_BOOL:
    value.b = __atomic_load_n (&PEEK (self, prop, gboolean), __ATOMIC_RELAXED);
    break;
  case HR_PROP_TYPE_INT:
  case HR_PROP_TYPE_DURATION:
    value.i = __atomic_load_n (&PEEK (self, prop, gint64), __ATOMIC_RELAXED);
    break;
  case HR_PROP_TYPE_UINT:
  case HR_PROP_TYPE_SIZE:
    value.u = __atomic_load_n (&PEEK (self, prop, guint64), __ATOMIC_RELAXED);
    break;
  case HR_PROP_TYPE_DOUBLE:
    value.d = PEEK (self, prop, double);
    break;
  case HR_PROP_TYPE_ENUM:
    value.e = __atomic_load_n (&PEEK (self, prop, gint), __ATOMIC_RELAXED);
    break;
  case HR_PROP_TYPE_STRING:
    value.s = PEEK (self, prop, char *);
    break;
  case HR_PROP_TYPE_STRV:
    value.v = PEEK (self, prop, char **);
    break;
  }
  return value;
}

char *
hr_prop_get_string (gconstpointer self, const HrProp *prop)
{
  return format (prop, load (self, prop));
}

static void
clear_value (const HrProp *prop, Value *value)
{
  if (prop->type == HR_PROP_TYPE_STRING)
    g_free (value->s);
  else if (prop->type == HR_PROP_TYPE_STRV)
    g_strfreev (value->v);
}

char *
hr_prop_get_default (const HrProp *prop)
{
  Value value = default_value (prop);
  char *text = format (prop, value);

  clear_value (prop, &value);
  return text;
}

gboolean
hr_prop_is_default (gconstpointer self, const HrProp *prop)
{
  g_autofree char *value = hr_prop_get_string (self, prop);
  g_autofree char *initial = hr_prop_get_default (prop);

  /* an unset list and an empty one are the same */
  if (prop->type == HR_PROP_TYPE_STRV)
    return g_str_equal (value != NULL ? value : "", initial != NULL ? initial : "");
  return g_strcmp0 (value, initial) == 0;
}

gboolean
hr_prop_get_range (const HrProp *prop, char **least, char **greatest)
{
  Value low = { 0 }, high = { 0 };
  gboolean top;

  switch (prop->type) {
  case HR_PROP_TYPE_INT:
  case HR_PROP_TYPE_DURATION:
    low.i = to_int (prop->min);
    high.i = to_int (prop->max);
    top = high.i == G_MAXINT64;
    break;
  case HR_PROP_TYPE_UINT:
  case HR_PROP_TYPE_SIZE:
    low.u = to_uint (prop->min);
    high.u = to_uint (prop->max);
    top = high.u == G_MAXUINT64;
    break;
  case HR_PROP_TYPE_DOUBLE:
    low.d = prop->min;
    high.d = prop->max;
    top = high.d >= G_MAXDOUBLE;
    break;
  default:
    return FALSE;
  }
  *least = prop->min <= -0x1p63 ? NULL : format (prop, low);
  *greatest = top ? NULL : format (prop, high);
  return TRUE;
}

char *
hr_prop_describe (const HrProp *prop)
{
  static const char *const articles[] = {
    [HR_PROP_TYPE_INT] = "a whole number",
    [HR_PROP_TYPE_UINT] = "a whole number",
    [HR_PROP_TYPE_DOUBLE] = "a number",
    [HR_PROP_TYPE_SIZE] = "a size such as 512, 64KiB or 10MB",
    [HR_PROP_TYPE_DURATION] = "a duration such as 200ms, 30s or 5m",
  };
  g_autofree char *least = NULL;
  g_autofree char *greatest = NULL;
  const char *article, *automatic;

  switch (prop->type) {
  case HR_PROP_TYPE_BOOL:
    return g_strdup ("true or false");
  case HR_PROP_TYPE_STRING:
    return g_strdup ("a text");
  case HR_PROP_TYPE_STRV:
    return g_strdup ("a list such as a,b,c");
  case HR_PROP_TYPE_ENUM: {
    g_autofree char *names = g_strjoinv (", ", (char **)prop->choices);

    return g_strdup_printf ("one of %s", names);
  }
  default:
    break;
  }
  hr_prop_get_range (prop, &least, &greatest);
  article = articles[prop->type];
  automatic = (prop->flags & HR_PROP_AUTO) != 0 ? ", or auto" : "";
  if (least != NULL && greatest != NULL)
    return g_strdup_printf ("%s, from %s to %s%s", article, least, greatest, automatic);
  if (least != NULL)
    return g_strdup_printf ("%s, at least %s%s", article, least, automatic);
  if (greatest != NULL)
    return g_strdup_printf ("%s, at most %s", article, greatest);
  return g_strdup (article);
}

gboolean
hr_prop_try_string (gpointer self, const HrProp *prop, const char *text, HrParseError *code,
                    char **why)
{
  HrValueStatus status = HR_VALUE_OK;
  Value value = { 0 };
  gboolean inside = TRUE;

  *why = NULL;
  switch (prop->type) {
  case HR_PROP_TYPE_BOOL:
    status = hr_value_parse_bool (text, &value.b, why);
    break;
  case HR_PROP_TYPE_INT:
    status = hr_value_parse_int (text, &value.i, why);
    inside = value.i >= to_int (prop->min) && value.i <= to_int (prop->max);
    break;
  case HR_PROP_TYPE_DURATION:
    status = hr_value_parse_duration (text, &value.i, why);
    inside = value.i >= to_int (prop->min) && value.i <= to_int (prop->max);
    break;
  case HR_PROP_TYPE_UINT:
    status = hr_value_parse_uint (text, &value.u, why);
    inside = value.u >= to_uint (prop->min) && value.u <= to_uint (prop->max);
    break;
  case HR_PROP_TYPE_SIZE:
    status = hr_value_parse_size (text, &value.u, why);
    inside = value.u >= to_uint (prop->min) && value.u <= to_uint (prop->max);
    break;
  case HR_PROP_TYPE_DOUBLE:
    status = hr_value_parse_double (text, &value.d, why);
    inside = value.d >= prop->min && value.d <= prop->max;
    break;
  case HR_PROP_TYPE_STRING:
    value.s = g_strdup (text);
    break;
  case HR_PROP_TYPE_ENUM:
    for (value.e = 0; prop->choices[value.e] != NULL; value.e++)
      if (g_str_equal (prop->choices[value.e], text))
        break;
    if (prop->choices[value.e] == NULL) {
      status = HR_VALUE_BAD;
      *why = g_strdup ("not one of its choices");
    }
    break;
  case HR_PROP_TYPE_STRV:
    status = hr_value_parse_strv (text, &value.v, why);
    break;
  }
  if (status == HR_VALUE_BAD) {
    *code = HR_PARSE_ERROR_BAD_VALUE;
    return FALSE;
  }
  if (status == HR_VALUE_RANGE || !inside) {
    *code = HR_PARSE_ERROR_OUT_OF_RANGE;
    *why = g_strdup ("out of range");
    return FALSE;
  }
  store (self, prop, value);
  return TRUE;
}

gboolean
hr_prop_set_string (gpointer self, const HrProp *prop, const char *value, GError **error)
{
  HrParseError code;
  g_autofree char *why = NULL;
  g_autofree char *takes = NULL;
  g_autofree char *shown = NULL;

  if (hr_prop_try_string (self, prop, value, &code, &why))
    return TRUE;
  takes = hr_prop_describe (prop);
  shown = hr_secrets_hide (value, HR_SECRETS_IN_VALUE);
  g_set_error (error, HR_PARSE_ERROR, (gint)code, "bad value \"%s\" for \"%s\": %s; it takes %s",
               shown, hr_prop_name (prop), why, takes);
  return FALSE;
}

/* ---- GObject ---- */

/* One enum type a row: its values are the choices, under their own names. */
static GType
enum_type (GObjectClass *klass, const HrProp *prop)
{
  g_autofree char *name =
      g_strdup_printf ("%s-%s", G_OBJECT_CLASS_NAME (klass), hr_prop_name (prop));
  guint n = g_strv_length ((char **)prop->choices);
  GEnumValue *values;
  GType type = g_type_from_name (name);

  if (type != 0)
    return type;
  values = g_new0 (GEnumValue, n + 1); /* the type keeps it for ever */
  for (guint i = 0; i < n; i++)
    values[i] = (GEnumValue){ (gint)i, prop->choices[i], prop->choices[i] };
  return g_enum_register_static (g_intern_string (name), values);
}

static GParamSpec *
make_spec (GObjectClass *klass, const HrProp *prop)
{
  const char *name = hr_prop_name (prop);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  switch (prop->type) {
  case HR_PROP_TYPE_BOOL:
    return g_param_spec_boolean (name, name, prop->doc, prop->number != 0, flags);
  case HR_PROP_TYPE_INT:
  case HR_PROP_TYPE_DURATION:
    return g_param_spec_int64 (name, name, prop->doc, to_int (prop->min), to_int (prop->max),
                               to_int (prop->number), flags);
  case HR_PROP_TYPE_UINT:
  case HR_PROP_TYPE_SIZE:
    return g_param_spec_uint64 (name, name, prop->doc, to_uint (prop->min), to_uint (prop->max),
                                to_uint (prop->number), flags);
  case HR_PROP_TYPE_DOUBLE:
    return g_param_spec_double (name, name, prop->doc, prop->min, prop->max, prop->number, flags);
  case HR_PROP_TYPE_STRING:
    return g_param_spec_string (name, name, prop->doc, prop->text, flags);
  case HR_PROP_TYPE_ENUM:
    return g_param_spec_enum (name, name, prop->doc, enum_type (klass, prop), (gint)prop->number,
                              flags);
  case HR_PROP_TYPE_STRV:
    return g_param_spec_boxed (name, name, prop->doc, G_TYPE_STRV, flags);
  }
  return NULL;
}

void
hr_props_install (GObjectClass *klass, const HrProp *props, guint first_id)
{
  for (guint id = first_id; props != NULL && props->field != NULL; props++, id++)
    g_object_class_install_property (klass, id, make_spec (klass, props));
}

void
hr_prop_set_value (gpointer self, const HrProp *prop, const GValue *value)
{
  Value v = { 0 };

  switch (prop->type) {
  case HR_PROP_TYPE_BOOL:
    v.b = g_value_get_boolean (value);
    break;
  case HR_PROP_TYPE_INT:
  case HR_PROP_TYPE_DURATION:
    v.i = g_value_get_int64 (value);
    break;
  case HR_PROP_TYPE_UINT:
  case HR_PROP_TYPE_SIZE:
    v.u = g_value_get_uint64 (value);
    break;
  case HR_PROP_TYPE_DOUBLE:
    v.d = g_value_get_double (value);
    break;
  case HR_PROP_TYPE_ENUM:
    v.e = g_value_get_enum (value);
    break;
  /* No text says "unset", so NULL is the default. */
  case HR_PROP_TYPE_STRING:
    v.s = g_value_dup_string (value);
    if (v.s == NULL)
      v = default_value (prop);
    break;
  case HR_PROP_TYPE_STRV:
    if (g_value_get_boxed (value) == NULL) {
      v = default_value (prop);
    } else {
      g_autoptr (GPtrArray) items = g_ptr_array_new ();
      char **from = g_value_get_boxed (value);

      /* nor does any text hold an empty item */
      for (; *from != NULL; from++)
        if (**from != '\0')
          g_ptr_array_add (items, g_strdup (*from));
      g_ptr_array_add (items, NULL);
      v.v = (char **)g_ptr_array_free (g_steal_pointer (&items), FALSE);
    }
    break;
  }
  store (self, prop, v);
}

void
hr_prop_get_value (gconstpointer self, const HrProp *prop, GValue *value)
{
  Value v = load (self, prop);

  switch (prop->type) {
  case HR_PROP_TYPE_BOOL:
    g_value_set_boolean (value, v.b);
    break;
  case HR_PROP_TYPE_INT:
  case HR_PROP_TYPE_DURATION:
    g_value_set_int64 (value, v.i);
    break;
  case HR_PROP_TYPE_UINT:
  case HR_PROP_TYPE_SIZE:
    g_value_set_uint64 (value, v.u);
    break;
  case HR_PROP_TYPE_DOUBLE:
    g_value_set_double (value, v.d);
    break;
  case HR_PROP_TYPE_ENUM:
    g_value_set_enum (value, v.e);
    break;
  case HR_PROP_TYPE_STRING:
    g_value_set_string (value, v.s);
    break;
  case HR_PROP_TYPE_STRV:
    g_value_set_boxed (value, v.v);
    break;
  }
}

static gboolean
unsound (const HrProp *prop, GError **error, const char *what)
{
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN, "property \"%s\": %s",
               hr_prop_name (prop), what);
  return FALSE;
}

gboolean
hr_prop_check (const HrProp *prop, GError **error)
{
  for (const char *c = prop->field; *c != '\0'; c++)
    if (!g_ascii_islower (*c) && !(c > prop->field && (*c == '_' || g_ascii_isdigit (*c))))
      return unsound (prop, error, "a field is written in lower case, with digits and underscores");
  if (prop->type > HR_PROP_TYPE_STRV)
    return unsound (prop, error, "no such type");
  if (prop->doc == NULL || *prop->doc == '\0')
    return unsound (prop, error, "it has no doc");
  if (prop->type == HR_PROP_TYPE_ENUM) {
    if (prop->choices == NULL || prop->choices[0] == NULL)
      return unsound (prop, error, "an enum without choices");
    if (prop->number < 0 || prop->number >= g_strv_length ((char **)prop->choices))
      return unsound (prop, error, "its default is none of its choices");
  } else if (prop->type == HR_PROP_TYPE_STRV) {
    g_auto (GStrv) items = NULL;

    if (prop->text != NULL && hr_value_parse_strv (prop->text, &items, NULL) != HR_VALUE_OK)
      return unsound (prop, error, "its default is no list");
  } else if (prop->type != HR_PROP_TYPE_STRING) {
    if (!(prop->min <= prop->max) || !(prop->number >= prop->min && prop->number <= prop->max))
      return unsound (prop, error, "its default is outside its range");
  }
  if ((prop->flags & HR_PROP_LIVE) != 0
      && (prop->type == HR_PROP_TYPE_STRING || prop->type == HR_PROP_TYPE_STRV
          || prop->type == HR_PROP_TYPE_DOUBLE))
    return unsound (prop, error, "a property of this type cannot be live");
  if ((prop->flags & HR_PROP_AUTO) != 0
      && ((prop->flags & HR_PROP_LIVE) == 0
          || (prop->type != HR_PROP_TYPE_UINT && prop->type != HR_PROP_TYPE_SIZE)))
    return unsound (prop, error, "only a live number or size can be automatic");
  /* only of texts and lists can a pipeline tell that they were never set */
  if ((prop->flags & HR_PROP_REQUIRED) != 0
      && ((prop->type != HR_PROP_TYPE_STRING && prop->type != HR_PROP_TYPE_STRV)
          || prop->text != NULL))
    return unsound (prop, error, "only a text or list without default can be required");
  return TRUE;
}
