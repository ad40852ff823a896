/* http-threads.c: a client whose transfers run on several threads */
#include "http-threads.h"
#include "hr-bell.h"
#include "hr-sync.h"
#include <poll.h>
#include <string.h>

typedef struct _Deal Deal;

typedef enum {
  SUBMIT, /* to a thread */
  RESUME,
  RELEASE,
  CANCEL,
  MOST,
  ROOM, /* to the owner */
  DONE,
  GONE
} MessageKind;

typedef struct {
  MessageKind kind;
  Deal *deal;
  gsize number;          /* MOST, ROOM */
  HrHttpRequest *result; /* DONE */
  GError *error;         /* DONE */
} Message;

typedef struct {
  HrMutex lock;
  GQueue messages;
} Box;

typedef struct {
  HrHttpThreads *threads;
  HrHttp *http;
  GThread *thread;
  Box box;
  HrBell bell;
  gboolean stopped; /* in the box's lock */
  HrHttpCounts counts;
  guint n_deals; /* the owner's */
} Worker;

/* a request: `outer` is the owner's, `inner` the thread's. While a transfer is paused for its room,
 * its thread touches neither, and the owner may look at both. */
struct _Deal {
  Worker *worker;
  HrHttpRequest *outer; /* NULL: cancelled */
  HrHttpRequest *inner; /* NULL: done */
  gboolean paused;
  gint64 begun;
  gsize wanted;
  GError *refusal;
};

struct _HrHttpThreads {
  guint n;
  guint n_used;
  Worker *workers;
  guint next;
  Box box; /* the owner's */
  HrBell bell;
  GHashTable *deals;
  GHashTable *by_request;
  HrHttpCounts counts;
};

static void
post (Box *box, HrBell *bell, Message message)
{
  hr_mutex_lock (&box->lock);
  g_queue_push_tail (&box->messages, g_memdup2 (&message, sizeof message));
  hr_mutex_unlock (&box->lock);
  hr_bell_ring (bell);
}

static Message *
take (Box *box)
{
  Message *message;

  hr_mutex_lock (&box->lock);
  message = g_queue_pop_head (&box->messages);
  hr_mutex_unlock (&box->lock);
  return message;
}

static void
message_free (gpointer data)
{
  Message *message = data;

  g_clear_error (&message->error);
  g_clear_pointer (&message->result, hr_http_request_free);
  g_free (message);
}

static void
tell_worker (Worker *worker, MessageKind kind, Deal *deal, gsize number)
{
  post (&worker->box, &worker->bell, (Message){ .kind = kind, .deal = deal, .number = number });
}

static void
tell_owner (Worker *worker, Message message)
{
  post (&worker->threads->box, &worker->threads->bell, message);
}

/* ---- in a thread ---- */

static HrHttpRoom
ask_owner (HrHttpRequest *inner, gsize bytes, GError **error)
{
  Deal *deal = inner->user_data;

  if (deal->refusal) {
    g_propagate_error (error, g_steal_pointer (&deal->refusal));
    return HR_HTTP_REFUSE;
  }
  tell_owner (deal->worker, (Message){ .kind = ROOM, .deal = deal, .number = bytes });
  return HR_HTTP_HOLD;
}

static void
tell_done (HrHttpRequest *inner, GError *error)
{
  Deal *deal = inner->user_data;
  HrHttpRequest *result = g_memdup2 (inner, sizeof *inner);

  /* the client frees what is left in its own */
  inner->name = inner->url = NULL;
  inner->question.etag = NULL;
  inner->known_etag = NULL;
  hr_http_response_init (&inner->response);
  inner->body = NULL;
  inner->complaint = NULL;
  inner->protocol_free = NULL;
  deal->inner = NULL;
  tell_owner (deal->worker,
              (Message){ .kind = DONE, .deal = deal, .result = result, .error = error });
}

