/* metrics.h: the stats as Prometheus reads them */
#pragma once
#include <json-glib/json-glib.h>

/* text format 0.0.4; (transfer full) */
char *dashboard_metrics (JsonObject *stats);
