/* options.c */
#include "options.h"
#include <string.h>

LaunchOptions launch_options;

/* Returns: which of @names, NULL at their end, the value is; -1: none of them */
static int
choose (const char *option, const char *value, const char *const *names, GError **error)
{
  g_autofree char *all = NULL;

  for (int i = 0; names[i] != NULL; i++)
    if (strcmp (value, names[i]) == 0)
      return i;
  all = g_strjoinv (", ", (char **)names);
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: \"%s\" is none of %s", option,
               value, all);
  return -1;
}

static gboolean
set_stats (const char *name, const char *value, gpointer data G_GNUC_UNUSED, GError **error)
{
  static const char *const names[] = { "text", "json", NULL };
  int chosen = choose (name, value, names, error);

  launch_options.stats = (Stats)(STATS_TEXT + chosen);
  return chosen >= 0;
}

static gboolean
set_progress (const char *name, const char *value, gpointer data G_GNUC_UNUSED, GError **error)
{
  static const char *const names[] = { "auto", "bar", "lines", "elements", "none", NULL };
  int chosen = choose (name, value, names, error);

  launch_options.progress = (LaunchProgress)chosen;
  return chosen >= 0;
}

static gboolean
set_resume (const char *name, const char *value, gpointer data G_GNUC_UNUSED, GError **error)
{
  static const char *const names[] = { "exact", "force", NULL };
  int chosen = choose (name, value, names, error);

  launch_options.resume = (LaunchResume)(LAUNCH_RESUME_EXACT + chosen);
  return chosen >= 0;
}

static GOptionEntry entries[] = {
  { "file", 'f', 0, G_OPTION_ARG_FILENAME, &launch_options.file,
    "Read the pipeline from FILE; - is stdin", "FILE" },
  /* FILENAME: the bytes as they are; STRING would have them fit the locale, and LC_ALL=C is ASCII
   */
  { "define", 'D', 0, G_OPTION_ARG_FILENAME_ARRAY, &launch_options.variables,
    "A value for ${NAME} in the text", "NAME=VALUE" },
  { "print", 0, 0, G_OPTION_ARG_NONE, &launch_options.print,
    "Print the pipeline in canonical form; do not run", NULL },
  { "stats", 0, 0, G_OPTION_ARG_CALLBACK, set_stats,
    "At the end, print all numbers on stdout: text (default), or json in one line", "text|json" },
  { "progress", 0, 0, G_OPTION_ARG_CALLBACK, set_progress,
    "bar, lines, none, or auto (default): a bar on a terminal, now and then a line elsewhere; "
    "elements: the same, and a line for each element",
    "auto|bar|lines|elements|none" },
  { "dot", 0, 0, G_OPTION_ARG_FILENAME, &launch_options.dot,
    "Write the graph for Graphviz, with its numbers once a second and at the end; - is stdout, at "
    "the end",
    "FILE" },
  { "dashboard", 0, 0, G_OPTION_ARG_STRING, &launch_options.dashboard,
    "A page in the browser, and /metrics for Prometheus: 127.0.0.1:8707 (default); a host that can "
    "be reached from elsewhere needs HR_DASHBOARD_TOKEN",
    "HOST:PORT" },
  { "record", 0, 0, G_OPTION_ARG_FILENAME, &launch_options.record,
    "Write the numbers of the run into FILE, a row a second: hr-report compares such files",
    "FILE" },
  { "trace", 0, 0, G_OPTION_ARG_FILENAME, &launch_options.trace,
    "Write into FILE what each thread did when, for ui.perfetto.dev or chrome://tracing", "FILE" },
  { "flamegraph", 0, 0, G_OPTION_ARG_FILENAME, &launch_options.flamegraph,
    "At the end, write where all threads' time went: FILE.svg a picture, else folded stacks",
    "FILE" },
  { "headspace", 0, 0, G_OPTION_ARG_STRING, &launch_options.headspace,
    "After N steps (32, and of them those that fit into half of the memory) give the trainer the "
    "same ones again, at no cost: how fast could it be?",
    "N" },
  { "limit", 0, 0, G_OPTION_ARG_STRING, &launch_options.limit,
    "End after N samples, of all ranks together", "N" },
  { "steps", 0, 0, G_OPTION_ARG_STRING, &launch_options.steps, "End after N steps", "N" },
  { "epochs", 0, 0, G_OPTION_ARG_STRING, &launch_options.epochs,
    "Go through the data N times; 0: without end", "N" },
  { "seed", 0, 0, G_OPTION_ARG_STRING, &launch_options.seed, "Shuffle by this seed", "N" },
  { "rank", 0, 0, G_OPTION_ARG_STRING, &launch_options.rank, "Which of the ranks this is, from 0",
    "R" },
  { "world", 0, 0, G_OPTION_ARG_STRING, &launch_options.world, "How many ranks share the data",
    "W" },
  { "checkpoint", 0, 0, G_OPTION_ARG_FILENAME, &launch_options.checkpoint,
    "Write to FILE where the run is: now and then, on Ctrl-C and at the end", "FILE" },
  { "checkpoint-every", 0, 0, G_OPTION_ARG_STRING, &launch_options.checkpoint_every,
    "… after every N steps (100)", "N" },
  { "resume", 0, 0, G_OPTION_ARG_CALLBACK, set_resume,
    "Go on from the checkpoint in that FILE, if there is one: exact (default), or force: also when "
    "elements behind the source have changed",
    "exact|force" },
  { "scan", 0, 0, G_OPTION_ARG_STRING, &launch_options.scan,
    "Find out before the first sample, and keep: where all lines begin (lines), and how long their "
    "samples are (lengths); or only what the order needs (auto)",
    "auto|lines|lengths" },
  { "balance", 0, 0, G_OPTION_ARG_STRING, &launch_options.balance,
    "Deal the samples of each step to ranks by what they cost: none, pixels (needs --scan=lengths)",
    "none|pixels" },
  { "serial", 0, 0, G_OPTION_ARG_NONE, &launch_options.serial,
    "One thread, one sample at a time: the reference for what is delivered", NULL },
  { "auto", 0, 0, G_OPTION_ARG_NONE, &launch_options.automatic,
    "Let workers, transfers, queues and steps ahead find their own values, where none are set",
    NULL },
  { "memory", 0, 0, G_OPTION_ARG_STRING, &launch_options.memory,
    "Most bytes of samples under way, 2GiB", "SIZE" },
  { "cpus", 0, 0, G_OPTION_ARG_STRING, &launch_options.cpus, "Most processors to compute on", "N" },
  { "on-error", 0, 0, G_OPTION_ARG_STRING, &launch_options.on_error,
    "What a bad sample does, unless its element says: fail or skip", "fail|skip" },
  { "max-errors", 0, 0, G_OPTION_ARG_STRING, &launch_options.max_errors,
    "Most bad samples that the run may skip: a number, or as 1% a part of those taken so far, once "
    "they are 100",
    "N" },
  { "dead-letter", 0, 0, G_OPTION_ARG_FILENAME, &launch_options.dead_letter,
    "Write a line of JSON into FILE for each sample that is skipped for an error; deadlettersrc "
    "reads just those again",
    "FILE" },
  { "stall-timeout", 0, 0, G_OPTION_ARG_STRING, &launch_options.stall_timeout,
    "When nothing has moved for so long (120s), say who waits for what; 0: never", "TIME" },
  { "on-stall", 0, 0, G_OPTION_ARG_STRING, &launch_options.on_stall,
    "… and then only that (tell), or end the run (fail)", "tell|fail" },
  { "checksum", 0, 0, G_OPTION_ARG_NONE, &launch_options.checksum,
    "Give the sha256 of all that is delivered", NULL },
  { "quiet", 'q', 0, G_OPTION_ARG_NONE, &launch_options.quiet,
    "No summary and no progress; a --checksum all the same", NULL },
  { "verbose", 'v', 0, G_OPTION_ARG_NONE, &launch_options.verbose,
    "Name every skipped sample, and the pipeline", NULL },
  { "version", 0, 0, G_OPTION_ARG_NONE, &launch_options.version, "Print the version", NULL },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &launch_options.words, NULL,
    "PIPELINE" },
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

