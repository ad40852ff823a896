/* hr-launch as its users see it: exit statuses, stdout, stderr, signals */
#include <fcntl.h>
#include <sys/stat.h>
#include <json-glib/json-glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../elements/folder.h"

typedef struct {
  int status;
  char *out, *err;
} Result;

static void
result_clear (Result *result)
{
  g_free (result->out);
  g_free (result->err);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Result, result_clear)

static Result
launch_argv (const char *const *arguments)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  Result result;
  int status;

  g_ptr_array_add (argv, (gpointer)HR_LAUNCH);
  for (guint i = 0; arguments[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)arguments[i]);
  g_ptr_array_add (argv, NULL);
  g_spawn_sync (NULL, (char **)argv->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL, &result.out,
                &result.err, &status, &error);
  g_assert_no_error (error);
  g_assert_true (WIFEXITED (status));
  result.status = WEXITSTATUS (status);
  return result;
}

#define launch(...) launch_argv ((const char *const[]){ __VA_ARGS__, NULL })

/* the last line of stderr */
static void
assert_last_line (const Result *result, const char *expected)
{
  g_auto (GStrv) lines = g_strsplit (result->err, "\n", -1);
  guint n = g_strv_length (lines);

  g_assert_cmpuint (n, >=, 2);
  g_assert_cmpstr (lines[n - 1], ==, "");
  g_assert_cmpstr (lines[n - 2], ==, expected);
}

static void
test_done (void)
{
  g_auto (Result) result = launch ("fakesrc num-buffers=10 ! fakesink");
  g_auto (Result) words =
      launch ("fakesrc", "num-buffers=10", "!", "batch", "size=4", "!", "fakesink");

  g_assert_cmpint (result.status, ==, 0);
  g_assert_cmpstr (result.out, ==, "");
  assert_last_line (&result, "done: 10 samples, none skipped");
  g_assert_cmpint (words.status, ==, 0);
  assert_last_line (&words, "done: 3 batches, 10 samples, none skipped");
}

static void
test_failed (void)
{
  g_auto (Result) result = launch ("fakesrc num-buffers=10 ! identity error-after=0 ! fakesink");
  g_auto (Result) quiet =
      launch ("-q", "fakesrc num-buffers=10 ! identity error-after=0 ! fakesink");
  g_auto (Result) start = launch ("fakesrc ! filesink location=/does/not/exist");

  g_assert_cmpint (result.status, ==, 1);
  assert_last_line (
      &result, "failed after 0 samples: identity \"identity0\": sample 0 is bad, as asked for");
  g_assert_cmpint (quiet.status, ==, 1);
  g_assert_cmpstr (quiet.err, ==,
                   "hr-launch: identity \"identity0\": sample 0 is bad, as asked for\n");
  /* nothing ran: no summary */
  g_assert_cmpint (start.status, ==, 1);
  g_assert_cmpstr (
      start.err, ==,
      "hr-launch: filesink \"filesink0\": /does/not/exist: No such file or directory\n");
}

