/* dashboard.c: a page in the browser, and numbers for Prometheus, of a run */
#include "dashboard.h"
#include <libsoup/soup.h>
#include <string.h>
#include "door.h"
#include "hr-json.h"
#include "history.h"
#include "metrics.h"
#include "visitor.h"

#define FIRST_PORT 8707
#define N_PORTS 32 /* as many ranks of one machine find a port each */
#define LEAST_TOKEN 16
/* ms: a page asks once a second, so one that looks is told how the run has ended, and asks again;
 * one on a busy machine is late */
#define FAREWELL 1500
#define MOST_FAREWELL 10000
#define LOOKING (10 * G_USEC_PER_SEC)

/* nothing from elsewhere, nothing inline, in no frame of others */
#define POLICY                                                                                     \
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "   \
  "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct _Dashboard {
  DashboardStats stats;
  gpointer data;
  char *token, *uri;
  History *history;
  GMainContext *context;
  GMainLoop *loop;
  SoupServer *server;
  Door *door;
  GThread *thread;
  /* by the thread */
  gint64 asked;      /* when a page last did */
  gboolean told;     /* and it knows how the run has ended */
  gboolean farewell; /* it is over */
};

/* ---- what is served ---- */

static JsonNode *
read_stats (Dashboard *self)
{
  g_autofree char *text = self->stats (self->data);

  return json_from_string (text, NULL);
}

/* one sentence, or two: of the last seconds while there are some, then of the whole run */
static char *
verdict_words (JsonObject *stats)
{
  JsonNode *node = json_object_get_member (stats, "recent");
  JsonObject *bottleneck;
  const char *element, *kind, *advice = NULL;

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    stats = json_node_get_object (node);
  node = json_object_get_member (stats, "bottleneck");
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return g_strdup ("Nothing has run long enough to tell.");
  bottleneck = json_node_get_object (node);
  element = json_object_get_string_member (bottleneck, "element");
  kind = json_object_get_string_member (bottleneck, "kind");
  if (strcmp (kind, "trainer") == 0)
    return g_strdup ("The data is there in time: the trainer itself is what takes the time.");
  node = json_object_get_member (stats, "advice");
  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    advice = json_object_get_string_member (json_node_get_object (node), "text");
  /* of nodes: it says all of it */
  if (advice != NULL && json_object_has_member (bottleneck, "node"))
    return g_strdup_printf ("%c%s.", g_ascii_toupper (*advice), *advice != '\0' ? advice + 1 : "");
  return g_strdup_printf ("The trainer waits for %s (%s)%s%s.", element, kind,
                          advice != NULL ? ": " : "", advice != NULL ? advice : "");
}

static gboolean
is_over (JsonObject *stats)
{
  const char *status = json_object_get_string_member (stats, "status");

  return strcmp (status, "not-started") != 0 && strcmp (status, "running") != 0;
}

static char *
stats_json (Dashboard *self)
{
  g_autoptr (JsonNode) stats = read_stats (self);
  g_autoptr (JsonBuilder) json = json_builder_new ();
  g_autoptr (JsonNode) more = NULL;
  g_autofree char *words = verdict_words (json_node_get_object (stats));
  JsonObject *from;
  g_autoptr (GList) names = NULL;

  json_builder_begin_object (json);
  json_builder_set_member_name (json, "verdict");
  json_builder_add_string_value (json, words);
  history_write (self->history, json);
  json_builder_end_object (json);
  more = json_builder_get_root (json);
  from = json_node_get_object (more);
  self->told = is_over (json_node_get_object (stats));
  names = json_object_get_members (from);
  for (const GList *item = names; item != NULL; item = item->next)
    json_object_set_member (json_node_get_object (stats), item->data,
                            json_object_dup_member (from, item->data));
  return hr_json_write (stats, FALSE);
}

static gboolean
is_well (JsonObject *stats)
{
  const char *status = json_object_get_string_member (stats, "status");

  return strcmp (status, "failed") != 0 && strcmp (status, "stopped") != 0;
}

