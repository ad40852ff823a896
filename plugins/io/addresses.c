/* addresses.c: the addresses of a server: connections are spread over all of them */
#include "addresses.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <string.h>

#define SECOND G_GINT64_CONSTANT (1000000000)
/* S3 gives other addresses every few seconds; a connection stays where it is */
#define FRESH (60 * SECOND)
/* after a name server has failed */
#define FAILED (1 * SECOND)
/* an address that has refused is left alone, twice as long each time, at most so long */
#define DEAD_FIRST (5 * SECOND)
#define DEAD_MOST (300 * SECOND)

typedef struct {
  char *text; /* of CURLOPT_CONNECT_TO */
  guint users;
  guint deaths; /* in a row */
  gint64 dead_until;
} Address;

typedef struct {
  void (*wake) (gpointer data);
  gpointer data;
} Waiter;

struct _HrAddresses {
  gint ref_count;
  HrMutex lock;
  char *host; /* NULL: there is nothing to resolve */
  char *port;
  gboolean asking;
  gint64 ask_again; /* 0: nothing is known */
  GPtrArray *list;  /* Address */
  GArray *waiters;  /* Waiter */
};

static void
address_free (gpointer data)
{
  Address *address = data;

  g_free (address->text);
  g_free (address);
}

static gboolean
has_proxy (void)
{
  static const char *const names[] = { "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                       "ALL_PROXY" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    const char *value = g_getenv (names[i]);

    if (value && *value)
      return TRUE;
  }
  return FALSE;
}

static gboolean
is_literal (const char *host)
{
  guint8 bytes[16];

  return *host == '[' || *host == '\0' || inet_pton (AF_INET, host, bytes) == 1;
}

HrAddresses *
hr_addresses_new (const char *url)
{
  HrAddresses *addresses = g_new0 (HrAddresses, 1);
  const char *authority = strstr (url, "://");
  g_autofree char *host = NULL;
  char *colon;

  addresses->ref_count = 1;
  hr_mutex_init (&addresses->lock);
  addresses->list = g_ptr_array_new_with_free_func (address_free);
  addresses->waiters = g_array_new (FALSE, FALSE, sizeof (Waiter));
  authority = authority ? authority + 3 : url;
  host = g_strndup (authority, strcspn (authority, "/?#"));
  if (strchr (host, '@') || has_proxy () || is_literal (host))
    return addresses;
  colon = strrchr (host, ':');
  if (colon)
    *colon++ = '\0';
  if (is_literal (host))
    return addresses;
  addresses->port = g_strdup (colon                                         ? colon
                              : g_ascii_strncasecmp (url, "https:", 6) == 0 ? "443"
                                                                            : "80");
  addresses->host = g_steal_pointer (&host);
  return addresses;
}

HrAddresses *
hr_addresses_ref (HrAddresses *addresses)
{
  g_atomic_int_inc (&addresses->ref_count);
  return addresses;
}

void
hr_addresses_unref (HrAddresses *addresses)
{
  if (!g_atomic_int_dec_and_test (&addresses->ref_count))
    return;
  hr_mutex_clear (&addresses->lock);
  g_ptr_array_unref (addresses->list);
  g_array_unref (addresses->waiters);
  g_free (addresses->host);
  g_free (addresses->port);
  g_free (addresses);
}

/* ---- what the name server says ---- */

static Address *
find (GPtrArray *list, const char *text)
{
  for (guint i = 0; i < list->len; i++) {
    Address *address = list->pdata[i];

    if (strcmp (address->text, text) == 0)
      return address;
  }
  return NULL;
}

/* the lock is held; an address that stays keeps its users and its deaths */
static void
replace (HrAddresses *addresses, const char *const *texts)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (address_free);

  for (; *texts; texts++) {
    g_autofree char *text =
        g_strdup_printf (strchr (*texts, ':') ? "%s:%s:[%s]:%s" : "%s:%s:%s:%s", addresses->host,
                         addresses->port, *texts, addresses->port);
    Address *old = find (addresses->list, text), *address;

    if (find (list, text))
      continue;
    address = g_new0 (Address, 1);
    if (old)
      *address = *old;
    address->text = g_steal_pointer (&text);
    g_ptr_array_add (list, address);
  }
  g_ptr_array_unref (addresses->list);
  addresses->list = list;
}

