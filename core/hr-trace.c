/* hr-trace.c */
#include "hr-trace.h"
#include "hr-json.h"
#include "hr-trace-file.h"
#include <poll.h>

/* what a thread may note while the writer does something else; a power of two */
#define RING 2048
/* between two looks at rings and queues */
#define INTERVAL_MS 25
/* messages that the writer has not written yet */
#define MAX_NOTES 4096

_Thread_local HrTraceTrack *hr_trace_track;

/* One thread notes, the writer takes. */
struct _HrTraceTrack {
  HrTrace *trace;
  HrTraceRecord *ring;
  guint64 head; /* notes so far; atomic */
  guint64 lost; /* … and those for which there was no room; the same */
  guint tid;
  guint place; /* of its element, from the sink */
  char *name;

  /* the writer's */
  guint64 tail; /* atomic */
  guint64 seen; /* of head, when this look began */
  guint64 told; /* of lost */
  gboolean named;
};

typedef struct {
  HrMessage *message;
  gint64 time;
} Note;

struct _HrTrace {
  HrPipeline *pipeline;
  HrTraceFile *file;
  guint *places;     /* by element: how far from the sink */
  HrMutex lock;      /* tracks, notes, over, whole */
  GPtrArray *tracks; /* HrTraceTrack, from sink to source */
  GQueue notes;      /* Note */
  gboolean over;     /* nobody will look at notes any more */
  gboolean whole;    /* nobody writes the file any more */
  HrBell bell;
  pthread_t thread;
  gint leave;
  guint64 lost; /* sum of what is left out; atomic */
};

/* ---- a thread notes ---- */

static void
note (const HrRun *run, HrTraceRecord record)
{
  HrTraceTrack *track = hr_trace_track;
  guint64 head = track->head;

  if (head - __atomic_load_n (&track->tail, __ATOMIC_ACQUIRE) >= RING) {
    __atomic_store_n (&track->lost, track->lost + 1, __ATOMIC_RELAXED);
    hr_trace_transfer_free (record.transfer);
    return;
  }
  record.element = (guint16)run->element->index;
  track->ring[head % RING] = record;
  __atomic_store_n (&track->head, head + 1, __ATOMIC_RELEASE);
  if ((head + 1) % (RING / 2) == 0)
    hr_bell_ring (&track->trace->bell);
}

void
hr_trace_work (const HrRun *run, gint64 begin, gint64 end, gint64 sample, guint items)
{
  if (hr_trace_is_on ())
    note (run,
          (HrTraceRecord){
              .kind = HR_TRACE_WORK, .n = items, .begin = begin, .end = end, .sample = sample });
}

void
hr_trace_touch (const HrRun *run, gint64 begin, gint64 sample)
{
  if (hr_trace_is_on ())
    note (run, (HrTraceRecord){
                   .kind = HR_TRACE_TOUCH, .begin = begin, .end = begin, .sample = sample });
}

void
hr_trace_split (const HrRun *run, gint64 begin, gint64 end, gint64 sample)
{
  if (hr_trace_is_on ())
    note (run, (HrTraceRecord){ .kind = HR_TRACE_WORK,
                                .what = TRUE,
                                .n = 1,
                                .begin = begin,
                                .end = end,
                                .sample = sample });
}

void
hr_trace_member (const HrRun *run, gint64 begin, gint64 end, gint64 sample, guint member)
{
  if (hr_trace_is_on ())
    note (run,
          (HrTraceRecord){
              .kind = HR_TRACE_MEMBER, .n = member, .begin = begin, .end = end, .sample = sample });
}

void
hr_trace_step (const HrRun *run, gint64 begin, gint64 end, gint64 step)
{
  if (hr_trace_is_on ())
    note (run,
          (HrTraceRecord){ .kind = HR_TRACE_STEP, .begin = begin, .end = end, .sample = step });
}