static void
answer (SoupServerMessage *message, guint status, const char *type, char *body)
{
  SoupMessageHeaders *headers = soup_server_message_get_response_headers (message);

  soup_message_headers_replace (headers, "Content-Security-Policy", POLICY);
  soup_message_headers_replace (headers, "X-Content-Type-Options", "nosniff");
  soup_message_headers_replace (headers, "Referrer-Policy", "no-referrer");
  soup_message_headers_replace (headers, "Cache-Control", "no-store");
  soup_server_message_set_status (message, status, NULL);
  soup_server_message_set_response (message, type, SOUP_MEMORY_TAKE, body, strlen (body));
}

static void
answer_file (SoupServerMessage *message, const char *name, const char *type)
{
  g_autofree char *path = g_strconcat ("/headrace/dashboard/", name, NULL);
  g_autoptr (GBytes) bytes = g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

  g_assert (bytes != NULL);
  answer (message, SOUP_STATUS_OK, type,
          g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)));
}

/* the page asks for the rest without the token in its address */
static void
set_cookie (Dashboard *self, SoupServerMessage *message)
{
  g_autofree char *cookie = NULL;

  if (self->token == NULL)
    return;
  cookie = g_strdup_printf ("headrace=%s; HttpOnly; SameSite=Strict; Path=/", self->token);
  soup_message_headers_append (soup_server_message_get_response_headers (message), "Set-Cookie",
                               cookie);
}

static void
answer_health (Dashboard *self, SoupServerMessage *message)
{
  g_autoptr (JsonNode) stats = read_stats (self);
  JsonObject *object = json_node_get_object (stats);

  answer (message, is_well (object) ? SOUP_STATUS_OK : SOUP_STATUS_SERVICE_UNAVAILABLE,
          "text/plain; charset=utf-8",
          g_strdup_printf ("%s\n", json_object_get_string_member (object, "status")));
}

static void
answer_metrics (Dashboard *self, SoupServerMessage *message)
{
  g_autoptr (JsonNode) stats = read_stats (self);

  answer (message, SOUP_STATUS_OK, "text/plain; version=0.0.4; charset=utf-8",
          dashboard_metrics (json_node_get_object (stats)));
}

/* nothing here reads what is sent, so it is not kept either */
static void
pass_body (SoupServer *server G_GNUC_UNUSED, SoupServerMessage *message,
           const char *path G_GNUC_UNUSED, GHashTable *query G_GNUC_UNUSED,
           gpointer data G_GNUC_UNUSED)
{
  soup_message_body_set_accumulate (soup_server_message_get_request_body (message), FALSE);
}

static gboolean
quit (gpointer data)
{
  g_main_loop_quit (((Dashboard *)data)->loop);
  return G_SOURCE_REMOVE;
}

static void
quit_in (Dashboard *self, guint ms)
{
  g_autoptr (GSource) end = g_timeout_source_new (ms);

  g_source_set_callback (end, quit, self, NULL);
  g_source_attach (end, self->context);
}