static void
test_usage (void)
{
  const struct {
    const char *arguments[6];
    const char *message;
  } rows[] = {
    { { NULL }, "hr-launch: no pipeline*" },
    { { "fakesrc ! fakesnk" },
      "hr-launch: no element \"fakesnk\"\n  fakesrc ! fakesnk\n*^~~~~~~\n*fakesink*" },
    { { "--no-such-option", "fakesrc ! fakesink" }, "*no-such-option*" },
    { { "-f", "/does/not/exist" }, "*/does/not/exist*" },
    { { "-f", "/dev/null", "fakesrc ! fakesink" }, "*not both*" },
    { { "-D", "novalue", "fakesrc ! fakesink" }, "*novalue*" },
    { { "-D", "=x", "fakesrc ! fakesink" }, "*-D =x*" },
    { { "fakesrc num-buffers=${HR_TEST_NOT_SET} ! fakesink" }, "*HR_TEST_NOT_SET*" },
    { { "--stats=xml", "fakesrc ! fakesink" }, "*xml*" },
    { { "--progress=loud", "fakesrc ! fakesink" }, "*loud*" },
    { { "--memory=much", "fakesrc ! fakesink" }, "*--memory*" },
    { { "--cpus=-1", "fakesrc ! fakesink" }, "*--cpus*" },
    { { "--limit=few", "fakesrc ! fakesink" }, "*--limit*" },
    { { "--on-error=cry", "fakesrc ! fakesink" }, "*--on-error*" },
    { { "appsrc name=mine ! fakesink" }, "*\"mine\"*program*" },
    { { "--trace=", "fakesrc ! fakesink" }, "hr-launch: --trace needs the name of a file*" },
    { { "--record=", "fakesrc ! fakesink" }, "hr-launch: --record needs the name of a file*" },
    { { "--dot=", "fakesrc ! fakesink" }, "hr-launch: --dot needs the name of a file*" },
    { { "--flamegraph=", "fakesrc ! fakesink" }, "hr-launch: --flamegraph needs the name*" },
    { { "--trace", "--steps=3", "fakesrc ! fakesink" },
      "hr-launch: --trace needs the name of a file, and --steps=3 stands there*" },
    { { "--trace=-", "fakesrc ! fakesink" }, "hr-launch: --trace needs the name of a file*./-" },
    { { "--record", "-", "fakesrc ! fakesink" }, "hr-launch: --record needs the name of a*./-" },
    { { "--record=/no/x", "--trace=/no/x", "fakesrc ! fakesink" },
      "hr-launch: --record and --trace would both write into /no/x*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_auto (Result) result = launch_argv (rows[i].arguments);
    g_autofree char *pattern = g_strconcat (rows[i].message, "*", NULL);

    g_assert_cmpint (result.status, ==, 2);
    g_assert_cmpstr (result.out, ==, "");
    g_test_message ("%s", result.err);
    g_assert_true (g_pattern_match_simple (pattern, result.err));
  }
}

static void
test_skipped (void)
{
  const char *text = "fakesrc num-buffers=20 ! identity error-every=2 ! fakesink";
  g_auto (Result) fails = launch (text);
  g_auto (Result) skips = launch ("--on-error=skip", text);
  g_auto (Result) verbose = launch ("--on-error=skip", "-v", text);
  g_auto (Result) most = launch ("--on-error=skip", "--max-errors=4", text);
  g_auto (Result) wrong = launch ("--on-error=skip", "--max-errors=some", text);
  g_auto (Result) no_letters = launch ("--on-error=skip", "--dead-letter=", text);
  g_auto (Result) no_checkpoint = launch ("--on-error=skip", "--checkpoint=", text);
  guint n = 0;

  g_assert_cmpint (fails.status, ==, 1);
  g_assert_cmpint (skips.status, ==, 3);
  assert_last_line (&skips, "done: 10 samples; 10 of 20 skipped for errors: 10 other");
  g_assert_nonnull (strstr (skips.err, "skipped (other): identity \"identity0\": sample 1 is bad"));
  g_assert_nonnull (strstr (skips.err, "(-v shows all)"));
  for (const char *at = skips.err; (at = strstr (at, "skipped (other): identity")) != NULL; at++)
    n++;
  g_assert_cmpuint (n, ==, 5);
  g_assert_cmpint (verbose.status, ==, 3);
  g_assert_nonnull (strstr (verbose.err, "sample 19 is bad"));
  /* the fifth is one too many */
  g_assert_cmpint (most.status, ==, 1);
  g_assert_cmpint (wrong.status, ==, 2);
  g_assert_nonnull (strstr (wrong.err, "--max-errors: bad value \"some\""));
  /* of a variable that is not set */
  g_assert_cmpint (no_letters.status, ==, 2);
  g_assert_nonnull (strstr (no_letters.err, "--dead-letter"));
  g_assert_cmpint (no_checkpoint.status, ==, 2);
}

static void
test_print (void)
{
  const char *text =
      "  fakesrc   num-buffers=5 #how many\n ! tee name=t t.!fakesink   t. ! identity! fakesink";
  g_auto (Result) first = launch ("--print", text);
  g_auto (Result) again = launch ("--print", first.out);
  g_auto (Result) changed = launch ("--print", "--serial", "--memory=3GiB", "fakesrc ! fakesink");

  g_assert_cmpint (first.status, ==, 0);
  g_assert_cmpstr (first.err, ==, "");
  g_assert_nonnull (strstr (first.out, "fakesrc num-buffers=5"));
  g_assert_null (strstr (first.out, "how many"));
  g_assert_cmpstr (again.out, ==, first.out);
  g_assert_nonnull (strstr (changed.out, "serial=true"));
  g_assert_nonnull (strstr (changed.out, "memory=3GiB"));
}

static void
test_file_and_variables (void)
{
  char *folder = folder_new ();
  g_autofree char *path = g_build_filename (folder, "my pipeline.hr", NULL);

  g_assert_true (g_file_set_contents (
      path, "# five or N\nfakesrc num-buffers=${N:-5}\n  ! fakesink # the end\n", -1, NULL));
  {
    g_auto (Result) result = launch ("-f", path);
    g_auto (Result) defined = launch ("-f", path, "-D", "N=7");

    g_assert_cmpint (result.status, ==, 0);
    assert_last_line (&result, "done: 5 samples, none skipped");
    assert_last_line (&defined, "done: 7 samples, none skipped");
  }
  folder_remove (folder);
}

/* the name of a value with blanks survives the shell */
static void
test_blanks (void)
{
  char *folder = folder_new ();
  g_autofree char *path = g_build_filename (folder, "two words", NULL);
  g_autofree char *argument = g_strconcat ("location=", path, NULL);
  g_auto (Result) result = launch ("fakesrc", "num-buffers=3", "size=5", "!", "filesink", argument);
  g_autofree char *content = NULL;
  gsize length;

  g_assert_cmpint (result.status, ==, 0);
  g_assert_true (g_file_get_contents (path, &content, &length, NULL));
  g_assert_cmpuint (length, ==, 15);
  folder_remove (folder);
}

static JsonObject *
parse_stats (const Result *result, JsonNode **node)
{
  g_autoptr (GError) error = NULL;

  /* one line */
  g_assert_true (strchr (result->out, '\n') == result->out + strlen (result->out) - 1);
  *node = json_from_string (result->out, &error);
  g_assert_no_error (error);
  return json_node_get_object (*node);
}

static void
assert_members (JsonObject *object, const char *names)
{
  g_auto (GStrv) parts = g_strsplit (names, " ", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    if (!json_object_has_member (object, parts[i]))
      g_error ("no member \"%s\"", parts[i]);
}

static void
test_stats (void)
{
  g_auto (Result) result =
      launch ("--stats=json", "--on-error=skip", "--checksum",
              "fakesrc num-buffers=20 ! identity error-every=5 ! batch size=4 ! "
              "prefetchqueue ! trainsim step-time=1ms");
  g_autoptr (JsonNode) node = NULL;
  JsonObject *stats = parse_stats (&result, &node);
  JsonArray *elements;

  g_assert_cmpint (result.status, ==, 3);
  assert_members (stats,
                  "status exit steps samples images skipped dropped wait_ratio prepare_s "
                  "transfer_s train_s cold_start_s wall_s cpu_s images_per_s cpu_ms_per_image "
                  "peak_rss_bytes sha256 bottleneck advice recent elements");
  g_assert_cmpint (json_object_get_int_member (stats, "exit"), ==, 3);
  g_assert_cmpint (json_object_get_int_member (stats, "steps"), ==, 5);
  g_assert_cmpint (json_object_get_int_member (stats, "samples"), ==, 16);
  g_assert_cmpint (
      json_object_get_int_member (json_object_get_object_member (stats, "skipped"), "other"), ==,
      4);
  g_assert_cmpuint (strlen (json_object_get_string_member (stats, "sha256")), ==, 64);
  assert_members (json_object_get_object_member (stats, "bottleneck"), "element kind");
  elements = json_object_get_array_member (stats, "elements");
  g_assert_cmpuint (json_array_get_length (elements), ==, 5);
  for (guint i = 0; i < 5; i++) {
    JsonObject *element = json_array_get_object_element (elements, i);

    assert_members (element, "name factory workers items bytes bytes_copied blocked_in_s working_s "
                             "blocked_out_s queue");
    assert_members (json_object_get_object_member (element, "queue"), "mean max bytes");
  }
}

static void
test_stats_of_failure (void)
{
  g_auto (Result) failed = launch ("--stats=json", "fakesrc ! identity error-after=2 ! fakesink");
  g_auto (Result) unstarted =
      launch ("--stats=json", "fakesrc ! filesink location=/does/not/exist");
  g_auto (Result) text =
      launch ("--progress", "--stats", "fakesrc num-buffers=3 ! fakesink name=end");
  g_autoptr (JsonNode) node = NULL;
  g_autoptr (JsonNode) second = NULL;
  JsonObject *stats = parse_stats (&failed, &node);

  g_assert_cmpint (json_object_get_int_member (stats, "exit"), ==, 1);
  g_assert_cmpstr (json_object_get_string_member (stats, "status"), ==, "failed");
  stats = parse_stats (&unstarted, &second);
  g_assert_cmpstr (json_object_get_string_member (stats, "status"), ==, "failed");
  g_assert_cmpint (json_object_get_int_member (stats, "exit"), ==, 1);
  g_assert_nonnull (strstr (text.out, "\nsamples                                  3\n"));
  g_assert_nonnull (strstr (text.out, "\nelements.end.items                       3\n"));
}

static char *
checksum_of (const char *option, const char *text)
{
  g_auto (Result) result = launch ("--stats=json", "--checksum", option, text);
  g_autoptr (JsonNode) node = NULL;
  JsonObject *stats = parse_stats (&result, &node);

  g_assert_cmpint (result.status, ==, 0);
  return g_strdup (json_object_get_string_member (stats, "sha256"));
}

static void
test_settings (void)
{
  const char *text = "fakesrc num-buffers=100 ! identity workers=3 ! batch size=8 ! fakesink";
  g_autofree char *reference = checksum_of ("--serial", text);
  const char *options[] = { "--memory=1", "--cpus=1", "--limit=100", "--quiet" };
  g_auto (Result) limited = launch ("--limit", "17", "fakesrc ! batch size=8 ! fakesink");
  g_auto (Result) pulled = launch ("--limit=17", "fakesrc ! appsink");
  g_auto (Result) quiet = launch ("-q", "--checksum", text);
  g_autofree char *line = g_strdup_printf ("sha256 %s\n", reference);

  for (guint i = 0; i < G_N_ELEMENTS (options); i++) {
    g_autofree char *sha256 = checksum_of (options[i], text);

    g_assert_cmpstr (sha256, ==, reference);
  }
  g_assert_cmpstr (quiet.err, ==, line);
  assert_last_line (&limited, "done: 3 batches, 17 samples, none skipped");
  assert_last_line (&pulled, "done: 17 samples, none skipped");
}

/* with numbers once it has run, without where it does not */
static void
test_dot (void)
{
  char *folder = folder_new ();
  g_autofree char *path = g_build_filename (folder, "graph.dot", NULL);
  const char *text =
      "fakesrc num-buffers=7 ! identity name=mid sleep=1ms workers=2 ! fakesink name=end";
  g_auto (Result) result = launch ("-q", "--dot", path, text);
  g_auto (Result) printed = launch ("--dot=-", "--print", text);
  g_auto (Result) out = launch ("-q", "--dot=-", text);
  g_auto (Result) bad = launch ("--dot=/does/not/exist", text);
  g_autofree char *content = NULL;
  const char *node = "e1 \\[label=\"mid\nidentity\nsleep=1ms\n[0-9]+ % busy, 2 workers, 7 items\", "
                     "fillcolor=\"0\\.083 0\\.[0-9]{3} 1\\.000\"\\];\n";
  const char *edge =
      "  e1 -> e2 \\[label=\"0 of 128 \\(max [1-7]\\)\\\\n7, [0-9.]+/s\", penwidth=1\\];\n";

  g_assert_cmpint (result.status, ==, 0);
  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  g_assert_true (g_str_has_prefix (content, "digraph pipeline {\n"));
  g_assert_true (g_regex_match_simple (node, content, 0, 0));
  g_assert_true (g_regex_match_simple (edge, content, 0, 0));
  g_assert_true (g_regex_match_simple (node, out.out, 0, 0));
  g_assert_true (g_str_has_prefix (printed.out, "digraph pipeline {\n"));
  g_assert_nonnull (strstr (printed.out, "  e1 -> e2;\n"));
  g_assert_null (strstr (printed.out, "busy"));
  g_assert_cmpint (bad.status, ==, 1);
  folder_remove (folder);
}

static void
test_version_and_help (void)
{
  g_auto (Result) version = launch ("--version");
  g_auto (Result) help = launch ("--help");

  g_assert_cmpint (version.status, ==, 0);
  g_assert_true (g_str_has_prefix (version.out, "hr-launch "));
  g_assert_cmpint (help.status, ==, 0);
  g_assert_nonnull (strstr (help.out, "--stats"));
  g_assert_nonnull (strstr (help.out, "Exit status"));
}

static void
test_stdout_full (void)
{
  static const char *const texts[] = {
    "fakesrc num-buffers=1 ! fakesink", /* shorter and longer than what stdio keeps */
    "fakesrc num-buffers=1 ! identity ! identity ! identity ! identity ! identity ! identity ! "
    "identity ! identity ! identity ! identity ! identity ! identity ! identity ! fakesink",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autofree char *command =
        g_strdup_printf ("'%s' -q --stats=json '%s' >/dev/full", HR_LAUNCH, texts[i]);
    int status = system (command);

    g_assert_true (WIFEXITED (status));
    g_assert_cmpint (WEXITSTATUS (status), ==, 1);
  }
}

/* lines that nobody takes end a run that would go on for ever */
static void
test_lines_not_taken (void)
{
  const char *const forms[] = { ">/dev/full", "| head -n 1 >/dev/null" };

  for (guint i = 0; i < G_N_ELEMENTS (forms); i++) {
    g_autofree char *command =
        g_strdup_printf ("bash -o pipefail -c \"'%s' -q 'fakesrc ! fakesink silent=false' %s\"",
                         HR_LAUNCH, forms[i]);
    int status = system (command);

    g_assert_true (WIFEXITED (status));
    g_assert_cmpint (WEXITSTATUS (status), ==, 1);
  }
}

/* containers have no locale; a text is UTF-8 all the same */
static void
test_no_locale (void)
{
  const char *text = "fakesrc num-buffers=1 ! filesink location=\"${D}/\303\244\"";
  g_autofree char *command =
      g_strdup_printf ("LC_ALL=C '%s' --print -D 'D=/\303\266' '%s' >/dev/null", HR_LAUNCH, text);
  int status = system (command);
  g_auto (Result) bytes = launch ("fakesrc \377 ! fakesink");

  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_assert_cmpint (bytes.status, ==, 2);
  g_assert_nonnull (strstr (bytes.err, "the text is not UTF-8: byte 0xff"));
}

/* what is no pipeline is told by its first bytes */
static void
test_odd_files (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hr-launch-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "zero.hr", NULL);
  g_auto (Result) endless = launch ("-f", "/dev/zero");
  g_auto (Result) dir = launch ("-f", folder);

  g_assert_true (
      g_file_set_contents (path, "fakesrc num-buffers=1 ! fakesink\0 ! fakesink", 43, NULL));
  {
    g_auto (Result) zero = launch ("-f", path);

    g_assert_cmpint (zero.status, ==, 2);
    g_assert_nonnull (strstr (zero.err, "zero.hr: byte 32 is zero"));
  }
  g_assert_cmpint (endless.status, ==, 2);
  g_assert_nonnull (strstr (endless.err, "/dev/zero: more than 16777216 bytes"));
  g_assert_cmpint (dir.status, ==, 2);
  g_assert_nonnull (strstr (dir.err, "Is a directory"));
  unlink (path);
  rmdir (folder);
}

/* that there can be none is said at once, not when the run is over */
static void
test_checkpoint_impossible (void)
{
  g_autofree char *folder = g_dir_make_tmp ("headrace-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "run.json", NULL);
  g_auto (Result) result =
      launch ("--checkpoint", path, "fakesrc num-buffers=1000000000 ! fakesink");

  g_assert_cmpint (result.status, ==, 1);
  g_assert_nonnull (strstr (result.err, "no checkpoint: fakesrc \"fakesrc0\" has no order"));
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  g_rmdir (folder);
}

/* a checkpoint takes a file's place: never that of a device, which root could do */
static void
test_checkpoint_special (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hr-launch-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "pipe", NULL);
  struct stat about;

  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  {
    g_auto (Result) result = launch ("--checkpoint", path, "fakesrc num-buffers=1 ! fakesink");

    g_assert_cmpint (result.status, ==, 1);
    g_assert_nonnull (strstr (result.err, "is no regular file"));
  }
  g_assert_cmpint (lstat (path, &about), ==, 0);
  g_assert_true (S_ISFIFO (about.st_mode));
  unlink (path);
  rmdir (folder);
}

/* ---- a run that goes on until somebody stops it ---- */

typedef struct {
  GPid pid;
  int err; /* to read from */
  GString *text;
} Child;

static Child
spawn (int err_fd, const char *const *arguments)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  Child child = { .err = -1, .text = g_string_new (NULL) };
  int pipe_fds[2] = { -1, err_fd };

  g_ptr_array_add (argv, (gpointer)HR_LAUNCH);
  for (guint i = 0; arguments[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)arguments[i]);
  g_ptr_array_add (argv, NULL);
  if (err_fd < 0)
    g_assert_cmpint (pipe (pipe_fds), ==, 0);
  g_spawn_async_with_fds (NULL, (char **)argv->pdata, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                          &child.pid, -1, -1, pipe_fds[1], &error);
  g_assert_no_error (error);
  close (pipe_fds[1]);
  child.err = pipe_fds[0];
  return child;
}

