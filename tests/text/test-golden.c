/* the golden conversations, through whole pipelines to .npy files: every number of every tensor */
#include <glib/gstdio.h>
#include <string.h>
#include "text-run.h"
#include "text-test.h"

/* made by a path that drops transparency instead of composing it on white */
#define WRONG_PIXELS "images_in_turns"
/* the reference's labels are wrong there, which is what the record is for */
#define WRONG_LABELS "trap_assistant_word"

static char *
make_folder (void)
{
  g_autoptr (GError) error = NULL;
  char *folder = g_dir_make_tmp ("hr-golden-XXXXXX", &error);

  g_assert_no_error (error);
  return folder;
}

static void
remove_folder (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (folder, name, NULL);

    g_unlink (path);
  }
  g_rmdir (folder);
}

static void
run_into (const char *folder, const char *setting, const char *text)
{
  g_autofree char *expanded = text_run_expand (setting, text);
  g_autofree char *whole = g_strdup_printf ("%s ! npysink location=%s", expanded, folder);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (whole, &error);

  g_assert_no_error (error);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  hr_pipeline_wait (pipeline, &error);
  g_assert_no_error (error);
}

/* (transfer full): the record's id as it is in the sample's JSON file */
static char *
id_of (const char *folder, guint index)
{
  g_autofree char *path = g_strdup_printf ("%s/%06u.json", folder, index);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) error = NULL;

  json_parser_load_from_file (parser, path, &error);
  g_assert_no_error (error);
  return g_strdup (
      json_object_get_string_member (json_node_get_object (json_parser_get_root (parser)), "id"));
}

/* TRUE: there is something to compare with */
static gboolean
check_field (TextArrays *golden, const char *folder, guint index, const char *id, const char *field,
             const char *golden_field, const char *dtype)
{
  g_autofree char *name = g_strdup_printf ("%s/%s", id, golden_field);
  const TextArray *expected = text_arrays_find (golden, name);
  g_autofree char *path = g_strdup_printf ("%s/%06u.%s.npy", folder, index, field);
  TextArray got = { 0 };
  g_autoptr (GBytes) file = NULL;

  if (expected == NULL)
    return FALSE;
  file = text_array_load_npy (path, &got);
  g_assert_cmpstr (got.dtype, ==, dtype);
  g_assert_cmpuint (got.n_dims, ==, expected->n_dims);
  for (guint i = 0; i < got.n_dims; i++)
    g_assert_cmpint (got.shape[i], ==, expected->shape[i]);
  for (gsize i = 0; i < got.n; i++)
    if (text_array_int (&got, i) != text_array_int (expected, i))
      g_error ("%s %s: number %d is %d, not %d", id, field, (int)i, (int)text_array_int (&got, i),
               (int)text_array_int (expected, i));
  return TRUE;
}

static gboolean
check_pixels (JsonObject *row, const char *folder, guint index)
{
  g_autofree char *path = g_strdup_printf ("%s/%06u.pixel_values.npy", folder, index), *sha = NULL;
  TextArray got = { 0 };
  g_autoptr (GBytes) file = NULL;
  JsonArray *shape;

  if (!json_object_has_member (row, "pixel_values_sha256")) {
    g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
    return FALSE;
  }
  file = text_array_load_npy (path, &got);
  shape = json_object_get_array_member (row, "pixel_values_shape");
  g_assert_cmpint (got.shape[0], ==, json_array_get_int_element (shape, 0));
  g_assert_cmpint (got.shape[1], ==, json_array_get_int_element (shape, 1));
  sha = g_compute_checksum_for_data (G_CHECKSUM_SHA256, got.data, got.n * 4);
  if (!g_str_equal (json_object_get_string_member (row, "id"), WRONG_PIXELS))
    g_assert_cmpstr (sha, ==, json_object_get_string_member (row, "pixel_values_sha256"));
  return TRUE;
}

