/* hr-trace-flow.c */
#include "hr-trace-flow.h"

/* samples that have been fetched and not taken yet; more have no arrows */
#define MAX_FLOWS (32 * 1024)
#define MAX_POINTS 64

/* a place in a slice */
typedef struct {
  guint tid;
  gint64 time;
} Point;

typedef struct {
  gint64 sample;
  GArray *fetches, *works; /* Point */
} Flow;

struct _HrTraceFlows {
  HrTraceFlowPoint add;
  gpointer data;
  gboolean *follows; /* by element: samples have the numbers there that they have at the sink */
  GHashTable *flows; /* Flow: the set */
};

static guint
flow_hash (gconstpointer data)
{
  return g_int64_hash (&((const Flow *)data)->sample);
}

static gboolean
flow_equal (gconstpointer a, gconstpointer b)
{
  return ((const Flow *)a)->sample == ((const Flow *)b)->sample;
}

static void
flow_free (gpointer data)
{
  Flow *flow = data;

  g_array_unref (flow->fetches);
  g_array_unref (flow->works);
  g_free (flow);
}

/* behind a join, or where order is given up, samples get other numbers */
static void
find_followed (HrTraceFlows *flows, const GPtrArray *order)
{
  for (guint i = 0; i < order->len; i++) { /* from sink to source */
    const HrElement *element = order->pdata[i];
    gboolean follows = TRUE;

    for (guint k = 0; k < element->outputs->len; k++) {
      const HrLink *link = element->outputs->pdata[k];

      follows = follows && link->stamp != HR_STAMP_JOINED && link->stamp != HR_STAMP_AGAIN
                && flows->follows[link->to->index];
    }
    flows->follows[element->index] = follows;
  }
}

HrTraceFlows *
hr_trace_flows_new (HrPipeline *pipeline, HrTraceFlowPoint add, gpointer data)
{
  HrTraceFlows *flows = g_new0 (HrTraceFlows, 1);

  flows->add = add;
  flows->data = data;
  flows->follows = g_new0 (gboolean, pipeline->elements->len);
  find_followed (flows, pipeline->order);
  flows->flows = g_hash_table_new_full (flow_hash, flow_equal, flow_free, NULL);
  return flows;
}

void
hr_trace_flows_free (HrTraceFlows *flows)
{
  g_hash_table_unref (flows->flows);
  g_free (flows->follows);
  g_free (flows);
}

static Flow *
find (const HrTraceFlows *flows, gint64 sample)
{
  const Flow wanted = { .sample = sample };

  return g_hash_table_lookup (flows->flows, &wanted);
}

static void
add_point (GArray *points, guint tid, gint64 begin)
{
  /* in the slice, not at its edge, so that nobody need ask which of two it belongs to */
  const Point point = { tid, begin + 1 };

  if (points->len < MAX_POINTS)
    g_array_append_val (points, point);
}

void
hr_trace_flows_note_fetch (HrTraceFlows *flows, guint element, guint tid, gint64 begin,
                           gint64 sample)
{
  Flow *flow;

  if (sample < 0 || !flows->follows[element])
    return;
  flow = find (flows, sample);
  if (flow == NULL && g_hash_table_size (flows->flows) >= MAX_FLOWS)
    return;
  if (flow == NULL) {
    flow = g_new0 (Flow, 1);
    flow->sample = sample;
    flow->fetches = g_array_new (FALSE, FALSE, sizeof (Point));
    flow->works = g_array_new (FALSE, FALSE, sizeof (Point));
    g_hash_table_add (flows->flows, flow);
  }
  add_point (flow->fetches, tid, begin);
}

void
hr_trace_flows_note_work (HrTraceFlows *flows, guint element, guint tid, gint64 begin,
                          gint64 sample)
{
  Flow *flow = sample >= 0 && flows->follows[element] ? find (flows, sample) : NULL;

  if (flow != NULL)
    add_point (flow->works, tid, begin);
}

static gint
compare_points (gconstpointer a, gconstpointer b)
{
  gint64 one = ((const Point *)a)->time, other = ((const Point *)b)->time;

  return (one > other) - (one < other);
}

static void
end_flow (HrTraceFlows *flows, Flow *flow, const Point *step)
{
  g_array_sort (flow->works, compare_points); /* several workers: one after the other */
  for (guint i = 0; i < flow->fetches->len; i++) {
    const Point *from = &g_array_index (flow->fetches, Point, i);
    gint64 id = flow->sample * MAX_POINTS + i;

    flows->add ('s', id, from->tid, from->time, flows->data);
    for (guint k = 0; k < flow->works->len; k++) {
      const Point *at = &g_array_index (flow->works, Point, k);

      flows->add ('t', id, at->tid, at->time, flows->data);
    }
    flows->add ('f', id, step->tid, step->time, flows->data);
  }
  g_hash_table_remove (flows->flows, flow);
}

/* it will not be taken any more: it was left out */
static gboolean
is_before (gpointer key, gpointer value G_GNUC_UNUSED, gpointer data)
{
  return ((const Flow *)key)->sample < *(const gint64 *)data;
}

void
hr_trace_flows_end (HrTraceFlows *flows, guint tid, gint64 begin, gint64 sample, guint n)
{
  const Point step = { tid, begin + 1 };

  for (guint i = 0; i < n; i++) {
    Flow *flow = find (flows, sample + i);

    if (flow != NULL)
      end_flow (flows, flow, &step);
  }
  if (g_hash_table_size (flows->flows) >= MAX_FLOWS / 2)
    g_hash_table_foreach_remove (flows->flows, is_before, &sample);
}
