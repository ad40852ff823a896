/* hr-trace-file.c */
#include "hr-trace-file.h"
#include "hr-json.h"
#include "hr-secrets.h"
#include "hr-trace-flow.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* of each element: its workers come first, then lanes for its transfers */
#define TIDS (8 * 1024)
#define MAX_LANES (TIDS - HR_MAX_WORKERS)

#define FLUSH_BYTES (256 * 1024)
#define FLUSH_TIME (G_GINT64_CONSTANT (250) * 1000 * 1000)

struct _HrTraceFile {
  HrPipeline *pipeline;
  char *path;
  int fd;
  guint64 n_written; /* bytes */
  char *wrong;       /* why nothing is written any more … */
  gboolean told;     /* … and flush() has said so */
  GString *text;
  gint64 flushed;
  guint64 n_events;
  guint64 n_tickets;
  guint n_elements;
  HrTraceFlows *flows;
  GArray **lanes; /* by element: gint64: when the last transfer of each ended; NULL: none */
  gint64 *queues; /* by link: buffers in it, as last written; -1: not yet */
  gint64 budget;  /* likewise */
};

static HrElement *
get_element (const HrTraceFile *file, guint index)
{
  return file->pipeline->elements->pdata[index];
}

/* ---- events ---- */

/* most of what is written are numbers: printf would take longer than all the rest */
static void
add_digits (GString *text, guint64 number, guint least)
{
  char digits[20];
  guint n = sizeof digits;

  do
    digits[--n] = (char)('0' + number % 10);
  while ((number /= 10) > 0 || sizeof digits - n < least);
  g_string_append_len (text, digits + n, sizeof digits - n);
}

static void
add_number (GString *text, gint64 number)
{
  if (number < 0)
    g_string_append_c (text, '-');
  add_digits (text, number < 0 ? -(guint64)number : (guint64)number, 1);
}

/* the format counts in microseconds, and takes fractions of them */
static void
add_time (GString *text, const char *key, gint64 nanoseconds)
{
  g_string_append (text, key);
  add_digits (text, (guint64)nanoseconds / 1000, 1);
  g_string_append_c (text, '.');
  add_digits (text, (guint64)nanoseconds % 1000, 3);
}

/* leaves its object open */
static void
begin_event (HrTraceFile *file, char phase, const char *name, const char *category)
{
  g_string_append (file->text, file->n_events++ == 0 ? "[\n" : ",\n");
  g_string_append (file->text, "{\"ph\":\"");
  g_string_append_c (file->text, phase);
  g_string_append (file->text, "\",\"name\":");
  hr_json_append_string (file->text, name);
  if (category != NULL) {
    g_string_append (file->text, ",\"cat\":\"");
    g_string_append (file->text, category);
    g_string_append_c (file->text, '"');
  }
  g_string_append (file->text, ",\"pid\":");
  add_number (file->text, file->pipeline->pid);
}

static void
set_place (HrTraceFile *file, guint tid, gint64 time)
{
  g_string_append (file->text, ",\"tid\":");
  add_number (file->text, tid);
  add_time (file->text, ",\"ts\":", MAX (time - file->pipeline->started_at, 0));
}

static void
begin_slice (HrTraceFile *file, guint tid, const char *name, const char *category, gint64 begin,
             gint64 end)
{
  begin_event (file, 'X', name, category);
  set_place (file, tid, begin);
  add_time (file->text, ",\"dur\":", MAX (end - begin, 0));
}

static void
end_event (HrTraceFile *file)
{
  g_string_append_c (file->text, '}');
}

static void
begin_args (HrTraceFile *file)
{
  g_string_append (file->text, ",\"args\":{");
}

/* the last character tells whether it is the first */
static void
add_name (GString *text, const char *name)
{
  if (text->str[text->len - 1] != '{')
    g_string_append_c (text, ',');
  g_string_append_c (text, '"');
  g_string_append (text, name);
  g_string_append (text, "\":");
}

static void
add_int (HrTraceFile *file, const char *name, gint64 value)
{
  add_name (file->text, name);
  add_number (file->text, value);
}

static void
add_string (HrTraceFile *file, const char *name, const char *value)
{
  add_name (file->text, name);
  hr_json_append_string (file->text, value);
}

static void
end_args (HrTraceFile *file)
{
  g_string_append_c (file->text, '}');
  end_event (file);
}

static void
add_metadata (HrTraceFile *file, guint tid, const char *what, const char *name, const char *value)
{
  begin_event (file, 'M', what, NULL);
  set_place (file, tid, file->pipeline->started_at);
  begin_args (file);
  add_string (file, name, value);
  end_args (file);
}