static void
obey (Worker *worker, const Message *message)
{
  Deal *deal = message->deal;

  switch (message->kind) {
  case SUBMIT:
    hr_http_submit (worker->http, deal->inner);
    break;
  case RESUME:
    if (deal->inner)
      hr_http_resume (worker->http, deal->inner);
    break;
  case RELEASE:
    if (deal->inner)
      hr_http_release (worker->http, deal->inner);
    break;
  case CANCEL:
    if (deal->inner)
      hr_http_cancel (worker->http, deal->inner);
    deal->inner = NULL;
    tell_owner (worker, (Message){ .kind = GONE, .deal = deal });
    break;
  default:
    hr_http_set_max_transfers (worker->http, message->number);
    break;
  }
}

static gboolean
publish (Worker *worker)
{
  gboolean stopped;

  hr_mutex_lock (&worker->box.lock);
  worker->counts = *hr_http_get_counts (worker->http);
  stopped = worker->stopped;
  hr_mutex_unlock (&worker->box.lock);
  return !stopped;
}

static gpointer
run (gpointer data)
{
  Worker *worker = data;

  for (;;) {
    Message *message;

    hr_bell_hush (&worker->bell);
    if (!publish (worker))
      break;
    while ((message = take (&worker->box))) {
      obey (worker, message);
      message_free (message);
    }
    /* that curl itself fails is told by the requests that it leaves behind */
    if (!hr_http_poll (worker->http, worker->bell.fd, -1, NULL))
      g_usleep (10000);
  }
  return NULL;
}

/* ---- the owner ---- */

static void
box_init (Box *box)
{
  hr_mutex_init (&box->lock);
  g_queue_init (&box->messages);
}

static void
box_clear (Box *box)
{
  g_queue_clear_full (&box->messages, message_free);
  hr_mutex_clear (&box->lock);
}

static gboolean
worker_start (Worker *worker, HrHttpThreads *threads, const HrHttpOptions *options, GError **error)
{
  worker->threads = threads;
  if (!hr_bell_init (&worker->bell, error))
    return FALSE;
  worker->http = hr_http_new (options, error);
  if (!worker->http) {
    hr_bell_clear (&worker->bell);
    return FALSE;
  }
  box_init (&worker->box);
  worker->thread = g_thread_new ("io", run, worker);
  return TRUE;
}

HrHttpThreads *
hr_http_threads_new (const HrHttpOptions *options, GError **error)
{
  HrHttpThreads *threads = g_new0 (HrHttpThreads, 1);
  HrHttpOptions one = *options;

  one.io_threads = 1;
  threads->workers = g_new0 (Worker, options->io_threads);
  box_init (&threads->box);
  threads->deals = g_hash_table_new (NULL, NULL);
  threads->by_request = g_hash_table_new (NULL, NULL);
  if (!hr_bell_init (&threads->bell, error)) {
    hr_http_threads_free (threads);
    return NULL;
  }
  for (; threads->n < options->io_threads; threads->n++) {
    Worker *worker = &threads->workers[threads->n];

    if (!worker_start (worker, threads, &one, error)) {
      hr_http_threads_free (threads);
      return NULL;
    }
  }
  hr_http_threads_set_max_transfers (threads, options->max_transfers);
  return threads;
}

static void
stop (Worker *worker)
{
  hr_mutex_lock (&worker->box.lock);
  worker->stopped = TRUE;
  hr_mutex_unlock (&worker->box.lock);
  hr_bell_ring (&worker->bell);
  g_thread_join (worker->thread);
}

static void
deal_free (Deal *deal)
{
  g_clear_error (&deal->refusal);
  g_free (deal);
}

/* what no thread has seen is freed here, the rest by its client */
static void
drop_unseen (Worker *worker)
{
  Message *message;

  while ((message = take (&worker->box))) {
    if (message->kind == SUBMIT)
      hr_http_request_free (message->deal->inner);
    message_free (message);
  }
}

