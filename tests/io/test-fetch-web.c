/* test-fetch-web.c: where a record's web links and their redirects may lead. What is refused is
 * refused before anything is connected to: the servers count. */
#include "fake-s3.h"
#include "hr-harness.h"
#include <stdlib.h>
#include <string.h>

static void
answer (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  const char *to = g_hash_table_lookup (data, request->target);

  if (to == NULL) {
    fake_reply_set_text (reply, request->target);
    return;
  }
  reply->status = g_str_has_prefix (request->target, "/301") ? 301 : 302;
  fake_reply_add_header (reply, "Location", to);
  fake_reply_set_text (reply, "moved");
}

typedef struct {
  FakeServer *server, *other;
  GHashTable *moves;
  char *port;
} Web;

static void
web_begin (Web *web)
{
  web->moves = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  web->server = fake_server_new (answer, web->moves);
  web->other = fake_server_new (answer, web->moves);
  web->port = g_strdup (strrchr (fake_server_get_url (web->server), ':') + 1);
}

static void
web_end (Web *web)
{
  fake_server_free (web->server);
  fake_server_free (web->other);
  g_hash_table_unref (web->moves);
  g_free (web->port);
  hr_harness_assert_no_leaks ();
}

static void
web_move (Web *web, const char *from, const char *to)
{
  g_hash_table_insert (web->moves, g_strdup (from), g_strdup (to));
}

static HrBuffer *
make_sample (const char *uri)
{
  HrBuffer *sample = hr_buffer_new ();
  HrList *images = hr_list_new (0), *links = hr_list_new (0);

  hr_list_append_string (images, uri);
  hr_list_append_string (links, uri);
  hr_buffer_set_list (sample, "images", images);
  hr_buffer_set_list (sample, "image_links", links);
  return sample;
}

/* (transfer full): why it was skipped */
static GError *
refused (const char *element, const char *uri)
{
  HrHarness *harness = hr_harness_new (element, 1);
  HrPipeline *pipeline = hr_harness_get_pipeline (harness);
  HrMessage *message;
  GError *error;

  hr_harness_push (harness, make_sample (uri));
  hr_harness_wait (harness);
  message = hr_pipeline_pop_message (pipeline, -1);
  g_assert_nonnull (message);
  g_assert_cmpint (message->type, ==, HR_MESSAGE_SKIPPED);
  error = g_error_copy (message->error);
  hr_message_unref (message);
  hr_harness_free (harness);
  return error;
}

static void
check_refused (const char *element, const char *uri, const char *words)
{
  g_autoptr (GError) error = refused (element, uri);

  g_test_message ("%s", error->message);
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_LINK_REFUSED);
  if (!strstr (error->message, words))
    g_error ("\"%s\" does not say \"%s\"", error->message, words);
}

static void
check_fetched (const char *element, const char *uri, const char *body)
{
  HrHarness *harness = hr_harness_new (element, 1);
  g_autoptr (HrBuffer) sample = NULL;
  HrTensor *image;

  hr_harness_push (harness, make_sample (uri));
  hr_harness_end (harness);
  sample = hr_harness_pull (harness);
  g_assert_nonnull (sample);
  image = hr_list_get_tensor (hr_buffer_get_list (sample, "images"), 0);
  g_assert_cmpmem (hr_tensor_get_data (image), hr_tensor_get_n_bytes (image), body, strlen (body));
  g_clear_pointer (&sample, hr_buffer_unref);
  hr_harness_free (harness);
}

