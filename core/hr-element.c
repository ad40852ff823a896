/* hr-element.c: the element object. Each table becomes a type of its own, with real properties,
 * when the first element of it is made. */
#include "hr-element-private.h"
#include "hr-secrets.h"
#include "hr-suggest.h"
#include "hr-sync.h"
#include "hr-value.h"
#include <string.h>

static const char *const on_error_names[] = { "default", "fail", "skip", NULL };

const HrProp hr_common_props[] = {
  HR_PROP_STRING (HrCommon, name, NULL,
                  "Name of the element in its pipeline; <factory><n> if unset"),
  HR_PROP_UINT (HrCommon, workers, 0, 256, 0,
                "Threads that work on its input; 0: chosen by the core; more than 1 only in "
                "parallel elements",
                .unit = "threads", .flags = HR_PROP_LIVE | HR_PROP_AUTO),
  HR_PROP_UINT (HrCommon, window, 0, 1 << 20, 0,
                "Buffers taken in and not yet passed on, so that order can be kept; 0: 8 a worker "
                "or transfer",
                .unit = "buffers", .flags = HR_PROP_LIVE),
  HR_PROP_BOOL (HrCommon, ordered, TRUE,
                "Pass buffers on in the order in which they came; false: as they get ready",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (HrCommon, queue_items, 0, 1 << 20, 0,
                "Buffers that may wait in front of it; 0: chosen by the core", .unit = "buffers",
                .flags = HR_PROP_LIVE | HR_PROP_AUTO),
  HR_PROP_SIZE (HrCommon, queue_bytes, 0, G_MAXUINT64, 0,
                "Bytes that may wait in front of it, one buffer always fits; 0: chosen by the core",
                .flags = HR_PROP_LIVE | HR_PROP_AUTO),
  HR_PROP_ENUM (
      HrCommon, on_error, on_error_names, HR_ON_ERROR_DEFAULT,
      "What a bad sample does: end the run, or leave a hole; default: as the pipeline says",
      .flags = HR_PROP_LIVE | HR_PROP_STREAM),
  HR_PROP_STRING (HrCommon, max_errors, NULL,
                  "Bad samples that on-error=skip lets pass: a count, or a percentage such as 1%"),
  HR_PROP_END,
};

/* those that need a check of their own */
enum { COMMON_NAME = 0, COMMON_MAX_ERRORS = 7 };

static GObjectClass *parent_class;

static gboolean
is_frozen (HrElement *element)
{
  return __atomic_load_n (&element->frozen, __ATOMIC_ACQUIRE);
}

static gpointer
owner_of (HrElement *element, const HrProp *prop)
{
  if (prop >= hr_common_props && prop < hr_common_props + G_N_ELEMENTS (hr_common_props))
    return &element->common;
  return element->self;
}

static gboolean
may_set (HrElement *element, const HrProp *prop, const char **why)
{
  *why = NULL;
  if (prop == &hr_common_props[COMMON_NAME] && element->pipeline != NULL)
    *why = "its name is known in its pipeline";
  else if (is_frozen (element) && (prop->flags & HR_PROP_LIVE) == 0)
    *why = "the pipeline has been started";
  else if (is_frozen (element) && prop->offset == G_STRUCT_OFFSET (HrCommon, workers)
           && owner_of (element, prop) == &element->common
           && element->def->parallel == HR_PARALLEL_NO)
    *why = "it works in one thread";
  return *why == NULL;
}

/* before the run only, so without a lock */
static void
note_set (HrElement *element, const HrProp *prop)
{
  if (owner_of (element, prop) == element->self && !is_frozen (element))
    element->set[prop - element->def->props] = TRUE;
}

/* ---- values that the core finds ---- */

static HrAutoMark *
mark_of (HrElement *element, const HrProp *prop)
{
  if (owner_of (element, prop) == &element->common)
    return &element->automatic[prop - hr_common_props];
  return &element->automatic[G_N_ELEMENTS (hr_common_props) + (gsize)(prop - element->def->props)];
}

HrAutoMark
hr_element_get_auto (HrElement *element, const HrProp *prop, guint64 *value)
{
  const char *self = owner_of (element, prop);
  HrAutoMark mark;

  hr_mutex_lock (&element->turning);
  mark = *mark_of (element, prop);
  *value = hr_live_uint ((const guint64 *)(self + prop->offset));
  hr_mutex_unlock (&element->turning);
  return mark;
}

gboolean
hr_element_is_auto (HrElement *element, const char *property)
{
  const HrProp *prop = hr_element_find_prop (element, property, NULL);
  guint64 value;

  return prop != NULL && (prop->flags & HR_PROP_AUTO) != 0
         && hr_element_get_auto (element, prop, &value) != HR_AUTO_NOT;
}

void
hr_element_mark (HrElement *element, const HrProp *prop)
{
  gboolean is_common = owner_of (element, prop) == &element->common;
  HrAutoMark *mark = mark_of (element, prop);

  hr_mutex_lock (&element->turning);
  if (*mark == HR_AUTO_NOT
      && (is_common ? hr_prop_is_default (&element->common, prop)
                    : !element->set[prop - element->def->props]))
    *mark = HR_AUTO_ALL;
  hr_mutex_unlock (&element->turning);
}

void
hr_element_copy_marks (HrElement *to, HrElement *from)
{
  guint n = G_N_ELEMENTS (hr_common_props);

  for (const HrProp *prop = from->def->props; prop != NULL && prop->field != NULL; prop++)
    n++;
  hr_mutex_lock (&from->turning);
  memcpy (to->automatic, from->automatic, n * sizeof *to->automatic);
  hr_mutex_unlock (&from->turning);
}

gboolean
hr_element_turn (HrElement *element, const HrProp *prop, guint64 value)
{
  char *self = owner_of (element, prop);
  gboolean turns;

  hr_mutex_lock (&element->turning);
  turns = *mark_of (element, prop) != HR_AUTO_NOT;
  if (turns)
    __atomic_store_n ((guint64 *)(gpointer)(self + prop->offset), value, __ATOMIC_RELAXED);
  hr_mutex_unlock (&element->turning);
  return turns;
}

/* what the types of the common properties do not check */
static gboolean
check_common (const HrProp *prop, const char *value, HrParseError *code, char **why)
{
  HrValueStatus status = HR_VALUE_OK;
  guint64 count;
  double rate;

  *why = NULL;
  if (prop == &hr_common_props[COMMON_NAME] && !hr_element_name_is_valid (value)) {
    status = HR_VALUE_BAD;
    *why =
        g_strdup ("a name has letters, digits, \"_\" and \"-\", and begins with a letter or \"_\"");
  } else if (prop == &hr_common_props[COMMON_MAX_ERRORS]) {
    status = hr_value_parse_limit (value, &count, &rate, why);
  }
  if (status == HR_VALUE_OK)
    return TRUE;
  *code = status == HR_VALUE_BAD ? HR_PARSE_ERROR_BAD_VALUE : HR_PARSE_ERROR_OUT_OF_RANGE;
  if (*why == NULL)
    *why = g_strdup ("out of range");
  return FALSE;
}

static void
changed (HrElement *element, const HrProp *prop)
{
  if ((prop->flags & HR_PROP_LIVE) != 0 && is_frozen (element))
    hr_element_live_changed (element);
}

/* ---- GObject ---- */

static void
set_value (HrElement *element, const HrProp *prop, const GValue *value)
{
  const char *why;
  HrParseError code;
  g_autofree char *wrong = NULL;

  if (!may_set (element, prop, &why)) {
    g_warning ("property \"%s\" of \"%s\" cannot change any more: %s", hr_prop_name (prop),
               hr_element_get_name (element), why);
    return;
  }
  if (G_VALUE_HOLDS_STRING (value) && g_value_get_string (value) != NULL
      && !check_common (prop, g_value_get_string (value), &code, &wrong)) {
    g_warning ("bad value \"%s\" for \"%s\": %s", g_value_get_string (value), hr_prop_name (prop),
               wrong);
    return;
  }
  hr_mutex_lock (&element->turning);
  hr_prop_set_value (owner_of (element, prop), prop, value);
  *mark_of (element, prop) = HR_AUTO_NOT;
  hr_mutex_unlock (&element->turning);
  note_set (element, prop);
  changed (element, prop);
}

static void
common_set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  (void)spec;
  set_value (HR_ELEMENT_CAST (object), &hr_common_props[id - 1], value);
}

