/* text to tokens: golden strings and corpus, added tokens, NFC between them, what a piece costs */
#include <malloc.h>
#include <string.h>
#include "hr-error.h"
#include "json-value.h"
#include "text-test.h"
#include "vocab-load.h"

static const HrEncodeRules all_tokens = { HR_IN_TEXT_ENCODE, HR_IN_TEXT_ENCODE, NULL };

static void
assert_ids (const HrIds *ids, JsonArray *expected, const char *text)
{
  gboolean same = ids->n == json_array_get_length (expected);

  for (gsize i = 0; same && i < ids->n; i++)
    same = ids->data[i] == json_array_get_int_element (expected, (guint)i);
  if (!same) {
    g_autofree char *shown = g_strescape (text, NULL);

    g_test_message ("\"%s\"", shown);
    for (gsize i = 0; i < ids->n; i++)
      g_test_message ("  %u", ids->data[i]);
    g_test_fail ();
  }
}

static HrEncoder *
encoder_new (const HrEncodeRules *rules)
{
  const HrVocab *vocab = text_test_vocab ();

  return vocab != NULL ? hr_encoder_new (vocab, rules) : NULL;
}

static void
encode (HrEncoder *encoder, const char *text, gsize size, HrIds *ids)
{
  g_autoptr (GError) error = NULL;

  ids->n = 0;
  hr_encoder_encode (encoder, text, size, ids, &error);
  g_assert_no_error (error);
}

static void
check_golden_strings (HrEncoder *encoder)
{
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *path = g_build_filename (HR_TEST_DATA, "golden", "tokenize.json", NULL);
  g_autofree char *file = NULL;
  gsize size;
  HrJson json = { 0 };
  guint n = 0;
  HrIds ids = { 0 };
  g_autoptr (GError) error = NULL;

  root = text_test_json ("golden/tokenize.json");
  g_file_get_contents (path, &file, &size, &error);
  g_assert_no_error (error);
  hr_json_scan (&json, file, size, 64, NULL, &error);
  g_assert_no_error (error);
  for (guint item = hr_json_first (&json, 0); item != 0; item = hr_json_next (&json, 0, item)) {
    gsize length;
    g_autofree char *text = hr_json_dup_string (&json, hr_json_get (&json, item, "text"), &length);
    JsonObject *row = json_array_get_object_element (json_node_get_array (root), n++);

    encode (encoder, text, length, &ids);
    assert_ids (&ids, json_object_get_array_member (row, "ids"), text);
    /* the second time the cache answers */
    encode (encoder, text, length, &ids);
    assert_ids (&ids, json_object_get_array_member (row, "ids"), text);
  }
  g_assert_cmpuint (n, ==, 353);
  hr_json_clear (&json);
  hr_ids_clear (&ids);
}

static void
test_golden_strings (void)
{
  g_autoptr (HrEncoder) encoder = encoder_new (&all_tokens);

  if (encoder != NULL)
    check_golden_strings (encoder);
}

static HrEncoder *
tiktoken_new (HrVocab **vocab)
{
  g_autoptr (GBytes) file = text_test_load_vocab ("qwen.tiktoken");
  g_auto (GStrv) added = g_strsplit (HR_VOCAB_QWEN_ADDED, ",", -1);
  g_autoptr (GError) error = NULL;

  if (file == NULL)
    return NULL;
  *vocab = hr_vocab_load_tiktoken (g_bytes_get_data (file, NULL), g_bytes_get_size (file),
                                   HR_VOCAB_QWEN_PATTERN, (const char *const *)added, &error);
  g_assert_no_error (error);
  return hr_encoder_new (*vocab, &all_tokens);
}

static void
test_golden_strings_tiktoken (void)
{
  g_autoptr (HrVocab) vocab = NULL;
  g_autoptr (HrEncoder) encoder = tiktoken_new (&vocab);

  if (encoder != NULL)
    check_golden_strings (encoder);
}

static void
check_corpus (HrEncoder *encoder)
{
  g_autoptr (TextArrays) arrays = text_arrays_load ("golden/tokenize_corpus.npz");
  const TextArray *text = text_arrays_get (arrays, "text");
  const TextArray *text_off = text_arrays_get (arrays, "text_off");
  const TextArray *expected = text_arrays_get (arrays, "ids");
  const TextArray *ids_off = text_arrays_get (arrays, "ids_off");
  HrIds ids = { 0 };
  gsize total = 0;

  g_assert_cmpuint (text_off->n, ==, 571);
  for (gsize i = 0; i + 1 < text_off->n; i++) {
    gsize begin = text_array_int (text_off, i), end = text_array_int (text_off, i + 1);
    gsize first = text_array_int (ids_off, i), behind = text_array_int (ids_off, i + 1);

    encode (encoder, (const char *)text->data + begin, end - begin, &ids);
    g_assert_cmpuint (ids.n, ==, behind - first);
    g_assert_cmpmem (ids.data, ids.n * 4, (const gint32 *)expected->data + first,
                     (behind - first) * 4);
    total += ids.n;
  }
  g_assert_cmpuint (total, >, 200000);
  hr_ids_clear (&ids);
}