/* --stall-timeout=60 means seconds, as with other tools */
static void
complete_timeout (void)
{
  char *own = launch_options.stall_timeout;

  if (own == NULL || *own == '\0' || own[strspn (own, "0123456789")] != '\0')
    return;
  launch_options.stall_timeout = g_strconcat (own, "s", NULL);
  g_free (own);
}

gboolean
launch_options_parse (int argc, char **argv, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("- run a pipeline");

  complete_options (argc, argv);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_description (
      context,
      "The pipeline may be one word or many: hr-launch 'fakesrc num-buffers=10 ! fakesink'\n"
      "Exit status: 0 done, 1 failed, 2 wrong usage or pipeline, 3 done with samples skipped\n"
      "for errors, 130 and 143 stopped by SIGINT and SIGTERM.\n"
      "hr-inspect lists the elements; HR_DEBUG=NAME:LEVEL shows what they do.");
  if (!g_option_context_parse (context, &argc, &argv, error))
    return FALSE;
  complete_timeout ();
  return TRUE;
}

/* an empty name would be no file at all, and of two that write into one neither could be read */
static gboolean
check_names (GError **error)
{
  const struct {
    const char *option, *path;
  } files[] = {
    { "checkpoint", launch_options.checkpoint },
    { "dead-letter", launch_options.dead_letter },
    { "dot", launch_options.dot },
    { "record", launch_options.record },
    { "trace", launch_options.trace },
    { "flamegraph", launch_options.flamegraph },
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
    if (strcmp (files[i].path, "-") == 0 && strcmp (files[i].option, "dot") != 0) {
      g_set_error (
          error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
          "--%s needs the name of a file: it writes nothing to the standard output; a file "
          "of that name is ./-",
          files[i].option);
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

static gboolean
refuse (GError **error, const char *message)
{
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, message);
  return FALSE;
}

gboolean
launch_options_check (GError **error)
{
  const LaunchOptions *o = &launch_options;

  if (o->checkpoint == NULL && (o->resume != LAUNCH_RESUME_NO || o->checkpoint_every != NULL))
    return refuse (error, "--resume and --checkpoint-every need --checkpoint FILE");
  if (o->checkpoint != NULL && o->headspace != NULL)
    return refuse (error,
                   "--headspace gives steps again, which stand nowhere in the order: there are "
                   "no checkpoints; leave --checkpoint out");
  if (!check_names (error))
    return FALSE;
  if ((o->file != NULL) == (o->words != NULL))
    return refuse (error, o->file != NULL ? "a pipeline, or -f FILE, not both"
                                          : "no pipeline: hr-launch --help");
  return TRUE;
}
