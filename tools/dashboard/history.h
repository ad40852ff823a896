/* history.h: what the run was like over time, a row a second, and the last lines of errors */
#pragma once
#include <json-glib/json-glib.h>

typedef struct _History History;

History *history_new (void);
void history_free (History *history);
/* the stats of now; one thread */
void history_add (History *history, JsonObject *stats);
/* a line that came; any thread */
void history_note (History *history, const char *kind, const char *text);
/* into an open object: "history", rows of the last minutes, and "notes" */
void history_write (History *history, JsonBuilder *json);