static void
check_all (const char *folder, gboolean newline, gboolean pixels)
{
  static const char *const fields[][3] = { { "input_ids", "input_ids", "i8" },
                                           { "attention_mask", "attention_mask", "i8" },
                                           { "mm_token_type_ids", "mm_token_type_ids", "i4" },
                                           { "position_ids", "position_ids", "i8" },
                                           { "image_grid_thw", "image_grid_thw", "i8" } };
  g_autoptr (TextArrays) golden = text_arrays_load ("golden/conversations.npz");
  g_autoptr (JsonNode) root = text_test_json ("golden/conversations.json");
  JsonArray *rows = json_node_get_array (root);
  guint compared = 0;

  g_assert_cmpuint (json_array_get_length (rows), ==, 17);
  for (guint i = 0; i < 17; i++) {
    JsonObject *row = json_array_get_object_element (rows, i);
    g_autofree char *id = id_of (folder, i);

    g_assert_cmpstr (id, ==, json_object_get_string_member (row, "id"));
    for (guint f = 0; f < G_N_ELEMENTS (fields); f++)
      compared += check_field (golden, folder, i, id, fields[f][0], fields[f][1], fields[f][2]);
    if (!newline)
      compared += check_field (golden, folder, i, id, "labels", "labels_strict", "i8");
    else if (!g_str_equal (id, WRONG_LABELS))
      compared += check_field (golden, folder, i, id, "labels", "labels_ref", "i8");
    if (pixels)
      compared += check_pixels (row, folder, i);
  }
  /* 17 * 4, grids of 11; labels of 17 or 14, pixels of 11 */
  g_assert_cmpuint (compared, ==, 68 + 11 + (newline ? 14 : 17) + (pixels ? 11 : 0));
}

static void
run_and_check (const char *setting, const char *text, gboolean newline, gboolean pixels)
{
  g_autofree char *folder = make_folder ();

  run_into (folder, setting, text);
  check_all (folder, newline, pixels);
  remove_folder (folder);
}

#define READ(form)                                                                                 \
  "filesrc location=RECORDS/conversations_" form                                                   \
  ".jsonl ! jsonlparse media-base=GOLDEN/images ! imagefetch"
#define BOUNDS " tokenizer=VOCAB min-pixels=4096 max-pixels=262144 WORKERS "
#define PATCHES "imagedecode WORKERS ! resize WORKERS ! patchify normalize=pillow WORKERS"

static void
test_tokenize_first (gconstpointer setting)
{
  if (text_test_vocab () == NULL)
    return;
  run_and_check (setting, READ ("qwen") " ! tokenize" BOUNDS " ! " PATCHES, FALSE, TRUE);
  run_and_check (setting, READ ("messages") " ! tokenize" BOUNDS " ! " PATCHES, FALSE, TRUE);
}

static void
test_resize_first (gconstpointer setting)
{
  if (text_test_vocab () == NULL)
    return;
  run_and_check (setting,
                 READ ("qwen") " ! imagedecode WORKERS ! resize min-pixels=4096 max-pixels=262144 "
                               "WORKERS ! tokenize tokenizer=VOCAB WORKERS ! patchify "
                               "normalize=pillow WORKERS",
                 FALSE, TRUE);
}

static void
test_label_newline (gconstpointer setting)
{
  if (text_test_vocab () == NULL)
    return;
  run_and_check (setting, READ ("qwen") " ! tokenize label-newline=true" BOUNDS, TRUE, FALSE);
}

static void
test_nostrip (void)
{
  g_autoptr (TextArrays) golden = NULL;
  g_autofree char *folder = NULL;

  if (text_test_vocab () == NULL)
    return;
  golden = text_arrays_load ("golden/conversations.npz");
  folder = make_folder ();
  run_into (folder, "workers=2",
            "filesrc location=RECORDS/conversations_qwen.jsonl ! jsonlparse strip=none "
            "media-base=GOLDEN/images ! imagefetch ! tokenize" BOUNDS);
  for (guint i = 0; i < 17; i++) {
    g_autofree char *id = id_of (folder, i);

    g_assert_true (check_field (golden, folder, i, id, "input_ids", "input_ids_nostrip", "i8"));
  }
  remove_folder (folder);
}