static void
test_corpus (void)
{
  g_autoptr (HrEncoder) encoder = encoder_new (&all_tokens);

  if (encoder != NULL)
    check_corpus (encoder);
}

static void
test_corpus_tiktoken (void)
{
  g_autoptr (HrVocab) vocab = NULL;
  g_autoptr (HrEncoder) encoder = tiktoken_new (&vocab);

  if (encoder != NULL)
    check_corpus (encoder);
}

/* ---- what it costs ---- */

static guint64
steps_for (const char *unit, gsize bytes)
{
  g_autoptr (HrEncoder) encoder = encoder_new (&all_tokens);
  g_autoptr (GString) text = g_string_sized_new (bytes);
  HrIds ids = { 0 };

  while (text->len < bytes)
    g_string_append (text, unit);
  encode (encoder, text->str, text->len, &ids);
  hr_ids_clear (&ids);
  return hr_encoder_get_steps (encoder);
}

/* one piece of 1 MB costs less than 20 of 100 kB would */
static void
test_long_piece (void)
{
  static const char *const units[] = {
    "a", "ab", "thequickbrownfoxjumpsoverthelazydog", "中", "!", "\n", "\u0e01\u0e33", NULL
  };

  if (text_test_vocab () == NULL)
    return;
  for (guint i = 0; units[i] != NULL; i++) {
    guint64 small = steps_for (units[i], 100000), large = steps_for (units[i], 1000000);

    g_test_message ("\"%s\": %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT " steps", units[i],
                    small, large);
    g_assert_cmpuint (small, >, 0);
    g_assert_cmpuint (large, <, 20 * small);
    /* n log n, with some constant */
    g_assert_cmpuint (large, <, 1000000ull * 20 * 8);
  }
}

/* What is remembered of pieces has a fixed size: hundreds of thousands of different ones, short and
 * long, take no more memory than those before them. */
static void
test_cache_is_bounded (void)
{
  g_autoptr (HrEncoder) encoder = encoder_new (&all_tokens);
  HrIds ids = { 0 };
  gsize before = 0;

  if (encoder == NULL)
    return;
  for (guint i = 0; i < 300000; i++) {
    char piece[64];
    gint size = g_snprintf (piece, sizeof (piece), i % 2 == 0 ? "q%xz" : "zq%x%xthequickbrownfox",
                            i * 2654435761u, i);

    for (gint k = 0; k < size; k++) /* digits would be pieces of their own */
      if (g_ascii_isdigit (piece[k]))
        piece[k] = (char)('g' + piece[k] - '0');
    encode (encoder, piece, (gsize)size, &ids);
    if (i == 20000)
      before = mallinfo2 ().uordblks;
  }
  g_assert_cmpuint (mallinfo2 ().uordblks, <=, before + 64 * 1024);
  hr_ids_clear (&ids);
}

/* ---- rules ---- */

static void
test_rules (void)
{
  static const char *const media[] = { "<|image_pad|>", NULL };
  static const HrEncodeRules refuse = { HR_IN_TEXT_ENCODE, HR_IN_TEXT_ERROR, media };
  static const HrEncodeRules plain = { HR_IN_TEXT_PLAIN, HR_IN_TEXT_PLAIN, media };
  static const HrEncodeRules strict = { HR_IN_TEXT_ERROR, HR_IN_TEXT_PLAIN, media };
  static const char text[] = "a<|im_end|>b", pad[] = "<|image_pad|>";
  g_autoptr (HrEncoder) refusing = encoder_new (&refuse);
  g_autoptr (HrEncoder) plainly = encoder_new (&plain);
  g_autoptr (HrEncoder) strictly = encoder_new (&strict);
  g_autoptr (GError) error = NULL;
  HrIds ids = { 0 };

  if (refusing == NULL)
    return;
  encode (refusing, text, strlen (text), &ids);
  g_assert_cmpuint (ids.n, ==, 3);
  g_assert_cmpuint (ids.data[1], ==, 151645);
  g_assert_false (hr_encoder_encode (refusing, pad, strlen (pad), &ids, &error));
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_TOKEN_IN_TEXT);
  g_assert_nonnull (strstr (error->message, "<|image_pad|>"));
  g_clear_error (&error);

  encode (plainly, text, strlen (text), &ids);
  for (gsize i = 0; i < ids.n; i++)
    g_assert_cmpuint (ids.data[i], <, 151643);
  encode (plainly, pad, strlen (pad), &ids);
  for (gsize i = 0; i < ids.n; i++)
    g_assert_cmpuint (ids.data[i], <, 151643);

  encode (strictly, pad, strlen (pad), &ids);
  g_assert_cmpuint (ids.n, >, 1);
  g_assert_false (hr_encoder_encode (strictly, text, strlen (text), &ids, &error));
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD);
  g_assert_nonnull (strstr (error->message, "<|im_end|>"));
  hr_ids_clear (&ids);
}

