/* the element tokenize: properties, what it refuses, what it leaves alone */
#include <glib/gstdio.h>
#include <string.h>
#include "hr-harness.h"
#include "text-run.h"
#include "text-test.h"
#include "tiny.h"

#define CONVERSATIONS                                                                              \
  "filesrc location=RECORDS/conversations_qwen.jsonl ! jsonlparse media-base=GOLDEN/images ! "     \
  "imagefetch "

static void
test_types (gconstpointer setting)
{
  g_auto (TextRun) run = { NULL };
  HrBuffer *sample;
  HrTensor *positions;
  gint64 length;

  if (text_test_vocab () == NULL)
    return;
  run = text_run (setting, CONVERSATIONS
                  "! tokenize tokenizer=VOCAB ids=int32 position-rows=4 WORKERS ! appsink");
  g_assert_no_error (run.error);
  sample = text_run_find_id (&run, "vqa_first");
  length = hr_tensor_get_dim (hr_buffer_get_tensor (sample, "input_ids"), 0);
  for (guint i = 0; i < 4; i++) {
    static const char *const names[] = { "input_ids", "labels", "attention_mask",
                                         "mm_token_type_ids" };
    HrTensor *tensor = hr_buffer_get_tensor (sample, names[i]);

    g_assert_cmpstr (hr_tensor_get_dtype_name (tensor), ==, "int32");
    g_assert_cmpint (hr_tensor_get_dim (tensor, 0), ==, length);
    g_assert_cmpuint ((gsize)hr_tensor_get_data (tensor) % 64, ==, 0);
  }
  positions = hr_buffer_get_tensor (sample, "position_ids");
  g_assert_cmpint (hr_tensor_get_dim (positions, 0), ==, 4);
  for (gint64 i = 0; i < length; i++)
    g_assert_cmpint (text_tensor_int (positions, (gsize)i), ==, i);
  g_assert_cmpint (text_tensor_int (positions, (gsize)(2 * length - 1)), <, length - 1);
  g_assert_cmpstr (hr_tensor_get_dtype_name (hr_buffer_get_tensor (sample, "image_grid_thw")), ==,
                   "int64");
  g_assert_null (hr_buffer_get_json (sample, "conversation"));
}

/* no image code, no empty tensors */
static void
test_text_only (gconstpointer setting)
{
  g_auto (TextRun) run = { NULL };
  HrBuffer *sample;

  if (text_test_vocab () == NULL)
    return;
  run = text_run (
      setting, "filesrc location=CASES/01-label-assistant-word/a.jsonl ! jsonlparse ! imagefetch "
               "! tokenize tokenizer=VOCAB WORKERS ! imagedecode WORKERS ! resize WORKERS ! "
               "patchify WORKERS ! appsink");
  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, ==, 7);
  sample = run.samples->pdata[0];
  g_assert_nonnull (hr_buffer_get_tensor (sample, "input_ids"));
  g_assert_null (hr_buffer_get_tensor (sample, "image_grid_thw"));
  g_assert_null (hr_buffer_get_tensor (sample, "image_targets"));
  g_assert_null (hr_buffer_get_tensor (sample, "pixel_values"));
  g_assert_null (hr_buffer_get_list (sample, "images"));
}

/* Qwen2-VL and Qwen2.5-VL are properties away. 240 x 320 in multiples of 28: 252 x 308. */
static void
test_other_model (gconstpointer setting)
{
  g_auto (TextRun) run = { NULL };
  HrBuffer *sample;
  HrTensor *grid, *ids;
  gint64 pads = 0;

  if (text_test_vocab () == NULL)
    return;
  run = text_run (setting, CONVERSATIONS
                  "! tokenize tokenizer=VOCAB template=qwen2-vl patch-size=14 min-pixels=3136 "
                  "max-pixels=1003520 WORKERS ! imagedecode WORKERS ! resize WORKERS ! patchify "
                  "image-mean=0.48145466,0.4578275,0.40821073 "
                  "image-std=0.26862954,0.26130258,0.27577711 WORKERS ! appsink");
  g_assert_no_error (run.error);
  sample = text_run_find_id (&run, "vqa_first");
  grid = hr_buffer_get_tensor (sample, "image_grid_thw");
  g_assert_cmpint (text_tensor_int (grid, 0), ==, 1);
  g_assert_cmpint (text_tensor_int (grid, 1), ==, 18);
  g_assert_cmpint (text_tensor_int (grid, 2), ==, 22);
  ids = hr_buffer_get_tensor (sample, "input_ids");
  for (gsize i = 0; i < text_tensor_length (ids); i++)
    pads += text_tensor_int (ids, i) == 151655;
  g_assert_cmpint (pads, ==, 99);
  g_assert_cmpint (text_tensor_int (ids, 1), ==, 8948); /* "system" */
  g_assert_cmpint (hr_tensor_get_dim (hr_buffer_get_tensor (sample, "pixel_values"), 0), ==, 396);
  g_assert_cmpint (hr_tensor_get_dim (hr_buffer_get_tensor (sample, "pixel_values"), 1), ==, 1176);
}

