/* test-check.c: sets of fields, and the check of graphs that no text has made */
#include "cast.h"
#include "hr-check-private.h"
#include "hr-registry.h"
#include <string.h>

static void
test_specs (void)
{
  g_autoptr (GArray) specs = hr_field_specs (" images:encoded , conversation,, batch ");
  g_autoptr (GArray) none = hr_field_specs (NULL);
  g_autofree char *a = NULL, *b = NULL;

  g_assert_cmpuint (specs->len, ==, 3);
  g_assert_cmpuint (none->len, ==, 0);
  a = hr_field_spec_to_string (&g_array_index (specs, HrFieldSpec, 0));
  b = hr_field_spec_to_string (&g_array_index (specs, HrFieldSpec, 1));
  g_assert_cmpstr (a, ==, "images:encoded");
  g_assert_cmpstr (b, ==, "conversation");
}

static gboolean
has (const HrFieldSet *set, const char *item)
{
  g_autoptr (GArray) specs = hr_field_specs (item);

  return hr_field_set_has (set, &g_array_index (specs, HrFieldSpec, 0));
}

static void
test_sets (void)
{
  g_autoptr (HrFieldSet) set = hr_field_set_new ();
  g_autoptr (HrFieldSet) copy = NULL;
  g_autofree char *key = NULL;

  hr_field_set_apply (set, NULL, "images:links, conversation", NULL);
  g_assert_true (has (set, "images"));
  g_assert_true (has (set, "images:links"));
  g_assert_false (has (set, "images:pixels"));
  g_assert_true (has (set, "conversation"));
  g_assert_false (has (set, "conversation:x"));
  g_assert_false (has (set, "labels"));
  copy = hr_field_set_copy (set);
  /* a new form takes the place of the old one */
  hr_field_set_apply (set, "conversation", "images:pixels", NULL);
  g_assert_true (has (set, "images:pixels"));
  g_assert_false (has (set, "images:links"));
  g_assert_false (has (set, "conversation"));
  g_assert_true (has (copy, "conversation"));
  key = hr_field_set_key (copy);
  g_assert_cmpstr (key, ==, "conversation,images:links");
  /* in an open set everything is there, but not in another form than the known one */
  hr_field_set_apply (set, NULL, "*", NULL);
  g_assert_true (has (set, "labels"));
  g_assert_false (has (set, "images:links"));
  hr_field_set_apply (set, "*", NULL, NULL);
  g_assert_false (has (set, "labels"));
  g_assert_false (has (set, "images"));
}

