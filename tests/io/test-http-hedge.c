/* test-http-hedge.c: second requests for the slow tail: one body, whoever is first */
#include "fake-server.h"
#include "hr-error.h"
#include "http.h"
#include <string.h>

#define MSEC G_GINT64_CONSTANT (1000000)
#define SIZE 100000
#define ETAG "\"h1\""
#define WARM 100  /* quick answers, so that it knows what is late */
#define ROUNDS 20 /* on a busy machine not every one comes to what it is for */

/* more than a socket holds */
#define LARGE (16 * 1024 * 1024)

static guint8 object[SIZE];
static guint8 *large;

typedef enum {
  SILENT, /* no first byte */
  HALF,   /* the body stands still */
  SLOW,   /* all are late */
  BOTH,   /* both answers are there when somebody looks */
  OTHER   /* silent, and the second request gets another version */
} Fault;

typedef struct {
  Fault fault;
  guint n_late; /* times the late key was asked for */
  char *range;  /* of the second time */
  char *match;
  gboolean refused; /* the busy key, once */
} Script;

static void
script_clear (Script *script)
{
  g_clear_pointer (&script->range, g_free);
  g_clear_pointer (&script->match, g_free);
}

static void
answer (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  Script *script = data;
  gboolean second;

  fake_reply_object (reply, request, object, SIZE, ETAG);
  if (strcmp (request->target, "/busy") == 0 && !script->refused) {
    script->refused = TRUE;
    fake_reply_error (reply, 503, "SlowDown");
  }
  if (strncmp (request->target, "/late", 5) != 0)
    return;
  second = script->n_late++ > 0;
  if (script->fault == SLOW) {
    reply->delay = 500;
  } else if (script->fault == BOTH) {
    reply->delay = second ? 400 : 600;
    fake_reply_set_bytes (reply, large, LARGE);
  } else if (!second) {
    reply->delay = script->fault == HALF ? 0 : 20000;
    reply->cut = SIZE / 2;
    reply->end = FAKE_STALL;
  } else if (second) {
    script_clear (script);
    script->range = fake_request_get_header (request, "Range");
    script->match = fake_request_get_header (request, "If-Match");
    if (script->fault == OTHER)
      fake_reply_error (reply, 412, "PreconditionFailed");
  }
}

typedef struct {
  guint n_done;
  guint n_good;
  GError *error;
} Sum;

static void
note_end (HrHttpRequest *request, GError *error)
{
  Sum *sum = request->user_data;

  sum->n_done++;
  if (error) {
    g_clear_error (&sum->error);
    sum->error = error;
    return;
  }
  if (request->received == LARGE)
    g_assert_cmpmem (request->body->data, request->received, large, LARGE);
  else
    g_assert_cmpmem (request->body->data, request->received, object, SIZE);
  sum->n_good++;
}

static void
submit (HrHttp *http, FakeServer *server, const char *path, Sum *sum)
{
  g_autofree char *url = g_strconcat (fake_server_get_url (server), path, NULL);
  HrHttpRequest *request = hr_http_request_new (path, url);

  request->done = note_end;
  request->user_data = sum;
  hr_http_submit (http, request);
}

static void
finish (HrHttp *http, Sum *sum, guint n)
{
  while (sum->n_done < n)
    g_assert_true (hr_http_poll (http, -1, -1, NULL));
}

/* after WARM quick ones; on a busy machine they are not all quick, or good: we begin anew */
static HrHttp *
warm_up (const HrHttpOptions *options, FakeServer *server, Sum *sum)
{
  for (;;) {
    g_autoptr (GError) error = NULL;
    HrHttp *http = hr_http_new (options, &error);

    g_assert_no_error (error);
    *sum = (Sum){ 0 };
    for (guint i = 0; i < WARM; i++) {
      submit (http, server, "/quick", sum);
      finish (http, sum, i + 1);
    }
    if (hr_http_get_counts (http)->hedged == 0 && sum->n_good == WARM)
      return http;
    g_clear_error (&sum->error);
    hr_http_free (http);
  }
}

/* @n late ones after WARM quick ones */
static void
run (Script *script, const HrHttpOptions *options, guint n, Sum *sum, HrHttpCounts *counts)
{
  g_autoptr (FakeServer) server = fake_server_new (answer, script);
  g_autoptr (HrHttp) http = warm_up (options, server, sum);

  for (guint i = 0; i < n; i++)
    submit (http, server, "/late", sum);
  finish (http, sum, WARM + n);
  *counts = *hr_http_get_counts (http);
}

