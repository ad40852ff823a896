/* verdict.h: what would help against the bottleneck */
#pragma once
#include <json-glib/json-glib.h>

/* half a line, without a full stop; (transfer full) (nullable) */
char *launch_advice (JsonObject *stats, const char *element, const char *kind);