static void
common_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  (void)spec;
  hr_prop_get_value (&HR_ELEMENT_CAST (object)->common, &hr_common_props[id - 1], value);
}

/* ids count from 1 in each class, and GObject asks the class that has the property */
static void
own_set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  HrElement *element = HR_ELEMENT_CAST (object);

  (void)spec;
  set_value (element, &element->def->props[id - 1], value);
}

static void
own_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  HrElement *element = HR_ELEMENT_CAST (object);

  (void)spec;
  hr_prop_get_value (element->self, &element->def->props[id - 1], value);
}

static void
element_finalize (GObject *object)
{
  HrElement *element = HR_ELEMENT_CAST (object);

  hr_props_clear (element->self, element->def->props);
  g_free (element->self);
  g_free (element->set);
  g_free (element->automatic);
  hr_mutex_clear (&element->turning);
  hr_props_clear (&element->common, hr_common_props);
  g_ptr_array_unref (element->inputs);
  g_ptr_array_unref (element->outputs);
  parent_class->finalize (object);
}

static void
element_class_init (gpointer klass, gpointer data)
{
  GObjectClass *object_class = klass;

  (void)data;
  parent_class = g_type_class_peek_parent (klass);
  object_class->set_property = common_set_property;
  object_class->get_property = common_get_property;
  object_class->finalize = element_finalize;
  hr_props_install (object_class, hr_common_props, 1);
}

