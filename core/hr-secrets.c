/* hr-secrets.c: links are shown without passwords and signatures */
#include "hr-secrets.h"
#include <string.h>

/* is it a parameter whose value may let others in, of a presigned link or another? As the server
 * reads it; no list of names is whole, so parts of them count */
static gboolean
is_secret (const char *name, gsize length)
{
  static const char *const names[] = { "sig", "key", "pwd", "jwt", "googleaccessid", NULL };
  static const char *const parts[] = { "signature",  "credential", "token",    "secret",  "passw",
                                       "auth",       "session",    "apikey",   "api_key", "api-key",
                                       "access_key", "access-key", "accesskey" };
  g_autofree char *decoded = g_uri_unescape_segment (name, name + length, NULL);
  g_autofree char *lower = g_ascii_strdown (decoded ? decoded : "", -1);

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (strstr (lower, parts[i]) != NULL)
      return TRUE;
  return g_strv_contains (names, lower);
}

/* behind the "://" of @shown: do parameters follow the path? Names of files and keys may hold
 * anything */
static gboolean
has_parameters (const GString *shown)
{
  return !g_str_has_suffix (shown->str, "s3://") && !g_str_has_suffix (shown->str, "S3://")
         && !g_str_has_suffix (shown->str, "file://");
}

/* bytes of "user:password" at @host, in front of its "@" */
static gsize
user_length (const char *host, const char *ends)
{
  g_autofree char *stops = g_strconcat ("/?#", ends, NULL);
  const char *at = g_strrstr_len (host, (gssize)strcspn (host, stops), "@");

  return at != NULL ? (gsize)(at - host) : 0;
}

/* bytes of "name=" at @name, if a secret follows */
static gsize
secret_name_length (const char *name)
{
  gsize length = strcspn (name, "=&;?# \t\r\n\"'<>");

  return name[length] == '=' && is_secret (name, length) ? length + 1 : 0;
}

static void
add_hidden (GString *shown, gsize length, HrSecretsIn in)
{
  if (in != HR_SECRETS_IN_PLACE)
    g_string_append (shown, "…");
  for (gsize i = 0; in == HR_SECRETS_IN_PLACE && i < length; i++)
    g_string_append_c (shown, '*');
}

char *
hr_secrets_hide (const char *text, HrSecretsIn in)
{
  const char *ends = in == HR_SECRETS_IN_VALUE ? "" : " \t\r\n\"'<>";
  g_autofree char *value_ends = g_strconcat ("&;?#", ends, NULL);
  GString *shown = g_string_new (NULL);
  gboolean parameters = FALSE; /* in a link that may have them */
  gsize length;

  while (*text != '\0') {
    if (g_str_has_prefix (text, "://")) {
      g_string_append_len (shown, text, 3);
      text += 3;
      parameters = has_parameters (shown);
      length = user_length (text, ends);
    } else {
      if (strchr (ends, *text) != NULL)
        parameters = FALSE;
      g_string_append_c (shown, *text);
      length = parameters && strchr ("?#&;", *text) != NULL ? secret_name_length (text + 1) : 0;
      text++;
      if (length == 0)
        continue;
      g_string_append_len (shown, text, (gssize)length);
      text += length;
      length = g_str_has_prefix (text, "…") ? 0 : strcspn (text, value_ends);
      /* "https://h/?token=1: HTTP 403" */
      while (in != HR_SECRETS_IN_VALUE && length > 0 && strchr (":,.)", text[length - 1]) != NULL)
        length--;
    }
    if (length > 0)
      add_hidden (shown, length, in);
    text += length;
  }
  return g_string_free (shown, FALSE);
}
