/* batches of rows: case 03, the golden batches, holes, blocks, each alone */
#include <string.h>
#include <glib/gstdio.h>
#include "hr-harness.h"
#include "text-run.h"
#include "text-test.h"

static const HrBuffer *
only_batch (const TextRun *run)
{
  g_assert_no_error (run->error);
  g_assert_cmpuint (run->samples->len, ==, 1);
  return run->samples->pdata[0];
}

static void
assert_shape (const HrTensor *tensor, guint n, const gint64 *shape)
{
  g_assert_cmpuint (hr_tensor_get_n_dims (tensor), ==, n);
  for (guint i = 0; i < n; i++)
    g_assert_cmpint (hr_tensor_get_dim (tensor, i), ==, shape[i]);
}

/* ---- case 03 ---- */

#define CASE                                                                                       \
  "filesrc location=CASES/03-packed-positions/a.jsonl ! jsonlparse ! imagefetch ! imagedecode "    \
  "WORKERS ! resize min-pixels=4096 max-pixels=262144 WORKERS ! tokenize tokenizer=VOCAB WORKERS "

static void
check_fields (const HrBuffer *batch, JsonObject *expected)
{
  static const char *const fields[] = { "input_ids",         "labels",
                                        "attention_mask",    "position_ids",
                                        "mm_token_type_ids", "cu_seqlens",
                                        "image_grid_thw",    "image_cu" };
  guint compared = 0;

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if (json_object_has_member (expected, fields[i])) {
      text_assert_numbers (hr_buffer_get_tensor (batch, fields[i]),
                           json_object_get_array_member (expected, fields[i]), fields[i]);
      compared++;
    }
  g_assert_cmpuint (compared, >=, 5);
}

static void
test_case (gconstpointer setting)
{
  g_autoptr (JsonNode) root = text_test_json ("cases/03-packed-positions/case.json");
  JsonObject *expected = json_object_get_object_member (json_node_get_object (root), "expected");
  JsonObject *packed = json_object_get_object_member (expected, "packed");
  g_auto (TextRun) run = { NULL };
  const HrBuffer *batch;

  if (text_test_vocab () == NULL)
    return;
  run = text_run (setting, CASE "! batch mode=padded size=3 ! appsink");
  batch = only_batch (&run);
  check_fields (batch, json_object_get_object_member (expected, "padded"));
  assert_shape (hr_buffer_get_tensor (batch, "input_ids"), 2, (const gint64[]){ 3, 32 });
  assert_shape (hr_buffer_get_tensor (batch, "position_ids"), 3, (const gint64[]){ 3, 3, 32 });
  text_run_clear (&run);

  run = text_run (setting, CASE "! batch mode=packed max-tokens=72 ! appsink");
  batch = only_batch (&run);
  check_fields (batch, packed);
  assert_shape (hr_buffer_get_tensor (batch, "input_ids"), 2, (const gint64[]){ 1, 72 });
  assert_shape (hr_buffer_get_tensor (batch, "position_ids"), 3, (const gint64[]){ 3, 1, 72 });
  assert_shape (hr_buffer_get_tensor (batch, "max_length_q"), 0, NULL);
  g_assert_cmpint (text_tensor_int (hr_buffer_get_tensor (batch, "max_length_q"), 0), ==, 32);
  g_assert_null (hr_buffer_get_tensor (batch, "attention_mask"));
  text_run_clear (&run);

  run = text_run (setting, CASE "position-rows=4 ! batch mode=packed max-tokens=72 ! appsink");
  batch = only_batch (&run);
  assert_shape (hr_buffer_get_tensor (batch, "position_ids"), 3, (const gint64[]){ 4, 1, 72 });
  {
    JsonArray *plain =
        json_object_get_array_member (packed, "position_ids_row0_when_position-rows=4");

    for (guint i = 0; i < 72; i++)
      g_assert_cmpint (text_tensor_int (hr_buffer_get_tensor (batch, "position_ids"), i), ==,
                       json_array_get_int_element (json_array_get_array_element (plain, 0), i));
  }
}

/* ---- golden ---- */

