/* test-http-threads.c: transfers dealt to threads: the same answers, and callbacks where they
 * belong */
#include "fake-server.h"
#include "hr-error.h"
#include "http-wait.h"
#include "hr-sync.h"
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MSEC G_GINT64_CONSTANT (1000000)
#define SIZE 50000

static guint8 object[SIZE];

static HrHttp *
new_client (guint io_threads, guint max_transfers)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;
  GError *error = NULL;
  HrHttp *http;

  options.io_threads = io_threads;
  options.max_transfers = max_transfers;
  options.max_tries = 4;
  options.hedge = FALSE;
  options.retry = (HrRetryTimes){ MSEC, MSEC, 20 * MSEC };
  http = hr_http_new (&options, &error);
  g_assert_no_error (error);
  return http;
}

typedef struct {
  GThread *owner;
  guint n_done, n_failed, n_rooms, n_prepared, n_away;
  HrMutex lock;
} Sum;

typedef struct {
  Sum *sum;
  guint size; /* of the object */
  guint n_paused;
} Want;

static void
answer (const FakeRequest *request, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  guint number = g_ascii_strtoull (request->target + 1, NULL, 10);

  reply->delay = 1;
  if (number % 50 == 49) {
    fake_reply_error (reply, 404, "NoSuchKey");
    return;
  }
  fake_reply_object (reply, request, object, 100 + number * 37 % (SIZE - 100), "\"t\"");
  if (number % 7 == 3 && request->first < 0) { /* the rest is asked for */
    reply->cut = 50;
    reply->end = FAKE_CLOSE;
  }
}

static gboolean
prepare (HrHttpRequest *request, GPtrArray *headers, GError **error G_GNUC_UNUSED)
{
  Sum *sum = request->protocol_data;

  g_ptr_array_add (headers, g_strdup ("X-Test: 1"));
  hr_mutex_lock (&sum->lock);
  sum->n_prepared++;
  sum->n_away += g_thread_self () != sum->owner;
  hr_mutex_unlock (&sum->lock);
  return TRUE;
}

static HrHttpRoom
make_room (HrHttpRequest *request, gsize bytes, GError **error)
{
  Want *want = request->user_data;

  g_assert_true (g_thread_self () == want->sum->owner);
  want->sum->n_rooms++;
  if (want->n_paused == 0 && want->size % 3 == 0) {
    want->n_paused++;
    return HR_HTTP_PAUSE;
  }
  if (want->size % 11 == 0) {
    g_set_error (error, HR_DATA_ERROR, HR_DATA_ERROR_OTHER, "no room");
    return HR_HTTP_REFUSE;
  }
  g_assert_cmpint (request->response.content_length, ==, bytes - request->received);
  request->body = hr_memory_new (bytes);
  return HR_HTTP_READY;
}

static void
note_done (HrHttpRequest *request, GError *error)
{
  Want *want = request->user_data;

  g_assert_true (g_thread_self () == want->sum->owner);
  want->sum->n_done++;
  if (error) {
    want->sum->n_failed++;
    g_assert_true (g_str_has_prefix (error->message, "request "));
    g_error_free (error);
  } else {
    g_assert_cmpmem (request->body->data, request->received, object, want->size);
    g_assert_cmpstr (request->response.etag, ==, "\"t\"");
    g_assert_nonnull (request->protocol_data);
  }
  request->user_data = NULL;
}