static void
handle (SoupServer *server G_GNUC_UNUSED, SoupServerMessage *message, const char *path,
        GHashTable *query, gpointer data)
{
  Dashboard *self = data;
  const char *method = soup_server_message_get_method (message);

  if (strcmp (path, "/healthz") != 0 && !visitor_may_look (message, query, self->token)) {
    answer (message, SOUP_STATUS_FORBIDDEN, "text/plain; charset=utf-8",
            g_strdup (self->token != NULL
                          ? "This dashboard needs its token: in the address that the run has "
                            "told, or as \"Authorization: Bearer TOKEN\".\n"
                          : "This dashboard answers to names of this machine only, such as "
                            "localhost.\n"));
    return;
  }
  if (strcmp (method, SOUP_METHOD_GET) != 0 && strcmp (method, SOUP_METHOD_HEAD) != 0) {
    soup_message_headers_replace (soup_server_message_get_response_headers (message), "Allow",
                                  "GET, HEAD");
    answer (message, SOUP_STATUS_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8",
            g_strdup ("There is nothing to be changed here: GET and HEAD only.\n"));
    return;
  }
  if (strcmp (path, "/") == 0) {
    set_cookie (self, message);
    answer_file (message, "page.html", "text/html; charset=utf-8");
  } else if (strcmp (path, "/page.js") == 0) {
    answer_file (message, "page.js", "text/javascript; charset=utf-8");
  } else if (strcmp (path, "/page.css") == 0) {
    answer_file (message, "page.css", "text/css; charset=utf-8");
  } else if (strcmp (path, "/stats.json") == 0) {
    self->asked = g_get_monotonic_time ();
    answer (message, SOUP_STATUS_OK, "application/json", stats_json (self));
    if (self->farewell)
      quit_in (self, FAREWELL);
  } else if (strcmp (path, "/metrics") == 0) {
    answer_metrics (self, message);
  } else if (strcmp (path, "/healthz") == 0) {
    answer_health (self, message);
  } else {
    answer (message, SOUP_STATUS_NOT_FOUND, "text/plain; charset=utf-8",
            g_strdup ("Not found. There are / /stats.json /metrics /healthz.\n"));
  }
}

/* ---- where ---- */

/* FALSE: no port */
static gboolean
split_where (const char *where, char **host, guint *port, gboolean *any)
{
  g_autoptr (GUri) uri = NULL;
  g_autofree char *text = g_strdup_printf ("http://%s%s/", *where == ':' ? "127.0.0.1" : "", where);

  *any = FALSE;
  if (*where == '\0') {
    *host = g_strdup ("127.0.0.1");
    *port = FIRST_PORT;
    *any = TRUE;
    return TRUE;
  }
  uri = g_uri_parse (text, G_URI_FLAGS_NONE, NULL);
  if (uri == NULL || g_uri_get_host (uri) == NULL || *g_uri_get_host (uri) == '\0'
      || strcmp (g_uri_get_path (uri), "/") != 0)
    return FALSE;
  *host = g_strdup (g_uri_get_host (uri));
  *any = g_uri_get_port (uri) == -1;
  *port = *any ? FIRST_PORT : (guint)g_uri_get_port (uri);
  return TRUE;
}

static GInetAddress *
find_address (const char *host, GError **error)
{
  g_autoptr (GResolver) resolver = g_resolver_get_default ();
  GList *addresses = g_resolver_lookup_by_name (resolver, host, NULL, error);
  GInetAddress *first = addresses != NULL ? g_object_ref (addresses->data) : NULL;

  g_resolver_free_addresses (addresses);
  return first;
}

static void
note_uri (Dashboard *self, GInetAddress *address)
{
  g_autofree char *host = g_inet_address_to_string (address);
  g_autofree char *token =
      g_uri_escape_string (self->token != NULL ? self->token : "", NULL, FALSE);
  gboolean v6 = g_inet_address_get_family (address) == G_SOCKET_FAMILY_IPV6;

  self->uri =
      g_strdup_printf ("http://%s%s%s:%u/%s%s", v6 ? "[" : "", host, v6 ? "]" : "",
                       door_get_port (self->door), self->token != NULL ? "?token=" : "", token);
}