/* the four records that the golden batches are made of */
static char *
four_records (void)
{
  static const char *const ids[] = { "text_1turn", "vqa_first", "two_images_compare", "chinese" };
  g_autofree char *all = NULL, *folder = g_dir_make_tmp ("hr-text-XXXXXX", NULL);
  g_autoptr (GString) picked = g_string_new (NULL);
  char *path = g_build_filename (folder, "a.jsonl", NULL);

  g_assert_true (
      g_file_get_contents (HR_TEST_DATA "/records/conversations_qwen.jsonl", &all, NULL, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++) {
    g_autofree char *key = g_strdup_printf ("{\"id\": \"%s\"", ids[i]);
    const char *line = strstr (all, key);

    g_assert_nonnull (line);
    g_string_append_len (picked, line, strchr (line, '\n') + 1 - line);
  }
  g_assert_true (g_file_set_contents (path, picked->str, -1, NULL));
  return path;
}

static void
check_golden (TextArrays *golden, const char *kind, const char *field, const HrTensor *got)
{
  const TextArray *expected = text_arrays_get (golden, "batch_%s/%s", kind, field);
  gboolean padded_positions = g_str_equal (kind, "padded") && g_str_equal (field, "position_ids");

  g_assert_cmpuint (text_tensor_length (got), ==, expected->n);
  for (gsize i = 0; i < expected->n; i++) {
    gint64 number = text_tensor_int (got, i);

    /* the reference fills positions with 1, transformers with 0; masked anyway */
    if (padded_positions && number == 0 && text_array_int (expected, i) == 1)
      continue;
    if (number != text_array_int (expected, i))
      g_error ("%s %s: number %d is %d, not %d", kind, field, (int)i, (int)number,
               (int)text_array_int (expected, i));
  }
}

static void
test_golden (gconstpointer setting)
{
  static const char *const padded[] = { "input_ids",    "labels",         "attention_mask",
                                        "position_ids", "image_grid_thw", NULL };
  static const char *const packed[] = { "input_ids",    "labels",         "cu_seqlens",
                                        "position_ids", "image_grid_thw", NULL };
  g_autoptr (TextArrays) golden = text_arrays_load ("golden/conversations.npz");
  g_autofree char *path = NULL, *text = NULL, *read = NULL;
  g_auto (TextRun) run = { NULL };

  if (text_test_vocab () == NULL)
    return;
  path = four_records ();
  read =
      g_strdup_printf ("filesrc location=%s ! jsonlparse media-base=GOLDEN/images ! imagefetch ! "
                       "tokenize tokenizer=VOCAB label-newline=true min-pixels=4096 "
                       "max-pixels=262144 WORKERS ! batch ",
                       path);
  text = g_strconcat (read, "mode=padded size=4 ! appsink", NULL);
  run = text_run (setting, text);
  for (guint i = 0; padded[i] != NULL; i++)
    check_golden (golden, "padded", padded[i], hr_buffer_get_tensor (only_batch (&run), padded[i]));
  text_run_clear (&run);
  g_free (text);
  text = g_strconcat (read, "mode=packed ! appsink", NULL);
  run = text_run (setting, text);
  for (guint i = 0; packed[i] != NULL; i++)
    check_golden (golden, "packed", packed[i], hr_buffer_get_tensor (only_batch (&run), packed[i]));
}

/* ---- holes and tails ---- */

#define RECORDS                                                                                    \
  "filesrc location=RECORDS/conversations_qwen.jsonl ! jsonlparse media-base=GOLDEN/images ! "     \
  "imagefetch ! tokenize tokenizer=VOCAB min-pixels=4096 max-pixels=262144 %s WORKERS ! "

/* a skipped sample, and what the last batch lacks, is a row that nobody learns from */
static void
test_padding_rows (gconstpointer setting)
{
  g_autofree char *text =
      g_strdup_printf (RECORDS "batch mode=padded size=5 ! appsink", "max-length=200");
  g_auto (TextRun) run = { NULL };
  guint full = 0;

  if (text_test_vocab () == NULL)
    return;
  run = text_run (setting, text);
  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, ==, 4);
  for (guint b = 0; b < 4; b++) {
    HrBuffer *batch = run.samples->pdata[b];
    HrTensor *ids = hr_buffer_get_tensor (batch, "input_ids");
    HrTensor *cu = hr_buffer_get_tensor (batch, "image_cu");
    gint64 length = hr_tensor_get_dim (ids, 1);
    guint n = hr_buffer_get_n_members (batch);

    g_assert_cmpint (hr_tensor_get_dim (ids, 0), ==, 5);
    g_assert_cmpint (length, <=, 200);
    g_assert_cmpuint (n, ==, 5);
    g_assert_cmpint (hr_tensor_get_dim (cu, 0), ==, 6);
    for (guint row = 0; row < 5; row++) {
      gboolean empty = row >= n || (hr_buffer_get_member (batch, row)->flags & HR_BUFFER_HOLE);
      gint64 tokens = 0, labels = 0;

      for (gint64 i = 0; i < length; i++) {
        gsize at = (gsize)(row * length + i);

        tokens += text_tensor_int (hr_buffer_get_tensor (batch, "attention_mask"), at);
        labels += text_tensor_int (hr_buffer_get_tensor (batch, "labels"), at) != -100;
        if (empty)
          g_assert_cmpint (text_tensor_int (ids, at), ==, 151643);
      }
      if (empty) {
        g_assert_cmpint (tokens + labels, ==, 0);
        g_assert_cmpint (text_tensor_int (cu, row), ==, text_tensor_int (cu, row + 1));
      } else {
        g_assert_cmpint (labels, >, 0);
        full++;
      }
    }
  }
  g_assert_cmpint (full, ==, 17 - text_run_count (&run, "dropped", "overlong"));
  g_assert_cmpint (text_run_count (&run, "dropped", "overlong"), >=, 1);
}

