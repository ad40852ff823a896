/* test-jsonlparse.c: blocks of lines in, samples with origins out */
#include <glib/gstdio.h>
#include <string.h>
#include "outcome.h"

static HrBuffer *
make_block (const char *text, gsize size, const char *uri, const char *root, gint64 byte,
            gint64 line)
{
  HrBuffer *block = hr_buffer_new ();
  g_autoptr (GRefString) uri_string = g_ref_string_new (uri);
  g_autoptr (GRefString) root_string = g_ref_string_new (root);

  hr_buffer_set_tensor (block, "lines", hr_tensor_new_bytes (hr_memory_new_copy (text, size)));
  hr_buffer_set_origin (block, hr_origin_new (uri_string, root_string, byte, size, line));
  return block;
}

typedef struct {
  HrPipeline *pipeline;
  const char *text;
  gsize size;
  guint n_lines; /* of a block */
  const char *uri, *root;
  HrBuffer *block; /* in place of the text */
} Feed;

static void
feed_text (const Feed *feed)
{
  const char *p = feed->text, *end = p + feed->size;
  gint64 line = 1;

  while (p < end) {
    const char *stop = p;
    gint64 first = line;

    for (guint i = 0; i < feed->n_lines && stop < end; i++, line++) {
      const char *newline = memchr (stop, '\n', end - stop);

      stop = newline != NULL ? newline + 1 : end;
    }
    if (!hr_pipeline_push (feed->pipeline, "in",
                           make_block (p, stop - p, feed->uri, feed->root, p - feed->text, first),
                           NULL))
      return;
    p = stop;
  }
}

static gpointer
feed_main (gpointer data)
{
  const Feed *feed = data;

  if (feed->block != NULL)
    hr_pipeline_push (feed->pipeline, "in", feed->block, NULL);
  else
    feed_text (feed);
  hr_pipeline_end (feed->pipeline, "in");
  return NULL;
}

/* @block: (nullable) (transfer full): pushed in place of the text */
static Outcome
run_blocks (const char *options, guint workers, const char *text, gsize size, guint n_lines,
            const char *uri, const char *root, HrBuffer *block)
{
  g_autofree char *launch =
      g_strdup_printf ("appsrc name=in ! jsonlparse workers=%u %s ! appsink", workers, options);
  g_autoptr (HrPipeline) pipeline = outcome_start (launch);
  GThread *feeder =
      g_thread_new ("feed", feed_main, &(Feed){ pipeline, text, size, n_lines, uri, root, block });
  Outcome outcome = outcome_collect (pipeline);

  g_thread_join (feeder);
  return outcome;
}

/* the same outcome with any number of workers and any cut into blocks */
static void
check_file (const char *file, const char *expected)
{
  static const guint workers[] = { 1, 4 }, n_lines[] = { 1, 2, 3, 1000 };
  g_autofree char *text = NULL, *uri = g_strconcat ("/data/", file, NULL);
  gsize size;

  text = outcome_load_case (file, &size);
  for (guint w = 0; w < G_N_ELEMENTS (workers); w++)
    for (guint n = 0; n < G_N_ELEMENTS (n_lines); n++) {
      g_auto (Outcome) result =
          run_blocks ("", workers[w], text, size, n_lines[n], uri, "/data/", NULL);
      g_autofree char *seen = outcome_summary (&result);

      g_assert_no_error (result.error);
      g_assert_cmpstr (seen, ==, expected);
      for (guint i = 0; i < result.skipped->len; i++) {
        const HrMessage *message = result.skipped->pdata[i];
        g_autofree char *where = g_strdup_printf ("jsonlparse \"jsonlparse0\": %s:%d: ", uri,
                                                  (int)message->origin->line);

        g_assert_true (g_str_has_prefix (message->error->message, where));
        g_assert_true (g_utf8_validate (message->error->message, -1, NULL));
      }
    }
}

