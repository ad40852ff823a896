/* test-cases.c: the cases about lines and links, from files to samples */
#include <glib/gstdio.h>
#include <string.h>
#include "json-scan.h"
#include "outcome.h"

static char *
case_path (const char *name)
{
  return g_build_filename (HR_TEST_DATA, "cases", name, NULL);
}

/* however the file is cut into blocks, however many workers: the records are the same */
static void
test_blocks (void)
{
  static const char *const files[] = { "12-byte-order-mark/start.jsonl",
                                       "12-byte-order-mark/middle.jsonl",
                                       "12-byte-order-mark/alone.jsonl",
                                       "12-byte-order-mark/twice.jsonl",
                                       "13-unicode-line-separators/a.jsonl",
                                       "14-line-ends/bad-at-6.jsonl",
                                       "14-line-ends/blank-lines.jsonl",
                                       "14-line-ends/cr-only.jsonl",
                                       "14-line-ends/crlf.jsonl",
                                       "14-line-ends/crlf-mixed.jsonl",
                                       "14-line-ends/empty.jsonl",
                                       "14-line-ends/leading-space.jsonl",
                                       "14-line-ends/newline-only.jsonl",
                                       "14-line-ends/no-final-newline.jsonl",
                                       "14-line-ends/no-final-newline-crlf.jsonl",
                                       "14-line-ends/one-record-no-newline.jsonl",
                                       "15-bad-utf8/a.jsonl",
                                       "25-placeholder-mismatch/a.jsonl",
                                       "26-odd-conversations/a.jsonl",
                                       "27-almost-json/a.jsonl" };
  static const guint blocks[] = { 1, 2, 3, 7, 100, 1 << 20 };

  for (guint f = 0; f < G_N_ELEMENTS (files); f++) {
    g_autofree char *path = case_path (files[f]);
    g_auto (Outcome) serial =
        outcome_run ("serial=true filesrc location=%s ! jsonlparse ! appsink", path);
    g_autofree char *expected = outcome_summary (&serial);

    g_assert_no_error (serial.error);
    g_test_message ("%s: %s", files[f], expected);
    for (guint b = 0; b < G_N_ELEMENTS (blocks); b++)
      for (guint workers = 1; workers <= 4; workers += 3) {
        g_auto (Outcome) outcome =
            outcome_run ("filesrc location=%s block-bytes=%u ! jsonlparse workers=%u ! appsink",
                         path, blocks[b], workers);
        g_autofree char *seen = outcome_summary (&outcome);

        g_assert_no_error (outcome.error);
        g_assert_cmpstr (seen, ==, expected);
      }
  }
}

/* the records of a folder are those of its files, in the order of their names */
static void
test_empty_between (void)
{
  g_autofree char *path = case_path ("18-empty-object");
  g_auto (Outcome) outcome = outcome_run ("filesrc location=%s/ ! jsonlparse ! imagefetch ! "
                                          "imagedecode ! appsink",
                                          path);
  g_autofree char *seen = outcome_summary (&outcome);
  const GError *error = outcome_get_error (&outcome, 2);

  g_assert_no_error (outcome.error);
  g_assert_cmpstr (seen, ==, "a1@1+0 c1@1+0 !media-undecodable@2+103");
  g_assert_nonnull (strstr (error->message, "a.jsonl:2"));
  g_assert_nonnull (strstr (error->message, "zero.jpg"));
  g_assert_nonnull (strstr (error->message, "0 bytes"));
}

/* ---- case 16: links ---- */

