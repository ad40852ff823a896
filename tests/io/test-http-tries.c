/* test-http-tries.c: how often a server is asked, how many requests it gets at once, and what is
 * said when all was in vain */
#include "fake-server.h"
#include "hr-error.h"
#include "http.h"
#include <string.h>

#define MSEC G_GINT64_CONSTANT (1000000)

typedef struct {
  guint n_done;
  guint n_failed;
  char *message; /* of the last failure */
} Sum;

static void
note_end (HrHttpRequest *request, GError *error)
{
  Sum *sum = request->user_data;

  sum->n_done++;
  if (!error)
    return;
  sum->n_failed++;
  g_free (sum->message);
  sum->message = g_strdup (error->message);
  g_error_free (error);
}

static HrHttp *
new_client (guint max_transfers, guint max_tries)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;
  GError *error = NULL;
  HrHttp *http;

  options.max_transfers = max_transfers;
  options.max_tries = max_tries;
  options.retry = (HrRetryTimes){ MSEC, MSEC, 20 * MSEC };
  options.hedge = FALSE;
  http = hr_http_new (&options, &error);
  g_assert_no_error (error);
  return http;
}

static void
submit (HrHttp *http, FakeServer *server, guint n, Sum *sum)
{
  for (guint i = 0; i < n; i++) {
    g_autofree char *url = g_strdup_printf ("%s/%u", fake_server_get_url (server), i);
    HrHttpRequest *request = hr_http_request_new (url, url);

    request->done = note_end;
    request->user_data = sum;
    hr_http_submit (http, request);
  }
}

static void
finish (HrHttp *http, const Sum *sum, guint n)
{
  g_autoptr (GError) error = NULL;

  while (sum->n_done < n && hr_http_poll (http, -1, -1, &error))
    ;
  g_assert_no_error (error);
}

/* ---- words ---- */

static void
answer_differently (const FakeRequest *request, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  if (request->number == 0)
    reply->end = FAKE_RESET;
  fake_reply_error (reply, request->number == 1 ? 500 : 502, "Any");
  reply->cut = request->number == 0 ? 0 : FAKE_ALL;
}

/* the last cause comes first, the first one last */
static void
test_words (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer_differently, NULL);
  g_autoptr (HrHttp) http = new_client (1, 3);
  Sum sum = { 0 };

  submit (http, server, 1, &sum);
  finish (http, &sum, 1);
  g_assert_cmpuint (sum.n_failed, ==, 1);
  g_assert_true (g_pattern_match_simple (
      "http://*/0: HTTP 502 Bad Gateway (3 tries in *.* s; the first: *reset*)", sum.message));
  g_free (sum.message);
}

/* ---- the bucket ---- */

static void
answer_500 (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  fake_reply_error (reply, 500, "InternalError");
}

/* a server that only fails is not asked seven times more: two hundred requests are worth a hundred
 * further tries, and what time adds */
static void
test_bucket (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer_500, NULL);
  g_autoptr (HrHttp) http = new_client (16, 8);
  Sum sum = { 0 };
  guint n;

  submit (http, server, 200, &sum);
  finish (http, &sum, 200);
  n = fake_server_get_n_requests (server);
  g_assert_cmpuint (sum.n_failed, ==, 200);
  g_assert_cmpuint (n, >=, 300);
  g_assert_cmpuint (n, <, 600);
  g_assert_nonnull (strstr (sum.message, "no further try: too many requests to http://127.0.0.1:"));
  g_assert_nonnull (strstr (sum.message, "HTTP 500"));
  g_free (sum.message);
}

static void
answer_most (const FakeRequest *request, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  if (request->number % 5 == 0)
    fake_reply_error (reply, 500, "InternalError");
  else
    fake_reply_set_text (reply, "good");
}

/* success gives back what it had cost: one in five may fail for ever */
static void
test_refund (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer_most, NULL);
  g_autoptr (HrHttp) http = new_client (4, 100);
  Sum sum = { 0 };

  submit (http, server, 1000, &sum);
  finish (http, &sum, 1000);
  g_assert_cmpuint (sum.n_failed, ==, 0);
  g_assert_cmpuint (hr_http_get_counts (http)->retries, ==, 250);
}

/* ---- how many at once ---- */

typedef struct {
  guint storm_end; /* requests that are answered with 503 */
} Storm;

static void
answer_storm (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  Storm *storm = data;

  reply->delay = 1;
  if (request->number < storm->storm_end)
    fake_reply_error (reply, 503, "SlowDown");
  else
    fake_reply_set_text (reply, "good");
}

static void
test_storm (void)
{
  Storm storm = { 48 };
  g_autoptr (FakeServer) server = fake_server_new (answer_storm, &storm);
  g_autoptr (HrHttp) http = new_client (32, 100);
  const HrHttpCounts *counts = hr_http_get_counts (http);
  Sum sum = { 0 };
  guint64 least = G_MAXUINT64;

  submit (http, server, 2000, &sum);
  while (sum.n_done < 2000) {
    g_assert_true (hr_http_poll (http, -1, -1, NULL));
    if (counts->limit > 0)
      least = MIN (least, counts->limit);
  }
  g_assert_cmpuint (sum.n_failed, ==, 0);
  g_assert_cmpuint (counts->throttled, ==, 48);
  /* 32 at once are one message; what comes after it is another */
  g_assert_cmpuint (counts->halved, >=, 2);
  g_assert_cmpuint (counts->halved, <, 20);
  g_assert_cmpuint (least, <=, 8);
  /* 2000 answers later it has all of them again */
  g_assert_cmpuint (counts->limit, ==, 0);
  g_assert_cmpuint (counts->most_running, ==, 32);
  g_free (sum.message);
}

/* a second client of the same server has the limit that the first one was told */
static void
test_shared (void)
{
  Storm storm = { G_MAXUINT };
  g_autoptr (FakeServer) server = fake_server_new (answer_storm, &storm);
  g_autoptr (HrHttp) first = new_client (16, 3), second = new_client (16, 1);
  Sum sum = { 0 }, other = { 0 };

  submit (first, server, 16, &sum);
  finish (first, &sum, 16);
  g_assert_cmpuint (hr_http_get_counts (first)->limit, >, 0);
  g_assert_cmpuint (hr_http_get_counts (first)->limit, <=, 8);
  submit (second, server, 16, &other);
  finish (second, &other, 16);
  g_assert_cmpuint (hr_http_get_counts (second)->most_running, <=, 8);
  g_free (sum.message);
  g_free (other.message);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/http-tries/words", test_words);
  g_test_add_func ("/io/http-tries/bucket", test_bucket);
  g_test_add_func ("/io/http-tries/refund", test_refund);
  g_test_add_func ("/io/http-tries/storm", test_storm);
  g_test_add_func ("/io/http-tries/shared", test_shared);
  return g_test_run ();
}
