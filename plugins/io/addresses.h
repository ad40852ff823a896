/* addresses.h: the addresses of a server: connections are spread over all of them */
#pragma once
#include "hr-sync.h"

G_BEGIN_DECLS

/**
 * HrAddresses:
 *
 * Refcounted, for any thread. A name is resolved in a thread of its own, once a minute while it is
 * used. An address that refuses connections is left alone for a while, as long as there are others.
 */
typedef struct _HrAddresses HrAddresses;

/* of the server of a URL */
HrAddresses *hr_addresses_new (const char *url);
HrAddresses *hr_addresses_ref (HrAddresses *addresses);
void hr_addresses_unref (HrAddresses *addresses);

/**
 * hr_addresses_is_ready:
 * @wake: called with @data in another thread when it may be ready, until hr_addresses_forget()
 *
 * Returns: %FALSE: the name is being resolved, and nothing is known of it yet
 */
gboolean hr_addresses_is_ready (HrAddresses *addresses, void (*wake) (gpointer data), gpointer data,
                                gint64 now);
/* @data is not woken any more */
void hr_addresses_forget (HrAddresses *addresses, gpointer data);

/**
 * hr_addresses_take:
 *
 * Returns: (nullable) (transfer full): that of the live ones which has the fewest requests, as
 *   CURLOPT_CONNECT_TO wants it; %NULL: connect as if there was none of this (an address instead of
 *   a name, a proxy, a name that is not known)
 */
char *hr_addresses_take (HrAddresses *addresses, gint64 now);
/* a request is over; @refused: there was no connection */
void hr_addresses_give (HrAddresses *addresses, const char *taken, gboolean refused, gint64 now);
/* what a name server would say; NULL-terminated, "10.0.0.1", "fd00::1" */
void hr_addresses_set (HrAddresses *addresses, const char *const *texts, gint64 now);

G_END_DECLS