static void
test_vision_id (gconstpointer setting)
{
  g_auto (TextRun) run = { NULL };
  HrTensor *ids;

  if (text_test_vocab () == NULL)
    return;
  run = text_run (setting,
                  CONVERSATIONS "! tokenize tokenizer=VOCAB add-vision-id=true WORKERS ! appsink");
  ids = hr_buffer_get_tensor (text_run_find_id (&run, "vqa_first"), "input_ids");
  /* <|im_start|> user \n Picture " " 1 : " " <|vision_start|> */
  g_assert_cmpint (text_tensor_int (ids, 3), ==, 24669);
  g_assert_cmpint (text_tensor_int (ids, 8), ==, 151652);
}

static gint64
count_decoded (const TextRun *run)
{
  JsonArray *elements =
      json_object_get_array_member (json_node_get_object (run->stats), "elements");

  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);

    if (g_str_equal (json_object_get_string_member (element, "factory"), "imagedecode"))
      return json_object_get_int_member (element, "images_decoded");
  }
  g_assert_not_reached ();
}

/* Images of samples that are left out, and those that are cut off, are not decoded. The two records
 * have 48 tokens with two images, 53 with one; the second image of the first ends at 37. */
static void
test_decodes (gconstpointer setting)
{
  static const struct {
    const char *what;
    gint64 decoded;
  } rows[] = { { "max-length=53", 3 },
               { "max-length=48", 2 },
               { "max-length=47", 0 },
               { "max-length=36 overlong=truncate-right", 1 },
               { "max-length=37 overlong=truncate-right", 2 },
               { "max-length=16 overlong=truncate-right", 0 },
               { "max-length=49 overlong=shrink", 3 },
               { "max-length=14 overlong=shrink", 0 },
               { "max-length=49 overlong=error on-error=skip", 2 } };

  for (guint i = 0; text_test_vocab () != NULL && i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *text =
        g_strdup_printf ("filesrc location=CASES/02-truncate-inside-image/a.jsonl ! jsonlparse ! "
                         "imagefetch ! tokenize tokenizer=VOCAB min-pixels=4096 max-pixels=262144 "
                         "%s WORKERS ! imagedecode WORKERS ! resize WORKERS ! appsink",
                         rows[i].what);
    g_auto (TextRun) run = text_run (setting, text);

    g_assert_no_error (run.error);
    if (count_decoded (&run) != rows[i].decoded)
      g_error ("%s: %d images were decoded, not %d", rows[i].what, (int)count_decoded (&run),
               (int)rows[i].decoded);
  }
}

/* What is left out is never decoded: the picture ends early, and nobody notices. */
static void
test_no_decode (void)
{
  static const char format[] =
      "filesrc location=%s/a.jsonl ! jsonlparse media-base=GOLDEN/images ! "
      "imagefetch ! tokenize tokenizer=VOCAB max-length=%d WORKERS ! "
      "imagedecode WORKERS ! resize WORKERS ! appsink";
  static const char record[] =
      "{\"image\":\"truncated.jpg\",\"conversations\":[{\"from\":\"human\",\"value\":\"<image>?\"},"
      "{\"from\":\"gpt\",\"value\":\"A.\"}]}\n";
  g_autofree char *folder = g_dir_make_tmp ("hr-text-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a.jsonl", NULL);
  g_autofree char *short_text = g_strdup_printf (format, folder, 20);
  g_autofree char *long_text = g_strdup_printf (format, folder, 2000);

  if (text_test_vocab () == NULL)
    return;
  g_assert_true (g_file_set_contents (path, record, -1, NULL));
  for (guint k = 0; text_settings[k] != NULL; k++) {
    g_auto (TextRun) run = text_run (text_settings[k], short_text);

    g_assert_no_error (run.error);
    g_assert_cmpint (text_run_count (&run, "dropped", "overlong"), ==, 1);
    text_run_clear (&run);
    run = text_run (text_settings[k], long_text);
    g_assert_error (run.error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_TRUNCATED);
  }
  g_unlink (path);
  g_rmdir (folder);
}

