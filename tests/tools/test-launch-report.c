/* hr-launch's words: one shell word or many, the summary, the advice, the progress line */
#include <string.h>
#include "report.h"
#include "text.h"

static void
test_words (void)
{
  const struct {
    const char *words[8];
    const char *text;
  } rows[] = {
    { { "fakesrc ! fakesink" }, "fakesrc ! fakesink" },
    { { "filesrc location=a b" }, "filesrc location=a b" }, /* one word is the whole text */
    { { "fakesrc", "!", "fakesink" }, "fakesrc ! fakesink" },
    { { "fakesrc ! identity", "!", "fakesink" }, "fakesrc ! identity ! fakesink" },
    { { "filesrc", "location=my data/a", "!", "fakesink" },
      "filesrc location=\"my data/a\" ! fakesink" },
    { { "filesrc", "location=say \"a\\b\"" }, "filesrc location=\"say \\\"a\\\\b\\\"\"" },
    { { "filesrc", "location=\"my data\"" }, "filesrc location=\"my data\"" },
    { { "filesrc", "location='my data'" }, "filesrc location='my data'" },
    { { "filesrc", "max-bytes=1\t2" }, "filesrc max-bytes=\"1\t2\"" },
    { { "a", "x=\"" }, "a x=\"" },
    { { "a", "=b c", "1=b c" }, "a =b c 1=b c" }, /* no properties */
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *text = launch_join_words ((char **)rows[i].words);

    g_assert_cmpstr (text, ==, rows[i].text);
  }
}

static void
test_file (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (launch_read_file ("/does/not/exist", &error));
  g_assert_nonnull (strstr (error->message, "/does/not/exist"));
}

static JsonNode *
parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  JsonNode *node = json_from_string (text, &error);

  g_assert_no_error (error);
  return node;
}

/* what an image run looks like; SKIPPED and BOTTLENECK are filled in */
#define DOCUMENT                                                                                   \
  "{'status':'ended','exit':0,'steps':25,'samples':190,'images':300,'skipped':%s,"                 \
  "'dropped':{},'wait_ratio':0.25,'prepare_s':2.0,'transfer_s':0.5,'train_s':7.5,"                 \
  "'cold_start_s':0.05,'wall_s':10.0,'cpu_s':3.0,'images_per_s':30.0,'cpu_ms_per_image':10.0,"     \
  "'peak_rss_bytes':157286400,'sha256':'abc','bottleneck':%s,"                                     \
  "'advice':{'text':'put more of it behind it'},'elements':["                         \
  "{'name':'s3src0','factory':'s3src','workers':1,'items':20,'bytes':1048576,'bytes_copied':0,"    \
  "'blocked_in_s':0.0,'working_s':0.5,'blocked_out_s':9.0,'queue':{'mean':0.0,'max':0,'bytes':0}}" \
  ","                                                                                              \
  "{'name':'decode','factory':'imagedecode','workers':2,'items':300,'bytes':2048,"                 \
  "'bytes_copied':10,'blocked_in_s':1.0,'working_s':18.0,'blocked_out_s':120.0,"                   \
  "'queue':{'mean':3.25,'max':8,'bytes':99}},"                                                     \
  "{'name':'resize0','factory':'resize','workers':2,'items':300,'bytes':0,"                        \
  "'bytes_copied':0,'blocked_in_s':1.0,'working_s':6.0,'blocked_out_s':120.0,"                     \
  "'queue':{'mean':3.25,'max':8,'bytes':99}},"                                                     \
  "{'name':'b','factory':'batch','workers':1}]}"

static JsonNode *
document (const char *skipped, const char *bottleneck)
{
  g_autofree char *text = g_strdup_printf (DOCUMENT, skipped, bottleneck);

  return parse (g_strdelimit (text, "'", '"'));
}

static char *
summary (const char *skipped, const char *bottleneck, const LaunchEnd *end)
{
  g_autoptr (JsonNode) node = document (skipped, bottleneck);

  return launch_summary (json_node_get_object (node), end);
}

static void
test_summary (void)
{
  const LaunchEnd end = { 0, NULL, NULL };
  g_autofree char *text = summary ("{}", "{'element':'resize0','kind':'copy'}", &end);

  g_assert_cmpstr (text, ==,
                   "element               workers  items    bytes  copied  waits input    works  "
                   "waits output  queue "
                   "mean, max\n"
                   "s3src0                      1     20  1.0 MiB     0 B       0.0 ms   0.50 s    "
                   "    9.00 s         "
                   "  0.0, 0\n"
                   "decode (imagedecode)        2    300  2.0 KiB    10 B       1.00 s  18.00 s    "
                   "     120 s         "
                   "  3.2, 8\n"
                   "resize0                     2    300      0 B     0 B       1.00 s   6.00 s    "
                   "     120 s         "
                   "  3.2, 8\n"
                   "b (batch)                   1      0      0 B     0 B            -        -    "
                   "         -         "
                   "       -\n"
                   "25 batches, 190 samples, 300 images in 10.00 s: 30.0 images/s, 10.0 ms CPU an "
                   "image, at most 150 "
                   "MiB of memory\n"
                   "wait ratio 0.250: 2.50 s waiting, 7.50 s in steps; cold start 50.0 ms\n"
                   "sha256 abc\n"
                   "bottleneck: resize0 (copy): put more of it behind it\n"
                   "done: 25 batches, 190 samples, 300 images, none skipped\n");
}