static HrHttpOptions
get_options (void)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;

  options.max_transfers = 8;
  options.max_tries = 2;
  options.retry = (HrRetryTimes){ MSEC, MSEC, MSEC };
  return options;
}

/* without a second request it would take 20 s, and end in a timeout */
static void
test_silent (void)
{
  Script script = { .fault = SILENT };
  HrHttpOptions options = get_options ();
  HrHttpCounts counts;
  Sum sum = { 0 };

  run (&script, &options, 1, &sum, &counts);
  g_assert_no_error (sum.error);
  g_assert_cmpuint (sum.n_good, ==, WARM + 1);
  g_assert_cmpuint (script.n_late, ==, 2);
  g_assert_null (script.range);
  g_assert_cmpuint (counts.hedged, ==, 1);
  g_assert_cmpuint (counts.hedge_won, ==, 1);
  g_assert_cmpuint (counts.retries, ==, 0);
  g_assert_cmpuint (counts.tries, ==, WARM + 2);
}

/* FALSE: the first answer was there before a second request was */
static gboolean
run_both (void)
{
  Script script = { .fault = BOTH };
  g_autoptr (FakeServer) server = fake_server_new (answer, &script);
  HrHttpOptions options = get_options ();
  Sum sum = { 0 };
  g_autoptr (HrHttp) http = warm_up (&options, server, &sum);
  guint n_before = fake_server_get_n_requests (server);

  submit (http, server, "/late", &sum);
  while (hr_http_get_counts (http)->hedged == 0 && sum.n_done == WARM)
    g_assert_true (hr_http_poll (http, -1, -1, NULL));
  while (fake_server_get_n_requests (server) < n_before + 2 && sum.n_done == WARM)
    g_assert_true (hr_http_poll (http, -1, 5, NULL)); /* until it has been sent */
  if (sum.n_done > WARM)
    return FALSE;
  g_usleep (900 * 1000);
  finish (http, &sum, WARM + 1);
  g_assert_no_error (sum.error);
  g_assert_cmpuint (sum.n_good, ==, WARM + 1);
  g_assert_cmpuint (hr_http_get_counts (http)->retries, ==, 0);
  return TRUE;
}

static void
test_both (void)
{
  gboolean both = FALSE;

  for (guint i = 0; i < ROUNDS && !both; i++)
    both = run_both ();
  g_assert_true (both);
}

/* only what is missing is asked for, of the same object; all, if the half was not there yet */
static void
test_half (void)
{
  HrHttpOptions options = get_options ();
  gboolean half = FALSE;

  options.progress_timeout = 2000 * MSEC; /* of one that was asked for all, and did not get it */
  for (guint i = 0; i < ROUNDS && !half; i++) {
    Script script = { .fault = HALF };
    HrHttpCounts counts;
    Sum sum = { 0 };

    run (&script, &options, 1, &sum, &counts);
    g_assert_no_error (sum.error);
    g_assert_cmpuint (sum.n_good, ==, WARM + 1);
    half = script.range && counts.hedge_won == 1;
    if (half) {
      g_assert_cmpstr (script.range, ==, "bytes=50000-99999");
      g_assert_cmpstr (script.match, ==, ETAG);
    }
    script_clear (&script);
  }
  g_assert_true (half);
}

/* a second request that fails changes nothing: the first ends as it would have ended */
static void
test_second_fails (void)
{
  Script script = { .fault = OTHER };
  HrHttpOptions options = get_options ();
  HrHttpCounts counts;
  Sum sum = { 0 };

  options.first_byte_timeout = 2000 * MSEC;
  options.max_tries = 1;
  run (&script, &options, 1, &sum, &counts);
  g_assert_error (sum.error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT);
  g_assert_cmpuint (sum.n_good, ==, WARM);
  g_assert_cmpuint (counts.hedged, ==, 1);
  g_assert_cmpuint (counts.hedge_won, ==, 0);
  g_error_free (sum.error);
  script_clear (&script);
}

