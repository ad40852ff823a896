/* test-element.c: the element object: types, properties, what is frozen when */
#include "things.h"
#include <string.h>

static void
test_types (void)
{
  g_autoptr (HrElement) a = hr_element_new (&hr_element_thing);
  g_autoptr (HrElement) b = hr_element_new (&hr_element_thing);
  HrElementDef twin = hr_element_thing;
  g_autoptr (HrElement) c = NULL;

  g_assert_true (HR_IS_ELEMENT (a));
  g_assert_true (G_TYPE_IS_ABSTRACT (HR_TYPE_ELEMENT));
  g_assert_cmpstr (G_OBJECT_TYPE_NAME (a), ==, "HrElement-thing");
  g_assert_true (G_OBJECT_TYPE (a) == G_OBJECT_TYPE (b));
  g_assert_cmpstr (hr_element_get_factory (a), ==, "thing");
  g_assert_cmpstr (hr_element_get_name (a), ==, "thing");
  g_assert_true (a->def == &hr_element_thing);
  g_assert_false (a->self == b->self);
  /* another table of the same name is another type; it must outlive the test, hence the copy */
  c = hr_element_new (g_memdup2 (&twin, sizeof twin));
  g_assert_cmpstr (G_OBJECT_TYPE_NAME (c), ==, "HrElement-thing-2");
}

static void
test_gobject (void)
{
  g_autoptr (HrElement) element = hr_element_new (&hr_element_thing);
  const char *list[] = { "a", "", "b", NULL };
  g_auto (GStrv) keep = NULL;
  g_autofree char *mark = NULL;
  guint64 count = 0, bytes = 0, workers = 7;
  gint64 shift = 0, step = 0;
  gboolean flag = FALSE, ordered = FALSE;
  gint colour = 0;
  double ratio = 0;

  g_object_get (element, "count", &count, "ordered", &ordered, "workers", &workers, NULL);
  g_assert_cmpuint (count, ==, 3);
  g_assert_true (ordered);
  g_assert_cmpuint (workers, ==, 0);
  g_object_set (element, "flag", TRUE, "shift", (gint64)-3, "count", (guint64)9, "ratio", 0.25,
                "max-bytes", (guint64)4096, "step-time", (gint64)5, "mark", "m", "colour", 2,
                "keep", list, "workers", (guint64)4, "name", "bob", NULL);
  g_object_get (element, "flag", &flag, "shift", &shift, "count", &count, "ratio", &ratio,
                "max-bytes", &bytes, "step-time", &step, "mark", &mark, "colour", &colour, "keep",
                &keep, "workers", &workers, NULL);
  g_assert_true (flag);
  g_assert_cmpint (shift, ==, -3);
  g_assert_cmpuint (count, ==, 9);
  g_assert_cmpfloat (ratio, ==, 0.25);
  g_assert_cmpuint (bytes, ==, 4096);
  g_assert_cmpint (step, ==, 5);
  g_assert_cmpstr (mark, ==, "m");
  g_assert_cmpint (colour, ==, 2);
  g_assert_cmpuint (g_strv_length (keep), ==, 2); /* the empty item is dropped: no text holds it */
  g_assert_cmpuint (workers, ==, 4);
  g_assert_cmpuint (element->common.workers, ==, 4);
  g_assert_cmpstr (hr_element_get_name (element), ==, "bob");
  /* NULL is the default */
  g_object_set (element, "mark", NULL, "keep", NULL, NULL);
  g_assert_cmpstr (((Thing *)element->self)->mark, ==, "none");
  g_assert_cmpuint (g_strv_length (((Thing *)element->self)->keep), ==, 2);
}

