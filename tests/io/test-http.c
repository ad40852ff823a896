/* test-http.c: the HTTP client against a server that does what servers do */
#include "fake-server.h"
#include "hr-error.h"
#include "http-wait.h"
#include <string.h>
#include <unistd.h>

#define SIZE 150000
#define ETAG "\"e1\""
#define MSEC G_GINT64_CONSTANT (1000000)

static guint8 object[SIZE];

/* quick ones: what is waited for is what the test is about */
static HrHttpOptions
get_options (void)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;

  options.max_tries = 4;
  options.retry = (HrRetryTimes){ MSEC, 2 * MSEC, 5 * MSEC };
  return options;
}

static HrHttp *
new_client (const HrHttpOptions *options)
{
  GError *error = NULL;
  HrHttp *http = hr_http_new (options, &error);

  g_assert_no_error (error);
  return http;
}

typedef struct {
  const char *fault; /* how the first answers are wrong */
  guint times;       /* how many of them */
  char *seen;        /* the ranges, in order */
} Script;

static void
note_range (Script *script, const FakeRequest *request)
{
  char *old = script->seen;

  if (request->first >= 0)
    script->seen = g_strdup_printf ("%s%s%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT, old ? old : "",
                                    old ? " " : "", request->first, request->last);
  else
    script->seen = g_strconcat (old ? old : "", old ? " " : "", "all", NULL);
  g_free (old);
}

static void
spoil (FakeReply *reply, const char *fault)
{
  if (strcmp (fault, "short") == 0) {
    reply->cut = 50000;
    reply->end = FAKE_CLOSE;
  } else if (strcmp (fault, "reset") == 0) {
    reply->cut = 50000;
    reply->end = FAKE_RESET;
  } else if (strcmp (fault, "stall") == 0) {
    reply->cut = 50000;
    reply->end = FAKE_STALL;
  } else if (strcmp (fault, "silent") == 0) {
    reply->delay = 10000;
  } else if (strcmp (fault, "short-chunked") == 0) {
    reply->chunked = TRUE;
    reply->cut = 50000;
    reply->end = FAKE_CLOSE;
  } else if (strcmp (fault, "no-length") == 0) {
    reply->no_length = TRUE;
  } else if (strcmp (fault, "two-lengths") == 0) {
    fake_reply_add_header (reply, "Content-Length", "149000");
  } else if (strcmp (fault, "long-length") == 0) { /* promises more than there is */
    reply->length = reply->size + 10;
    reply->end = FAKE_CLOSE;
  } else if (strcmp (fault, "range-ignored") == 0) {
    g_clear_pointer (&reply->headers, g_free);
    reply->status = 200;
    fake_reply_add_header (reply, "ETag", ETAG);
    fake_reply_set_bytes (reply, object, SIZE);
  } else if (strcmp (fault, "wrong-range") == 0) {
    g_clear_pointer (&reply->headers, g_free);
    fake_reply_add_header (reply, "ETag", ETAG);
    fake_reply_add_header (reply, "Content-Range", "bytes 0-999/150000");
    fake_reply_set_bytes (reply, object, 1000);
  } else if (strcmp (fault, "range-cut") == 0) { /* less than was asked for, and no length */
    g_clear_pointer (&reply->headers, g_free);
    fake_reply_add_header (reply, "ETag", ETAG);
    fake_reply_add_header (reply, "Content-Range", "bytes 1000-1899/150000");
    fake_reply_set_bytes (reply, object + 1000, 900);
    reply->chunked = TRUE;
  } else if (strcmp (fault, "replaced") == 0) {
    char *tag = strstr (reply->headers, ETAG);

    memcpy (tag, "\"e2\"", 4);
  } else if (strcmp (fault, "gzip") == 0) {
    fake_reply_add_header (reply, "Content-Encoding", "gzip");
  } else {
    g_free (reply->headers);
    reply->headers = NULL;
    fake_reply_error (reply, g_ascii_strtoull (fault, NULL, 10), "Any");
  }
}

static void
answer_script (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  Script *script = data;

  note_range (script, request);
  fake_reply_object (reply, request, object, SIZE, ETAG);
  if (request->number < script->times)
    spoil (reply, script->fault);
}