static void
test_no_label (void)
{
  static const char record[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":"
                               "\"assistant\",\"content\":\"b\","
                               "\"loss\":false}],\"id\":\"quiet\"}\n";
  g_autofree char *folder = g_dir_make_tmp ("hr-text-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a.jsonl", NULL);
  g_autofree char *text = g_strdup_printf (
      "filesrc location=%s ! jsonlparse ! tokenize tokenizer=VOCAB ! appsink", path);
  g_auto (TextRun) run = { NULL };

  if (text_test_vocab () == NULL)
    return;
  g_assert_true (g_file_set_contents (path, record, -1, NULL));
  run = text_run ("serial=true", text);
  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, ==, 0);
  g_assert_cmpuint (run.dropped->len, ==, 1);
  g_assert_cmpint (text_run_count (&run, "dropped", "no-label"), ==, 1);
  g_assert_nonnull (strstr (((HrMessage *)run.dropped->pdata[0])->error->message, "quiet"));
  g_unlink (path);
  g_rmdir (folder);
}

static HrTensor *
ids_of_only (const TextRun *run)
{
  g_assert_no_error (run->error);
  g_assert_cmpuint (run->samples->len, ==, 1);
  return hr_buffer_get_tensor (run->samples->pdata[0], "input_ids");
}

/* a system turn in the middle: dropped as the Instruct template does, shown by Qwen2-VL's, refused
 */
static void
test_late_system (void)
{
#define TURNS(more)                                                                                \
  "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}," more                                     \
  "{\"role\":\"assistant\",\"content\":\"b\"}]}\n"
  static const char late[] = TURNS ("{\"role\":\"system\",\"content\":\"c\"},");
  static const char without[] = TURNS ("");
#undef TURNS
  g_autofree char *folder = g_dir_make_tmp ("hr-text-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a.jsonl", NULL);
  g_autofree char *other = g_build_filename (folder, "b.jsonl", NULL);
  g_autofree char *drop = g_strdup_printf (
      "filesrc location=%s ! jsonlparse late-system=drop ! tokenize tokenizer=VOCAB ! appsink",
      path);
  g_autofree char *plain = g_strdup_printf (
      "filesrc location=%s ! jsonlparse ! tokenize tokenizer=VOCAB ! appsink", other);
  g_autofree char *keep = g_strdup_printf (
      "filesrc location=%s ! jsonlparse late-system=keep ! tokenize tokenizer=VOCAB ! appsink",
      path);
  g_autofree char *shown = g_strdup_printf ("filesrc location=%s ! jsonlparse late-system=keep ! "
                                            "tokenize template=qwen2-vl tokenizer=VOCAB ! appsink",
                                            path);
  g_autofree gpointer bare = NULL;
  g_auto (TextRun) run = { NULL };
  gint n_systems = 0;
  gsize size;

  if (text_test_vocab () == NULL)
    return;
  g_assert_true (g_file_set_contents (path, late, -1, NULL));
  g_assert_true (g_file_set_contents (other, without, -1, NULL));
  run = text_run ("serial=true", plain);
  size = hr_tensor_get_n_bytes (ids_of_only (&run));
  bare = g_memdup2 (hr_tensor_get_data (ids_of_only (&run)), size);
  text_run_clear (&run);
  run = text_run ("serial=true", drop);
  g_assert_cmpmem (hr_tensor_get_data (ids_of_only (&run)),
                   hr_tensor_get_n_bytes (ids_of_only (&run)), bare, size);
  text_run_clear (&run);
  run = text_run ("serial=true", keep);
  g_assert_error (run.error, HR_DATA_ERROR, HR_DATA_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (run.error->message, "turn 1 is a system turn"));
  text_run_clear (&run);
  run = text_run ("serial=true", shown);
  for (gsize i = 0; i < text_tensor_length (ids_of_only (&run)); i++)
    n_systems += text_tensor_int (ids_of_only (&run), i) == 8948;
  g_assert_cmpint (n_systems, ==, 2); /* the template's own, and the late one */
  g_unlink (path);
  g_unlink (other);
  g_rmdir (folder);
}

/* ---- what is refused ---- */