/* samples that follow each other are one note */
void
hr_trace_taken (const HrRun *run, const HrBuffer *buffer, gint64 begin)
{
  guint n = hr_buffer_get_n_members (buffer);
  HrTraceRecord record = { .kind = HR_TRACE_TAKEN, .begin = begin, .end = begin };

  if (!hr_trace_is_on ())
    return;
  for (guint i = 0; i < MAX (n, 1); i++) {
    const HrBuffer *sample = n > 0 ? hr_buffer_get_member (buffer, i) : buffer;

    if ((sample->flags & HR_BUFFER_HOLE) || sample->sample < 0)
      continue;
    if (record.n > 0 && sample->sample != record.sample + record.n) {
      note (run, record);
      record.n = 0;
    }
    if (record.n++ == 0)
      record.sample = sample->sample;
  }
  if (record.n > 0)
    note (run, record);
}

void
hr_trace_wait (const HrRun *run, HrWait wait, gint64 begin, gint64 end)
{
  if (hr_trace_is_on ())
    note (run, (HrTraceRecord){
                   .kind = HR_TRACE_WAIT, .what = (guint8)wait, .begin = begin, .end = end });
}

void
hr_trace_ticket (const HrRun *run, gint64 begin, gint64 end, gint64 sample, gboolean done)
{
  if (hr_trace_is_on ())
    note (run, (HrTraceRecord){ .kind = HR_TRACE_TICKET,
                                .what = (guint8)done,
                                .begin = begin,
                                .end = end,
                                .sample = sample });
}

void
hr_trace_transfer (const HrRun *run, const HrTransfer *transfer, gint64 sample)
{
  HrTransfer *own;

  if (!hr_trace_is_on ())
    return;
  own = g_memdup2 (transfer, sizeof *transfer);
  own->name = g_strdup (transfer->name);
  note (run, (HrTraceRecord){ .kind = HR_TRACE_TRANSFER,
                              .begin = transfer->begun,
                              .end = hr_now (),
                              .sample = sample,
                              .transfer = own });
}

HrTraceTrack *
hr_trace_enter (HrTraceTrack *track)
{
  HrTraceTrack *before = hr_trace_track;

  hr_trace_track = track;
  return before;
}

void
hr_trace_message (HrPipeline *pipeline, const HrMessage *message)
{
  HrTrace *trace = __atomic_load_n (&pipeline->trace, __ATOMIC_ACQUIRE);

  if (trace == NULL || message->type == HR_MESSAGE_CHECKPOINT || message->type == HR_MESSAGE_SCAN
      || message->type == HR_MESSAGE_DONE)
    return;
  hr_mutex_lock (&trace->lock);
  if (trace->over || trace->notes.length >= MAX_NOTES) {
    __atomic_add_fetch (&trace->lost, !trace->over, __ATOMIC_RELAXED);
  } else {
    Note *own = g_new (Note, 1);

    own->message = hr_message_ref ((HrMessage *)message);
    own->time = hr_now ();
    g_queue_push_tail (&trace->notes, own);
  }
  hr_mutex_unlock (&trace->lock);
}

/* ---- tracks ---- */

static void
track_free (gpointer data)
{
  HrTraceTrack *track = data;

  for (guint64 i = track->tail; i < track->head; i++)
    hr_trace_transfer_free (track->ring[i % RING].transfer);
  g_free (track->ring);
  g_free (track->name);
  g_free (track);
}

static gint
compare_places (gconstpointer a, gconstpointer b)
{
  const HrTraceTrack *one = *(HrTraceTrack *const *)a, *other = *(HrTraceTrack *const *)b;

  return (one->place > other->place) - (one->place < other->place);
}

static char *
name_track (const HrRun *run, guint worker)
{
  const HrElementDef *def = run->def;

  if (hr_element_def_is_pulled (def))
    return g_strconcat (run->element->common.name, ", the program", NULL);
  if (def->parallel == HR_PARALLEL_NO || (worker == 0 && hr_run_get_n_workers (run) == 1))
    return g_strdup (run->element->common.name);
  return g_strdup_printf ("%s %u", run->element->common.name, worker + 1);
}

