/* hr-launch.c: runs, measures and diagnoses a pipeline from the command line */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "headrace.h"
#include "checkpoint.h"
#ifdef HR_DASHBOARD
#include "dashboard.h"
#endif
#include "flame.h"
#include "record.h"
#include "report.h"
#include "text.h"
#include "watch.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef enum { STATS_NONE, STATS_TEXT, STATS_JSON } Stats;

static struct {
  char *file;
  char **variables;
  gboolean print;
  Stats stats;
  LaunchProgress progress;
  char *dot;
  char *dashboard, *record, *flamegraph, *trace;
  char *headspace;
  gboolean serial, automatic;
  char *rank, *world, *seed, *epochs, *steps;
  char *checkpoint, *checkpoint_every;
  LaunchResume resume;
  char *scan, *balance;
  char *limit, *memory, *cpus, *on_error, *max_errors, *dead_letter;
  char *stall_timeout, *on_stall;
  gboolean checksum;
  gboolean quiet;
  gboolean verbose;
  gboolean version;
  char **words;
} options;

static gboolean
set_stats (const char *name, const char *value, gpointer data G_GNUC_UNUSED, GError **error)
{
  static const char *const names[] = { "none", "text", "json" };

  for (guint i = STATS_TEXT; i < G_N_ELEMENTS (names); i++)
    if (strcmp (value, names[i]) == 0) {
      options.stats = (Stats)i;
      return TRUE;
    }
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: \"%s\" is none of text, json",
               name, value);
  return FALSE;
}

static gboolean
set_progress (const char *name, const char *value, gpointer data G_GNUC_UNUSED, GError **error)
{
  static const char *const names[] = { "auto", "bar", "lines", "elements", "none" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (value, names[i]) == 0) {
      options.progress = (LaunchProgress)i;
      return TRUE;
    }
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "%s: \"%s\" is none of auto, bar, lines, elements, none", name, value);
  return FALSE;
}

static gboolean
set_resume (const char *name, const char *value, gpointer data G_GNUC_UNUSED, GError **error)
{
  static const char *const names[] = { "no", "exact", "force" };

  for (guint i = LAUNCH_RESUME_EXACT; i < G_N_ELEMENTS (names); i++)
    if (strcmp (value, names[i]) == 0) {
      options.resume = (LaunchResume)i;
      return TRUE;
    }
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "%s: \"%s\" is none of exact, force", name, value);
  return FALSE;
}

