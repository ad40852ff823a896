/* hr-launch.c: runs, measures and diagnoses a pipeline from the command line */
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
#include "options.h"
#include "record.h"
#include "report.h"
#include "stdout.h"
#include "text.h"
#include "watch.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

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

static gboolean
set_properties (HrPipeline *pipeline, GError **error)
{
  const struct {
    const char *name, *value;
  } rows[] = {
    { "serial", launch_options.serial ? "true" : NULL },
    { "limit", launch_options.limit },
    { "steps", launch_options.steps },
    { "epochs", launch_options.epochs },
    { "seed", launch_options.seed },
    { "scan", launch_options.scan },
    { "balance", launch_options.balance },
    { "rank", launch_options.rank },
    { "world", launch_options.world },
    { "checkpoint-every", launch_options.checkpoint_every     ? launch_options.checkpoint_every
                          : launch_options.checkpoint != NULL ? "100"
                                                              : NULL },
    { "auto", launch_options.automatic ? "true" : NULL },
    { "memory", launch_options.memory },
    { "cpus", launch_options.cpus },
    { "on-error", launch_options.on_error },
    { "max-errors", launch_options.max_errors },
    { "dead-letter", launch_options.dead_letter },
    { "stall-timeout", launch_options.stall_timeout },
    { "on-stall", launch_options.on_stall },
    { "headspace", launch_options.headspace },
    { "trace", launch_options.trace },
    { "checksum", launch_options.checksum ? "true" : NULL },
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
  return launch_options.dot != NULL && strcmp (launch_options.dot, "-") != 0;
}

static gboolean
write_dot (HrPipeline *pipeline, GError **error)
{
  g_autofree char *dot = hr_pipeline_to_dot (pipeline);

  if (has_dot_file ())
    return g_file_set_contents (launch_options.dot, dot, -1, error);
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
  if (launch_options.record == NULL)
    return TRUE;
  files->record = launch_record_new (launch_options.record, files->pipeline, error);
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
             left_out, launch_options.trace);
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
  tell_file (launch_options.dot == NULL || write_dot (files->pipeline, &error), &error, end);
  tell_file (check_trace (object, &error), &error, end);
  tell_file (launch_options.flamegraph == NULL
                 || launch_flame_write (launch_options.flamegraph, object, &error),
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
  if (started && !launch_options.quiet) {
    g_autofree char *summary = launch_summary (json_node_get_object (stats), end);

    fputs (summary, stderr);
  } else if (launch_options.checksum && launch_options.stats == STATS_NONE) {
    const char *sha256 =
        json_object_get_string_member_with_default (json_node_get_object (stats), "sha256", NULL);

    if (sha256 != NULL)
      fprintf (stderr, "sha256 %s\n", sha256);
  }
  if (launch_options.stats == STATS_JSON)
    text = hr_json_write (stats, FALSE);
  else if (launch_options.stats == STATS_TEXT)
    text = launch_stats_text (stats);
  if (text != NULL)
    printf (launch_options.stats == STATS_JSON ? "%s\n" : "%s", text);
}

#ifdef HR_DASHBOARD
static char *
read_stats (gpointer data)
{
  return hr_pipeline_get_stats (data);
}

static void
note (const char *kind, const char *text, gpointer data)
{
  dashboard_note (data, kind, text);
}

static gboolean
open_dashboard (HrPipeline *pipeline, LaunchWatch *watch, Dashboard **dashboard, GError **error)
{
  *dashboard = NULL;
  if (launch_options.dashboard == NULL)
    return TRUE;
  *dashboard = dashboard_new (read_stats, pipeline, launch_options.dashboard,
                              g_getenv ("HR_DASHBOARD_TOKEN"), error);
  if (*dashboard == NULL) {
    g_prefix_error (error, "--dashboard: ");
    return FALSE;
  }
  launch_watch_set_note (watch, note, *dashboard);
  if (!launch_options.quiet)
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
  if (launch_options.dashboard != NULL)
    g_set_error_literal (
        error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
        "--dashboard: built without libsoup 3; install libsoup-3.0-dev and build again");
  return launch_options.dashboard == NULL;
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
  if (!launch_checkpoint_read (pipeline, launch_options.checkpoint, launch_options.resume, &error))
    /* one that cannot be read says nothing against the pipeline */
    return error->domain == G_FILE_ERROR ? fail (error->message) : usage_error (error->message);
  watch = launch_watch_new (pipeline,
                            launch_options.quiet ? LAUNCH_PROGRESS_NONE : launch_options.progress,
                            launch_options.verbose, launch_options.checkpoint, &error);
  if (watch == NULL)
    return fail (error->message);
  started = open_dashboard (pipeline, watch, &dashboard, &error)
            && open_files (&files, watch, &error) && hr_pipeline_start (pipeline, &error);
  if (!started && error->domain == HR_PARSE_ERROR)
    end.exit = EXIT_USAGE;
  if (started && (launch_options.checkpoint == NULL || launch_checkpoint_check (pipeline, &error))
      && launch_watch_started (watch, &error)) {
    run_to_end (pipeline, pulled, &error);
  } else if (started) {
    hr_pipeline_stop (pipeline);
    hr_pipeline_wait (pipeline, NULL);
  }
  signal_number = launch_watch_end (watch);
  close_dashboard (dashboard, started ? NULL : error);
  if (started && launch_options.checkpoint != NULL)
    launch_checkpoint_end (pipeline, launch_options.checkpoint, error == NULL ? &error : NULL);

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
  if (started || launch_options.stats != STATS_NONE)
    report (&files, &end, started);
  g_clear_pointer (&files.record, launch_record_free);
  if (error != NULL && (launch_options.quiet || !started))
    fprintf (stderr, "hr-launch: %s\n", error->message);
  return end.exit;
}

static int
launch (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = launch_read_pipeline (launch_options.file, launch_options.words,
                                                          launch_options.variables, &error);
  g_autofree char *canonical = NULL;

  if (pipeline == NULL || !set_properties (pipeline, &error))
    return usage_error (error->message);
  canonical = hr_pipeline_to_shown_string (pipeline);
  if ((launch_options.print ? launch_options.dot != NULL : has_dot_file ())
      && !write_dot (pipeline, &error))
    return fail (error->message);
  if (launch_options.print) {
    printf ("%s\n", canonical);
    return EXIT_OK;
  }
  if (launch_options.verbose)
    fprintf (stderr, "%s\n", canonical);
  return run (pipeline);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, "");
  stdout_watch ("hr-launch");
  /* pictures come from strangers: libvips, where a plugin uses it, opens nothing but what is known
   * to be safe */
  g_setenv ("VIPS_BLOCK_UNTRUSTED", "1", FALSE);
  launch_block_signals ();
  if (!launch_options_parse (argc, argv, &error))
    return usage_error (error->message);
  if (launch_options.version) {
    printf ("hr-launch %s\n", HR_VERSION);
    return EXIT_OK;
  }
  if (!launch_options_check (&error))
    return usage_error (error->message);
  return launch ();
}