HrTraceTrack *
hr_trace_add_track (HrPipeline *pipeline, const HrRun *run, guint worker)
{
  HrTrace *trace = pipeline->trace;
  HrTraceTrack *track;

  if (trace == NULL)
    return NULL;
  track = g_new0 (HrTraceTrack, 1);
  track->trace = trace;
  track->ring = g_new0 (HrTraceRecord, RING);
  track->tid = run != NULL ? hr_trace_file_get_tid (run->element, worker) : 1;
  track->place = run != NULL ? trace->places[run->element->index] : 0;
  track->name = run != NULL ? name_track (run, worker) : g_strdup ("all elements");
  hr_mutex_lock (&trace->lock);
  g_ptr_array_add (trace->tracks, track);
  g_ptr_array_sort (trace->tracks, compare_places);
  hr_mutex_unlock (&trace->lock);
  return track;
}

/* ---- the writer ---- */

static void
write_track (HrTrace *trace, HrTraceTrack *track, gint64 now)
{
  guint64 lost = __atomic_load_n (&track->lost, __ATOMIC_RELAXED);

  if (!track->named && track->seen > 0) {
    hr_trace_file_name_thread (trace->file, track->tid, track->name);
    track->named = TRUE;
  }
  for (guint64 i = track->tail; i < track->seen; i++) {
    HrTraceRecord record = track->ring[i % RING];

    /* its place may be used again while it is written */
    track->ring[i % RING].transfer = NULL;
    __atomic_store_n (&track->tail, i + 1, __ATOMIC_RELEASE);
    hr_trace_file_add (trace->file, track->tid, &record);
  }
  if (lost > track->told) {
    hr_trace_file_add_lost (trace->file, track->tid, lost - track->told, now);
    __atomic_add_fetch (&trace->lost, lost - track->told, __ATOMIC_RELAXED);
    track->told = lost;
  }
}

static void
write_notes (HrTrace *trace)
{
  GQueue notes;
  Note *own;

  hr_mutex_lock (&trace->lock);
  notes = trace->notes;
  g_queue_init (&trace->notes);
  hr_mutex_unlock (&trace->lock);
  while ((own = g_queue_pop_head (&notes)) != NULL) {
    hr_trace_file_add_message (trace->file, own->message, own->time);
    hr_message_unref (own->message);
    g_free (own);
  }
}

/* What is seen of a sink must be seen of all that came before it: so the sinks' rings are looked at
 * first, and written last. */
static void
write_all (HrTrace *trace)
{
  g_autoptr (GPtrArray) tracks = NULL;
  gint64 now = hr_now ();

  hr_mutex_lock (&trace->lock);
  tracks = g_ptr_array_copy (trace->tracks, NULL, NULL);
  hr_mutex_unlock (&trace->lock);
  g_ptr_array_set_free_func (tracks, NULL);
  for (guint i = 0; i < tracks->len; i++) {
    HrTraceTrack *track = tracks->pdata[i];

    track->seen = __atomic_load_n (&track->head, __ATOMIC_ACQUIRE);
  }
  hr_trace_file_add_counters (trace->file, now);
  write_notes (trace);
  for (guint i = tracks->len; i-- > 0;)
    write_track (trace, tracks->pdata[i], now);
}

static void *
thread_main (void *data)
{
  HrTrace *trace = data;
  gboolean warned = FALSE;

  pthread_setname_np (pthread_self (), "trace");
  while (!g_atomic_int_get (&trace->leave)) {
    struct pollfd fd = { trace->bell.fd, POLLIN, 0 };
    g_autoptr (GError) error = NULL;

    poll (&fd, 1, INTERVAL_MS);
    hr_bell_hush (&trace->bell);
    write_all (trace);
    if (hr_trace_file_flush (trace->file, hr_now (), &error) && !warned
        && hr_counter_get (&trace->lost) > 0)
      error = g_error_new (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                           "trace: more happens than can be written: events are left out, the "
                           "trace says where");
    if (error != NULL) {
      warned = TRUE;
      hr_pipeline_post (trace->pipeline, HR_MESSAGE_WARNING, NULL, error, NULL);
    }
  }
  return NULL;
}

