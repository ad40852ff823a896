/* options.h: what was asked for on the command line */
#pragma once
#include <glib.h>
#include "checkpoint.h"
#include "watch.h"

typedef enum { STATS_NONE, STATS_TEXT, STATS_JSON } Stats;

typedef struct {
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
} LaunchOptions;

extern LaunchOptions launch_options;

/* Errors are for people; --help does not return. */
gboolean launch_options_parse (int argc, char **argv, GError **error);
/* Is it all there, and does it go together? */
gboolean launch_options_check (GError **error);