static void
assert_last_line (const char *skipped, const LaunchEnd *end, const char *expected)
{
  g_autofree char *text = summary (skipped, "null", end);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n = g_strv_length (lines);

  g_assert_cmpstr (lines[n - 1], ==, "");
  g_assert_cmpstr (lines[n - 2], ==, expected);
}

static void
test_last_line (void)
{
  assert_last_line ("{}", &(LaunchEnd){ 130, "SIGINT", NULL },
                    "stopped by SIGINT after 25 batches, 190 samples, 300 images, none skipped");
  assert_last_line ("{'bad-json':2,'media-not-found':7,'overlong':1}",
                    &(LaunchEnd){ 3, NULL, NULL },
                    "done: 25 batches, 190 samples, 300 images; 10 of 200 skipped for errors: 7 "
                    "media-not-found, 2 bad-json, 1 overlong");
  assert_last_line (
      "{'a':5,'b':5}", &(LaunchEnd){ 3, NULL, NULL },
      "done: 25 batches, 190 samples, 300 images; 10 of 200 skipped for errors: 5 a, 5 b");
  assert_last_line ("{}", &(LaunchEnd){ 1, NULL, "resize \"resize0\": no" },
                    "failed after 25 batches, 190 samples, 300 images: resize \"resize0\": no");
}

static void
test_exit (void)
{
  const struct {
    const char *skipped;
    int exit;
  } rows[] = { { "{}", 0 }, { "{'bad-json':0}", 0 }, { "{'bad-json':1}", 3 }, { "null", 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (JsonNode) node = document (rows[i].skipped, "null");

    g_assert_cmpint (launch_exit_of (json_node_get_object (node)), ==, rows[i].exit);
  }
}

static void
assert_advice (const char *bottleneck, const char *expected)
{
  const LaunchEnd end = { 0, NULL, NULL };
  g_autofree char *text = summary ("{}", bottleneck, &end);
  const char *line = strstr (text, "bottleneck");

  if (expected == NULL)
    g_assert_null (line);
  else
    g_assert_true (g_str_has_prefix (line, expected));
}

static void
test_advice (void)
{
  assert_advice ("null", NULL);
  assert_advice ("{'element':'decode','kind':'of tomorrow'}",
                 "bottleneck: decode (of tomorrow): put more of it behind it\n");
}

static void
test_progress (void)
{
  g_autoptr (JsonNode) node = document ("{'bad-json':10}", "null");
  JsonObject *stats = json_node_get_object (node);
  g_autofree char *line = launch_progress_line (stats, 0, 0);
  g_autofree char *half = launch_progress_line (stats, 400, 0);
  g_autofree char *narrow = launch_progress_line (stats, 400, 30);
  g_autofree char *all = NULL;

  g_assert_cmpstr (
      line, ==,
      "25 batches, 190 samples, 300 images  30.0 images/s  waiting 25.0 %  10 skipped  "
      "10.00 s");
  g_assert_cmpstr (
      half, ==,
      "[##########          ]  50 %  25 batches, 190 samples, 300 images  30.0 images/s  "
      "waiting 25.0 %  10 skipped  10.00 s, 10.00 s left");
  g_assert_cmpstr (narrow, ==, "[##########          ]  50 %  ");

  /* 25 of 100 steps are this run's own, 50 were before a checkpoint */
  json_object_set_int_member (stats, "first_step", 50);
  json_object_set_int_member (stats, "n_steps", 100);
  all = launch_progress_line (stats, 0, 0);
  g_assert_cmpstr (
      all, ==,
      "[###############     ]  75 %  25 batches, 190 samples, 300 images  30.0 images/s  "
      "waiting 25.0 %  10 skipped  10.00 s, 10.00 s left");
}

/* before anything is known, and a document of another version */
static void
test_unknown (void)
{
  g_autoptr (JsonNode) node = parse ("{\"wait_ratio\": null, \"steps\": null}");
  const LaunchEnd end = { 0, NULL, NULL };
  g_autofree char *text = launch_summary (json_node_get_object (node), &end);
  g_autofree char *line = launch_progress_line (json_node_get_object (node), 10, 0);

  g_assert_cmpstr (text, ==, "0 samples\ndone: 0 samples, none skipped\n");
  g_assert_cmpstr (line, ==, "[                    ]   0 %  0 samples");
}

static void
test_stats_text (void)
{
  g_autoptr (JsonNode) node = document ("{'bad-json':10}", "null");
  g_autofree char *text = launch_stats_text (node);

  g_assert_nonnull (strstr (text, "\nskipped.bad-json                         10\n"));
  g_assert_nonnull (strstr (text, "\nelements.decode.queue.mean               3.25\n"));
  g_assert_nonnull (strstr (text, "\nsha256                                   abc\n"));
  g_assert_nonnull (strstr (text, "\nbottleneck                               null\n"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/launch/words", test_words);
  g_test_add_func ("/launch/file", test_file);
  g_test_add_func ("/launch/summary", test_summary);
  g_test_add_func ("/launch/last-line", test_last_line);
  g_test_add_func ("/launch/exit", test_exit);
  g_test_add_func ("/launch/advice", test_advice);
  g_test_add_func ("/launch/progress", test_progress);
  g_test_add_func ("/launch/unknown", test_unknown);
  g_test_add_func ("/launch/stats-text", test_stats_text);
  return g_test_run ();
}
