/* flame.h: where all threads' time went, as a flame graph */
#pragma once
#include <json-glib/json-glib.h>

/**
 * launch_flame_write:
 * @path: ends in .svg: a picture; else folded stacks, "headrace;ELEMENT;PHASE MICROSECONDS" a line,
 * as flamegraph.pl, inferno and speedscope read them
 * @stats: of a run that has ended
 */
gboolean launch_flame_write (const char *path, JsonObject *stats, GError **error);