static void
test_parse_errors (void)
{
  static const struct {
    const char *text;
    HrParseError code;
    const char *pattern;
  } rows[] = {
    { "tokenize", HR_PARSE_ERROR_REQUIRED, "*\"tokenizer\"*" },
    { "tokenize tokenizer=x overlong=shrink", HR_PARSE_ERROR_CONFLICT, "*max-length*not set*" },
    { "tokenize tokenizer=x.json pattern=.", HR_PARSE_ERROR_CONFLICT,
      "*pattern is for a *.tiktoken*tokenizer=x.json*" },
    { "tokenize tokenizer=x.json added-tokens=a,b", HR_PARSE_ERROR_CONFLICT,
      "*added-tokens is for a *.tiktoken*" },
    { "tokenize tokenizer=x min-pixels=9 max-pixels=8", HR_PARSE_ERROR_CONFLICT, "*min-pixels=9*" },
    { "imagefetch ! imagedecode ! resize ! tokenize tokenizer=x max-length=9 overlong=shrink",
      HR_PARSE_ERROR_CONFLICT,
      "*\"resize\" before it*jsonlparse ! imagefetch ! tokenize ! imagedecode ! resize ! batch ! "
      "prefetchqueue ! patchify*" },
    { "imagefetch ! tokenize tokenizer=x ! imagedecode ! resize max-pixels=70000",
      HR_PARSE_ERROR_CONFLICT, "*max-pixels=70000*\"tokenize\" before it*max-pixels=16777216*" },
    { "imagefetch ! tokenize tokenizer=x ! batch ! prefetchqueue ! imagedecode ! resize",
      HR_PARSE_ERROR_CONFLICT, "*behind a batch of lists*\"tokenize\"*mode=padded*" },
    { "imagefetch ! imagedecode ! resize patch-size=14 ! tokenize tokenizer=x patch-size=32",
      HR_PARSE_ERROR_CONFLICT, "*patch-size=32*\"resize\" before it*patch-size=14*" },
    { "imagefetch ! imagedecode ! resize patch-size=14 ! patchify patch-size=32",
      HR_PARSE_ERROR_CONFLICT, "*patch-size=32*\"resize\" before it*patch-size=14*" },
    /* set to its default, and yet it differs from what was decided */
    { "imagefetch ! tokenize tokenizer=x max-pixels=70000 ! imagedecode ! resize "
      "max-pixels=16777216",
      HR_PARSE_ERROR_CONFLICT, "*max-pixels=16777216*\"tokenize\" before it*max-pixels=70000*" },
    { "imagefetch ! imagedecode ! resize smart-resize=qwen-vl-utils ! tokenize tokenizer=x "
      "smart-resize=hf",
      HR_PARSE_ERROR_CONFLICT, "*smart-resize=hf*smart-resize=qwen-vl-utils*" },
    { "imagefetch ! imagedecode ! resize patch-size=14 ! patchify patch-size=16",
      HR_PARSE_ERROR_CONFLICT, "*patch-size=16*\"resize\" before it*patch-size=14*" },
    { "imagefetch ! imagedecode ! resize ! patchify dtype=uint8 image-mean=1,1,1",
      HR_PARSE_ERROR_CONFLICT, "*image-mean does nothing with dtype=uint8*" },
    { "imagefetch ! imagedecode ! resize ! patchify dtype=uint8 normalize=torchvision",
      HR_PARSE_ERROR_CONFLICT, "*normalize does nothing with dtype=uint8*" },
    { "imagefetch ! imagedecode ! resize ! patchify image-mean=1,2", HR_PARSE_ERROR_BAD_VALUE,
      "*image-mean wants three numbers*" },
    { "imagefetch ! imagedecode ! resize ! patchify image-std=1,x,2", HR_PARSE_ERROR_BAD_VALUE,
      "*image-std wants three numbers*" },
    { "imagefetch ! imagedecode ! resize ! patchify image-std=1,0,2", HR_PARSE_ERROR_OUT_OF_RANGE,
      "*image-std*greater than 0*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *text =
        g_strdup_printf ("filesrc location=x ! jsonlparse ! %s ! fakesink", rows[i].text);
    g_autoptr (GError) error = NULL;

    g_assert_null (hr_parse_launch (text, &error));
    g_assert_error (error, HR_PARSE_ERROR, (gint)rows[i].code);
    if (!g_pattern_match_simple (rows[i].pattern, error->message))
      g_error ("\"%s\" is not like \"%s\"", error->message, rows[i].pattern);
  }
}

/* the same, set once more further down, or not set there at all */
static void
test_no_conflict (void)
{
  static const char *const texts[] = {
    "tokenize tokenizer=x max-pixels=70000 ! imagedecode ! resize max-pixels=70000",
    "tokenize tokenizer=x max-pixels=70000 ! imagedecode ! resize ! patchify",
    "tokenize tokenizer=x max-pixels=16777216 ! imagedecode ! resize max-pixels=16777216"
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autofree char *text =
        g_strdup_printf ("filesrc location=x ! jsonlparse ! imagefetch ! %s ! fakesink", texts[i]);
    g_autoptr (GError) error = NULL;
    g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error), again = NULL;
    g_autofree char *canonical = NULL;

    g_assert_no_error (error);
    canonical = hr_pipeline_to_string (pipeline);
    again = hr_parse_launch (canonical, &error);
    g_assert_no_error (error);
  }
}