typedef struct {
  GError *error;
  HrMemory *body;
  gsize received;
  guint tries;
  guint status;
  guint n_done;
} Result;

static void
result_clear (Result *result)
{
  g_clear_error (&result->error);
  g_clear_pointer (&result->body, hr_memory_unref);
}

static void
note_result (HrHttpRequest *request, GError *error)
{
  Result *result = request->user_data;

  result->error = error;
  result->body = g_steal_pointer (&request->body);
  result->received = request->received;
  result->tries = request->tries;
  result->status = request->response.status;
  result->n_done++;
}

static HrHttpRequest *
new_request (FakeServer *server, const char *path, Result *result)
{
  g_autofree char *url = g_strconcat (fake_server_get_url (server), path, NULL);
  HrHttpRequest *request = hr_http_request_new (path, url);

  request->done = note_result;
  request->user_data = result;
  return request;
}

static void
poll_until (HrHttp *http, const guint *n_done, guint wanted)
{
  g_autoptr (GError) error = NULL;

  while (*n_done < wanted && hr_http_poll (http, -1, -1, &error))
    ;
  g_assert_no_error (error);
}

/* one fault, @times in a row; gets the bytes from @first to @last, or all */
static void
run_script (const HrHttpOptions *options, const char *fault, guint times, gint64 first, gint64 last,
            Result *result, char **seen)
{
  Script script = { fault, times, NULL };
  g_autoptr (FakeServer) server = fake_server_new (answer_script, &script);
  g_autoptr (HrHttp) http = new_client (options);
  HrHttpRequest *request = new_request (server, "/o", result);

  if (first >= 0)
    hr_http_request_set_range (request, first, last);
  hr_http_submit (http, request);
  poll_until (http, &result->n_done, 1);
  g_assert_cmpuint (hr_http_get_n_requests (http), ==, 0);
  g_clear_pointer (&http, hr_http_free);
  g_clear_pointer (&server, fake_server_free);
  if (seen)
    *seen = script.seen;
  else
    g_free (script.seen);
}

static void
check_body (const Result *result, gint64 first, gint64 last)
{
  g_assert_no_error (result->error);
  g_assert_cmpuint (result->received, ==, last - first + 1);
  g_assert_cmpmem (result->body->data, result->received, object + first, last - first + 1);
}

/* ---- good ones ---- */

static void
test_get (void)
{
  HrHttpOptions options = get_options ();
  Result result = { 0 };

  run_script (&options, "", 0, -1, -1, &result, NULL);
  check_body (&result, 0, SIZE - 1);
  g_assert_cmpuint (result.tries, ==, 1);
  result_clear (&result);
}

static void
test_range (void)
{
  HrHttpOptions options = get_options ();
  Result result = { 0 };

  run_script (&options, "", 0, 1000, 1999, &result, NULL);
  check_body (&result, 1000, 1999);
  result_clear (&result);
  /* past the end: what there is */
  result = (Result){ 0 };
  run_script (&options, "", 0, SIZE - 10, SIZE + 10, &result, NULL);
  check_body (&result, SIZE - 10, SIZE - 1);
  result_clear (&result);
}

/* a range with status 200, as some servers give it */
static void
answer_200 (const FakeRequest *request, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  fake_reply_object (reply, request, object, SIZE, ETAG);
  reply->status = 200;
  if (request->number == 0) {
    reply->cut = 500;
    reply->end = FAKE_CLOSE;
  }
}

static void
test_range_200 (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer_200, NULL);
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = new_client (&options);
  Result result = { 0 };
  HrHttpRequest *request = new_request (server, "/o", &result);

  hr_http_request_set_range (request, 1000, 1999);
  hr_http_request_set_identity (request, ETAG, SIZE);
  hr_http_submit (http, request);
  poll_until (http, &result.n_done, 1);
  check_body (&result, 1000, 1999);
  g_assert_cmpuint (result.tries, ==, 2);
  result_clear (&result);
}

static void
answer_head (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  g_assert_cmpstr (request->method, ==, data);
  fake_reply_object (reply, request, object, SIZE, ETAG);
}