static void
test_off (void)
{
  Script script = { .fault = SLOW };
  HrHttpOptions options = get_options ();
  HrHttpCounts counts;
  Sum sum = { 0 };

  options.hedge = FALSE;
  run (&script, &options, 8, &sum, &counts);
  g_assert_cmpuint (sum.n_good, ==, WARM + 8);
  g_assert_cmpuint (script.n_late, ==, 8);
  g_assert_cmpuint (counts.hedged, ==, 0);
}

/* where all are late, one in twenty gets a second one */
static void
test_budget (void)
{
  Script script = { .fault = SLOW };
  HrHttpOptions options = get_options ();
  HrHttpCounts counts;
  Sum sum = { 0 };

  options.max_transfers = 64;
  run (&script, &options, 30, &sum, &counts);
  g_assert_cmpuint (sum.n_good, ==, WARM + 30);
  g_assert_cmpuint (counts.hedged, >, 0);
  g_assert_cmpuint (counts.hedged * 20, <=, counts.tries);
  /* one that came to nothing may not have been sent */
  g_assert_cmpuint (script.n_late, >=, 30);
  g_assert_cmpuint (script.n_late, <=, 30 + counts.hedged);
}

/* a server that has asked for less is not asked twice; it asks a client that does not hedge, and so
 * drops no refusal */
static void
test_throttled (void)
{
  Script script = { .fault = SLOW };
  g_autoptr (FakeServer) server = fake_server_new (answer, &script);
  HrHttpOptions options = get_options ();
  Sum sum = { 0 };
  g_autoptr (HrHttp) http = warm_up (&options, server, &sum), plain = NULL;

  options.hedge = FALSE;
  plain = hr_http_new (&options, NULL);
  for (guint i = 0; i < 8; i++)
    submit (plain, server, i == 0 ? "/busy" : "/quick", &sum);
  finish (plain, &sum, WARM + 8);
  g_assert_cmpuint (hr_http_get_counts (plain)->limit, >, 0);
  g_assert_cmpuint (hr_http_get_counts (plain)->throttled, ==, 1);
  for (guint i = 0; i < 4; i++)
    submit (http, server, "/late", &sum);
  finish (http, &sum, WARM + 12);
  g_assert_cmpuint (sum.n_good, ==, WARM + 12);
  g_assert_cmpuint (hr_http_get_counts (http)->hedged, ==, 0);
}

/* freed and cancelled with two under way */
static void
test_cancel (void)
{
  for (gboolean cancel = FALSE; cancel <= TRUE; cancel++) {
    Script script = { .fault = OTHER };
    g_autoptr (FakeServer) server = fake_server_new (answer, &script);
    HrHttpOptions options = get_options ();
    g_autoptr (HrHttp) http = hr_http_new (&options, NULL);
    g_autofree char *url = g_strconcat (fake_server_get_url (server), "/late", NULL);
    HrHttpRequest *request = hr_http_request_new ("late", url);
    Sum sum = { 0 };

    for (guint i = 0; i < WARM; i++) {
      submit (http, server, "/quick", &sum);
      finish (http, &sum, i + 1);
    }
    request->done = note_end;
    request->user_data = &sum;
    hr_http_submit (http, request);
    while (hr_http_get_counts (http)->hedged == 0)
      g_assert_true (hr_http_poll (http, -1, 10, NULL));
    if (cancel)
      hr_http_cancel (http, request);
    g_clear_pointer (&http, hr_http_free);
    g_clear_pointer (&server, fake_server_free);
    g_assert_cmpuint (sum.n_done, ==, WARM);
    script_clear (&script);
  }
}

int
main (int argc, char **argv)
{
  for (guint i = 0; i < SIZE; i++)
    object[i] = i * 7 + i / 251;
  large = g_malloc (LARGE);
  for (guint i = 0; i < LARGE; i++)
    large[i] = i * 7 + i / 251;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/http-hedge/silent", test_silent);
  g_test_add_func ("/io/http-hedge/both", test_both);
  g_test_add_func ("/io/http-hedge/half", test_half);
  g_test_add_func ("/io/http-hedge/second-fails", test_second_fails);
  g_test_add_func ("/io/http-hedge/off", test_off);
  g_test_add_func ("/io/http-hedge/budget", test_budget);
  g_test_add_func ("/io/http-hedge/throttled", test_throttled);
  g_test_add_func ("/io/http-hedge/cancel", test_cancel);
  return g_test_run ();
}
