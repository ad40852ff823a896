/* test-sigv4.c: the signer against case 17, the public vectors, and threads */
#include "s3-config.h"
#include "sigv4.h"
#include <json-glib/json-glib.h>
#include <string.h>

static JsonNode *
load_json (const char *path)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) error = NULL;

  json_parser_load_from_file (parser, path, &error);
  g_assert_no_error (error);
  return json_parser_steal_root (parser);
}

static HrSigv4Request
case_request (const char *path)
{
  return (HrSigv4Request){ .access_key = "HRACCESSKEY",
                           .secret_key = "hrSecretKey/example",
                           .region = "us-east-1",
                           .service = "s3",
                           .method = "GET",
                           .host = "s3.example.test:9000",
                           .path = path,
                           .query = "",
                           .payload_hash = HR_SIGV4_EMPTY,
                           .sign_payload_hash = TRUE,
                           .time = 1767323045 /* 20260102T030405Z */ };
}

static void
check_key (HrS3Config *config, HrSigv4Keys *keys, const char *key, const char *wire,
           const char *signature)
{
  g_auto (HrS3Place) place = { 0 };
  g_autoptr (GPtrArray) headers = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *ends = g_strconcat (", Signature=", signature, NULL);
  HrSigv4Signature details = { 0 };
  HrSigv4Request request;

  hr_s3_config_locate (config, "corpus", key, "", &place);
  g_assert_cmpstr (place.path, ==, wire);
  request = case_request (place.path);
  hr_sigv4_sign (keys, &request, headers, &details);
  g_assert_cmpstr (details.signature, ==, signature);
  g_assert_true (g_str_has_suffix (headers->pdata[headers->len - 1], ends));
  hr_sigv4_signature_clear (&details);
}

static void
test_case_17 (void)
{
  g_autoptr (JsonNode) root = load_json (HR_TEST_DATA "/cases/17-s3-keys/case.json");
  JsonObject *expected = json_object_get_object_member (json_node_get_object (root), "expected");
  JsonArray *keys = json_object_get_array_member (expected, "keys");
  HrS3Settings settings = { .endpoint = "http://s3.example.test:9000",
                            .no_sign_request = TRUE,
                            .addressing = HR_S3_ADDRESSING_PATH };
  g_autoptr (HrS3Config) config = hr_s3_config_new (&settings, NULL);
  g_autoptr (HrSigv4Keys) cache = hr_sigv4_keys_new ();

  g_assert_cmpuint (json_array_get_length (keys), ==, 30);
  for (guint i = 0; i < json_array_get_length (keys); i++) {
    JsonObject *key = json_array_get_object_element (keys, i);

    check_key (config, i % 2 ? cache : NULL, json_object_get_string_member (key, "key"),
               json_object_get_string_member (key, "wire_path"),
               json_object_get_string_member (key, "signature"));
  }
}

static void
test_query (void)
{
  /* by encoded name, then by encoded value; '-' and '.' sort before digits, '_' behind letters */
  HrQueryParam params[] = { { "prefix", "a b/ü" },
                            { "list-type", "2" },
                            { "a", "2" },
                            { "a", "10" },
                            { "continuation-token", "1/x+y==" },
                            { "a b", NULL },
                            { "A", "~" } };
  g_autofree char *query = hr_sigv4_query (params, G_N_ELEMENTS (params));

  g_assert_cmpstr (query, ==,
                   "A=~&a=10&a=2&a%20b=&continuation-token=1%2Fx%2By%3D%3D&list-type=2"
                   "&prefix=a%20b%2F%C3%BC");
}

/* ---- the public vectors, where they are ---- */

