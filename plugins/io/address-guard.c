/* address-guard.c: which addresses a link of a stranger's may lead to */
#include "address-guard.h"
#include "hr-error.h"
#include <string.h>

typedef struct {
  const char *network;
  const char *what;
} Special;

/* IANA's registries of special-purpose addresses, and one that a cloud answers on with what only
 * its own machines may know. Of IPv6 only 2000::/3 is the internet; the rest is told by name where
 * it has one. The first that fits counts. */
static const Special specials[] = {
  { "0.0.0.0/8", "this machine" },
  { "10.0.0.0/8", "a private network" },
  { "100.64.0.0/10", "a provider's own network" },
  { "127.0.0.0/8", "this machine (loopback)" },
  { "168.63.129.16/32", "a cloud's own services" },
  { "169.254.0.0/16", "the link-local network, where clouds keep their metadata" },
  { "172.16.0.0/12", "a private network" },
  { "192.0.0.0/24", "protocol assignments" },
  { "192.0.2.0/24", "documentation" },
  { "192.88.99.0/24", "relays of 6to4" },
  { "192.168.0.0/16", "a private network" },
  { "198.18.0.0/15", "benchmarks" },
  { "198.51.100.0/24", "documentation" },
  { "203.0.113.0/24", "documentation" },
  { "224.0.0.0/4", "multicast" },
  { "240.0.0.0/4", "nobody (reserved)" },
  { "::1/128", "this machine (loopback)" },
  { "::/128", "this machine" },
  { "fc00::/7", "a private network" },
  { "fe80::/10", "the link-local network" },
  { "ff00::/8", "multicast" },
  { "2001::/23", "protocol assignments and tunnels" },
  { "2001:db8::/32", "documentation" },
  { "2002::/16", "6to4, which hides an IPv4 address" },
  { "3fff::/20", "documentation" },
};

#define N_SPECIALS G_N_ELEMENTS (specials)

struct _HrAddressGuard {
  gboolean all;
  GPtrArray *allowed; /* GInetAddressMask */
  GInetAddressMask *special[N_SPECIALS];
  GInetAddressMask *internet6, *mapped, *nat64;
};

static GInetAddressMask *
mask_of (const char *text)
{
  GInetAddressMask *mask = g_inet_address_mask_new_from_string (text, NULL);

  g_assert (mask != NULL);
  return mask;
}

/* GLib lets its own checks of a length that is no number of bits warn on stderr */
static GInetAddressMask *
parse_network (const char *text)
{
  const char *slash = strchr (text, '/');
  guint64 bits;

  if (slash != NULL && !g_ascii_string_to_unsigned (slash + 1, 10, 0, 128, &bits, NULL))
    return NULL;
  return g_inet_address_mask_new_from_string (text, NULL);
}

HrAddressGuard *
hr_address_guard_new (const char *const *allow, GError **error)
{
  g_autoptr (HrAddressGuard) guard = g_new0 (HrAddressGuard, 1);

  guard->allowed = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < N_SPECIALS; i++)
    guard->special[i] = mask_of (specials[i].network);
  guard->internet6 = mask_of ("2000::/3");
  guard->mapped = mask_of ("::ffff:0:0/96");
  guard->nat64 = mask_of ("64:ff9b::/96");
  for (guint i = 0; allow != NULL && allow[i] != NULL; i++) {
    GInetAddressMask *mask = parse_network (allow[i]);

    if (mask != NULL) {
      g_ptr_array_add (guard->allowed, mask);
    } else if (strcmp (allow[i], "all") == 0) {
      guard->all = TRUE;
    } else {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                   "allow-addresses does not know \"%s\": it takes all, or addresses and networks "
                   "such as 192.168.1.7, 10.0.0.0/8 and fd00::/8",
                   allow[i]);
      return NULL;
    }
  }
  return g_steal_pointer (&guard);
}

void
hr_address_guard_free (HrAddressGuard *guard)
{
  g_ptr_array_unref (guard->allowed);
  for (guint i = 0; i < N_SPECIALS; i++)
    g_clear_object (&guard->special[i]);
  g_clear_object (&guard->internet6);
  g_clear_object (&guard->mapped);
  g_clear_object (&guard->nat64);
  g_free (guard);
}

/* the IPv4 address that is meant, if one stands in the last four bytes */
static GInetAddress *
unwrap (const HrAddressGuard *guard, GInetAddress *address)
{
  if (g_inet_address_mask_matches (guard->mapped, address)
      || g_inet_address_mask_matches (guard->nat64, address))
    return g_inet_address_new_from_bytes (g_inet_address_to_bytes (address) + 12,
                                          G_SOCKET_FAMILY_IPV4);
  return g_object_ref (address);
}

/* NULL: the internet */
static const char *
belongs_to (const HrAddressGuard *guard, GInetAddress *address)
{
  for (guint i = 0; i < N_SPECIALS; i++)
    if (g_inet_address_mask_matches (guard->special[i], address))
      return specials[i].what;
  if (g_inet_address_get_family (address) == G_SOCKET_FAMILY_IPV6
      && !g_inet_address_mask_matches (guard->internet6, address))
    return "no public network";
  return NULL;
}

gboolean
hr_address_guard_check (const HrAddressGuard *guard, GInetAddress *given, GError **error)
{
  g_autoptr (GInetAddress) address = unwrap (guard, given);
  g_autofree char *text = NULL;
  const char *what;

  for (guint i = 0; i < guard->allowed->len; i++)
    if (g_inet_address_mask_matches (guard->allowed->pdata[i], address))
      return TRUE;
  if (guard->all || (what = belongs_to (guard, address)) == NULL)
    return TRUE;
  text = g_inet_address_to_string (address);
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN,
               "leads to %s, which belongs to %s; allow-addresses=%s would let it pass", text, what,
               text);
  return FALSE;
}
