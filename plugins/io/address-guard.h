/* address-guard.h: which addresses a link of a stranger's may lead to */
#pragma once
#include <gio/gio.h>

G_BEGIN_DECLS

/**
 * HrAddressGuard:
 *
 * Addresses of the public internet, and the networks that the user has named besides. Names are not
 * looked at: they are resolved by whoever they belong to, so the address is, when it is connected
 * to. Immutable, for any thread.
 */
typedef struct _HrAddressGuard HrAddressGuard;

/**
 * hr_address_guard_new:
 * @allow: (nullable): networks besides: "all", or "10.0.0.0/8", "192.168.1.7", "fd00::/8"
 * @error: #HR_PARSE_ERROR_BAD_VALUE: names what is neither
 */
HrAddressGuard *hr_address_guard_new (const char *const *allow, GError **error);
void hr_address_guard_free (HrAddressGuard *guard);

/**
 * hr_address_guard_check:
 * @address: IPv4 or IPv6; an IPv4 address inside an IPv6 one (mapped, NAT64) counts as that
 * @error: #HR_RESOURCE_ERROR_FORBIDDEN: what the address belongs to
 */
gboolean hr_address_guard_check (const HrAddressGuard *guard, GInetAddress *address,
                                 GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrAddressGuard, hr_address_guard_free)

G_END_DECLS
