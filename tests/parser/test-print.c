/* test-print.c: the canonical text, and that it parses back to the same graph whatever the graph */
#include "cast.h"
#include "hr-link.h"
#include "hr-registry.h"
#include "things.h"
#include <string.h>

static HrPipeline *
parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = hr_parse_launch (text, &error);

  if (pipeline == NULL)
    g_error ("%s\n%s", text, error->message);
  return pipeline;
}

static void
test_canonical (void)
{
  static const struct {
    const char *text, *canonical;
  } rows[] = {
    { "fakesrc!fakesink", "fakesrc ! fakesink" },
    { "fakesrc size=64 num-buffers=-1 ! fakesink silent=no", "fakesrc ! fakesink" },
    { "serial=yes memory=1024MiB fakesrc ! fakesink",
      "serial=true memory=1GiB fakesrc ! fakesink" },
    { "fakesrc queue-items=3 size=2048 name=a num-buffers=5 ! fakesink",
      "fakesrc name=a num-buffers=5 size=2KiB queue-items=3 ! fakesink" },
    { "fakesrc name=fakesrc0 ! fakesink", "fakesrc ! fakesink" },
    { "fakesrc name=fakesrc1 ! fakesink", "fakesrc name=fakesrc1 ! fakesink" },
    { "fakesrc ! identity mark='a b' ! fakesink", "fakesrc ! identity mark='a b' ! fakesink" },
    { "fakesrc ! identity mark='' ! fakesink", "fakesrc ! identity mark='' ! fakesink" },
    { "fakesrc ! identity mark=it\\'s ! fakesink", "fakesrc ! identity mark=\"it's\" ! fakesink" },
    { "fakesrc ! identity mark=${HR_PRINT:-a b} ! fakesink",
      "fakesrc ! identity mark='a b' ! fakesink" },
    { "fakesrc ! tee name=t t. ! fakesink t. ! fakesink",
      "fakesrc ! tee name=t ! fakesink t. ! fakesink" },
    { "fakesrc ! tee ! fakesink tee0. ! fakesink", "fakesrc ! tee ! fakesink tee0. ! fakesink" },
    { "fakesrc ! tee name=t t.1 ! fakesink t.0 ! fakesink",
      "fakesrc ! tee name=t ! fakesink t.0 ! fakesink" },
    { "fakesrc fakesink fakesrc0. ! fakesink0.", "fakesrc ! fakesink" },
    { "fakesink name=k fakesrc ! k.", "fakesink name=k fakesrc ! k." },
    { "join name=j mode=any ! fakesink fakesrc ! j. fakesrc ! j.",
      "join name=j mode=any ! fakesink fakesrc ! j. fakesrc ! j." },
    { "join name=j mode=any ! fakesink fakesrc ! j.1 fakesrc ! j.0",
      "join name=j mode=any ! fakesink fakesrc ! j.1 fakesrc ! j.0" },
    { "fakesrc ! tee name=t ! join name=j ! fakesink t. ! j.",
      "fakesrc ! tee name=t ! join name=j ! fakesink t. ! j." },
    { "fakesrc ! tee name=t ! fakesink t. ! fakesink # x\n",
      "fakesrc ! tee name=t ! fakesink t. ! fakesink" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (HrPipeline) pipeline = parse (rows[i].text);
    g_autofree char *text = hr_pipeline_to_string (pipeline);

    g_assert_cmpstr (text, ==, rows[i].canonical);
  }
}

/* ---- random graphs ---- */

static char *
random_text (void)
{
  static const char *const pieces[] = { "a",  "Zz",   "9",        " ",    "\n", "\t", "'", "\"",
                                        "\\", "${X}", "$",        "!",    "#",  "=",  ",", "/",
                                        ".",  "-",    "\xc3\xa4", "\001", "(",  "@",  ":" };
  GString *text = g_string_new (NULL);

  for (int n = g_test_rand_int_range (0, 8); n > 0; n--)
    g_string_append (text, pieces[g_test_rand_int_range (0, G_N_ELEMENTS (pieces))]);
  return g_string_free (text, FALSE);
}

static guint64
random_bits (void)
{
  return ((guint64)g_test_rand_int () << 32 | (guint32)g_test_rand_int ())
         >> g_test_rand_int_range (0, 64);
}

static guint64
random_size (void)
{
  guint64 bits = random_bits ();

  return bits != 0 ? bits : 1;
}

/* through GObject, so that no text has been near the values */
static void
randomize (HrElement *element)
{
  if (element->def == &hr_element_thing) {
    char *list[4] = { 0 };
    g_autofree char *mark = random_text ();

    for (int i = 0, n = g_test_rand_int_range (0, 4); i < n; i++)
      list[i] = random_text ();
    g_object_set (
        element, "flag", g_test_rand_bit (), "shift", (gint64)g_test_rand_int_range (-8, 9),
        "count", (guint64)g_test_rand_int_range (1, 65), "ratio", g_test_rand_double_range (0, 1),
        "max-bytes", random_size (), "step-time", (gint64)(random_bits () % 3600000000001u), "mark",
        mark, "colour", g_test_rand_int_range (0, 3), "keep", list, NULL);
    for (guint i = 0; i < 3; i++)
      g_free (list[i]);
  }
  if (element->def->parallel == HR_PARALLEL_YES && g_test_rand_bit ())
    g_object_set (element, "workers", (guint64)g_test_rand_int_range (0, 257), NULL);
  if (g_test_rand_bit ())
    g_object_set (element, "window", (guint64)g_test_rand_int_range (0, 99), "queue-bytes",
                  random_bits (), "on-error", g_test_rand_int_range (0, 3), "max-errors",
                  g_test_rand_bit () ? "0.25%" : "17", NULL);
}

static void
name_it (HrPipeline *pipeline, HrElement *element, guint *counter)
{
  static const char *const bases[] = { "fakesrc", "identity", "thing", "tee", "join", "x", "_y-" };

  /* default names, names that look like another's default, and others */
  for (;;) {
    g_autofree char *name = NULL;

    switch (g_test_rand_int_range (0, 3)) {
    case 0:
      name = g_strdup_printf ("%s%d", bases[g_test_rand_int_range (0, G_N_ELEMENTS (bases))],
                              g_test_rand_int_range (0, 12));
      break;
    case 1:
      name = g_strdup_printf ("%s%u", hr_element_get_factory (element), (*counter)++ % 20);
      break;
    default:
      name = g_strdup_printf ("n%u", (*counter)++);
      break;
    }
    if (hr_pipeline_get_element (pipeline, name) == NULL) {
      g_object_set (element, "name", name, NULL);
      return;
    }
  }
}

typedef struct {
  HrElement *element;
  guint pad;
} Open; /* an output or an input that wants a link */

static guint
pads (const HrElementDef *def, gboolean output)
{
  if (output)
    return def->consume != NULL ? 0 : def->route != NULL ? (guint)g_test_rand_int_range (1, 5) : 1;
  return def->create != NULL ? 0 : def->merge != NULL ? (guint)g_test_rand_int_range (1, 5) : 1;
}

/* Elements in a random order of the text, linked at random but without circles; joins take any
 * fields. */
static HrPipeline *
random_pipeline (void)
{
  static const HrElementDef *defs[8];
  g_autoptr (GPtrArray) elements = g_ptr_array_new ();
  g_autoptr (GArray) outputs = g_array_new (FALSE, FALSE, sizeof (Open));
  HrPipeline *pipeline = hr_pipeline_new ();
  guint counter = 0, n_defs = 0;

  for (const char *const *name = (const char *const[]){ "identity", "thing", "tee", "join", NULL };
       *name != NULL; name++)
    defs[n_defs++] = hr_registry_find (*name, NULL);
  g_ptr_array_add (elements, hr_element_new (hr_registry_find ("fakesrc", NULL)));
  for (int n = g_test_rand_int_range (0, 12); n > 0; n--)
    g_ptr_array_add (elements, hr_element_new (defs[g_test_rand_int_range (0, (gint32)n_defs)]));
  /* link them in this order, each to what is open before it; more sources and sinks where needed */
  for (guint i = 0; i < elements->len; i++) {
    HrElement *element = g_ptr_array_index (elements, i);
    guint ins = pads (element->def, FALSE), outs = pads (element->def, TRUE);

    if (element->def->merge != NULL)
      g_object_set (element, "mode", HR_JOIN_ANY, NULL);
    for (guint pad = 0; pad < ins; pad++) {
      Open from;

      if (outputs->len == 0 || g_test_rand_int_range (0, 6) == 0) {
        from = (Open){ hr_element_new (hr_registry_find ("fakesrc", NULL)), 0 };
        g_ptr_array_add (elements, from.element);
        from.element->index = G_MAXUINT; /* has its link already */
      } else {
        guint k = (guint)g_test_rand_int_range (0, (gint32)outputs->len);

        from = g_array_index (outputs, Open, k);
        g_array_remove_index_fast (outputs, k);
      }
      hr_pipeline_link_pads (pipeline, from.element, from.pad, element, pad);
    }
    if (element->index != G_MAXUINT)
      for (guint pad = 0; pad < outs; pad++) {
        Open open = { element, pad };

        g_array_append_val (outputs, open);
      }
  }
  for (guint i = 0; i < outputs->len; i++) {
    Open from = g_array_index (outputs, Open, i);
    HrElement *sink = hr_element_new (hr_registry_find ("fakesink", NULL));

    g_ptr_array_add (elements, sink);
    hr_pipeline_link_pads (pipeline, from.element, from.pad, sink, 0);
  }
  for (guint i = elements->len - 1; i > 0; i--) {
    guint k = (guint)g_test_rand_int_range (0, (gint32)i + 1);
    gpointer swap = elements->pdata[i];

    if (g_test_rand_bit ())
      continue;
    elements->pdata[i] = elements->pdata[k];
    elements->pdata[k] = swap;
  }
  for (guint i = 0; i < elements->len; i++) {
    HrElement *element = g_ptr_array_index (elements, i);

    randomize (element);
    name_it (pipeline, element, &counter);
    hr_pipeline_add (pipeline, element);
  }
  return pipeline;
}

static void
assert_same_props (gconstpointer a, gconstpointer b, const HrProp *props)
{
  for (; props != NULL && props->field != NULL; props++) {
    g_autofree char *x = hr_prop_get_string (a, props);
    g_autofree char *y = hr_prop_get_string (b, props);

    /* an unset list and an empty one are the same */
    g_assert_cmpstr (x != NULL ? x : "", ==, y != NULL ? y : "");
  }
}

static void
assert_same (HrPipeline *a, HrPipeline *b)
{
  g_assert_cmpuint (hr_pipeline_get_n_elements (a), ==, hr_pipeline_get_n_elements (b));
  assert_same_props (hr_pipeline_get_settings (a), hr_pipeline_get_settings (b), hr_pipeline_props);
  for (guint i = 0; i < hr_pipeline_get_n_elements (a); i++) {
    HrElement *x = hr_pipeline_get_nth_element (a, i), *y = hr_pipeline_get_nth_element (b, i);

    g_assert_true (x->def == y->def);
    assert_same_props (x->self, y->self, x->def->props);
    assert_same_props (&x->common, &y->common, hr_common_props);
    g_assert_cmpuint (x->inputs->len, ==, y->inputs->len);
    g_assert_cmpuint (x->outputs->len, ==, y->outputs->len);
    for (guint pad = 0; pad < x->outputs->len; pad++) {
      HrLink *k = g_ptr_array_index (x->outputs, pad), *l = g_ptr_array_index (y->outputs, pad);

      g_assert_cmpuint (k->to->index, ==, l->to->index);
      g_assert_cmpuint (k->to_pad, ==, l->to_pad);
    }
  }
}

static void
test_round_trip (void)
{
  guint longest = 0;

  for (guint i = 0; i < 4000; i++) {
    g_autoptr (HrPipeline) pipeline = random_pipeline ();
    g_autoptr (HrPipeline) back = NULL;
    g_autofree char *text = NULL;
    g_autofree char *again = NULL;

    g_object_set (pipeline, "serial", g_test_rand_bit (), "memory", random_size (), "cpus",
                  (guint64)g_test_rand_int_range (0, 9), NULL);
    text = hr_pipeline_to_string (pipeline);
    back = parse (text);
    assert_same (pipeline, back);
    again = hr_pipeline_to_string (back);
    g_assert_cmpstr (text, ==, again);
    longest = MAX (longest, hr_pipeline_get_n_elements (back));
  }
  /* the graphs were not all small */
  g_assert_cmpuint (longest, >=, 20);
}

/* one element: its settings, without its name and what it is linked to */
static void
test_element (void)
{
  g_autoptr (HrPipeline) pipeline =
      parse ("fakesrc ! identity name=m mark='a b' on-error=skip ! fakesink");
  g_autofree char *plain = hr_element_to_string (hr_pipeline_get_nth_element (pipeline, 0));
  g_autofree char *set = hr_element_to_string (hr_pipeline_get_element (pipeline, "m"));

  g_assert_cmpstr (plain, ==, "fakesrc");
  g_assert_cmpstr (set, ==, "identity mark='a b' on-error=skip");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cast_register ();
  hr_registry_add (&hr_element_thing);
  g_test_add_func ("/print/canonical", test_canonical);
  g_test_add_func ("/print/round-trip", test_round_trip);
  g_test_add_func ("/print/element", test_element);
  return g_test_run ();
}
