/* the cases about samples, with their token ids: 01, 02, 12, 13, 25, 26, 27 */
#include <string.h>
#include "text-run.h"
#include "text-test.h"

static JsonObject *
load_case (const char *id, JsonNode **root)
{
  g_autofree char *path = g_strdup_printf ("cases/%s/case.json", id);

  *root = text_test_json (path);
  return json_object_get_object_member (json_node_get_object (*root), "expected");
}

/* ids may be texts, numbers or null */
static gboolean
has_id (const HrBuffer *sample, JsonNode *id)
{
  const char *got = hr_buffer_get_origin (sample)->id;
  g_autofree char *number = NULL;

  if (JSON_NODE_HOLDS_NULL (id))
    return got == NULL;
  if (json_node_get_value_type (id) == G_TYPE_STRING)
    return g_strcmp0 (got, json_node_get_string (id)) == 0;
  number = g_strdup_printf ("%" G_GINT64_FORMAT, json_node_get_int (id));
  return g_strcmp0 (got, number) == 0;
}

/* by line where the case tells it, else by id */
static HrBuffer *
find_sample (const TextRun *run, JsonObject *row)
{
  JsonNode *id = json_object_get_member (row, "id");

  if (json_object_has_member (row, "line"))
    return text_run_find (run, json_object_get_int_member (row, "line"));
  for (guint i = 0; i < run->samples->len; i++)
    if (has_id (run->samples->pdata[i], id))
      return run->samples->pdata[i];
  return NULL;
}

static void
check_sample (const HrBuffer *sample, JsonObject *row, const char *labels)
{
  static const char *const fields[] = { "input_ids", "mm_token_type_ids", "position_ids",
                                        "image_grid_thw" };

  if (json_object_has_member (row, "id"))
    g_assert_true (has_id (sample, json_object_get_member (row, "id")));
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if (json_object_has_member (row, fields[i]))
      text_assert_numbers (hr_buffer_get_tensor (sample, fields[i]),
                           json_object_get_array_member (row, fields[i]), fields[i]);
  if (json_object_has_member (row, labels))
    text_assert_numbers (hr_buffer_get_tensor (sample, "labels"),
                         json_object_get_array_member (row, labels), labels);
  if (!json_object_has_member (row, "image_grid_thw"))
    g_assert_null (hr_buffer_get_tensor (sample, "image_grid_thw"));
}

static void
check_samples (const TextRun *run, JsonArray *rows, const char *labels)
{
  for (guint i = 0; i < json_array_get_length (rows); i++) {
    JsonObject *row = json_array_get_object_element (rows, i);
    HrBuffer *sample = find_sample (run, row);

    if (sample == NULL)
      g_error ("sample %u was not delivered", i);
    check_sample (sample, row, labels);
  }
}

static void
check_rejects (const TextRun *run, JsonArray *rows)
{
  g_assert_cmpuint (run->skipped->len, ==, json_array_get_length (rows));
  for (guint i = 0; i < json_array_get_length (rows); i++) {
    JsonObject *row = json_array_get_object_element (rows, i);
    const HrMessage *message =
        text_run_find_skipped (run, json_object_get_int_member (row, "line"));
    JsonArray *names = json_object_has_member (row, "message_names")
                           ? json_object_get_array_member (row, "message_names")
                           : NULL;

    g_assert_nonnull (message);
    g_assert_cmpstr (hr_data_error_kind (message->error->code), ==,
                     json_object_get_string_member (row, "kind"));
    for (guint k = 0; names != NULL && k < json_array_get_length (names); k++)
      if (strstr (message->error->message, json_array_get_string_element (names, k)) == NULL)
        g_error ("\"%s\" does not name \"%s\"", message->error->message,
                 json_array_get_string_element (names, k));
  }
}

