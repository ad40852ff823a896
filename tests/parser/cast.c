/* cast.c: elements with the tables that the design gives the real ones, and functions that do
 * nothing: these tests parse pipelines and never run them */
#include "cast.h"
#include "hr-registry.h"

static gboolean
process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  (void)self;
  (void)worker;
  (void)error;
  hr_out_push (out, in);
  return TRUE;
}

static HrFlow
create (gconstpointer self, gpointer worker, HrOut *out, GError **error)
{
  (void)self;
  (void)worker;
  (void)out;
  (void)error;
  return HR_FLOW_END;
}

static gboolean
each (gconstpointer self, gpointer worker, const HrBuffer *sample, guint index, HrTensor **member,
      HrOut *out, GError **error)
{
  (void)self;
  (void)worker;
  (void)sample;
  (void)index;
  (void)member;
  (void)out;
  (void)error;
  return TRUE;
}

static void
submit (gconstpointer self, gpointer worker, HrBuffer *in, HrTicket *ticket)
{
  (void)self;
  (void)worker;
  hr_ticket_done (ticket, in, NULL);
}

static gboolean
poll_ (gconstpointer self, gpointer worker, int wake_fd, int timeout_ms, GError **error)
{
  (void)self;
  (void)worker;
  (void)wake_fd;
  (void)timeout_ms;
  (void)error;
  return TRUE;
}

static gboolean
consume (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  (void)self;
  (void)worker;
  (void)out;
  (void)error;
  hr_buffer_unref (in);
  return TRUE;
}

static HrBuffer *
merge (gconstpointer self, gpointer worker, HrBuffer **in, guint n_in, GError **error)
{
  (void)self;
  (void)worker;
  (void)error;
  for (guint i = 1; i < n_in; i++)
    hr_buffer_unref (in[i]);
  return in[0];
}

static guint64
route (gconstpointer self, gpointer worker, const HrBuffer *in, guint n_out)
{
  (void)self;
  (void)worker;
  (void)in;
  (void)n_out;
  return G_MAXUINT64;
}

typedef struct {
  char none;
} Nothing;

typedef struct {
  gint64 num_buffers;
  guint64 size;
} FakeSrc;

static const HrProp fakesrc_props[] = {
  HR_PROP_INT (FakeSrc, num_buffers, -1, G_MAXINT64, -1, "Buffers before the end; -1: no end"),
  HR_PROP_SIZE (FakeSrc, size, 0, 64 * HR_GIB, 64, "Bytes of a buffer"),
  HR_PROP_END,
};
HR_ELEMENT (fakesrc, FakeSrc, .summary = "Make buffers", .gives = "bytes", .props = fakesrc_props,
            .create = create)

typedef struct {
  char *location;
} Source;

static const HrProp source_props[] = { HR_PROP_STRING (Source, location, NULL,
                                                       "Where the objects are",
                                                       .flags = HR_PROP_REQUIRED | HR_PROP_STREAM),
                                       HR_PROP_END };
HR_ELEMENT (s3src, Source, .summary = "Read objects", .gives = "lines", .props = source_props,
            .create = create, .network = TRUE)
/* the plugin of the real one is loaded beside it, for deadlettersrc: one symbol of two things is
 * what AddressSanitizer looks for */
#define hr_element_filesrc cast_filesrc
HR_ELEMENT (filesrc, Source, .summary = "Read files", .gives = "lines", .props = source_props,
            .create = create)

typedef struct {
  char **keep;
} JsonlParse;

static const HrProp jsonlparse_props[] = {
  HR_PROP_STRV (JsonlParse, keep, NULL, "Fields of the record to keep"), HR_PROP_END
};
HR_ELEMENT (jsonlparse, JsonlParse, .summary = "Read JSON lines", .needs = "lines",
            .takes = "lines", .gives = "conversation, images:links", .props = jsonlparse_props,
            .parallel = HR_PARALLEL_YES, .stamps = TRUE, .process = process)

typedef struct {
  guint64 concurrency;
  gint64 timeout;
} ImageFetch;

static const HrProp imagefetch_props[] = {
  HR_PROP_UINT (ImageFetch, concurrency, 1, 4096, 64, "Transfers at once", .flags = HR_PROP_LIVE),
  HR_PROP_DURATION (ImageFetch, timeout, HR_MSEC, 3600 * HR_SECOND, 30 * HR_SECOND,
                    "Time for one transfer"),
  HR_PROP_END,
};
HR_ELEMENT (imagefetch, ImageFetch, .summary = "Fetch images", .needs = "images:links",
            .gives = "images:encoded", .props = imagefetch_props, .submit = submit, .poll = poll_,
            .network = TRUE)

HR_ELEMENT (imagedecode, Nothing, .summary = "Decode images", .needs = "images:encoded",
            .gives = "images:pixels", .parallel = HR_PARALLEL_YES, .each_field = "images",
            .each = each)

typedef struct {
  guint64 min_pixels;
  guint64 max_pixels;
  gint filter;
} Resize;

static const char *const filters[] = { "bicubic", "bilinear", "nearest", NULL };