static gboolean
listen_at (Dashboard *self, const char *where, GError **error)
{
  g_autofree char *host = NULL;
  g_autoptr (GInetAddress) address = NULL;
  guint port, last;
  gboolean any, done = FALSE;

  if (!split_where (where, &host, &port, &any)) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "\"%s\" is not HOST:PORT, such as 127.0.0.1:%u", where, FIRST_PORT);
    return FALSE;
  }
  address = find_address (host, error);
  if (address == NULL) {
    g_prefix_error (error, "%s: ", host);
    return FALSE;
  }
  if (!g_inet_address_get_is_loopback (address)
      && (self->token == NULL || strlen (self->token) < LEAST_TOKEN)) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "%s can be reached from elsewhere, so whoever looks has to know a "
                 "token: put one of %u characters or more into HR_DASHBOARD_TOKEN",
                 host, LEAST_TOKEN);
    return FALSE;
  }
  for (last = any ? port + N_PORTS - 1 : port; !done && port <= last; port++) {
    g_clear_error (error);
    self->door = door_new (self->server, address, (guint16)port, error);
    done = self->door != NULL;
    if (!done && error != NULL && !g_error_matches (*error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE))
      break;
  }
  if (!done) {
    g_prefix_error (error, "%s:%u: ", host, MIN (port, last));
    return FALSE;
  }
  note_uri (self, address);
  return TRUE;
}

/* ---- life ---- */

static gboolean
note_row (gpointer data)
{
  Dashboard *self = data;
  g_autoptr (JsonNode) stats = read_stats (self);

  history_add (self->history, json_node_get_object (stats));
  return G_SOURCE_CONTINUE;
}

static gpointer
serve (gpointer data)
{
  Dashboard *self = data;
  g_autoptr (GSource) second = g_timeout_source_new (1000);

  g_main_context_push_thread_default (self->context);
  g_source_set_callback (second, note_row, self, NULL);
  g_source_attach (second, self->context);
  g_main_loop_run (self->loop);
  g_source_destroy (second);
  soup_server_disconnect (self->server);
  g_main_context_pop_thread_default (self->context);
  return NULL;
}

Dashboard *
dashboard_new (DashboardStats stats, gpointer data, const char *where, const char *token,
               GError **error)
{
  g_autoptr (Dashboard) self = g_new0 (Dashboard, 1);
  g_autoptr (GError) own = NULL;
  gboolean listens;

  self->stats = stats;
  self->data = data;
  self->token = token != NULL && *token != '\0' ? g_strdup (token) : NULL;
  self->history = history_new ();
  self->context = g_main_context_new ();
  self->loop = g_main_loop_new (self->context, FALSE);
  g_main_context_push_thread_default (self->context);
  self->server = soup_server_new ("server-header", "headrace", NULL);
  soup_server_add_early_handler (self->server, NULL, pass_body, NULL, NULL);
  soup_server_add_handler (self->server, NULL, handle, self, NULL);
  listens = listen_at (self, where, &own);
  g_main_context_pop_thread_default (self->context);
  if (!listens) {
    g_propagate_error (error, g_steal_pointer (&own));
    return NULL;
  }
  self->thread = g_thread_try_new ("dashboard", serve, self, error);
  return self->thread != NULL ? g_steal_pointer (&self) : NULL;
}

const char *
dashboard_get_uri (Dashboard *self)
{
  return self->uri;
}

void
dashboard_note (Dashboard *self, const char *kind, const char *text)
{
  history_note (self->history, kind, text);
}

/* who looks sees the last numbers, and whether it ended or failed */
static gboolean
say_farewell (gpointer data)
{
  Dashboard *self = data;
  gboolean seen = self->asked > 0 && g_get_monotonic_time () - self->asked < LOOKING;

  self->farewell = TRUE;
  quit_in (self, !seen ? 0 : self->told ? FAREWELL : MOST_FAREWELL);
  return G_SOURCE_REMOVE;
}

void
dashboard_free (Dashboard *self)
{
  if (self->thread != NULL) {
    /* not before it runs: quit() would be forgotten */
    GSource *end = g_idle_source_new ();

    g_source_set_callback (end, say_farewell, self, NULL);
    g_source_attach (end, self->context);
    g_source_unref (end);
    g_thread_join (self->thread);
  }
  g_clear_object (&self->server);
  g_main_loop_unref (self->loop);
  g_main_context_unref (self->context);
  g_clear_pointer (&self->door, door_free);
  history_free (self->history);
  g_free (self->token);
  g_free (self->uri);
  g_free (self);
}
