/* test-endpoint.c: which URLs are of one server, and how long it is remembered */
#include "endpoint.h"

static void
test_names (void)
{
  HrEndpoint *a = hr_endpoint_get ("https://Host.example/bucket/key?a://b"),
             *b = hr_endpoint_get ("https://host.example?list"),
             *c = hr_endpoint_get ("https://host.example:444/bucket"),
             *d = hr_endpoint_get ("http://host.example/bucket");

  g_assert_cmpstr (a->name, ==, "https://host.example");
  g_assert_true (a == b);
  g_assert_true (a != c && a != d && c != d);
  g_assert_true (hr_endpoint_is_of (a, "https://HOST.example/x"));
  g_assert_false (hr_endpoint_is_of (a, "https://host.example.org/x"));
  g_assert_false (hr_endpoint_is_of (a, "https://host.exampl"));
  g_assert_false (hr_endpoint_is_of (a, "https://host.example:444/"));
  hr_endpoint_release (a);
  hr_endpoint_release (b);
  hr_endpoint_release (c);
  hr_endpoint_release (d);
}

/* thousands of hosts do not stay; those in use do */
static void
test_many (void)
{
  HrEndpoint *kept = hr_endpoint_get ("https://kept/"), *again;

  hr_retry_bucket_take (&kept->bucket, 100, 0);
  for (guint i = 0; i < 5000; i++) {
    g_autofree char *url = g_strdup_printf ("https://host-%u/x", i);

    hr_endpoint_release (hr_endpoint_get (url));
  }
  g_assert_cmpuint (hr_endpoint_get_n (), <=, 256);
  again = hr_endpoint_get ("https://kept/x");
  g_assert_true (again == kept);
  g_assert_cmpuint (hr_retry_bucket_get (&again->bucket), ==, HR_RETRY_BUCKET_TOKENS - 100);
  hr_endpoint_release (again);
  hr_endpoint_release (kept);
  /* and for a while those that are not */
  again = hr_endpoint_get ("https://kept/y");
  g_assert_cmpuint (hr_retry_bucket_get (&again->bucket), ==, HR_RETRY_BUCKET_TOKENS - 100);
  hr_endpoint_release (again);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/endpoint/names", test_names);
  g_test_add_func ("/io/endpoint/many", test_many);
  return g_test_run ();
}
