/* test-s3-renewal.c: keys that are renewed in time, and requests that wait for them */
#include "fake-aws.h"
#include "fake-s3.h"
#include "hr-error.h"
#include "http-wait.h"
#include "s3-request.h"
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- renewal ---- */

/* FALSE: on a busy machine nobody has looked, or asked, in the second that the test is about */
static gboolean
run_early (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  HrS3Credentials *credentials;
  guint state, n_meanwhile = 0;
  gint64 now, expires = 0;
  gboolean waits, second;

  fake_aws_use_container (aws);
  /* of a life of 12 s the last two are near to the end */
  FAKE_AWS_SET (aws, lifetime, 12);
  credentials = fake_aws_use ();
  fake_aws_check_key (credentials, "KEY1");
  FAKE_AWS_SET (aws, lifetime, 3600);
  hr_mutex_lock (&aws->gate);
  do { /* the old keys are given while others come … */
    g_auto (HrS3Keys) old = { 0 };
    g_autoptr (GError) error = NULL;

    now = g_get_real_time () / G_USEC_PER_SEC;
    waits = !hr_s3_credentials_get (credentials, &old, &state, &error);
    expires = waits ? expires : old.expires;
    g_assert_no_error (error);
    if (!waits)
      g_assert_cmpstr (old.access_key, ==, "KEY1");
    n_meanwhile += !waits && g_atomic_int_get (&aws->n_asked) == 2;
    g_usleep (5000);
  } while (!waits);
  g_assert_cmpuint (state, ==, 1); /* … and when their end is near, they are waited for */
  hr_mutex_unlock (&aws->gate);
  {
    g_autoptr (GError) error = NULL;
    g_autofree char *key = fake_aws_get_key (credentials, &error);

    g_assert_no_error (error);
    g_assert_cmpstr (key, !=, "KEY1");
    second = strcmp (key, "KEY2") == 0; /* held back for too long, they are asked for again */
  }
  hr_s3_credentials_leave (credentials);
  return n_meanwhile > 0 && now < expires && second;
}

static void
test_renewed_early (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  HrS3Credentials *credentials;
  gboolean early = FALSE;

  fake_aws_use_container (aws);
  credentials = fake_aws_use ();
  fake_aws_check_key (credentials, "KEY1");
  hr_s3_credentials_leave (credentials);
  g_assert_cmpuint (fake_aws_get_n_keys (aws), ==, 1); /* an hour is long enough */
  for (guint i = 0; i < 5 && !early; i++)
    early = run_early ();
  g_assert_true (early);
}

static void
test_renewal_fails (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  HrS3Credentials *credentials;
  g_autoptr (GError) error = NULL;
  g_auto (HrS3Keys) keys = { 0 };
  guint state, n_good = 0;
  gint64 expires = 0;

  fake_aws_use_container (aws);
  FAKE_AWS_SET (aws, lifetime, 3);
  credentials = fake_aws_use ();
  fake_aws_check_key (credentials, "KEY1");
  FAKE_AWS_SET (aws, status, 404);
  /* the old ones to their end, then the reason */
  while (!error) {
    if (hr_s3_credentials_get (credentials, &keys, &state, &error)) {
      g_assert_cmpstr (keys.access_key, ==, "KEY1");
      expires = keys.expires;
      hr_s3_keys_clear (&keys);
      n_good++;
    }
    g_usleep (10000);
  }
  g_assert_cmpuint (n_good, >, 0);
  g_assert_cmpint (g_get_real_time () / G_USEC_PER_SEC, >=, expires);
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "HTTP 404"));
  hr_s3_credentials_leave (credentials);
}

static void
test_refused_keys (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  HrS3Credentials *credentials;

  fake_aws_use_container (aws);
  credentials = fake_aws_use ();
  fake_aws_check_key (credentials, "KEY1");
  g_assert_true (hr_s3_credentials_renew (credentials, 1));
  fake_aws_wait_for_state (credentials, 2);
  fake_aws_check_key (credentials, "KEY2");
  /* a request that was signed before that needs no others */
  g_assert_true (hr_s3_credentials_renew (credentials, 1));
  fake_aws_check_key (credentials, "KEY2");
  g_assert_cmpuint (fake_aws_get_n_keys (aws), ==, 2);
  hr_s3_credentials_leave (credentials);
}

/* ---- with requests ---- */

typedef struct {
  gint n_expired;
  const char *refused; /* of this key */
} Refusal;

