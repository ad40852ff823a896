/* test-imagefetch.c: links become bytes: where they lead, how many at once, what may go wrong */
#include "fake-s3.h"
#include "hr-harness.h"
#include "outcome.h"
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CASE_16 HR_TEST_DATA "/cases/16-image-links"

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

/* a sample with these links; resolved under @base unless they are whole */
static HrBuffer *
make_sample (const char *base, const char *const *links)
{
  HrBuffer *sample = hr_buffer_new ();
  HrList *images = hr_list_new (0), *names = hr_list_new (0);
  GRefString *uri = g_ref_string_new ("a.jsonl"), *root = g_ref_string_new (base);

  for (guint i = 0; links[i]; i++) {
    gboolean whole = strstr (links[i], ":") != NULL;
    g_autofree char *target = g_strconcat (whole ? "" : base, links[i], NULL);

    hr_list_append_string (images, target);
    hr_list_append_string (names, links[i]);
  }
  hr_buffer_set_list (sample, "images", images);
  hr_buffer_set_list (sample, "image_links", names);
  hr_buffer_set_origin (sample, hr_origin_new (uri, root, 0, 1, 1));
  g_ref_string_release (uri);
  g_ref_string_release (root);
  return sample;
}

static HrBuffer *
make_one (const char *base, const char *link)
{
  const char *const links[] = { link, NULL };

  return make_sample (base, links);
}

static void
check_image (const HrBuffer *sample, guint index, gconstpointer bytes, gsize size)
{
  HrTensor *image = hr_list_get_tensor (hr_buffer_get_list (sample, "images"), index);

  g_assert_nonnull (image);
  g_assert_cmpuint (hr_tensor_get_n_dims (image), ==, 1);
  g_assert_cmpmem (hr_tensor_get_data (image), hr_tensor_get_n_bytes (image), bytes, size);
}

static void
check_size (const HrBuffer *sample, guint index, gint32 height, gint32 width)
{
  HrTensor *sizes = hr_buffer_get_tensor (sample, "image_sizes");
  const gint32 *values = hr_tensor_get_data (sizes);

  g_assert_cmpint (hr_tensor_get_shape (sizes)[1], ==, 2);
  g_assert_cmpint (hr_tensor_get_shape (sizes)[0], >, index);
  g_assert_cmpint (values[2 * index], ==, height);
  g_assert_cmpint (values[2 * index + 1], ==, width);
}

/* one sample is skipped: why. (transfer full) */
static GError *
reject (const char *element, HrBuffer *sample)
{
  HrHarness *harness = hr_harness_new (element, 1);
  HrPipeline *pipeline = hr_harness_get_pipeline (harness);
  HrMessage *message;
  GError *error;

  hr_harness_push (harness, sample);
  hr_harness_wait (harness);
  message = hr_pipeline_pop_message (pipeline, -1);
  g_assert_cmpint (message->type, ==, HR_MESSAGE_SKIPPED);
  error = g_error_copy (message->error);
  hr_message_unref (message);
  hr_harness_free (harness);
  return error;
}

static void
check_rejected (const char *element, HrBuffer *sample, int code, const char *words)
{
  g_autoptr (GError) error = reject (element, sample);

  g_assert_error (error, HR_DATA_ERROR, code);
  g_assert_nonnull (strstr (error->message, words));
}

/* ---- case 16: from disk and from S3 ---- */

