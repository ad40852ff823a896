/* appmap.c: samples go to the program, and what it makes of them comes back */
#include <errno.h>
#include <poll.h>
#include "headrace.h"
#include "hr-bell.h"
#include "hr-sync.h"

typedef struct {
  char *version;
} AppMap;

/* one sample, from submit() to the end of its ticket */
typedef struct {
  HrTicket *ticket;
  gint64 number;
  HrBuffer *buffer; /* the sample until it is taken, the result when it is answered */
  GError *why;
} Job;

typedef struct {
  HrMutex lock;
  HrCond more;         /* there is something to take, or nothing will come */
  GQueue *waiting;     /* Job: not yet taken */
  GHashTable *taken;   /* number -> Job: the program works on it */
  GPtrArray *answered; /* Job */
  HrBell bell;         /* rings for those */
  gboolean ended;
  guint64 n_answered;
} Shared;

static const HrProp props[] = {
  HR_PROP_STRING (AppMap, version, "",
                  "A word for what the program does: a checkpoint of another one is refused",
                  .flags = HR_PROP_STREAM),
  HR_PROP_END
};

static void
job_free (gpointer data)
{
  Job *job = data;

  g_clear_pointer (&job->buffer, hr_buffer_unref);
  g_clear_error (&job->why);
  g_free (job);
}

/* ---- in threads of the program ---- */

static HrBuffer *
appmap_take (gpointer data, gint64 until, gboolean *ended)
{
  Shared *shared = data;
  HrBuffer *buffer = NULL;
  gboolean in_time = TRUE;

  hr_mutex_lock (&shared->lock);
  while (in_time && !shared->ended && g_queue_is_empty (shared->waiting))
    in_time = hr_cond_wait_until (&shared->more, &shared->lock, until);
  if (!shared->ended && !g_queue_is_empty (shared->waiting)) {
    Job *job = g_queue_pop_head (shared->waiting);

    buffer = g_steal_pointer (&job->buffer);
    g_hash_table_insert (shared->taken, &job->number, job);
  }
  *ended = shared->ended;
  hr_mutex_unlock (&shared->lock);
  return buffer;
}

static gboolean
appmap_answer (gpointer data, gint64 number, HrBuffer *result, GError *why)
{
  Shared *shared = data;
  Job *job;

  hr_mutex_lock (&shared->lock);
  job = shared->ended ? NULL : g_hash_table_lookup (shared->taken, &number);
  if (job != NULL) {
    g_hash_table_steal (shared->taken, &number);
    job->buffer = result;
    job->why = why;
    g_ptr_array_add (shared->answered, job);
    shared->n_answered++;
    hr_bell_ring (&shared->bell);
  }
  hr_mutex_unlock (&shared->lock);
  return job != NULL;
}

/* ---- in the element's thread ---- */

static HrWalk
end_at_batch (HrElement *element, gpointer data G_GNUC_UNUSED)
{
  return g_str_equal (hr_element_get_factory (element), "batch") ? HR_WALK_END : HR_WALK_ON;
}

static gboolean
appmap_check_place (gconstpointer self G_GNUC_UNUSED, HrElement *element, GError **error)
{
  HrElement *batch = hr_element_walk_upstream (element, end_at_batch, NULL);

  if (batch == NULL)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "the program works on samples, and \"%s\" makes batches\nput it before "
               "\"%s\"; what is done with whole batches belongs into the training loop",
               hr_element_get_name (batch), hr_element_get_name (batch));
  return FALSE;
}

static gboolean
appmap_start (gconstpointer self G_GNUC_UNUSED, gpointer data, HrElement *element, GError **error)
{
  Shared *shared = data;

  if (hr_element_is_measured (element, "")) {
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                         "lengths are found out without the program: put it behind tokenize, or "
                         "leave scan=lengths out");
    return FALSE;
  }
  if (!hr_bell_init (&shared->bell, error))
    return FALSE;
  hr_mutex_init (&shared->lock);
  hr_cond_init (&shared->more);
  shared->waiting = g_queue_new ();
  shared->taken = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, job_free);
  shared->answered = g_ptr_array_new_with_free_func (job_free);
  return TRUE;
}

