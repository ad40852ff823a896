/* join: what is merged, and when it ends */
#include "folder.h"
#include "hr-harness.h"

/* runs @text, whose appsink gives buffers with the field "bytes"; what the sink got, as numbers */
static GArray *
collect (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
  GArray *sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  HrBuffer *buffer;

  g_assert_no_error (error);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  for (gint64 n = 0; (buffer = hr_pipeline_pull (pipeline, &error)) != NULL; n++) {
    HrTensor *tensor = hr_buffer_get_tensor (buffer, "bytes");
    gsize size = tensor != NULL ? hr_tensor_get_n_bytes (tensor) : 0;

    g_assert_cmpint (buffer->number, ==, n);
    g_array_append_val (sizes, size);
    hr_buffer_unref (buffer);
  }
  g_assert_no_error (error);
  hr_pipeline_wait (pipeline, &error);
  g_assert_no_error (error);
  return sizes;
}

static guint
count (GArray *sizes, gsize size)
{
  guint n = 0;

  for (guint i = 0; i < sizes->len; i++)
    n += g_array_index (sizes, gsize, i) == size;
  return n;
}

static void
test_concat (void)
{
  g_autoptr (GArray) sizes =
      collect ("join name=j mode=concat ! appsink fakesrc num-buffers=30 size=1 "
               "interval=1ms ! j. fakesrc num-buffers=500 size=2 ! j. fakesrc "
               "num-buffers=0 ! j. fakesrc num-buffers=3 size=3 ! j.");

  g_assert_cmpuint (sizes->len, ==, 533);
  for (guint i = 0; i < sizes->len; i++)
    g_assert_cmpuint (g_array_index (sizes, gsize, i), ==, i < 30 ? 1 : i < 530 ? 2 : 3);
  hr_harness_assert_no_leaks ();
}

static void
test_any (void)
{
  g_autoptr (GArray) sizes =
      collect ("join name=j mode=any ! appsink fakesrc num-buffers=30 size=1 "
               "interval=1ms ! j. fakesrc num-buffers=500 size=2 ! j. fakesrc "
               "num-buffers=0 ! j. fakesrc num-buffers=3 size=3 ! j.");

  g_assert_cmpuint (sizes->len, ==, 533);
  g_assert_cmpuint (count (sizes, 1), ==, 30);
  g_assert_cmpuint (count (sizes, 2), ==, 500);
  g_assert_cmpuint (count (sizes, 3), ==, 3);
  hr_harness_assert_no_leaks ();
}

/* gives each buffer a further field */
static gboolean
label_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
               HrOut *out, GError **error G_GNUC_UNUSED)
{
  g_autofree char *text = g_strdup_printf ("label %" G_GINT64_FORMAT, in->number);

  in = hr_buffer_make_writable (in);
  hr_buffer_set_string (in, "label", text);
  hr_out_push (out, in);
  return TRUE;
}

typedef struct {
  char unused;
} Label;

HR_ELEMENT (label, Label, .summary = "Test: add a label", .gives = "label",
            .parallel = HR_PARALLEL_YES, .process = label_process)

/* zip refuses a field that two inputs bring, so the second branch drops its own */
static gboolean
rename_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
                HrOut *out, GError **error G_GNUC_UNUSED)
{
  in = hr_buffer_make_writable (in);
  hr_buffer_remove (in, "bytes");
  hr_buffer_set_string (in, "other", "x");
  hr_out_push (out, in);
  return TRUE;
}

HR_ELEMENT (renamer, Label, .summary = "Test: other instead of bytes", .needs = "bytes",
            .takes = "bytes", .gives = "other", .process = rename_process)