/* ---- blocks ---- */

/* "1,2|3|4,5": which lines are in which row; (transfer full) */
static char *
show_rows (const TextRun *run)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < run->samples->len; i++) {
    HrBuffer *row = run->samples->pdata[i];
    HrTensor *cu = hr_buffer_get_tensor (row, "cu_seqlens");
    HrTensor *ids = hr_buffer_get_tensor (row, "input_ids");
    guint n = hr_buffer_get_n_members (row);

    g_assert_cmpint (hr_tensor_get_dim (cu, 0), ==, n + 1);
    g_assert_cmpint (text_tensor_int (cu, n), ==, hr_tensor_get_dim (ids, 1));
    for (guint k = 0; k < n; k++) {
      gsize begin = (gsize)text_tensor_int (cu, k);

      /* each begins as samples do, at position 0 */
      g_assert_cmpint (text_tensor_int (ids, begin), ==, 151644);
      g_assert_cmpint (text_tensor_int (hr_buffer_get_tensor (row, "position_ids"), begin), ==, 0);
      g_string_append_printf (text, k > 0 ? ",%d" : "%d",
                              (int)hr_buffer_get_origin (hr_buffer_get_member (row, k))->line);
    }
    g_string_append_c (text, '|');
  }
  return g_string_free (text, FALSE);
}

/* The same rows whatever the workers, however far it works ahead and however little memory it may
 * use; each block apart. */
static void
test_blocks (void)
{
  static const char *const behind[] = { "", "prefetchqueue max-batches=1 ! ",
                                        "prefetchqueue max-batches=9 ! ",
                                        "prefetchqueue max-batches=4 warm-up=3 ! ", NULL };
  g_autofree char *first = NULL;

  if (text_test_vocab () == NULL)
    return;
  for (guint b = 0; b < 8; b++)
    for (guint k = 0; text_settings[k] != NULL; k++) {
      g_autofree char *text = g_strdup_printf (
          "%s" RECORDS "batch mode=packed pack-window=4 max-tokens=300 ! %sappsink",
          b < 4 ? "" : "memory=1 ", "", behind[b % 4]);
      g_auto (TextRun) run = text_run (text_settings[k], text);
      g_autofree char *rows = NULL;

      g_assert_no_error (run.error);
      rows = show_rows (&run);
      if (first == NULL) {
        first = g_steal_pointer (&rows);
        g_test_message ("%s", first);
        /* long_answer, line 16, fits into no row */
        g_assert_null (strstr (first, "16"));
        g_assert_cmpint (text_run_count (&run, "dropped", "overlong"), ==, 1);
      } else {
        g_assert_cmpstr (rows, ==, first);
      }
    }
  /* no line is in a row with one of another block of four */
  {
    g_auto (GStrv) rows = g_strsplit (first, "|", -1);

    for (guint i = 0; rows[i] != NULL && *rows[i] != '\0'; i++) {
      g_auto (GStrv) lines = g_strsplit (rows[i], ",", -1);
      gint64 last = 0;

      for (guint k = 0; lines[k] != NULL; k++) {
        gint64 line = g_ascii_strtoll (lines[k], NULL, 10);

        g_assert_cmpint ((line - 1) / 4, ==, (g_ascii_strtoll (lines[0], NULL, 10) - 1) / 4);
        g_assert_cmpint (line, >, last);
        last = line;
      }
    }
  }
}