static char *
slurp (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

/* white space in a header's value: none around it, one between words */
static char *
squash (const char *value)
{
  GString *out = g_string_new (NULL);
  gboolean space = FALSE;

  for (value += strspn (value, " \t"); *value; value++) {
    if (*value == ' ' || *value == '\t') {
      space = TRUE;
      continue;
    }
    if (space)
      g_string_append_c (out, ' ');
    space = FALSE;
    g_string_append_c (out, *value);
  }
  return g_string_free (out, FALSE);
}

/* what other services than S3 want: dot segments resolved, slashes merged */
static char *
normalize (const char *path)
{
  g_auto (GStrv) parts = g_strsplit (path, "/", -1);
  g_autoptr (GPtrArray) kept = g_ptr_array_new ();
  GString *out = g_string_new (NULL);
  gsize length = strlen (path);
  gboolean folder = length > 1
                    && (path[length - 1] == '/' || g_str_has_suffix (path, "/.")
                        || g_str_has_suffix (path, "/.."));

  for (char **part = parts; *part; part++) {
    if (strcmp (*part, "..") == 0 && kept->len > 0)
      g_ptr_array_set_size (kept, kept->len - 1);
    else if (**part && strcmp (*part, ".") != 0 && strcmp (*part, "..") != 0)
      g_ptr_array_add (kept, *part);
  }
  for (guint i = 0; i < kept->len; i++)
    g_string_append_printf (out, "/%s", (char *)kept->pdata[i]);
  if (out->len == 0 || folder)
    g_string_append_c (out, '/');
  return g_string_free (out, FALSE);
}

typedef struct {
  char *method;
  char *path;
  char *query;
  char *host;
  char *body;
  GPtrArray *headers; /* "name:value" */
} Raw;

static void
add_header (Raw *raw, const char *name, const char *value)
{
  g_autofree char *lower = g_ascii_strdown (name, -1), *text = squash (value);
  g_autofree char *start = g_strconcat (lower, ":", NULL);

  if (strcmp (lower, "host") == 0) {
    g_free (raw->host);
    raw->host = g_steal_pointer (&text);
    return;
  }
  if (strcmp (lower, "x-amz-date") == 0 || strcmp (lower, "x-amz-security-token") == 0)
    return;
  for (guint i = 0; i < raw->headers->len; i++)
    if (g_str_has_prefix (raw->headers->pdata[i], start)) {
      char *old = raw->headers->pdata[i];

      raw->headers->pdata[i] = g_strconcat (old, ",", text, NULL);
      g_free (old);
      return;
    }
  g_ptr_array_add (raw->headers, g_strconcat (start, text, NULL));
}

static char *
parse_query (const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text ? text : "", "&", -1);
  guint n = g_strv_length (parts), used = 0;
  g_autofree HrQueryParam *params = g_new0 (HrQueryParam, n + 1);
  char *query;

  for (guint i = 0; i < n; i++) {
    char *equals = strchr (parts[i], '=');

    if (!*parts[i])
      continue;
    if (equals)
      *equals++ = '\0';
    params[used].name = g_uri_unescape_string (parts[i], NULL);
    params[used++].value = g_uri_unescape_string (equals ? equals : "", NULL);
  }
  query = hr_sigv4_query (params, used);
  for (guint i = 0; i < used; i++) {
    g_free ((char *)params[i].name);
    g_free ((char *)params[i].value);
  }
  return query;
}

static void
parse_request (Raw *raw, char *text, gboolean normal)
{
  char *body = strstr (text, "\n\n"), *path, *end, *query;
  g_auto (GStrv) lines = NULL;
  g_autofree char *clean = NULL;
  GString *encoded = g_string_new (NULL);

  raw->headers = g_ptr_array_new_with_free_func (g_free);
  raw->body = g_strdup (body ? body + 2 : "");
  if (body)
    *body = '\0';
  lines = g_strsplit (text, "\n", -1);
  path = strchr (lines[0], ' ');
  *path++ = '\0';
  end = g_strrstr (path, " HTTP/");
  if (end)
    *end = '\0';
  query = strchr (path, '?');
  if (query)
    *query++ = '\0';
  raw->method = g_strdup (lines[0]);
  raw->query = parse_query (query);
  clean = normal ? normalize (path) : g_strdup (path);
  hr_uri_encode (encoded, clean, -1, TRUE);
  raw->path = g_string_free (encoded, FALSE);
  for (char **line = lines + 1; *line && **line; line++) {
    char *colon = strchr (*line, ':');

    if (**line == ' ' || **line == '\t') { /* goes on */
      char *old = g_ptr_array_steal_index (raw->headers, raw->headers->len - 1);
      g_autofree char *more = squash (*line);

      g_ptr_array_add (raw->headers, g_strconcat (old, " ", more, NULL));
      g_free (old);
      continue;
    }
    *colon = '\0';
    add_header (raw, *line, colon + 1);
  }
  g_ptr_array_add (raw->headers, NULL);
}