static const struct {
  const char *id;
  guint8 rgb[3];    /* delivered */
  const char *kind; /* or refused */
  const char *link;
} links[] = {
  { "plain", { 200, 10, 10 }, NULL, NULL },
  { "dot", { 200, 10, 10 }, NULL, NULL },
  { "escaped-slash", { 200, 10, 10 }, NULL, NULL },
  { "space", { 10, 200, 10 }, NULL, NULL },
  { "percent", { 10, 10, 200 }, NULL, NULL },
  { "dots-in-name", { 200, 200, 10 }, NULL, NULL },
  { "same-base-name", { 10, 200, 200 }, NULL, NULL },
  { "up-inside-root", { 90, 90, 90 }, NULL, "../shared/2.png" },
  { "up-outside-root", { 0 }, "link-refused", "../../secret.png" },
  { "hidden-up", { 0 }, "link-refused", "images/../../../secret.png" },
  { "absolute", { 0 }, "link-refused", "/secret.png" },
  { "file-uri", { 0 }, "link-refused", "file:///secret.png" },
  { "http", { 0 }, "link-refused", "http://127.0.0.1:9/1.png" },
  { "s3-uri", { 0 }, "link-refused", "s3://other-bucket/1.png" },
  { "data-uri", { 200, 10, 10 }, NULL, NULL },
  { "missing", { 0 }, "media-not-found", "images/missing.png" },
  { "directory", { 0 }, "media-not-found", "images" },
  { "empty", { 0 }, "media-not-found", "" },
  { "wrong-case", { 0 }, "media-not-found", "Images/1.PNG" },
  { "backslash", { 0 }, "media-not-found", "images\\1.png" },
  { "url-style", { 0 }, "media-not-found", "images/1.png?x=1#f" },
  { "last", { 200, 10, 10 }, NULL, NULL },
};

static void
check_links (const Outcome *outcome, gboolean root_is_train)
{
  guint n_delivered = 0;

  g_assert_no_error (outcome->error);
  for (guint i = 0; i < G_N_ELEMENTS (links); i++) {
    const GError *error = outcome_get_error (outcome, i + 1);
    const char *kind = links[i].kind;

    if (root_is_train && links[i].link != NULL && strcmp (links[i].link, "../shared/2.png") == 0)
      kind = "link-refused";
    g_test_message ("%s: %s", links[i].id, error != NULL ? error->message : "delivered");
    if (kind == NULL) {
      HrBuffer *sample = outcome->samples->pdata[n_delivered++];
      HrTensor *image = hr_list_get_tensor (hr_buffer_get_list (sample, "images"), 0);

      g_assert_null (error);
      g_assert_cmpstr (hr_buffer_get_origin (sample)->id, ==, links[i].id);
      g_assert_cmpuint (hr_tensor_get_n_bytes (image), ==, 32 * 32 * 3);
      g_assert_cmpmem (hr_tensor_get_data (image), 3, links[i].rgb, 3);
    } else {
      g_autofree char *where = g_strdup_printf ("a.jsonl:%u", i + 1);

      g_assert_nonnull (error);
      g_assert_cmpstr (hr_data_error_kind (error->code), ==, kind);
      g_assert_nonnull (strstr (error->message, where));
      g_assert_nonnull (strstr (error->message, links[i].link));
    }
  }
  g_assert_cmpuint (n_delivered, ==, outcome->samples->len);
  g_assert_cmpuint (n_delivered, ==, root_is_train ? 9 : 10);
  g_assert_cmpuint (outcome->skipped->len, ==, root_is_train ? 13 : 12);
}

static void
run_links (const char *location, gboolean root_is_train)
{
  for (guint workers = 1; workers <= 4; workers += 3) {
    g_auto (Outcome) outcome = outcome_run ("filesrc location=%s ! jsonlparse workers=%u ! "
                                            "imagefetch ! imagedecode ! appsink",
                                            location, workers);

    check_links (&outcome, root_is_train);
  }
  {
    g_auto (Outcome) outcome = outcome_run (
        "serial=true filesrc location=%s ! jsonlparse ! imagefetch ! imagedecode ! appsink",
        location);

    check_links (&outcome, root_is_train);
  }
}