static void
refuse_key (const FakeRequest *request, FakeReply *reply, const char *key G_GNUC_UNUSED,
            guint count G_GNUC_UNUSED, gpointer data)
{
  Refusal *refusal = data;
  g_autofree char *authorization = fake_request_get_header (request, "Authorization");

  if (!strstr (authorization, refusal->refused))
    return;
  g_atomic_int_inc (&refusal->n_expired);
  g_clear_pointer (&reply->headers, g_free);
  fake_reply_error (reply, 400, "ExpiredToken");
}

static HrS3Config *
new_config (FakeS3 *s3)
{
  HrS3Settings settings = { .endpoint = fake_server_get_url (fake_s3_get_server (s3)) };
  g_autoptr (GError) error = NULL;
  HrS3Config *config = hr_s3_config_new (&settings, &error);

  g_assert_no_error (error);
  return config;
}

typedef struct {
  FakeAws *aws;
  gint held;
} Hold;

static gpointer
hold_answers (gpointer data)
{
  Hold *hold = data;

  hr_mutex_lock (&hold->aws->gate);
  g_atomic_int_set (&hold->held, TRUE);
  g_usleep (100000); /* a request is asked ten times whether it can be sent */
  hr_mutex_unlock (&hold->aws->gate);
  return NULL;
}

static void
test_expired_token (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  g_autoptr (FakeS3) s3 = fake_s3_new ();
  Refusal refusal = { .refused = "Credential=KEY1/" }, all = { .refused = "Credential=KEY" };
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = NULL;
  g_autoptr (GError) error = NULL;
  Hold hold = { aws, FALSE };
  HrS3Config *config;
  GThread *thread;

  options.max_tries = 2;
  http = hr_http_new (&options, NULL);
  fake_aws_use_container (aws);
  thread = g_thread_new ("hold", hold_answers, &hold);
  while (!g_atomic_int_get (&hold.held))
    g_usleep (1000);
  fake_s3_put (s3, "k", "abc", 3);
  fake_s3_set_hook (s3, refuse_key, &refusal);
  config = new_config (s3);
  {
    g_auto (HrHttpAnswer) answered = { 0 };

    g_assert_true (hr_http_wait (http, hr_s3_get (config, "demo", "k"), -1, &answered, &error));
    g_assert_cmpuint (answered.received, ==, 3);
  }
  g_thread_join (thread);
  g_assert_cmpuint (fake_aws_get_n_keys (aws), ==, 2);
  g_assert_cmpint (g_atomic_int_get (&refusal.n_expired), ==, 1);
  /* waiting for keys is no try */
  g_assert_cmpuint (hr_http_get_counts (http)->tries, ==, 2);
  /* once: keys that are refused again are wrong */
  fake_s3_set_hook (s3, refuse_key, &all);
  {
    g_auto (HrHttpAnswer) answered = { 0 };

    g_assert_false (hr_http_wait (http, hr_s3_get (config, "demo", "k"), -1, &answered, &error));
  }
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "ExpiredToken"));
  g_assert_cmpuint (fake_aws_get_n_keys (aws), ==, 3);
  hr_s3_config_unref (config);
}

/* ---- answers without a word ---- */

typedef struct {
  guint status;
  const char *refused; /* in Authorization, or in X-Amz-Date */
  const char *date;
  const char *body;
} Wordless;

static void
answer_wordless (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  Wordless *wordless = data;
  g_autofree char *authorization = fake_request_get_header (request, "Authorization");
  g_autofree char *date = fake_request_get_header (request, "X-Amz-Date");

  fake_reply_add_header (reply, "ETag", "\"e\"");
  fake_reply_set_text (reply, "abc");
  if (!strstr (authorization, wordless->refused) && !g_str_has_prefix (date, wordless->refused))
    return;
  reply->status = wordless->status;
  if (wordless->date)
    fake_reply_add_header (reply, "Date", wordless->date);
  if (wordless->body)
    fake_reply_set_text (reply, wordless->body);
}

