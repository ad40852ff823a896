/* http-metrics.c: a client's counts, for the stats, which any thread may ask for */
#include "http-metrics.h"

/* in the order of the stats */
static const struct {
  const char *name;
  gsize offset;
} members[] = { { "requests", G_STRUCT_OFFSET (HrHttpCounts, tries) },
                { "retries", G_STRUCT_OFFSET (HrHttpCounts, retries) },
                { "throttled", G_STRUCT_OFFSET (HrHttpCounts, throttled) },
                { "halved", G_STRUCT_OFFSET (HrHttpCounts, halved) },
                { "request_limit", G_STRUCT_OFFSET (HrHttpCounts, limit) },
                { "verified", G_STRUCT_OFFSET (HrHttpCounts, verified) },
                { "corrupt", G_STRUCT_OFFSET (HrHttpCounts, corrupt) },
                { "hedged", G_STRUCT_OFFSET (HrHttpCounts, hedged) },
                { "hedge_won", G_STRUCT_OFFSET (HrHttpCounts, hedge_won) } };

void
hr_http_metrics_publish (HrHttpMetrics *metrics, HrHttp *http)
{
  const HrHttpCounts *counts = hr_http_get_counts (http);

  for (guint i = 0; i < G_N_ELEMENTS (members); i++)
    __atomic_store_n (&G_STRUCT_MEMBER (guint64, &metrics->counts, members[i].offset),
                      G_STRUCT_MEMBER (guint64, counts, members[i].offset), __ATOMIC_RELAXED);
}

void
hr_http_metrics_add (const HrHttpMetrics *metrics, JsonBuilder *into)
{
  for (guint i = 0; i < G_N_ELEMENTS (members); i++) {
    json_builder_set_member_name (into, members[i].name);
    json_builder_add_int_value (
        into, __atomic_load_n (&G_STRUCT_MEMBER (guint64, &metrics->counts, members[i].offset),
                               __ATOMIC_RELAXED));
  }
}
