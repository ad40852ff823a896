/* endpoint.h: what is known of a server, by all clients of the process */
#pragma once
#include "addresses.h"
#include "hedge.h"
#include "pace.h"
#include "retry-bucket.h"

G_BEGIN_DECLS

typedef struct {
  char *name; /* "https://host:443" */
  HrRetryBucket bucket;
  HrPace pace;
  HrHedge hedge;
  HrAddresses *addresses;
  /*< private >*/
  guint users;
} HrEndpoint;

/* the server of a URL; (transfer full) */
HrEndpoint *hr_endpoint_get (const char *url);
/* what is known of it stays for a while */
void hr_endpoint_release (HrEndpoint *endpoint);
/* is it the server of @url? */
gboolean hr_endpoint_is_of (const HrEndpoint *endpoint, const char *url);
/* hr_addresses_forget() of all */
void hr_endpoint_forget (gpointer data);
/* how many are remembered */
guint hr_endpoint_get_n (void);

G_END_DECLS