static void
own_class_init (gpointer klass, gpointer data)
{
  GObjectClass *object_class = klass;
  const HrElementDef *def = data;

  ((HrElementClass *)klass)->def = def;
  object_class->set_property = own_set_property;
  object_class->get_property = own_get_property;
  hr_props_install (object_class, def->props, 1);
}

/* @klass is the class of the object that is made, not HrElement's own */
static void
element_init (GTypeInstance *instance, gpointer klass)
{
  HrElement *element = (HrElement *)instance;
  guint n_props = 0;

  element->def = ((HrElementClass *)klass)->def;
  while (element->def->props != NULL && element->def->props[n_props].field != NULL)
    n_props++;
  element->set = g_new0 (gboolean, n_props + 1);
  hr_mutex_init (&element->turning);
  element->automatic = g_new0 (HrAutoMark, G_N_ELEMENTS (hr_common_props) + n_props);
  element->self = g_malloc0 (MAX (element->def->self_size, 1));
  hr_props_init (element->self, element->def->props);
  hr_props_init (&element->common, hr_common_props);
  element->inputs = g_ptr_array_new ();
  element->outputs = g_ptr_array_new ();
}

GType
hr_element_get_type (void)
{
  static gsize type;

  if (g_once_init_enter (&type)) {
    GTypeInfo info = { .class_size = sizeof (HrElementClass),
                       .class_init = element_class_init,
                       .instance_size = sizeof (HrElement),
                       .instance_init = element_init };

    g_once_init_leave (
        &type, g_type_register_static (G_TYPE_OBJECT, "HrElement", &info, G_TYPE_FLAG_ABSTRACT));
  }
  return type;
}

/* "HrElement-fakesink"; tables of the same name, which tests make, get a number as well */
static GType
type_of (const HrElementDef *def)
{
  static HrMutex lock = PTHREAD_MUTEX_INITIALIZER;
  static GHashTable *types;
  GType parent = HR_TYPE_ELEMENT;
  GType type;

  hr_mutex_lock (&lock);
  if (types == NULL)
    types = g_hash_table_new (NULL, NULL);
  type = (GType)GPOINTER_TO_SIZE (g_hash_table_lookup (types, def));
  if (type == 0) {
    GTypeInfo info = { .class_size = sizeof (HrElementClass),
                       .class_init = own_class_init,
                       .class_data = def,
                       .instance_size = sizeof (HrElement) };
    g_autofree char *name = g_strdup_printf ("HrElement-%s", def->name);

    for (guint n = 2; g_type_from_name (name) != 0; n++) {
      g_free (name);
      name = g_strdup_printf ("HrElement-%s-%u", def->name, n);
    }
    type = g_type_register_static (parent, name, &info, 0);
    /* its class is made here, once and for ever, under a lock that sanitizers see */
    g_type_class_ref (type);
    g_hash_table_insert (types, (gpointer)def, GSIZE_TO_POINTER (type));
  }
  hr_mutex_unlock (&lock);
  return type;
}