/* reads until @text has come; FALSE at the end */
static gboolean
read_until (Child *child, const char *text)
{
  char buffer[4096];

  while (text == NULL || strstr (child->text->str, text) == NULL) {
    gssize n = read (child->err, buffer, sizeof buffer);

    if (n <= 0) /* a terminal without a writer says EIO */
      return FALSE;
    g_string_append_len (child->text, buffer, n);
  }
  return TRUE;
}

static int
reap (Child *child)
{
  int status;

  read_until (child, NULL);
  g_assert_cmpint (waitpid (child->pid, &status, 0), ==, child->pid);
  close (child->err);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

static void
test_signal (gconstpointer data)
{
  int signal_number = GPOINTER_TO_INT (data);
  Child child = spawn (-1, (const char *const[]){ "-v", "--on-error=skip",
                                                  "fakesrc interval=1ms ! identity "
                                                  "error-every=2 ! fakesink queue-items=1",
                                                  NULL });

  /* the sink, too, has run: of samples 0, 2 and 4 one has room in front of it */
  g_assert_true (read_until (&child, "sample 5 is bad"));
  kill (child.pid, signal_number);
  g_assert_cmpint (reap (&child), ==, 128 + signal_number);
  g_assert_nonnull (strstr (child.text->str, signal_number == SIGINT
                                                 ? "\nstopped by SIGINT after "
                                                 : "\nstopped by SIGTERM after "));
  g_assert_nonnull (strstr (child.text->str, "\nbottleneck: "));
  g_string_free (child.text, TRUE);
}

/* timeout(1) signals the process and its group, and so twice at once: that is one request, and the
 * summary and the last checkpoint are there */
static void
test_signals_at_once (void)
{
  Child child = spawn (-1, (const char *const[]){ "-v", "--on-error=skip",
                                                  "fakesrc interval=1ms ! identity "
                                                  "error-every=2 ! identity sleep=1ms ! fakesink",
                                                  NULL });

  g_assert_true (read_until (&child, "skipped (other): "));
  for (guint i = 0; i < 20; i++) {
    kill (child.pid, SIGTERM);
    g_usleep (200); /* or they would be one */
  }
  g_assert_cmpint (reap (&child), ==, 128 + SIGTERM);
  g_assert_nonnull (strstr (child.text->str, "\nstopped by SIGTERM after "));
  g_string_free (child.text, TRUE);
}

static gboolean
is_pending (GPid pid, int signal_number)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int)pid);
  g_autofree char *text = NULL;
  const char *line;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  line = strstr (text, "ShdPnd:");
  g_assert_nonnull (line);
  return (g_ascii_strtoull (line + strlen ("ShdPnd:"), NULL, 16) >> (signal_number - 1) & 1) != 0;
}

