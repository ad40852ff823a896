/* fake-s3.c: a bucket "demo" on the fake server */
#include "fake-s3.h"
#include "hr-sync.h"
#include <stdlib.h>
#include <string.h>

#define BUCKET "/demo"

struct _FakeS3 {
  FakeServer *server;
  HrMutex lock;
  GHashTable *objects; /* key -> GBytes */
  GHashTable *counts;  /* key -> number */
  FakeS3Hook hook;
  gpointer data;
  guint delay;
};

static guint
count (FakeS3 *s3, const char *key)
{
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (s3->counts, key ? key : ""));

  g_hash_table_insert (s3->counts, g_strdup (key ? key : ""), GUINT_TO_POINTER (n + 1));
  return n;
}

static char *
make_etag (GBytes *bytes)
{
  g_autofree char *sum = g_compute_checksum_for_bytes (G_CHECKSUM_MD5, bytes);

  return g_strdup_printf ("\"%s\"", sum);
}

static void
add_entry (GString *text, const char *key, GBytes *bytes)
{
  g_autofree char *encoded = g_uri_escape_string (key, "/", FALSE), *etag = make_etag (bytes);

  g_string_append_printf (text,
                          "<Contents><Key>%s</Key><Size>%" G_GSIZE_FORMAT
                          "</Size><ETag>%s</ETag><Owner><ID>x</ID></Owner></Contents>",
                          encoded, g_bytes_get_size (bytes), etag);
}

static const char *
get_param (GHashTable *params, const char *name)
{
  const char *value = g_hash_table_lookup (params, name);

  return value ? value : "";
}

static void
answer_list (FakeS3 *s3, const char *query, FakeReply *reply)
{
  g_autoptr (GHashTable) params = g_uri_parse_params (query, -1, "&", G_URI_PARAMS_NONE, NULL);
  g_autoptr (GList) keys = g_list_sort (g_hash_table_get_keys (s3->objects), (GCompareFunc)strcmp);
  g_autoptr (GString) text = g_string_new (
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<Name>demo</Name><EncodingType>url</EncodingType>");
  const char *prefix = get_param (params, "prefix"),
             *token = get_param (params, "continuation-token");
  guint room = atoi (get_param (params, "max-keys")), n = 0;
  g_autofree char *next = NULL;

  g_assert_cmpstr (get_param (params, "list-type"), ==, "2");
  g_assert_cmpstr (get_param (params, "encoding-type"), ==, "url");
  room = room > 0 ? room : 1000;
  for (GList *node = keys; node; node = node->next) {
    const char *key = node->data;
    /* a token that must be encoded with care */
    g_autofree char *mark = g_strconcat ("+/= &", key, NULL);

    if (!g_str_has_prefix (key, prefix) || strcmp (mark, token) <= 0)
      continue;
    if (n++ == room)
      break;
    add_entry (text, key, g_hash_table_lookup (s3->objects, key));
    g_free (next);
    next = g_steal_pointer (&mark);
  }
  if (n > room) {
    g_autofree char *escaped = g_markup_escape_text (next, -1);

    g_string_append_printf (text, "<NextContinuationToken>%s</NextContinuationToken>", escaped);
  }
  fake_reply_add_header (reply, "ETag", "\"list\""); /* as some servers do */
  g_string_append_printf (text, "<IsTruncated>%s</IsTruncated></ListBucketResult>",
                          n > room ? "true" : "false");
  fake_reply_set_text (reply, text->str);
}

static void
answer_object (FakeS3 *s3, const FakeRequest *request, const char *key, FakeReply *reply)
{
  GBytes *bytes = g_hash_table_lookup (s3->objects, key);
  g_autofree char *match = fake_request_get_header (request, "If-Match"),
                  *none = fake_request_get_header (request, "If-None-Match"), *etag = NULL;

  if (!bytes) {
    fake_reply_error (reply, 404, "NoSuchKey");
    return;
  }
  etag = make_etag (bytes);
  if (match && strcmp (match, etag) != 0)
    fake_reply_error (reply, 412, "PreconditionFailed");
  else if (none && strcmp (none, etag) == 0)
    reply->status = 304;
  else
    fake_reply_object (reply, request, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes),
                       etag);
}