static GOptionEntry entries[] = {
  { "file", 'f', 0, G_OPTION_ARG_FILENAME, &options.file, "Read the pipeline from FILE; - is stdin",
    "FILE" },
  /* FILENAME: the bytes as they are; STRING would have them fit the locale, and LC_ALL=C is ASCII
   */
  { "define", 'D', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.variables,
    "A value for ${NAME} in the text", "NAME=VALUE" },
  { "print", 0, 0, G_OPTION_ARG_NONE, &options.print,
    "Print the pipeline in canonical form; do not run", NULL },
  { "stats", 0, 0, G_OPTION_ARG_CALLBACK, set_stats,
    "At the end, print all numbers on stdout: text (default), or json in one line", "text|json" },
  { "progress", 0, 0, G_OPTION_ARG_CALLBACK, set_progress,
    "bar, lines, none, or auto (default): a bar on a terminal, now and then a line elsewhere; "
    "elements: the same, and a line for each element",
    "auto|bar|lines|elements|none" },
  { "dot", 0, 0, G_OPTION_ARG_FILENAME, &options.dot,
    "Write the graph for Graphviz, with its numbers once a second and at the end; - is stdout, at "
    "the end",
    "FILE" },
  { "dashboard", 0, 0, G_OPTION_ARG_STRING, &options.dashboard,
    "A page in the browser, and /metrics for Prometheus: 127.0.0.1:8707 (default); a host that can "
    "be reached from elsewhere needs HR_DASHBOARD_TOKEN",
    "HOST:PORT" },
  { "record", 0, 0, G_OPTION_ARG_FILENAME, &options.record,
    "Write the numbers of the run into FILE, a row a second: hr-report compares such files",
    "FILE" },
  { "trace", 0, 0, G_OPTION_ARG_FILENAME, &options.trace,
    "Write into FILE what each thread did when, for ui.perfetto.dev or chrome://tracing", "FILE" },
  { "flamegraph", 0, 0, G_OPTION_ARG_FILENAME, &options.flamegraph,
    "At the end, write where all threads' time went: FILE.svg a picture, else folded stacks",
    "FILE" },
  { "headspace", 0, 0, G_OPTION_ARG_STRING, &options.headspace,
    "After N steps (32, and of them those that fit into half of the memory) give the trainer the "
    "same ones again, at no cost: how fast could it be?",
    "N" },
  { "limit", 0, 0, G_OPTION_ARG_STRING, &options.limit,
    "End after N samples, of all ranks together", "N" },
  { "steps", 0, 0, G_OPTION_ARG_STRING, &options.steps, "End after N steps", "N" },
  { "epochs", 0, 0, G_OPTION_ARG_STRING, &options.epochs,
    "Go through the data N times; 0: without end", "N" },
  { "seed", 0, 0, G_OPTION_ARG_STRING, &options.seed, "Shuffle by this seed", "N" },
  { "rank", 0, 0, G_OPTION_ARG_STRING, &options.rank, "Which of the ranks this is, from 0", "R" },
  { "world", 0, 0, G_OPTION_ARG_STRING, &options.world, "How many ranks share the data", "W" },
  { "checkpoint", 0, 0, G_OPTION_ARG_FILENAME, &options.checkpoint,
    "Write to FILE where the run is: now and then, on Ctrl-C and at the end", "FILE" },
  { "checkpoint-every", 0, 0, G_OPTION_ARG_STRING, &options.checkpoint_every,
    "… after every N steps (100)", "N" },
  { "resume", 0, 0, G_OPTION_ARG_CALLBACK, set_resume,
    "Go on from the checkpoint in that FILE, if there is one: exact (default), or force: also when "
    "elements behind the source have changed",
    "exact|force" },
  { "scan", 0, 0, G_OPTION_ARG_STRING, &options.scan,
    "Find out before the first sample, and keep: where all lines begin (lines), and how long their "
    "samples are (lengths); or only what the order needs (auto)",
    "auto|lines|lengths" },
  { "balance", 0, 0, G_OPTION_ARG_STRING, &options.balance,
    "Deal the samples of each step to ranks by what they cost: none, pixels (needs --scan=lengths)",
    "none|pixels" },
  { "serial", 0, 0, G_OPTION_ARG_NONE, &options.serial,
    "One thread, one sample at a time: the reference for what is delivered", NULL },
  { "auto", 0, 0, G_OPTION_ARG_NONE, &options.automatic,
    "Let workers, transfers, queues and steps ahead find their own values, where none are set",
    NULL },
  { "memory", 0, 0, G_OPTION_ARG_STRING, &options.memory, "Most bytes of samples under way, 2GiB",
    "SIZE" },
  { "cpus", 0, 0, G_OPTION_ARG_STRING, &options.cpus, "Most processors to compute on", "N" },
  { "on-error", 0, 0, G_OPTION_ARG_STRING, &options.on_error,
    "What a bad sample does, unless its element says: fail or skip", "fail|skip" },
  { "max-errors", 0, 0, G_OPTION_ARG_STRING, &options.max_errors,
    "Most bad samples that the run may skip: a number, or as 1% a part of those taken so far, once "
    "they are 100",
    "N" },
  { "dead-letter", 0, 0, G_OPTION_ARG_FILENAME, &options.dead_letter,
    "Write a line of JSON into FILE for each sample that is skipped for an error; deadlettersrc "
    "reads just those again",
    "FILE" },
  { "stall-timeout", 0, 0, G_OPTION_ARG_STRING, &options.stall_timeout,
    "When nothing has moved for so long (120s), say who waits for what; 0: never", "TIME" },
  { "on-stall", 0, 0, G_OPTION_ARG_STRING, &options.on_stall,
    "… and then only that (tell), or end the run (fail)", "tell|fail" },
  { "checksum", 0, 0, G_OPTION_ARG_NONE, &options.checksum,
    "Give the sha256 of all that is delivered", NULL },
  { "quiet", 'q', 0, G_OPTION_ARG_NONE, &options.quiet,
    "No summary and no progress; a --checksum all the same", NULL },
  { "verbose", 'v', 0, G_OPTION_ARG_NONE, &options.verbose,
    "Name every skipped sample, and the pipeline", NULL },
  { "version", 0, 0, G_OPTION_ARG_NONE, &options.version, "Print the version", NULL },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.words, NULL, "PIPELINE" },
  { NULL }
};