/* … however late the second one is read; an element ends its work first, so that there is time */
static void
test_signal_read_late (void)
{
  Child child = spawn (-1, (const char *const[]){ "-v", "--on-error=skip",
                                                  "fakesrc ! identity error-every=2 ! fakesink "
                                                  "fakesrc work=3s ! fakesink",
                                                  NULL });

  g_assert_true (read_until (&child, "skipped (other): "));
  kill (child.pid, SIGTERM);
  while (is_pending (child.pid, SIGTERM))
    g_usleep (100);
  kill (child.pid, SIGSTOP);
  kill (child.pid, SIGTERM);
  g_usleep (G_USEC_PER_SEC);
  kill (child.pid, SIGCONT);
  g_assert_cmpint (reap (&child), ==, 128 + SIGTERM);
  g_assert_nonnull (strstr (child.text->str, "\nstopped by SIGTERM after "));
  g_string_free (child.text, TRUE);
}

/* whoever asks again a moment later does not want to wait */
static void
test_second_signal (void)
{
  g_autofree char *before = g_strdup (g_getenv ("TSAN_OPTIONS"));
  /* with threads that nobody has joined, on purpose */
  g_autofree char *options =
      g_strconcat (before != NULL ? before : "", ":report_thread_leaks=0", NULL);
  Child child;

  g_setenv ("TSAN_OPTIONS", options, TRUE);
  child = spawn (-1, (const char *const[]){ "-v", "--on-error=skip",
                                            "fakesrc ! identity error-every=2 ! fakesink "
                                            "fakesrc work=1h ! fakesink",
                                            NULL });
  if (before != NULL)
    g_setenv ("TSAN_OPTIONS", before, TRUE);
  else
    g_unsetenv ("TSAN_OPTIONS");
  g_assert_true (read_until (&child, "skipped (other): "));
  for (guint i = 0; i < 5; i++) { /* and the second may be read too soon */
    kill (child.pid, SIGTERM);
    g_usleep (700000);
  }
  g_assert_cmpint (reap (&child), ==, 128 + SIGTERM);
  g_assert_null (strstr (child.text->str, "stopped by SIGTERM"));
  g_string_free (child.text, TRUE);
}