static void
test_links (void)
{
  g_autofree char *path = case_path ("16-image-links");
  g_autofree char *folder = g_strconcat (path, "/corpus/", NULL);
  g_autofree char *bare = g_strconcat (path, "/corpus", NULL);
  g_autofree char *file = g_strconcat (path, "/corpus/train/a.jsonl", NULL);
  g_autofree char *here = g_get_current_dir ();

  run_links (folder, FALSE);
  run_links (bare, FALSE);
  run_links (file, TRUE);
  /* started from elsewhere, and with relative locations */
  g_assert_cmpint (g_chdir ("/"), ==, 0);
  run_links (folder, FALSE);
  g_assert_cmpint (g_chdir (path), ==, 0);
  run_links ("corpus", FALSE);
  run_links ("./corpus/../corpus/", FALSE);
  run_links ("corpus/train/a.jsonl", TRUE);
  g_assert_cmpint (g_chdir (here), ==, 0);
}

/* what the user may say about links */
static void
test_link_rules (void)
{
  g_autofree char *path = case_path ("16-image-links/corpus/train/a.jsonl");
  g_autofree char *top = case_path ("16-image-links");
  g_auto (Outcome) rooted = outcome_run ("filesrc location=%s ! jsonlparse ! imagefetch "
                                         "media-root=%s/corpus ! imagedecode ! appsink",
                                         path, top);
  g_auto (Outcome) allowed = outcome_run ("filesrc location=%s ! jsonlparse ! imagefetch "
                                          "allow-links=%s/corpus/shared/ ! imagedecode ! appsink",
                                          path, top);
  g_auto (Outcome) based = outcome_run (
      "filesrc location=%s ! jsonlparse media-base=%s/corpus/train/images ! imagefetch "
      "! imagedecode ! appsink",
      path, top);

  check_links (&rooted, FALSE);
  check_links (&allowed, FALSE);
  /* only the record that holds its image itself: all links are written for another folder */
  g_assert_no_error (based.error);
  g_assert_cmpuint (based.samples->len, ==, 1);
  g_assert_cmpstr (hr_buffer_get_origin (based.samples->pdata[0])->id, ==, "data-uri");
}

