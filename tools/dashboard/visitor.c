/* visitor.c: who may look at a dashboard */
#include "visitor.h"
#include <gio/gio.h>
#include <string.h>

gboolean
visitor_host_is_local (const char *host)
{
  g_autoptr (GInetAddress) address = NULL;

  if (g_ascii_strcasecmp (host, "localhost") == 0)
    return TRUE;
  address = g_inet_address_new_from_string (host);
  return address != NULL && g_inet_address_get_is_loopback (address);
}

/* in a time that says nothing of where they differ */
static gboolean
same_token (const char *given, const char *token)
{
  gsize length = strlen (token);
  guint8 differ = 0;

  if (strlen (given) != length)
    return FALSE;
  for (gsize i = 0; i < length; i++)
    differ |= (guint8)(given[i] ^ token[i]);
  return differ == 0;
}

static gboolean
knows_token (SoupServerMessage *message, GHashTable *query, const char *token)
{
  SoupMessageHeaders *headers = soup_server_message_get_request_headers (message);
  const char *given = soup_message_headers_get_one (headers, "Authorization");
  gboolean found = FALSE;

  if (given != NULL && g_ascii_strncasecmp (given, "Bearer ", 7) == 0
      && same_token (given + 7, token))
    return TRUE;
  given = query != NULL ? g_hash_table_lookup (query, "token") : NULL;
  if (given != NULL && same_token (given, token))
    return TRUE;
  given = soup_message_headers_get_list (headers, "Cookie");
  if (given != NULL) {
    g_auto (GStrv) parts = g_strsplit (given, ";", -1);

    for (char **part = parts; !found && *part != NULL; part++) {
      const char *one = g_strstrip (*part);

      found = g_str_has_prefix (one, "headrace=") && same_token (one + strlen ("headrace="), token);
    }
  }
  return found;
}

gboolean
visitor_may_look (SoupServerMessage *message, GHashTable *query, const char *token)
{
  const char *host;
  g_autoptr (GUri) uri = NULL;
  g_autofree char *text = NULL;

  if (token != NULL)
    return knows_token (message, query, token);
  host = soup_message_headers_get_one (soup_server_message_get_request_headers (message), "Host");
  if (host == NULL)
    return FALSE;
  text = g_strconcat ("http://", host, "/", NULL);
  uri = g_uri_parse (text, G_URI_FLAGS_NONE, NULL);
  return uri != NULL && g_uri_get_host (uri) != NULL
         && visitor_host_is_local (g_uri_get_host (uri));
}