void
hr_addresses_set (HrAddresses *addresses, const char *const *texts, gint64 now)
{
  hr_mutex_lock (&addresses->lock);
  /* a name server that fails takes nothing away */
  if (*texts)
    replace (addresses, texts);
  addresses->ask_again = now + (*texts ? FRESH : FAILED);
  addresses->asking = FALSE;
  for (guint i = 0; i < addresses->waiters->len; i++) {
    Waiter *waiter = &g_array_index (addresses->waiters, Waiter, i);

    waiter->wake (waiter->data);
  }
  g_array_set_size (addresses->waiters, 0);
  hr_mutex_unlock (&addresses->lock);
}

static gpointer
resolve (gpointer data)
{
  HrAddresses *addresses = data;
  struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *found = NULL;
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);

  if (getaddrinfo (addresses->host, addresses->port, &hints, &found) != 0)
    found = NULL;
  for (struct addrinfo *info = found; info; info = info->ai_next) {
    char text[INET6_ADDRSTRLEN + 32];

    if (getnameinfo (info->ai_addr, info->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST)
        == 0)
      g_ptr_array_add (texts, g_strdup (text));
  }
  if (found)
    freeaddrinfo (found);
  g_ptr_array_add (texts, NULL);
  hr_addresses_set (addresses, (const char *const *)texts->pdata, hr_now ());
  hr_addresses_unref (addresses);
  return NULL;
}

/* ---- who connects ---- */

static gboolean
is_waiting (const HrAddresses *addresses, gconstpointer data)
{
  for (guint i = 0; i < addresses->waiters->len; i++)
    if (g_array_index (addresses->waiters, Waiter, i).data == data)
      return TRUE;
  return FALSE;
}

gboolean
hr_addresses_is_ready (HrAddresses *addresses, void (*wake) (gpointer data), gpointer data,
                       gint64 now)
{
  gboolean ask, ready;

  if (!addresses->host)
    return TRUE;
  hr_mutex_lock (&addresses->lock);
  ask = !addresses->asking && now >= addresses->ask_again;
  addresses->asking |= ask;
  ready = addresses->ask_again > 0;
  if (!ready && !is_waiting (addresses, data)) {
    Waiter waiter = { wake, data };

    g_array_append_val (addresses->waiters, waiter);
  }
  hr_mutex_unlock (&addresses->lock);
  if (ask) /* nobody waits for it: stop() does not wait for a name server */
    g_thread_unref (g_thread_new ("resolve", resolve, hr_addresses_ref (addresses)));
  return ready;
}

void
hr_addresses_forget (HrAddresses *addresses, gpointer data)
{
  hr_mutex_lock (&addresses->lock);
  for (guint i = addresses->waiters->len; i-- > 0;)
    if (g_array_index (addresses->waiters, Waiter, i).data == data)
      g_array_remove_index_fast (addresses->waiters, i);
  hr_mutex_unlock (&addresses->lock);
}

static gboolean
is_better (const Address *a, const Address *b, gint64 now)
{
  gboolean a_dead = a->dead_until > now, b_dead = b->dead_until > now;

  if (a_dead != b_dead)
    return b_dead;
  return a_dead ? a->dead_until < b->dead_until : a->users < b->users;
}

char *
hr_addresses_take (HrAddresses *addresses, gint64 now)
{
  Address *best = NULL;
  char *text = NULL;

  hr_mutex_lock (&addresses->lock);
  for (guint i = 0; i < addresses->list->len; i++)
    if (!best || is_better (addresses->list->pdata[i], best, now))
      best = addresses->list->pdata[i];
  if (best) {
    best->users++;
    text = g_strdup (best->text);
  }
  hr_mutex_unlock (&addresses->lock);
  return text;
}

void
hr_addresses_give (HrAddresses *addresses, const char *taken, gboolean refused, gint64 now)
{
  Address *address;

  hr_mutex_lock (&addresses->lock);
  address = find (addresses->list, taken);
  if (address && address->users > 0)
    address->users--;
  if (address && !refused)
    address->deaths = 0;
  /* those that were under way with the first are no further deaths */
  if (address && refused && address->dead_until <= now) {
    address->dead_until = now + MIN (DEAD_FIRST << MIN (address->deaths, 10), DEAD_MOST);
    address->deaths++;
  }
  hr_mutex_unlock (&addresses->lock);
}
