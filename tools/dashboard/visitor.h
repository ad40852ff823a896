/* visitor.h: who may look at a dashboard */
#pragma once
#include <libsoup/soup.h>

/* Is it an address of this machine itself: 127.0.0.0/8, ::1, localhost? */
gboolean visitor_host_is_local (const char *host);
/**
 * visitor_may_look:
 * @token: (nullable): what has to be known; %NULL: whoever is on this machine may look
 * @query: (nullable): of the URI
 *
 * With a token: in "Authorization: Bearer", in ?token=, or in the cookie that the page sets.
 * Without one the Host has to be this machine by one of its own names: else a page from anywhere
 * could have its name point here, and read along (DNS rebinding).
 */
gboolean visitor_may_look (SoupServerMessage *message, GHashTable *query, const char *token);