/* --stats, --progress … may stand alone, and must not take the pipeline for their value, as
 * GOption's optional arguments do. */
static void
complete_options (int argc, char **argv)
{
  for (int i = 1; i < argc && strcmp (argv[i], "--") != 0; i++) {
    if (strcmp (argv[i], "--stats") == 0)
      argv[i] = "--stats=text";
    else if (strcmp (argv[i], "--progress") == 0)
      argv[i] = "--progress=auto";
    else if (strcmp (argv[i], "--resume") == 0)
      argv[i] = "--resume=exact";
    else if (strcmp (argv[i], "--dashboard") == 0)
      argv[i] = "--dashboard=";
    else if (strcmp (argv[i], "--headspace") == 0)
      argv[i] = "--headspace=-1";
  }
}

static int
usage_error (const char *message)
{
  fprintf (stderr, "hr-launch: %s\n", message);
  return EXIT_USAGE;
}

static int
fail (const char *message)
{
  fprintf (stderr, "hr-launch: %s\n", message);
  return EXIT_FAILED;
}

/* --stall-timeout=60 means seconds, as with other tools */
static void
complete_timeout (void)
{
  char *own = options.stall_timeout;

  if (own == NULL || *own == '\0' || own[strspn (own, "0123456789")] != '\0')
    return;
  options.stall_timeout = g_strconcat (own, "s", NULL);
  g_free (own);
}

