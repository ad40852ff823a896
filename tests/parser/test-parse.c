/* test-parse.c: right pipelines: what graph and what settings come of them */
#include "cast.h"
#include "hr-link.h"
#include "hr-parse.h"
#include <string.h>

static HrPipeline *
parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = hr_parse_launch (text, &error);

  if (pipeline == NULL)
    g_error ("%s", error->message);
  return pipeline;
}

/* "fakesrc0>fakesink0": all links, by element and output: from[.pad]>[pad.]to */
static char *
links_of (HrPipeline *pipeline)
{
  GString *all = g_string_new (NULL);

  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);

    g_assert_cmpuint (element->index, ==, i);
    g_assert_true (element->pipeline == pipeline);
    for (guint pad = 0; pad < element->outputs->len; pad++) {
      HrLink *link = g_ptr_array_index (element->outputs, pad);

      g_assert_true (link->from == element && link->from_pad == pad);
      g_assert_true (g_ptr_array_index (link->to->inputs, link->to_pad) == link);
      g_string_append_printf (all, "%s%s.%u>%u.%s", all->len > 0 ? " " : "",
                              hr_element_get_name (element), pad, link->to_pad,
                              hr_element_get_name (link->to));
    }
  }
  return g_string_free (all, FALSE);
}

static void
test_graphs (void)
{
  static const struct {
    const char *text, *links;
  } rows[] = {
    { "fakesrc ! fakesink", "fakesrc0.0>0.fakesink0" },
    { "fakesrc!identity!fakesink", "fakesrc0.0>0.identity0 identity0.0>0.fakesink0" },
    { "fakesrc ! identity ! identity ! fakesink",
      "fakesrc0.0>0.identity0 identity0.0>0.identity1 identity1.0>0.fakesink0" },
    /* several chains */
    { "fakesrc ! fakesink fakesrc ! fakesink", "fakesrc0.0>0.fakesink0 fakesrc1.0>0.fakesink1" },
    /* names, and numbers that jump over names */
    { "fakesrc name=a ! fakesink", "a.0>0.fakesink0" },
    { "fakesrc name=fakesrc1 ! fakesink fakesrc ! fakesink fakesrc ! fakesink",
      "fakesrc1.0>0.fakesink0 fakesrc0.0>0.fakesink1 fakesrc2.0>0.fakesink2" },
    { "fakesrc ! identity name=identity0 ! identity ! fakesink",
      "fakesrc0.0>0.identity0 identity0.0>0.identity1 identity1.0>0.fakesink0" },
    /* references back and forward */
    { "fakesrc name=a fakesink name=b a. ! b.", "a.0>0.b" },
    { "a. ! b. fakesrc name=a fakesink name=b", "a.0>0.b" },
    { "fakesrc ! t. tee name=t ! fakesink", "fakesrc0.0>0.t t.0>0.fakesink0" },
    { "fakesrc ! i. ! fakesink identity name=i", "fakesrc0.0>0.i i.0>0.fakesink0" },
    { "fakesrc fakesrc0. ! fakesink", "fakesrc0.0>0.fakesink0" },
    { "a.src ! b.sink fakesrc name=a fakesink name=b", "a.0>0.b" },
    /* tee */
    { "fakesrc ! tee name=t ! fakesink t. ! fakesink",
      "fakesrc0.0>0.t t.0>0.fakesink0 t.1>0.fakesink1" },
    { "fakesrc ! tee name=t t. ! fakesink t. ! fakesink",
      "fakesrc0.0>0.t t.0>0.fakesink0 t.1>0.fakesink1" },
    { "fakesrc ! tee name=t t.1 ! fakesink t.0 ! fakesink",
      "fakesrc0.0>0.t t.0>0.fakesink1 t.1>0.fakesink0" },
    { "fakesrc ! tee name=t t. ! fakesink t.src_0 ! fakesink t. ! fakesink",
      "fakesrc0.0>0.t t.0>0.fakesink1 t.1>0.fakesink0 t.2>0.fakesink2" },
    { "fakesrc ! tee ! fakesink tee0. ! fakesink",
      "fakesrc0.0>0.tee0 tee0.0>0.fakesink0 tee0.1>0.fakesink1" },
    { "t. ! fakesink fakesrc ! tee name=t ! fakesink",
      "fakesrc0.0>0.t t.0>0.fakesink0 t.1>0.fakesink1" },
    /* join */
    { "fakesrc ! join name=j mode=any ! fakesink fakesrc ! j.",
      "fakesrc0.0>0.j j.0>0.fakesink0 fakesrc1.0>1.j" },
    { "join name=j mode=concat ! fakesink fakesrc ! j.sink_1 fakesrc ! j.0",
      "j.0>0.fakesink0 fakesrc0.0>1.j fakesrc1.0>0.j" },
    { "fakesrc ! j. ! fakesink join name=j", "fakesrc0.0>0.j j.0>0.fakesink0" },
    /* one field through a tee is one field */
    { "fakesrc ! tee name=t ! identity ! join name=j ! fakesink t. ! j.",
      "fakesrc0.0>0.t t.0>0.identity0 t.1>1.j identity0.0>0.j j.0>0.fakesink0" },
    { "fakesrc ! tee name=t t.0 ! j.1 t.1 ! j.0 join name=j ! fakesink",
      "fakesrc0.0>0.t t.0>1.j t.1>0.j j.0>0.fakesink0" },
    /* different fields of two sources */
    { "fakesrc ! join name=j ! fakesink s3src location=x ! j.",
      "fakesrc0.0>0.j j.0>0.fakesink0 s3src0.0>1.j" },
    /* what an appsrc brings is not known before it comes */
    { "appsrc ! imagedecode ! batch ! prefetchqueue ! appsink",
      "appsrc0.0>0.imagedecode0 imagedecode0.0>0.batch0 batch0.0>0.prefetchqueue0 "
      "prefetchqueue0.0>0.appsink0" },
    /* both branches bring batches */
    { "fakesrc ! tee name=t ! batch ! join name=j ! prefetchqueue ! fakesink t. ! batch ! j.",
      "fakesrc0.0>0.t t.0>0.batch0 t.1>0.batch1 batch0.0>0.j j.0>0.prefetchqueue0 "
      "prefetchqueue0.0>0.fakesink0 "
      "batch1.0>1.j" },
    /* any and concat give what all inputs bring */
    { "s3src location=a ! join name=j mode=any ! jsonlparse ! fakesink filesrc location=b ! j.",
      "s3src0.0>0.j j.0>0.jsonlparse0 jsonlparse0.0>0.fakesink0 filesrc0.0>1.j" },
    { "s3src location=a ! join name=j mode=any ! jsonlparse ! fakesink appsrc ! j.",
      "s3src0.0>0.j j.0>0.jsonlparse0 jsonlparse0.0>0.fakesink0 appsrc0.0>1.j" },
    { "appsrc ! join name=j mode=any ! jsonlparse ! fakesink s3src location=a ! j.",
      "appsrc0.0>0.j j.0>0.jsonlparse0 jsonlparse0.0>0.fakesink0 s3src0.0>1.j" },
    /* out of order where there is one order only, or where there are no samples yet */
    { "fakesrc ! identity ordered=false ! fakesink",
      "fakesrc0.0>0.identity0 identity0.0>0.fakesink0" },
    { "s3src location=a ! identity ordered=false ! jsonlparse ! tee name=t ! fakesink t. ! "
      "fakesink",
      "s3src0.0>0.identity0 identity0.0>0.jsonlparse0 jsonlparse0.0>0.t t.0>0.fakesink0 "
      "t.1>0.fakesink1" },
    { "fakesrc ! join mode=any ordered=false name=j ! tee name=t ! fakesink t. ! fakesink fakesrc "
      "! j.",
      "fakesrc0.0>0.j j.0>0.t t.0>0.fakesink0 t.1>0.fakesink1 fakesrc1.0>1.j" },
    /* blanks, comments, line ends */
    { "\xef\xbb\xbf# a file\r\nfakesrc   # comes first\r\n\t! \\\n fakesink\n\n",
      "fakesrc0.0>0.fakesink0" },
    { "serial=true memory = 1GiB\nfakesrc ! fakesink", "fakesrc0.0>0.fakesink0" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (HrPipeline) pipeline = NULL;
    g_autofree char *links = NULL;

    g_test_message ("%s", rows[i].text);
    pipeline = parse (rows[i].text);
    links = links_of (pipeline);
    g_assert_cmpstr (links, ==, rows[i].links);
  }
}

static void
expect_value (HrPipeline *pipeline, const char *name, const char *property, const char *expected)
{
  HrElement *element = hr_pipeline_get_element (pipeline, name);
  gpointer self;
  const HrProp *prop;
  g_autofree char *value = NULL;

  g_assert_nonnull (element);
  prop = hr_element_find_prop (element, property, &self);
  g_assert_nonnull (prop);
  value = hr_prop_get_string (self, prop);
  g_assert_cmpstr (value, ==, expected);
}

static void
test_settings (void)
{
  g_autoptr (HrPipeline) pipeline =
      parse ("memory=512MiB cpus = 3 filesrc location='a b/#1.jsonl' queue-items=7 ! jsonlparse "
             "workers = 4 "
             "keep=id,\"source\" ! identity name=i mark=\"say \\\"!\\\"\" drop=.5 on-error=skip "
             "max-errors=1% ! "
             "batch size=8 queue-bytes=1MB ! trainsim step-time=1.5s");
  const HrProp *memory = hr_props_find (hr_pipeline_props, "memory");
  const HrProp *cpus = hr_props_find (hr_pipeline_props, "cpus");
  g_autofree char *a = hr_prop_get_string (hr_pipeline_get_settings (pipeline), memory);
  g_autofree char *b = hr_prop_get_string (hr_pipeline_get_settings (pipeline), cpus);

  g_assert_cmpstr (a, ==, "512MiB");
  g_assert_cmpstr (b, ==, "3");
  expect_value (pipeline, "filesrc0", "location", "a b/#1.jsonl");
  expect_value (pipeline, "filesrc0", "queue-items", "7");
  expect_value (pipeline, "jsonlparse0", "workers", "4");
  expect_value (pipeline, "jsonlparse0", "keep", "id,source");
  expect_value (pipeline, "i", "mark", "say \"!\"");
  expect_value (pipeline, "i", "drop", "0.5");
  expect_value (pipeline, "i", "on-error", "skip");
  expect_value (pipeline, "i", "max-errors", "1%");
  expect_value (pipeline, "batch0", "size", "8");
  expect_value (pipeline, "batch0", "queue-bytes", "1MB");
  expect_value (pipeline, "trainsim0", "step-time", "1500ms");
}

static void
test_variables (void)
{
  g_autoptr (GHashTable) variables = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (HrPipeline) pipeline = NULL;
  g_autoptr (GError) error = NULL;

  g_hash_table_insert (variables, (gpointer) "SINK", (gpointer) "fakesink");
  g_hash_table_insert (variables, (gpointer) "DIR", (gpointer) "my data");
  pipeline = hr_parse_launch_full ("filesrc location=${DIR}/${FILE:-a.jsonl} ! identity "
                                   "mark=\"<${DIR}>\" workers=${W:-2} ! ${SINK}",
                                   variables, &error);
  g_assert_no_error (error);
  expect_value (pipeline, "filesrc0", "location", "my data/a.jsonl");
  expect_value (pipeline, "identity0", "mark", "<my data>");
  expect_value (pipeline, "identity0", "workers", "2");
  g_assert_cmpstr (hr_element_get_factory (hr_pipeline_get_element (pipeline, "fakesink0")), ==,
                   "fakesink");
}

/* elements come in the order of the text and know where they stand */
static void
test_offsets (void)
{
  static const char text[] = "fakesrc ! tee name=t ! fakesink t. !  identity ! fakesink";
  g_autoptr (HrPipeline) pipeline = parse (text);
  static const char *const words[] = { "fakesrc ", "tee", "fakesink t", "identity" };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    g_assert_cmpuint (hr_pipeline_get_nth_element (pipeline, i)->offset, ==,
                      (gsize)(strstr (text, words[i]) - text));
}

/* nothing is left of a pipeline whose text is wrong at the end */
static void
test_no_half (void)
{
  static const char *const texts[] = { "fakesrc ! fakesink silnt=1",
                                       "fakesrc ! tee name=t ! fakesink t. ! x.",
                                       "fakesrc ! identity", "fakesrc ! !" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (hr_parse_launch (texts[i], &error));
    g_assert_nonnull (error);
  }
}

/* as many elements and branches as anybody likes */
static void
test_many (void)
{
  g_autoptr (GString) text = g_string_new ("fakesrc");
  g_autoptr (HrPipeline) chain = NULL;
  g_autoptr (HrPipeline) branches = NULL;

  for (guint i = 0; i < 3000; i++)
    g_string_append (text, " ! identity");
  g_string_append (text, " ! fakesink");
  chain = parse (text->str);
  g_assert_cmpuint (hr_pipeline_get_n_elements (chain), ==, 3002);
  g_string_assign (text, "fakesrc ! tee name=t");
  for (guint i = 0; i < 64; i++)
    g_string_append (text, " t. ! fakesink");
  branches = parse (text->str);
  g_assert_cmpuint (hr_pipeline_get_element (branches, "t")->outputs->len, ==, 64);
  g_string_append (text, " t. ! fakesink");
  g_assert_null (hr_parse_launch (text->str, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cast_register ();
  g_test_add_func ("/parse/graphs", test_graphs);
  g_test_add_func ("/parse/settings", test_settings);
  g_test_add_func ("/parse/variables", test_variables);
  g_test_add_func ("/parse/offsets", test_offsets);
  g_test_add_func ("/parse/no-half", test_no_half);
  g_test_add_func ("/parse/many", test_many);
  return g_test_run ();
}
