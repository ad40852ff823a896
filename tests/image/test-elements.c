/* imagedecode and resize in pipelines: golden pixels, refusals with names, the decision about
 * sizes; serial, with 1 and with 4 workers */
#include <string.h>
#include "image-run.h"
#include "image-test.h"

/* Pillow clips 16-bit gray at 255; this is v >> 8, golden's hr_sane */
#define GRAY16_SHA "0f5c967b9dc3415c63d1ff86cefd11b007cc081712468c92f8fa6b3cf40f2c21"

static const char *const settings[] = { "serial=true", "workers=1", "workers=4" };

/* ---- golden ---- */

static GPtrArray *
golden_samples (JsonArray *images)
{
  GPtrArray *samples = g_ptr_array_new ();
  for (guint i = 0; i < json_array_get_length (images); i++)
    g_ptr_array_add (samples, sample_of (json_object_get_string_member (
                                             json_array_get_object_element (images, i), "file"),
                                         "golden", "images", NULL));
  return samples;
}

static void
test_golden_decoded (gconstpointer setting)
{
  g_autoptr (JsonNode) root = image_test_json ("golden/images.json");
  JsonArray *images = json_node_get_array (root);
  g_autoptr (GError) error = NULL;
  Run run = run_new (setting, "imagedecode on-error=skip WORKERS", golden_samples (images), &error);
  g_assert_no_error (error);
  gint64 last = -1;
  for (guint i = 0; i < run.out->len; i++) {
    gint64 sample = ((HrBuffer *)run.out->pdata[i])->sample;
    g_assert_cmpint (sample, >, last);
    last = sample;
  }
  g_assert_cmpuint (run.out->len, ==, 29);
  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *o = json_array_get_object_element (images, i);
    const char *name = json_object_get_string_member (o, "file");
    JsonObject *expected =
        json_object_get_object_member (json_object_get_object_member (o, "decode"), "hr_default");
    if (json_object_has_member (expected, "error")) {
      const HrMessage *message = find_skipped (&run, name);
      g_assert_nonnull (message);
      image_test_assert_kind (message->error, g_str_equal (name, "truncated.jpg")
                                                  ? "media-truncated"
                                                  : "media-undecodable");
      continue;
    }
    assert_pixels (find_image (&run, name, 0), json_object_get_array_member (expected, "hw"),
                   g_str_equal (name, "gray16.png")
                       ? GRAY16_SHA
                       : json_object_get_string_member (expected, "sha256"));
  }
  run_clear (&run);
}

static void
check_resized (const char *setting, const char *config, const char *bounds, const char *reference)
{
  g_autoptr (JsonNode) root = image_test_json ("golden/images.json");
  JsonArray *images = json_node_get_array (root);
  g_autofree char *elements =
      g_strdup_printf ("imagedecode on-error=skip WORKERS ! resize %s reference=%s on-error=skip "
                       "WORKERS",
                       bounds, reference);
  const char *member = g_str_equal (reference, "pillow") ? "pil" : "tv";
  g_autoptr (GError) error = NULL;
  Run run = run_new (setting, elements, golden_samples (images), &error);
  guint n = 0;
  g_assert_no_error (error);
  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *o = json_array_get_object_element (images, i);
    const char *name = json_object_get_string_member (o, "file");
    JsonObject *processor = json_object_has_member (o, "processor")
                                ? json_object_get_object_member (o, "processor")
                                : NULL;
    if (processor == NULL || !json_object_has_member (processor, config)
        || g_str_equal (name, "gray16.png"))
      continue;
    JsonObject *expected = json_object_get_object_member (processor, config);
    if (json_object_has_member (expected, "error")) {
      image_test_assert_kind (find_skipped (&run, name)->error, "aspect-ratio");
      continue;
    }
    assert_pixels (find_image (&run, name, 0),
                   json_object_get_array_member (expected, "resized_hw"),
                   json_object_get_string_member (json_object_get_object_member (expected, member),
                                                  "resized_sha256"));
    n++;
  }
  g_assert_cmpuint (n, >=, 26);
  run_clear (&run);
}