static void
test_suits (void)
{
  static const struct {
    const char *carries, *needs;
    gboolean suits;
  } rows[] = { { "images, batch", "images", FALSE },
               { "images", "images", TRUE },
               { "images, batch", NULL, TRUE },
               { "images, batch", "images, batch", TRUE },
               { "images, batch", "images, batch?", TRUE },
               { "images", "images, batch?", TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (HrFieldSet) set = hr_field_set_new ();
    g_autoptr (GArray) needs = hr_field_specs (rows[i].needs);

    hr_field_set_apply (set, NULL, rows[i].carries, NULL);
    g_assert_cmpint (hr_field_set_suits (set, needs), ==, rows[i].suits);
  }
}

static void
expect_repair (const char *from, const char *needs, const char *expected)
{
  g_autoptr (HrFieldSet) set = hr_field_set_new ();
  g_autoptr (GArray) specs = hr_field_specs (needs);
  g_autoptr (GPtrArray) names = NULL;
  g_autofree char *joined = NULL;

  hr_field_set_apply (set, NULL, from, NULL);
  names = hr_repair_find (set, specs);
  if (names == NULL) {
    g_assert_null (expected);
    return;
  }
  g_ptr_array_add (names, NULL);
  joined = g_strjoinv (" ", (char **)names->pdata);
  g_assert_cmpstr (joined, ==, expected);
}

static void
test_repair (void)
{
  expect_repair ("images:links", "images:encoded", "imagefetch");
  expect_repair ("images:links", "images:pixels", "imagefetch imagedecode");
  expect_repair ("lines", "images:pixels", "jsonlparse imagefetch imagedecode");
  expect_repair ("bytes", "batch", "batch");
  expect_repair ("lines", "input_ids, batch", "jsonlparse tokenize batch");
  /* sources are not put in between, and nothing makes links of pixels */
  expect_repair ("bytes", "lines", NULL);
  expect_repair ("images:pixels", "images:links", NULL);
  expect_repair ("bytes", "thoughts", NULL);
}

static void
test_givers (void)
{
  HrFieldSpec lines = { g_intern_string ("lines"), NULL };
  HrFieldSpec pixels = { g_intern_string ("images"), g_intern_string ("pixels") };
  g_autoptr (GPtrArray) a = hr_repair_givers (&lines, 1);
  g_autoptr (GPtrArray) b = hr_repair_givers (&pixels, 10);

  g_assert_cmpuint (a->len, ==, 1);
  g_assert_cmpuint (b->len, >=, 2);
  g_assert_true (g_ptr_array_find_with_equal_func (b, "imagedecode", g_str_equal, NULL));
  g_assert_false (g_ptr_array_find_with_equal_func (b, "imagefetch", g_str_equal, NULL));
}

static HrElement *
add (HrPipeline *pipeline, const char *factory, const char *name)
{
  HrElement *element = hr_element_new (hr_registry_find (factory, NULL));

  g_assert_true (hr_element_set_from_string (element, "name", name, NULL));
  hr_pipeline_add (pipeline, element);
  return element;
}

static void
expect_wrong (HrPipeline *pipeline, HrElement *element, HrParseError code, const char *part)
{
  g_autoptr (GError) error = NULL;
  HrElement *culprit = NULL;

  g_assert_false (hr_pipeline_check (pipeline, &culprit, &error));
  g_assert_error (error, HR_PARSE_ERROR, (gint)code);
  g_assert_nonnull (strstr (error->message, part));
  g_assert_true (culprit == element);
  g_assert_false (hr_pipeline_check (pipeline, NULL, NULL));
}

/* what the parser refuses before it comes to the check */
static void
test_built (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) good = hr_pipeline_new ();
  g_autoptr (HrPipeline) two_outputs = hr_pipeline_new ();
  g_autoptr (HrPipeline) two_inputs = hr_pipeline_new ();
  g_autoptr (HrPipeline) behind_sink = hr_pipeline_new ();
  g_autoptr (HrPipeline) before_source = hr_pipeline_new ();
  g_autoptr (HrPipeline) gap = hr_pipeline_new ();
  HrElement *a, *b, *c;

  a = add (good, "fakesrc", "a");
  b = add (good, "fakesink", "b");
  hr_pipeline_link (good, a, b);
  g_assert_true (hr_pipeline_check (good, NULL, &error));
  g_assert_no_error (error);

  a = add (two_outputs, "fakesrc", "a");
  hr_pipeline_link (two_outputs, a, add (two_outputs, "fakesink", "b"));
  hr_pipeline_link (two_outputs, a, add (two_outputs, "fakesink", "c"));
  expect_wrong (two_outputs, a, HR_PARSE_ERROR_LINK, "\"fakesrc\" has one output, not 2");

  c = add (two_inputs, "fakesink", "c");
  hr_pipeline_link (two_inputs, add (two_inputs, "fakesrc", "a"), c);
  hr_pipeline_link (two_inputs, add (two_inputs, "fakesrc", "b"), c);
  expect_wrong (two_inputs, c, HR_PARSE_ERROR_LINK, "\"fakesink\" has one input, not 2");

  a = add (behind_sink, "fakesrc", "a");
  b = add (behind_sink, "fakesink", "b");
  hr_pipeline_link (behind_sink, a, b);
  hr_pipeline_link (behind_sink, b, add (behind_sink, "fakesink", "c"));
  expect_wrong (behind_sink, b, HR_PARSE_ERROR_LINK, "is a sink: it has no output");

  a = add (before_source, "fakesrc", "a");
  b = add (before_source, "fakesrc", "b");
  hr_pipeline_link (before_source, a, b);
  expect_wrong (before_source, b, HR_PARSE_ERROR_LINK, "is a source: it has no input");

  a = add (gap, "fakesrc", "a");
  b = add (gap, "tee", "t");
  hr_pipeline_link (gap, a, b);
  hr_pipeline_link_pads (gap, b, 1, add (gap, "fakesink", "c"), 0);
  expect_wrong (gap, b, HR_PARSE_ERROR_LINK, "a pad of \"tee\" is not linked");
}

/* the order of the graph counts, not that of the text */
static void
test_order (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline =
      hr_parse_launch ("prefetchqueue name=q ! fakesink batch name=b ! q. fakesrc ! b.", &error);

  g_assert_no_error (error);
  g_assert_nonnull (pipeline);
}

/* the corrected text keeps names, settings and references */
static void
test_corrected (void)
{
  static const struct {
    const char *text, *corrected;
  } rows[] = {
    { "fakesrc ! prefetchqueue ! fakesink", "fakesrc ! batch ! prefetchqueue ! fakesink" },
    { "fakesrc ! tee name=t ! batch size=2 ! fakesink t. ! prefetchqueue name=q ! fakesink",
      "fakesrc ! tee name=t ! batch name=batch0 size=2 ! fakesink t. ! batch ! prefetchqueue "
      "name=q ! fakesink" },
    { "prefetchqueue name=q ! fakesink fakesrc ! q.",
      "prefetchqueue name=q ! fakesink fakesrc ! batch ! q." },
    { "cpus=2 fakesrc num-buffers=9 ! prefetchqueue max-bytes=1GiB ! trainsim step-time=200ms",
      "cpus=2 fakesrc num-buffers=9 ! batch ! prefetchqueue max-bytes=1GiB ! trainsim "
      "step-time=200ms" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (HrPipeline) pipeline = NULL;
    const char *last;

    g_assert_null (hr_parse_launch (rows[i].text, &error));
    last = strrchr (error->message, '\n') + 1;
    g_assert_cmpstr (last + 2, ==, rows[i].corrected);
    pipeline = hr_parse_launch (last, NULL);
    g_assert_nonnull (pipeline);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cast_register ();
  g_test_add_func ("/check/specs", test_specs);
  g_test_add_func ("/check/sets", test_sets);
  g_test_add_func ("/check/suits", test_suits);
  g_test_add_func ("/check/repair", test_repair);
  g_test_add_func ("/check/givers", test_givers);
  g_test_add_func ("/check/built", test_built);
  g_test_add_func ("/check/order", test_order);
  g_test_add_func ("/check/corrected", test_corrected);
  return g_test_run ();
}
