/* test-address-guard.c: which addresses are public, in each way they can be written */
#include "address-guard.h"
#include "hr-error.h"
#include <string.h>

static void
check (const HrAddressGuard *guard, const char *text, const char *what)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (text);
  g_autoptr (GError) error = NULL;

  g_test_message ("%s", text);
  g_assert_nonnull (address);
  g_assert_cmpint (hr_address_guard_check (guard, address, &error), ==, what == NULL);
  if (what == NULL)
    return;
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN);
  g_assert_nonnull (strstr (error->message, what));
  g_assert_nonnull (strstr (error->message, "allow-addresses="));
}

static void
test_public (void)
{
  static const char *const good[] = {
    "1.1.1.1",         "9.255.255.255",   "11.0.0.0",       "100.63.255.255",  "100.128.0.0",
    "126.255.255.255", "128.0.0.0",       "169.253.0.1",    "169.255.0.1",     "172.15.255.255",
    "172.32.0.0",      "192.167.255.255", "192.169.0.0",    "223.255.255.255", "168.63.129.15",
    "2600:1901::1",    "2a00:1450::1",    "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"
  };
  g_autoptr (HrAddressGuard) guard = hr_address_guard_new (NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    check (guard, good[i], NULL);
}

static void
test_special (void)
{
  static const struct {
    const char *address, *what;
  } rows[] = { { "0.0.0.0", "this machine" },
               { "0.1.2.3", "this machine" },
               { "10.0.0.1", "private" },
               { "10.255.255.255", "private" },
               { "100.64.0.0", "provider" },
               { "100.100.100.200", "provider" },
               { "127.0.0.1", "loopback" },
               { "127.255.255.255", "loopback" },
               { "168.63.129.16", "cloud" },
               { "169.254.169.254", "metadata" },
               { "169.254.170.2", "metadata" },
               { "172.16.0.0", "private" },
               { "172.31.255.255", "private" },
               { "192.168.0.1", "private" },
               { "198.19.255.255", "benchmarks" },
               { "224.0.0.1", "multicast" },
               { "255.255.255.255", "reserved" },
               { "::", "this machine" },
               { "::1", "loopback" },
               { "::127.0.0.1", "no public" },
               { "::ffff:127.0.0.1", "loopback" },
               { "::ffff:169.254.169.254", "metadata" },
               { "::ffff:a9fe:a9fe", "metadata" },
               { "64:ff9b::169.254.169.254", "metadata" },
               { "64:ff9b::10.0.0.1", "private" },
               { "64:ff9b:1::1", "no public" },
               { "fd00:ec2::254", "private" },
               { "fe80::1", "link-local" },
               { "ff02::1", "multicast" },
               { "2001:db8::1", "documentation" },
               { "2001::1", "tunnels" },
               { "2002:7f00:1::", "6to4" },
               { "4000::1", "no public" } };
  static const char *const all[] = { "all", NULL };
  g_autoptr (HrAddressGuard) guard = hr_address_guard_new (NULL, NULL);
  g_autoptr (HrAddressGuard) open = hr_address_guard_new (all, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    check (guard, rows[i].address, rows[i].what);
    check (open, rows[i].address, NULL);
  }
}

static void
test_allowed (void)
{
  static const char *const networks[] = { "10.1.0.0/16", "127.0.0.1", "fd00::/8", NULL };
  static const char *const bad[] = { "localhost", "10.0.0.0/33", "10.0.0.1/8", "",  "any",  "10.",
                                     "::1/129",   "10.0.0.0/-1", "10.0.0.0/",  "/", "::/ 8" };
  g_autoptr (HrAddressGuard) guard = hr_address_guard_new (networks, NULL);

  check (guard, "10.1.255.1", NULL);
  check (guard, "10.2.0.1", "private");
  check (guard, "127.0.0.1", NULL);
  check (guard, "::ffff:127.0.0.1", NULL);
  check (guard, "127.0.0.2", "loopback");
  check (guard, "fd12::1", NULL);
  check (guard, "fc12::1", "private");
  check (guard, "8.8.8.8", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    const char *const words[] = { "10.0.0.0/8", bad[i], NULL };
    g_autoptr (GError) error = NULL;

    g_test_message ("%s", bad[i]);
    g_assert_null (hr_address_guard_new (words, &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
    g_assert_nonnull (strstr (error->message, bad[i]));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/address-guard/public", test_public);
  g_test_add_func ("/address-guard/special", test_special);
  g_test_add_func ("/address-guard/allowed", test_allowed);
  return g_test_run ();
}