static void
test_golden_resized (gconstpointer setting)
{
  check_resized (setting, "default", "", "pillow");
  check_resized (setting, "cap256", "min-pixels=4096 max-pixels=262144", "pillow");
  check_resized (setting, "cap256", "min-pixels=4096 max-pixels=262144", "torchvision");
}

/* ---- cases ---- */

static void
check_case (const char *setting, const char *id, const char *elements, guint refused)
{
  g_autofree char *path = g_build_filename ("cases", id, "case.json", NULL);
  g_autoptr (JsonNode) root = image_test_json (path);
  JsonObject *expected = json_object_get_object_member (json_node_get_object (root), "expected");
  JsonArray *images = json_object_get_array_member (expected, "images");
  g_autoptr (GPtrArray) samples = g_ptr_array_new ();
  for (guint i = 0; i < json_array_get_length (images); i++)
    g_ptr_array_add (samples, sample_of (json_object_get_string_member (
                                             json_array_get_object_element (images, i), "file"),
                                         "cases", id, NULL));
  g_autoptr (GError) error = NULL;
  Run run = run_new (setting, elements, g_ptr_array_ref (samples), &error);
  g_assert_no_error (error);
  assert_case (&run, id, refused);
  run_clear (&run);
}

static void
test_cases (gconstpointer setting)
{
  static const char decode[] = "imagedecode on-error=skip WORKERS";
  check_case (setting, "04-aspect-over-200", "imagedecode WORKERS ! resize on-error=skip WORKERS",
              4);
  check_case (setting, "05-jpeg-truncated", decode, 8);
  check_case (setting, "06-exif-orientation", decode, 0);
  check_case (setting, "07-jpeg-cmyk", decode, 0);
  check_case (setting, "08-png-16-bit", decode, 0);
  check_case (setting, "09-alpha-on-white", decode, 0);
  check_case (setting, "10-png-bomb", decode, 3);
  check_case (setting, "23-first-frame", decode, 0);
  check_case (setting, "24-one-pixel", "imagedecode WORKERS ! resize WORKERS", 0);
}

/* ---- samples of several images, and of none ---- */

static void
test_several (gconstpointer setting)
{
  static const char *const names[] = { "cat_420.jpg", "rgba.png", "exif6.jpg", "lossy.webp",
                                       "two_frames.gif" };
  GPtrArray *samples = g_ptr_array_new ();
  HrBuffer *many = sample_new ("many"), *bad = sample_new ("bad");
  g_autoptr (GBytes) html = g_bytes_new_static ("<html>", 6);
  g_autoptr (GBytes) cut = g_bytes_new_static ("\xff\xd8\xff\xe0", 4);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GBytes) file = image_test_load ("golden", "images", names[i], NULL);
    sample_add (many, names[i], file);
    sample_add (bad, names[i], file);
    if (i == 2) { /* of two bad ones the first is told, whatever the workers do */
      sample_add (bad, "first.html", html);
      sample_add (bad, "second.jpg", cut);
    }
  }
  g_ptr_array_add (samples, many);
  g_ptr_array_add (samples, bad);
  g_ptr_array_add (samples, sample_new ("text"));
  g_autoptr (GError) error = NULL;
  Run run =
      run_new (setting, "imagedecode on-error=skip WORKERS ! resize WORKERS", samples, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (run.out->len, ==, 2);
  HrTensor *targets = hr_buffer_get_tensor (run.out->pdata[0], "image_targets");
  g_assert_cmpint (hr_tensor_get_shape (targets)[0], ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    HrTensor *image = find_image (&run, "many", i);
    const gint32 *target = (gint32 *)hr_tensor_get_data (targets) + 2 * i;
    g_assert_cmpint (hr_tensor_get_shape (image)[0], ==, target[0]);
    g_assert_cmpint (hr_tensor_get_shape (image)[1], ==, target[1]);
  }
  const HrMessage *message = find_skipped (&run, "bad");
  image_test_assert_kind (message->error, "media-undecodable");
  g_assert_nonnull (strstr (message->error->message, "first.html"));
  g_assert_nonnull (strstr (message->error->message, "imagedecode"));
  run_clear (&run);
}