/* @cancel: each that many, at once or a little later */
static void
run (guint io_threads, guint max_transfers, guint n, gboolean with_room, guint cancel)
{
  g_autoptr (FakeServer) server = fake_server_new (answer, NULL);
  g_autoptr (HrHttp) http = new_client (io_threads, max_transfers);
  Sum sum = { .owner = g_thread_self () };
  g_autofree Want *wants = g_new0 (Want, n);
  g_autofree HrHttpRequest **requests = g_new0 (HrHttpRequest *, n);
  guint n_cancelled = 0;

  hr_mutex_init (&sum.lock);
  for (guint i = 0; i < n; i++) {
    g_autofree char *url = g_strdup_printf ("%s/%u", fake_server_get_url (server), i),
                    *name = g_strdup_printf ("request %u", i);
    HrHttpRequest *request = requests[i] = hr_http_request_new (name, url);

    wants[i] = (Want){ &sum, 100 + i * 37 % (SIZE - 100), 0 };
    request->known_etag = i % 2 ? g_strdup ("\"an older one\"") : NULL;
    request->prepare = prepare;
    request->room = with_room ? make_room : NULL;
    request->done = note_done;
    request->protocol_data = &sum;
    request->user_data = &wants[i];
    hr_http_submit (http, request);
    if (cancel && i % cancel == 0) {
      hr_http_poll (http, -1, i % 3, NULL);
      if (request->user_data == &wants[i]) {
        hr_http_cancel (http, request);
        n_cancelled++;
      }
      requests[i] = NULL;
    }
  }
  if (!cancel) {
    g_autoptr (GString) words = g_string_new (NULL);

    hr_http_describe (http, words);
    g_assert_true (g_str_has_prefix (words->str, "waits for "));
  }
  while (sum.n_done + n_cancelled < n) {
    g_assert_true (hr_http_poll (http, -1, 20, NULL));
    for (guint i = 0; i < n; i++)
      if (wants[i].n_paused == 1 && requests[i]) {
        wants[i].n_paused++;
        hr_http_resume (http, requests[i]);
      }
  }
  g_assert_cmpuint (hr_http_get_n_requests (http), ==, 0);
  if (!cancel) {
    g_assert_cmpuint (sum.n_done, ==, n);
    g_assert_cmpuint (sum.n_failed, >=, n / 50);
    g_assert_cmpuint (sum.n_prepared, ==, hr_http_get_counts (http)->tries);
    if (!with_room) { /* one that was paused goes on at once */
      g_assert_cmpuint (hr_http_get_counts (http)->most_running, <=, max_transfers);
      g_assert_cmpuint (fake_server_get_most_at_once (server), <=, max_transfers);
    }
    g_assert_cmpuint (sum.n_away, ==, io_threads > 1 ? sum.n_prepared : 0);
  }
  g_clear_pointer (&http, hr_http_free);
  hr_mutex_clear (&sum.lock);
}

static void
test_same (void)
{
  static const guint threads[] = { 1, 2, 3, 8 };

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    run (threads[i], 16, 150, FALSE, 0);
}

static void
test_room (void)
{
  run (1, 16, 150, TRUE, 0);
  run (3, 16, 150, TRUE, 0);
}

/* fewer at once than threads: the limit holds */
static void
test_few (void)
{
  run (4, 1, 30, FALSE, 0);
  run (4, 3, 60, TRUE, 0);
}

static void
test_cancel (void)
{
  run (3, 16, 150, FALSE, 4);
}

/* freed with everything under way */
static void
test_free (void)
{
  for (guint round = 0; round < 5; round++) {
    g_autoptr (FakeServer) server = fake_server_new (answer, NULL);
    g_autoptr (HrHttp) http = new_client (3, 16);
    Sum sum = { .owner = g_thread_self () };
    Want want = { &sum, 100, 0 };

    hr_mutex_init (&sum.lock);
    for (guint i = 0; i < 100; i++) {
      HrHttpRequest *request = hr_http_request_new ("request x", fake_server_get_url (server));

      request->done = note_done;
      request->prepare = prepare;
      request->protocol_data = &sum;
      request->user_data = &want;
      g_free (request->url);
      request->url = g_strconcat (fake_server_get_url (server), "/0", NULL);
      hr_http_submit (http, request);
    }
    for (guint i = 0; i < round; i++)
      g_assert_true (hr_http_poll (http, -1, 2, NULL));
    g_clear_pointer (&http, hr_http_free);
    hr_mutex_clear (&sum.lock);
  }
}

/* ---- the end between a look and a wait ---- */

static gint hushing, leaving;

/* Instead of the C library's, which bells are made of: a thread that listens to its bell gets
 * there when that has rung for the end. Without the pause it may get there before, which shows
 * nothing, but is no fault. */
ssize_t
read (int fd, void *into, size_t size)
{
  if (size == sizeof (guint64) && g_atomic_int_get (&hushing) > 0) {
    g_atomic_int_inc (&hushing);
    while (!g_atomic_int_get (&leaving))
      g_usleep (100);
    g_usleep (50000);
  }
  return syscall (SYS_read, fd, into, size);
}

/* that ring is forgotten with those before: who is told to leave just then must see it */
static void
test_leave_while_hushing (void)
{
  HrHttp *http;

  g_atomic_int_set (&hushing, 1);
  http = new_client (2, 2);
  while (g_atomic_int_get (&hushing) < 3) /* both have looked, and found that they are to stay */
    g_usleep (100);
  g_atomic_int_set (&leaving, 1);
  hr_http_free (http);
  g_atomic_int_set (&hushing, 0);
}

int
main (int argc, char **argv)
{
  for (guint i = 0; i < SIZE; i++)
    object[i] = i * 7 + i / 251;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/http-threads/same", test_same);
  g_test_add_func ("/io/http-threads/room", test_room);
  g_test_add_func ("/io/http-threads/few", test_few);
  g_test_add_func ("/io/http-threads/cancel", test_cancel);
  g_test_add_func ("/io/http-threads/free", test_free);
  g_test_add_func ("/io/http-threads/leave-while-hushing", test_leave_while_hushing);
  return g_test_run ();
}
