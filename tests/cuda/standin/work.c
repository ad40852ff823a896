/* work.c: streams, and the work on them */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "standin.h"

#define KERNEL_RATE 2e6 /* bytes a microsecond */
#define LATENCY 3       /* microseconds */
#define MOST_ACCESSES 1000

static GPtrArray *streams; /* StandinStream, by number; for ever */
static StandinClock known; /* what the host knows to be done */
static guint64 last_serial;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

/* ---- what a thread knows ---- */

static void
free_clock (gpointer data)
{
  standin_clock_clear (data);
  g_free (data);
}

/* Between streams only what the thread that gives the work has waited for itself counts: whether
 * another thread has been quicker is luck. */
static StandinClock *
seen_here (void)
{
  static GPrivate seen = G_PRIVATE_INIT (free_clock);
  StandinClock *clock = g_private_get (&seen);

  if (clock == NULL) {
    clock = g_new0 (StandinClock, 1);
    g_private_set (&seen, clock);
  }
  return clock;
}

/* ---- streams ---- */

StandinStream *
standin_stream_new (int device)
{
  StandinStream *stream = g_new0 (StandinStream, 1);

  if (streams == NULL)
    streams = g_ptr_array_new ();
  stream->number = streams->len;
  stream->device = device;
  g_queue_init (&stream->waiting);
  g_ptr_array_add (streams, stream);
  return stream;
}

/* Those that each device has from the beginning. Here the legacy stream orders nothing but itself,
 * which is less than it does: who needs more uses streams that do not block. */
static StandinStream *
built_in (int device, gboolean per_thread)
{
  static StandinStream *made[16][2];

  if (made[device][per_thread] == NULL) {
    made[device][per_thread] = standin_stream_new (device);
    made[device][per_thread]->built_in = TRUE;
  }
  return made[device][per_thread];
}

StandinStream *
standin_stream_get (HrCudaStream handle, int current_device, gboolean launch)
{
  StandinStream *stream = NULL;

  if (handle == NULL || handle == HR_CUDA_STREAM_LEGACY || handle == HR_CUDA_STREAM_PER_THREAD)
    return built_in (current_device, handle == HR_CUDA_STREAM_PER_THREAD);
  for (guint i = 0; streams != NULL && i < streams->len; i++)
    if (streams->pdata[i] == (gpointer)handle)
      stream = streams->pdata[i];
  if (stream == NULL || stream->destroyed) {
    standin_misuse ("bad-stream", "%p is no stream%s", (gpointer)handle,
                    stream != NULL ? " any more" : "");
    return NULL;
  }
  if (launch && stream->device != current_device) {
    standin_misuse ("wrong-device",
                    "a kernel is launched on a stream of device %d, but device %d is "
                    "the thread's",
                    stream->device, current_device);
    return NULL;
  }
  return stream;
}

/* ---- what it touches ---- */

static gboolean
overlaps (const StandinAccess *access, gsize begin, gsize end)
{
  return access->begin < end && begin < access->end;
}

static gboolean
is_known (const StandinAccess *access)
{
  return standin_clock_get (&known, access->stream) >= access->index;
}

/* so that they do not become ever more */
static void
forget_known (StandinBlock *block)
{
  for (guint i = 0; i < block->accesses->len && block->accesses->len > MOST_ACCESSES;)
    if (is_known (&g_array_index (block->accesses, StandinAccess, i)))
      g_array_remove_index (block->accesses, i);
    else
      i++;
}

/* the host's memory changes hands among its threads, which order that by themselves */
static gboolean
is_ordered (const StandinWork *work, const StandinAccess *old, const StandinBlock *block)
{
  return standin_clock_get (&work->clock, old->stream) >= old->index
         || (block->device == STANDIN_HOST && is_known (old));
}

const StandinAccess *
standin_work_in_flight (const GArray *accesses)
{
  for (guint i = 0; i < accesses->len; i++)
    if (!is_known (&g_array_index (accesses, StandinAccess, i)))
      return &g_array_index (accesses, StandinAccess, i);
  return NULL;
}

/* nothing that is still to be done has to do with these bytes */
static gboolean
is_idle (const StandinBlock *block, gsize begin, gsize end)
{
  for (guint i = 0; i < block->accesses->len; i++) {
    const StandinAccess *access = &g_array_index (block->accesses, StandinAccess, i);

    if (overlaps (access, begin, end)
        && ((StandinStream *)streams->pdata[access->stream])->done < access->index)
      return FALSE;
  }
  return TRUE;
}

