/* http-metrics.c: a client's counts, for the stats, which any thread may ask for */
#include "http-metrics.h"

void
hr_http_metrics_publish (HrHttpMetrics *metrics, HrHttp *http)
{
  const HrHttpCounts *counts = hr_http_get_counts (http);

  __atomic_store_n (&metrics->counts.tries, counts->tries, __ATOMIC_RELAXED);
  __atomic_store_n (&metrics->counts.retries, counts->retries, __ATOMIC_RELAXED);
  __atomic_store_n (&metrics->counts.throttled, counts->throttled, __ATOMIC_RELAXED);
}

static void
add (JsonBuilder *into, const char *name, const guint64 *value)
{
  json_builder_set_member_name (into, name);
  json_builder_add_int_value (into, __atomic_load_n (value, __ATOMIC_RELAXED));
}

void
hr_http_metrics_add (const HrHttpMetrics *metrics, JsonBuilder *into)
{
  add (into, "requests", &metrics->counts.tries);
  add (into, "retries", &metrics->counts.retries);
  add (into, "throttled", &metrics->counts.throttled);
}