/* The lock stays: the program may call, and be told that it is over, as long as the pipeline lives.
 */
static void
appmap_stop (gconstpointer self G_GNUC_UNUSED, gpointer data)
{
  Shared *shared = data;

  hr_mutex_lock (&shared->lock);
  shared->ended = TRUE;
  g_queue_free_full (g_steal_pointer (&shared->waiting), job_free);
  g_clear_pointer (&shared->taken, g_hash_table_unref);
  g_clear_pointer (&shared->answered, g_ptr_array_unref);
  hr_bell_clear (&shared->bell);
  hr_mutex_unlock (&shared->lock);
  hr_cond_broadcast (&shared->more);
}

static void
appmap_submit (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrBuffer *in, HrTicket *ticket)
{
  Shared *shared = worker;
  Job *job;

  if (hr_buffer_get_rows (in) != NULL) {
    hr_buffer_unref (in);
    hr_ticket_done (ticket, NULL,
                    g_error_new_literal (HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                                         "the program works on samples, and these are blocks of "
                                         "lines: put it behind jsonlparse"));
    return;
  }
  job = g_new0 (Job, 1);
  job->ticket = ticket;
  job->number = in->number;
  job->buffer = in;
  hr_mutex_lock (&shared->lock);
  g_queue_push_tail (shared->waiting, job);
  hr_mutex_unlock (&shared->lock);
  hr_cond_signal (&shared->more);
}

static gboolean
appmap_poll (gconstpointer self G_GNUC_UNUSED, gpointer worker, int wake_fd, int timeout_ms,
             GError **error)
{
  Shared *shared = worker;
  struct pollfd fds[] = { { wake_fd, POLLIN, 0 }, { shared->bell.fd, POLLIN, 0 } };
  g_autoptr (GPtrArray) answered = NULL;

  if (poll (fds, G_N_ELEMENTS (fds), timeout_ms) < 0 && errno != EINTR) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "poll: %s",
                 g_strerror (errno));
    return FALSE;
  }
  hr_bell_hush (&shared->bell);
  hr_mutex_lock (&shared->lock);
  answered = g_steal_pointer (&shared->answered);
  shared->answered = g_ptr_array_new_with_free_func (job_free);
  hr_mutex_unlock (&shared->lock);
  for (guint i = 0; i < answered->len; i++) {
    Job *job = answered->pdata[i];

    hr_ticket_done (job->ticket, g_steal_pointer (&job->buffer), g_steal_pointer (&job->why));
  }
  return TRUE;
}

static guint64
appmap_waits_for (gconstpointer self G_GNUC_UNUSED, gpointer worker, GString *into)
{
  Shared *shared = worker;
  guint64 progress;

  hr_mutex_lock (&shared->lock);
  g_string_append_printf (into,
                          "waits for the program, which works on %u samples and has %u to take",
                          g_hash_table_size (shared->taken), g_queue_get_length (shared->waiting));
  progress = shared->n_answered;
  hr_mutex_unlock (&shared->lock);
  return progress;
}

HR_ELEMENT (
    appmap, AppMap, .summary = "Let the program work on each sample",
    .description =
        "The program takes samples with hr_pipeline_take() and gives back what it made of them "
        "with hr_pipeline_answer(), in threads of its own: for trying out in another language what "
        "may become an element. In Python it is `headrace.Loader(text, map=function)`. The answers "
        "go on in the order of the samples; one that is left out leaves a hole, and an error is "
        "the sample's, for on-error to deal with. It stands behind jsonlparse and before batch; "
        "any field may come back, so what the elements behind it need is not checked before the "
        "pipeline runs. While the program does not take, the pipeline stands still.",
    .examples =
        (const char *const[]){
            "filesrc location=train.jsonl ! jsonlparse ! appmap ! batch size=2 ! appsink", NULL },
    .gives = "*", .props = props, .shared_size = sizeof (Shared), .check_place = appmap_check_place,
    .start = appmap_start, .stop = appmap_stop, .submit = appmap_submit, .poll = appmap_poll,
    .waits_for = appmap_waits_for, .take = appmap_take, .answer = appmap_answer)