/* what npysink writes of texts with control characters is read by parsers as strict as ours */
static void
test_written (void)
{
  g_autofree char *path = case_path ("13-unicode-line-separators/a.jsonl");
  g_autofree char *folder = g_dir_make_tmp ("headrace-test-XXXXXX", NULL);
  g_autofree char *text = g_strdup_printf (
      "on-error=skip filesrc location=%s ! jsonlparse keep=conversations ! npysink location=%s",
      path, folder);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
  HrJson json = { 0 };

  g_assert_no_error (error);
  g_assert_true (hr_pipeline_start (pipeline, NULL));
  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  for (guint i = 0; i < 10; i++) {
    g_autofree char *name = g_strdup_printf ("%06u.json", i);
    g_autofree char *file = g_build_filename (folder, name, NULL);
    g_autofree char *written = NULL;
    gsize size;

    g_assert_true (g_file_get_contents (file, &written, &size, NULL));
    hr_json_scan (&json, written, size, 64, NULL, &error);
    g_assert_no_error (error);
    g_unlink (file);
  }
  hr_json_clear (&json);
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

/* ---- 11-huge-line ---- */

static gint64
peak_memory (void)
{
  g_autofree char *status = NULL;
  const char *line;

  g_assert_true (g_file_get_contents ("/proc/self/status", &status, NULL, NULL));
  line = strstr (status, "VmHWM:");
  return g_ascii_strtoll (line + strlen ("VmHWM:"), NULL, 10) * 1024;
}

static void
write_huge (const char *path, gsize note, gboolean as_last)
{
  static const char turns[] = "\"conversations\": [{\"from\": \"human\", \"value\": \"Say it.\"}, "
                              "{\"from\": \"gpt\", \"value\": \"it\"}]}";
  FILE *file = g_fopen (path, "w");
  g_autofree char *chunk = g_strnfill (1 << 16, 'A');

  fprintf (file, "{\"id\": \"first\", %s\n{\"id\": \"huge\", \"note\": \"", turns);
  for (; note > 0; note -= MIN (note, 1 << 16))
    fwrite (chunk, 1, MIN (note, 1 << 16), file);
  fprintf (file, "\", %s", turns);
  if (!as_last)
    fprintf (file, "\n{\"id\": \"last\", %s\n", turns);
  fclose (file);
}

/* a sanitizer or valgrind needs memory of its own, and gives none back */
static gboolean
is_memory_ours (void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return FALSE;
#else
  const char *preloaded = g_getenv ("LD_PRELOAD");

  return preloaded == NULL || strstr (preloaded, "vgpreload") == NULL;
#endif
}

static void
test_huge_line (void)
{
  static const gsize note = 40 << 20;
  g_autofree char *folder = g_dir_make_tmp ("headrace-test-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "BIG.jsonl", NULL);
  gint64 before, limit;

  for (guint as_last = 0; as_last < 2; as_last++) {
    write_huge (path, note, as_last);
    before = peak_memory ();
    {
      g_auto (Outcome) small =
          outcome_run ("filesrc location=%s ! jsonlparse max-line-bytes=1MiB ! appsink", path);
      const GError *error = outcome_get_error (&small, 2);

      g_assert_no_error (small.error);
      g_assert_cmpuint (small.samples->len, ==, as_last ? 1 : 2);
      g_assert_cmpuint (small.skipped->len, ==, 1);
      g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_LINE_TOO_LONG);
      g_assert_nonnull (strstr (error->message, "BIG.jsonl:2"));
      g_assert_nonnull (strstr (error->message, "the limit is max-line-bytes=1048576"));
    }
    /* the line is passed over, not held; later, the peak tells nothing any more */
    if (!as_last && is_memory_ours ())
      g_assert_cmpint (peak_memory () - before, <, note / 2);
    {
      g_auto (Outcome) usual = outcome_run ("filesrc location=%s ! jsonlparse ! appsink", path);

      g_assert_cmpuint (usual.samples->len, ==, as_last ? 1 : 2);
    }
    {
      g_auto (Outcome) large =
          outcome_run ("filesrc location=%s ! jsonlparse max-line-bytes=64MiB ! appsink", path);

      g_assert_no_error (large.error);
      g_assert_cmpuint (large.samples->len, ==, as_last ? 2 : 3);
      g_assert_cmpuint (large.skipped->len, ==, 0);
      limit = hr_buffer_get_origin (large.samples->pdata[1])->length;
    }
    {
      /* of two branches the one with the longer lines decides what is read */
      g_auto (Outcome) branches =
          outcome_run ("filesrc location=%s ! tee name=t ! jsonlparse max-line-bytes=1MiB ! "
                       "fakesink t. ! jsonlparse max-line-bytes=64MiB ! appsink",
                       path);

      g_assert_no_error (branches.error);
      g_assert_cmpuint (branches.samples->len, ==, as_last ? 2 : 3);
    }
    for (gint more = -1; more <= 1; more++) {
      g_auto (Outcome) exact = outcome_run (
          "filesrc location=%s ! jsonlparse max-line-bytes=%d ! appsink", path, (int)limit + more);

      g_assert_no_error (exact.error);
      g_assert_cmpuint (exact.skipped->len, ==, more < 0 ? 1 : 0);
    }
  }
  g_unlink (path);
  g_rmdir (folder);
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
  /* first: the peak of memory never sinks */
  g_test_add_func ("/cases/huge-line", test_huge_line);
  g_test_add_func ("/cases/blocks", test_blocks);
  g_test_add_func ("/cases/empty-between", test_empty_between);
  g_test_add_func ("/cases/links", test_links);
  g_test_add_func ("/cases/link-rules", test_link_rules);
  g_test_add_func ("/cases/written", test_written);
  g_test_add_func ("/cases/nothing-left", test_nothing_left);
  return g_test_run ();
}
