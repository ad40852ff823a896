/* s3-keys.c: keys to sign with, and until when they are good */
#include "s3-keys.h"
#include "hr-error.h"
#include <json-glib/json-glib.h>
#include <string.h>

/* a document of keys has one or two thousand; the parser of a deeper one would need much stack */
#define MAX_BYTES (32 * 1024)

void
hr_s3_keys_copy (const HrS3Keys *keys, HrS3Keys *into)
{
  *into = (HrS3Keys){ g_strdup (keys->access_key), g_strdup (keys->secret_key),
                      g_strdup (keys->session_token), keys->expires };
}

void
hr_s3_keys_clear (HrS3Keys *keys)
{
  g_clear_pointer (&keys->access_key, g_free);
  g_clear_pointer (&keys->secret_key, g_free);
  g_clear_pointer (&keys->session_token, g_free);
}

gboolean
hr_s3_keys_equal (const HrS3Keys *a, const HrS3Keys *b)
{
  return g_strcmp0 (a->access_key, b->access_key) == 0
         && g_strcmp0 (a->secret_key, b->secret_key) == 0
         && g_strcmp0 (a->session_token, b->session_token) == 0;
}

/* shorter ones are tests', and might be part of any word */
#define MIN_SECRET 8
/* bytes of what a server says */
#define MAX_WORDS 400

static void
hide (GString *text, const char *secret)
{
  if (secret && strlen (secret) >= MIN_SECRET)
    (void)g_string_replace (text, secret, "…", 0);
}

/* of "AWS4-HMAC-SHA256 …, Signature=0f…" from the first word on, of "…Signature=0f…" the digits */
static void
hide_signatures (GString *text)
{
  static const char mark[] = "Signature=", header[] = "AWS4-HMAC-";
  gsize start = 0;
  const char *found;

  while ((found = strstr (text->str + start, mark))) {
    const char *begin = g_strstr_len (text->str + start, found - text->str - start, header);
    gsize end = found - text->str + strlen (mark), from = begin ? begin - text->str : (gssize)end;

    end += strspn (text->str + end, "0123456789abcdefABCDEF");
    g_string_erase (text, from, end - from);
    g_string_insert (text, from, "…");
    start = from + strlen ("…");
  }
}

void
hr_s3_keys_hide (const HrS3Keys *keys, GString *text)
{
  hide (text, keys->secret_key);
  hide (text, keys->session_token);
  hide_signatures (text);
}

void
hr_s3_keys_cut (GString *text)
{
  gsize length = MIN (strcspn (text->str, "\r\n"), MAX_WORDS);

  while (length > 0 && length < text->len && ((guchar)text->str[length] & 0xc0) == 0x80)
    length--;
  g_string_truncate (text, length);
}

static gboolean
fail (GError **error, const char *what)
{
  g_set_error_literal (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, what);
  return FALSE;
}

static gboolean
is_printable (const char *text)
{
  for (const char *c = text; *c; c++)
    if ((guchar)*c <= ' ' || (guchar)*c >= 0x7f)
      return FALSE;
  return TRUE;
}

gboolean
hr_s3_keys_check (const HrS3Keys *keys, GError **error)
{
  if (!keys->access_key || !*keys->access_key)
    return fail (error, "the access key is missing");
  if (!keys->secret_key || !*keys->secret_key)
    return fail (error, "the secret key is missing");
  /* what stands in a header line must not end it */
  if (!is_printable (keys->access_key))
    return fail (error, "the access key holds a space, a control character or no ASCII");
  if (keys->session_token && !is_printable (keys->session_token))
    return fail (error, "the session token holds a space, a control character or no ASCII");
  return TRUE;
}

gint64
hr_s3_keys_time (const char *text)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_iso8601 (text, NULL);

  return time ? g_date_time_to_unix (time) : -1;
}

/* (nullable) (transfer none) */
static const char *
get_string (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node && json_node_get_value_type (node) == G_TYPE_STRING ? json_node_get_string (node)
                                                                  : NULL;
}

static gboolean
check_version (JsonObject *object, guint version, GError **error)
{
  JsonNode *node = json_object_get_member (object, "Version");

  if (version == 0
      || (node && json_node_get_value_type (node) == G_TYPE_INT64
          && json_node_get_int (node) == (gint64)version))
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "the JSON has no \"Version\": %u, the one that is known", version);
  return FALSE;
}

static gboolean
take_object (HrS3Keys *keys, JsonObject *object, const char *token_name, GError **error)
{
  const char *expiration = get_string (object, "Expiration");

  keys->access_key = g_strdup (get_string (object, "AccessKeyId"));
  keys->secret_key = g_strdup (get_string (object, "SecretAccessKey"));
  keys->session_token = g_strdup (get_string (object, token_name));
  if (keys->session_token && !*keys->session_token)
    g_clear_pointer (&keys->session_token, g_free);
  if (!keys->access_key)
    return fail (error, "the JSON has no \"AccessKeyId\"");
  if (!keys->secret_key)
    return fail (error, "the JSON has no \"SecretAccessKey\"");
  if (expiration && *expiration) {
    keys->expires = hr_s3_keys_time (expiration);
    if (keys->expires <= 0) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                   "the JSON's \"Expiration\" is \"%.40s\", no time like 2026-01-31T12:00:00Z",
                   expiration);
      return FALSE;
    }
  }
  return hr_s3_keys_check (keys, error);
}

gboolean
hr_s3_keys_parse (HrS3Keys *keys, const char *text, gsize size, const char *token_name,
                  guint version, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonNode *root;

  *keys = (HrS3Keys){ 0 };
  /* the parser's own words quote the text, and thereby secrets */
  if (size > MAX_BYTES || !g_utf8_validate (text, size, NULL)
      || !json_parser_load_from_data (parser, text, size, NULL)
      || !(root = json_parser_get_root (parser)) || !JSON_NODE_HOLDS_OBJECT (root))
    return fail (error, "the answer is no JSON object");
  if (check_version (json_node_get_object (root), version, error)
      && take_object (keys, json_node_get_object (root), token_name, error))
    return TRUE;
  hr_s3_keys_clear (keys);
  return FALSE;
}