static void
check_record (const Outcome *outcome, JsonObject *record, gboolean delivered, guint *next)
{
  gint64 line = json_object_get_int_member (record, "line");
  const char *id = json_object_get_string_member (record, "id");

  g_test_message ("%s", id);
  if (delivered) {
    HrBuffer *sample = outcome->samples->pdata[(*next)++];
    HrTensor *image = hr_list_get_tensor (hr_buffer_get_list (sample, "images"), 0);
    const guint8 *pixel = hr_tensor_get_data (image);
    JsonArray *rgb = json_object_get_array_member (record, "rgb");

    g_assert_cmpstr (hr_buffer_get_origin (sample)->id, ==, id);
    check_size (sample, 0, 32, 32);
    for (guint i = 0; i < 3; i++)
      g_assert_cmpint (pixel[i], ==, json_array_get_int_element (rgb, i));
  } else {
    const GError *error = outcome_get_error (outcome, line);

    g_assert_nonnull (error);
    g_assert_cmpuint (error->domain, ==, HR_DATA_ERROR);
    if (json_object_has_member (record, "error")) {
      JsonObject *expected = json_object_get_object_member (record, "error");
      JsonArray *names = json_object_get_array_member (expected, "message_names");

      g_assert_cmpstr (hr_data_error_kind (error->code), ==,
                       json_object_get_string_member (expected, "kind"));
      for (guint i = 1; i < json_array_get_length (names); i++) /* the first is the place */
        g_assert_nonnull (strstr (error->message, json_array_get_string_element (names, i)));
    } else { /* inside the root of the folder only */
      g_assert_cmpstr (id, ==, "up-inside-root");
      g_assert_cmpint (error->code, ==, HR_DATA_ERROR_LINK_REFUSED);
    }
  }
}

static void
check_case_16 (const char *source, gboolean is_file)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_auto (Outcome) outcome =
      outcome_run ("%s ! jsonlparse ! imagefetch ! imagedecode ! appsink", source);
  JsonObject *expected;
  JsonArray *records;
  guint next = 0;

  g_test_message ("%s", source);
  g_assert_no_error (outcome.error);
  g_assert_true (json_parser_load_from_file (parser, CASE_16 "/case.json", NULL));
  expected = json_object_get_object_member (json_node_get_object (json_parser_get_root (parser)),
                                            "expected");
  records = json_object_get_array_member (
      json_object_get_object_member (expected, "location=CASE/corpus/"), "records");
  for (guint i = 0; i < json_array_get_length (records); i++) {
    JsonObject *record = json_array_get_object_element (records, i);
    gboolean up = strcmp (json_object_get_string_member (record, "id"), "up-inside-root") == 0;

    check_record (&outcome, record,
                  json_object_get_boolean_member (record, "delivered") && !(is_file && up), &next);
  }
  g_assert_cmpuint (outcome.samples->len, ==, is_file ? 9 : 10);
  g_assert_cmpuint (outcome.skipped->len, ==, is_file ? 13 : 12);
}

static void
test_case_16_files (void)
{
  static const char *const places[] = { "/", CASE_16, CASE_16 "/corpus/train" };
  g_autofree char *here = g_get_current_dir ();

  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    g_assert_cmpint (g_chdir (places[i]), ==, 0);
    check_case_16 ("filesrc location=" CASE_16 "/corpus/", FALSE);
    check_case_16 ("filesrc location=" CASE_16 "/corpus/train/a.jsonl", TRUE);
  }
  check_case_16 ("filesrc location=..", FALSE);
  check_case_16 ("filesrc location=a.jsonl", TRUE);
  check_case_16 ("filesrc location=../train/*.jsonl", TRUE);
  g_assert_cmpint (g_chdir (here), ==, 0);
  hr_harness_assert_no_leaks ();
}

static void
test_case_16_s3 (void)
{
  begin ();
  fake_s3_put_path (s3, "corpus", CASE_16 "/corpus");
  check_case_16 ("s3src location=s3://demo/corpus/", FALSE);
  check_case_16 ("s3src location=s3://demo/corpus/train/a.jsonl", TRUE);
  check_case_16 ("serial=true s3src location=s3://demo/corpus", FALSE);
  end ();
}