static void
test_cases (void)
{
  /* \u0000 in a text is refused; a media token is found by the tokeniser, which knows them */
#define J "!bad-json@"
#define E "!bad-encoding@"
#define M "!placeholder-mismatch@"
#define N "!no-assistant-turn@"
#define R "!bad-record@"
#define U "!unsupported@"
  check_file ("12-byte-order-mark/start.jsonl", "one@1+0 two@2+109");
  check_file ("12-byte-order-mark/middle.jsonl", "one@1+0 two@2+106");
  check_file ("12-byte-order-mark/alone.jsonl", "");
  check_file ("12-byte-order-mark/alone-line.jsonl", "one@2+4");
  check_file ("12-byte-order-mark/twice.jsonl", J "1+0");
  check_file ("12-byte-order-mark/inside.jsonl", "inside@1+0");
  check_file ("13-unicode-line-separators/a.jsonl",
              "raw-2028@1+0 raw-2029@2+110 raw-0085@3+220 escaped-000b@4+328 escaped-000c@5+448 "
              "escaped-001c@6+560 escaped-001d@7+680 escaped-001e@8+800 escaped-001f@9+920 "
              "last@11+1144 " J "10+1040");
  check_file ("14-line-ends/crlf.jsonl", "one@1+0 two@2+107");
  check_file ("14-line-ends/crlf-mixed.jsonl", "one@1+0 two@2+107 three@3+213");
  check_file ("14-line-ends/blank-lines.jsonl", "one@2+1 two@6+115");
  check_file ("14-line-ends/no-final-newline.jsonl", "one@1+0 two@2+106");
  check_file ("14-line-ends/no-final-newline-crlf.jsonl", "one@1+0 two@2+107");
  check_file ("14-line-ends/one-record-no-newline.jsonl", "one@1+0");
  check_file ("14-line-ends/empty.jsonl", "");
  check_file ("14-line-ends/newline-only.jsonl", "");
  check_file ("14-line-ends/cr-only.jsonl", J "1+0");
  check_file ("14-line-ends/leading-space.jsonl", "one@1+0 two@2+111");
  check_file ("14-line-ends/bad-at-6.jsonl", "one@2+1 two@5+110 three@7+222 " J "6+216");
  check_file ("15-bad-utf8/a.jsonl",
              "plain@1+0 pair@8+754 noncharacter@12+1198 last@14+1422 end@17+1746 " E "2+100 " E
              "3+199 " E "4+305 " E "5+417 " E "6+528 " E "7+638 " R "9+866 " E "10+985 " J
              "11+1094 " E "13+1309 " E "15+1529 " E "16+1626");
  check_file ("16-image-links/corpus/train/a.jsonl",
              "plain@1+0 dot@2+130 escaped-slash@3+270 space@4+409 percent@5+541 "
              "dots-in-name@6+677 same-base-name@7+827 up-inside-root@8+965 up-outside-root@9+1107 "
              "hidden-up@10+1251 absolute@11+1399 file-uri@12+1531 http@13+1670 s3-uri@14+1811 "
              "data-uri@15+1953 missing@16+2232 directory@17+2370 empty@18+2498 wrong-case@19+2616 "
              "backslash@20+2751 url-style@21+2886 last@22+3026");
  check_file ("18-empty-object/a.jsonl", "a1@1+0 a2-empty-image@2+103");
  check_file ("18-empty-object/b.jsonl", "");
  check_file ("25-placeholder-mismatch/a.jsonl",
              "match-1@1+0 upper-case-is-text@7+853 in-assistant-is-text@8+1015 spread@10+1333 "
              "glued@12+1758 image-string@13+1903 image-key-string@14+2034 null-image@15+2180 "
              "null-images@16+2292 part-without-ref@17+2421 media-token-in-text@19+2757 "
              "last@20+2915 " M "2+135 " M "3+284 " M "4+436 " M "5+563 " M "6+710 " M "9+1187 " M
              "11+1547 " M "18+2607");
  check_file ("26-odd-conversations/a.jsonl",
              "ok@1+0 starts-with-gpt@4+216 two-human@5+368 two-gpt@6+513 only-gpt@7+649 "
              "empty-answer@8+723 empty-question@9+829 7@21+1540 -@22+1642 -@23+1745 "
              "meta-null@24+1834 meta-object@25+1951 meta-list@26+2089 image-string@27+2204 "
              "image-list@28+2334 images-dict@29+2464 null-keys@33+3041 last@35+3313 " N "2+101 " N
              "3+143 " R "10+940 " R "11+1046 " R "12+1154 " U "13+1246 " R "14+1392 " R
              "15+1436 " R "16+1496 " R "17+1522 " R "18+1525 " R "19+1532 " R "20+1537 " R
              "30+2621 " U "31+2745 " U "32+2895 " N "34+3258");
  check_file ("27-almost-json/a.jsonl",
              "ok@1+0 big-integer@7+697 123456789012345678901234567890@8+839 big-float@9+961 "
              "escapes@22+2468 "
              "key-order@23+2590 last@24+2693 " J "2+96 " J "3+305 " J "4+421 " J "5+530 " J
              "6+591 " J "10+1076 " J "11+1184 " J "12+1296 " J "13+1403 " J "14+1512 " J
              "15+1620 " J "16+1736 " J "17+1844 " J "18+1957 " J "19+2066 " J "20+2169 " U
              "21+2273");
}