/* the bytes that were written, as pieces that do not touch each other */
static void
add_written (GArray *written, gsize begin, gsize end)
{
  StandinAccess piece = { .begin = begin, .end = end };

  for (guint i = written->len; i > 0; i--) {
    const StandinAccess *other = &g_array_index (written, StandinAccess, i - 1);

    if (other->begin <= piece.end && piece.begin <= other->end) {
      piece.begin = MIN (piece.begin, other->begin);
      piece.end = MAX (piece.end, other->end);
      g_array_remove_index_fast (written, i - 1);
    }
  }
  g_array_append_val (written, piece);
}

static gboolean
is_written (const GArray *written, gsize begin, gsize end)
{
  for (guint i = 0; i < written->len; i++) {
    const StandinAccess *piece = &g_array_index (written, StandinAccess, i);

    if (piece->begin <= begin && end <= piece->end)
      return TRUE;
  }
  return FALSE;
}

/* FALSE, with a misuse: the bytes are not all in a block that this work can reach */
static gboolean
check_block (StandinWork *work, const StandinBlock *block, const void *memory, gsize size,
             const char *what)
{
  if (block == NULL)
    standin_misuse ("bad-address", "%s: %p is in no block", what, memory);
  else if (block->freed)
    standin_misuse ("use-after-free", "%s: %p is in a block that was freed", what, memory);
  else if ((gsize)((const guint8 *)memory - block->begin) + size > block->size)
    standin_misuse ("bad-address", "%s: %zu bytes at byte %zu of a block of %zu", what, size,
                    (gsize)((const guint8 *)memory - block->begin), block->size);
  else if (block->device != STANDIN_HOST && block->device != work->stream->device)
    standin_misuse ("wrong-device", "%s: memory of device %d on a stream of device %d", what,
                    block->device, work->stream->device);
  else
    return TRUE;
  work->dead = TRUE;
  return FALSE;
}

void
standin_work_touch (StandinWork *work, const void *memory, gsize size, gboolean write,
                    const char *what)
{
  StandinBlock *block = standin_memory_find (memory);
  StandinAccess access = {
    .write = write, .stream = work->stream->number, .index = work->index, .what = what
  };

  if (!check_block (work, block, memory, size, what))
    return;
  access.begin = (gsize)((const guint8 *)memory - block->begin);
  access.end = access.begin + size;
  forget_known (block);
  for (guint i = 0; i < block->accesses->len; i++) {
    const StandinAccess *old = &g_array_index (block->accesses, StandinAccess, i);

    if (overlaps (old, access.begin, access.end) && (write || old->write)
        && !is_ordered (work, old, block))
      standin_misuse ("unordered",
                      "%s, on stream %u, and %s, on stream %u, touch the same bytes, and "
                      "nothing orders them",
                      what, access.stream, old->what, old->stream);
  }
  if (write && is_idle (block, access.begin, access.end))
    memset (standin_memory_reach (memory), STANDIN_PATTERN, size);
  if (!write && block->device != STANDIN_HOST
      && !is_written (block->written, access.begin, access.end))
    standin_misuse ("unwritten", "%s: nothing has written all of the %zu bytes that are read", what,
                    size);
  if (write)
    add_written (block->written, access.begin, access.end);
  g_array_append_val (block->accesses, access);
}

/* ---- doing it ---- */

static void
work_free (StandinWork *work)
{
  standin_clock_clear (&work->clock);
  g_free (work->before);
  g_free (work->images);
  g_free (work);
}

static gboolean
is_gone (const void *memory)
{
  const StandinBlock *block = standin_memory_find (memory);

  return block != NULL && block->freed;
}

static void
do_copy (StandinWork *work)
{
  if (is_gone (work->from) || is_gone (work->into))
    return;
  if (work->before != NULL && memcmp (work->before, work->from, work->size) != 0)
    standin_misuse ("changed-in-flight",
                    "a copy of %zu bytes from the host: they were changed before "
                    "it was done",
                    work->size);
  memcpy (standin_memory_reach (work->into), standin_memory_reach (work->from), work->size);
}

static void do_until (StandinStream *stream, guint64 index);