/* an empty object is read once at most, and is no reason to try again */
static void
test_case_18 (void)
{
  begin ();
  fake_s3_put_path (s3, "18", HR_TEST_DATA "/cases/18-empty-object");
  for (int disk = 0; disk < 2; disk++) {
    g_auto (Outcome) outcome =
        outcome_run ("%s ! jsonlparse ! imagefetch ! imagedecode ! appsink",
                     disk ? "filesrc location=" HR_TEST_DATA "/cases/18-empty-object/"
                          : "s3src location=s3://demo/18/");
    g_autofree char *summary = outcome_summary (&outcome);
    const GError *error = outcome_get_error (&outcome, 2);

    g_assert_no_error (outcome.error);
    g_assert_true (g_str_has_prefix (summary, "a1@1+0 c1@1+0 !media-undecodable@2+"));
    g_assert_nonnull (strstr (error->message, "0 bytes"));
  }
  g_assert_cmpuint (fake_s3_get_count (s3, "18/b.jsonl"), <=, 2);
  g_assert_cmpuint (fake_s3_get_count (s3, "18/zero.jpg"), <=, 2);
  end ();
}

/* ---- many at once ---- */

#define N_SAMPLES 300

static char *
image_key (guint i)
{
  return g_strdup_printf ("i/%u", i);
}

static gsize
image_size (guint i)
{
  return 1 + (i * 7919) % 5000;
}

static gpointer
push_many (gpointer pipeline)
{
  guint image = 0;

  for (guint i = 0; i < N_SAMPLES; i++) {
    g_autoptr (GPtrArray) links = g_ptr_array_new_with_free_func (g_free);

    for (guint k = 0; k < i % 4; k++)
      g_ptr_array_add (links, image_key (image++));
    g_ptr_array_add (links, NULL);
    g_assert_true (hr_pipeline_push (
        pipeline, "in", make_sample ("s3://demo/", (const char *const *)links->pdata), NULL));
  }
  hr_pipeline_end (pipeline, "in");
  return NULL;
}

static void
append_images (GString *text, HrBuffer *sample)
{
  HrList *images = hr_buffer_get_list (sample, "images");

  for (guint i = 0; i < hr_list_get_length (images); i++) {
    HrTensor *tensor = hr_list_get_tensor (images, i);

    g_string_append_len (text, hr_tensor_get_data (tensor), hr_tensor_get_n_bytes (tensor));
  }
  g_string_append_c (text, '|');
}

/* the bytes of samples of 0 to 3 images, i/0, i/1, … */
static GString *
run_many (const char *settings, const char *properties)
{
  g_autofree char *text =
      g_strdup_printf ("%s appsrc name=in ! imagefetch %s ! appsink", settings, properties);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
  GString *got = g_string_new (NULL);
  HrBuffer *sample;
  GThread *thread;

  g_assert_no_error (error);
  g_assert_true (hr_pipeline_start (pipeline, &error));
  thread = g_thread_new ("push", push_many, pipeline);
  while ((sample = hr_pipeline_pull (pipeline, &error))) {
    append_images (got, sample);
    hr_buffer_unref (sample);
  }
  g_assert_no_error (error);
  g_thread_join (thread);
  g_assert_true (hr_pipeline_wait (pipeline, &error));
  return got;
}

static void
put_many (GString *expected)
{
  guint image = 0;

  for (guint i = 0; i < N_SAMPLES; i++) {
    for (guint k = 0; k < i % 4; k++, image++) {
      g_autofree char *key = image_key (image),
                      *bytes = g_strnfill (image_size (image), 'a' + i % 26);

      fake_s3_put (s3, key, bytes, image_size (image));
      g_string_append (expected, bytes);
    }
    g_string_append_c (expected, '|');
  }
}