HrElement *
hr_element_new (const HrElementDef *def)
{
  return g_object_new (type_of (def), NULL);
}

/* ---- by name and text ---- */

const char *
hr_element_get_factory (HrElement *element)
{
  return element->def->name;
}

const char *
hr_element_get_name (HrElement *element)
{
  return element->common.name != NULL ? element->common.name : element->def->name;
}

gboolean
hr_element_name_is_valid (const char *name)
{
  if (!g_ascii_isalpha (*name) && *name != '_')
    return FALSE;
  while (g_ascii_isalnum (*name) || *name == '_' || *name == '-')
    name++;
  return *name == '\0';
}

const HrProp *
hr_element_find_prop (HrElement *element, const char *name, gpointer *self)
{
  const HrProp *prop = hr_props_find (element->def->props, name);

  if (prop == NULL)
    prop = hr_props_find (hr_common_props, name);
  if (prop != NULL && self != NULL)
    *self = owner_of (element, prop);
  return prop;
}

gboolean
hr_element_try_string (HrElement *element, const HrProp *prop, const char *value,
                       HrParseError *code, char **why)
{
  gboolean automatic = (prop->flags & HR_PROP_AUTO) != 0 && g_str_equal (value, "auto"), ok;

  if (!check_common (prop, value, code, why))
    return FALSE;
  hr_mutex_lock (&element->turning);
  ok = automatic || hr_prop_try_string (owner_of (element, prop), prop, value, code, why);
  if (ok)
    *mark_of (element, prop) = automatic ? HR_AUTO_SAID : HR_AUTO_NOT;
  hr_mutex_unlock (&element->turning);
  if (ok)
    note_set (element, prop);
  return ok;
}

gboolean
hr_element_is_set (HrElement *element, const char *property)
{
  const HrProp *prop = hr_props_find (element->def->props, property);

  return prop != NULL && element->set[prop - element->def->props];
}

const char *
hr_element_suggest_prop (const HrElementDef *def, const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (const HrProp *prop = def->props; prop != NULL && prop->field != NULL; prop++)
    g_ptr_array_add (names, (gpointer)hr_prop_name (prop));
  for (const HrProp *prop = hr_common_props; prop->field != NULL; prop++)
    g_ptr_array_add (names, (gpointer)hr_prop_name (prop));
  return hr_suggest (name, (const char *const *)names->pdata, names->len);
}

gboolean
hr_element_set_from_string (HrElement *element, const char *property, const char *value,
                            GError **error)
{
  const HrProp *prop = hr_element_find_prop (element, property, NULL);
  const char *why_not;
  HrParseError code;
  g_autofree char *why = NULL;
  g_autofree char *takes = NULL;
  g_autofree char *shown = NULL;

  if (prop == NULL) {
    const char *near = hr_element_suggest_prop (element->def, property);

    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_UNKNOWN_PROPERTY,
                 near != NULL ? "no property \"%s\" in element \"%s\"; did you mean \"%s\"?"
                              : "no property \"%s\" in element \"%s\"",
                 property, element->def->name, near);
    return FALSE;
  }
  if (!may_set (element, prop, &why_not)) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                 "property \"%s\" of \"%s\" cannot change any more: %s", property,
                 hr_element_get_name (element), why_not);
    return FALSE;
  }
  if (!hr_element_try_string (element, prop, value, &code, &why)) {
    takes = hr_prop_describe (prop);
    shown = hr_secrets_hide (value, HR_SECRETS_IN_VALUE);
    g_set_error (error, HR_PARSE_ERROR, (gint)code,
                 "bad value \"%s\" for \"%s\" of element \"%s\": %s; it takes %s", shown, property,
                 element->def->name, why, takes);
    return FALSE;
  }
  changed (element, prop);
  g_object_notify (G_OBJECT (element), hr_prop_name (prop));
  return TRUE;
}

