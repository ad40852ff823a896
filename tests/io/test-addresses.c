/* test-addresses.c: connections are spread, and dead addresses left alone */
#include "addresses.h"
#include "endpoint.h"
#include "fake-server.h"
#include "http-wait.h"
#include <string.h>

#define SECOND G_GINT64_CONSTANT (1000000000)

static void
test_spread (void)
{
  static const char *const three[] = { "10.0.0.1", "10.0.0.2", "fd00::3", NULL };
  HrAddresses *addresses = hr_addresses_new ("https://host.test/bucket");
  guint counts[3] = { 0 };

  g_assert_null (hr_addresses_take (addresses, 0));
  hr_addresses_set (addresses, three, 0);
  for (guint i = 0; i < 30; i++) {
    g_autofree char *taken = hr_addresses_take (addresses, 0);

    counts[0] += strcmp (taken, "host.test:443:10.0.0.1:443") == 0;
    counts[1] += strcmp (taken, "host.test:443:10.0.0.2:443") == 0;
    counts[2] += strcmp (taken, "host.test:443:[fd00::3]:443") == 0;
  }
  for (guint i = 0; i < 3; i++)
    g_assert_cmpuint (counts[i], ==, 10);
  /* the name server says something else: what stays keeps its requests */
  hr_addresses_set (addresses, (const char *const[]){ "10.0.0.1", "10.0.0.9", NULL }, 0);
  for (guint i = 0; i < 10; i++) {
    g_autofree char *taken = hr_addresses_take (addresses, 0);

    g_assert_cmpstr (taken, ==, "host.test:443:10.0.0.9:443");
  }
  /* or nothing at all: what was known is still good */
  hr_addresses_set (addresses, (const char *const[]){ NULL }, 0);
  g_free (hr_addresses_take (addresses, 0));
  hr_addresses_unref (addresses);
}

static void
test_dead (void)
{
  static const char *const two[] = { "10.0.0.1", "10.0.0.2", NULL };
  static const char *const bad = "host.test:8333:10.0.0.1:8333";
  HrAddresses *addresses = hr_addresses_new ("http://host.test:8333");
  g_autofree char *first = NULL, *other = NULL, *again = NULL, *late = NULL;

  hr_addresses_set (addresses, two, 0);
  hr_addresses_give (addresses, bad, TRUE, 0);
  for (guint i = 0; i < 5; i++) {
    g_autofree char *taken = hr_addresses_take (addresses, SECOND);

    g_assert_cmpstr (taken, ==, "host.test:8333:10.0.0.2:8333");
  }
  /* for a while, and longer the next time */
  first = hr_addresses_take (addresses, 6 * SECOND);
  g_assert_cmpstr (first, ==, bad);
  hr_addresses_give (addresses, bad, TRUE, 6 * SECOND);
  other = hr_addresses_take (addresses, 12 * SECOND);
  g_assert_cmpstr (other, !=, bad);
  again = hr_addresses_take (addresses, 17 * SECOND);
  g_assert_cmpstr (again, ==, bad);
  /* all are dead: the one that will be alive first is better than none */
  hr_addresses_give (addresses, bad, TRUE, 17 * SECOND);
  hr_addresses_give (addresses, other, TRUE, 17 * SECOND);
  late = hr_addresses_take (addresses, 18 * SECOND);
  g_assert_cmpstr (late, ==, other);
  hr_addresses_unref (addresses);
}

/* nothing to resolve */
static void
test_literal (void)
{
  static const char *const urls[] = { "http://127.0.0.1:80/", "https://[::1]:443/x",
                                      "http://10.1.2.3", "http://u:p@host/" };

  for (guint i = 0; i < G_N_ELEMENTS (urls); i++) {
    HrAddresses *addresses = hr_addresses_new (urls[i]);

    g_assert_true (hr_addresses_is_ready (addresses, NULL, NULL, 0));
    g_assert_null (hr_addresses_take (addresses, 0));
    hr_addresses_unref (addresses);
  }
}

static void
ring (gpointer data)
{
  g_atomic_int_set ((gint *)data, 1);
}

/* a real name, and one that is none */
static void
test_resolve (void)
{
  static const char *const names[] = { "http://localhost:1/", "http://no.such.name.invalid/" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    HrAddresses *addresses = hr_addresses_new (names[i]);
    g_autofree char *taken = NULL;
    gint rung = 0;

    if (!hr_addresses_is_ready (addresses, ring, &rung, hr_now ()))
      while (!g_atomic_int_get (&rung))
        g_usleep (1000);
    g_assert_true (hr_addresses_is_ready (addresses, ring, &rung, hr_now ()));
    taken = hr_addresses_take (addresses, hr_now ());
    g_assert_cmpint (taken != NULL, ==, i == 0);
    hr_addresses_forget (addresses, &rung);
    hr_addresses_unref (addresses);
  }
}

static void
answer (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  fake_reply_set_text (reply, "good");
}

/* a client finds the address that answers, by itself */
static void
test_client (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer, NULL);
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = NULL;
  const char *port = strrchr (fake_server_get_url (server), ':');
  g_autofree char *url = g_strconcat ("http://spread.test", port, "/x", NULL);
  HrEndpoint *endpoint = hr_endpoint_get (url);

  options.retry = (HrRetryTimes){ 1000000, 1000000, 5000000 };
  http = hr_http_new (&options, NULL);
  /* the server listens on one of them only */
  hr_addresses_set (endpoint->addresses, (const char *const[]){ "127.0.0.2", "127.0.0.1", NULL },
                    hr_now ());
  for (guint i = 0; i < 3; i++) {
    g_auto (HrHttpAnswer) got = { 0 };
    g_autoptr (GError) error = NULL;

    g_assert_true (hr_http_wait (http, hr_http_request_new ("x", url), -1, &got, &error));
    g_assert_no_error (error);
    g_assert_cmpmem (got.body->data, got.received, "good", 4);
  }
  /* the dead one was tried once */
  g_assert_cmpuint (hr_http_get_counts (http)->retries, ==, 1);
  hr_endpoint_release (endpoint);
}

int
main (int argc, char **argv)
{
  g_unsetenv ("http_proxy");
  g_unsetenv ("https_proxy");
  g_unsetenv ("HTTPS_PROXY");
  g_unsetenv ("all_proxy");
  g_unsetenv ("ALL_PROXY");
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/addresses/spread", test_spread);
  g_test_add_func ("/io/addresses/dead", test_dead);
  g_test_add_func ("/io/addresses/literal", test_literal);
  g_test_add_func ("/io/addresses/resolve", test_resolve);
  g_test_add_func ("/io/addresses/client", test_client);
  return g_test_run ();
}
