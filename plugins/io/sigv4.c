/* sigv4.c: signs requests with AWS Signature Version 4, on GLib's HMAC.
 * Source: "Signature Version 4 signing process", AWS documentation; vectors in tests/io/sigv4.c. */
#include "sigv4.h"
#include "hr-sync.h"
#include <string.h>
#include <time.h>

#define KEY_BYTES 32

struct _HrSigv4Keys {
  HrMutex lock;
  char *scope; /* date/region/service */
  char *secret;
  guint8 key[KEY_BYTES];
};

void
hr_uri_encode (GString *into, const char *bytes, gssize length, gboolean keep_slash)
{
  static const char hex[] = "0123456789ABCDEF";

  if (length < 0)
    length = strlen (bytes);
  for (gssize i = 0; i < length; i++) {
    guchar c = bytes[i];

    if (g_ascii_isalnum (c) || c == '-' || c == '.' || c == '_' || c == '~'
        || (keep_slash && c == '/')) {
      g_string_append_c (into, c);
    } else {
      g_string_append_c (into, '%');
      g_string_append_c (into, hex[c >> 4]);
      g_string_append_c (into, hex[c & 15]);
    }
  }
}

typedef struct {
  char *name;
  char *value;
} Pair;

static void
pair_clear (gpointer data)
{
  Pair *pair = data;

  g_free (pair->name);
  g_free (pair->value);
}

static gint
compare_pairs (gconstpointer a, gconstpointer b)
{
  const Pair *x = a, *y = b;
  int order = strcmp (x->name, y->name);

  return order ? order : strcmp (x->value, y->value);
}

static char *
encode (const char *text)
{
  GString *string = g_string_new (NULL);

  hr_uri_encode (string, text, -1, FALSE);
  return g_string_free (string, FALSE);
}

char *
hr_sigv4_query (const HrQueryParam *params, guint n_params)
{
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (Pair));
  GString *query = g_string_new (NULL);

  g_array_set_clear_func (pairs, pair_clear);
  for (guint i = 0; i < n_params; i++) {
    Pair pair = { encode (params[i].name), encode (params[i].value ? params[i].value : "") };

    g_array_append_val (pairs, pair);
  }
  /* the order is that of the encoded bytes, not of the raw ones */
  g_array_sort (pairs, compare_pairs);
  for (guint i = 0; i < pairs->len; i++) {
    const Pair *pair = &g_array_index (pairs, Pair, i);

    g_string_append_printf (query, "%s%s=%s", i > 0 ? "&" : "", pair->name, pair->value);
  }
  return g_string_free (query, FALSE);
}

HrSigv4Keys *
hr_sigv4_keys_new (void)
{
  HrSigv4Keys *keys = g_new0 (HrSigv4Keys, 1);

  hr_mutex_init (&keys->lock);
  return keys;
}

void
hr_sigv4_keys_free (HrSigv4Keys *keys)
{
  hr_mutex_clear (&keys->lock);
  g_free (keys->scope);
  g_free (keys->secret);
  g_free (keys);
}

static void
hmac (const guint8 *key, gsize key_length, const char *text, guint8 digest[KEY_BYTES])
{
  GHmac *state = g_hmac_new (G_CHECKSUM_SHA256, key, key_length);
  gsize length = KEY_BYTES;

  g_hmac_update (state, (const guchar *)text, -1);
  g_hmac_get_digest (state, digest, &length);
  g_hmac_unref (state);
}

static void
derive_key (const HrSigv4Request *request, const char *date, guint8 key[KEY_BYTES])
{
  g_autofree char *secret = g_strconcat ("AWS4", request->secret_key, NULL);
  guint8 step[KEY_BYTES];

  hmac ((const guint8 *)secret, strlen (secret), date, step);
  hmac (step, KEY_BYTES, request->region, key);
  hmac (key, KEY_BYTES, request->service, step);
  hmac (step, KEY_BYTES, "aws4_request", key);
}

static void
get_key (HrSigv4Keys *keys, const HrSigv4Request *request, const char *date, const char *scope,
         guint8 key[KEY_BYTES])
{
  if (!keys) {
    derive_key (request, date, key);
    return;
  }
  hr_mutex_lock (&keys->lock);
  if (g_strcmp0 (keys->scope, scope) != 0 || g_strcmp0 (keys->secret, request->secret_key) != 0) {
    derive_key (request, date, keys->key);
    g_free (keys->scope);
    g_free (keys->secret);
    keys->scope = g_strdup (scope);
    keys->secret = g_strdup (request->secret_key);
  }
  memcpy (key, keys->key, KEY_BYTES);
  hr_mutex_unlock (&keys->lock);
}