void
hr_http_threads_free (HrHttpThreads *threads)
{
  GHashTableIter iter;
  gpointer deal;

  for (guint i = 0; i < threads->n; i++)
    stop (&threads->workers[i]);
  for (guint i = 0; i < threads->n; i++) {
    Worker *worker = &threads->workers[i];

    drop_unseen (worker);
    hr_http_free (worker->http);
    box_clear (&worker->box);
    hr_bell_clear (&worker->bell);
  }
  g_hash_table_iter_init (&iter, threads->deals);
  while (g_hash_table_iter_next (&iter, &deal, NULL)) {
    g_clear_pointer (&((Deal *)deal)->outer, hr_http_request_free);
    deal_free (deal);
  }
  g_hash_table_unref (threads->deals);
  g_hash_table_unref (threads->by_request);
  box_clear (&threads->box);
  hr_bell_clear (&threads->bell);
  g_free (threads->workers);
  g_free (threads);
}

/* fewer at once than threads: some get none */
void
hr_http_threads_set_max_transfers (HrHttpThreads *threads, guint max_transfers)
{
  max_transfers = MAX (max_transfers, 1);
  threads->n_used = MIN (threads->n, max_transfers);
  for (guint i = 0; i < threads->n_used; i++)
    tell_worker (&threads->workers[i], MOST, NULL,
                 max_transfers / threads->n_used + (i < max_transfers % threads->n_used));
}

/* who has fewest; of equals the next in turn */
static Worker *
choose (HrHttpThreads *threads)
{
  Worker *best = NULL;

  for (guint i = 0; i < threads->n_used; i++) {
    Worker *worker = &threads->workers[(threads->next + i) % threads->n_used];

    if (!best || worker->n_deals < best->n_deals)
      best = worker;
  }
  threads->next++;
  return best;
}

static HrHttpRequest *
make_inner (Deal *deal)
{
  HrHttpRequest *outer = deal->outer, *inner = g_memdup2 (outer, sizeof *outer);

  inner->name = g_strdup (outer->name);
  inner->url = g_strdup (outer->url);
  inner->question.etag = g_strdup (outer->question.etag);
  inner->known_etag = g_strdup (outer->known_etag);
  inner->room = outer->room ? ask_owner : NULL;
  inner->done = tell_done;
  inner->user_data = deal;
  /* the protocol's data go with it, and come back with the answer */
  outer->protocol_data = NULL;
  outer->protocol_free = NULL;
  return inner;
}

void
hr_http_threads_submit (HrHttpThreads *threads, HrHttpRequest *request)
{
  Deal *deal = g_new0 (Deal, 1);

  deal->begun = hr_now ();
  deal->worker = choose (threads);
  deal->worker->n_deals++;
  deal->outer = request;
  deal->inner = make_inner (deal);
  g_hash_table_add (threads->deals, deal);
  g_hash_table_insert (threads->by_request, request, deal);
  tell_worker (deal->worker, SUBMIT, deal, 0);
}

void
hr_http_threads_cancel (HrHttpThreads *threads, HrHttpRequest *request)
{
  Deal *deal = g_hash_table_lookup (threads->by_request, request);

  g_hash_table_remove (threads->by_request, request);
  g_clear_pointer (&deal->outer, hr_http_request_free);
  tell_worker (deal->worker, CANCEL, deal, 0);
}

/* the transfer stands still: the owner's request has the answer so far, for as long as it is asked
 */
static HrHttpRoom
ask_room (Deal *deal)
{
  HrHttpRequest *outer = deal->outer, *inner = deal->inner;
  HrHttpRoom room;

  outer->response = inner->response;
  outer->body = inner->body;
  outer->received = inner->received;
  room = outer->room (outer, deal->wanted, &deal->refusal);
  inner->body = g_steal_pointer (&outer->body);
  if (!outer->known_etag)
    g_clear_pointer (&inner->known_etag, g_free);
  hr_http_response_init (&outer->response);
  return room;
}

