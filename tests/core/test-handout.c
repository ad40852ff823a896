/* a sink that works on what a program pulls: what it pushes is handed out, and nobody sees where */
#include <headrace.h>
#include <string.h>
#include "hr-registry.h"
#include "small.h"

typedef struct {
  guint64 ahead;
  guint64 bad; /* the step that fails; 0: none */
} Marks;

static gint n_marked;

static const HrProp props[] = { HR_PROP_UINT (Marks, ahead, 1, 64, 2, "Steps that may wait"),
                                HR_PROP_UINT (Marks, bad, 0, 1000, 0, "Step that is bad"),
                                HR_PROP_END };

static gboolean
marks_process (gconstpointer data, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
               GError **error)
{
  const Marks *self = data;
  HrBuffer *batch = hr_buffer_make_writable (in);

  if (self->bad > 0 && batch->number == (gint64)self->bad) {
    hr_buffer_unref (batch);
    g_set_error (error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD, "as was asked for");
    return FALSE;
  }
  g_atomic_int_inc (&n_marked);
  hr_buffer_set_string (batch, "mark", "marked");
  hr_out_push (out, batch);
  return TRUE;
}

static void
marks_lookahead (gconstpointer data, guint *steps, guint64 *bytes, guint *warm_up)
{
  *steps = (guint)((const Marks *)data)->ahead;
  *bytes = *warm_up = 0;
}

static void
marks_transfers (gconstpointer self G_GNUC_UNUSED, gpointer shared G_GNUC_UNUSED, gint64 *copied,
                 gint64 *waited)
{
  *copied = 2000000000;
  *waited = 1000000;
}

HR_ELEMENT (marks, Marks, .summary = "Mark what is pulled", .needs = "batch?", .props = props,
            .pullable = TRUE, .process = marks_process, .lookahead = marks_lookahead,
            .transfers = marks_transfers)

static HrPipeline *
start (const char *settings, const char *marks)
{
  g_autofree char *text = g_strdup_printf (
      "%s fakesrc num-buffers=21 ! batch size=2 ! prefetchqueue ! %s", settings, marks);
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = hr_parse_launch (text, &error);

  g_assert_no_error (error);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  return pipeline;
}

/* all steps, in order, each marked */
static void
pull_all (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;
  HrBuffer *batch;
  guint n = 0;

  while ((batch = hr_pipeline_pull (pipeline, &error)) != NULL) {
    g_assert_cmpint (batch->number, ==, n);
    g_assert_cmpstr (hr_buffer_get_string (batch, "mark"), ==, "marked");
    n++;
    hr_buffer_unref (batch);
  }
  g_assert_no_error (error);
  g_assert_cmpuint (n, ==, 11);
}

static void
test_order (void)
{
  static const char *const settings[] = { "", "serial=true", "memory=1" };

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++) {
    SmallLive live = small_live ();
    HrPipeline *pipeline = start (settings[i], "marks ahead=3");

    pull_all (pipeline);
    g_object_unref (pipeline);
    small_assert_live (live);
  }
}

/* it works before it is asked, as far as it may */
static void
test_ahead (void)
{
  SmallLive live = small_live ();
  HrPipeline *pipeline;

  g_atomic_int_set (&n_marked, 0);
  pipeline = start ("", "marks ahead=2");
  for (guint i = 0; i < 3; i++)
    hr_buffer_unref (hr_pipeline_pull (pipeline, NULL));
  while (g_atomic_int_get (&n_marked) < 5) /* time-outs are the runner's */
    g_usleep (1000);
  g_usleep (20000);
  g_assert_cmpint (g_atomic_int_get (&n_marked), <=, 6); /* two wait, one has no room */
  hr_pipeline_stop (pipeline);
  g_object_unref (pipeline);
  small_assert_live (live);
}

static void
test_failure (void)
{
  SmallLive live = small_live ();
  HrPipeline *pipeline = start ("", "marks bad=2");
  g_autoptr (GError) error = NULL;
  HrBuffer *batch;

  while ((batch = hr_pipeline_pull (pipeline, &error)) != NULL)
    hr_buffer_unref (batch);
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);
  g_assert_true (g_str_has_prefix (error->message, "marks \"marks0\":"));
  g_object_unref (pipeline);
  small_assert_live (live);
}

/* text, elements and stats are those of the text; the times are those of what is pulled */
static void
test_hidden (void)
{
  HrPipeline *pipeline = start ("", "marks ahead=5");
  g_autofree char *text = hr_pipeline_to_string (pipeline);
  g_autofree char *stats_text = NULL;
  g_autoptr (JsonNode) root = NULL;
  JsonObject *stats, *last;
  JsonArray *elements;

  pull_all (pipeline);
  g_assert_true (g_str_has_suffix (text, "! prefetchqueue ! marks ahead=5"));
  g_assert_cmpuint (hr_pipeline_get_n_elements (pipeline), ==, 4);
  stats_text = hr_pipeline_get_stats (pipeline);
  root = json_from_string (stats_text, NULL);
  stats = json_node_get_object (root);
  elements = json_object_get_array_member (stats, "elements");
  g_assert_cmpuint (json_array_get_length (elements), ==, 4);
  last = json_array_get_object_element (elements, 3);
  g_assert_cmpstr (json_object_get_string_member (last, "factory"), ==, "marks");
  g_assert_cmpint (json_object_get_int_member (last, "items"), ==, 11);
  g_assert_cmpint (json_object_get_int_member (stats, "steps"), ==, 11);
  g_assert_cmpint (json_object_get_int_member (stats, "samples"), ==, 21);
  g_assert_cmpfloat (json_object_get_double_member (stats, "transfer_s"), ==, 2);
  g_assert_cmpfloat (json_object_get_double_member (stats, "transfer_wait_s"), ==, 0.001);
  g_object_unref (pipeline);
}

static void
test_two (void)
{
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = hr_parse_launch ("fakesrc ! tee name=t t. ! marks t. ! appsink", &error);

  g_assert_null (pipeline);
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT);
  g_clear_error (&error);
  pipeline = hr_parse_launch ("fakesrc ! marks ! fakesink", &error);
  g_assert_null (pipeline);
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_LINK);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  hr_registry_add (&hr_element_marks);
  g_test_add_func ("/handout/order", test_order);
  g_test_add_func ("/handout/ahead", test_ahead);
  g_test_add_func ("/handout/failure", test_failure);
  g_test_add_func ("/handout/hidden", test_hidden);
  g_test_add_func ("/handout/two", test_two);
  return g_test_run ();
}