/* one record alone, with the options; NULL: it was skipped */
static HrBuffer *
run_record (const char *options, const char *record, const char *uri, const char *root)
{
  g_auto (Outcome) result = run_blocks (options, 1, record, strlen (record), 1, uri, root, NULL);

  g_assert_no_error (result.error);
  g_assert_cmpuint (result.samples->len + result.skipped->len, ==, 1);
  return result.samples->len > 0 ? hr_buffer_ref (result.samples->pdata[0]) : NULL;
}

static char *
json_text (HrBuffer *sample, const char *field)
{
  JsonNode *node = hr_buffer_get_json (sample, field);

  return node != NULL ? json_to_string (node, FALSE) : NULL;
}

static void
test_fields (void)
{
  static const char record[] =
      "{\"id\": 7, \"system\": \"S\", \"images\": [\"a b.png\", \"../c.png\"], \"conversations\": "
      "[{\"from\": \"human\", \"value\": \"<image> and <image>\"}, {\"from\": \"gpt\", \"value\": "
      "\"x\", \"loss\": false}]}\r\n";
  g_autoptr (HrBuffer) sample = run_record ("", record, "s3://b/set/train/a.jsonl", "s3://b/set/");
  g_autofree char *conversation = json_text (sample, "conversation");
  HrList *images = hr_buffer_get_list (sample, "images");
  HrList *links = hr_buffer_get_list (sample, "image_links");
  HrOrigin *origin = hr_buffer_get_origin (sample);

  g_assert_cmpstr (
      conversation, ==,
      "{\"turns\":[{\"role\":\"system\",\"train\":false,\"parts\":[{\"text\":\"S\"}]},"
      "{\"role\":\"user\",\"train\":false,\"parts\":[{\"image\":0},{\"text\":\"and\"},"
      "{\"image\":1}]},{\"role\":\"assistant\",\"train\":false,\"parts\":[{\"text\":\"x\"}]}"
      "]}");
  g_assert_cmpuint (hr_list_get_length (images), ==, 2);
  g_assert_cmpuint (hr_list_get_length (links), ==, 2);
  g_assert_cmpstr (hr_list_get_string (images, 0), ==, "s3://b/set/train/a b.png");
  g_assert_cmpstr (hr_list_get_string (images, 1), ==, "s3://b/set/c.png");
  g_assert_cmpstr (hr_list_get_string (links, 0), ==, "a b.png");
  g_assert_cmpstr (hr_list_get_string (links, 1), ==, "../c.png");
  g_assert_cmpuint (hr_buffer_get_n_fields (sample), ==, 3);
  g_assert_cmpstr (origin->id, ==, "7");
  g_assert_cmpstr (origin->uri, ==, "s3://b/set/train/a.jsonl");
  g_assert_cmpstr (origin->root, ==, "s3://b/set/");
  g_assert_cmpint (origin->length, ==, strlen (record) - 2);
  g_assert_cmpint (sample->sample, ==, 0);
}