static void
raw_clear (Raw *raw)
{
  g_free (raw->method);
  g_free (raw->path);
  g_free (raw->query);
  g_free (raw->host);
  g_free (raw->body);
  g_ptr_array_unref (raw->headers);
}

static gboolean
get_flag (JsonObject *object, const char *name)
{
  return json_object_has_member (object, name) && json_object_get_boolean_member (object, name);
}

static void
check_file (const char *folder, const char *name, const char *got)
{
  g_autofree char *want = g_strchomp (slurp (folder, name));

  g_assert_cmpstr (got, ==, want);
}

static void
check_vector (const char *folder)
{
  g_autofree char *context_path = g_build_filename (folder, "context.json", NULL);
  g_autoptr (JsonNode) root = load_json (context_path);
  JsonObject *context = json_node_get_object (root);
  JsonObject *credentials = json_object_get_object_member (context, "credentials");
  g_autofree char *text = slurp (folder, "request.txt"), *hash = NULL;
  g_autoptr (GPtrArray) headers = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDateTime) time =
      g_date_time_new_from_iso8601 (json_object_get_string_member (context, "timestamp"), NULL);
  HrSigv4Signature details = { 0 };
  Raw raw = { 0 };
  HrSigv4Request request;

  parse_request (&raw, text, get_flag (context, "normalize"));
  hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, raw.body, -1);
  request = (HrSigv4Request){
    .access_key = json_object_get_string_member (credentials, "access_key_id"),
    .secret_key = json_object_get_string_member (credentials, "secret_access_key"),
    .region = json_object_get_string_member (context, "region"),
    .service = json_object_get_string_member (context, "service"),
    .method = raw.method,
    .host = raw.host,
    .path = raw.path,
    .query = raw.query,
    .headers = (const char *const *)raw.headers->pdata,
    .payload_hash = hash,
    .sign_payload_hash = get_flag (context, "sign_body"),
    .time = g_date_time_to_unix (time),
  };
  if (json_object_has_member (credentials, "token") && !get_flag (context, "omit_session_token"))
    request.session_token = json_object_get_string_member (credentials, "token");
  hr_sigv4_sign (NULL, &request, headers, &details);
  g_test_message ("%s", folder);
  check_file (folder, "header-canonical-request.txt", details.canonical);
  check_file (folder, "header-string-to-sign.txt", details.string_to_sign);
  check_file (folder, "header-signature.txt", details.signature);
  hr_sigv4_signature_clear (&details);
  raw_clear (&raw);
}

static void
test_vectors (void)
{
  const char *path = g_getenv ("HR_SIGV4_VECTORS"), *name;
  g_autoptr (GDir) folder = NULL;
  guint n = 0;

  if (!path || !*path) {
    g_test_skip ("optional: HR_SIGV4_VECTORS names no folder with the public vectors");
    return;
  }
  folder = g_dir_open (path, 0, NULL);
  g_assert_nonnull (folder);
  while ((name = g_dir_read_name (folder))) {
    g_autofree char *vector = g_build_filename (path, name, NULL);

    if (!g_file_test (vector, G_FILE_TEST_IS_DIR))
      continue;
    check_vector (vector);
    n++;
  }
  g_assert_cmpuint (n, >=, 38);
}

/* ---- one cache, many threads, more than one day and secret ---- */

static gpointer
sign_many (gpointer data)
{
  for (guint i = 0; i < 500; i++) {
    g_autoptr (GPtrArray) cached = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (GPtrArray) plain = g_ptr_array_new_with_free_func (g_free);
    HrSigv4Request request = case_request ("/corpus/train/plain.jpg");

    request.time += (i % 3) * 86400;
    request.secret_key = i % 2 ? "one" : "two";
    hr_sigv4_sign (data, &request, cached, NULL);
    hr_sigv4_sign (NULL, &request, plain, NULL);
    g_assert_cmpstr (cached->pdata[cached->len - 1], ==, plain->pdata[plain->len - 1]);
  }
  return NULL;
}

static void
test_threads (void)
{
  g_autoptr (HrSigv4Keys) keys = hr_sigv4_keys_new ();
  GThread *threads[4];

  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new ("sign", sign_many, keys);
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/sigv4/case-17", test_case_17);
  g_test_add_func ("/io/sigv4/query", test_query);
  g_test_add_func ("/io/sigv4/vectors", test_vectors);
  g_test_add_func ("/io/sigv4/threads", test_threads);
  return g_test_run ();
}