/* asleep in an element, and in serial mode: it stops all the same */
static void
test_signal_while_asleep (gconstpointer serial)
{
  Child child = spawn (-1, (const char *const[]){ "-v", serial != NULL ? "--serial" : "--quiet",
                                                  "fakesrc ! identity sleep=1h ! fakesink", NULL });

  g_assert_true (read_until (&child, "fakesrc"));
  kill (child.pid, SIGINT);
  g_assert_cmpint (reap (&child), ==, 130);
  g_string_free (child.text, TRUE);
}

/* in the child, before exec: a signal that is there before anything else */
static void
raise_blocked (gpointer data G_GNUC_UNUSED)
{
  sigset_t set;

  sigemptyset (&set);
  sigaddset (&set, SIGINT);
  sigprocmask (SIG_BLOCK, &set, NULL);
  kill (getpid (), SIGINT); /* the process, not this thread */
}

static void
test_signal_before_start (void)
{
  g_autoptr (GString) text = g_string_new ("fakesrc interval=1ms ! ");
  const char *argv[] = { HR_LAUNCH, NULL, NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *err = NULL;
  int status;

  /* long enough to start that the signal is read before */
  for (guint i = 0; i < 300; i++)
    g_string_append (text, "identity ! ");
  g_string_append (text, "fakesink");
  argv[1] = text->str;

  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, raise_blocked, NULL, NULL, &err,
                &status, &error);
  g_assert_no_error (error);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 130);
}