/* the object's size: mended after one refusal */
static void
check_mended (Wordless *wordless, gboolean head)
{
  FakeServer *server = fake_server_new (answer_wordless, wordless);
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = hr_http_new (&options, NULL);
  HrS3Settings settings = { .endpoint = fake_server_get_url (server), .region = "eu-west-1" };
  g_auto (HrHttpAnswer) answered = { 0 };
  g_autoptr (GError) error = NULL;
  HrS3Config *config = hr_s3_config_new (&settings, &error);

  g_assert_no_error (error);
  g_assert_true (
      hr_http_wait (http, head ? hr_s3_head (config, "demo", "k") : hr_s3_get (config, "demo", "k"),
                    -1, &answered, &error));
  g_assert_no_error (error);
  g_assert_cmpint (answered.size, ==, 3);
  g_assert_cmpuint (fake_server_get_n_requests (server), ==, 2);
  hr_s3_config_unref (config);
  fake_server_free (server);
}

static void
test_wordless (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  g_autofree char *today = NULL;
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  Wordless clock = { .status = 403, .date = "Mon, 02 Jan 2040 03:04:05 GMT" };
  Wordless expired = { .status = 400, .refused = "Credential=KEY1/" };
  Wordless region = {
    .status = 400,
    .refused = "/eu-west-1/s3/",
    .body = "<Error><Code>AuthorizationHeaderMalformed</Code><Message>The authorization "
            "header is malformed; the region 'eu-west-1' is wrong; expecting 'eu-west-3'"
            "</Message><Region>eu-west-3</Region></Error>"
  };

  fake_aws_use_container (aws);
  clock.refused = today = g_date_time_format (now, "%Y");
  check_mended (&clock, TRUE);
  check_mended (&region, FALSE);
  check_mended (&expired, TRUE);
  g_assert_cmpuint (fake_aws_get_n_keys (aws), ==, 2);
}

/* ---- stops ---- */

static const char *awaited; /* a file */

static gpointer
stop_later (gpointer data)
{
  const guint64 one = 1;

  do
    g_usleep (50000);
  while (awaited && !g_file_test (awaited, G_FILE_TEST_EXISTS));
  (void)!write (GPOINTER_TO_INT (data), &one, sizeof one);
  return NULL;
}

/* a service, a program that never answers: a run is stopped all the same */
static void
check_stop (FakeS3 *s3)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = hr_http_new (&options, NULL);
  g_autoptr (GError) error = NULL;
  g_auto (HrHttpAnswer) answered = { 0 };
  HrS3Config *config = new_config (s3);
  int fd = eventfd (0, EFD_CLOEXEC);
  GThread *thread = g_thread_new ("stop", stop_later, GINT_TO_POINTER (fd));

  g_assert_false (hr_http_wait (http, hr_s3_get (config, "demo", "k"), fd, &answered, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED);
  g_thread_join (thread);
  close (fd);
  hr_s3_config_unref (config);
}

/* it is dead before somebody has asked how it ended */
static gboolean
is_alive (int pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", pid), *stat = NULL;

  return g_file_get_contents (path, &stat, NULL, NULL) && !strstr (stat, ") Z ");
}

static void
test_stop (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  g_autoptr (FakeS3) s3 = fake_s3_new ();
  g_autofree char *file = g_build_filename (fake_aws_home, "pid", NULL), *text = NULL;
  int pid;

  fake_aws_set_role (aws);
  FAKE_AWS_SET (aws, stall, TRUE);
  check_stop (s3);
  /* a program's children go with it */
  fake_aws_set_config ("[default]\ncredential_process = sh -c 'sleep 600 & echo $! > %s.new; "
                       "mv %s.new %s; wait'\n",
                       file, file, file);
  awaited = file;
  check_stop (s3);
  awaited = NULL;
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  pid = atoi (text);
  g_assert_cmpint (pid, >, 1);
  while (is_alive (pid))
    g_usleep (1000);
  g_remove (file);
}

typedef struct {
  guint n_done;
} Count;

static void
count_done (HrHttpRequest *request, GError *error)
{
  g_assert_no_error (error);
  ((Count *)request->user_data)->n_done++;
}