/* in whatever order they arrive, and however little memory there is */
static void
test_many (void)
{
  static const struct {
    const char *settings, *properties;
    guint most;
  } runs[] = { { "", "", 64 },
               { "", "concurrency=5 hedge=false", 5 },
               { "memory=1", "concurrency=8 hedge=false", 8 },
               { "memory=20000", "concurrency=16 hedge=false", 16 },
               { "", "concurrency=16 hedge=false io-threads=3", 16 },
               { "memory=20000", "concurrency=16 hedge=false io-threads=3", 64 },
               { "serial=true", "concurrency=16", 1 } };

  for (guint i = 0; i < G_N_ELEMENTS (runs); i++) {
    g_autoptr (GString) expected = g_string_new (NULL);
    GString *got;
    guint most;

    begin ();
    put_many (expected);
    fake_s3_set_delay (s3, i == 6 ? 0 : 2);
    got = run_many (runs[i].settings, runs[i].properties);
    g_assert_cmpmem (got->str, got->len, expected->str, expected->len);
    g_string_free (got, TRUE);
    most = fake_server_get_most_at_once (fake_s3_get_server (s3));
    g_assert_cmpuint (most, <=, runs[i].most);
    if (i == 1) /* and as many as were allowed */
      g_assert_cmpuint (most, ==, 5);
    end ();
  }
}

static void
fail_some (const FakeRequest *request, FakeReply *reply, const char *key G_GNUC_UNUSED, guint count,
           gpointer data G_GNUC_UNUSED)
{
  switch (count > 0 ? 99 : request->number % 7) {
  case 0:
    reply->cut = reply->size / 2;
    reply->end = FAKE_CLOSE;
    break;
  case 1:
    reply->cut = reply->size / 2;
    reply->end = FAKE_RESET;
    break;
  case 2:
    g_clear_pointer (&reply->headers, g_free);
    fake_reply_error (reply, 500, "InternalError");
    break;
  case 3:
    reply->cut = reply->size / 2;
    reply->end = FAKE_STALL;
    break;
  default:
    break;
  }
}

static void
test_faults (void)
{
  g_autoptr (GString) expected = g_string_new (NULL);
  GString *got;

  begin ();
  put_many (expected);
  fake_s3_set_hook (s3, fail_some, NULL);
  got = run_many ("memory=100000", "progress-timeout=100ms");
  g_assert_cmpmem (got->str, got->len, expected->str, expected->len);
  g_string_free (got, TRUE);
  end ();
}

/* ---- order and memory ---- */

static gboolean in_order;

static void
check_order (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply G_GNUC_UNUSED,
             const char *key, guint count G_GNUC_UNUSED, gpointer data)
{
  guint *next = data;
  g_autofree char *expected = image_key (*next);

  in_order &= strcmp (key, expected) == 0;
  (*next)++;
}

/* who is delivered first is fetched first */
static void
test_order (void)
{
  g_autoptr (GString) expected = g_string_new (NULL);
  guint next = 0;

  begin ();
  put_many (expected);
  in_order = TRUE;
  fake_s3_set_hook (s3, check_order, &next);
  g_string_free (run_many ("", "concurrency=1"), TRUE);
  end ();
  g_assert_true (in_order);
  g_assert_cmpuint (next, >, 400);
}

static void
be_slow (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, const char *key,
         guint count G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
  if (g_str_has_prefix (key, "slow"))
    reply->delay = 150;
}

/* two images that turn out to be large wait, unread, until what comes before them has left */
static void
test_memory (void)
{
  static const char *const large[] = { "large/1", "large/2", NULL };
  g_autofree char *bytes = g_strnfill (30000, 'l');
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline;

  begin ();
  fake_s3_put (s3, "small", "s", 1);
  fake_s3_put (s3, "slow", "s", 1);
  fake_s3_put (s3, "large/1", bytes, 30000);
  fake_s3_put (s3, "large/2", bytes, 30000);
  fake_s3_set_hook (s3, be_slow, NULL);
  pipeline = hr_parse_launch ("memory=20000 appsrc name=in ! imagefetch ! appsink", &error);
  g_assert_no_error (error);
  g_assert_true (hr_pipeline_start (pipeline, &error));
  /* one after the other, so that it learns that images are small */
  for (guint i = 0; i < 3; i++) {
    hr_pipeline_push (pipeline, "in", make_one ("s3://demo/", "small"), NULL);
    hr_buffer_unref (hr_pipeline_pull (pipeline, &error));
  }
  hr_pipeline_push (pipeline, "in", make_one ("s3://demo/", "slow"), NULL);
  hr_pipeline_push (pipeline, "in", make_sample ("s3://demo/", large), NULL);
  hr_pipeline_push (pipeline, "in", make_one ("s3://demo/", "small"), NULL);
  hr_pipeline_end (pipeline, "in");
  for (guint i = 0; i < 3; i++) {
    g_autoptr (HrBuffer) sample = hr_pipeline_pull (pipeline, &error);

    g_assert_no_error (error);
    check_image (sample, 0, i == 1 ? bytes : "s", i == 1 ? 30000 : 1);
    if (i == 1)
      check_image (sample, 1, bytes, 30000);
  }
  g_assert_null (hr_pipeline_pull (pipeline, &error));
  g_assert_true (hr_pipeline_wait (pipeline, &error));
  g_object_unref (pipeline);
  end ();
}