/* every row is a property with the row's range, default and doc */
static void
test_specs (void)
{
  g_autoptr (HrElement) element = hr_element_new (&hr_element_thing);
  GObjectClass *klass = G_OBJECT_GET_CLASS (element);
  guint n = 0;
  g_autofree GParamSpec **specs = g_object_class_list_properties (klass, &n);
  GParamSpec *spec;

  g_assert_nonnull (specs);
  g_assert_cmpuint (n, ==, 9 + 8);
  for (const HrProp *prop = thing_props; prop->field != NULL; prop++) {
    spec = g_object_class_find_property (klass, hr_prop_name (prop));
    g_assert_nonnull (spec);
    g_assert_cmpstr (g_param_spec_get_blurb (spec), ==, prop->doc);
    g_assert_true (spec->owner_type == G_OBJECT_TYPE (element));
  }
  spec = g_object_class_find_property (klass, "count");
  g_assert_cmpuint (G_PARAM_SPEC_UINT64 (spec)->minimum, ==, 1);
  g_assert_cmpuint (G_PARAM_SPEC_UINT64 (spec)->maximum, ==, 64);
  g_assert_cmpuint (G_PARAM_SPEC_UINT64 (spec)->default_value, ==, 3);
  spec = g_object_class_find_property (klass, "max-bytes");
  g_assert_cmpuint (G_PARAM_SPEC_UINT64 (spec)->maximum, ==, G_MAXUINT64);
  spec = g_object_class_find_property (klass, "colour");
  g_assert_cmpstr (g_enum_get_value (G_PARAM_SPEC_ENUM (spec)->enum_class, 2)->value_nick, ==,
                   "blue");
}

static void
count_notify (GObject *object, GParamSpec *spec, gpointer data)
{
  (void)object;
  (void)spec;
  ++*(guint *)data;
}

static void
test_set_from_string (void)
{
  static const struct {
    const char *property, *value;
    HrParseError code;
    const char *message;
  } bad[] = {
    { "cuont", "3", HR_PARSE_ERROR_UNKNOWN_PROPERTY,
      "no property \"cuont\" in element \"thing\"; did you mean \"count\"?" },
    { "worker", "3", HR_PARSE_ERROR_UNKNOWN_PROPERTY,
      "no property \"worker\" in element \"thing\"; did you mean \"workers\"?" },
    { "zebra", "3", HR_PARSE_ERROR_UNKNOWN_PROPERTY, "no property \"zebra\" in element \"thing\"" },
    { "count", "65", HR_PARSE_ERROR_OUT_OF_RANGE,
      "bad value \"65\" for \"count\" of element \"thing\": out of range; it takes a whole number, "
      "from 1 to "
      "64" },
    { "name", "7up", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "name", "", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "name", "a.b", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "max-errors", "some", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "max-errors", "200%", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
    { "on-error", "ignore", HR_PARSE_ERROR_BAD_VALUE, NULL },
    { "workers", "-1", HR_PARSE_ERROR_OUT_OF_RANGE, NULL },
  };
  g_autoptr (HrElement) element = hr_element_new (&hr_element_thing);
  guint notified = 0;

  g_signal_connect (element, "notify", G_CALLBACK (count_notify), &notified);
  g_assert_true (hr_element_set_from_string (element, "count", "5", NULL));
  g_assert_true (hr_element_set_from_string (element, "queue-bytes", "64KiB", NULL));
  g_assert_true (hr_element_set_from_string (element, "on-error", "skip", NULL));
  g_assert_true (hr_element_set_from_string (element, "max-errors", "1%", NULL));
  g_assert_true (hr_element_set_from_string (element, "name", "_a-1", NULL));
  g_assert_cmpuint (notified, ==, 5);
  g_assert_cmpuint (((Thing *)element->self)->count, ==, 5);
  g_assert_cmpuint (element->common.queue_bytes, ==, 65536);
  g_assert_cmpint (element->common.on_error, ==, HR_ON_ERROR_SKIP);
  g_assert_cmpstr (hr_element_get_name (element), ==, "_a-1");
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_autoptr (GError) error = NULL;

    g_test_message ("%s=%s", bad[i].property, bad[i].value);
    g_assert_false (hr_element_set_from_string (element, bad[i].property, bad[i].value, &error));
    g_assert_error (error, HR_PARSE_ERROR, (gint)bad[i].code);
    if (bad[i].message != NULL)
      g_assert_cmpstr (error->message, ==, bad[i].message);
  }
  g_assert_cmpuint (notified, ==, 5);
  g_assert_cmpstr (element->common.max_errors, ==, "1%");
}