static void
check_case (const char *setting, const char *id, const char *format, const char *labels)
{
  g_autoptr (JsonNode) root = NULL;
  JsonObject *expected = load_case (id, &root);
  g_autofree char *text = g_strdup_printf (format, id);
  g_auto (TextRun) run = text_run (setting, text);
  JsonArray *samples = json_object_get_array_member (expected, "samples");

  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, ==, json_array_get_length (samples));
  check_samples (&run, samples, labels);
  if (json_object_has_member (expected, "rejects"))
    check_rejects (&run, json_object_get_array_member (expected, "rejects"));
  else if (json_object_has_member (expected, "rejected"))
    g_assert_cmpint (run.skipped->len, ==, json_object_get_int_member (expected, "rejected"));
}

#define TEXT_ONLY                                                                                  \
  "filesrc location=CASES/%s/a.jsonl ! jsonlparse on-error=skip ! tokenize tokenizer=VOCAB "       \
  "WORKERS ! appsink"
#define BOUNDS " min-pixels=4096 max-pixels=262144 WORKERS on-error=skip "
#define PIXELS_FIRST                                                                               \
  "filesrc location=CASES/%s/a.jsonl ! jsonlparse on-error=skip ! imagefetch ! imagedecode "       \
  "WORKERS ! resize" BOUNDS "! tokenize tokenizer=VOCAB WORKERS on-error=skip ! appsink"
#define TOKENS_FIRST                                                                               \
  "filesrc location=CASES/%s/a.jsonl ! jsonlparse on-error=skip ! imagefetch ! tokenize "          \
  "tokenizer=VOCAB" BOUNDS "! appsink"

static void
test_label_word (gconstpointer setting)
{
  if (text_test_vocab () == NULL)
    return;
  check_case (setting, "01-label-assistant-word", TEXT_ONLY, "labels");
  check_case (setting, "01-label-assistant-word",
              "filesrc location=CASES/%s/a.jsonl ! jsonlparse ! tokenize label-newline=true "
              "tokenizer=VOCAB WORKERS ! appsink",
              "labels_with_label_newline");
}

static void
test_separators (gconstpointer setting)
{
  if (text_test_vocab () != NULL)
    check_case (setting, "13-unicode-line-separators", TEXT_ONLY, "labels");
}

static void
test_placeholders (gconstpointer setting)
{
  if (text_test_vocab () == NULL)
    return;
  check_case (setting, "25-placeholder-mismatch", PIXELS_FIRST, "labels");
  check_case (setting, "25-placeholder-mismatch", TOKENS_FIRST, "labels");
}

static void
test_odd_conversations (gconstpointer setting)
{
  if (text_test_vocab () == NULL)
    return;
  check_case (setting, "26-odd-conversations", PIXELS_FIRST, "labels");
  check_case (setting, "26-odd-conversations", TOKENS_FIRST, "labels");
}

static void
test_byte_order_mark (gconstpointer setting)
{
  static const struct {
    const char *file;
    guint delivered;
  } files[] = {
    { "start", 2 }, { "middle", 2 }, { "alone", 0 }, { "alone-line", 1 }, { "inside", 1 }
  };
  g_autoptr (JsonNode) root = NULL;
  JsonObject *expected;
  JsonArray *rows;

  if (text_test_vocab () == NULL)
    return;
  expected = load_case ("12-byte-order-mark", &root);
  rows = json_object_get_array_member (expected, "samples");
  for (guint f = 0; f < G_N_ELEMENTS (files); f++) {
    g_autofree char *text =
        g_strdup_printf ("filesrc location=CASES/12-byte-order-mark/%s.jsonl ! "
                         "jsonlparse ! tokenize tokenizer=VOCAB WORKERS ! appsink",
                         files[f].file);
    g_auto (TextRun) run = text_run (setting, text);
    guint compared = 0;

    g_assert_no_error (run.error);
    g_assert_cmpuint (run.samples->len, ==, files[f].delivered);
    for (guint i = 0; i < json_array_get_length (rows); i++) {
      JsonObject *row = json_array_get_object_element (rows, i);
      HrBuffer *sample = find_sample (&run, row);

      if (sample != NULL) {
        check_sample (sample, row, "labels");
        compared++;
      }
    }
    g_assert_cmpuint (compared, ==, files[f].delivered);
  }
}

