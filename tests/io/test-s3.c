/* test-s3.c: lists, errors, and requests that mend themselves, against the fake bucket */
#include "fake-s3.h"
#include "hr-error.h"
#include "hr-plan-private.h"
#include "http-wait.h"
#include "s3-error.h"
#include "s3-list.h"
#include "s3-objects.h"
#include "s3-request.h"
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

/* of "b.jsonl" */
#define B_MD5 "4523da459eb88fa5ad91a72bea780529"
#define MSEC G_GINT64_CONSTANT (1000000)

typedef struct {
  FakeS3 *s3;
  HrS3Config *config;
  HrHttp *http;
} Fixture;

static void
set_up (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  HrS3Settings settings = { 0 };
  HrHttpOptions options = HR_HTTP_OPTIONS;
  GError *error = NULL;

  f->s3 = fake_s3_new ();
  fake_s3_use (f->s3);
  options.max_tries = 4;
  options.retry = (HrRetryTimes){ MSEC, 2 * MSEC, 5 * MSEC };
  f->config = hr_s3_config_new (&settings, &error);
  g_assert_no_error (error);
  f->http = hr_http_new (&options, &error);
  g_assert_no_error (error);
}

static void
tear_down (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  hr_http_free (f->http);
  hr_s3_config_unref (f->config);
  fake_s3_free (f->s3);
}

/* ---- the list's document ---- */

#define LIST(inner) "<?xml version=\"1.0\"?><ListBucketResult>" inner "</ListBucketResult>"
#define KEY(name) "<Contents><Key>" name "</Key><Size>3</Size></Contents>"

static void
test_list_good (void)
{
  static const char text[] =
      LIST ("<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
            "<NextContinuationToken>1&amp;2 +/=</NextContinuationToken>"
            "<Contents><ETag>&quot;e&quot;</ETag><Owner><Key>not this</Key></Owner>"
            "<Key>a%20b%2Bc+d%2525</Key><Size>42</Size></Contents>" KEY ("%C3%BC")
                KEY ("x") "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>");
  g_auto (HrS3Page) page = { 0 };
  g_autoptr (GError) error = NULL;
  const HrS3Entry *entry;

  g_assert_true (hr_s3_list_parse (&page, text, strlen (text), &error));
  g_assert_no_error (error);
  g_assert_cmpuint (page.entries->len, ==, 3);
  g_assert_cmpstr (page.next, ==, "1&2 +/=");
  entry = &g_array_index (page.entries, HrS3Entry, 0);
  g_assert_cmpstr (entry->key, ==, "a b+c d%25"); /* decoded once */
  g_assert_cmpint (entry->size, ==, 42);
  g_assert_cmpstr (entry->etag, ==, "\"e\"");
  entry = &g_array_index (page.entries, HrS3Entry, 1);
  g_assert_cmpstr (entry->key, ==, "\303\274");
  g_assert_null (entry->etag);
}

static void
test_list_plain (void)
{
  /* without an encoding: XML's own entities only. A tag without quotes gets them */
  static const char text[] = LIST ("<IsTruncated>false</IsTruncated><NextContinuationToken>"
                                   "old</NextContinuationToken><Contents><Key>a%20&amp;+b</Key>"
                                   "<Size>0</Size><ETag>abc</ETag></Contents>");
  g_auto (HrS3Page) page = { 0 };
  const HrS3Entry *entry;

  g_assert_true (hr_s3_list_parse (&page, text, strlen (text), NULL));
  g_assert_null (page.next);
  entry = &g_array_index (page.entries, HrS3Entry, 0);
  g_assert_cmpstr (entry->key, ==, "a%20&+b");
  g_assert_cmpstr (entry->etag, ==, "\"abc\"");
}

static void
test_list_bad (void)
{
  static const char *const texts[] = {
    "",
    "<ListBucketResult>",
    "<ListBucketResult>" KEY ("a"),
    "<Error><Code>InternalError</Code></Error>",
    "<html><body>proxy</body></html>",
    "not XML",
    LIST ("<Contents><Key>a</Key></Contents>"),
    LIST ("<Contents><Size>1</Size></Contents>"),
    LIST ("<Contents><Key>a</Key><Size>-1</Size></Contents>"),
    LIST ("<Contents><Key>a</Key><Size>many</Size></Contents>"),
    LIST ("<IsTruncated>true</IsTruncated>"),
    LIST ("<EncodingType>url</EncodingType>" KEY ("a%2")),
    LIST (KEY ("a")) "<more/>",
    LIST (KEY ("a&b")),
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    HrS3Page page = { 0 };
    g_autoptr (GError) error = NULL;

    g_test_message ("%s", texts[i]);
    g_assert_false (hr_s3_list_parse (&page, texts[i], strlen (texts[i]), &error));
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
    g_assert_null (page.entries);
  }
}

