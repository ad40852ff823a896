/* http-metrics.h: a client's counts, for the stats, which any thread may ask for */
#pragma once
#include "http.h"
#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* part of an element's `shared`, which outlives the client */
typedef struct {
  HrHttpCounts counts;
} HrHttpMetrics;

/* by the client's thread, now and then */
void hr_http_metrics_publish (HrHttpMetrics *metrics, HrHttp *http);
/* requests, retries, …: into the element's object of the stats */
void hr_http_metrics_add (const HrHttpMetrics *metrics, JsonBuilder *into);

G_END_DECLS