static void
test_head (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer_head, "HEAD");
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = new_client (&options);
  g_autoptr (GError) error = NULL;
  g_auto (HrHttpAnswer) answer = { 0 };
  HrHttpRequest *request = new_request (server, "/o", NULL);

  request->head = TRUE;
  g_assert_true (hr_http_wait (http, request, -1, &answer, &error));
  g_assert_no_error (error);
  g_assert_cmpint (answer.size, ==, SIZE);
  g_assert_cmpstr (answer.etag, ==, ETAG);
  g_assert_null (answer.body);
}

/* ---- faults that pass ---- */

typedef struct {
  const char *fault;
  guint times;
  gint64 first, last; /* -1: all */
  guint tries;
  const char *ranges;
} Passing;

static void
test_passing (void)
{
  static const Passing faults[] = {
    /* the rest is asked for, not the whole again */
    { "short", 2, -1, -1, 3, "all 50000-149999 100000-149999" },
    { "short", 1, 1000, 120000, 2, "1000-120000 51000-120000" },
    { "reset", 1, -1, -1, 2, NULL },
    { "stall", 1, -1, -1, 2, "all 50000-149999" },
    { "silent", 1, -1, -1, 2, "all all" },
    { "short-chunked", 1, -1, -1, 2, NULL },
    { "no-length", 1, -1, -1, 2, "all all" },
    { "two-lengths", 1, -1, -1, 2, "all all" },
    { "long-length", 1, -1, -1, 3, "all 150000-150009 all" },
    { "range-ignored", 1, 1000, 1999, 2, "1000-1999 1000-1999" },
    { "wrong-range", 1, 1000, 1999, 2, "1000-1999 1000-1999" },
    { "range-cut", 1, 1000, 1999, 2, "1000-1999 1000-1999" },
    { "500", 3, -1, -1, 4, "all all all all" },
    { "503", 1, 5, 9, 2, "5-9 5-9" },
    { "429", 1, -1, -1, 2, "all all" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    const Passing *fault = &faults[i];
    HrHttpOptions options = get_options ();
    g_autofree char *seen = NULL;
    Result result = { 0 };

    g_test_message ("%s", fault->fault);
    /* only those that need one, and longer than a good answer takes on a busy machine */
    if (strcmp (fault->fault, "stall") == 0)
      options.progress_timeout = 2000 * MSEC;
    if (strcmp (fault->fault, "silent") == 0)
      options.first_byte_timeout = 2000 * MSEC;
    run_script (&options, fault->fault, fault->times, fault->first, fault->last, &result, &seen);
    check_body (&result, MAX (fault->first, 0), fault->first < 0 ? SIZE - 1 : fault->last);
    g_assert_cmpuint (result.tries, ==, fault->tries);
    if (fault->ranges)
      g_assert_cmpstr (seen, ==, fault->ranges);
    result_clear (&result);
  }
}

/* ---- faults that do not ---- */

typedef struct {
  const char *fault;
  gint64 first, last;
  guint tries;
  int code;
  const char *words;
} Lasting;

static void
test_lasting (void)
{
  static const Lasting faults[] = {
    { "503", -1, -1, 4, HR_RESOURCE_ERROR_READ, "/o: HTTP 503 Service Unavailable (4 tries in " },
    { "500", -1, -1, 4, HR_RESOURCE_ERROR_READ, "HTTP 500" },
    { "404", -1, -1, 1, HR_RESOURCE_ERROR_NOT_FOUND, "/o: HTTP 404 Not Found" },
    { "403", -1, -1, 1, HR_RESOURCE_ERROR_FORBIDDEN, "HTTP 403 Forbidden" },
    { "412", -1, -1, 1, HR_RESOURCE_ERROR_CHANGED, "HTTP 412" },
    { "301", -1, -1, 1, HR_RESOURCE_ERROR_READ, "HTTP 301" },
    { "gzip", -1, -1, 1, HR_RESOURCE_ERROR_FAILED, "Content-Encoding: gzip" },
    { "range-ignored", 1000, 1999, 4, HR_RESOURCE_ERROR_READ, "ignored the range 1000-1999" },
    { "wrong-range", 1000, 1999, 4, HR_RESOURCE_ERROR_READ, "the server gave 0-999 of 150000" },
    { "two-lengths", -1, -1, 4, HR_RESOURCE_ERROR_READ, "two Content-Lengths" },
    { "no-length", -1, -1, 4, HR_RESOURCE_ERROR_READ, "does not tell its length" },
    { "stall", 0, 140000, 2, HR_RESOURCE_ERROR_TIMEOUT, "no progress within 0.1 s (2 tries in " },
    { "silent", -1, -1, 4, HR_RESOURCE_ERROR_TIMEOUT, "no answer within 0.1 s (4 tries in " },
  };

  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    const Lasting *fault = &faults[i];
    HrHttpOptions options = get_options ();
    Result result = { 0 };

    g_test_message ("%s", fault->fault);
    /* the one that is told of: no good answer is there to be late */
    if (strcmp (fault->fault, "stall") == 0)
      options.progress_timeout = 100 * MSEC;
    if (strcmp (fault->fault, "silent") == 0)
      options.first_byte_timeout = 100 * MSEC;
    /* each try of it brings some more: two are not enough */
    options.max_tries = strcmp (fault->fault, "stall") == 0 ? 2 : 4;
    run_script (&options, fault->fault, G_MAXUINT, fault->first, fault->last, &result, NULL);
    g_assert_error (result.error, HR_RESOURCE_ERROR, fault->code);
    g_assert_cmpuint (result.tries, ==, fault->tries);
    g_assert_nonnull (strstr (result.error->message, fault->words));
    result_clear (&result);
  }
}

