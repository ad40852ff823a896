/* prefetchqueue.c: says how far the sources may run ahead of the trainer */
#include "headrace.h"

typedef struct {
  guint64 max_batches;
  guint64 max_bytes;
  guint64 warm_up;
} PrefetchQueue;

static const HrProp props[] = {
  HR_PROP_UINT (PrefetchQueue, max_batches, 1, 1 << 20, 4,
                "Steps that may be under way ahead of the trainer",
                .flags = HR_PROP_LIVE | HR_PROP_AUTO, .unit = "batches"),
  HR_PROP_SIZE (PrefetchQueue, max_bytes, 0, 1024 * 1024 * HR_GIB, 0,
                "Bytes that finished batches may hold; 0: the pipeline's memory is the only bound",
                .flags = HR_PROP_LIVE),
  HR_PROP_UINT (PrefetchQueue, warm_up, 0, 1 << 20, 0,
                "Batches to have ready before the first is given to the trainer",
                .unit = "batches"),
  HR_PROP_END
};

static gboolean
prefetchqueue_check (gconstpointer data, GError **error)
{
  const PrefetchQueue *self = data;

  if (self->warm_up <= self->max_batches)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "warm-up=%" G_GUINT64_FORMAT " is more than max-batches=%" G_GUINT64_FORMAT
               ": so many are never there at once",
               self->warm_up, self->max_batches);
  return FALSE;
}

static gboolean
prefetchqueue_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED,
                       HrBuffer *in, HrOut *out, GError **error G_GNUC_UNUSED)
{
  hr_out_push (out, in);
  return TRUE;
}

static void
prefetchqueue_lookahead (gconstpointer data, guint *steps, guint64 *bytes, guint *warm_up)
{
  const PrefetchQueue *self = data;

  *steps = (guint)hr_live_uint (&self->max_batches);
  *bytes = hr_live_uint (&self->max_bytes);
  *warm_up = (guint)self->warm_up;
}

static void
prefetchqueue_metrics (gconstpointer data, gpointer shared G_GNUC_UNUSED, JsonBuilder *into)
{
  const PrefetchQueue *self = data;

  json_builder_set_member_name (into, "max_batches");
  json_builder_add_int_value (into, (gint64)hr_live_uint (&self->max_batches));
  json_builder_set_member_name (into, "warm_up");
  json_builder_add_int_value (into, (gint64)self->warm_up);
}

HR_ELEMENT (
    prefetchqueue, PrefetchQueue, .summary = "Let the pipeline work ahead of the trainer",
    .description =
        "Owns the look-ahead of the whole pipeline: sources read for the step that the trainer "
        "asks for and for the max-batches steps behind it; without this element, for that step "
        "alone. The batches that are ready wait in its queue, whose fill the stats show. What "
        "is delivered does not depend on it. See docs/how-it-works.md.",
    .examples = (const char *const[]){ "fakesrc num-buffers=40 ! batch size=4 ! prefetchqueue "
                                       "max-batches=2 ! trainsim step-time=1ms",
                                       "fakesrc num-buffers=40 ! batch size=4 ! prefetchqueue "
                                       "max-batches=4 warm-up=2 max-bytes=1MiB ! fakesink",
                                       NULL },
    .needs = "batch", .props = props, .light = TRUE, .takes_holes = TRUE,
    .check = prefetchqueue_check, .process = prefetchqueue_process,
    .lookahead = prefetchqueue_lookahead, .metrics = prefetchqueue_metrics)