/* while keys are renewed, what runs goes on */
static void
test_transfers_go_on (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  g_autoptr (FakeS3) s3 = fake_s3_new ();
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = hr_http_new (&options, NULL);
  Count signed_ones = { 0 }, plain = { 0 };
  HrHttpRequest *request;
  HrS3Config *config;
  g_autofree char *url = NULL;

  fake_aws_use_container (aws);
  fake_s3_put (s3, "k", "abc", 3);
  config = new_config (s3);
  {
    g_auto (HrHttpAnswer) answered = { 0 };

    g_assert_true (hr_http_wait (http, hr_s3_get (config, "demo", "k"), -1, &answered, NULL));
  }
  FAKE_AWS_SET (aws, stall, TRUE); /* keys do not come */
  g_assert_true (hr_s3_config_refresh (config, 1));
  request = hr_s3_get (config, "demo", "k");
  request->done = count_done;
  request->user_data = &signed_ones;
  hr_http_submit (http, request);
  url = g_strconcat (fake_server_get_url (fake_s3_get_server (s3)), "/demo/k", NULL);
  for (guint i = 0; i < 20; i++) {
    request = hr_http_request_new ("plain", url);
    request->done = count_done;
    request->user_data = &plain;
    hr_http_submit (http, request);
  }
  while (plain.n_done < 20)
    g_assert_true (hr_http_poll (http, -1, -1, NULL));
  g_assert_cmpuint (signed_ones.n_done, ==, 0);
  hr_s3_config_unref (config);
}

static void
test_requester_pays (void)
{
  FakeS3 *s3 = fake_s3_new ();
  HrS3Settings settings = { .endpoint = fake_server_get_url (fake_s3_get_server (s3)),
                            .requester_pays = TRUE };
  g_autoptr (HrS3Config) config = NULL;
  g_auto (HrS3Place) place = { 0 };
  g_autoptr (GPtrArray) headers = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  guint state;

  fake_aws_clear_env ();
  fake_s3_use (s3);
  config = hr_s3_config_new (&settings, &error);
  g_assert_no_error (error);
  hr_s3_config_locate (config, "demo", "k", "", &place);
  g_assert_true (hr_s3_config_sign (config, "GET", "demo", &place, "", headers, &state, NULL));
  g_ptr_array_add (headers, NULL);
  text = g_strjoinv ("\n", (char **)headers->pdata);
  g_assert_nonnull (strstr (text, "X-Amz-Request-Payer: requester\n"));
  g_assert_nonnull (strstr (text, ";x-amz-request-payer, Signature="));
  settings.no_sign_request = TRUE;
  g_assert_null (hr_s3_config_new (&settings, &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
  fake_s3_free (s3);
}

static void
test_variants (void)
{
  static const struct {
    const char *variable, *region, *endpoint;
  } cases[] = {
    { "AWS_USE_FIPS_ENDPOINT", "us-gov-west-1", "https://s3-fips.us-gov-west-1.amazonaws.com" },
    { "AWS_USE_DUALSTACK_ENDPOINT", "eu-west-1", "https://s3.dualstack.eu-west-1.amazonaws.com" },
    { "AWS_USE_DUALSTACK_ENDPOINT", "cn-north-1",
      "https://s3.dualstack.cn-north-1.amazonaws.com.cn" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    HrS3Settings settings = { .region = cases[i].region, .no_sign_request = TRUE };
    g_autoptr (HrS3Config) config = NULL;
    g_autofree char *endpoint = NULL;
    g_autoptr (GError) error = NULL;

    fake_aws_clear_env ();
    g_setenv (cases[i].variable, "true", TRUE);
    config = hr_s3_config_new (&settings, &error);
    g_assert_no_error (error);
    endpoint = hr_s3_config_get_endpoint (config);
    g_assert_cmpstr (endpoint, ==, cases[i].endpoint);
    settings.endpoint = "http://store.test";
    g_assert_null (hr_s3_config_new (&settings, &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
    g_clear_error (&error);
    g_setenv (cases[i].variable, "perhaps", TRUE);
    settings.endpoint = NULL;
    g_assert_null (hr_s3_config_new (&settings, &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
  }
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  fake_aws_begin ();
  g_test_add_func ("/io/s3-renewal/renewed-early", test_renewed_early);
  g_test_add_func ("/io/s3-renewal/renewal-fails", test_renewal_fails);
  g_test_add_func ("/io/s3-renewal/refused-keys", test_refused_keys);
  g_test_add_func ("/io/s3-renewal/expired-token", test_expired_token);
  g_test_add_func ("/io/s3-renewal/wordless", test_wordless);
  g_test_add_func ("/io/s3-renewal/stop", test_stop);
  g_test_add_func ("/io/s3-renewal/transfers-go-on", test_transfers_go_on);
  g_test_add_func ("/io/s3-renewal/requester-pays", test_requester_pays);
  g_test_add_func ("/io/s3-renewal/variants", test_variants);
  status = g_test_run ();
  fake_aws_end ();
  return status;
}