static void
test_almost_json (gconstpointer setting)
{
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *text = g_strdup_printf (TEXT_ONLY, "27-almost-json");
  g_auto (TextRun) run = { NULL };
  JsonArray *lines;

  if (text_test_vocab () == NULL)
    return;
  lines = json_object_get_array_member (load_case ("27-almost-json", &root), "lines");
  run = text_run (setting, text);
  g_assert_no_error (run.error);
  for (guint i = 0; i < json_array_get_length (lines); i++) {
    JsonObject *row = json_array_get_object_element (lines, i);
    gint64 line = json_object_get_int_member (row, "line");
    gboolean deliver = g_str_equal (json_object_get_string_member (row, "verdict"), "deliver");
    HrBuffer *sample = text_run_find (&run, line);

    if (json_object_has_member (row, "input_ids")) {
      g_assert_nonnull (sample);
      text_assert_numbers (hr_buffer_get_tensor (sample, "input_ids"),
                           json_object_get_array_member (row, "input_ids"), "input_ids");
    } else if (!deliver) { /* all of them are refused here, those that should be as well */
      g_assert_null (sample);
      g_assert_nonnull (text_run_find_skipped (&run, line));
    }
  }
}

/* ---- 02: lengths ---- */

#define LENGTHS                                                                                    \
  "filesrc location=CASES/02-truncate-inside-image/a.jsonl ! jsonlparse ! imagefetch ! tokenize "  \
  "tokenizer=VOCAB min-pixels=4096 max-pixels=262144 max-length=%d overlong=%s on-error=skip "     \
  "WORKERS "
#define TO_PIXELS "! imagedecode WORKERS ! resize WORKERS ! patchify WORKERS ! appsink"

static TextRun
run_length (const char *setting, gint length, const char *policy, const char *rest)
{
  g_autofree char *text = g_strdup_printf (LENGTHS "%s", length, policy, rest);
  TextRun run = text_run (setting, text);

  g_assert_no_error (run.error);
  return run;
}

/* what must hold whatever was done: pads, grids and pixels belong together */
static void
check_consistent (const HrBuffer *sample, gint length)
{
  HrTensor *ids = hr_buffer_get_tensor (sample, "input_ids");
  HrTensor *grids = hr_buffer_get_tensor (sample, "image_grid_thw");
  HrTensor *pixels = hr_buffer_get_tensor (sample, "pixel_values");
  gint64 pads = 0, patches = 0;

  g_assert_cmpint (hr_tensor_get_dim (ids, 0), <=, length);
  for (gsize i = 0; i < text_tensor_length (ids); i++)
    pads += text_tensor_int (ids, i) == 151655;
  for (gint64 i = 0; grids != NULL && i < hr_tensor_get_dim (grids, 0); i++)
    patches += text_tensor_int (grids, 3 * i + 1) * text_tensor_int (grids, 3 * i + 2);
  g_assert_cmpint (pads * 4, ==, patches);
  g_assert_cmpint (pixels != NULL ? hr_tensor_get_dim (pixels, 0) : 0, ==, patches);
}

/* the kept ones are the first of those without a limit */
static void
check_prefix (const HrTensor *got, JsonArray *full, guint row, gint64 kept)
{
  JsonArray *expected = row == 0 ? full : json_array_get_array_element (full, row - 1);
  gint64 first = row == 0 ? 0 : (row - 1) * kept;

  for (gint64 i = 0; i < kept; i++)
    g_assert_cmpint (text_tensor_int (got, (gsize)(first + i)), ==,
                     json_array_get_int_element (expected, (guint)i));
}

