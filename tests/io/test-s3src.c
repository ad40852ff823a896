/* test-s3src.c: objects become blocks of lines, whatever the server does */
#include "fake-s3.h"
#include "hr-harness.h"
#include "outcome.h"
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

static FakeS3 *s3;

static void
begin (void)
{
  s3 = fake_s3_new ();
  fake_s3_use (s3);
}

static void
end (void)
{
  g_clear_pointer (&s3, fake_s3_free);
  hr_harness_assert_no_leaks ();
}

static char *
random_lines (GRand *random, gsize size)
{
  char *text = g_malloc (size + 1);

  for (gsize i = 0; i < size; i++)
    text[i] = g_rand_int_range (random, 0, 20) ? (char)('a' + i % 26) : '\n';
  text[size] = '\0';
  return text;
}

static void
append_lines (GString *text, HrBuffer *block)
{
  HrTensor *lines = hr_buffer_get_tensor (block, "lines");

  g_string_append_len (text, hr_tensor_get_data (lines), hr_tensor_get_n_bytes (lines));
}

/* all that a pipeline with an appsink delivers */
static GString *
run (const char *text)
{
  GString *got = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
  HrBuffer *block;

  g_assert_no_error (error);
  g_assert_true (hr_pipeline_start (pipeline, &error));
  while ((block = hr_pipeline_pull (pipeline, &error))) {
    append_lines (got, block);
    hr_buffer_unref (block);
  }
  g_assert_no_error (error);
  g_assert_true (hr_pipeline_wait (pipeline, &error));
  return got;
}

/* any sizes of parts and blocks, any read-ahead, serial too: the same text */
static void
test_parts (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (21);

  for (guint round = 0; round < 40; round++) {
    g_autoptr (GString) expected = g_string_new (NULL);
    g_autofree char *text = NULL;
    GString *got;
    guint n_objects = g_rand_int_range (random, 1, 4), ahead = g_rand_int_range (random, 0, 5);
    gboolean serial = round % 4 == 0;

    begin ();
    for (guint i = 0; i < n_objects; i++) {
      gsize size = g_rand_int_range (random, 0, 2000);
      g_autofree char *lines = random_lines (random, size),
                      *key = g_strdup_printf ("x/%u.jsonl", i);

      fake_s3_put (s3, key, lines, size);
      g_string_append_len (expected, lines, size);
    }
    text = g_strdup_printf ("serial=%d s3src location=s3://demo/x/ part-bytes=%d block-bytes=%d "
                            "read-ahead=%u hedge=false io-threads=%u ! appsink",
                            serial, g_rand_int_range (random, 20, 900),
                            g_rand_int_range (random, 1, 900), ahead, 1 + round % 3);
    got = run (text);
    g_assert_cmpmem (got->str, got->len, expected->str, expected->len);
    g_assert_cmpuint (fake_server_get_most_at_once (fake_s3_get_server (s3)), <=,
                      serial ? 1 : ahead + 1);
    g_string_free (got, TRUE);
    end ();
  }
}

/* read-ahead is what it says */
static void
test_read_ahead (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (22);
  g_autofree char *text = random_lines (random, 10000);
  HrHarness *harness;

  begin ();
  fake_s3_put (s3, "a.jsonl", text, 10000);
  fake_s3_set_delay (s3, 100);
  harness = hr_harness_new ("s3src location=s3://demo/a.jsonl part-bytes=1000 read-ahead=3", 1);
  hr_harness_wait (harness);
  g_assert_cmpuint (fake_server_get_most_at_once (fake_s3_get_server (s3)), ==, 4);
  g_assert_cmpuint (fake_s3_get_count (s3, "a.jsonl"), ==, 10);
  hr_harness_free (harness);
  end ();
}

/* ---- faults ---- */

static void
cut_body (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, const char *key, guint count,
          gpointer data G_GNUC_UNUSED)
{
  if (!key || count >= 3)
    return;
  reply->cut = reply->size / 2;
  reply->end = FAKE_CLOSE;
}

static void
break_list (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, const char *key,
            guint count, gpointer data G_GNUC_UNUSED)
{
  if (key || count > 0)
    return;
  reply->size /= 2; /* a document that ends early, with the right length */
}