/* decoding behind the batch gives the same patches as before it */
static void
test_decode_behind (gconstpointer setting)
{
  static const char *const rest[] = { "batch mode=packed max-tokens=2000 ! imagedecode WORKERS ! "
                                      "resize WORKERS ! patchify WORKERS ! appsink",
                                      "imagedecode WORKERS ! resize WORKERS ! batch mode=packed "
                                      "max-tokens=2000 ! patchify WORKERS ! appsink",
                                      "imagedecode WORKERS ! resize WORKERS ! patchify WORKERS ! "
                                      "batch mode=packed max-tokens=2000 ! appsink" };
  g_autofree char *shas[3] = { NULL };

  if (text_test_vocab () == NULL)
    return;
  for (guint i = 0; i < 3; i++) {
    g_autofree char *head = g_strdup_printf (RECORDS, ""),
                    *text = g_strconcat (head, rest[i], NULL);
    g_auto (TextRun) run = text_run (setting, text);
    g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

    g_assert_no_error (run.error);
    for (guint k = 0; k < run.samples->len; k++) {
      HrTensor *pixels = hr_buffer_get_tensor (run.samples->pdata[k], "pixel_values");
      HrTensor *cu = hr_buffer_get_tensor (run.samples->pdata[k], "image_cu");

      g_assert_nonnull (pixels);
      g_checksum_update (sum, hr_tensor_get_data (pixels), (gssize)hr_tensor_get_n_bytes (pixels));
      g_checksum_update (sum, hr_tensor_get_data (cu), (gssize)hr_tensor_get_n_bytes (cu));
    }
    shas[i] = g_strdup (g_checksum_get_string (sum));
    g_assert_cmpstr (shas[i], ==, shas[0]);
  }
  for (guint i = 0; i < 3; i++)
    g_clear_pointer (&shas[i], g_free);
}

/* ---- a block alone ---- */

static void
add_tensor (GChecksum *sum, const HrTensor *tensor)
{
  const HrDType dtype = hr_tensor_get_dtype (tensor);

  g_checksum_update (sum, (const guchar *)&dtype, sizeof dtype);
  for (guint i = 0; i < hr_tensor_get_n_dims (tensor); i++) {
    gint64 dim = hr_tensor_get_dim (tensor, i);

    g_checksum_update (sum, (const guchar *)&dim, sizeof dim);
  }
  g_checksum_update (sum, hr_tensor_get_data (tensor), (gssize)hr_tensor_get_n_bytes (tensor));
}

/* every tensor of a row, and which lines are in it; (transfer full) */
static char *
digest_row (const HrBuffer *row)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  for (guint i = 0; i < hr_buffer_get_n_fields (row); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (row, i, &type);

    g_checksum_update (sum, (const guchar *)name, -1);
    if (type == HR_FIELD_TENSOR) {
      add_tensor (sum, hr_buffer_get_tensor (row, name));
    } else {
      HrList *list = hr_buffer_get_list (row, name);

      for (guint k = 0; k < hr_list_get_length (list); k++)
        if (hr_list_get_tensor (list, k) != NULL)
          add_tensor (sum, hr_list_get_tensor (list, k));
    }
  }
  for (guint i = 0; i < hr_buffer_get_n_members (row); i++) {
    gint64 line = hr_buffer_get_origin (hr_buffer_get_member (row, i))->line;

    g_checksum_update (sum, (const guchar *)&line, sizeof line);
  }
  return g_strdup (g_checksum_get_string (sum));
}

#define BLOCK 4
#define PACK "batch mode=packed pack-window=4 max-tokens=300"

/* the samples of the records, a hole for each that is missing; 17 lines */
static void
push_block (HrHarness *harness, const TextRun *samples, gint64 block)
{
  for (gint64 line = block * BLOCK + 1; line <= block * BLOCK + BLOCK && line <= 17; line++) {
    HrBuffer *sample = text_run_find (samples, line);

    if (sample != NULL) {
      hr_harness_push (harness, hr_buffer_ref (sample));
    } else {
      HrBuffer *hole = hr_buffer_new ();

      hr_buffer_make_hole (hole, NULL);
      hr_harness_push (harness, hole);
    }
  }
  hr_harness_end (harness);
}

/* Rows are a function of their block: each block, packed by an element that has seen no other,
 * makes the rows of the stream, byte for byte. */
