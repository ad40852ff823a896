/* test-bad-bodies.c: what is no error to HTTP, and yet not the bytes that were asked for */
#include "crc.h"
#include "fake-s3.h"
#include "hr-error.h"
#include "http-wait.h"
#include "s3-request.h"
#include <string.h>

#define SIZE 150000
#define MSEC G_GINT64_CONSTANT (1000000)

static guint8 object[SIZE];

static void
add_sum (FakeReply *reply, const guint8 *bytes, gsize size)
{
  guint32 crc = GUINT32_TO_BE ((guint32)hr_crc (HR_CRC32C, 0, bytes, size));
  g_autofree char *text = g_base64_encode ((const guchar *)&crc, sizeof crc);

  fake_reply_add_header (reply, "x-amz-checksum-crc32c", text);
}

static void
truncate_close (FakeReply *reply)
{
  reply->no_length = TRUE;
  reply->cut = 100000;
  reply->end = FAKE_CLOSE;
}

static void
shorten_length (FakeReply *reply)
{
  reply->length = reply->size - 10;
  reply->end = FAKE_CLOSE;
}

static void
double_length (FakeReply *reply)
{
  fake_reply_add_header (reply, "Content-Length", "149000");
}

static void
flip_byte (FakeReply *reply)
{
  reply->body[reply->size / 2] ^= 1;
}

static void
give_error (FakeReply *reply)
{
  g_clear_pointer (&reply->headers, g_free);
  fake_reply_error (reply, 200, "InternalError");
}

static void
compress (FakeReply *reply)
{
  fake_reply_add_header (reply, "Content-Encoding", "gzip");
}

static void
ignore_range (FakeReply *reply)
{
  g_clear_pointer (&reply->headers, g_free);
  reply->status = 200;
  fake_reply_add_header (reply, "ETag", "\"x\"");
  fake_reply_set_bytes (reply, object, SIZE);
}

static void
shift_range (FakeReply *reply)
{
  char *range = strstr (reply->headers, "bytes 1000-");

  memcpy (range, "bytes 2000-", 11);
}

typedef struct {
  const char *name;
  void (*spoil) (FakeReply *reply);
  gboolean part;     /* a range is asked for */
  const char *words; /* when it is always so */
} Fault;

static const Fault faults[] = {
  { "close-delimited and cut", truncate_close, FALSE, "does not tell its length" },
  /* what is left over may be taken for the next answer of the connection */
  { "Content-Length too small", shorten_length, FALSE, "CRC32C is " },
  { "two Content-Lengths", double_length, FALSE, "two Content-Lengths" },
  { "a byte is another", flip_byte, FALSE, "their CRC32C is " },
  { "<Error> with status 200", give_error, FALSE, "InternalError" },
  { "compressed under its name", compress, FALSE, "Content-Encoding: gzip" },
  { "range ignored", ignore_range, TRUE, "ignored the range 1000-1999" },
  { "another range", shift_range, TRUE, "asked for bytes 1000-1999, the server gave 2000-1999" },
};

typedef struct {
  const Fault *fault;
  guint times;
  guint n_modes; /* requests that asked for a checksum, signed */
} Script;

static void
hook (const FakeRequest *request, FakeReply *reply, const char *key G_GNUC_UNUSED, guint count,
      gpointer data)
{
  Script *script = data;
  g_autofree char *mode = fake_request_get_header (request, "x-amz-checksum-mode"),
                  *signature = fake_request_get_header (request, "Authorization");

  if (g_strcmp0 (mode, "ENABLED") == 0 && strstr (signature, "x-amz-checksum-mode;"))
    script->n_modes++;
  if (request->first < 0)
    add_sum (reply, object, SIZE);
  if (count < script->times)
    script->fault->spoil (reply);
}