static void
test_passing (void)
{
  static const FakeS3Hook hooks[] = { cut_body, break_list };
  g_autofree char *text = NULL;
  gsize size;

  g_assert_true (
      g_file_get_contents (HR_TEST_DATA "/cases/28-s3-server-faults/a.jsonl", &text, &size, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (hooks); i++) {
    GString *got;

    begin ();
    fake_s3_put (s3, "28/a.jsonl", text, size);
    fake_s3_set_hook (s3, hooks[i], NULL);
    got = run ("s3src location=s3://demo/28/ part-bytes=8KiB ! appsink");
    g_assert_cmpmem (got->str, got->len, text, size);
    g_string_free (got, TRUE);
    end ();
  }
}

/* the stats tell what a run has cost the server */
static gint64
get_metric (HrPipeline *pipeline, guint element, const char *name)
{
  g_autofree char *stats = hr_pipeline_get_stats (pipeline);
  g_autoptr (JsonNode) node = json_from_string (stats, NULL);
  JsonArray *elements = json_object_get_array_member (json_node_get_object (node), "elements");

  return json_object_get_int_member (json_array_get_object_element (elements, element), name);
}

static void
throttle (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, const char *key, guint count,
          gpointer data G_GNUC_UNUSED)
{
  if (!key || count >= 2)
    return;
  g_clear_pointer (&reply->headers, g_free);
  if (count == 0)
    fake_reply_error (reply, 500, "InternalError");
  else
    fake_reply_error (reply, 429, "SlowDown");
}

static void
test_metrics (void)
{
  static const char record[] = "{\"image\": \"i\", \"conversations\": [{\"from\": \"human\", "
                               "\"value\": \"<image>\"}, {\"from\": \"gpt\", \"value\": \"x\"}]}\n";
  HrHarness *harness;
  HrPipeline *pipeline;

  begin ();
  fake_s3_put (s3, "a.jsonl", record, strlen (record));
  fake_s3_put (s3, "i", "x", 1);
  fake_s3_set_hook (s3, throttle, NULL);
  harness = hr_harness_new ("s3src location=s3://demo/a.jsonl ! jsonlparse ! imagefetch", 1);
  pipeline = hr_harness_get_pipeline (harness);
  hr_harness_wait (harness);
  g_assert_cmpint (get_metric (pipeline, 0, "requests"), ==, 4); /* HEAD and three GETs */
  g_assert_cmpint (get_metric (pipeline, 2, "requests"), ==, 3);
  for (guint i = 0; i <= 2; i += 2) {
    g_assert_cmpint (get_metric (pipeline, i, "retries"), ==, 2);
    g_assert_cmpint (get_metric (pipeline, i, "throttled"), ==, 1);
  }
  hr_harness_free (harness);
  end ();
}

/* another object under the same key, once by a server that honours If-Match, once by one that does
 * not: never a mix */
static void
swap_object (const FakeRequest *request, FakeReply *reply, const char *key, guint count,
             gpointer data)
{
  GBytes *other = data;

  if (!key || count == 0)
    return;
  g_clear_pointer (&reply->headers, g_free);
  reply->status = 200;
  fake_reply_object (reply, request, g_bytes_get_data (other, NULL), g_bytes_get_size (other),
                     "\"another\"");
}

static void
test_replaced (void)
{
  g_autofree char *text = NULL, *other = NULL;
  g_autoptr (GBytes) bytes = NULL;
  gsize size, other_size;

  g_assert_true (
      g_file_get_contents (HR_TEST_DATA "/cases/28-s3-server-faults/a.jsonl", &text, &size, NULL));
  g_assert_true (g_file_get_contents (HR_TEST_DATA "/cases/28-s3-server-faults/a-replaced.jsonl",
                                      &other, &other_size, NULL));
  bytes = g_bytes_new (other, other_size);
  for (int honours = 0; honours < 2; honours++) {
    HrHarness *harness;
    g_autoptr (HrBuffer) first = NULL;

    begin ();
    fake_s3_put (s3, "a.jsonl", text, size);
    if (!honours)
      fake_s3_set_hook (s3, swap_object, bytes);
    harness = hr_harness_new ("s3src location=s3://demo/a.jsonl part-bytes=4KiB block-bytes=4KiB "
                              "read-ahead=0 queue-items=1",
                              1);
    /* a failed run gives up what it had queued: where it is late, nothing may be pulled before */
    if (honours) {
      first = hr_harness_pull (harness);
      fake_s3_put (s3, "a.jsonl", other, other_size);
    }
    hr_harness_expect_error (harness, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                             "*s3://demo/a.jsonl: *replaced while it was read*ETag was*");
    hr_harness_free (harness);
    g_clear_pointer (&first, hr_buffer_unref);
    end ();
  }
}

static void
always_busy (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply,
             const char *key G_GNUC_UNUSED, guint count G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
  g_clear_pointer (&reply->headers, g_free);
  fake_reply_error (reply, 503, "SlowDown");
}

static void
test_always_503 (void)
{
  HrHarness *harness;

  begin ();
  fake_s3_put (s3, "28/a.jsonl", "x\n", 2);
  fake_s3_set_hook (s3, always_busy, NULL);
  harness = hr_harness_new ("s3src location=s3://demo/28/ tries=2", 1);
  hr_harness_expect_error (harness, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                           "*s3://demo*HTTP 503 SlowDown*(2 tries in*");
  hr_harness_free (harness);
  end ();
}

static void
be_silent (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, const char *key,
           guint count G_GNUC_UNUSED, gpointer data)
{
  if ((key != NULL) == GPOINTER_TO_INT (data))
    reply->delay = 3600 * 1000;
}

/* stop() ends every wait: for the list, for an object, for the time of another try */
static void
test_stop (void)
{
  for (int stage = 0; stage < 3; stage++) {
    HrHarness *harness;

    begin ();
    fake_s3_put (s3, "a/a.jsonl", "x\n", 2);
    if (stage < 2)
      fake_s3_set_hook (s3, be_silent, GINT_TO_POINTER (stage));
    else
      fake_s3_set_hook (s3, always_busy, NULL);
    harness = hr_harness_new ("s3src location=s3://demo/a/ tries=100", 1);
    g_usleep (50000);
    hr_harness_free (harness);
    end ();
  }
}

static void
test_failures (void)
{
  HrHarness *harness;

  begin ();
  harness = hr_harness_new ("s3src location=s3://demo/none.jsonl", 1);
  hr_harness_expect_error (harness, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
                           "*s3src*s3://demo/none.jsonl*");
  hr_harness_free (harness);
  hr_harness_new_failing ("s3src location=demo/x", HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                          "*no S3 location*");
  hr_harness_new_failing ("s3src location=s3://demo/ endpoint=nonsense", HR_PARSE_ERROR,
                          HR_PARSE_ERROR_BAD_VALUE, "*nonsense*");
  g_unsetenv ("AWS_ACCESS_KEY_ID");
  hr_harness_new_failing ("s3src location=s3://demo/", HR_RESOURCE_ERROR,
                          HR_RESOURCE_ERROR_FORBIDDEN, "*no-sign-request*");
  end ();
}

/* ---- the same records as from disk, in ranges of any size ---- */

static void
test_case_14 (void)
{
  static const char *const files[] = { "crlf",
                                       "crlf-mixed",
                                       "blank-lines",
                                       "no-final-newline",
                                       "no-final-newline-crlf",
                                       "one-record-no-newline",
                                       "cr-only",
                                       "leading-space",
                                       "bad-at-6",
                                       "empty",
                                       "newline-only" };
  static const guint sizes[] = { 1, 2, 3, 7, 100000 };

  begin ();
  fake_s3_put_path (s3, "14", HR_TEST_DATA "/cases/14-line-ends");
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_auto (Outcome) disk = outcome_run ("filesrc location=%s/cases/14-line-ends/%s.jsonl ! "
                                         "jsonlparse ! appsink",
                                         HR_TEST_DATA, files[i]);
    g_autofree char *expected = outcome_summary (&disk);

    g_assert_no_error (disk.error);
    for (guint k = 0; k < G_N_ELEMENTS (sizes); k++) {
      g_auto (Outcome) got =
          outcome_run ("s3src location=s3://demo/14/%s.jsonl part-bytes=%u block-bytes=%u ! "
                       "jsonlparse ! appsink",
                       files[i], sizes[k], sizes[k]);
      g_autofree char *summary = outcome_summary (&got);

      g_assert_no_error (got.error);
      g_assert_cmpstr (summary, ==, expected);
    }
  }
  end ();
}

static void
test_examples (void)
{
  begin ();
  fake_s3_put_path (s3, "train", HR_TEST_DATA "/cases/18-empty-object");
  hr_harness_run_examples ("s3src");
  end ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("HOME", "/nonexistent", TRUE);
  g_test_add_func ("/s3src/parts", test_parts);
  g_test_add_func ("/s3src/read-ahead", test_read_ahead);
  g_test_add_func ("/s3src/passing", test_passing);
  g_test_add_func ("/s3src/metrics", test_metrics);
  g_test_add_func ("/s3src/replaced", test_replaced);
  g_test_add_func ("/s3src/always-503", test_always_503);
  g_test_add_func ("/s3src/stop", test_stop);
  g_test_add_func ("/s3src/failures", test_failures);
  g_test_add_func ("/s3src/case-14", test_case_14);
  g_test_add_func ("/s3src/examples", test_examples);
  return g_test_run ();
}