/* ---- is a table sound? ---- */

const char *
hr_element_def_kind (const HrElementDef *def)
{
  if (def->create != NULL || def->pushable)
    return "source";
  if (def->process != NULL && !def->pullable)
    return "transform";
  if (def->each != NULL)
    return "each";
  if (def->submit != NULL)
    return "async";
  if (hr_element_def_joins (def))
    return "join";
  if (def->route != NULL)
    return "tee";
  return "sink";
}

static gboolean G_GNUC_PRINTF (3, 4)
    unsound (const HrElementDef *def, GError **error, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN, "element \"%s\": %s",
               def->name != NULL ? def->name : "?", what);
  return FALSE;
}

gboolean
hr_element_def_check (const HrElementDef *def, GError **error)
{
  guint kinds = 0;

  if (def->abi_size != sizeof (HrElementDef)) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN,
                 "made for another version of Headrace: its tables have %" G_GSIZE_FORMAT
                 " bytes, %" G_GSIZE_FORMAT " are expected; compile it again",
                 def->abi_size, sizeof (HrElementDef));
    return FALSE;
  }
  if (def->name == NULL || !g_ascii_islower (*def->name))
    return unsound (def, error, "its name does not begin with a lower-case letter");
  for (const char *c = def->name; *c != '\0'; c++)
    if (!g_ascii_islower (*c) && !g_ascii_isdigit (*c))
      return unsound (def, error, "a name is one lower-case word");
  if (def->summary == NULL || *def->summary == '\0' || strpbrk (def->summary, "\t\n") != NULL
      || g_str_has_suffix (def->summary, "."))
    return unsound (def, error, "its summary is half a sentence in one line, without a full stop");
  kinds = (def->create != NULL) + (def->process != NULL) + (def->each != NULL)
          + (def->submit != NULL) + (def->merge != NULL) + (def->choose != NULL)
          + (def->route != NULL) + (def->consume != NULL) + (def->pullable && def->process == NULL)
          + (def->pushable != FALSE);
  if (kinds != 1)
    return unsound (def, error,
                    "%s of create, process, each, submit, merge, choose, route, consume, "
                    "pullable and pushable is set; exactly one makes its kind",
                    kinds == 0 ? "none" : "more than one");
  if ((def->each != NULL) != (def->each_field != NULL))
    return unsound (def, error, "each and each_field go together");
  if ((def->submit != NULL) != (def->poll != NULL))
    return unsound (def, error, "submit and poll go together");
  if ((def->take != NULL) != (def->answer != NULL) || (def->take != NULL && def->submit == NULL))
    return unsound (def, error, "take and answer go together, with submit and poll");
  if ((def->choose != NULL) != (def->accept != NULL)
      || (def->choose != NULL) != (def->mixes != NULL))
    return unsound (def, error, "choose, accept and mixes go together");
  if (def->block != NULL
      && (def->process == NULL || def->group == NULL || !def->takes_holes
          || def->parallel != HR_PARALLEL_NO))
    return unsound (def, error,
                    "block wants process, group and takes_holes, and one worker: it counts every "
                    "sample, in order");
  for (const HrProp *prop = def->props; prop != NULL && prop->field != NULL; prop++) {
    g_autoptr (GError) wrong = NULL;

    if (!hr_prop_check (prop, &wrong))
      return unsound (def, error, "%s", wrong->message);
    if (prop->offset >= def->self_size)
      return unsound (def, error, "property \"%s\" lies outside its struct", hr_prop_name (prop));
    if ((prop->flags & HR_PROP_AUTO) != 0 && def->lookahead == NULL && def->concurrency == NULL)
      return unsound (def, error,
                      "property \"%s\" is automatic, and neither lookahead nor concurrency says "
                      "what of",
                      hr_prop_name (prop));
    if (hr_props_find (hr_common_props, hr_prop_name (prop)) != NULL)
      return unsound (def, error, "every element has a property \"%s\" already",
                      hr_prop_name (prop));
    if (hr_props_find (prop + 1, hr_prop_name (prop)) != NULL)
      return unsound (def, error, "property \"%s\" is there twice", hr_prop_name (prop));
  }
  return TRUE;
}