static void
assert_start_fails (const char *tokenizer, gint code, const char *pattern)
{
  g_autofree char *text = g_strdup_printf ("appsrc ! tokenize tokenizer=%s ! fakesink", tokenizer);
  g_autoptr (HrPipeline) pipeline = NULL;
  g_autoptr (GError) error = NULL;

  pipeline = hr_parse_launch (text, &error);
  g_assert_no_error (error);
  g_assert_false (hr_pipeline_start (pipeline, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, code);
  if (!g_pattern_match_simple (pattern, error->message))
    g_error ("\"%s\" is not like \"%s\"", error->message, pattern);
}

static void
test_bad_tokenizer (void)
{
  static const Tiny tiny = { 0 }, lower = { .normalizer = "{\"type\":\"Lowercase\"}" };
  g_autofree char *folder = g_dir_make_tmp ("hr-text-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "tokenizer.json", NULL);
  g_autofree char *bare = tiny_to_json (&tiny), *other = tiny_to_json (&lower);
  g_autofree char *tiktoken = g_build_filename (folder, "x.tiktoken", NULL);

  assert_start_fails (path, HR_RESOURCE_ERROR_NOT_FOUND, "*tokenizer.json*");
  g_assert_true (g_file_set_contents (path, bare, -1, NULL));
  assert_start_fails (path, HR_RESOURCE_ERROR_FAILED, "*tokenizer.json: *\"<|im_start|>\"*");
  g_assert_true (g_file_set_contents (path, other, -1, NULL));
  assert_start_fails (path, HR_RESOURCE_ERROR_FAILED, "*tokenizer.json: *\"Lowercase\"*");
  g_assert_true (g_file_set_contents (path, "hello", -1, NULL));
  assert_start_fails (path, HR_RESOURCE_ERROR_FAILED, "*tokenizer.json: *not JSON*");
  g_assert_true (g_file_set_contents (tiktoken, "YQ==\n", -1, NULL));
  assert_start_fails (tiktoken, HR_RESOURCE_ERROR_FAILED, "*x.tiktoken: line 1*");
  g_unlink (path);
  g_unlink (tiktoken);
  g_rmdir (folder);
}

/* what another element or a program did wrong ends the run, with what to do */
static void
push_and_fail (HrBuffer *sample, const char *pattern)
{
  g_autofree char *vocab = text_test_vocab_path ("tokenizer.json");
  g_autofree char *element = g_strdup_printf ("tokenize tokenizer=%s", vocab);
  HrHarness *harness = hr_harness_new (element, 2);

  hr_harness_push (harness, sample);
  hr_harness_expect_error (harness, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, pattern);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static HrBuffer *
sample_with_image (const gint32 *target)
{
  static const char text[] = "{\"turns\":[{\"role\":\"user\",\"parts\":[{\"image\":0}]},{\"role\":"
                             "\"assistant\",\"parts\":[{\"text\":\"a\"}]}]}";
  HrBuffer *sample = hr_buffer_new ();
  HrList *images = hr_list_new (1);
  HrMemory *memory = hr_memory_new (8);

  hr_buffer_set_json (sample, "conversation", json_from_string (text, NULL));
  hr_list_append_string (images, "cat.jpg");
  hr_buffer_set_list (sample, "images", images);
  if (target != NULL)
    memcpy (memory->data, target, 8);
  if (target != NULL)
    hr_buffer_set_tensor (sample, "image_targets",
                          hr_tensor_new (memory, 0, HR_INT32, 2, (const gint64[]){ 1, 2 }));
  else
    hr_memory_unref (memory);
  return sample;
}

static void
test_wrong_place (void)
{
  static const gint32 odd[] = { 64, 60 };

  if (text_test_vocab () == NULL)
    return;
  push_and_fail (hr_buffer_new (), "*no conversation: jsonlparse*");
  push_and_fail (sample_with_image (NULL), "*no size yet: imagefetch*");
  push_and_fail (sample_with_image (odd), "*60 pixels*no multiple*32*");
}

/* a program's own sample, with a size that was decided: obeyed */
static void
test_obeys_targets (void)
{
  static const gint32 target[] = { 64, 96 };
  g_autofree char *vocab = text_test_vocab_path ("tokenizer.json"), *element = NULL;
  g_autoptr (HrBuffer) got = NULL;
  HrHarness *harness;

  if (vocab == NULL)
    return;
  element = g_strdup_printf ("tokenize tokenizer=%s max-pixels=100000", vocab);
  harness = hr_harness_new (element, 1);
  hr_harness_push (harness, sample_with_image (target));
  hr_harness_end (harness);
  got = hr_harness_pull (harness);
  g_assert_cmpint (text_tensor_int (hr_buffer_get_tensor (got, "image_grid_thw"), 1), ==, 4);
  g_assert_cmpint (text_tensor_int (hr_buffer_get_tensor (got, "image_grid_thw"), 2), ==, 6);
  g_clear_pointer (&got, hr_buffer_unref);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_examples (void)
{
  static const char records[] = "{\"image\":\"a.png\",\"conversations\":[{\"from\":\"human\","
                                "\"value\":\"<image>What is it?\"},"
                                "{\"from\":\"gpt\",\"value\":\"A cat.\"}]}\n";
  static const Tiny tiny = { .added = "[{\"id\":256,\"content\":\"<|im_start|>\"},"
                                      "{\"id\":257,\"content\":\"<|im_end|>\"},"
                                      "{\"id\":258,\"content\":\"<|vision_start|>\"},"
                                      "{\"id\":259,\"content\":\"<|vision_end|>\"},"
                                      "{\"id\":260,\"content\":\"<|image_pad|>\"}]" };
  g_autofree char *folder = g_dir_make_tmp ("hr-text-XXXXXX", NULL), *here = g_get_current_dir ();
  g_autofree char *json = tiny_to_json (&tiny), *image = NULL;
  gsize size;

  g_assert_true (
      g_file_get_contents (HR_TEST_DATA "/golden/images/tiny10.png", &image, &size, NULL));
  g_assert_cmpint (g_chdir (folder), ==, 0);
  g_assert_true (g_file_set_contents ("train.jsonl", records, -1, NULL));
  g_assert_true (g_file_set_contents ("tokenizer.json", json, -1, NULL));
  g_assert_true (g_file_set_contents ("a.png", image, (gssize)size, NULL));
  hr_harness_run_examples ("tokenize");
  hr_harness_run_examples ("patchify");
  hr_harness_run_examples ("batch");
  g_unlink ("train.jsonl");
  g_unlink ("tokenizer.json");
  g_unlink ("a.png");
  g_assert_cmpint (g_chdir (here), ==, 0);
  g_rmdir (folder);
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    GTestDataFunc func;
  } tests[] = { { "types", test_types },
                { "text-only", test_text_only },
                { "other-model", test_other_model },
                { "vision-id", test_vision_id },
                { "decodes", test_decodes } };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    for (guint k = 0; text_settings[k] != NULL; k++) {
      g_autofree char *path =
          g_strdup_printf ("/text/tokenize/%s/%s", tests[i].name, text_settings[k]);

      g_test_add_data_func (path, text_settings[k], tests[i].func);
    }
  g_test_add_func ("/text/tokenize/no-decode", test_no_decode);
  g_test_add_func ("/text/tokenize/no-label", test_no_label);
  g_test_add_func ("/text/tokenize/late-system", test_late_system);
  g_test_add_func ("/text/tokenize/parse-errors", test_parse_errors);
  g_test_add_func ("/text/tokenize/no-conflict", test_no_conflict);
  g_test_add_func ("/text/tokenize/bad-tokenizer", test_bad_tokenizer);
  g_test_add_func ("/text/tokenize/wrong-place", test_wrong_place);
  g_test_add_func ("/text/tokenize/obeys-targets", test_obeys_targets);
  g_test_add_func ("/text/tokenize/examples", test_examples);
  return g_test_run ();
}