static void
test_error_parse (void)
{
  static const char text[] = "<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code>"
                             "<Message> gone &amp; lost </Message><Region>eu-west-1</Region>"
                             "<Sub><Code>Other</Code></Sub></Error>";
  static const char *const none[] = { "", "<html><Code>x</Code></html>", "{\"Code\": 1}",
                                      "<ListBucketResult><Code>x</Code></ListBucketResult>" };
  g_auto (HrS3Error) parsed = { 0 };
  int code;

  g_assert_true (hr_s3_error_parse (&parsed, text, strlen (text)));
  g_assert_cmpstr (parsed.code, ==, "NoSuchKey");
  g_assert_cmpstr (parsed.message, ==, "gone & lost");
  g_assert_cmpstr (parsed.region, ==, "eu-west-1");
  hr_s3_error_clear (&parsed);
  /* cut short, as a large one is */
  g_assert_true (hr_s3_error_parse (&parsed, text, strlen (text) - 60));
  g_assert_cmpstr (parsed.code, ==, "NoSuchKey");
  for (guint i = 0; i < G_N_ELEMENTS (none); i++) {
    HrS3Error other;

    g_assert_false (hr_s3_error_parse (&other, none[i], strlen (none[i])));
  }
  g_assert_cmpint (hr_s3_error_judge ("SlowDown", 503, &code), ==, HR_RETRY_THROTTLED);
  g_assert_cmpint (hr_s3_error_judge ("InternalError", 200, &code), ==, HR_RETRY_SOON);
  g_assert_cmpint (hr_s3_error_judge ("AccessDenied", 403, &code), ==, HR_RETRY_NO);
  g_assert_cmpint (code, ==, HR_RESOURCE_ERROR_FORBIDDEN);
  g_assert_cmpint (hr_s3_error_judge ("InvalidAccessKeyId", 403, &code), ==, HR_RETRY_NO);
  g_assert_cmpint (code, ==, HR_RESOURCE_ERROR_FAILED); /* no fault of one key */
  g_assert_cmpint (hr_s3_error_judge ("NoSuchBucket", 404, &code), ==, HR_RETRY_NO);
  g_assert_cmpint (code, ==, HR_RESOURCE_ERROR_FAILED);
  g_assert_cmpint (hr_s3_error_judge (NULL, 502, &code), ==, HR_RETRY_SOON);
}

/* ---- locations ---- */

static char *
list (Fixture *f, const char *location, guint page_keys, char **root)
{
  g_autoptr (HrPlan) plan = hr_plan_new (NULL);
  g_autoptr (GError) error = NULL;
  GString *keys = g_string_new (NULL);

  if (!hr_s3_objects_list (f->http, f->config, location, plan, root, page_keys, -1, &error)) {
    g_string_printf (keys, "!%d %s", error->code, error->message);
    return g_string_free (keys, FALSE);
  }
  hr_plan_listed (plan);
  for (guint i = 0; i < hr_plan_get_n_objects (plan); i++) {
    const HrObject *object = hr_plan_get_object (plan, i);

    g_string_append_printf (keys, "%s%s", i > 0 ? " " : "", object->key);
    g_assert_true (g_str_has_prefix (object->uri, "s3://demo/"));
    g_assert_true (g_str_has_suffix (object->uri, object->key));
    g_assert_cmpint (object->size, ==, strlen (object->uri) - strlen ("s3://demo/"));
    g_assert_nonnull (object->etag);
  }
  return g_string_free (keys, FALSE);
}

static void
check_list (Fixture *f, const char *location, const char *keys, const char *root)
{
  for (guint page = 0; page <= 3; page++) {
    g_autofree char *found = NULL, *got = list (f, location, page, &found);

    g_assert_cmpstr (got, ==, keys);
    g_assert_cmpstr (found, ==, root);
  }
}