static const HrProp resize_props[] = {
  HR_PROP_UINT (Resize, min_pixels, 1, 1 << 30, 1, "Fewest pixels"),
  HR_PROP_UINT (Resize, max_pixels, 1, 1 << 30, 262144, "Most pixels"),
  HR_PROP_ENUM (Resize, filter, filters, 0, "How"),
  HR_PROP_END,
};

static gboolean
resize_check (gconstpointer data, GError **error)
{
  const Resize *self = data;

  if (self->min_pixels <= self->max_pixels)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT, "min-pixels is above max-pixels");
  return FALSE;
}

HR_ELEMENT (resize, Resize, .summary = "Resize images", .needs = "images:pixels",
            .gives = "images:pixels", .props = resize_props, .check = resize_check,
            .parallel = HR_PARALLEL_YES, .each_field = "images", .each = each)

HR_ELEMENT (tokenize, Nothing, .summary = "Make tokens", .needs = "conversation",
            .gives = "input_ids, labels", .parallel = HR_PARALLEL_YES, .process = process)
HR_ELEMENT (telepath, Nothing, .summary = "Reads what nobody writes", .needs = "thoughts",
            .process = process)

typedef struct {
  guint64 size;
} Batch;

static const HrProp batch_props[] = {
  HR_PROP_UINT (Batch, size, 1, 65536, 32, "Samples of a batch"), HR_PROP_END
};
HR_ELEMENT (batch, Batch, .summary = "Make batches", .gives = "batch", .props = batch_props,
            .process = process)

typedef struct {
  guint64 max_batches;
  guint64 max_bytes;
} PrefetchQueue;

static const HrProp prefetchqueue_props[] = {
  HR_PROP_UINT (PrefetchQueue, max_batches, 1, 4096, 2, "Batches ahead", .flags = HR_PROP_LIVE),
  HR_PROP_SIZE (PrefetchQueue, max_bytes, 1, G_MAXUINT64, 2 * HR_GIB, "Bytes ahead",
                .flags = HR_PROP_LIVE),
  HR_PROP_END,
};
HR_ELEMENT (prefetchqueue, PrefetchQueue, .summary = "Work ahead", .needs = "batch",
            .props = prefetchqueue_props, .process = process)

typedef struct {
  gdouble drop;
  char *mark;
} Identity;

static const HrProp identity_props[] = {
  HR_PROP_DOUBLE (Identity, drop, 0, 1, 0, "Part that is dropped"),
  HR_PROP_STRING (Identity, mark, NULL, "A text"),
  HR_PROP_END,
};
HR_ELEMENT (identity, Identity, .summary = "Pass on", .props = identity_props,
            .parallel = HR_PARALLEL_YES, .process = process)

HR_ELEMENT (tee, Nothing, .summary = "Give to all", .route = route)

typedef struct {
  gint mode;
} Join;

static const char *const modes[] = { "zip", "concat", "any", NULL };
static const HrProp join_props[] = { HR_PROP_ENUM (Join, mode, modes, 0, "How"), HR_PROP_END };

static HrJoin
join_join (gconstpointer self)
{
  return (HrJoin)((const Join *)self)->mode;
}

HR_ELEMENT (join, Join, .summary = "Bring together", .props = join_props, .join = join_join,
            .merge = merge)

typedef struct {
  gint64 step_time;
} TrainSim;

static const HrProp trainsim_props[] = {
  HR_PROP_DURATION (TrainSim, step_time, 0, 3600 * HR_SECOND, 0, "Time of a step"), HR_PROP_END
};
HR_ELEMENT (trainsim, TrainSim, .summary = "Stand for a trainer", .props = trainsim_props,
            .consume = consume)

typedef struct {
  gboolean silent;
  guint64 sync_every;
} FakeSink;

static const HrProp fakesink_props[] = {
  HR_PROP_BOOL (FakeSink, silent, FALSE, "Say nothing"),
  HR_PROP_UINT (FakeSink, sync_every, 0, 1000, 0, "Wait so often"),
  HR_PROP_END,
};
HR_ELEMENT (fakesink, FakeSink, .summary = "Let go", .props = fakesink_props, .consume = consume)

HR_ELEMENT (appsrc, Nothing, .summary = "Take from the program", .gives = "*", .pushable = TRUE)
HR_ELEMENT (appsink, Nothing, .summary = "Give to the program", .pullable = TRUE)
HR_ELEMENT (cudasink, Nothing, .summary = "Give to the GPU", .needs = "images:pixels, batch",
            .pullable = TRUE)

void
cast_register (void)
{
  static const HrElementDef *const defs[] = {
    &hr_element_fakesrc,    &hr_element_s3src,         &hr_element_filesrc,
    &hr_element_jsonlparse, &hr_element_imagefetch,    &hr_element_imagedecode,
    &hr_element_resize,     &hr_element_tokenize,      &hr_element_telepath,
    &hr_element_batch,      &hr_element_prefetchqueue, &hr_element_identity,
    &hr_element_tee,        &hr_element_join,          &hr_element_trainsim,
    &hr_element_fakesink,   &hr_element_appsrc,        &hr_element_appsink,
    &hr_element_cudasink
  };

  for (guint i = 0; i < G_N_ELEMENTS (defs); i++)
    hr_registry_add (defs[i]);
}