static void
add_flow_point (char phase, gint64 id, guint tid, gint64 time, gpointer data)
{
  HrTraceFile *file = data;

  begin_event (file, phase, "sample", "flow");
  set_place (file, tid, time);
  g_string_append (file->text, ",\"id\":");
  add_number (file->text, id);
  if (phase == 'f')
    g_string_append (file->text, ",\"bp\":\"e\"");
  end_event (file);
}

/* ---- fetches ---- */

/* a lane that is free at that time; -1: none, which takes thousands at once */
static gint
find_lane (HrTraceFile *file, guint element, gint64 begin, gint64 end)
{
  GArray *lanes = file->lanes[element];
  gint best = -1;

  if (lanes == NULL)
    lanes = file->lanes[element] = g_array_new (FALSE, FALSE, sizeof (gint64));
  for (guint i = 0; i < lanes->len; i++) {
    gint64 free_at = g_array_index (lanes, gint64, i);

    if (free_at <= begin && (best < 0 || free_at > g_array_index (lanes, gint64, best)))
      best = (gint)i;
  }
  if (best < 0 && lanes->len < MAX_LANES) {
    HrElement *owner = get_element (file, element);
    g_autofree char *name =
        g_strdup_printf ("%s fetches %u", hr_element_get_name (owner), lanes->len + 1);

    best = (gint)lanes->len;
    g_array_set_size (lanes, lanes->len + 1);
    hr_trace_file_name_thread (file, hr_trace_file_get_tid (owner, HR_MAX_WORKERS + (guint)best),
                               name);
  }
  if (best >= 0)
    g_array_index (lanes, gint64, best) = end;
  return best;
}

static void
add_part (HrTraceFile *file, guint tid, const char *name, gint64 begin, gint64 end)
{
  if (end <= begin)
    return;
  begin_slice (file, tid, name, "fetch", begin, end);
  end_event (file);
}

void
hr_trace_transfer_free (HrTransfer *transfer)
{
  if (transfer != NULL)
    g_free ((char *)transfer->name);
  g_free (transfer);
}

/* What of its time went before the last try is not known any better than that there was one. */
static void
add_transfer (HrTraceFile *file, HrTraceRecord *record)
{
  HrTransfer *transfer = record->transfer;
  g_autofree char *shown = hr_secrets_hide (transfer->name, HR_SECRETS_IN_VALUE);
  gint64 begin = record->begin, end = record->end;
  gint64 first = CLAMP (end - transfer->body, begin, end);
  gint64 last_try = CLAMP (first - transfer->first_byte, begin, first);
  gint lane = find_lane (file, record->element, begin, end);
  guint tid;

  if (lane >= 0) {
    tid = hr_trace_file_get_tid (get_element (file, record->element), HR_MAX_WORKERS + (guint)lane);
    begin_slice (file, tid, "fetch", "fetch", begin, end);
    begin_args (file);
    add_string (file, "what", shown);
    if (record->sample >= 0)
      add_int (file, "sample", record->sample);
    add_int (file, "bytes", (gint64)transfer->bytes);
    add_int (file, "tries", transfer->tries);
    if (transfer->hedged)
      add_int (file, "hedged", 1);
    if (transfer->failed)
      add_int (file, "failed", 1);
    end_args (file);
    /* inside: those before come first where times are equal */
    if (transfer->tries > 1)
      add_part (file, tid, "earlier tries", begin + 2, last_try);
    add_part (file, tid, "first byte", MAX (last_try, begin + 2), first);
    add_part (file, tid, "body", MAX (first, begin + 2), end);
    hr_trace_flows_note_fetch (file->flows, record->element, tid, begin, record->sample);
  }
  hr_trace_transfer_free (transfer);
}

static void
add_ticket_end (HrTraceFile *file, const HrTraceRecord *record, gboolean is_end)
{
  g_autofree char *name =
      g_strconcat (hr_element_get_name (get_element (file, record->element)), " in flight", NULL);

  begin_event (file, is_end ? 'e' : 'b', name, "ticket");
  set_place (file, hr_trace_file_get_tid (get_element (file, record->element), 0),
             is_end ? record->end : record->begin);
  g_string_append_printf (file->text, ",\"id\":\"0x%" G_GINT64_MODIFIER "x\"", file->n_tickets);
  begin_args (file);
  if (!is_end)
    add_int (file, "sample", record->sample);
  else if (!record->what)
    add_int (file, "unfinished", 1);
  end_args (file);
}

/* ---- what threads have done ---- */

static const char *
wait_name (HrWait wait)
{
  static const char *const names[] = { [HR_WAIT_NONE] = "waits",
                                       [HR_WAIT_INPUT] = "waits for input",
                                       [HR_WAIT_OUTPUT] = "waits for room",
                                       [HR_WAIT_RELEASE] = "waits for the trainer",
                                       [HR_WAIT_BUDGET] = "waits for memory",
                                       [HR_WAIT_PERMIT] = "waits for a processor",
                                       [HR_WAIT_OUTSIDE] = "waits outside" };

  return names[wait];
}