/* ---- sizes ---- */

static void
test_sizes (void)
{
  static const char *const links[] = { "06-exif-orientation/o1.jpg", "06-exif-orientation/o6.jpg",
                                       "05-jpeg-truncated/html.jpg", "18-empty-object/zero.jpg",
                                       NULL };
  HrHarness *harness = hr_harness_new ("imagefetch", 1);
  g_autoptr (HrBuffer) sample = NULL, none = NULL;
  HrTensor *sizes;
  const gint32 *first;
  const char *const nothing[] = { NULL };

  hr_harness_push (harness, make_sample (HR_TEST_DATA "/cases/", links));
  hr_harness_push (harness, make_sample ("/", nothing));
  hr_harness_end (harness);
  sample = hr_harness_pull (harness);
  none = hr_harness_pull (harness);
  sizes = hr_buffer_get_tensor (sample, "image_sizes");
  first = hr_tensor_get_data (sizes);
  g_assert_cmpstr (hr_dtype_get_name (hr_tensor_get_dtype (sizes)), ==, "int32");
  g_assert_cmpint (first[0], >, 0);
  g_assert_cmpint (first[0], !=, first[1]);
  check_size (sample, 1, first[0], first[1]); /* shown the same way, stored on its side */
  check_size (sample, 2, 0, 0);
  check_size (sample, 3, 0, 0);
  check_image (sample, 3, "", 0);
  g_assert_cmpint (hr_tensor_get_shape (hr_buffer_get_tensor (none, "image_sizes"))[0], ==, 0);
  g_assert_cmpuint (hr_list_get_length (hr_buffer_get_list (none, "images")), ==, 0);
  g_clear_pointer (&sample, hr_buffer_unref);
  g_clear_pointer (&none, hr_buffer_unref);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* ---- what may go wrong ---- */

static void
refuse (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, const char *key,
        guint count G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
  g_auto (GStrv) parts = g_strsplit (key ? key : "", "-", 3);

  if (!parts[0] || !parts[1] || !parts[2])
    return;
  g_clear_pointer (&reply->headers, g_free);
  fake_reply_error (reply, g_ascii_strtoull (parts[1], NULL, 10), parts[2]);
}

/* a socket cannot be opened, which costs the sample and not the run */
static void
check_socket (const char *element)
{
  g_autofree char *folder = g_dir_make_tmp ("hr-imagefetch-XXXXXX", NULL);
  g_autofree char *root = g_strconcat (folder, "/", NULL);
  g_autofree char *path = g_build_filename (folder, "s", NULL);
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_strlcpy (address.sun_path, path, sizeof address.sun_path);
  g_assert_cmpint (bind (fd, (struct sockaddr *)&address, sizeof address), ==, 0);
  check_rejected (element, make_one (root, "s"), HR_DATA_ERROR_MEDIA_NOT_FOUND, path);
  close (fd);
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

static void
test_rejections (void)
{
  static const char skip[] = "imagefetch on-error=skip max-bytes=1000 tries=1";
  g_autofree char *big = g_strnfill (1001, 'x'), *data = g_strconcat ("data:,", big, NULL);

  begin ();
  fake_s3_put (s3, "big", big, 1001);
  fake_s3_set_hook (s3, refuse, NULL);
  check_rejected (skip, make_one ("s3://demo/", "x-403-AccessDenied"),
                  HR_DATA_ERROR_MEDIA_FORBIDDEN,
                  "x-403-AccessDenied: s3://demo/x-403-AccessDenied: HTTP 403 AccessDenied");
  check_rejected (skip, make_one ("s3://demo/", "gone"), HR_DATA_ERROR_MEDIA_NOT_FOUND,
                  "gone: s3://demo/gone: HTTP 404 NoSuchKey");
  check_rejected (skip, make_one ("s3://demo/", "big"), HR_DATA_ERROR_IMAGE_TOO_LARGE,
                  "1001 bytes");
  /* that a record names a bucket that is none costs the record, not the run */
  check_rejected ("imagefetch on-error=skip allow-links=s3",
                  make_one ("s3://demo/", "s3://other/x.png"), HR_DATA_ERROR_MEDIA_NOT_FOUND,
                  "NoSuchBucket");
  check_rejected (skip, make_one ("/tmp/", "none.png"), HR_DATA_ERROR_MEDIA_NOT_FOUND, "none.png");
  check_rejected (skip, make_one ("/", "tmp"), HR_DATA_ERROR_MEDIA_NOT_FOUND, "tmp");
  check_rejected (skip, make_one ("/dev/", "zero"), HR_DATA_ERROR_MEDIA_NOT_FOUND,
                  "no regular file");
  check_socket (skip);
  check_rejected (skip, make_one ("/", data), HR_DATA_ERROR_IMAGE_TOO_LARGE, "1001 bytes");
  check_rejected (skip, make_one ("/", "data:;base64,@"), HR_DATA_ERROR_MEDIA_UNDECODABLE,
                  "no base64");
  end ();
}

static void
check_fatal (const char *element, HrBuffer *sample, int code, const char *pattern)
{
  HrHarness *harness = hr_harness_new (element, 1);

  hr_harness_push (harness, sample);
  hr_harness_expect_error (harness, HR_RESOURCE_ERROR, code, pattern);
  hr_harness_free (harness);
}

/* what is wrong with the server or the settings ends the run, whatever on-error says */
static void
test_fatal (void)
{
  static const char skip[] = "imagefetch on-error=skip tries=2";

  begin ();
  fake_s3_set_hook (s3, refuse, NULL);
  check_fatal (skip, make_one ("s3://demo/", "x-500-InternalError"), HR_RESOURCE_ERROR_READ,
               "*HTTP 500 InternalError*(2 tries in*");
  check_fatal (skip, make_one ("s3://demo/", "x-403-InvalidAccessKeyId"), HR_RESOURCE_ERROR_FAILED,
               "*InvalidAccessKeyId*");
  check_fatal (skip, make_one ("s3://other/", "x"), HR_RESOURCE_ERROR_FAILED, "*NoSuchBucket*");
  check_fatal ("imagefetch on-error=skip tries=2 endpoint=http://127.0.0.1:9",
               make_one ("s3://demo/", "x"), HR_RESOURCE_ERROR_CONNECT,
               "*x: *127.0.0.1*(2 tries in*");
  g_unsetenv ("AWS_ACCESS_KEY_ID");
  check_fatal (skip, make_one ("s3://demo/", "x"), HR_RESOURCE_ERROR_FORBIDDEN,
               "*no S3 credentials*");
  hr_harness_new_failing ("imagefetch allow-links=nonsense", HR_PARSE_ERROR,
                          HR_PARSE_ERROR_BAD_VALUE, "*nonsense*");
  end ();
}

/* what somebody pushes that is no link: an image, or JSON */
static void
test_no_links (void)
{
  for (guint i = 0; i < 2; i++) {
    HrBuffer *sample = hr_buffer_new ();
    HrList *images = hr_list_new (0);
    HrHarness *harness = hr_harness_new ("imagefetch on-error=skip", 1);

    if (i == 0)
      hr_list_append_tensor (images, hr_tensor_new_bytes (hr_memory_new_copy ("not a link", 10)));
    else
      hr_list_append_json (images, json_node_new (JSON_NODE_NULL));
    hr_buffer_set_list (sample, "images", images);
    hr_harness_push (harness, sample);
    hr_harness_expect_error (harness, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                             "*image 0 is no link: *behind jsonlparse*");
    hr_harness_free (harness);
  }
}

/* ---- the web ---- */

static void
answer_web (const FakeRequest *request, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  g_autofree char *body = g_strnfill (400000, 'w');

  if (g_str_has_prefix (request->target, "/gone")) {
    reply->status = 410;
    return;
  }
  if (g_str_has_prefix (request->target, "/odd")) {
    reply->status = 451;
    return;
  }
  fake_reply_set_text (reply, strcmp (request->target, "/name") == 0
                                      || g_str_has_prefix (request->target, "/presigned?")
                                  ? request->target
                                  : body);
  reply->chunked = g_str_has_prefix (request->target, "/chunked");
  reply->no_length = g_str_has_prefix (request->target, "/open");
}

static void
test_web (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer_web, NULL);
  static const char *const paths[] = { "/chunked", "/open", "/length", "/a b?x=\303\274" };
  static const char allow[] = "imagefetch allow-links=http allow-addresses=127.0.0.1 "
                              "on-error=skip max-bytes=1MB";
  g_autofree char *body = g_strnfill (400000, 'w');
  HrHarness *harness = hr_harness_new (allow, 1);

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++) {
    g_autofree char *link = g_strconcat (fake_server_get_url (server), paths[i], NULL);
    g_autoptr (HrBuffer) sample = NULL;

    hr_harness_push (harness, make_one ("/", link));
    sample = hr_harness_pull (harness);
    check_image (sample, 0, body, 400000);
  }
  {
    /* a signature is over the query as it stands */
    static const char target[] = "/presigned?X-Amz-Signature=0f%2fAb&b=%20+%7E/&a=..%2F&a=";
    g_autofree char *link = g_strconcat (fake_server_get_url (server), target, NULL);
    g_autoptr (HrBuffer) sample = NULL;

    hr_harness_push (harness, make_one ("/", link));
    sample = hr_harness_pull (harness);
    check_image (sample, 0, target, strlen (target));
  }
  hr_harness_end (harness);
  hr_harness_free (harness);
  {
    g_autofree char *refused =
        g_strconcat (fake_server_get_url (server), "/gone?X-Amz-Signature=0f", NULL);
    g_autofree char *gone = g_strconcat (fake_server_get_url (server), "/gone", NULL);
    g_autofree char *odd = g_strconcat (fake_server_get_url (server), "/odd", NULL);
    g_autofree char *good = g_strconcat (fake_server_get_url (server), "/name", NULL);
    g_autofree char *large = g_strconcat (fake_server_get_url (server), "/chunked", NULL);
    guint n;

    check_rejected (allow, make_one ("/", gone), HR_DATA_ERROR_MEDIA_NOT_FOUND, "HTTP 410 Gone");
    check_rejected (allow, make_one ("/", refused), HR_DATA_ERROR_MEDIA_NOT_FOUND,
                    "/gone?X-Amz-Signature=…: HTTP 410 Gone");
    check_rejected (allow, make_one ("/", odd), HR_DATA_ERROR_MEDIA_NOT_FOUND, "HTTP 451");
    check_rejected (allow, make_one ("/", "http://[/x"), HR_DATA_ERROR_MEDIA_NOT_FOUND,
                    "http://[/x");
    check_rejected ("imagefetch allow-links=http allow-addresses=127.0.0.1 on-error=skip "
                    "max-bytes=300000",
                    make_one ("/", large), HR_DATA_ERROR_IMAGE_TOO_LARGE, "300000");
    /* nothing is connected to for a refused link, nor for the good ones beside it */
    n = fake_server_get_n_connections (server);
    {
      const char *const links[] = { good, "file:///etc/passwd", NULL };

      check_rejected (allow, make_sample ("/", links), HR_DATA_ERROR_LINK_REFUSED, "/etc/passwd");
    }
    check_rejected ("imagefetch on-error=skip", make_one ("/", good), HR_DATA_ERROR_LINK_REFUSED,
                    good);
    g_assert_cmpuint (fake_server_get_n_connections (server), ==, n);
  }
  hr_harness_assert_no_leaks ();
}