static void
do_one (StandinStream *stream)
{
  StandinWork *work = g_queue_pop_head (&stream->waiting);

  if (work->kind == STANDIN_WAIT) {
    do_until (work->other, work->other_index);
    stream->time = MAX (stream->time, work->other->time);
  }
  stream->time = MAX (stream->time, (double)g_get_monotonic_time ());
  if (work->kind == STANDIN_COPY && !work->dead) {
    do_copy (work);
    stream->time += LATENCY + (double)work->size / (double)standin_config.copy_rate;
  } else if (work->kind == STANDIN_KERNEL && !work->dead) {
    standin_kernel_do (work);
    stream->time += LATENCY + (double)work->size / KERNEL_RATE;
  } else if (work->kind == STANDIN_RECORD && work->event->generation == work->generation)
    work->event->time = stream->time;
  stream->done = work->index;
  work_free (work);
}

static void
do_until (StandinStream *stream, guint64 index)
{
  while (stream->done < index)
    do_one (stream);
}

static void
do_random (void)
{
  guint first = standin_random (streams->len);

  for (guint i = 0; i < streams->len; i++) {
    StandinStream *stream = streams->pdata[(first + i) % streams->len];

    if (!g_queue_is_empty (&stream->waiting)) {
      do_one (stream);
      return;
    }
  }
}

/* ---- giving it, and waiting for it ---- */

static void *
do_in_thread (void *nothing)
{
  for (;;) {
    guint pause;

    standin_lock ();
    do_random ();
    pause = standin_random (300);
    standin_unlock ();
    usleep (pause);
  }
  return nothing;
}

static void
start_thread (void)
{
  pthread_t thread;

  if (pthread_create (&thread, NULL, do_in_thread, NULL) != 0)
    g_error ("cuda stand-in: no thread: %m");
  pthread_detach (thread);
}

void
standin_work_go_on (void)
{
  while (standin_config.order == STANDIN_RANDOM && streams != NULL && standin_chance (50))
    do_random ();
}

StandinWork *
standin_work_new (StandinKind kind, StandinStream *stream)
{
  StandinWork *work = g_new0 (StandinWork, 1);

  work->kind = kind;
  work->stream = stream;
  work->index = stream->given + 1;
  work->serial = ++last_serial;
  work->clock = standin_clock_copy (&stream->clock);
  standin_clock_merge (&work->clock, seen_here ());
  standin_clock_set (&work->clock, stream->number, work->index);
  return work;
}

void
standin_work_give (StandinWork *work)
{
  StandinStream *stream = work->stream;

  stream->given = work->index;
  standin_clock_merge (&stream->clock, &work->clock);
  g_queue_push_tail (&stream->waiting, work);
  if (standin_config.order == STANDIN_NOW)
    do_until (stream, stream->given);
  if (standin_config.order == STANDIN_THREAD)
    pthread_once (&thread_once, start_thread);
}

void
standin_work_finish (StandinStream *stream, guint64 index, const StandinClock *clock)
{
  do_until (stream, index);
  standin_clock_merge (&known, clock);
  standin_clock_merge (seen_here (), clock);
}

/* ---- looking at it ---- */

const guint8 *
standin_work_foresee (const void *memory, gsize size)
{
  const guint8 *at = memory;
  const StandinWork *last = NULL;

  for (guint i = 0; i < streams->len; i++)
    for (GList *item = ((StandinStream *)streams->pdata[i])->waiting.head; item != NULL;
         item = item->next) {
      const StandinWork *work = item->data;

      if (work->kind == STANDIN_COPY && work->before != NULL && work->into <= at
          && at + size <= work->into + work->size && (last == NULL || work->serial > last->serial))
        last = work;
    }
  return last != NULL ? last->before + (at - last->into) : standin_memory_reach (memory);
}

void
standin_work_list_left (GPtrArray *lines)
{
  for (guint i = 0; streams != NULL && i < streams->len; i++) {
    const StandinStream *stream = streams->pdata[i];

    if (!stream->destroyed && !stream->built_in)
      g_ptr_array_add (lines,
                       g_strdup_printf ("stream %u of device %d", stream->number, stream->device));
    if (!g_queue_is_empty ((GQueue *)&stream->waiting))
      g_ptr_array_add (
          lines, g_strdup_printf ("%u pieces of work on stream %u that nobody waited for",
                                  g_queue_get_length ((GQueue *)&stream->waiting), stream->number));
  }
}