static void
touch (HrTraceFile *file, guint tid, const HrTraceRecord *record)
{
  hr_trace_flows_note_work (file->flows, record->element, tid, record->begin, record->sample);
}

static void
add_slice (HrTraceFile *file, guint tid, const HrTraceRecord *record)
{
  const char *element = hr_element_get_name (get_element (file, record->element));

  switch ((HrTraceKind)record->kind) {
  case HR_TRACE_WORK:
    begin_slice (file, tid, element, "work", record->begin, record->end);
    begin_args (file);
    add_int (file, "items", record->n);
    break;
  case HR_TRACE_MEMBER:
    begin_slice (file, tid, element, "member", record->begin, record->end);
    begin_args (file);
    add_int (file, "member", record->n);
    break;
  case HR_TRACE_STEP:
    begin_slice (file, tid, "step", "step", record->begin, record->end);
    begin_args (file);
    add_string (file, "element", element);
    add_int (file, "step", record->sample);
    end_args (file);
    return;
  default:
    begin_slice (file, tid, wait_name (record->what), "wait", record->begin, record->end);
    begin_args (file);
    add_string (file, "element", element);
    end_args (file);
    return;
  }
  if (record->sample >= 0)
    add_int (file, "sample", record->sample);
  end_args (file);
  if (record->kind == HR_TRACE_WORK && !record->what)
    touch (file, tid, record);
}

/* the first @n bytes of the text are in the file, which may end behind an event, not within one */
static void
cut (HrTraceFile *file, gsize n)
{
  while (n > 0 && file->text->str[n - 1] != '\n')
    n--;
  /* a pipe cannot be cut: its reader has what it has */
  if (ftruncate (file->fd, (off_t)(file->n_written + n)) != 0)
    return;
}

static void
write_out (HrTraceFile *file)
{
  const char *at = file->text->str;
  gsize left = file->text->len;

  while (left > 0 && file->wrong == NULL) {
    gssize n = write (file->fd, at, left);

    if (n >= 0) {
      at += n;
      left -= (gsize)n;
    } else if (errno != EINTR) {
      file->wrong = g_strdup_printf ("%s: %s", file->path, g_strerror (errno));
      cut (file, (gsize)(at - file->text->str));
    }
  }
  file->n_written += file->text->len;
  g_string_truncate (file->text, 0);
}

void
hr_trace_file_add (HrTraceFile *file, guint tid, HrTraceRecord *record)
{
  switch ((HrTraceKind)record->kind) {
  case HR_TRACE_TAKEN:
    hr_trace_flows_end (file->flows, tid, record->begin, record->sample, record->n);
    break;
  case HR_TRACE_TOUCH:
    touch (file, tid, record);
    break;
  case HR_TRACE_TICKET:
    add_ticket_end (file, record, FALSE);
    add_ticket_end (file, record, TRUE);
    file->n_tickets++;
    break;
  case HR_TRACE_TRANSFER:
    add_transfer (file, record);
    break;
  default:
    add_slice (file, tid, record);
  }
  if (file->text->len >= FLUSH_BYTES) /* all rings together may hold a hundred times that */
    write_out (file);
}

guint
hr_trace_file_get_tid (const HrElement *element, guint worker)
{
  return (1 + element->index) * TIDS + worker;
}

void
hr_trace_file_name_thread (HrTraceFile *file, guint tid, const char *name)
{
  add_metadata (file, tid, "thread_name", "name", name);
  begin_event (file, 'M', "thread_sort_index", NULL);
  set_place (file, tid, file->pipeline->started_at);
  begin_args (file);
  add_int (file, "sort_index", tid);
  end_args (file);
}

/* ---- what has no thread ---- */

static void
begin_instant (HrTraceFile *file, guint tid, const char *name, char scope, gint64 time)
{
  begin_event (file, 'i', name, "message");
  set_place (file, tid, time);
  g_string_append_printf (file->text, ",\"s\":\"%c\"", scope);
  begin_args (file);
}

void
hr_trace_file_add_lost (HrTraceFile *file, guint tid, guint64 n, gint64 now)
{
  begin_instant (file, tid, "events left out", 't', now);
  add_int (file, "events", (gint64)n);
  end_args (file);
}

void
hr_trace_file_add_message (HrTraceFile *file, const HrMessage *message, gint64 time)
{
  begin_instant (file, 0, hr_message_type_name (message->type), 'p', time);
  if (message->element != NULL)
    add_string (file, "element", message->element);
  if (message->error != NULL)
    add_string (file, "why", message->error->message);
  if (message->text != NULL)
    add_string (file, "text", message->text);
  end_args (file);
}