static void
test_without_images (void)
{
  g_autoptr (HrBuffer) sample = run_record ("", "{\"response\": \"A\"}", "/d/a.jsonl", "/d/");

  /* the fields are there, so that everybody downstream can count on them */
  g_assert_cmpuint (hr_list_get_length (hr_buffer_get_list (sample, "images")), ==, 0);
  g_assert_cmpuint (hr_list_get_length (hr_buffer_get_list (sample, "image_links")), ==, 0);
}

static void
test_keep (void)
{
  static const char record[] = "{\"source\": \"caf\\u00e9\", \"n\": 12, \"big\": "
                               "123456789012345678901234567890, \"x\": 1.5, "
                               "\"meta\": {\"a\": [null, true, 18446744073709551616, 1e999]}, "
                               "\"none\": null, \"id\": \"i\", "
                               "\"response\": \"A\", \"two\": 1, \"two\": 2}";
  static const struct {
    const char *name, *string, *json;
  } rows[] = {
    { "source", "caf\xc3\xa9", NULL },
    { "n", NULL, "12" },
    { "big", "123456789012345678901234567890", NULL },
    { "x", NULL, "1.5" },
    { "meta", NULL, "{\"a\":[null,true,\"18446744073709551616\",\"1e999\"]}" },
    { "none", NULL, "null" },
    { "id", "i", NULL },
    { "missing", NULL, "null" },
    { "two", NULL, "2" },
  };
  g_autoptr (HrBuffer) sample =
      run_record ("keep=source,n,big,x,meta,none,id,missing,two", record, "/d/a.jsonl", "/d/");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *json = json_text (sample, rows[i].name);

    g_assert_cmpstr (hr_buffer_get_string (sample, rows[i].name), ==, rows[i].string);
    g_assert_cmpstr (json, ==, rows[i].json);
  }
  g_assert_cmpuint (hr_buffer_get_n_fields (sample), ==, 3 + G_N_ELEMENTS (rows));
}

static void
test_keep_nul (void)
{
  static const char record[] = "{\"note\": {\"a\": [\"\\u0000\"]}, \"response\": \"A\"}";
  g_autoptr (HrBuffer) unused = run_record ("", record, "/d/a.jsonl", "/d/");
  g_auto (Outcome) used =
      run_blocks ("keep=note", 1, record, strlen (record), 1, "/d/a.jsonl", "/d/", NULL);

  g_assert_nonnull (unused);
  g_assert_cmpuint (used.skipped->len, ==, 1);
  {
    const HrMessage *message = used.skipped->pdata[0];

    g_assert_error (message->error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);
    g_assert_nonnull (strstr (message->error->message, "note holds \\u0000"));
  }
}

static void
test_keep_conflict (void)
{
  static const char *const names[] = { "images", "conversation", "id,image_links", "id,image_cu" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *text = g_strdup_printf ("appsrc ! jsonlparse keep=%s ! appsink", names[i]);
    g_autoptr (GError) error = NULL;
    g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);

    g_assert_null (pipeline);
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT);
  }
}