/* ---- the run's ---- */

static void
find_places (HrTrace *trace)
{
  const GPtrArray *order = trace->pipeline->order;

  trace->places = g_new0 (guint, trace->pipeline->elements->len);
  for (guint i = 0; i < order->len; i++)
    trace->places[((HrElement *)order->pdata[i])->index] = i;
}

gboolean
hr_trace_start (HrPipeline *pipeline, GError **error)
{
  const char *path = pipeline->settings.trace;
  HrTrace *trace;
  int failed;

  if (path == NULL || *path == '\0')
    return TRUE;
  trace = g_new0 (HrTrace, 1);
  trace->pipeline = pipeline;
  hr_mutex_init (&trace->lock);
  trace->tracks = g_ptr_array_new_with_free_func (track_free);
  trace->bell.fd = -1;
  trace->over = TRUE;
  find_places (trace);
  __atomic_store_n (&pipeline->trace, trace, __ATOMIC_RELEASE);
  if (!hr_bell_init (&trace->bell, error))
    return FALSE;
  trace->file = hr_trace_file_new (path, pipeline, error);
  if (trace->file == NULL)
    return FALSE;
  failed = pthread_create (&trace->thread, NULL, thread_main, trace);
  if (failed != 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "cannot start a thread: %s",
                 g_strerror (failed));
    return FALSE;
  }
  hr_mutex_lock (&trace->lock);
  trace->over = FALSE;
  hr_mutex_unlock (&trace->lock);
  if (pipeline->pull_sink != NULL)
    pipeline->pull_sink->run->pull_track =
        hr_trace_add_track (pipeline, pipeline->pull_sink->run, 0);
  return TRUE;
}

void
hr_trace_end (HrPipeline *pipeline)
{
  HrTrace *trace = pipeline->trace;
  g_autoptr (GError) error = NULL;

  if (trace == NULL || trace->over) /* start() has failed, or it has been here */
    return;
  g_atomic_int_set (&trace->leave, 1);
  hr_bell_ring (&trace->bell);
  pthread_join (trace->thread, NULL);
  hr_mutex_lock (&trace->lock);
  trace->over = TRUE;
  hr_mutex_unlock (&trace->lock);
  write_all (trace);
  if (!hr_trace_file_end (trace->file, &error))
    hr_pipeline_post (pipeline, HR_MESSAGE_WARNING, NULL, error, NULL);
  hr_mutex_lock (&trace->lock);
  trace->whole = TRUE;
  hr_mutex_unlock (&trace->lock);
}

void
hr_trace_free (HrTrace *trace)
{
  g_clear_pointer (&trace->file, hr_trace_file_free);
  g_ptr_array_unref (trace->tracks);
  hr_bell_clear (&trace->bell);
  hr_mutex_clear (&trace->lock);
  g_free (trace->places);
  g_free (trace);
}

void
hr_trace_add_stats (HrPipeline *pipeline, JsonBuilder *builder)
{
  HrTrace *trace = __atomic_load_n (&pipeline->trace, __ATOMIC_ACQUIRE);
  gboolean whole = FALSE;

  if (trace != NULL) {
    hr_mutex_lock (&trace->lock);
    whole = trace->whole;
    hr_mutex_unlock (&trace->lock);
  }
  json_builder_set_member_name (builder, "trace");
  if (!whole) {
    json_builder_add_null_value (builder);
    return;
  }
  json_builder_begin_object (builder);
  hr_json_add_int (builder, "events", (gint64)hr_trace_file_get_n_events (trace->file));
  hr_json_add_int (builder, "left_out", (gint64)hr_counter_get (&trace->lost));
  hr_json_add_string (builder, "error", hr_trace_file_get_error (trace->file));
  json_builder_end_object (builder);
}