static void
add_counter (HrTraceFile *file, const char *name, const char *unit, gint64 value, gint64 now)
{
  begin_event (file, 'C', name, NULL);
  set_place (file, 0, now);
  begin_args (file);
  add_int (file, unit, value);
  end_args (file);
}

void
hr_trace_file_add_counters (HrTraceFile *file, gint64 now)
{
  HrPipeline *pipeline = file->pipeline;
  HrGateStats stats;

  for (guint i = 0; i < pipeline->links->len; i++) {
    HrLink *link = pipeline->links->pdata[i];
    g_autofree char *name = NULL;
    guint count;

    hr_mutex_lock (&link->lock);
    count = link->count;
    hr_mutex_unlock (&link->lock);
    if (file->queues[i] == count)
      continue;
    file->queues[i] = count;
    name = link->to->inputs->len > 1
               ? g_strdup_printf ("queue of %s.%u", hr_element_get_name (link->to), link->to_pad)
               : g_strconcat ("queue of ", hr_element_get_name (link->to), NULL);
    add_counter (file, name, "buffers", count, now);
  }
  hr_gate_get_stats (pipeline->memory, &stats);
  if (file->budget == (gint64)stats.used)
    return;
  file->budget = (gint64)stats.used;
  add_counter (file, "memory budget", "bytes", file->budget, now);
}

/* ---- the file ---- */

/* once */
static gboolean
tell_wrong (HrTraceFile *file, const char *then, GError **error)
{
  if (file->wrong == NULL || file->told)
    return TRUE;
  file->told = TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "trace: %s; %s", file->wrong,
               then);
  return FALSE;
}

gboolean
hr_trace_file_flush (HrTraceFile *file, gint64 now, GError **error)
{
  if (now - file->flushed >= FLUSH_TIME) {
    file->flushed = now;
    write_out (file);
  }
  return tell_wrong (file, "the trace ends here, the run goes on", error);
}

gboolean
hr_trace_file_end (HrTraceFile *file, GError **error)
{
  g_string_append (file->text, "\n]\n");
  write_out (file);
  if (close (file->fd) != 0 && file->wrong == NULL)
    file->wrong = g_strdup_printf ("%s: %s", file->path, g_strerror (errno));
  file->fd = -1;
  return tell_wrong (file, "its last events are missing", error);
}

guint64
hr_trace_file_get_n_events (const HrTraceFile *file)
{
  return file->n_events;
}

const char *
hr_trace_file_get_error (const HrTraceFile *file)
{
  return file->wrong;
}

static void
add_head (HrTraceFile *file)
{
  g_autofree char *text = hr_pipeline_to_shown_string (file->pipeline);

  add_metadata (file, 0, "process_name", "name", "headrace");
  add_metadata (file, 0, "process_labels", "labels", text);
}

/* a pipe is waited for until somebody reads it, or the run is stopped */
static int
open_file (const char *path, HrPipeline *pipeline)
{
  for (;;) {
    int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);

    if (fd >= 0 && fcntl (fd, F_SETFL, 0) == 0)
      return fd;
    if (fd >= 0 || errno != ENXIO || g_atomic_int_get (&pipeline->stopping))
      return -1;
    g_usleep (10 * 1000);
  }
}

HrTraceFile *
hr_trace_file_new (const char *path, HrPipeline *pipeline, GError **error)
{
  int fd = open_file (path, pipeline);
  HrTraceFile *file;

  if (fd < 0 && errno == ENXIO && g_atomic_int_get (&pipeline->stopping)) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED,
                 "trace: %s: stopped before somebody read this pipe", path);
    return NULL;
  }
  if (fd < 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "trace: %s: %s", path,
                 g_strerror (errno));
    return NULL;
  }
  file = g_new0 (HrTraceFile, 1);
  file->pipeline = pipeline;
  file->path = g_strdup (path);
  file->fd = fd;
  file->text = g_string_sized_new (2 * FLUSH_BYTES);
  file->n_elements = pipeline->elements->len;
  file->flows = hr_trace_flows_new (pipeline, add_flow_point, file);
  file->lanes = g_new0 (GArray *, file->n_elements);
  file->queues = g_new (gint64, pipeline->links->len);
  for (guint i = 0; i < pipeline->links->len; i++)
    file->queues[i] = -1;
  file->budget = -1;
  add_head (file);
  return file;
}

void
hr_trace_file_free (HrTraceFile *file)
{
  if (file->fd >= 0)
    close (file->fd);
  for (guint i = 0; i < file->n_elements; i++)
    g_clear_pointer (&file->lanes[i], g_array_unref);
  g_free (file->lanes);
  g_free (file->queues);
  hr_trace_flows_free (file->flows);
  g_string_free (file->text, TRUE);
  g_free (file->path);
  g_free (file->wrong);
  g_free (file);
}