/* where relative links start, and which tree imagefetch will hold them in */
static void
test_media_folders (void)
{
  static const char record[] =
      "{\"image\": \"x/1.png\", \"query\": \"<image>\", \"response\": \"A\"}";
  static const struct {
    const char *options, *uri, *root, *image, *new_root;
  } rows[] = {
    { "", "/d/t/a.jsonl", "/d/", "/d/t/x/1.png", "/d/" },
    { "", "s3://b/t/a.jsonl", "s3://b/", "s3://b/t/x/1.png", "s3://b/" },
    { "media-base=/pictures", "/d/t/a.jsonl", "/d/", "/pictures/x/1.png", "/pictures/" },
    { "media-base=s3://p/q", "/d/t/a.jsonl", "/d/", "s3://p/q/x/1.png", "s3://p/q/" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (HrBuffer) sample = run_record (rows[i].options, record, rows[i].uri, rows[i].root);

    g_assert_cmpstr (hr_list_get_string (hr_buffer_get_list (sample, "images"), 0), ==,
                     rows[i].image);
    g_assert_cmpstr (hr_buffer_get_origin (sample)->root, ==, rows[i].new_root);
  }
}

static void
test_rules (void)
{
  static const char image[] = "{\"image\": \"1.png\", \"query\": \" Q \", \"response\": \"A\"}";
  static const char video[] = "{\"video\": \"1.mp4\", \"query\": \"<video>\", \"response\": \"A\"}";
  g_autoptr (HrBuffer) refused = run_record ("", image, "/d/a.jsonl", "/d/");
  g_autoptr (HrBuffer) prepended =
      run_record ("missing-placeholder=prepend strip=none", image, "/d/a.jsonl", "/d/");
  g_autoptr (HrBuffer) refused_video = run_record ("", video, "/d/a.jsonl", "/d/");
  g_auto (Outcome) left_out =
      run_blocks ("video=skip", 1, video, strlen (video), 1, "/d/a.jsonl", "/d/", NULL);
  g_autofree char *text = json_text (prepended, "conversation");

  g_assert_null (refused);
  g_assert_nonnull (strstr (text, "[{\"image\":0},{\"text\":\" Q \"}]"));
  g_assert_null (refused_video);
  g_assert_no_error (left_out.error);
  g_assert_cmpuint (left_out.samples->len, ==, 0);
  g_assert_cmpuint (left_out.skipped->len, ==, 0);
}

/* a line that is a list of one record is that record; several have no place each */
static void
test_lists (void)
{
  static const char text[] = "[{\"id\":1,\"response\":\"A\",\"x\":7}]\n"
                             "[{\"id\":3,\"response\":\"C\"},{\"id\":4,\"response\":\"D\"}]\n"
                             "[]\n"
                             "[8]\n"
                             "{\"id\":5,\"response\":\"E\"}\n";

  for (guint workers = 1; workers <= 4; workers += 3)
    for (guint n_lines = 1; n_lines <= 5; n_lines++) {
      g_auto (Outcome) result =
          run_blocks ("keep=x", workers, text, strlen (text), n_lines, "/d/a.jsonl", "/d/", NULL);
      g_autofree char *seen = outcome_summary (&result);
      const HrMessage *first;

      g_assert_no_error (result.error);
      g_assert_cmpstr (seen, ==,
                       "1@1+0 5@5+89 !unsupported@2+32 !bad-record@3+82 !bad-record@4+85");
      g_assert_cmpint (json_node_get_int (hr_buffer_get_json (result.samples->pdata[0], "x")), ==,
                       7);
      first = result.skipped->pdata[0];
      g_assert_nonnull (
          strstr (first->error->message,
                  "/d/a.jsonl:2: the line is a list of several records; a line is one "
                  "place in the order"));
    }
}

/* a record that is left out is no bad one, and its place in the order stays */
static void
test_left_out (void)
{
  g_autofree char *path = NULL, *folder = g_dir_make_tmp ("headrace-test-XXXXXX", NULL);
  g_autofree char *text = NULL, *stats = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  g_auto (Outcome) result = { NULL, NULL, NULL };

  path = g_build_filename (folder, "a.jsonl", NULL);
  g_assert_true (g_file_set_contents (path,
                                      "{\"id\":1,\"response\":\"A\"}\n"
                                      "{\"id\":2,\"video\":\"1.mp4\",\"response\":\"A\"}\n"
                                      "{\"id\":3,\"response\":\"A\"}\n",
                                      -1, NULL));
  text = g_strdup_printf ("filesrc location=%s ! jsonlparse video=skip ! appsink", path);
  pipeline = outcome_start (text);
  result = outcome_collect (pipeline);
  g_assert_no_error (result.error);
  g_assert_cmpuint (result.skipped->len, ==, 0);
  g_assert_cmpuint (result.samples->len, ==, 2);
  g_assert_cmpint (((HrBuffer *)result.samples->pdata[1])->sample, ==, 2);
  stats = hr_pipeline_get_stats (pipeline);
  g_test_message ("%s", stats);
  g_assert_nonnull (strstr (stats, "\"dropped\":{\"policy\":1}"));
  g_unlink (path);
  g_rmdir (folder);
}

static void
test_depth (void)
{
  static const char record[] = "{\"meta\": [[[[]]]], \"response\": \"A\"}";
  g_autoptr (HrBuffer) fits = run_record ("max-depth=5", record, "/d/a.jsonl", "/d/");
  g_autoptr (HrBuffer) too_deep = run_record ("max-depth=4", record, "/d/a.jsonl", "/d/");

  g_assert_nonnull (fits);
  g_assert_null (too_deep);
}

static void
test_max_images (void)
{
  static const char record[] = "{\"images\": [\"1\", \"2\", \"3\"], \"query\": \"<image> <image> "
                               "<image>\", \"response\": \"A\"}";
  g_autoptr (HrBuffer) fits = run_record ("max-images=3", record, "/d/a.jsonl", "/d/");
  g_autoptr (HrBuffer) any = run_record ("max-images=0", record, "/d/a.jsonl", "/d/");
  g_auto (Outcome) over =
      run_blocks ("max-images=2", 1, record, strlen (record), 1, "/d/a.jsonl", "/d/", NULL);

  g_assert_nonnull (fits);
  g_assert_nonnull (any);
  g_assert_cmpuint (over.samples->len, ==, 0);
  g_assert_error (outcome_get_error (&over, 1), HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);
  g_assert_nonnull (strstr (outcome_get_error (&over, 1)->message, "3 images, max-images is 2"));
}

/* a line as long as the limit, one byte longer, in the middle and at the end without a newline */
static void
test_long_lines (void)
{
  for (guint at_end = 0; at_end < 2; at_end++)
    for (gint more = -1; more <= 1; more++) {
      g_autoptr (GString) text = g_string_new ("{\"id\":1,\"response\":\"A\"}\n");
      g_autofree char *note = g_strnfill (1000 + more - 30, 'x');
      g_auto (Outcome) result = { NULL, NULL, NULL };
      g_autofree char *seen = NULL;

      g_string_append_printf (text, "{\"id\":2,\"response\":\"%s\"}", note);
      g_string_append_printf (text, "%*s", (int)(24 + 1000 + more - (gint)text->len), "");
      g_assert_cmpint (text->len - 24, ==, 1000 + more);
      if (!at_end)
        g_string_append (text, "\r\n{\"id\":3,\"response\":\"A\"}\n");
      result = run_blocks ("max-line-bytes=1000", 1, text->str, text->len, 10, "/d/BIG.jsonl",
                           "/d/", NULL);
      seen = outcome_summary (&result);
      if (more <= 0) {
        g_assert_cmpstr (seen, ==,
                         at_end      ? "1@1+0 2@2+24"
                         : more == 0 ? "1@1+0 2@2+24 3@3+1026"
                                     : "1@1+0 2@2+24 3@3+1025");
      } else {
        const HrMessage *message = result.skipped->pdata[0];

        g_assert_cmpstr (
            seen, ==, at_end ? "1@1+0 !line-too-long@2+24" : "1@1+0 3@3+1027 !line-too-long@2+24");
        g_assert_nonnull (strstr (message->error->message,
                                  "/d/BIG.jsonl:2: the line has 1001 bytes, "
                                  "the limit is max-line-bytes=1000"));
        g_assert_cmpint (message->origin->length, ==, 1001);
      }
    }
}

/* a line that the source has cut already, as plugins/io/lines.h tells */
static void
test_cut_line (void)
{
  HrBuffer *block = make_block ("{\"id\": 2, \"note", 16, "/d/BIG.jsonl", "/d/", 112, 2);
  g_auto (Outcome) result = { NULL, NULL, NULL };
  const HrMessage *message;

  hr_buffer_set_string (block, "line-limit", "1048576");
  hr_buffer_get_origin (block)->length = 41943160;
  result = run_blocks ("max-line-bytes=1MiB", 1, NULL, 0, 1, NULL, NULL, block);
  g_assert_cmpuint (result.samples->len, ==, 0);
  g_assert_cmpuint (result.skipped->len, ==, 1);
  message = result.skipped->pdata[0];
  g_assert_error (message->error, HR_DATA_ERROR, HR_DATA_ERROR_LINE_TOO_LONG);
  g_assert_nonnull (strstr (message->error->message,
                            "the line has 41943160 bytes, the limit is max-line-bytes=1048576"));
  g_assert_cmpint (message->origin->byte, ==, 112);
  g_assert_cmpint (message->origin->line, ==, 2);
  g_assert_cmpint (message->origin->length, ==, 41943160);
}

/* what somebody pushes that is no lines: a batch, say */
static void
test_no_lines (void)
{
  for (guint i = 0; i < 3; i++) {
    HrBuffer *block = hr_buffer_new ();
    g_auto (Outcome) result = { NULL, NULL, NULL };

    if (i == 1)
      hr_buffer_set_list (block, "lines", hr_list_new (0));
    else if (i == 2)
      hr_buffer_set_string (block, "line-limit", "1048576");
    result = run_blocks ("", 1, NULL, 0, 1, NULL, NULL, block);
    g_assert_cmpuint (result.samples->len + result.skipped->len, ==, 0);
    g_assert_error (result.error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED);
    g_assert_nonnull (strstr (result.error->message, "expected bytes in the field \"lines\""));
  }
}

/* lines that somebody pushes without saying where they are from; and where the line is not known */
static void
test_origins (void)
{
  static const char text[] =
      "{\"id\":1,\"image\":\"1.png\",\"query\":\"<image>\",\"response\":\"A\"}\n"
      "{\"id\":2,\"response\":\"A\"}";
  HrBuffer *bare = hr_buffer_new ();
  HrBuffer *unnumbered = make_block (text, strlen (text), "/d/a.jsonl", "/d/", 1000, -1);
  g_autofree char *here = g_get_current_dir (), *expected = g_build_filename (here, "1.png", NULL);
  g_autofree char *seen = NULL;

  hr_buffer_set_tensor (bare, "lines",
                        hr_tensor_new_bytes (hr_memory_new_copy (text, strlen (text))));
  {
    g_auto (Outcome) result = run_blocks ("", 1, NULL, 0, 1, NULL, NULL, bare);

    g_assert_cmpuint (result.samples->len, ==, 2);
    g_assert_cmpstr (
        hr_list_get_string (hr_buffer_get_list (result.samples->pdata[0], "images"), 0), ==,
        expected);
    g_assert_cmpint (hr_buffer_get_origin (result.samples->pdata[1])->line, ==, 2);
  }
  {
    g_auto (Outcome) result = run_blocks ("", 1, NULL, 0, 1, NULL, NULL, unnumbered);

    seen = outcome_summary (&result);
    g_assert_cmpstr (seen, ==, "1@-1+1000 2@-1+1058");
  }
}

/* with on-error=fail, the default, the first bad line ends the run and is named */
static void
test_fail (void)
{
  static const char text[] = "{\"response\":\"A\"}\n\n{oops\n{\"response\":\"B\"}\n";
  g_auto (Outcome) result =
      run_blocks ("on-error=fail", 1, text, strlen (text), 10, "/d/a.jsonl", "/d/", NULL);

  g_assert_error (result.error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON);
  g_assert_cmpstr (result.error->message, ==,
                   "jsonlparse \"jsonlparse0\": /d/a.jsonl:3: column 2: expected a name in double "
                   "quotes, found 'o'");
}

/* a share of the lines, however many of them are in a block */
static void
test_max_errors (void)
{
  for (guint n_lines = 1; n_lines <= 1000; n_lines *= 10)
    for (guint every = 50; every <= 200; every += 150) {
      g_autoptr (GString) text = g_string_new (NULL);
      g_auto (Outcome) result = { NULL, NULL, NULL };

      for (guint i = 1; i <= 1000; i++)
        g_string_append (text, i % every == 0 ? "{oops\n" : "{\"response\":\"A\"}\n");
      result =
          run_blocks ("max-errors=1%", 1, text->str, text->len, n_lines, "/d/a.jsonl", "/d/", NULL);
      if (every == 200) {
        g_assert_no_error (result.error);
        g_assert_cmpuint (result.skipped->len, ==, 5);
      } else { /* the first look at the share is at the hundredth sample, of which two are bad */
        g_assert_error (result.error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON);
        g_assert_true (
            g_str_has_prefix (result.error->message,
                              "max-errors=1% is exceeded: 2 of 100 samples were bad, the last: "));
      }
    }
}

/* samples do not hold on to the text they were read from */
static void
test_text_is_let_go (void)
{
  g_autofree char *text = NULL;
  gsize size;
  gint before = hr_memory_live ();

  text = outcome_load_case ("26-odd-conversations/a.jsonl", &size);
  {
    g_auto (Outcome) result = run_blocks ("", 4, text, size, 3, "/d/a.jsonl", "/d/", NULL);

    g_assert_cmpuint (result.samples->len, ==, 18);
    g_assert_cmpint (hr_memory_live (), ==, before);
  }
}

/* many records, damaged at random: the same outcome with one worker and with four, and every line
 * is accounted for */
static void
test_damage (void)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *one = NULL, *four = NULL;
  guint n_lines = 0;

  for (guint i = 0; i < 3000; i++) {
    g_autoptr (GString) line = g_string_new (NULL);

    g_string_printf (
        line,
        "{\"id\": %u, \"image\": [\"%u.png\"], \"conversations\": [{\"from\": \"human\", "
        "\"value\": \"<image>\\n\\u00e9\xe2\x82\xac\"}, {\"from\": \"gpt\", \"value\": \"x\"}]}",
        i, i);
    if (i % 3 == 0) {
      gsize at = g_test_rand_int_range (0, line->len);

      line->str[at] = g_test_rand_int_range (0, 256);
    }
    g_string_append_len (text, line->str, line->len);
    g_string_append_c (text, '\n');
  }
  for (gsize i = 0, start = 0; i < text->len; i++)
    if (text->str[i] == '\n') {
      n_lines += i > start;
      start = i + 1;
    }
  for (guint w = 0; w < 2; w++) {
    g_auto (Outcome) result = run_blocks ("", w == 0 ? 1 : 4, text->str, text->len,
                                          w == 0 ? 500 : 7, "/d/a.jsonl", "/d/", NULL);

    g_assert_no_error (result.error);
    /* a line that is a list may have several */
    g_assert_cmpuint (result.samples->len + result.skipped->len, >=, n_lines);
    g_assert_cmpuint (result.skipped->len, >, 300);
    for (guint i = 0; i < result.samples->len; i++) {
      const char *id = hr_buffer_get_origin (result.samples->pdata[i])->id;

      g_assert_true (id == NULL || g_utf8_validate (id, -1, NULL));
    }
    *(w == 0 ? &one : &four) = outcome_summary (&result);
  }
  g_assert_cmpstr (one, ==, four);
}