static void
answer (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  FakeS3 *s3 = data;
  g_auto (GStrv) parts = g_strsplit (request->target, "?", 2);
  g_autofree char *path = g_uri_unescape_string (parts[0], NULL), *key = NULL;
  gboolean is_list = strcmp (path, BUCKET) == 0 || strcmp (path, BUCKET "/") == 0;

  if (!g_str_has_prefix (path, BUCKET "/") && !is_list) {
    fake_reply_error (reply, 404, "NoSuchBucket");
    return;
  }
  hr_mutex_lock (&s3->lock);
  reply->delay = s3->delay;
  if (is_list) {
    answer_list (s3, parts[1] ? parts[1] : "", reply);
  } else {
    key = g_strdup (path + strlen (BUCKET "/"));
    answer_object (s3, request, key, reply);
  }
  if (strcmp (request->method, "GET") == 0) {
    guint n = count (s3, key);

    if (s3->hook)
      s3->hook (request, reply, key, n, s3->data);
  }
  hr_mutex_unlock (&s3->lock);
}

FakeS3 *
fake_s3_new (void)
{
  FakeS3 *s3 = g_new0 (FakeS3, 1);

  hr_mutex_init (&s3->lock);
  s3->objects =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
  s3->counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  s3->server = fake_server_new (answer, s3);
  return s3;
}

void
fake_s3_free (FakeS3 *s3)
{
  fake_server_free (s3->server);
  g_hash_table_unref (s3->objects);
  g_hash_table_unref (s3->counts);
  hr_mutex_clear (&s3->lock);
  g_free (s3);
}

void
fake_s3_put (FakeS3 *s3, const char *key, gconstpointer bytes, gsize size)
{
  hr_mutex_lock (&s3->lock);
  g_hash_table_insert (s3->objects, g_strdup (key), g_bytes_new (bytes, size));
  hr_mutex_unlock (&s3->lock);
}

void
fake_s3_put_path (FakeS3 *s3, const char *key, const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  g_autofree char *text = NULL;
  const char *name;
  gsize size;

  if (!folder) {
    g_assert_true (g_file_get_contents (path, &text, &size, NULL));
    fake_s3_put (s3, key, text, size);
    return;
  }
  while ((name = g_dir_read_name (folder))) {
    g_autofree char *child = g_build_filename (path, name, NULL);
    g_autofree char *child_key = g_strconcat (key, *key ? "/" : "", name, NULL);

    fake_s3_put_path (s3, child_key, child);
  }
}

void
fake_s3_set_hook (FakeS3 *s3, FakeS3Hook hook, gpointer data)
{
  hr_mutex_lock (&s3->lock);
  s3->hook = hook;
  s3->data = data;
  hr_mutex_unlock (&s3->lock);
}

void
fake_s3_set_delay (FakeS3 *s3, guint delay)
{
  hr_mutex_lock (&s3->lock);
  s3->delay = delay;
  hr_mutex_unlock (&s3->lock);
}

FakeServer *
fake_s3_get_server (FakeS3 *s3)
{
  return s3->server;
}

guint
fake_s3_get_count (FakeS3 *s3, const char *key)
{
  guint n;

  hr_mutex_lock (&s3->lock);
  n = GPOINTER_TO_UINT (g_hash_table_lookup (s3->counts, key ? key : ""));
  hr_mutex_unlock (&s3->lock);
  return n;
}

void
fake_s3_use (FakeS3 *s3)
{
  g_setenv ("AWS_ENDPOINT_URL", fake_server_get_url (s3->server), TRUE);
  g_setenv ("AWS_ACCESS_KEY_ID", "KEY", TRUE);
  g_setenv ("AWS_SECRET_ACCESS_KEY", "SECRET", TRUE);
  g_unsetenv ("AWS_ENDPOINT_URL_S3");
  g_unsetenv ("AWS_PROFILE");
  g_unsetenv ("AWS_SESSION_TOKEN");
}