static void
check_truncated (const HrBuffer *sample, JsonObject *row, JsonObject *full)
{
  gint64 kept = json_object_get_int_member (row, "kept"), labels = 0;
  gint64 images = json_object_get_int_member (row, "images");
  HrTensor *ids = hr_buffer_get_tensor (sample, "input_ids");
  HrTensor *grids = hr_buffer_get_tensor (sample, "image_grid_thw");

  g_assert_cmpint (hr_tensor_get_dim (ids, 0), ==, kept);
  check_prefix (ids, json_object_get_array_member (full, "input_ids"), 0, kept);
  check_prefix (hr_buffer_get_tensor (sample, "labels"),
                json_object_get_array_member (full, "labels"), 0, kept);
  check_prefix (hr_buffer_get_tensor (sample, "mm_token_type_ids"),
                json_object_get_array_member (full, "mm_token_type_ids"), 0, kept);
  for (guint i = 1; i <= 3; i++)
    check_prefix (hr_buffer_get_tensor (sample, "position_ids"),
                  json_object_get_array_member (full, "position_ids"), i, kept);
  for (gint64 i = 0; i < kept; i++)
    labels += text_tensor_int (hr_buffer_get_tensor (sample, "labels"), (gsize)i) != -100;
  g_assert_cmpint (labels, ==, json_object_get_int_member (row, "labelled"));
  g_assert_cmpint (grids != NULL ? hr_tensor_get_dim (grids, 0) : 0, ==, images);
  g_assert_cmpint (hr_list_get_length (hr_buffer_get_list (sample, "image_links")), ==, images);
}

static void
check_truncate_right (const char *setting, gint length, JsonObject *expected, const char *rest)
{
  g_auto (TextRun) run = run_length (setting, length, "truncate-right", rest);
  JsonArray *full = json_object_get_array_member (expected, "samples_without_limit");
  guint dropped = 0;

  for (guint i = 0; i < json_array_get_length (full); i++) {
    JsonObject *sample = json_array_get_object_element (full, i);
    const char *id = json_object_get_string_member (sample, "id");
    JsonArray *rows = json_object_get_array_member (
        json_object_get_object_member (json_object_get_object_member (expected, "truncate-right"),
                                       id),
        "truncate-right");
    JsonArray *row = length <= (gint)json_array_get_length (rows)
                         ? json_array_get_array_element (rows, (guint)length - 1)
                         : NULL;
    HrBuffer *got = find_sample (&run, sample);

    if (row == NULL) /* beyond the table it fits */
      continue;
    g_assert_cmpint (json_array_get_int_element (row, 0), ==, length);
    if (JSON_NODE_HOLDS_NULL (json_array_get_element (row, 1))) {
      g_assert_null (got);
      dropped++;
      continue;
    }
    g_assert_nonnull (got);
    check_truncated (got, json_array_get_object_element (row, 1), sample);
    if (strstr (rest, "patchify") != NULL)
      check_consistent (got, length);
  }
  g_assert_cmpuint (run.dropped->len, ==, dropped);
  g_assert_cmpint (text_run_count (&run, "dropped", "no-label"), ==, dropped);
  g_assert_cmpuint (run.skipped->len, ==, 0);
}

static void
test_truncate_right (void)
{
  static const gint with_pixels[] = { 17, 24, 37, 48, 53 };
  static const char edges[] = { 1, 16, 17, 19, 22, 23, 24, 36, 37, 44, 45, 48, 49, 53, 54 };
  g_autoptr (JsonNode) root = NULL;
  JsonObject *expected;

  if (text_test_vocab () == NULL)
    return;
  expected = load_case ("02-truncate-inside-image", &root);
  /* each run loads the vocabulary: all lengths only when there is time */
  for (gint length = 1; length <= 54; length++)
    if (g_getenv ("HR_TEST_LONG") != NULL || memchr (edges, length, sizeof (edges)) != NULL)
      check_truncate_right ("serial=true", length, expected, "! appsink");
  for (guint i = 0; i < G_N_ELEMENTS (with_pixels); i++)
    for (guint k = 0; text_settings[k] != NULL; k++)
      check_truncate_right (text_settings[k], with_pixels[i], expected, TO_PIXELS);
}