/* the object is another one when the rest is asked for */
static void
answer_replaced (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  gboolean honours = GPOINTER_TO_INT (data);
  g_autofree char *match = fake_request_get_header (request, "If-Match");

  if (request->number == 0) {
    fake_reply_object (reply, request, object, SIZE, ETAG);
    reply->cut = 50000;
    reply->end = FAKE_CLOSE;
    return;
  }
  g_assert_cmpstr (match, ==, ETAG);
  if (honours)
    fake_reply_error (reply, 412, "PreconditionFailed");
  else
    fake_reply_object (reply, request, object, SIZE, "\"e2\"");
}

static void
test_replaced (void)
{
  for (int honours = 0; honours < 2; honours++) {
    g_autoptr (FakeServer) server = fake_server_new (answer_replaced, GINT_TO_POINTER (honours));
    HrHttpOptions options = get_options ();
    g_autoptr (HrHttp) http = new_client (&options);
    Result result = { 0 };

    hr_http_submit (http, new_request (server, "/o", &result));
    poll_until (http, &result.n_done, 1);
    g_assert_error (result.error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED);
    g_assert_cmpuint (result.tries, ==, 2);
    result_clear (&result);
  }
}

/* another size: of the same object the answer is wrong, which may pass; without ETags it is another
 * object */
static void
test_identity (void)
{
  static const struct {
    const char *etag;
    int code;
    guint tries;
    const char *message;
  } rows[] = { { ETAG, HR_RESOURCE_ERROR_READ, 4,
                 "had 149999 bytes and has 150000 under the same ETag" },
               { NULL, HR_RESOURCE_ERROR_CHANGED, 1, "had 149999 bytes and has 150000" } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    Script script = { "", 0, NULL };
    g_autoptr (FakeServer) server = fake_server_new (answer_script, &script);
    HrHttpOptions options = get_options ();
    g_autoptr (HrHttp) http = new_client (&options);
    Result result = { 0 };
    HrHttpRequest *request = new_request (server, "/o", &result);

    hr_http_request_set_identity (request, rows[i].etag, SIZE - 1);
    hr_http_submit (http, request);
    poll_until (http, &result.n_done, 1);
    g_assert_error (result.error, HR_RESOURCE_ERROR, rows[i].code);
    g_assert_nonnull (strstr (result.error->message, rows[i].message));
    g_assert_cmpuint (result.tries, ==, rows[i].tries);
    result_clear (&result);
    g_clear_pointer (&server, fake_server_free);
    g_free (script.seen);
  }
}