/* each added token of the vocabulary, alone and between letters, under each rule */
static void
test_every_added_token (void)
{
  static const char *const media[] = { "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
                                       "<|image_pad|>",    "<|video_pad|>",  NULL };
  const HrVocab *vocab = text_test_vocab ();
  HrIds ids = { 0 };

  if (vocab == NULL)
    return;
  g_assert_cmpuint (vocab->added->len, ==, 26);
  for (HrInText rule = HR_IN_TEXT_ENCODE; rule <= HR_IN_TEXT_ERROR; rule++)
    for (HrInText media_rule = HR_IN_TEXT_ENCODE; media_rule <= HR_IN_TEXT_ERROR; media_rule++) {
      const HrEncodeRules rules = { rule, media_rule, media };
      g_autoptr (HrEncoder) encoder = hr_encoder_new (vocab, &rules);

      for (guint i = 0; i < vocab->added->len; i++) {
        const HrAddedToken *token = &g_array_index (vocab->added, HrAddedToken, i);
        gboolean is_media = g_strv_contains (media, token->content);
        HrInText holds = is_media ? media_rule : rule;
        g_autofree char *text = g_strdup_printf ("a%sb", token->content);
        g_autoptr (GError) error = NULL;
        gboolean good;

        g_assert_cmpuint (token->id, ==, 151643 + i);
        ids.n = 0;
        good = hr_encoder_encode (encoder, text, strlen (text), &ids, &error);
        if (holds == HR_IN_TEXT_ERROR) {
          g_assert_true (error->domain == HR_DATA_ERROR);
          g_assert_cmpint (error->code, ==,
                           is_media ? HR_DATA_ERROR_MEDIA_TOKEN_IN_TEXT : HR_DATA_ERROR_BAD_RECORD);
          g_assert_nonnull (strstr (error->message, token->content));
          continue;
        }
        g_assert_true (good);
        if (holds == HR_IN_TEXT_ENCODE) {
          g_assert_cmpuint (ids.n, ==, 3);
          g_assert_cmpuint (ids.data[1], ==, token->id);
        } else {
          g_assert_cmpuint (ids.n, >, 3);
          for (gsize k = 0; k < ids.n; k++)
            g_assert_cmpuint (ids.data[k], <, 151643);
        }
      }
    }
  hr_ids_clear (&ids);
}

static void
test_bad_encoding (void)
{
  static const char *const bad[] = { "ab\xff", "\xc3", "\xed\xa0\x80", "a\xf4\x90\x80\x80", NULL };
  g_autoptr (HrEncoder) encoder = encoder_new (&all_tokens);
  HrIds ids = { 0 };

  if (encoder == NULL)
    return;
  for (guint i = 0; bad[i] != NULL; i++) {
    g_autoptr (GError) error = NULL;

    g_assert_false (hr_encoder_encode (encoder, bad[i], strlen (bad[i]), &ids, &error));
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_ENCODING);
  }
  hr_ids_clear (&ids);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/encode/golden-strings", test_golden_strings);
  g_test_add_func ("/text/encode/golden-strings-tiktoken", test_golden_strings_tiktoken);
  g_test_add_func ("/text/encode/corpus", test_corpus);
  g_test_add_func ("/text/encode/corpus-tiktoken", test_corpus_tiktoken);
  g_test_add_func ("/text/encode/long-piece", test_long_piece);
  g_test_add_func ("/text/encode/cache-is-bounded", test_cache_is_bounded);
  g_test_add_func ("/text/encode/rules", test_rules);
  g_test_add_func ("/text/encode/every-added-token", test_every_added_token);
  g_test_add_func ("/text/encode/bad-encoding", test_bad_encoding);
  return g_test_run ();
}