static void
test_find_prop (void)
{
  g_autoptr (HrElement) element = hr_element_new (&hr_element_thing);
  gpointer self = NULL;

  g_assert_true (hr_element_find_prop (element, "count", &self)
                 == hr_props_find (thing_props, "count"));
  g_assert_true (self == element->self);
  g_assert_true (hr_element_find_prop (element, "queue-items", &self)
                 == hr_props_find (hr_common_props, "queue-items"));
  g_assert_true (self == &element->common);
  g_assert_null (hr_element_find_prop (element, "nothing", NULL));
}

/* start() freezes everything that is not live */
static void
test_frozen (void)
{
  g_autoptr (HrElement) element = hr_element_new (&hr_element_thing);
  g_autoptr (GError) error = NULL;

  __atomic_store_n (&element->frozen, TRUE, __ATOMIC_RELEASE);
  g_assert_true (hr_element_set_from_string (element, "count", "7", &error));
  g_assert_true (hr_element_set_from_string (element, "workers", "2", &error));
  g_assert_true (hr_element_set_from_string (element, "max-bytes", "1KiB", &error));
  g_assert_no_error (error);
  g_assert_false (hr_element_set_from_string (element, "mark", "x", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  g_assert_cmpstr (
      error->message, ==,
      "property \"mark\" of \"thing\" cannot change any more: the pipeline has been started");
  g_clear_error (&error);
  g_assert_false (hr_element_set_from_string (element, "ordered", "false", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  g_test_expect_message ("headrace", G_LOG_LEVEL_WARNING, "*mark*started*");
  g_object_set (element, "mark", "x", NULL);
  g_test_assert_expected_messages ();
  g_assert_cmpstr (((Thing *)element->self)->mark, ==, "none");
  g_object_set (element, "count", (guint64)8, NULL);
  g_assert_cmpuint (((Thing *)element->self)->count, ==, 8);
}

static guint
zero (gconstpointer self G_GNUC_UNUSED)
{
  return 0;
}

static void
test_def_check (void)
{
  static const HrProp clash[] = { HR_PROP_UINT (Thing, count, 0, 9, 0, "x"), HR_PROP_END };
  HrProp common[] = { clash[0], HR_PROP_END };
  HrProp automatic[] = { clash[0], HR_PROP_END };
  HrProp twice[] = { clash[0], clash[0], HR_PROP_END };
  HrElementDef def;
  guint n = 0;

  g_assert_true (hr_element_def_check (&hr_element_thing, NULL));
  common[0].field = "queue_items";
  automatic[0].flags = HR_PROP_LIVE | HR_PROP_AUTO;
#define BAD(change)                                                                                \
  G_STMT_START                                                                                     \
  {                                                                                                \
    g_autoptr (GError) error = NULL;                                                               \
    def = hr_element_thing;                                                                        \
    change;                                                                                        \
    g_assert_false (hr_element_def_check (&def, &error));                                          \
    g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN);                                   \
    n++;                                                                                           \
  }                                                                                                \
  G_STMT_END
  BAD (def.abi_size -= 8);
  BAD (def.name = "Thing");
  BAD (def.name = "a-thing");
  BAD (def.name = NULL);
  BAD (def.summary = NULL);
  BAD (def.summary = "A sentence.");
  BAD (def.summary = "two\nlines");
  BAD (def.process = NULL);
  BAD (def.pullable = def.pushable = TRUE);
  BAD (def.each_field = "images");
  BAD (def.poll = (gpointer)def.process);
  BAD (def.block = zero); /* not without group and takes_holes */
  BAD (def.block = def.group = zero; def.takes_holes = TRUE; def.parallel = HR_PARALLEL_YES);
  BAD (def.props = common);
  BAD (def.props = twice);
  BAD (def.props = automatic); /* of what? */
  BAD (def.self_size = 8);
#undef BAD
  g_assert_cmpuint (n, ==, 17);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/element/types", test_types);
  g_test_add_func ("/element/gobject", test_gobject);
  g_test_add_func ("/element/specs", test_specs);
  g_test_add_func ("/element/set-from-string", test_set_from_string);
  g_test_add_func ("/element/find-prop", test_find_prop);
  g_test_add_func ("/element/frozen", test_frozen);
  g_test_add_func ("/element/def-check", test_def_check);
  return g_test_run ();
}