static void
test_no_server (void)
{
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = new_client (&options);
  g_autoptr (GError) error = NULL;
  g_auto (HrHttpAnswer) answer = { 0 };

  g_assert_false (
      hr_http_wait (http, hr_http_request_new ("/o", "http://127.0.0.1:9/o"), -1, &answer, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT);
  g_assert_nonnull (strstr (error->message, "(4 tries in "));
  g_assert_cmpuint (answer.status, ==, 0);
}

static void
test_too_large (void)
{
  for (guint limit = SIZE - 1; limit <= SIZE; limit++) {
    Script script = { "", 0, NULL };
    g_autoptr (FakeServer) server = fake_server_new (answer_script, &script);
    HrHttpOptions options = get_options ();
    g_autoptr (HrHttp) http = new_client (&options);
    Result result = { 0 };
    HrHttpRequest *request = new_request (server, "/o", &result);

    request->max_bytes = limit;
    hr_http_submit (http, request);
    poll_until (http, &result.n_done, 1);
    g_assert_cmpint (result.error != NULL, ==, limit < SIZE);
    if (result.error) {
      g_assert_cmpuint (result.tries, ==, 1);
      g_assert_cmpuint (result.received, ==, 0);
    }
    result_clear (&result);
    g_clear_pointer (&server, fake_server_free);
    g_free (script.seen);
  }
}

/* ---- many at once ---- */

static void
answer_number (const FakeRequest *request, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  fake_reply_set_text (reply, request->target);
  reply->delay = 3;
}

static void
test_many (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer_number, NULL);
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = NULL;
  Result results[200] = { 0 };
  guint done = 0;

  options.max_transfers = 8;
  http = new_client (&options);
  for (guint i = 0; i < G_N_ELEMENTS (results); i++) {
    g_autofree char *path = g_strdup_printf ("/%u", i);

    hr_http_submit (http, new_request (server, path, &results[i]));
  }
  while (done < G_N_ELEMENTS (results)) {
    g_assert_true (hr_http_poll (http, -1, -1, NULL));
    done = 0;
    for (guint i = 0; i < G_N_ELEMENTS (results); i++)
      done += results[i].n_done;
  }
  for (guint i = 0; i < G_N_ELEMENTS (results); i++) {
    g_autofree char *path = g_strdup_printf ("/%u", i);

    g_assert_no_error (results[i].error);
    g_assert_cmpuint (results[i].n_done, ==, 1);
    g_assert_cmpmem (results[i].body->data, results[i].received, path, strlen (path));
    result_clear (&results[i]);
  }
  g_assert_cmpuint (hr_http_get_counts (http)->most_running, ==, 8);
  g_assert_cmpuint (fake_server_get_most_at_once (server), <=, 8);
  /* connections are used again */
  g_assert_cmpuint (fake_server_get_n_connections (server), <=, 8);
}

/* one at a time: the lowest number first, whenever it was submitted */
static void
test_priority (void)
{
  g_autoptr (FakeServer) server = NULL;
  Script script = { "", 0, NULL };
  static const gint64 order[] = { 5, 3, 9, 1, 7 };
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = NULL;
  Result results[G_N_ELEMENTS (order)] = { 0 };
  guint done = 0;

  server = fake_server_new (answer_script, &script);
  options.max_transfers = 1;
  http = new_client (&options);
  for (guint i = 0; i < G_N_ELEMENTS (order); i++) {
    HrHttpRequest *request = new_request (server, "/o", &results[i]);

    hr_http_request_set_range (request, order[i], order[i]);
    request->priority = order[i];
    hr_http_submit (http, request);
  }
  while (done < G_N_ELEMENTS (order)) {
    g_assert_true (hr_http_poll (http, -1, -1, NULL));
    done = 0;
    for (guint i = 0; i < G_N_ELEMENTS (order); i++)
      done += results[i].n_done;
  }
  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    result_clear (&results[i]);
  g_clear_pointer (&server, fake_server_free);
  g_assert_cmpstr (script.seen, ==, "1-1 3-3 5-5 7-7 9-9");
  g_free (script.seen);
}

/* ---- pause, resume, cancel, stop ---- */

typedef struct {
  Result result; /* first: note_result() finds it */
  guint n_asked;
  gboolean open;
  gsize bytes;
} Gate;

static HrHttpRoom
ask_gate (HrHttpRequest *request, gsize bytes, GError **error)
{
  Gate *gate = request->user_data;

  gate->n_asked++;
  gate->bytes = bytes;
  if (gate->bytes > 1000000) {
    g_set_error (error, HR_DATA_ERROR, HR_DATA_ERROR_OTHER, "no");
    return HR_HTTP_REFUSE;
  }
  if (!gate->open)
    return HR_HTTP_PAUSE;
  request->body = hr_memory_new (bytes);
  return HR_HTTP_READY;
}

