/* hr-launch's words: one shell word or many, the summary, the advice, the progress line */
#include <string.h>
#include "meter.h"
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
  "'advice':{'text':'put more of it behind it'},'elements':["                                      \
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

static char *
line_of (LaunchGoal goal, JsonObject *stats, guint columns)
{
  g_autoptr (LaunchMeter) meter = launch_meter_new (goal);

  launch_meter_look (meter, stats, 100);
  return launch_meter_line (meter, columns);
}

static void
test_progress (void)
{
  g_autoptr (JsonNode) node = document ("{'bad-json':10}", "null");
  JsonObject *stats = json_node_get_object (node);
  g_autofree char *line = line_of ((LaunchGoal){ 0 }, stats, 0);
  g_autofree char *half = line_of ((LaunchGoal){ .limit = 400, .world = 1 }, stats, 0);
  g_autofree char *of_two = line_of ((LaunchGoal){ .limit = 800, .world = 2 }, stats, 0);
  g_autofree char *steps = line_of ((LaunchGoal){ .steps = 30 }, stats, 0);
  g_autofree char *all = NULL;

  g_assert_cmpstr (line, ==,
                   "25 batches, 190 samples, 300 images  30.0 images/s  waiting 25.0 %  "
                   "10 skipped  10 s");
  g_assert_cmpstr (half, ==,
                   "[##########          ]  50 %  25 batches, 190 samples, 300 images  "
                   "30.0 images/s  waiting 25.0 %  10 skipped  10 s, 10 s left");
  g_assert_cmpstr (of_two, ==, half); /* the limit is that of all ranks */
  g_assert_true (g_str_has_prefix (steps, "[################    ]  83 %  25 batches"));

  /* 25 of 100 steps are this run's own, 50 were before a checkpoint: 25 are left */
  json_object_set_int_member (stats, "first_step", 50);
  json_object_set_int_member (stats, "n_steps", 100);
  all = line_of ((LaunchGoal){ .limit = 400, .world = 1 }, stats, 0);
  g_assert_cmpstr (all, ==,
                   "[###############     ]  75 %  25 batches, 190 samples, 300 images  "
                   "30.0 images/s  waiting 25.0 %  10 skipped  10 s, 10 s left");
}

/* what matters least goes first; nothing is ever wider */
static void
test_narrow (void)
{
  static const struct {
    guint columns;
    const char *line;
  } rows[] = {
    { 200, "[##########          ]  50 %  25 batches, 190 samples, 300 images  30.0 images/s  "
           "waiting 25.0 %  10 skipped  10 s, 10 s left" },
    { 115, "[##########          ]  50 %  25 batches, 190 samples  30.0 images/s  "
           "waiting 25.0 %  10 skipped  10 s, 10 s left" },
    { 112, "[##########          ]  50 %  190 samples  30.0 images/s  "
           "waiting 25.0 %  10 skipped  10 s, 10 s left" },
    { 90, "[#####     ]  50 %  190 samples  30.0 images/s  waiting 25.0 %  10 skipped  10 s left" },
    { 80, " 50 %  190 samples  30.0 images/s  waiting 25.0 %  10 skipped  10 s left" },
    { 60, " 50 %  190 samples  30.0 images/s  10 skipped  10 s left" },
    { 40, " 50 %  30.0 images/s  10 s left" },
    { 22, " 50 %  30.0 images/s" },
    { 6, " 50 %" },
    { 3, " 50" },
  };
  g_autoptr (JsonNode) node = document ("{'bad-json':10}", "null");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *line = line_of ((LaunchGoal){ .limit = 400, .world = 1 },
                                     json_node_get_object (node), rows[i].columns);

    g_assert_cmpstr (line, ==, rows[i].line);
  }
  for (guint columns = 1; columns < 140; columns++) {
    g_autofree char *line =
        line_of ((LaunchGoal){ .limit = 400, .world = 1 }, json_node_get_object (node), columns);

    g_assert_cmpint (g_utf8_strlen (line, -1), <=, columns);
  }
}

