/* batches of rows: case 03, the golden batches, holes, blocks; how full packed rows are */
#include <math.h>
#include <string.h>
#include "pack.h"
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

static void
test_refused (void)
{
  static const char *const rows[][2] = {
    { "batch mode=packed ! batch size=2 ! fakesink", "*cannot stand behind packed rows*" },
    { "batch mode=packed ! identity ordered=false ! fakesink",
      "*cannot stand behind packed rows*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *text = g_strconcat ("fakesrc num-buffers=3 ! ", rows[i][0], NULL);
    g_autoptr (GError) error = NULL;
    g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);

    if (pipeline != NULL)
      g_assert_false (hr_pipeline_start (pipeline, &error));
    g_assert_nonnull (error);
    if (!g_pattern_match_simple (rows[i][1], error->message))
      g_error ("\"%s\" is not like \"%s\"", error->message, rows[i][1]);
  }
}

/* ---- how full ---- */

static void
check_packing (const HrPackSize *sizes, guint n, gint64 most, gint64 most_images)
{
  g_autofree guint *rows = g_new (guint, n + 1);
  g_autofree HrPackSize *used = g_new0 (HrPackSize, n + 1);
  guint n_rows = hr_pack_block (sizes, n, most, most_images, rows), seen = 0;

  for (guint i = 0; i < n; i++) {
    g_assert_cmpuint (rows[i], <, n_rows);
    g_assert_cmpuint (rows[i], <=, seen); /* numbered as they come up */
    seen = MAX (seen, rows[i] + 1);
    used[rows[i]].tokens += sizes[i].tokens;
    used[rows[i]].image_tokens += sizes[i].image_tokens;
  }
  g_assert_cmpuint (seen, ==, n_rows);
  for (guint row = 0; row < n_rows; row++) {
    g_assert_cmpint (used[row].tokens, <=, most);
    g_assert_true (most_images == 0 || used[row].image_tokens <= most_images);
  }
  /* no two rows would fit into one */
  for (guint a = 0; a < n_rows && most_images == 0; a++)
    for (guint b = a + 1; b < n_rows; b++)
      g_assert_cmpint (used[a].tokens + used[b].tokens, >, most);
}

static void
test_packing (void)
{
  for (guint round = 0; round < 500; round++) {
    HrPackSize sizes[80];
    guint n = (guint)g_test_rand_int_range (0, 80);
    gint64 most = g_test_rand_int_range (50, 500), most_images = round % 2 == 0 ? 0 : most / 2;

    for (guint i = 0; i < n; i++) {
      sizes[i].tokens = g_test_rand_int_range (1, (gint)most + 1);
      sizes[i].image_tokens = MIN (sizes[i].tokens, most / 2) * g_test_rand_int_range (0, 2);
    }
    check_packing (sizes, n, most, most_images);
  }
}

/* a mix of conversations with 0 to 4 images, mean about 960 tokens */
static gint64
random_length (GRand *rand)
{
  double text = exp (5.6
                     + 0.9
                           * (g_rand_double (rand) + g_rand_double (rand) + g_rand_double (rand)
                              + g_rand_double (rand) - 2));
  gint64 length = (gint64)text;

  for (gint i = g_rand_int_range (rand, 0, 5); i > 0; i--)
    length += g_rand_int_range (rand, 64, 540);
  return MIN (length, 8000);
}

static double
fill_of (const HrPackSize *sizes, guint n, guint window, gint64 most)
{
  g_autofree guint *rows = g_new (guint, n);
  gint64 tokens = 0, n_rows = 0;

  for (guint at = 0; at < n; at += window)
    n_rows += hr_pack_block (sizes + at, MIN (window, n - at), most, 0, rows);
  for (guint i = 0; i < n; i++)
    tokens += sizes[i].tokens;
  return (double)tokens / (double)(n_rows * most);
}

/* rows that are closed when the next sample does not fit: what is done without packing */
static double
fill_by_cutting (const HrPackSize *sizes, guint n, gint64 most)
{
  gint64 tokens = 0, n_rows = 1, used = 0;

  for (guint i = 0; i < n; i++) {
    tokens += sizes[i].tokens;
    if (used + sizes[i].tokens > most) {
      n_rows++;
      used = 0;
    }
    used += sizes[i].tokens;
  }
  return (double)tokens / (double)(n_rows * most);
}

/* first fit over all rows that are open: no pure function of a block */
static double
fill_by_first_fit (const HrPackSize *sizes, guint n, gint64 most)
{
  g_autofree gint64 *left = g_new (gint64, n);
  gint64 tokens = 0;
  guint n_rows = 0;

  for (guint i = 0; i < n; i++) {
    guint row = 0;

    while (row < n_rows && left[row] < sizes[i].tokens)
      row++;
    if (row == n_rows)
      left[n_rows++] = most;
    left[row] -= sizes[i].tokens;
    tokens += sizes[i].tokens;
  }
  return (double)tokens / (double)(n_rows * most);
}

static void
test_fill (void)
{
  static const gint64 most[] = { 8192, 16384, 32768 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  guint n = 8192;
  g_autofree HrPackSize *sizes = g_new0 (HrPackSize, n);

  for (guint i = 0; i < n; i++)
    sizes[i].tokens = random_length (rand);
  for (guint i = 0; i < G_N_ELEMENTS (most); i++) {
    double blocks = fill_of (sizes, n, 512, most[i]), one = fill_of (sizes, n, n, most[i]);
    double cut = fill_by_cutting (sizes, n, most[i]), first = fill_by_first_fit (sizes, n, most[i]);

    g_test_message (
        "%d tokens a row: blocks of 512 %.1f %%, one window %.1f %%, first fit %.1f %%, "
        "cutting %.1f %%",
        (int)most[i], 100 * blocks, 100 * one, 100 * first, 100 * cut);
    if (most[i] == 8192) /* in longer rows the last one of each block weighs more than the gaps */
      g_assert_cmpfloat (blocks, >, cut + 0.05);
    g_assert_cmpfloat (blocks, >, 0.95);
    g_assert_cmpfloat (blocks, >, one - 0.04);
  }
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
                { "decode-behind", test_decode_behind } };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/rows/packing", test_packing);
  g_test_add_func ("/text/rows/fill", test_fill);
  g_test_add_func ("/text/rows/blocks", test_blocks);
  g_test_add_func ("/text/rows/refused", test_refused);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    for (guint k = 0; text_settings[k] != NULL; k++) {
      g_autofree char *path = g_strdup_printf ("/text/rows/%s/%s", tests[i].name, text_settings[k]);

      g_test_add_data_func (path, text_settings[k], tests[i].func);
    }
  return g_test_run ();
}