static void
offer_room (Deal *deal)
{
  deal->paused = ask_room (deal) == HR_HTTP_PAUSE;
  tell_worker (deal->worker, deal->paused ? RELEASE : RESUME, deal, 0);
}

void
hr_http_threads_resume (HrHttpThreads *threads, HrHttpRequest *request)
{
  Deal *deal = g_hash_table_lookup (threads->by_request, request);

  if (deal->paused)
    offer_room (deal);
}

static void
drop_deal (HrHttpThreads *threads, Deal *deal)
{
  deal->worker->n_deals--;
  g_hash_table_remove (threads->deals, deal);
  deal_free (deal);
}

/* what belongs to the answer changes hands */
static void
finish (HrHttpThreads *threads, Message *message)
{
  Deal *deal = message->deal;
  HrHttpRequest *outer = g_steal_pointer (&deal->outer), *result = message->result, given = *outer;

  *outer = *result;
  outer->name = given.name;
  outer->room = given.room;
  outer->done = given.done;
  outer->user_data = given.user_data;
  outer->transfer = NULL;
  g_free (given.url);
  g_free ((char *)given.question.etag);
  g_free (given.known_etag);
  g_free (result->name);
  g_free (g_steal_pointer (&message->result));
  g_hash_table_remove (threads->by_request, outer);
  drop_deal (threads, deal);
  outer->done (outer, g_steal_pointer (&message->error));
  hr_http_request_free (outer);
}

static void
listen_to (HrHttpThreads *threads, Message *message)
{
  Deal *deal = message->deal;

  if (message->kind == GONE) {
    drop_deal (threads, deal);
  } else if (deal->outer && message->kind == ROOM) {
    deal->wanted = message->number;
    offer_room (deal);
  } else if (deal->outer) {
    finish (threads, message);
  }
}

gboolean
hr_http_threads_poll (HrHttpThreads *threads, int wake_fd, int timeout_ms,
                      GError **error G_GNUC_UNUSED)
{
  struct pollfd fds[] = { { .fd = threads->bell.fd, .events = POLLIN },
                          { .fd = wake_fd, .events = POLLIN } };
  Message *message;

  poll (fds, wake_fd >= 0 ? 2 : 1, timeout_ms);
  hr_bell_hush (&threads->bell);
  while ((message = take (&threads->box))) {
    listen_to (threads, message);
    message_free (message);
  }
  return TRUE;
}

guint
hr_http_threads_get_n_requests (HrHttpThreads *threads)
{
  return g_hash_table_size (threads->by_request);
}

const HrHttpCounts *
hr_http_threads_get_counts (HrHttpThreads *threads)
{
  HrHttpCounts *sum = &threads->counts;

  *sum = (HrHttpCounts){ 0 };
  for (guint i = 0; i < threads->n; i++) {
    Worker *worker = &threads->workers[i];

    hr_mutex_lock (&worker->box.lock);
    hr_http_counts_add (sum, &worker->counts);
    hr_mutex_unlock (&worker->box.lock);
  }
  return sum;
}

guint64
hr_http_threads_describe (HrHttpThreads *threads, GString *into)
{
  const HrHttpCounts *counts = hr_http_threads_get_counts (threads);
  guint n = hr_http_threads_get_n_requests (threads);
  const Deal *oldest = NULL;
  GHashTableIter iter;
  gpointer deal;

  g_hash_table_iter_init (&iter, threads->by_request);
  while (g_hash_table_iter_next (&iter, NULL, &deal))
    if (!oldest || ((Deal *)deal)->begun < oldest->begun)
      oldest = deal;
  if (oldest)
    g_string_append_printf (into, "waits for %u request%s on %u threads, the longest for %s", n,
                            n == 1 ? "" : "s", threads->n, oldest->outer->name);
  return counts->bytes + counts->tries;
}