static JsonNode *
at (gint64 steps, gint64 samples, gint64 n_steps, const char *headspace)
{
  g_autofree char *json = g_strdup_printf (
      "{'steps':%d,'samples':%d,'n_steps':%d,'wall_s':50,'headspace':%s,'elements':["
      "{'name':'source','workers':1,'working_s':%d,'items':%d,'inputs':[]},"
      "{'name':'decode','workers':2,'working_s':%d,'items':%d,'inputs':['source'],"
      "'queue':{'now':3,'room':128}},"
      "{'name':'end','workers':1,'working_s':0,'items':0,'inputs':['decode'],"
      "'queue':{'now':0,'room':4}}]}",
      (int)steps, (int)samples, (int)n_steps, headspace, (int)steps / 10, (int)samples,
      (int)steps * 3 / 20, (int)steps);

  return parse (g_strdelimit (json, "'", '"'));
}

/* rates, and what is left, are those of the last half minute; the wait for the first step is no
 * pace */
static void
test_window (void)
{
  g_autoptr (LaunchMeter) meter = launch_meter_new ((LaunchGoal){ 0 });
  static const struct {
    gdouble now;
    gint64 steps;
    const char *line;
  } rows[] = {
    { 1000, 0, "[                    ]   0 %  0 samples  0.0 samples/s  50 s" },
    { 1040, 0, "[                    ]   0 %  0 samples  0.0 samples/s  50 s" },
    { 1041, 10, "[                    ]   1 %  20 samples  0.4 samples/s  50 s, 1 h 22 min left" },
    { 1051, 60,
      "[#                   ]   6 %  120 samples  10.0 samples/s  50 s, 3 min 08 s left" },
    { 1061, 110,
      "[##                  ]  11 %  220 samples  10.0 samples/s  50 s, 2 min 58 s left" },
    /* four times as fast from here on: seen when the window has passed */
    { 1071, 310,
      "[######              ]  31 %  620 samples  20.0 samples/s  50 s, 1 min 09 s left" },
    { 1081, 510, "[##########          ]  51 %  1020 samples  30.0 samples/s  50 s, 33 s left" },
    { 1091, 710, "[##############      ]  71 %  1420 samples  40.0 samples/s  50 s, 15 s left" },
    { 1101, 999, "[################### ]  99 %  1998 samples  45.9 samples/s  50 s, 0 s left" },
    { 1102, 1000, "[####################] 100 %  2000 samples  44.5 samples/s  50 s" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (JsonNode) node = at (rows[i].steps, 2 * rows[i].steps, 1000, "null");
    g_autofree char *line = NULL;

    launch_meter_look (meter, json_node_get_object (node), rows[i].now);
    line = launch_meter_line (meter, 0);
    g_assert_cmpstr (line, ==, rows[i].line);
  }
}

/* the replay counts as steps that are to be done, at a rate of its own */
static void
assert_auto (const char *automatic, const char *expected)
{
  g_autofree char *json = g_strdup_printf ("{'auto':%s,'elements':[]}", automatic);
  g_autoptr (JsonNode) node = parse (g_strdelimit (json, "'", '"'));
  const LaunchEnd end = { 0, NULL, NULL };
  g_autofree char *text = launch_summary (json_node_get_object (node), &end);
  const char *line = strstr (text, "auto:");

  if (expected == NULL)
    g_assert_null (line);
  else
    g_assert_true (line != NULL && g_str_has_prefix (line, expected));
}

static void
test_auto_line (void)
{
  assert_auto ("null", NULL);
  assert_auto ("{'settled_s':3.14,'settings':[{'element':'a','property':'workers','value':4,"
               "'changes':2},{'element':'b','property':'workers','value':1,'changes':0},"
               "{'element':'c','property':'concurrency','value':64,'changes':1}]}",
               "auto: a workers=4, c concurrency=64; settled after 3.1 s\n");
  assert_auto ("{'settled_s':null,'settings':[{'element':'a','property':'workers','value':1,"
               "'changes':0}]}",
               "auto: nothing was changed; not settled yet\n");
}

static void
test_headspace_line (void)
{
  g_autoptr (JsonNode) before =
      at (8, 16, 0, "{'replays':false,'steps':0,'wanted_steps':32,'samples_per_s':null}");
  g_autoptr (JsonNode) replay =
      at (32, 64, 0, "{'replays':true,'steps':16,'wanted_steps':32,'samples_per_s':77.5}");
  g_autofree char *first = line_of ((LaunchGoal){ 0 }, json_node_get_object (before), 0);
  g_autofree char *second = line_of ((LaunchGoal){ 0 }, json_node_get_object (replay), 0);

  g_assert_cmpstr (
      first, ==, "[##                  ]  12 %  16 samples  0.3 samples/s  50 s, 5 min 50 s left");
  g_assert_cmpstr (
      second, ==,
      "[###############     ]  75 %  the same again  64 samples  77.5 samples/s  50 s, "
      "17 s left");
}

static void
test_elements (void)
{
  g_autoptr (LaunchMeter) meter = launch_meter_new ((LaunchGoal){ 0 });
  g_autoptr (JsonNode) first = at (100, 200, 0, "null");
  g_autoptr (JsonNode) second = at (200, 400, 0, "null");
  gint busiest;

  for (guint look = 0; look < 2; look++) {
    g_autoptr (GPtrArray) lines = NULL;

    launch_meter_look (meter, json_node_get_object (look == 0 ? first : second), 10.0 + 10 * look);
    lines = launch_meter_elements (meter, 0, 0, &busiest);
    g_assert_cmpuint (lines->len, ==, 4);
    g_assert_cmpstr (lines->pdata[0], ==, "element   busy      queue    items/s  workers");
    /* of the run's 50 s, then of the 10 in between */
    g_assert_cmpstr (lines->pdata[1], ==,
                     look == 0 ? "source    20 %          -        4.0        1"
                               : "source   100 %          -       20.0        1");
    g_assert_cmpstr (lines->pdata[2], ==,
                     look == 0 ? "decode    15 %      3/128        2.0        2"
                               : "decode    75 %      3/128       10.0        2");
    g_assert_cmpstr (lines->pdata[3], ==, "end        0 %        0/4        0.0        1");
    g_assert_cmpint (busiest, ==, 1);
  }
  {
    g_autoptr (GPtrArray) few = launch_meter_elements (meter, 20, 3, &busiest);
    g_autoptr (GPtrArray) none = launch_meter_elements (meter, 20, 2, &busiest);

    g_assert_cmpuint (few->len, ==, 3);
    g_assert_cmpstr (few->pdata[1], ==, "source   100 %      ");
    g_assert_cmpstr (few->pdata[2], ==, "… and 2 less busy");
    g_assert_cmpuint (none->len, ==, 0);
    g_assert_cmpint (busiest, ==, -1);
  }
}

/* before anything is known, and a document of another version */
static void
test_unknown (void)
{
  g_autoptr (JsonNode) node = parse ("{\"wait_ratio\": null, \"steps\": null}");
  const LaunchEnd end = { 0, NULL, NULL };
  g_autofree char *text = launch_summary (json_node_get_object (node), &end);
  g_autofree char *line = line_of ((LaunchGoal){ .limit = 10 }, json_node_get_object (node), 0);

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
  g_test_add_func ("/launch/narrow", test_narrow);
  g_test_add_func ("/launch/window", test_window);
  g_test_add_func ("/launch/auto-line", test_auto_line);
  g_test_add_func ("/launch/headspace-line", test_headspace_line);
  g_test_add_func ("/launch/elements", test_elements);
  g_test_add_func ("/launch/unknown", test_unknown);
  g_test_add_func ("/launch/stats-text", test_stats_text);
  return g_test_run ();
}
