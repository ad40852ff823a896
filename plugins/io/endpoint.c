/* endpoint.c: what is known of a server, by all clients of the process */
#include "endpoint.h"
#include "hr-process.h"
#include <string.h>

/* servers that are remembered though nobody talks to them: links may lead to millions */
#define MOST_IDLE 256

typedef struct {
  HrMutex lock;
  GHashTable *endpoints; /* by name */
} Registry;

static gpointer
create_registry (void)
{
  Registry *registry = g_new0 (Registry, 1);

  hr_mutex_init (&registry->lock);
  registry->endpoints = g_hash_table_new (g_str_hash, g_str_equal);
  return registry;
}

static Registry *
get_registry (void)
{
  return hr_process_get ("io-endpoints " HR_VERSION, create_registry);
}

/* of "scheme://host:port" */
static gsize
name_length (const char *url)
{
  const char *host = strstr (url, "://");

  host = host ? host + 3 : url;
  return host - url + strcspn (host, "/?#");
}

static HrEndpoint *
endpoint_new (char *name)
{
  HrEndpoint *endpoint = g_new0 (HrEndpoint, 1);

  endpoint->name = name;
  hr_retry_bucket_init (&endpoint->bucket, hr_now ());
  hr_pace_init (&endpoint->pace);
  hr_hedge_init (&endpoint->hedge);
  endpoint->addresses = hr_addresses_new (endpoint->name);
  return endpoint;
}

static void
endpoint_free (HrEndpoint *endpoint)
{
  hr_retry_bucket_clear (&endpoint->bucket);
  hr_pace_clear (&endpoint->pace);
  hr_hedge_clear (&endpoint->hedge);
  hr_addresses_unref (endpoint->addresses);
  g_free (endpoint->name);
  g_free (endpoint);
}

static gboolean
drop_idle (gpointer name G_GNUC_UNUSED, gpointer value, gpointer unused G_GNUC_UNUSED)
{
  HrEndpoint *endpoint = value;

  if (endpoint->users > 0)
    return FALSE;
  endpoint_free (endpoint);
  return TRUE;
}

HrEndpoint *
hr_endpoint_get (const char *url)
{
  Registry *registry = get_registry ();
  g_autofree char *name = g_ascii_strdown (url, name_length (url));
  HrEndpoint *endpoint;

  hr_mutex_lock (&registry->lock);
  endpoint = g_hash_table_lookup (registry->endpoints, name);
  if (!endpoint) {
    if (g_hash_table_size (registry->endpoints) >= MOST_IDLE)
      g_hash_table_foreach_remove (registry->endpoints, drop_idle, NULL);
    endpoint = endpoint_new (g_steal_pointer (&name));
    g_hash_table_insert (registry->endpoints, endpoint->name, endpoint);
  }
  endpoint->users++;
  hr_mutex_unlock (&registry->lock);
  return endpoint;
}

void
hr_endpoint_release (HrEndpoint *endpoint)
{
  Registry *registry = get_registry ();

  hr_mutex_lock (&registry->lock);
  endpoint->users--;
  hr_mutex_unlock (&registry->lock);
}

gboolean
hr_endpoint_is_of (const HrEndpoint *endpoint, const char *url)
{
  gsize length = name_length (url);

  return g_ascii_strncasecmp (endpoint->name, url, length) == 0 && endpoint->name[length] == '\0';
}

void
hr_endpoint_forget (gpointer data)
{
  Registry *registry = get_registry ();
  GHashTableIter iter;
  gpointer endpoint;

  hr_mutex_lock (&registry->lock);
  g_hash_table_iter_init (&iter, registry->endpoints);
  while (g_hash_table_iter_next (&iter, NULL, &endpoint))
    hr_addresses_forget (((HrEndpoint *)endpoint)->addresses, data);
  hr_mutex_unlock (&registry->lock);
}

guint
hr_endpoint_get_n (void)
{
  Registry *registry = get_registry ();
  guint n;

  hr_mutex_lock (&registry->lock);
  n = g_hash_table_size (registry->endpoints);
  hr_mutex_unlock (&registry->lock);
  return n;
}