static void
test_pause (void)
{
  Script script = { "", 0, NULL };
  g_autoptr (FakeServer) server = fake_server_new (answer_script, &script);
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = NULL;
  Gate gate = { 0 };
  Result other = { 0 };
  HrHttpRequest *request = new_request (server, "/o", &gate.result);

  /* a paused transfer holds no place, and no timeout ends it; one that a busy machine does not meet
   * before the pause */
  options.max_transfers = 1;
  options.progress_timeout = options.first_byte_timeout = 2000 * MSEC;
  http = new_client (&options);
  request->room = ask_gate;
  hr_http_submit (http, request);
  hr_http_submit (http, new_request (server, "/p", &other));
  poll_until (http, &other.n_done, 1);
  check_body (&other, 0, SIZE - 1);
  g_assert_cmpuint (gate.n_asked, ==, 1);
  g_assert_cmpuint (gate.bytes, ==, SIZE);
  for (guint i = 0; i < 25; i++)
    g_assert_true (hr_http_poll (http, -1, 100, NULL));
  g_assert_cmpuint (gate.result.n_done, ==, 0);

  hr_http_resume (http, request); /* and is asked again */
  g_assert_cmpuint (gate.n_asked, ==, 2);
  gate.open = TRUE;
  hr_http_resume (http, request);
  poll_until (http, &gate.result.n_done, 1);
  check_body (&gate.result, 0, SIZE - 1);
  g_assert_cmpuint (gate.result.tries, ==, 1);
  result_clear (&gate.result);
  result_clear (&other);
  g_clear_pointer (&server, fake_server_free);
  g_free (script.seen);
}

static HrHttpRoom
refuse_later (HrHttpRequest *request, gsize bytes G_GNUC_UNUSED, GError **error)
{
  Gate *gate = request->user_data;

  if (gate->n_asked++ == 0)
    return HR_HTTP_PAUSE;
  g_set_error (error, HR_DATA_ERROR, HR_DATA_ERROR_OTHER, "no");
  return HR_HTTP_REFUSE;
}

static void
test_refuse (void)
{
  Script script = { "", 0, NULL };
  g_autoptr (FakeServer) server = fake_server_new (answer_script, &script);
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = new_client (&options);
  Gate gate = { 0 };
  HrHttpRequest *request = new_request (server, "/o", &gate.result);

  request->room = refuse_later;
  hr_http_submit (http, request);
  while (gate.n_asked == 0)
    g_assert_true (hr_http_poll (http, -1, -1, NULL));
  hr_http_resume (http, request);
  poll_until (http, &gate.result.n_done, 1);
  g_assert_error (gate.result.error, HR_DATA_ERROR, HR_DATA_ERROR_OTHER);
  g_assert_cmpuint (gate.result.tries, ==, 1);
  result_clear (&gate.result);
  g_clear_pointer (&server, fake_server_free);
  g_free (script.seen);
}

/* in whatever stage a request is, it can be cancelled, and the client freed */
static void
test_cancel (void)
{
  for (guint stage = 0; stage < 5; stage++) {
    Script script = { stage == 3 ? "503" : "stall", G_MAXUINT, NULL };
    g_autoptr (FakeServer) server = fake_server_new (answer_script, &script);
    HrHttpOptions options = get_options ();
    g_autoptr (HrHttp) http = NULL;
    Gate gate = { 0 };
    HrHttpRequest *request = new_request (server, "/o", &gate.result);

    options.retry = (HrRetryTimes){ 3600 * 1000 * MSEC, 3600 * 1000 * MSEC, 3600 * 1000 * MSEC };
    http = new_client (&options);
    request->room = stage == 2 ? ask_gate : NULL;
    hr_http_submit (http, request);
    /* 0: queued; 1: running; 2: paused; 3: waits for another try; 4: running, freed with its client
     */
    for (guint i = 0; stage > 0 && i < 20; i++)
      g_assert_true (hr_http_poll (http, -1, 5, NULL));
    if (stage < 4)
      hr_http_cancel (http, request);
    g_assert_cmpuint (hr_http_get_n_requests (http), ==, stage < 4 ? 0 : 1);
    g_assert_true (hr_http_poll (http, -1, 0, NULL));
    g_assert_cmpuint (gate.result.n_done, ==, 0);
    g_clear_pointer (&http, hr_http_free);
    g_clear_pointer (&server, fake_server_free);
    g_free (script.seen);
  }
}