/* gets the object, or bytes 1000 to 1999; TRUE if it is right */
static gboolean
get (Script *script, HrVerify verify, HrHttpCounts *counts, guint *n_asked, GError **error)
{
  g_autoptr (FakeS3) s3 = fake_s3_new ();
  HrHttpOptions options = HR_HTTP_OPTIONS;
  HrS3Settings settings = { .endpoint = fake_server_get_url (fake_s3_get_server (s3)) };
  g_autoptr (HrS3Config) config = NULL;
  g_autoptr (HrHttp) http = NULL;
  g_auto (HrHttpAnswer) answer = { 0 };
  HrHttpRequest *request;
  gboolean good;

  fake_s3_use (s3);
  fake_s3_put (s3, "o", object, SIZE);
  fake_s3_set_hook (s3, hook, script);
  config = hr_s3_config_new (&settings, error);
  options.max_tries = 3;
  options.retry = (HrRetryTimes){ MSEC, MSEC, 20 * MSEC };
  options.verify = verify;
  http = hr_http_new (&options, error);
  request = hr_s3_get (config, "demo", "o");
  if (script->fault->part)
    hr_http_request_set_range (request, 1000, 1999);
  good = hr_http_wait (http, request, -1, &answer, error);
  if (good && script->fault->part)
    g_assert_cmpmem (answer.body->data, answer.received, object + 1000, 1000);
  else if (good && verify != HR_VERIFY_NONE)
    g_assert_cmpmem (answer.body->data, answer.received, object, SIZE);
  *counts = *hr_http_get_counts (http);
  *n_asked = fake_s3_get_count (s3, "o");
  return good;
}

/* once: the next try is right, but for what would be the same again */
static void
test_once (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    Script script = { &faults[i], 1, 0 };
    g_autoptr (GError) error = NULL;
    HrHttpCounts counts;
    guint n_asked;
    gboolean good = get (&script, HR_VERIFY_AUTO, &counts, &n_asked, &error);

    g_test_message ("%s: %s", faults[i].name, error ? error->message : "good");
    if (faults[i].spoil == compress) {
      g_assert_false (good);
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpuint (n_asked, >=, 2);
    g_assert_cmpuint (script.n_modes, ==, n_asked);
    g_assert_cmpuint (counts.verified, ==, faults[i].part ? 0 : 1);
    g_assert_cmpuint (counts.corrupt, ==,
                      faults[i].spoil == flip_byte || faults[i].spoil == shorten_length ? 1 : 0);
  }
}

/* always: nothing is delivered, and the message says what it is */
static void
test_always (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    Script script = { &faults[i], G_MAXUINT, 0 };
    g_autoptr (GError) error = NULL;
    HrHttpCounts counts;
    guint n_asked;

    g_assert_false (get (&script, HR_VERIFY_AUTO, &counts, &n_asked, &error));
    g_test_message ("%s", error->message);
    g_assert_nonnull (strstr (error->message, faults[i].words));
    g_assert_true (g_str_has_prefix (error->message, "s3://demo/o: "));
    g_assert_cmpuint (counts.verified, ==, 0);
  }
}

/* verify=none asks for no checksum, and looks at none */
static void
test_unverified (void)
{
  Script script = { &faults[3], G_MAXUINT, 0 };
  g_autoptr (GError) error = NULL;
  HrHttpCounts counts;
  guint n_asked;

  g_assert_true (get (&script, HR_VERIFY_NONE, &counts, &n_asked, &error));
  g_assert_cmpuint (n_asked, ==, 1);
  g_assert_cmpuint (script.n_modes, ==, 0);
  g_assert_cmpuint (counts.verified + counts.corrupt, ==, 0);
}

static void
cut_short (FakeReply *reply)
{
  reply->cut = 100000;
  reply->end = FAKE_CLOSE;
}

/* a body that came in two tries is checked as one */
static void
test_continued (void)
{
  static const Fault cut = { "cut", cut_short, FALSE, NULL };
  Script script = { &cut, 1, 0 };
  g_autoptr (GError) error = NULL;
  HrHttpCounts counts;
  guint n_asked;

  g_assert_true (get (&script, HR_VERIFY_AUTO, &counts, &n_asked, &error));
  g_assert_cmpuint (n_asked, ==, 2);
  g_assert_cmpuint (counts.verified, ==, 1);
}

int
main (int argc, char **argv)
{
  for (guint i = 0; i < SIZE; i++)
    object[i] = i * 7 + i / 251;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/bad-bodies/once", test_once);
  g_test_add_func ("/io/bad-bodies/always", test_always);
  g_test_add_func ("/io/bad-bodies/unverified", test_unverified);
  g_test_add_func ("/io/bad-bodies/continued", test_continued);
  return g_test_run ();
}