/* by the name alone: ':' sorts behind '-' and the digits, so comparing whole lines is wrong */
static gint
compare_headers (gconstpointer a, gconstpointer b)
{
  const char *x = *(const char *const *)a, *y = *(const char *const *)b;
  gsize x_length = strcspn (x, ":"), y_length = strcspn (y, ":");
  int order = strncmp (x, y, MIN (x_length, y_length));

  return order ? order : (x_length > y_length) - (x_length < y_length);
}

static GPtrArray *
collect_headers (const HrSigv4Request *request, const char *stamp)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (lines, g_strconcat ("host:", request->host, NULL));
  g_ptr_array_add (lines, g_strconcat ("x-amz-date:", stamp, NULL));
  if (request->sign_payload_hash)
    g_ptr_array_add (lines, g_strconcat ("x-amz-content-sha256:", request->payload_hash, NULL));
  if (request->session_token)
    g_ptr_array_add (lines, g_strconcat ("x-amz-security-token:", request->session_token, NULL));
  for (const char *const *header = request->headers; header && *header; header++)
    g_ptr_array_add (lines, g_strdup (*header));
  g_ptr_array_sort (lines, compare_headers);
  return lines;
}

static void
get_stamp (gint64 seconds, char stamp[17], char date[9])
{
  time_t time = seconds;
  struct tm tm;

  gmtime_r (&time, &tm);
  strftime (stamp, 17, "%Y%m%dT%H%M%SZ", &tm);
  memcpy (date, stamp, 8);
  date[8] = '\0';
}

void
hr_sigv4_sign (HrSigv4Keys *keys, const HrSigv4Request *request, GPtrArray *headers,
               HrSigv4Signature *details)
{
  char stamp[17], date[9];
  guint8 key[KEY_BYTES];
  g_autoptr (GPtrArray) lines = NULL;
  g_autoptr (GString) canonical = g_string_new (NULL), names = g_string_new (NULL);
  g_autofree char *key_scope = NULL, *hash = NULL, *scope = NULL, *text = NULL, *signature = NULL;

  get_stamp (request->time, stamp, date);
  lines = collect_headers (request, stamp);

  g_string_append_printf (canonical, "%s\n%s\n%s\n", request->method, request->path,
                          request->query ? request->query : "");
  for (guint i = 0; i < lines->len; i++) {
    const char *line = lines->pdata[i];

    g_string_append_printf (canonical, "%s\n", line);
    g_string_append_printf (names, "%s%.*s", i > 0 ? ";" : "", (int)strcspn (line, ":"), line);
  }
  g_string_append_printf (canonical, "\n%s\n%s", names->str, request->payload_hash);

  hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, canonical->str, canonical->len);
  key_scope = g_strdup_printf ("%s/%s/%s", date, request->region, request->service);
  scope = g_strconcat (key_scope, "/aws4_request", NULL);
  text = g_strdup_printf ("AWS4-HMAC-SHA256\n%s\n%s\n%s", stamp, scope, hash);
  get_key (keys, request, date, key_scope, key);
  signature = g_compute_hmac_for_string (G_CHECKSUM_SHA256, key, KEY_BYTES, text, -1);

  g_ptr_array_add (headers, g_strconcat ("X-Amz-Date: ", stamp, NULL));
  if (request->sign_payload_hash)
    g_ptr_array_add (headers, g_strconcat ("X-Amz-Content-Sha256: ", request->payload_hash, NULL));
  if (request->session_token)
    g_ptr_array_add (headers, g_strconcat ("X-Amz-Security-Token: ", request->session_token, NULL));
  g_ptr_array_add (headers, g_strdup_printf ("Authorization: AWS4-HMAC-SHA256 Credential=%s/%s, "
                                             "SignedHeaders=%s, Signature=%s",
                                             request->access_key, scope, names->str, signature));
  if (details) {
    details->canonical = g_strdup (canonical->str);
    details->string_to_sign = g_steal_pointer (&text);
    details->signature = g_steal_pointer (&signature);
  }
}

void
hr_sigv4_signature_clear (HrSigv4Signature *signature)
{
  g_clear_pointer (&signature->canonical, g_free);
  g_clear_pointer (&signature->string_to_sign, g_free);
  g_clear_pointer (&signature->signature, g_free);
}
