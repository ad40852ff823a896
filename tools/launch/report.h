/* report.h: what a run was like, in words */
#pragma once
#include <json-glib/json-glib.h>

/* the last line when nothing else is known of the end */
typedef struct {
  int exit;
  const char *signal; /* "SIGINT"; NULL: none */
  const char *error;  /* why it failed; NULL: it did not */
} LaunchEnd;

/* 0, or 3 if samples were skipped for errors */
int launch_exit_of (JsonObject *stats);
/* the summary, several lines; (transfer full) */
char *launch_summary (JsonObject *stats, const LaunchEnd *end);
/* every number, a line each; (transfer full) */
char *launch_stats_text (JsonNode *stats);