static void
test_objects (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  static const char *const keys[] = {
    "b.jsonl",      "a/z.jsonl",           "a.jsonl",    "a-b.jsonl",         "a/b/c.jsonl",
    "a/readme.txt", "a/\303\274 +%.jsonl", "ab/x.jsonl", "a/deep/er/y.jsonl", "no/one.txt"
  };
  g_autofree char *root = NULL, *none = NULL, *nowhere = NULL, *other = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) /* each object is its own key */
    fake_s3_put (f->s3, keys[i], keys[i], strlen (keys[i]));
  check_list (f, "s3://demo",
              "a-b.jsonl a.jsonl a/b/c.jsonl a/deep/er/y.jsonl a/z.jsonl a/\303\274 +%.jsonl "
              "ab/x.jsonl b.jsonl",
              "s3://demo/");
  check_list (f, "s3://demo/a/", "b/c.jsonl deep/er/y.jsonl z.jsonl \303\274 +%.jsonl",
              "s3://demo/a/");
  /* no key of that name: a folder; its siblings that begin alike are not in it */
  check_list (f, "s3://demo/a", "b/c.jsonl deep/er/y.jsonl z.jsonl \303\274 +%.jsonl",
              "s3://demo/a/");
  check_list (f, "s3://demo/a.jsonl", "a.jsonl", "s3://demo/");
  check_list (f, "s3://demo/a/readme.txt", "readme.txt", "s3://demo/a/");
  check_list (f, "s3://demo/a/*.jsonl", "z.jsonl \303\274 +%.jsonl", "s3://demo/a/");
  check_list (f, "s3://demo/a*/*.jsonl", "a/z.jsonl a/\303\274 +%.jsonl ab/x.jsonl", "s3://demo/");
  check_list (f, "s3://demo/a/**y.jsonl", "deep/er/y.jsonl", "s3://demo/a/");
  none = list (f, "s3://demo/no/", 0, &root);
  g_assert_true (g_str_has_prefix (none, "!1 there is neither a key \"s3://demo/no/\""));
  nowhere = list (f, "s3://demo/x/*.jsonl", 0, &root);
  g_assert_true (g_str_has_prefix (nowhere, "!1 no key matches"));
  other = list (f, "s3://other/", 0, &root);
  g_assert_nonnull (strstr (other, "NoSuchBucket"));
}

/* ---- requests ---- */

static gboolean
get (Fixture *f, const char *key, HrHttpAnswer *answer, GError **error)
{
  return hr_http_wait (f->http, hr_s3_get (f->config, "demo", key), -1, answer, error);
}

static void
check_good (Fixture *f, const char *key, const char *text)
{
  g_auto (HrHttpAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  get (f, key, &answer, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (answer.body ? answer.body->data : NULL, answer.received, text, strlen (text));
}

static void
check_bad (Fixture *f, const char *key, int code, const char *words)
{
  g_auto (HrHttpAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_false (get (f, key, &answer, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, code);
  g_assert_nonnull (strstr (error->message, words));
}

/* every key of case 17 reaches the server as it is */
static void
test_keys (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonArray *keys;

  g_assert_true (
      json_parser_load_from_file (parser, HR_TEST_DATA "/cases/17-s3-keys/keys.json", NULL));
  keys = json_node_get_array (json_parser_get_root (parser));
  g_assert_cmpuint (json_array_get_length (keys), ==, 30);
  for (guint i = 0; i < json_array_get_length (keys); i++) {
    const char *key = json_array_get_string_element (keys, i);

    fake_s3_put (f->s3, key, key, strlen (key));
  }
  for (guint i = 0; i < json_array_get_length (keys); i++) {
    const char *key = json_array_get_string_element (keys, i);

    check_good (f, key, key);
    g_assert_cmpuint (fake_s3_get_count (f->s3, key), ==, 1);
  }
}

static void
test_missing (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  check_bad (f, "x y", HR_RESOURCE_ERROR_NOT_FOUND, "s3://demo/x y: HTTP 404 NoSuchKey: The test");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "x y"), ==, 1);
}

typedef struct {
  const char *code;
  guint status;
  guint times;
} Refusal;

static void
refuse (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, const char *key G_GNUC_UNUSED,
        guint count, gpointer data)
{
  const Refusal *refusal = data;

  if (count >= refusal->times)
    return;
  g_clear_pointer (&reply->headers, g_free);
  fake_reply_error (reply, refusal->status, refusal->code);
}

static void
test_refusals (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  static const Refusal thrice = { .code = "SlowDown", .status = 503, .times = 3 };
  static const Refusal always = { .code = "SlowDown", .status = 503, .times = G_MAXUINT };
  static const Refusal denied = { .code = "AccessDenied", .status = 403, .times = G_MAXUINT };

  fake_s3_put (f->s3, "a", "good", 4);
  fake_s3_put (f->s3, "b", "good", 4);
  fake_s3_put (f->s3, "c", "good", 4);
  fake_s3_set_hook (f->s3, refuse, (gpointer)&thrice);
  check_good (f, "a", "good");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "a"), ==, 4);
  fake_s3_set_hook (f->s3, refuse, (gpointer)&always);
  check_bad (f, "b", HR_RESOURCE_ERROR_READ,
             "s3://demo/b: HTTP 503 SlowDown: The test says so. (4 tries in ");
  fake_s3_set_hook (f->s3, refuse, (gpointer)&denied);
  check_bad (f, "c", HR_RESOURCE_ERROR_FORBIDDEN, "HTTP 403 AccessDenied");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "c"), ==, 1);
}

