/* test-proxy.c: which proxy requests go through: curl's rules, as docs/storage.md has them */
#include "fake-server.h"
#include "hr-sync.h"
#include "hr-error.h"
#include "http-wait.h"
#include "s3-request.h"
#include <string.h>

static const char *const variables[] = { "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                         "all_proxy",  "ALL_PROXY",  "no_proxy",    "NO_PROXY" };

/* the server's thread writes it */
static HrMutex lock;

typedef struct {
  char *method;
  char *target;
  char *authorization; /* of the proxy */
} Seen;

static void
seen_clear (Seen *seen)
{
  hr_mutex_lock (&lock);
  g_clear_pointer (&seen->method, g_free);
  g_clear_pointer (&seen->target, g_free);
  g_clear_pointer (&seen->authorization, g_free);
  hr_mutex_unlock (&lock);
}

/* plays the proxy, and whatever lies behind it */
static void
answer (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  Seen *seen = data;

  hr_mutex_lock (&lock);
  g_free (seen->method);
  g_free (seen->target);
  g_free (seen->authorization);
  seen->method = g_strdup (request->method);
  seen->target = g_strdup (request->target);
  seen->authorization = fake_request_get_header (request, "Proxy-Authorization");
  hr_mutex_unlock (&lock);
  if (strcmp (request->method, "CONNECT") == 0)
    reply->status = 403;
  else
    fake_reply_set_text (reply, "abc");
  fake_reply_add_header (reply, "ETag", "\"e\"");
}

static void
clear_env (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    g_unsetenv (variables[i]);
}

/* one object from @endpoint; the error, or NULL */
static GError *
get (const char *endpoint)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;
  HrS3Settings settings = { .endpoint = endpoint,
                            .region = "eu-west-1",
                            .addressing = HR_S3_ADDRESSING_PATH };
  g_autoptr (HrHttp) http = NULL;
  g_auto (HrHttpAnswer) answered = { 0 };
  GError *error = NULL;
  HrS3Config *config;

  options.max_tries = 1;
  http = hr_http_new (&options, NULL);
  config = hr_s3_config_new (&settings, &error);
  g_assert_no_error (error);
  (void)hr_http_wait (http, hr_s3_get (config, "demo", "a b"), -1, &answered, &error);
  hr_s3_config_unref (config);
  return error;
}

static void
check (Seen *seen, const char *endpoint, const char *method, const char *target)
{
  g_autoptr (GError) error = NULL;

  seen_clear (seen);
  error = get (endpoint);
  hr_mutex_lock (&lock);
  g_assert_cmpstr (seen->method, ==, method);
  g_assert_cmpstr (seen->target, ==, target);
  hr_mutex_unlock (&lock);
  g_assert_true ((error == NULL) == (g_strcmp0 (method, "GET") == 0));
}

static void
test_rules (void)
{
  Seen seen = { 0 };
  FakeServer *server = fake_server_new (answer, &seen);
  const char *proxy = fake_server_get_url (server);

  clear_env ();
  g_setenv ("http_proxy", proxy, TRUE);
  check (&seen, "http://store.invalid:9000", "GET", "http://store.invalid:9000/demo/a%20b");
  check (&seen, "https://store.invalid", NULL, NULL);
  g_setenv ("https_proxy", proxy, TRUE);
  check (&seen, "https://store.invalid", "CONNECT", "store.invalid:443");
  g_unsetenv ("https_proxy");
  g_setenv ("HTTPS_PROXY", proxy, TRUE);
  check (&seen, "https://store.invalid:8443", "CONNECT", "store.invalid:8443");
  /* the exceptions: hosts, domains, addresses, networks */
  g_setenv ("no_proxy", "other.invalid,store.invalid", TRUE);
  check (&seen, "http://store.invalid:9000", NULL, NULL);
  check (&seen, "http://a.store.invalid", NULL, NULL);
  check (&seen, "http://mystore.invalid", "GET", "http://mystore.invalid/demo/a%20b");
  g_unsetenv ("no_proxy");
  g_setenv ("NO_PROXY", "127.0.0.0/8", TRUE);
  check (&seen, proxy, "GET", "/demo/a%20b");
  g_setenv ("NO_PROXY", "*", TRUE);
  check (&seen, "http://store.invalid", NULL, NULL);
  clear_env ();
  g_setenv ("HTTP_PROXY", proxy, TRUE); /* a web server can be made to set that one */
  check (&seen, "http://store.invalid", NULL, NULL);
  g_setenv ("ALL_PROXY", proxy, TRUE);
  check (&seen, "http://store.invalid", "GET", "http://store.invalid/demo/a%20b");
  clear_env ();
  seen_clear (&seen);
  fake_server_free (server);
}

/* of a proxy that curl cannot make out it shows all that it was given */
static void
test_wrong (void)
{
  static const char *const proxies[] = { "nonsense://me:CANARY@host:1", "me:CANARY@:9x",
                                         "http://me:CAN/ARY@CANARY@[::1", "me:CANARY@[::1" };

  for (guint i = 0; i < G_N_ELEMENTS (proxies); i++) {
    g_autoptr (GError) error = NULL;

    clear_env ();
    g_setenv ("http_proxy", proxies[i], TRUE);
    error = get ("http://store.invalid");
    g_test_message ("%s", error->message);
    g_assert_nonnull (strstr (error->message, "proxy"));
    g_assert_null (strstr (error->message, "CAN"));
    g_assert_null (strstr (error->message, "me:"));
  }
  clear_env ();
}

static void
test_password (void)
{
  Seen seen = { 0 };
  FakeServer *server = fake_server_new (answer, &seen);
  g_autofree char *proxy =
      g_strdup_printf ("http://me:CANARY@%s", fake_server_get_url (server) + strlen ("http://"));
  g_autoptr (GError) error = NULL;

  clear_env ();
  g_setenv ("http_proxy", proxy, TRUE);
  g_setenv ("https_proxy", proxy, TRUE);
  check (&seen, "http://store.invalid", "GET", "http://store.invalid/demo/a%20b");
  hr_mutex_lock (&lock);
  g_assert_cmpstr (seen.authorization, ==, "Basic bWU6Q0FOQVJZ");
  hr_mutex_unlock (&lock);
  error = get ("https://store.invalid");
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  g_assert_nonnull (strstr (error->message, "403"));
  g_assert_null (strstr (error->message, "CANARY"));
  g_assert_null (strstr (error->message, "bWU6Q0FOQVJZ"));
  clear_env ();
  seen_clear (&seen);
  fake_server_free (server);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  hr_mutex_init (&lock);
  g_setenv ("HOME", "/nonexistent", TRUE);
  g_setenv ("AWS_ACCESS_KEY_ID", "KEY", TRUE);
  g_setenv ("AWS_SECRET_ACCESS_KEY", "SECRET", TRUE);
  g_test_add_func ("/io/proxy/rules", test_rules);
  g_test_add_func ("/io/proxy/password", test_password);
  g_test_add_func ("/io/proxy/wrong", test_wrong);
  return g_test_run ();
}