static void
test_alone (gconstpointer setting)
{
  g_autofree char *stream = g_strdup_printf (RECORDS PACK " ! appsink", "max-length=250"),
                  *apart = g_strdup_printf (RECORDS "appsink", "max-length=250");
  g_autoptr (GPtrArray) expected = g_ptr_array_new_with_free_func (g_free);
  g_auto (TextRun) run = { NULL };
  guint row = 0;

  if (text_test_vocab () == NULL)
    return;
  run = text_run (setting, stream);
  g_assert_no_error (run.error);
  for (guint i = 0; i < run.samples->len; i++)
    g_ptr_array_add (expected, digest_row (run.samples->pdata[i]));
  text_run_clear (&run);
  run = text_run (setting, apart);
  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, <, 17); /* some are dropped */
  for (gint64 block = 0; block * BLOCK < 17; block++) {
    HrHarness *harness = hr_harness_new (PACK, 1);
    HrBuffer *buffer;

    push_block (harness, &run, block);
    while ((buffer = hr_harness_pull (harness)) != NULL) {
      g_autofree char *got = digest_row (buffer);

      g_assert_cmpuint (row, <, expected->len);
      g_assert_cmpstr (got, ==, expected->pdata[row++]);
      hr_buffer_unref (buffer);
    }
    hr_harness_free (harness);
  }
  g_assert_cmpuint (row, ==, expected->len);
  g_assert_cmpuint (row, >=, 6);
}

/* ---- all dropped ---- */

/* tokenize says what samples would have: batches without any have it, too */
static void
test_nothing_left (gconstpointer setting)
{
  g_autofree char *text = g_strdup_printf (RECORDS "batch mode=padded size=9 ! appsink",
                                           "max-length=2 ids=int32 position-rows=4");
  g_auto (TextRun) run = { NULL };

  if (text_test_vocab () == NULL)
    return;
  run = text_run (setting, text);
  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, ==, 2);
  for (guint b = 0; b < 2; b++) {
    HrTensor *ids = hr_buffer_get_tensor (run.samples->pdata[b], "input_ids"),
             *positions = hr_buffer_get_tensor (run.samples->pdata[b], "position_ids");

    g_assert_nonnull (ids);
    assert_shape (ids, 2, (const gint64[]){ 9, 1 });
    assert_shape (positions, 3, (const gint64[]){ 4, 9, 1 });
    g_assert_cmpint (hr_tensor_get_dtype (ids).bits, ==, 32);
    g_assert_cmpint (hr_tensor_get_dtype (positions).bits, ==, 32);
    g_assert_null (hr_buffer_get_tensor (run.samples->pdata[b], "image_grid_thw"));
    g_assert_nonnull (hr_buffer_get_tensor (run.samples->pdata[b], "image_cu"));
  }
  text_run_clear (&run);
  g_free (text);
  text = g_strdup_printf (RECORDS "batch mode=packed ! appsink", "max-length=2");
  run = text_run (setting, text);
  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, ==, 0);
}

/* ---- a bad image behind the batch ---- */

/* It takes its whole row with it, and each sample of that row is told with its place and counted.
 */