/* the shorter input says when it is over, also when the longer never ends */
static void
test_zip_ends (void)
{
  g_autoptr (GArray) first =
      collect ("join name=j ! appsink fakesrc num-buffers=30 size=1 ! j. fakesrc size=2 ! "
               "renamer ! j.");
  g_autoptr (GArray) second =
      collect ("join name=j ! appsink fakesrc size=1 ! j. fakesrc num-buffers=30 size=2 ! "
               "renamer ! j.");
  g_autoptr (GArray) none =
      collect ("join name=j ! appsink fakesrc size=1 ! j. fakesrc num-buffers=0 size=2 ! "
               "renamer ! j.");

  g_assert_cmpuint (first->len, ==, 30);
  g_assert_cmpuint (count (first, 1), ==, 30);
  g_assert_cmpuint (second->len, ==, 30);
  g_assert_cmpuint (none->len, ==, 0);
  hr_harness_assert_no_leaks ();
}

static void
test_zip_merges (gconstpointer workers)
{
  HrHarness *harness =
      hr_harness_new ("tee name=t t. ! identity error-every=5 on-error=skip ! join name=j t. "
                      "! label ! j. j. ! identity",
                      GPOINTER_TO_UINT (workers));
  guint n = 0;

  for (guint i = 0; i < 200; i++)
    hr_harness_push_bytes (harness, "number", &i, sizeof i);
  hr_harness_end (harness);
  for (HrBuffer *buffer; (buffer = hr_harness_pull (harness)) != NULL; n++) {
    g_autofree char *text = NULL;

    /* a hole in one is a hole, and holes are not pulled */
    n += n % 5 == 4;
    text = g_strdup_printf ("label %u", n);
    g_assert_cmpint (buffer->number, ==, n);
    g_assert_cmpuint (hr_buffer_get_n_fields (buffer), ==, 2);
    g_assert_cmpstr (hr_buffer_get_string (buffer, "label"), ==, text);
    g_assert_cmpuint (*(guint *)hr_tensor_get_data (hr_buffer_get_tensor (buffer, "number")), ==,
                      n);
    hr_buffer_unref (buffer);
  }
  g_assert_cmpuint (n, ==, 199);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* 2^40 ways lead through: who looks along the graph must not walk each */
static void
test_branches_meet_again (void)
{
  const char line[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"?\"}, "
                      "{\"role\": \"assistant\", \"content\": \"!\"}]}\n";
  char *folder = folder_new ();
  g_autofree char *path = g_build_filename (folder, "a.jsonl", NULL);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  HrBuffer *buffer;
  guint n = 0;

  g_file_set_contents (path, line, -1, &error);
  g_assert_no_error (error);
  g_string_printf (text,
                   "filesrc location=%s ! jsonlparse ! imagefetch ! imagedecode ! resize ! "
                   "tee name=t0 ",
                   path);
  for (guint i = 0; i < 40; i++) {
    g_string_append_printf (text, "t%u. ! join name=j%u ! ", i, i);
    if (i < 39)
      g_string_append_printf (text, "tee name=t%u ", i + 1);
    else
      g_string_append (text, "patchify ! batch size=2 ! appsink ");
    g_string_append_printf (text, "t%u. ! identity ! j%u. ", i, i);
  }
  pipeline = hr_parse_launch (text->str, &error);
  g_assert_no_error (error);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  for (; (buffer = hr_pipeline_pull (pipeline, &error)) != NULL; n++)
    hr_buffer_unref (buffer);
  g_assert_no_error (error);
  hr_pipeline_wait (pipeline, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n, ==, 1);
  g_clear_object (&pipeline);
  folder_remove (folder);
  hr_harness_assert_no_leaks ();
}

static void
test_examples (void)
{
  hr_harness_run_examples ("join");
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  hr_registry_add (&hr_element_label);
  hr_registry_add (&hr_element_renamer);
  g_test_add_func ("/join/concat", test_concat);
  g_test_add_func ("/join/any", test_any);
  g_test_add_func ("/join/zip-ends", test_zip_ends);
  g_test_add_data_func ("/join/1/zip-merges", GUINT_TO_POINTER (1), test_zip_merges);
  g_test_add_data_func ("/join/4/zip-merges", GUINT_TO_POINTER (4), test_zip_merges);
  g_test_add_func ("/join/branches-meet-again", test_branches_meet_again);
  g_test_add_func ("/join/examples", test_examples);
  return g_test_run ();
}