/* however an address is written, it is that of this machine */
static void
test_spellings (void)
{
  static const char *const hosts[] = { "127.0.0.1",
                                       "127.1",
                                       "2130706433",
                                       "0x7f000001",
                                       "0177.0.0.1",
                                       "017700000001",
                                       "localhost",
                                       "LOCALHOST",
                                       "127.0.0.1.",
                                       "0.0.0.0",
                                       "0",
                                       "[::1]",
                                       "[::]",
                                       "[::ffff:127.0.0.1]",
                                       "[::ffff:7f00:1]",
                                       "user@127.0.0.1" };
  Web web;

  web_begin (&web);
  for (guint i = 0; i < G_N_ELEMENTS (hosts); i++) {
    g_autofree char *uri = g_strdup_printf ("http://%s:%s/x", hosts[i], web.port);
    g_autoptr (GError) error = refused ("imagefetch allow-links=all on-error=skip tries=1", uri);

    g_test_message ("%s", error->message);
    /* what is no address to this system's resolver is none */
    if (strcmp (hosts[i], "127.0.0.1.") == 0
        && g_error_matches (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_NOT_FOUND))
      continue;
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_LINK_REFUSED);
    g_assert_nonnull (strstr (error->message, "allow-addresses="));
  }
  g_assert_cmpuint (fake_server_get_n_connections (web.server), ==, 0);
  check_refused ("imagefetch allow-links=all on-error=skip", "http://169.254.169.254/latest/",
                 "metadata");
  check_refused ("imagefetch allow-links=all on-error=skip", "http://0xa9fea9fe/latest/",
                 "169.254.169.254");
  check_refused ("imagefetch allow-links=all on-error=skip", "https://10.0.0.1/x", "private");
  check_refused ("imagefetch allow-links=all on-error=skip", "http://[fd00:ec2::254]/x", "private");
  web_end (&web);
}

static void
test_allowed (void)
{
  Web web;
  g_autofree char *uri = NULL, *named = NULL;

  web_begin (&web);
  uri = g_strdup_printf ("http://127.0.0.1:%s/x", web.port);
  named = g_strdup_printf ("http://localhost:%s/x", web.port);
  check_fetched ("imagefetch allow-links=all allow-addresses=all", uri, "/x");
  check_fetched ("imagefetch allow-links=http allow-addresses=10.0.0.0/8,127.0.0.0/8", named, "/x");
  check_refused ("imagefetch allow-links=http allow-addresses=10.0.0.0/8 on-error=skip", uri,
                 "loopback");
  /* one word is not the other */
  check_refused ("imagefetch allow-addresses=all on-error=skip", uri, "allow-links=http");
  hr_harness_new_failing ("imagefetch allow-addresses=nonsense", HR_PARSE_ERROR,
                          HR_PARSE_ERROR_BAD_VALUE, "*nonsense*");
  g_assert_cmpuint (fake_server_get_n_connections (web.server), ==, 2);
  web_end (&web);
}

/* a connection that S3's own requests have opened is none for a record's link */
static void
test_connection_of_others (void)
{
  g_autoptr (FakeS3) s3 = fake_s3_new ();
  FakeServer *server = fake_s3_get_server (s3);
  g_autofree char *uri = g_strconcat (fake_server_get_url (server), "/demo/secret", NULL);
  HrHarness *harness;
  g_autoptr (HrBuffer) sample = NULL;
  HrMessage *message;

  fake_s3_use (s3);
  fake_s3_put (s3, "image", "i", 1);
  fake_s3_put (s3, "secret", "s", 1);
  harness = hr_harness_new ("imagefetch allow-links=all on-error=skip", 1);
  hr_harness_push (harness, make_sample ("s3://demo/image"));
  sample = hr_harness_pull (harness);
  g_assert_nonnull (sample);
  hr_harness_push (harness, make_sample (uri));
  hr_harness_wait (harness);
  message = hr_pipeline_pop_message (hr_harness_get_pipeline (harness), -1);
  g_assert_error (message->error, HR_DATA_ERROR, HR_DATA_ERROR_LINK_REFUSED);
  hr_message_unref (message);
  g_clear_pointer (&sample, hr_buffer_unref);
  hr_harness_free (harness);
  g_assert_cmpuint (fake_server_get_n_requests (server), ==, 1);
  g_assert_cmpuint (fake_s3_get_count (s3, "secret"), ==, 0);
}