static gboolean
set_properties (HrPipeline *pipeline, GError **error)
{
  const struct {
    const char *name, *value;
  } rows[] = {
    { "serial", options.serial ? "true" : NULL },
    { "limit", options.limit },
    { "steps", options.steps },
    { "epochs", options.epochs },
    { "seed", options.seed },
    { "scan", options.scan },
    { "balance", options.balance },
    { "rank", options.rank },
    { "world", options.world },
    { "checkpoint-every", options.checkpoint_every     ? options.checkpoint_every
                          : options.checkpoint != NULL ? "100"
                                                       : NULL },
    { "auto", options.automatic ? "true" : NULL },
    { "memory", options.memory },
    { "cpus", options.cpus },
    { "on-error", options.on_error },
    { "max-errors", options.max_errors },
    { "dead-letter", options.dead_letter },
    { "stall-timeout", options.stall_timeout },
    { "on-stall", options.on_stall },
    { "headspace", options.headspace },
    { "trace", options.trace },
    { "checksum", options.checksum ? "true" : NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (rows[i].value != NULL
        && !hr_pipeline_set_from_string (pipeline, rows[i].name, rows[i].value, error)) {
      g_prefix_error (error, "--%s: ", rows[i].name);
      return FALSE;
    }
  return TRUE;
}

static gboolean
has_dot_file (void)
{
  return options.dot != NULL && strcmp (options.dot, "-") != 0;
}

static gboolean
write_dot (HrPipeline *pipeline, GError **error)
{
  g_autofree char *dot = hr_pipeline_to_dot (pipeline);

  if (has_dot_file ())
    return g_file_set_contents (options.dot, dot, -1, error);
  fputs (dot, stdout);
  return TRUE;
}

/* What only a program can feed cannot run here; *@pulled: what a program would take is let go. */
static gboolean
look_for_app_elements (HrPipeline *pipeline, gboolean *pulled)
{
  *pulled = FALSE;
  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);
    const HrElementDef *def = hr_registry_find (hr_element_get_factory (element), NULL);

    if (def == NULL)
      continue;
    *pulled |= def->pullable;
    if (def->pushable || def->take != NULL) {
      fprintf (stderr, "hr-launch: %s \"%s\" %s\n", def->name, hr_element_get_name (element),
               def->pushable ? "gets its buffers from a program; use another source"
                             : "gives its samples to a program; leave it out");
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
run_to_end (HrPipeline *pipeline, gboolean pulled, GError **error)
{
  HrBuffer *buffer;

  while (pulled && (buffer = hr_pipeline_pull (pipeline, NULL)) != NULL)
    hr_buffer_unref (buffer);
  return hr_pipeline_wait (pipeline, error);
}

/* the core knows nothing of signals, nor of a run that did not begin */
static void
set_end (JsonNode *stats, const LaunchEnd *end)
{
  JsonObject *object = json_node_get_object (stats);

  if (end->error != NULL)
    json_object_set_string_member (object, "status", "failed");
  else if (end->signal != NULL)
    json_object_set_string_member (object, "status", "stopped");
  json_object_set_int_member (object, "exit", end->exit);
}

/* what is written while it runs */
typedef struct {
  HrPipeline *pipeline;
  LaunchRecord *record; /* NULL: none */
  gint64 next_dot;
} Files;

static void
tick (gpointer data)
{
  Files *files = data;
  gint64 now = g_get_monotonic_time ();

  if (files->record != NULL)
    launch_record_tick (files->record);
  if (!has_dot_file () || now < files->next_dot)
    return;
  files->next_dot = now + G_USEC_PER_SEC;
  write_dot (files->pipeline, NULL); /* if it fails at the end, too, that is told */
}

static gboolean
open_files (Files *files, LaunchWatch *watch, GError **error)
{
  launch_watch_set_tick (watch, tick, files);
  if (options.record == NULL)
    return TRUE;
  files->record = launch_record_new (options.record, files->pipeline, error);
  return files->record != NULL;
}

/* the core writes it, and goes on without if it cannot */
static gboolean
check_trace (JsonObject *stats, GError **error)
{
  JsonNode *node = json_object_get_member (stats, "trace");
  JsonObject *trace = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  const char *wrong = NULL;
  gint64 left_out = 0;

  if (trace != NULL) {
    left_out = json_object_get_int_member (trace, "left_out");
    wrong = json_object_get_string_member_with_default (trace, "error", NULL);
  }
  if (left_out > 0)
    fprintf (stderr,
             "warning: --trace: %" G_GINT64_FORMAT " events are missing in %s, which was written "
             "more slowly than they came\n",
             left_out, options.trace);
  if (wrong != NULL)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "--trace: %s; its last events are missing", wrong);
  return wrong == NULL;
}

static void
tell_file (gboolean written, GError **error, LaunchEnd *end)
{
  if (written)
    return;
  fprintf (stderr, "hr-launch: %s\n", (*error)->message);
  g_clear_error (error);
  if (end->exit == EXIT_OK)
    end->exit = EXIT_FAILED;
}

/* what was asked for beside the run, once it is known how that ended; one that cannot be written
 * takes no other with it */
static void
write_files (const Files *files, JsonNode *stats, LaunchEnd *end)
{
  JsonObject *object = json_node_get_object (stats);
  GError *error = NULL;

  tell_file (files->record == NULL || launch_record_end (files->record, stats, &error), &error,
             end);
  tell_file (options.dot == NULL || write_dot (files->pipeline, &error), &error, end);
  tell_file (check_trace (object, &error), &error, end);
  tell_file (options.flamegraph == NULL || launch_flame_write (options.flamegraph, object, &error),
             &error, end);
}

static void
report (const Files *files, LaunchEnd *end, gboolean started)
{
  g_autofree char *json = hr_pipeline_get_stats (files->pipeline);
  g_autoptr (JsonNode) stats = json_from_string (json, NULL);
  g_autofree char *text = NULL;

  if (end->exit == EXIT_OK)
    end->exit = launch_exit_of (json_node_get_object (stats));
  set_end (stats, end);
  write_files (files, stats, end);
  if (started && !options.quiet) {
    g_autofree char *summary = launch_summary (json_node_get_object (stats), end);

    fputs (summary, stderr);
  } else if (options.checksum && options.stats == STATS_NONE) {
    const char *sha256 =
        json_object_get_string_member_with_default (json_node_get_object (stats), "sha256", NULL);

    if (sha256 != NULL)
      fprintf (stderr, "sha256 %s\n", sha256);
  }
  if (options.stats == STATS_JSON)
    text = hr_json_write (stats, FALSE);
  else if (options.stats == STATS_TEXT)
    text = launch_stats_text (stats);
  if (text != NULL)
    printf (options.stats == STATS_JSON ? "%s\n" : "%s", text);
}

#ifdef HR_DASHBOARD
static void
note (const char *kind, const char *text, gpointer data)
{
  dashboard_note (data, kind, text);
}

static gboolean
open_dashboard (HrPipeline *pipeline, LaunchWatch *watch, Dashboard **dashboard, GError **error)
{
  *dashboard = NULL;
  if (options.dashboard == NULL)
    return TRUE;
  *dashboard = dashboard_new (pipeline, options.dashboard, g_getenv ("HR_DASHBOARD_TOKEN"), error);
  if (*dashboard == NULL)
    return FALSE;
  launch_watch_set_note (watch, note, *dashboard);
  if (!options.quiet)
    fprintf (stderr, "dashboard: %s\n", dashboard_get_uri (*dashboard));
  return TRUE;
}

/* @error: of a run that did not begin; what ends one is noted when it comes */
static void
close_dashboard (Dashboard *dashboard, const GError *error)
{
  if (dashboard != NULL && error != NULL)
    dashboard_note (dashboard, "failed", error->message);
  g_clear_pointer (&dashboard, dashboard_free);
}
#else
typedef struct _Dashboard Dashboard;

static gboolean
open_dashboard (HrPipeline *pipeline G_GNUC_UNUSED, LaunchWatch *watch G_GNUC_UNUSED,
                Dashboard **dashboard, GError **error)
{
  *dashboard = NULL;
  if (options.dashboard != NULL)
    g_set_error_literal (
        error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
        "--dashboard: built without libsoup 3; install libsoup-3.0-dev and build again");
  return options.dashboard == NULL;
}

static void
close_dashboard (Dashboard *dashboard G_GNUC_UNUSED, const GError *error G_GNUC_UNUSED)
{
}
#endif

static int
run (HrPipeline *pipeline)
{
  LaunchEnd end = { EXIT_OK, NULL, NULL };
  g_autoptr (GError) error = NULL;
  LaunchWatch *watch;
  Dashboard *dashboard;
  Files files = { pipeline, NULL, 0 };
  gboolean pulled, started;
  int signal_number;

  if (!look_for_app_elements (pipeline, &pulled))
    return EXIT_USAGE;
  if (!launch_checkpoint_read (pipeline, options.checkpoint, options.resume, &error))
    /* one that cannot be read says nothing against the pipeline */
    return error->domain == G_FILE_ERROR ? fail (error->message) : usage_error (error->message);
  watch = launch_watch_new (pipeline, options.quiet ? LAUNCH_PROGRESS_NONE : options.progress,
                            options.verbose, options.checkpoint, &error);
  if (watch == NULL)
    return fail (error->message);
  started = open_dashboard (pipeline, watch, &dashboard, &error)
            && open_files (&files, watch, &error) && hr_pipeline_start (pipeline, &error);
  if (!started && error->domain == HR_PARSE_ERROR)
    end.exit = EXIT_USAGE;
  if (started && (options.checkpoint == NULL || launch_checkpoint_check (pipeline, &error))
      && launch_watch_started (watch, &error)) {
    run_to_end (pipeline, pulled, &error);
  } else if (started) {
    hr_pipeline_stop (pipeline);
    hr_pipeline_wait (pipeline, NULL);
  }
  signal_number = launch_watch_end (watch);
  close_dashboard (dashboard, started ? NULL : error);
  if (started && options.checkpoint != NULL)
    launch_checkpoint_end (pipeline, options.checkpoint, error == NULL ? &error : NULL);

  /* start() was waiting when the signal came */
  if (signal_number != 0 && g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED))
    g_clear_error (&error);
  if (error != NULL) {
    end.error = error->message;
    end.exit = end.exit != EXIT_OK ? end.exit : EXIT_FAILED;
  } else if (signal_number != 0) {
    end.signal = signal_number == SIGINT ? "SIGINT" : "SIGTERM";
    end.exit = 128 + signal_number;
    if (!started)
      fprintf (stderr, "hr-launch: stopped by %s before the run began\n", end.signal);
  }
  if (started || options.stats != STATS_NONE)
    report (&files, &end, started);
  g_clear_pointer (&files.record, launch_record_free);
  if (error != NULL && (options.quiet || !started))
    fprintf (stderr, "hr-launch: %s\n", error->message);
  return end.exit;
}

static int
launch (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline =
      launch_read_pipeline (options.file, options.words, options.variables, &error);
  g_autofree char *canonical = NULL;

  complete_timeout ();
  if (pipeline == NULL || !set_properties (pipeline, &error))
    return usage_error (error->message);
  canonical = hr_pipeline_to_shown_string (pipeline);
  if ((options.print ? options.dot != NULL : has_dot_file ()) && !write_dot (pipeline, &error))
    return fail (error->message);
  if (options.print) {
    printf ("%s\n", canonical);
    return EXIT_OK;
  }
  if (options.verbose)
    fprintf (stderr, "%s\n", canonical);
  return run (pipeline);
}

/* an empty name would be no file at all, and of two that write into one neither could be read */
static gboolean
check_names (GError **error)
{
  const struct {
    const char *option, *path;
  } files[] = {
    { "checkpoint", options.checkpoint },
    { "dead-letter", options.dead_letter },
    { "dot", options.dot },
    { "record", options.record },
    { "trace", options.trace },
    { "flamegraph", options.flamegraph },
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    if (files[i].path == NULL)
      continue;
    if (*files[i].path == '\0') {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--%s needs the name of a file, not an empty one", files[i].option);
      return FALSE;
    }
    if (g_str_has_prefix (files[i].path, "--")) { /* --trace --steps=3: another option, mostly */
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--%s needs the name of a file, and %s stands there; a file of that name is "
                   "./%s",
                   files[i].option, files[i].path, files[i].path);
      return FALSE;
    }
    for (guint k = 0; k < i; k++)
      if (g_strcmp0 (files[i].path, files[k].path) == 0) {
        g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                     "--%s and --%s would both write into %s; name a file for each",
                     files[k].option, files[i].option, files[i].path);
        return FALSE;
      }
  }
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("- run a pipeline");
  g_autoptr (GError) error = NULL;
  int status;

  setlocale (LC_ALL, "");
  /* pictures come from strangers: libvips, where a plugin uses it, opens nothing but what is known
   * to be safe */
  g_setenv ("VIPS_BLOCK_UNTRUSTED", "1", FALSE);
  launch_block_signals ();
  complete_options (argc, argv);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_description (
      context,
      "The pipeline may be one word or many: hr-launch 'fakesrc num-buffers=10 ! fakesink'\n"
      "Exit status: 0 done, 1 failed, 2 wrong usage or pipeline, 3 done with samples skipped\n"
      "for errors, 130 and 143 stopped by SIGINT and SIGTERM.\n"
      "hr-inspect lists the elements; HR_DEBUG=NAME:LEVEL shows what they do.");
  if (!g_option_context_parse (context, &argc, &argv, &error))
    return usage_error (error->message);
  if (options.version) {
    printf ("hr-launch %s\n", HR_VERSION);
    return EXIT_OK;
  }
  if (options.checkpoint == NULL
      && (options.resume != LAUNCH_RESUME_NO || options.checkpoint_every != NULL))
    return usage_error ("--resume and --checkpoint-every need --checkpoint FILE");
  if (options.checkpoint != NULL && options.headspace != NULL)
    return usage_error (
        "--headspace gives steps again, which stand nowhere in the order: there are "
        "no checkpoints; leave --checkpoint out");
  if (!check_names (&error))
    return usage_error (error->message);
  if ((options.file != NULL) == (options.words != NULL))
    return usage_error (options.file != NULL ? "a pipeline, or -f FILE, not both"
                                             : "no pipeline: hr-launch --help");
  status = launch ();
  /* what is longer than the buffer has failed before, and is no longer there to be flushed */
  errno = 0;
  if (fflush (stdout) != 0 || ferror (stdout)) {
    fprintf (stderr, "hr-launch: stdout: %s\n",
             errno != 0 ? g_strerror (errno) : "could not be written");
    return status == EXIT_OK ? EXIT_FAILED : status;
  }
  return status;
}