/* ---- one image fails, or the run is stopped: the others are let go ---- */

static void
stall (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, const char *key,
       guint count G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
  if (!g_str_has_prefix (key, "stall"))
    return;
  reply->cut = 10;
  reply->end = FAKE_STALL;
}

static void
test_cancel (void)
{
  static const char *const links[] = { "stall/1", "missing", "stall/2", NULL };
  static const char *const late[] = { "slow/1", "missing", "slow/2", NULL };
  HrHarness *harness;

  /* answers that come after their sample has failed have nowhere to go */
  begin ();
  fake_s3_put (s3, "slow/1", "1", 1);
  fake_s3_put (s3, "slow/2", "2", 1);
  fake_s3_put (s3, "slow/3", "3", 1);
  fake_s3_set_hook (s3, be_slow, NULL);
  harness = hr_harness_new ("imagefetch on-error=skip", 1);
  hr_harness_push (harness, make_sample ("s3://demo/", late));
  g_usleep (100000);
  hr_harness_push (harness, make_one ("s3://demo/", "slow/3"));
  hr_harness_end (harness);
  {
    g_autoptr (HrBuffer) sample = hr_harness_pull (harness);

    check_image (sample, 0, "3", 1);
  }
  hr_harness_free (harness);
  end ();

  begin ();
  fake_s3_put (s3, "stall/1", "a long enough object", 20);
  fake_s3_put (s3, "stall/2", "a long enough object", 20);
  fake_s3_set_hook (s3, stall, NULL);
  check_rejected ("imagefetch on-error=skip", make_sample ("s3://demo/", links),
                  HR_DATA_ERROR_MEDIA_NOT_FOUND, "missing");
  harness = hr_harness_new ("imagefetch", 1);
  for (guint i = 0; i < 20; i++)
    hr_harness_push (harness, make_one ("s3://demo/", i % 2 ? "stall/1" : "stall/2"));
  g_usleep (50000);
  hr_harness_free (harness);
  end ();
}