/* ---- images ---- */

/* a record for each golden image; (transfer full): the file's path */
static char *
write_image_records (const char *folder, JsonArray *images)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char *path = g_build_filename (folder, "images.jsonl", NULL);

  for (guint i = 0; i < json_array_get_length (images); i++) {
    const char *name =
        json_object_get_string_member (json_array_get_object_element (images, i), "file");

    g_string_append_printf (
        text, "{\"id\":\"%s\",\"image\":\"%s\",\"query\":\"<image>\",\"response\":\"a\"}\n", name,
        name);
  }
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  return path;
}

typedef struct {
  const char *config; /* of golden/README.md */
  const char *bounds;
} Config;

static const Config configs[] = { { "default", "" },
                                  { "cap256", "min-pixels=4096 max-pixels=262144" } };

/* what the processor made of an image with these bounds; NULL: nothing to compare with */
static JsonObject *
get_processed (JsonObject *image, const Config *config)
{
  JsonObject *processor = json_object_has_member (image, "processor")
                              ? json_object_get_object_member (image, "processor")
                              : NULL;
  JsonObject *row;

  /* Pillow clips 16-bit gray at 255, which nobody wants */
  if (processor == NULL || !json_object_has_member (processor, config->config)
      || g_str_equal (json_object_get_string_member (image, "file"), "gray16.png"))
    return NULL;
  row = json_object_get_object_member (processor, config->config);
  return json_object_has_member (row, "error") ? NULL : row;
}

/* files are numbered as they are written, without the bad ones; (transfer full): an image's .npy */
static char *
find_npy (const char *folder, const char *image, const char *field)
{
  for (guint i = 0;; i++) {
    g_autofree char *id = id_of (folder, i);

    if (g_str_equal (id, image))
      return g_strdup_printf ("%s/%06u.%s.npy", folder, i, field);
  }
}

static void
run_images (const char *folder, const char *setting, const char *records, const Config *config,
            const char *reference, const char *dtype)
{
  /* bytes are not normalized */
  g_autofree char *form = g_str_equal (dtype, "uint8")
                              ? g_strdup ("dtype=uint8")
                              : g_strdup_printf ("normalize=%s dtype=%s", reference, dtype);
  g_autofree char *text = g_strdup_printf (
      "filesrc location=%s ! jsonlparse media-base=GOLDEN/images ! imagefetch on-error=skip ! "
      "imagedecode on-error=skip WORKERS ! resize %s reference=%s on-error=skip WORKERS ! patchify "
      "%s WORKERS",
      records, config->bounds, reference, form);

  run_into (folder, setting, text);
}

/* L1 and L2: every number of pixel_values of every image, and its grid */
static guint
check_images (const char *folder, JsonArray *images, const Config *config, const char *backend)
{
  guint n = 0;

  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *image = json_array_get_object_element (images, i);
    JsonObject *expected = get_processed (image, config);
    const char *name = json_object_get_string_member (image, "file");
    g_autofree char *path = NULL, *grid_path = NULL, *sha = NULL;
    TextArray got = { 0 }, grid = { 0 };
    g_autoptr (GBytes) file = NULL, grid_file = NULL;

    if (expected == NULL)
      continue;
    path = find_npy (folder, name, "pixel_values");
    grid_path = find_npy (folder, name, "image_grid_thw");
    file = text_array_load_npy (path, &got);
    sha = g_compute_checksum_for_data (G_CHECKSUM_SHA256, got.data, got.n * 4);
    if (!g_str_equal (
            sha, json_object_get_string_member (json_object_get_object_member (expected, backend),
                                                "pixel_values_sha256")))
      g_error ("%s, %s, %s: other pixel_values", name, config->config, backend);
    grid_file = text_array_load_npy (grid_path, &grid);
    for (guint k = 0; k < 3; k++)
      g_assert_cmpint (
          text_array_int (&grid, k), ==,
          json_array_get_int_element (json_object_get_array_member (expected, "grid_thw"), k));
    n++;
  }
  return n;
}