/* a record that names a host that does not answer costs itself, not the run */
static void
test_dead_hosts (void)
{
  static const char *const uris[] = { "http://no-such-host.invalid/x", "http://127.0.0.1:9/x" };

  for (guint i = 0; i < G_N_ELEMENTS (uris); i++) {
    g_autoptr (GError) error = refused ("imagefetch allow-links=all allow-addresses=127.0.0.1 "
                                        "on-error=skip tries=2",
                                        uris[i]);

    g_test_message ("%s", error->message);
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_NOT_FOUND);
    g_assert_nonnull (strstr (error->message, uris[i]));
    g_assert_nonnull (strstr (error->message, "(2 tries in "));
  }
}

static void
test_redirects (void)
{
  static const char loopback[] = "imagefetch allow-links=all allow-addresses=127.0.0.1 "
                                 "on-error=skip tries=1";
  Web web;
  g_autofree char *base = NULL, *only = NULL, *away = NULL, *link = NULL;
  static const struct {
    const char *from, *to, *words;
  } rows[] = { { "/file", "file:///etc/passwd", "no web address" },
               { "/ftp", "ftp://127.0.0.1/x", "no web address" },
               { "/gopher", "gopher://127.0.0.1:25/x", "no web address" },
               { "/s3", "s3://demo/x", "no web address" },
               { "/metadata", "http://169.254.169.254/latest/", "metadata" },
               { "/elsewhere", "http://127.0.0.2:9/x", "127.0.0.2" },
               { "/number", "http://0x7f000002:9/x", "127.0.0.2" },
               { "/loop", "/loop", "more than 5 times" } };

  web_begin (&web);
  base = g_strdup (fake_server_get_url (web.server));
  only = g_strdup_printf ("imagefetch allow-links=%s/ allow-addresses=127.0.0.1 on-error=skip "
                          "tries=1",
                          base);
  web_move (&web, "/301/a", "../b");
  web_move (&web, "/b", "/c d");
  away = g_strdup_printf ("%s/there", fake_server_get_url (web.other));
  web_move (&web, "/away", away);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    web_move (&web, rows[i].from, rows[i].to);

  link = g_strconcat (base, "/301/a", NULL);
  check_fetched (loopback, link, "/c%20d");
  check_fetched (only, link, "/c%20d");
  check_refused ("imagefetch allow-links=all allow-addresses=127.0.0.1 on-error=skip redirects=1",
                 link, "more than 1 times");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *uri = g_strconcat (base, rows[i].from, NULL);

    check_refused (loopback, uri, rows[i].words);
  }
  {
    g_autofree char *uri = g_strconcat (base, "/away", NULL);
    guint n = fake_server_get_n_requests (web.server);

    check_refused (only, uri, "does not let pass");
    g_assert_cmpuint (fake_server_get_n_requests (web.server), ==, n + 1);
    g_assert_cmpuint (fake_server_get_n_connections (web.other), ==, 0);
    check_refused ("imagefetch allow-links=all allow-addresses=127.0.0.1 on-error=skip "
                   "redirects=0",
                   uri, "more than 0 times");
    g_assert_cmpuint (fake_server_get_n_connections (web.other), ==, 0);
    check_fetched (loopback, uri, "/there");
    g_assert_cmpuint (fake_server_get_n_connections (web.other), ==, 1);
  }
  web_end (&web);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("HOME", "/nonexistent", TRUE);
  for (guint i = 0; i < 4; i++) /* a proxy would do the connecting */
    g_unsetenv (
        ((const char *const[]){ "http_proxy", "https_proxy", "all_proxy", "ALL_PROXY" })[i]);
  g_test_add_func ("/fetch-web/spellings", test_spellings);
  g_test_add_func ("/fetch-web/allowed", test_allowed);
  g_test_add_func ("/fetch-web/connection-of-others", test_connection_of_others);
  g_test_add_func ("/fetch-web/dead-hosts", test_dead_hosts);
  g_test_add_func ("/fetch-web/redirects", test_redirects);
  return g_test_run ();
}