static void
test_bad_image (gconstpointer setting)
{
  static const char records[] =
      "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"gpt\",\"value\":\"b\"}]"
      "}\n"
      "{\"images\":[\"gray.jpg\",\"bad.jpg\"],\"conversations\":[{\"from\":\"human\",\"value\":"
      "\"<image><image>a\"},{\"from\":\"gpt\",\"value\":\"b\"}]}\n"
      "{\"image\":\"gray.jpg\",\"conversations\":[{\"from\":\"human\",\"value\":\"<image>a\"},"
      "{\"from\":\"gpt\",\"value\":\"b\"}]}\n"
      "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"gpt\",\"value\":\"b\"}]"
      "}\n";
  static const char *const batches[] = { "mode=list size=3", "mode=padded size=3",
                                         "mode=packed pack-window=3", NULL };
  g_autofree char *folder = g_dir_make_tmp ("hr-text-XXXXXX", NULL), *image = NULL,
                  *path = g_build_filename (folder, "a.jsonl", NULL),
                  *good = g_build_filename (folder, "gray.jpg", NULL),
                  *bad = g_build_filename (folder, "bad.jpg", NULL);
  gsize size;

  if (text_test_vocab () == NULL)
    return;
  g_assert_true (g_file_get_contents (HR_TEST_DATA "/golden/images/gray.jpg", &image, &size, NULL));
  g_assert_true (g_file_set_contents (path, records, -1, NULL));
  g_assert_true (g_file_set_contents (good, image, (gssize)size, NULL));
  g_assert_true (g_file_set_contents (bad, image, (gssize)size / 2, NULL));
  for (guint i = 0; batches[i] != NULL; i++) {
    g_autofree char *text = g_strdup_printf (
        "on-error=skip filesrc location=%s ! jsonlparse ! imagefetch ! tokenize tokenizer=VOCAB "
        "WORKERS ! batch %s ! imagedecode WORKERS %s ! appsink",
        path, batches[i],
        /* refused behind lists */
        i == 0 ? "" : "! resize WORKERS ! patchify WORKERS");
    g_auto (TextRun) run = text_run (setting, text);

    g_assert_no_error (run.error);
    /* a batch that was lost is a step all the same; line 4 is the other */
    g_assert_cmpuint (run.samples->len, ==, 2);
    g_assert_cmpuint (hr_buffer_get_n_fields (run.samples->pdata[0]), ==, 0);
    for (guint k = 0; k < hr_buffer_get_n_members (run.samples->pdata[0]); k++)
      g_assert_true (hr_buffer_get_member (run.samples->pdata[0], k)->flags & HR_BUFFER_HOLE);
    g_assert_cmpint (text_run_count (&run, "skipped", "media-truncated"), ==, 3);
    g_assert_cmpuint (run.skipped->len, ==, 3);
    for (gint64 line = 1; line <= 3; line++) {
      const HrMessage *message = text_run_find_skipped (&run, line);

      g_assert_nonnull (message);
      g_assert_nonnull (strstr (message->error->message, "a.jsonl:2 bad.jpg: "));
      g_assert_cmpint (strstr (message->error->message, "goes with the batch") != NULL, ==,
                       line != 2);
    }
  }
  g_unlink (path);
  g_unlink (good);
  g_unlink (bad);
  g_rmdir (folder);
}

/* ---- how far ahead, changed while it runs ---- */

static void
test_live_depth (void)
{
  static const char *const depths[] = { "1", "7", "2", "5", "1", "3" };
  g_autofree char *text = NULL, *all = NULL;
  g_autoptr (GString) got = g_string_new (NULL);
  g_autoptr (HrPipeline) pipeline = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (TextRun) run = { NULL };
  HrBuffer *row;
  guint n = 0;

  if (text_test_vocab () == NULL)
    return;
  text = g_strdup_printf (RECORDS PACK " ! prefetchqueue name=ahead ! appsink", "");
  all = text_run_expand ("workers=4", text);
  pipeline = hr_parse_launch (all, &error);
  g_assert_no_error (error);
  g_assert_true (hr_pipeline_start (pipeline, &error));
  while ((row = hr_pipeline_pull (pipeline, &error)) != NULL) {
    g_autofree char *digest = digest_row (row);

    g_string_append (got, digest);
    hr_buffer_unref (row);
    g_assert_true (hr_element_set_from_string (hr_pipeline_get_element (pipeline, "ahead"),
                                               "max-batches", depths[n++ % G_N_ELEMENTS (depths)],
                                               &error));
  }
  g_assert_no_error (error);
  g_assert_true (hr_pipeline_wait (pipeline, &error));
  run = text_run ("serial=true", text);
  for (guint i = 0; i < run.samples->len; i++) {
    g_autofree char *digest = digest_row (run.samples->pdata[i]);

    g_assert_true (g_str_has_prefix (got->str + i * strlen (digest), digest));
  }
  g_assert_cmpuint (n, ==, run.samples->len);
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    GTestDataFunc func;
  } tests[] = { { "case", test_case },
                { "golden", test_golden },
                { "padding-rows", test_padding_rows },
                { "decode-behind", test_decode_behind },
                { "alone", test_alone },
                { "nothing-left", test_nothing_left },
                { "bad-image", test_bad_image } };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/rows/blocks", test_blocks);
  g_test_add_func ("/text/rows/live-depth", test_live_depth);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    for (guint k = 0; text_settings[k] != NULL; k++) {
      g_autofree char *path = g_strdup_printf ("/text/rows/%s/%s", tests[i].name, text_settings[k]);

      g_test_add_data_func (path, text_settings[k], tests[i].func);
    }
  return g_test_run ();
}