static void
test_nothing_left (void)
{
  g_assert_cmpint (hr_buffer_live (), ==, 0);
  g_assert_cmpint (hr_tensor_live (), ==, 0);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/jsonlparse/cases", test_cases);
  g_test_add_func ("/jsonlparse/fields", test_fields);
  g_test_add_func ("/jsonlparse/without-images", test_without_images);
  g_test_add_func ("/jsonlparse/keep", test_keep);
  g_test_add_func ("/jsonlparse/keep-nul", test_keep_nul);
  g_test_add_func ("/jsonlparse/keep-conflict", test_keep_conflict);
  g_test_add_func ("/jsonlparse/media-folders", test_media_folders);
  g_test_add_func ("/jsonlparse/rules", test_rules);
  g_test_add_func ("/jsonlparse/lists", test_lists);
  g_test_add_func ("/jsonlparse/left-out", test_left_out);
  g_test_add_func ("/jsonlparse/depth", test_depth);
  g_test_add_func ("/jsonlparse/max-images", test_max_images);
  g_test_add_func ("/jsonlparse/long-lines", test_long_lines);
  g_test_add_func ("/jsonlparse/cut-line", test_cut_line);
  g_test_add_func ("/jsonlparse/no-lines", test_no_lines);
  g_test_add_func ("/jsonlparse/origins", test_origins);
  g_test_add_func ("/jsonlparse/fail", test_fail);
  g_test_add_func ("/jsonlparse/max-errors", test_max_errors);
  g_test_add_func ("/jsonlparse/text-is-let-go", test_text_is_let_go);
  g_test_add_func ("/jsonlparse/damage", test_damage);
  g_test_add_func ("/jsonlparse/nothing-left", test_nothing_left);
  return g_test_run ();
}