static void
test_wake (void)
{
  Script script = { "silent", G_MAXUINT, NULL };
  g_autoptr (FakeServer) server = fake_server_new (answer_script, &script);
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = new_client (&options);
  g_autoptr (GError) error = NULL;
  g_auto (HrHttpAnswer) answer = { 0 };
  int fds[2];

  g_assert_cmpint (pipe (fds), ==, 0);
  g_assert_cmpint (write (fds[1], "x", 1), ==, 1);
  g_assert_false (hr_http_wait (http, new_request (server, "/o", NULL), fds[0], &answer, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED);
  g_assert_cmpuint (hr_http_get_n_requests (http), ==, 0);
  close (fds[0]);
  close (fds[1]);
  g_clear_pointer (&http, hr_http_free);
  g_clear_pointer (&server, fake_server_free);
  g_free (script.seen);
}

/* a caller that was elsewhere for longer than any timeout finds its transfers alive */
static void
test_away (void)
{
  Script script = { "", 0, NULL };
  g_autoptr (FakeServer) server = fake_server_new (answer_script, &script);
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = NULL;
  Result result = { 0 };

  options.first_byte_timeout = options.progress_timeout = 2000 * MSEC;
  http = new_client (&options);
  hr_http_submit (http, new_request (server, "/o", &result));
  g_assert_true (hr_http_poll (http, -1, 0, NULL));
  g_usleep (3000 * 1000);
  poll_until (http, &result.n_done, 1);
  check_body (&result, 0, SIZE - 1);
  g_assert_cmpuint (result.tries, ==, 1);
  result_clear (&result);
  g_clear_pointer (&server, fake_server_free);
  g_free (script.seen);
}

/* ---- redirects and bodies of unknown length, for the web ---- */

static void
answer_web (const FakeRequest *request, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  if (strcmp (request->target, "/from") == 0) {
    reply->status = 302;
    fake_reply_add_header (reply, "Location", "/to");
    fake_reply_set_text (reply, "moved");
  } else {
    fake_reply_set_bytes (reply, object, SIZE);
    reply->no_length = TRUE;
  }
}

static void
test_web (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer_web, NULL);
  HrHttpOptions options = get_options ();
  g_autoptr (HrHttp) http = new_client (&options);

  for (gboolean follow = FALSE; follow <= TRUE; follow++) {
    Result result = { 0 };
    HrHttpRequest *request = new_request (server, "/from", &result);

    request->follow = follow;
    request->question.close_is_end = TRUE;
    hr_http_submit (http, request);
    poll_until (http, &result.n_done, 1);
    if (follow)
      check_body (&result, 0, SIZE - 1);
    else
      g_assert_cmpuint (result.status, ==, 302);
    g_assert_cmpint (result.error != NULL, ==, !follow);
    result_clear (&result);
  }
}

int
main (int argc, char **argv)
{
  for (guint i = 0; i < SIZE; i++)
    object[i] = i * 7 + i / 251;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/http/get", test_get);
  g_test_add_func ("/io/http/range", test_range);
  g_test_add_func ("/io/http/range-200", test_range_200);
  g_test_add_func ("/io/http/head", test_head);
  g_test_add_func ("/io/http/passing", test_passing);
  g_test_add_func ("/io/http/lasting", test_lasting);
  g_test_add_func ("/io/http/replaced", test_replaced);
  g_test_add_func ("/io/http/identity", test_identity);
  g_test_add_func ("/io/http/no-server", test_no_server);
  g_test_add_func ("/io/http/too-large", test_too_large);
  g_test_add_func ("/io/http/many", test_many);
  g_test_add_func ("/io/http/priority", test_priority);
  g_test_add_func ("/io/http/pause", test_pause);
  g_test_add_func ("/io/http/refuse", test_refuse);
  g_test_add_func ("/io/http/cancel", test_cancel);
  g_test_add_func ("/io/http/wake", test_wake);
  g_test_add_func ("/io/http/away", test_away);
  g_test_add_func ("/io/http/web", test_web);
  return g_test_run ();
}