/* an error document in a 200, for an object and for a list */
static void
test_error_in_200 (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  static const Refusal once = { .code = "InternalError", .status = 200, .times = 1 };
  static const Refusal always = { .code = "InternalError", .status = 200, .times = G_MAXUINT };
  g_autofree char *root = NULL, *keys = NULL;
  g_auto (HrHttpAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  HrHttpRequest *request;

  fake_s3_put (f->s3, "a.jsonl", "a.jsonl", 7);
  fake_s3_set_hook (f->s3, refuse, (gpointer)&once);
  check_good (f, "a.jsonl", "a.jsonl");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "a.jsonl"), ==, 2);
  keys = list (f, "s3://demo/", 0, &root);
  g_assert_cmpstr (keys, ==, "a.jsonl");
  g_assert_cmpuint (fake_s3_get_count (f->s3, NULL), ==, 2);
  /* also where size and tag are known from a list */
  fake_s3_put (f->s3, "b.jsonl", "b.jsonl", 7);
  request = hr_s3_get (f->config, "demo", "b.jsonl");
  hr_http_request_set_identity (request, "\"" B_MD5 "\"", 7);
  g_assert_true (hr_http_wait (f->http, request, -1, &answer, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (fake_s3_get_count (f->s3, "b.jsonl"), ==, 2);
  fake_s3_set_hook (f->s3, refuse, (gpointer)&always);
  check_bad (f, "a.jsonl", HR_RESOURCE_ERROR_READ, "HTTP 200 InternalError");
}

static void
test_empty (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  g_auto (HrHttpAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  HrHttpRequest *request;

  fake_s3_put (f->s3, "zero", "", 0);
  check_good (f, "zero", "");
  request = hr_s3_get (f->config, "demo", "zero");
  hr_http_request_set_range (request, 0, 99); /* answered by 416 */
  g_assert_true (hr_http_wait (f->http, request, -1, &answer, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (answer.received, ==, 0);
  g_assert_cmpuint (fake_s3_get_count (f->s3, "zero"), ==, 2);
}

/* credentials that change after they have expired */
static void
expire (const FakeRequest *request, FakeReply *reply, const char *key G_GNUC_UNUSED, guint count,
        gpointer data)
{
  const char *file = data;
  g_autofree char *authorization = fake_request_get_header (request, "Authorization");

  if (strstr (authorization, "Credential=NEW/"))
    return;
  g_clear_pointer (&reply->headers, g_free);
  fake_reply_error (reply, 403, "ExpiredToken");
  if (count == 0 && file)
    g_assert_true (g_file_set_contents (
        file, "[default]\naws_access_key_id=NEW\naws_secret_access_key=s\n", -1, NULL));
}

static void
test_expired (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  g_autofree char *file = NULL;
  HrS3Settings settings = { 0 };
  int fd = g_file_open_tmp ("headrace-credentials-XXXXXX", &file, NULL);

  g_assert_cmpint (fd, >=, 0);
  g_close (fd, NULL);
  g_assert_true (g_file_set_contents (
      file, "[default]\naws_access_key_id=OLD\naws_secret_access_key=s\n", -1, NULL));
  g_unsetenv ("AWS_ACCESS_KEY_ID");
  g_setenv ("AWS_SHARED_CREDENTIALS_FILE", file, TRUE);
  g_clear_pointer (&f->config, hr_s3_config_unref);
  f->config = hr_s3_config_new (&settings, NULL);
  fake_s3_put (f->s3, "a", "good", 4);
  fake_s3_put (f->s3, "b", "good", 4);
  fake_s3_set_hook (f->s3, expire, NULL);
  check_bad (f, "b", HR_RESOURCE_ERROR_FAILED, "HTTP 403 ExpiredToken");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "b"), ==, 1);
  fake_s3_set_hook (f->s3, expire, file);
  check_good (f, "a", "good");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "a"), ==, 2);
  g_unsetenv ("AWS_SHARED_CREDENTIALS_FILE");
  g_remove (file);
}

