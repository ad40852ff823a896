/* watch.h: signals, messages and progress while the pipeline runs */
#pragma once
#include "headrace.h"

typedef enum {
  LAUNCH_PROGRESS_AUTO,
  LAUNCH_PROGRESS_BAR,
  LAUNCH_PROGRESS_LINES,
  LAUNCH_PROGRESS_ELEMENTS, /* as auto, with a line for each element */
  LAUNCH_PROGRESS_NONE
} LaunchProgress;

typedef struct _LaunchWatch LaunchWatch;

/* before any thread is made: from now on SIGINT and SIGTERM are the watch's */
void launch_block_signals (void);
/* @checkpoint: the file that checkpoints go to; NULL: none. Returns: NULL if the system has no
 * thread or descriptor left for it */
LaunchWatch *launch_watch_new (HrPipeline *pipeline, LaunchProgress progress, gboolean verbose,
                               const char *checkpoint, GError **error);
/* whom it also tells of each sample that is skipped, each warning and each stall; before
 * launch_watch_started() */
typedef void (*LaunchNote) (const char *kind, const char *text, gpointer data);
void launch_watch_set_note (LaunchWatch *watch, LaunchNote note, gpointer data);
/* whom it calls some times a second, and once more at the end; before launch_watch_started() */
typedef void (*LaunchTick) (gpointer data);
void launch_watch_set_tick (LaunchWatch *watch, LaunchTick tick, gpointer data);
/* hr_pipeline_start() has returned TRUE */
gboolean launch_watch_started (LaunchWatch *watch, GError **error);
/* the pipeline has been waited for: ends the threads; returns the signal that stopped it, or 0 */
int launch_watch_end (LaunchWatch *watch);