/* delivered if they fit, else counted, with all that helps to find them */
static void
test_drop (void)
{
  static const gint lengths[] = { 1, 47, 48, 49, 52, 53, 54 };

  for (guint i = 0; text_test_vocab () != NULL && i < G_N_ELEMENTS (lengths); i++) {
    g_auto (TextRun) run = run_length ("workers=2", lengths[i], "drop", TO_PIXELS);
    guint fit = (lengths[i] >= 48) + (lengths[i] >= 53);

    g_assert_cmpuint (run.samples->len, ==, fit);
    g_assert_cmpuint (run.dropped->len, ==, 2 - fit);
    g_assert_cmpint (text_run_count (&run, "dropped", "overlong"), ==, 2 - fit);
    for (guint k = 0; k < run.dropped->len; k++) {
      const HrMessage *message = run.dropped->pdata[k];
      g_autofree char *limit = g_strdup_printf ("max-length is %d", lengths[i]);
      gboolean first = message->origin->line == 1;

      g_assert_nonnull (strstr (message->error->message, first ? "a.jsonl:1" : "a.jsonl:2"));
      g_assert_nonnull (strstr (message->error->message, first ? "two-images" : "big-first"));
      g_assert_nonnull (strstr (message->error->message, first ? "48 tokens" : "53 tokens"));
      g_assert_nonnull (strstr (message->error->message, limit));
    }
    for (guint k = 0; k < run.samples->len; k++)
      check_consistent (run.samples->pdata[k], lengths[i]);
  }
}

static void
test_error (void)
{
  g_auto (TextRun) run = { NULL };

  if (text_test_vocab () == NULL)
    return;
  run = run_length ("workers=2", 50, "error", "! appsink");
  g_assert_cmpuint (run.samples->len, ==, 1);
  g_assert_cmpint (text_run_count (&run, "skipped", "overlong"), ==, 1);
  g_assert_cmpuint (run.dropped->len, ==, 0);
  text_run_clear (&run);

  run =
      text_run ("workers=2", "filesrc location=CASES/02-truncate-inside-image/a.jsonl ! jsonlparse "
                             "! imagefetch ! tokenize tokenizer=VOCAB max-length=50 "
                             "min-pixels=4096 max-pixels=262144 overlong=error ! appsink");
  g_assert_error (run.error, HR_DATA_ERROR, HR_DATA_ERROR_OVERLONG);
}

static void
test_shrink (void)
{
  static const gint lengths[] = { 20, 21, 22, 30, 37, 38, 40, 47, 48, 52, 53, 54 };
  g_autoptr (JsonNode) root = NULL;
  JsonObject *from;

  if (text_test_vocab () == NULL)
    return;
  from = json_object_get_object_member (
      json_object_get_object_member (load_case ("02-truncate-inside-image", &root), "shrink"),
      "delivered_from_N");
  for (guint i = 0; i < G_N_ELEMENTS (lengths); i++) {
    g_auto (TextRun) run = run_length ("workers=2", lengths[i], "shrink", TO_PIXELS);
    guint fit = (lengths[i] >= json_object_get_int_member (from, "two-images"))
                + (lengths[i] >= json_object_get_int_member (from, "big-first"));

    g_assert_cmpuint (run.samples->len, ==, fit);
    g_assert_cmpint (text_run_count (&run, "dropped", "overlong"), ==, 2 - fit);
    for (guint k = 0; k < run.samples->len; k++)
      check_consistent (run.samples->pdata[k], lengths[i]);
  }
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    GTestDataFunc func;
  } tests[] = { { "01-label-assistant-word", test_label_word },
                { "12-byte-order-mark", test_byte_order_mark },
                { "13-unicode-line-separators", test_separators },
                { "25-placeholder-mismatch", test_placeholders },
                { "26-odd-conversations", test_odd_conversations },
                { "27-almost-json", test_almost_json } };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    for (guint k = 0; text_settings[k] != NULL; k++) {
      g_autofree char *path =
          g_strdup_printf ("/text/cases/%s/%s", tests[i].name, text_settings[k]);

      g_test_add_data_func (path, text_settings[k], tests[i].func);
    }
  g_test_add_func ("/text/cases/02-truncate-inside-image/truncate-right", test_truncate_right);
  g_test_add_func ("/text/cases/02-truncate-inside-image/drop", test_drop);
  g_test_add_func ("/text/cases/02-truncate-inside-image/error", test_error);
  g_test_add_func ("/text/cases/02-truncate-inside-image/shrink", test_shrink);
  return g_test_run ();
}