static void
test_examples (void)
{
  begin ();
  fake_s3_put_path (s3, "train", HR_TEST_DATA "/cases/18-empty-object");
  hr_harness_run_examples ("imagefetch");
  end ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("HOME", "/nonexistent", TRUE);
  g_assert_cmpint (g_chdir (HR_TEST_DATA "/../.."), ==, 0);
  g_test_add_func ("/imagefetch/case-16/files", test_case_16_files);
  g_test_add_func ("/imagefetch/case-16/s3", test_case_16_s3);
  g_test_add_func ("/imagefetch/case-18", test_case_18);
  g_test_add_func ("/imagefetch/many", test_many);
  g_test_add_func ("/imagefetch/faults", test_faults);
  g_test_add_func ("/imagefetch/order", test_order);
  g_test_add_func ("/imagefetch/memory", test_memory);
  g_test_add_func ("/imagefetch/sizes", test_sizes);
  g_test_add_func ("/imagefetch/rejections", test_rejections);
  g_test_add_func ("/imagefetch/fatal", test_fatal);
  g_test_add_func ("/imagefetch/no-links", test_no_links);
  g_test_add_func ("/imagefetch/web", test_web);
  g_test_add_func ("/imagefetch/cancel", test_cancel);
  g_test_add_func ("/imagefetch/examples", test_examples);
  return g_test_run ();
}