/* signed for another region than the bucket's */
static void
redirect (const FakeRequest *request, FakeReply *reply, const char *key G_GNUC_UNUSED,
          guint count G_GNUC_UNUSED, gpointer data)
{
  g_autofree char *authorization = fake_request_get_header (request, "Authorization");

  if (strstr (authorization, "/eu-west-1/s3/"))
    return;
  g_clear_pointer (&reply->headers, g_free);
  fake_reply_add_header (reply, "x-amz-bucket-region", data);
  fake_reply_error (reply, 301, "PermanentRedirect");
}

static void
test_region (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  fake_s3_put (f->s3, "a", "good", 4);
  fake_s3_put (f->s3, "b", "good", 4);
  fake_s3_set_hook (f->s3, redirect, "us-east-1"); /* where we are */
  check_bad (f, "b", HR_RESOURCE_ERROR_FAILED, "region us-east-1");
  fake_s3_set_hook (f->s3, redirect, "eu-west-1");
  check_good (f, "a", "good");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "a"), ==, 2);
  check_good (f, "a", "good"); /* and remembered */
  g_assert_cmpuint (fake_s3_get_count (f->s3, "a"), ==, 3);
}

/* this try was signed with what has been mended since: worth another one */
static void
redirect_once (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply,
               const char *key G_GNUC_UNUSED, guint count, gpointer code)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *date = g_date_time_format (now, "%a, %d %b %Y %H:%M:%S GMT");

  if (count > 0)
    return;
  g_clear_pointer (&reply->headers, g_free);
  fake_reply_add_header (reply, "Date", date);
  fake_reply_add_header (reply, "x-amz-bucket-region", "us-east-1"); /* where we are */
  fake_reply_error (reply, strcmp (code, "RequestTimeTooSkewed") == 0 ? 403 : 400, code);
}

static void
test_mended_since (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  fake_s3_put (f->s3, "a", "good", 4);
  fake_s3_put (f->s3, "b", "good", 4);
  fake_s3_set_hook (f->s3, redirect_once, "AuthorizationHeaderMalformed");
  check_good (f, "a", "good");
  fake_s3_set_hook (f->s3, redirect_once, "RequestTimeTooSkewed");
  check_good (f, "b", "good");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "b"), ==, 2);
}

/* what would become part of a header, or of a host, is no region */
static void
test_region_refused (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  fake_s3_put (f->s3, "a", "good", 4);
  fake_s3_set_hook (f->s3, redirect, "evil.example/");
  check_bad (f, "a", HR_RESOURCE_ERROR_FAILED, "301");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "a"), ==, 1);
}

static void
skew (const FakeRequest *request, FakeReply *reply, const char *key G_GNUC_UNUSED,
      guint count G_GNUC_UNUSED, gpointer data)
{
  g_autofree char *date = fake_request_get_header (request, "X-Amz-Date");

  if (g_str_has_prefix (date, "2040"))
    return;
  g_clear_pointer (&reply->headers, g_free);
  if (data)
    fake_reply_add_header (reply, "Date", data);
  fake_reply_error (reply, 403, "RequestTimeTooSkewed");
}

static void
test_clock (Fixture *f, gconstpointer unused G_GNUC_UNUSED)
{
  fake_s3_put (f->s3, "a", "good", 4);
  fake_s3_put (f->s3, "b", "good", 4);
  fake_s3_set_hook (f->s3, skew, NULL);
  check_bad (f, "b", HR_RESOURCE_ERROR_FAILED, "the clock of this machine is wrong");
  fake_s3_set_hook (f->s3, skew, "Mon, 02 Jan 2040 03:04:05 GMT");
  check_good (f, "a", "good");
  g_assert_cmpuint (fake_s3_get_count (f->s3, "a"), ==, 2);
}

#define ADD(name, function) g_test_add ("/io/s3/" name, Fixture, NULL, set_up, function, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("HOME", "/nonexistent", TRUE);
  g_test_add_func ("/io/s3/list/good", test_list_good);
  g_test_add_func ("/io/s3/list/plain", test_list_plain);
  g_test_add_func ("/io/s3/list/bad", test_list_bad);
  g_test_add_func ("/io/s3/error", test_error_parse);
  ADD ("objects", test_objects);
  ADD ("keys", test_keys);
  ADD ("missing", test_missing);
  ADD ("refusals", test_refusals);
  ADD ("error-in-200", test_error_in_200);
  ADD ("empty", test_empty);
  ADD ("expired", test_expired);
  ADD ("region", test_region);
  ADD ("region/refused", test_region_refused);
  ADD ("region/mended-since", test_mended_since);
  ADD ("clock", test_clock);
  return g_test_run ();
}
