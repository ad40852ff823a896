/* words.h: the stats document read, and its numbers in words */
#pragma once
#include <json-glib/json-glib.h>

/* a missing or null member is NAN, 0, NULL */
gdouble launch_get_number (JsonObject *object, const char *name);
gint64 launch_get_whole (JsonObject *object, const char *name);
const char *launch_get_string (JsonObject *object, const char *name);
JsonObject *launch_get_object (JsonObject *object, const char *name);
JsonArray *launch_get_array (JsonObject *object, const char *name);
/* TRUE: its steps are batches, not samples */
gboolean launch_has_batches (JsonObject *stats);

/* "s", or nothing for one */
const char *launch_plural (gint64 n);
/* how long something took: "4.81 s" */
void launch_append_seconds (GString *text, gdouble seconds);
/* how long something will take: "2 h 05 min" */
void launch_append_duration (GString *text, gdouble seconds);
void launch_append_bytes (GString *text, gdouble bytes);
/* "3 media-not-found, 1 bad-json", the most frequent first, if there is a text. Returns the sum */
gint64 launch_append_kinds (GString *text, JsonObject *kinds);