/* ---- one decision, once ---- */

static HrTensor *
pairs_new (const gint32 *values, guint n)
{
  return hr_tensor_new (hr_memory_new_copy (values, n * 8), 0, HR_INT32, 2,
                        (const gint64[]){ n, 2 });
}

static void
test_targets (gconstpointer setting)
{
  static const gint32 decided[] = { 64, 96 }, sizes[] = { 100, 3200 };
  GPtrArray *samples = g_ptr_array_new ();
  /* decided before: obeyed, whatever the properties say */
  HrBuffer *first = sample_of ("cat_420.jpg", "golden", "images", NULL);
  hr_buffer_set_tensor (first, "image_targets", pairs_new (decided, 1));
  g_ptr_array_add (samples, first);
  /* sizes from the header count, not those of the pixels, which may have been decoded smaller */
  HrBuffer *second = sample_of ("cat_420.jpg", "golden", "images", NULL);
  hr_buffer_set_tensor (second, "image_sizes", pairs_new (sizes, 1));
  g_ptr_array_add (samples, second);
  g_autoptr (GError) error = NULL;
  Run run =
      run_new (setting, "imagedecode WORKERS ! resize max-pixels=150000 WORKERS ! resize WORKERS",
               samples, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (run.out->len, ==, 2);
  HrTensor *image = hr_list_get_tensor (hr_buffer_get_list (run.out->pdata[0], "images"), 0);
  g_assert_cmpint (hr_tensor_get_shape (image)[0], ==, 64);
  g_assert_cmpint (hr_tensor_get_shape (image)[1], ==, 96);
  image = hr_list_get_tensor (hr_buffer_get_list (run.out->pdata[1], "images"), 0);
  g_assert_cmpint (hr_tensor_get_shape (image)[0], ==, 64);
  g_assert_cmpint (hr_tensor_get_shape (image)[1], ==, 2176);
  run_clear (&run);
}

/* exact=false decodes less where the target is known, and the target is met all the same */
static void
test_inexact (gconstpointer setting)
{
  static const gint32 small[] = { 96, 128 };
  for (guint exact = 0; exact < 2; exact++) {
    GPtrArray *samples = g_ptr_array_new ();
    HrBuffer *sample = sample_of ("large_1600x1200.jpg", "golden", "images", NULL);
    hr_buffer_set_tensor (sample, "image_targets", pairs_new (small, 1));
    g_ptr_array_add (samples, sample);
    g_autoptr (GError) error = NULL;
    Run run = run_new (setting, exact ? "imagedecode WORKERS" : "imagedecode exact=false WORKERS",
                       samples, &error);
    g_assert_no_error (error);
    HrTensor *image = find_image (&run, "large_1600x1200.jpg", 0);
    g_assert_cmpint (hr_tensor_get_shape (image)[0], ==, exact ? 1200 : 150);
    g_assert_cmpint (hr_tensor_get_shape (image)[1], ==, exact ? 1600 : 200);
    run_clear (&run);
  }
}

/* An image whose shape resize refuses is not decoded before: this one cannot be, and is refused for
 * its shape all the same. Without known sizes, or with something in between, it is decoded first.
 */
static void
test_shape_first (void)
{
  static const gint32 size[] = { 9, 2048 };
  static const struct {
    const char *elements;
    gboolean known;
    HrDataError code;
  } chains[] = {
    { "imagedecode on-error=skip WORKERS ! resize on-error=skip WORKERS", TRUE,
      HR_DATA_ERROR_ASPECT_RATIO },
    { "imagedecode on-error=skip WORKERS ! resize on-error=skip WORKERS", FALSE,
      HR_DATA_ERROR_MEDIA_TRUNCATED },
    { "imagedecode on-error=skip WORKERS ! identity ! resize on-error=skip WORKERS", TRUE,
      HR_DATA_ERROR_MEDIA_TRUNCATED },
  };
  g_autoptr (GBytes) whole =
      image_test_load ("cases", "04-aspect-over-200", "wide-2048x9.png", NULL);
  g_autoptr (GBytes) cut = g_bytes_new_from_bytes (whole, 0, 60);

  for (guint i = 0; i < G_N_ELEMENTS (chains); i++) {
    GPtrArray *samples = g_ptr_array_new ();
    g_autoptr (GError) error = NULL;
    HrBuffer *sample = sample_new ("wide");
    Run run;

    sample_add (sample, "wide", cut);
    if (chains[i].known)
      hr_buffer_set_tensor (sample, "image_sizes", pairs_new (size, 1));
    g_ptr_array_add (samples, sample);
    run = run_new ("workers=2", chains[i].elements, samples, &error);
    g_assert_no_error (error);
    g_assert_nonnull (find_skipped (&run, "wide"));
    g_assert_error (find_skipped (&run, "wide")->error, HR_DATA_ERROR, (gint)chains[i].code);
    run_clear (&run);
  }
}

/* ---- properties ---- */

static void
test_properties (void)
{
  GPtrArray *samples = g_ptr_array_new ();
  g_ptr_array_add (samples, sample_of ("cat_420.jpg", "golden", "images", NULL));
  g_ptr_array_add (samples, sample_of ("exif6.jpg", "golden", "images", NULL));
  g_ptr_array_add (samples, sample_of ("tiny10.png", "golden", "images", NULL));
  g_autoptr (GError) error = NULL;
  Run run = run_new ("workers=2", "imagedecode pixel-limit=76799 exif=ignore on-error=skip WORKERS",
                     samples, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (run.out->len, ==, 1); /* the two of 320x240 are one pixel too large */
  g_assert_nonnull (strstr (find_skipped (&run, "cat_420.jpg")->error->message, "76799"));
  run_clear (&run);

  samples = g_ptr_array_new ();
  g_ptr_array_add (samples, sample_of ("exif6.jpg", "golden", "images", NULL));
  g_ptr_array_add (samples, sample_of ("truncated.jpg", "golden", "images", NULL));
  run = run_new ("workers=2", "imagedecode exif=ignore truncated=fill WORKERS", samples, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (run.out->len, ==, 2);
  g_autoptr (GBytes) file = image_test_load ("golden", "images", "exif6.jpg", NULL);
  HrImageHeader header;
  g_assert_true (hr_image_header_read (g_bytes_get_data (file, NULL), g_bytes_get_size (file),
                                       HR_IMAGE_PIXEL_LIMIT, &header, NULL));
  HrTensor *image = find_image (&run, "exif6.jpg", 0);
  g_assert_cmpint (hr_tensor_get_shape (image)[0], ==, header.height);
  g_assert_cmpint (hr_tensor_get_shape (image)[1], ==, header.width);
  run_clear (&run);

  /* without on-error=skip the first bad image ends the run */
  samples = g_ptr_array_new ();
  g_ptr_array_add (samples, sample_of ("truncated.jpg", "golden", "images", NULL));
  run = run_new ("workers=2", "imagedecode WORKERS", samples, &error);
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_TRUNCATED);
  g_assert_nonnull (strstr (error->message, "truncated.jpg"));
  g_clear_error (&error);
  run_clear (&run);

  g_assert_null (hr_parse_launch ("appsrc ! imagedecode ! resize min-pixels=9 max-pixels=8 ! "
                                  "fakesink",
                                  &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT);
}

/* who comes later may not decide otherwise */
static void
test_conflicts (void)
{
  static const char *const wrong[] = { "resize ! resize max-pixels=70000",
                                       "resize patch-size=14 ! identity ! resize patch-size=32",
                                       "resize ! resize smart-resize=qwen-vl-utils", NULL };
  static const char *const right[] = { "resize max-pixels=70000 ! resize",
                                       "resize max-pixels=70000 ! resize max-pixels=70000",
                                       "resize patch-size=14 ! resize patch-size=14", NULL };
  for (guint i = 0; wrong[i] != NULL; i++) {
    g_autofree char *text = g_strdup_printf ("appsrc ! imagedecode ! %s ! fakesink", wrong[i]);
    g_autoptr (GError) error = NULL;
    g_assert_null (hr_parse_launch (text, &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT);
    g_assert_nonnull (strstr (error->message, "\"resize\" before it decides the sizes"));
  }
  for (guint i = 0; right[i] != NULL; i++) {
    g_autofree char *text = g_strdup_printf ("appsrc ! imagedecode ! %s ! fakesink", right[i]);
    g_autoptr (GError) error = NULL;
    g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
    g_assert_no_error (error);
    g_assert_nonnull (pipeline);
  }
}

/* A size that is right already costs nothing: the same memory goes on. */
static void
test_pass_on (void)
{
  static const gint32 same[] = { 10, 10 };
  GPtrArray *samples = g_ptr_array_new ();
  HrBuffer *sample = sample_new ("pixels");
  HrMemory *memory = hr_memory_new (300);
  memset (memory->data, 5, 300);
  hr_list_append_tensor (hr_buffer_get_list (sample, "images"),
                         hr_tensor_new (memory, 0, HR_UINT8, 3, (const gint64[]){ 10, 10, 3 }));
  hr_buffer_set_tensor (sample, "image_targets", pairs_new (same, 1));
  g_ptr_array_add (samples, sample);
  g_autoptr (GError) error = NULL;
  Run run = run_new ("workers=2", "resize WORKERS", samples, &error);
  g_assert_no_error (error);
  g_assert_true (hr_tensor_get_memory (find_image (&run, "pixels", 0)) == memory);
  run_clear (&run);
}

/* what decides which image is started first: pixels, by the header or as decoded; 0: not known */
static void
test_costs (void)
{
  static const char *const names[] = { "imagedecode", "resize" };
  static const gint32 sizes[] = { 3, 5, 7, 2 };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GError) error = NULL;
    const HrElementDef *def = hr_registry_find (names[i], &error);
    g_assert_no_error (error);
    HrBuffer *sample = sample_new ("some");
    HrList *images = hr_buffer_get_list (sample, "images");
    g_assert_cmpuint (def->cost (NULL, sample, 0), ==, 0);
    hr_list_append_tensor (images, hr_tensor_new_bytes (hr_memory_new_copy ("not an image", 12)));
    g_assert_cmpuint (def->cost (NULL, sample, 0), ==, 0);
    hr_list_append_tensor (
        images, hr_tensor_new (hr_memory_new (132), 0, HR_UINT8, 3, (const gint64[]){ 4, 11, 3 }));
    g_assert_cmpuint (def->cost (NULL, sample, 1), ==, 44);
    hr_buffer_set_tensor (sample, "image_sizes", pairs_new (sizes, 2));
    g_assert_cmpuint (def->cost (NULL, sample, 0), ==, 15);
    g_assert_cmpuint (def->cost (NULL, sample, 1), ==, 14);
    g_assert_cmpuint (def->cost (NULL, sample, 2), ==, 0);
    hr_buffer_unref (sample);
  }
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    GTestDataFunc func;
  } tests[] = { { "golden-decoded", test_golden_decoded },
                { "golden-resized", test_golden_resized },
                { "cases", test_cases },
                { "several", test_several },
                { "targets", test_targets },
                { "inexact", test_inexact } };
  image_test_init (&argc, &argv);
  for (guint t = 0; t < G_N_ELEMENTS (tests); t++)
    for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
      g_autofree char *path = g_strdup_printf ("/image-elements/%s/%s", tests[t].name, settings[s]);
      g_test_add_data_func (path, settings[s], tests[t].func);
    }
  g_test_add_func ("/image-elements/properties", test_properties);
  g_test_add_func ("/image-elements/shape-first", test_shape_first);
  g_test_add_func ("/image-elements/pass-on", test_pass_on);
  g_test_add_func ("/image-elements/conflicts", test_conflicts);
  g_test_add_func ("/image-elements/costs", test_costs);
  return g_test_run ();
}