/* L3: Pillow's resize beside torchvision's. Each pixel stands twice in its patch. */
static void
check_distance (const char *one_folder, const char *other_folder, const char *image,
                JsonObject *expected)
{
  g_autofree char *one_path = find_npy (one_folder, image, "pixel_values");
  g_autofree char *other_path = find_npy (other_folder, image, "pixel_values");
  JsonObject *distance = json_object_get_object_member (expected, "tv_vs_pil");
  TextArray one = { 0 }, other = { 0 };
  G_GNUC_UNUSED g_autoptr (GBytes) one_file = text_array_load_npy (one_path, &one);
  G_GNUC_UNUSED g_autoptr (GBytes) other_file = text_array_load_npy (other_path, &other);
  gint64 most = 0;
  gsize n = 0;

  g_assert_cmpuint (one.n, ==, other.n);
  for (gsize i = 0; i < one.n; i++) {
    gint64 difference = ABS (text_array_int (&one, i) - text_array_int (&other, i));

    most = MAX (most, difference);
    n += difference > 0;
  }
  g_assert_cmpint (most, <=, 2);
  g_assert_cmpfloat ((double)n / (double)one.n, <=, 0.005);
  g_assert_cmpint (most, ==, json_object_get_int_member (distance, "max_abs_diff"));
  g_assert_cmpfloat_with_epsilon ((double)n / (double)one.n,
                                  json_object_get_double_member (distance, "frac_diff"), 1e-6);
}

static void
test_images (gconstpointer setting)
{
  static const char *const backends[][2] = { { "pil", "pillow" }, { "tv", "torchvision" } };
  g_autoptr (JsonNode) root = text_test_json ("golden/images.json");
  JsonArray *images = json_node_get_array (root);
  g_autofree char *place = make_folder (), *records = write_image_records (place, images);

  for (guint c = 0; c < G_N_ELEMENTS (configs); c++)
    for (guint b = 0; b < G_N_ELEMENTS (backends); b++) {
      g_autofree char *folder = make_folder ();

      run_images (folder, setting, records, &configs[c], backends[b][1], "float32");
      g_assert_cmpuint (check_images (folder, images, &configs[c], backends[b][0]), >=, 26);
      remove_folder (folder);
    }
  remove_folder (place);
}

static void
test_distance (gconstpointer setting)
{
  g_autoptr (JsonNode) root = text_test_json ("golden/images.json");
  JsonArray *images = json_node_get_array (root);
  g_autofree char *place = make_folder (), *records = write_image_records (place, images);

  for (guint c = 0; c < G_N_ELEMENTS (configs); c++) {
    g_autofree char *one = make_folder (), *other = make_folder ();

    run_images (one, setting, records, &configs[c], "pillow", "uint8");
    run_images (other, setting, records, &configs[c], "torchvision", "uint8");
    for (guint i = 0; i < json_array_get_length (images); i++) {
      JsonObject *image = json_array_get_object_element (images, i);
      JsonObject *expected = get_processed (image, &configs[c]);

      if (expected != NULL)
        check_distance (one, other, json_object_get_string_member (image, "file"), expected);
    }
    remove_folder (one);
    remove_folder (other);
  }
  remove_folder (place);
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    GTestDataFunc func;
  } tests[] = { { "tokenize-first", test_tokenize_first },
                { "resize-first", test_resize_first },
                { "label-newline", test_label_newline },
                { "images", test_images },
                { "distance", test_distance } };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    for (guint k = 0; text_settings[k] != NULL; k++) {
      g_autofree char *path =
          g_strdup_printf ("/text/golden/%s/%s", tests[i].name, text_settings[k]);

      g_test_add_data_func (path, text_settings[k], tests[i].func);
    }
  g_test_add_func ("/text/golden/nostrip", test_nostrip);
  return g_test_run ();
}