static void
test_bar (void)
{
  int terminal = posix_openpt (O_RDWR | O_NOCTTY | O_CLOEXEC);
  Child child;
  int slave;

  if (terminal < 0 || grantpt (terminal) < 0 || unlockpt (terminal) < 0) {
    g_test_skip ("no terminals here");
    return;
  }
  slave = open (ptsname (terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  g_assert_cmpint (slave, >=, 0);
  child = spawn (
      slave, (const char *const[]){ "--limit=100000", "fakesrc interval=1ms ! fakesink", NULL });
  child.err = terminal;
  g_assert_true (read_until (&child, "] "));
  g_assert_true (read_until (&child, "samples/s"));
  g_assert_true (read_until (&child, "\033[K\033[J\r[")); /* over the first */
  kill (child.pid, SIGINT);
  g_assert_cmpint (reap (&child), ==, 130);
  /* nothing of the bar is left in front of the summary */
  g_assert_nonnull (strstr (child.text->str, "\r\033[Kelement "));
  g_string_free (child.text, TRUE);
}

static void
test_no_bar_elsewhere (void)
{
  g_auto (Result) result = launch ("fakesrc num-buffers=400 interval=1ms ! fakesink");
  g_auto (Result) forced =
      launch ("--progress=bar", "fakesrc num-buffers=5000 interval=1ms ! fakesink");

  g_assert_null (strchr (result.err, '\r'));
  g_assert_nonnull (strchr (forced.err, '\r'));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("TERM", "xterm", TRUE);
  g_test_add_func ("/hr-launch/done", test_done);
  g_test_add_func ("/hr-launch/failed", test_failed);
  g_test_add_func ("/hr-launch/usage", test_usage);
  g_test_add_func ("/hr-launch/skipped", test_skipped);
  g_test_add_func ("/hr-launch/print", test_print);
  g_test_add_func ("/hr-launch/file-and-variables", test_file_and_variables);
  g_test_add_func ("/hr-launch/blanks", test_blanks);
  g_test_add_func ("/hr-launch/stats", test_stats);
  g_test_add_func ("/hr-launch/stats-of-failure", test_stats_of_failure);
  g_test_add_func ("/hr-launch/settings", test_settings);
  g_test_add_func ("/hr-launch/dot", test_dot);
  g_test_add_func ("/hr-launch/version-and-help", test_version_and_help);
  g_test_add_func ("/hr-launch/stdout-full", test_stdout_full);
  g_test_add_func ("/hr-launch/lines-not-taken", test_lines_not_taken);
  g_test_add_func ("/hr-launch/no-locale", test_no_locale);
  g_test_add_func ("/hr-launch/odd-files", test_odd_files);
  g_test_add_func ("/hr-launch/checkpoint-impossible", test_checkpoint_impossible);
  g_test_add_func ("/hr-launch/checkpoint-special", test_checkpoint_special);
  g_test_add_data_func ("/hr-launch/sigint", GINT_TO_POINTER (SIGINT), test_signal);
  g_test_add_data_func ("/hr-launch/sigterm", GINT_TO_POINTER (SIGTERM), test_signal);
  g_test_add_func ("/hr-launch/signals-at-once", test_signals_at_once);
  g_test_add_func ("/hr-launch/signal-read-late", test_signal_read_late);
  g_test_add_func ("/hr-launch/second-signal", test_second_signal);
  g_test_add_data_func ("/hr-launch/asleep", NULL, test_signal_while_asleep);
  g_test_add_data_func ("/hr-launch/asleep-serial", "serial", test_signal_while_asleep);
  g_test_add_func ("/hr-launch/signal-before-start", test_signal_before_start);
  g_test_add_func ("/hr-launch/bar", test_bar);
  g_test_add_func ("/hr-launch/no-bar-elsewhere", test_no_bar_elsewhere);
  return g_test_run ();
}
