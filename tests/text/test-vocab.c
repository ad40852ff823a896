/* loading vocabularies: what is understood, and what is refused by name */
#include <string.h>
#include "encode.h"
#include "hr-error.h"
#include "text-test.h"
#include "tiny.h"
#include "vocab-load.h"

static const char *const merges[] = { "a b", "ab c", "b c", NULL };

static HrVocab *
load (const Tiny *tiny, GError **error)
{
  g_autofree char *json = tiny_to_json (tiny);

  return hr_vocab_load_json (json, strlen (json), error);
}

/* "1 2 3"; (transfer full) */
static char *
encode (const HrVocab *vocab, const char *text)
{
  static const HrEncodeRules rules = { HR_IN_TEXT_ENCODE, HR_IN_TEXT_ENCODE, NULL };
  g_autoptr (HrEncoder) encoder = hr_encoder_new (vocab, &rules);
  g_autoptr (GError) error = NULL;
  GString *out = g_string_new (NULL);
  HrIds ids = { 0 };

  hr_encoder_encode (encoder, text, strlen (text), &ids, &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < ids.n; i++)
    g_string_append_printf (out, i > 0 ? " %u" : "%u", ids.data[i]);
  hr_ids_clear (&ids);
  return g_string_free (out, FALSE);
}

static void
assert_encodes (const Tiny *tiny, const char *text, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrVocab) vocab = load (tiny, &error);
  g_autofree char *got = NULL;

  g_assert_no_error (error);
  got = encode (vocab, text);
  g_assert_cmpstr (got, ==, expected);
}

static void
assert_refused (const Tiny *tiny, const char *pattern)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (load (tiny, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  if (!g_pattern_match_simple (pattern, error->message))
    g_error ("\"%s\" is not like \"%s\"", error->message, pattern);
}

static void
test_merges (void)
{
  Tiny tiny = { .merges = merges };

  /* the lowest rank first: "a b" before "b c" */
  assert_encodes (&tiny, "abc", "257");
  assert_encodes (&tiny, "bc", "258");
  assert_encodes (&tiny, "abbc", "256 258");
  assert_encodes (&tiny, "xabc", "120 257");
  tiny.old_merges = TRUE;
  assert_encodes (&tiny, "abcbc", "257 258");
}

/* A token that no merges lead to is no token, unless the model says that whole pieces count. */
static void
test_open_token (void)
{
  Tiny tiny = { .merges = merges, .vocab = "\"xyz\":300,\"abcd\":301" };

  assert_encodes (&tiny, "xyz", "120 121 122");
  assert_encodes (&tiny, "abcd", "257 100");
  tiny.model = "\"ignore_merges\":true";
  assert_encodes (&tiny, "xyz", "300");
  assert_encodes (&tiny, "abcd", "301");
  assert_encodes (&tiny, "abcdx", "257 100 120");
}

static void
test_normalizer (void)
{
  Tiny tiny = { .merges = merges };

  assert_encodes (&tiny, "e\u0301", "101 204 129");
  tiny.normalizer = "{\"type\":\"NFC\"}";
  assert_encodes (&tiny, "e\u0301", "195 169");
  tiny.normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}]}";
  assert_encodes (&tiny, "e\u0301", "195 169");
  tiny.normalizer = "{\"type\":\"Lowercase\"}";
  assert_refused (&tiny, "*normalizer \"Lowercase\"*");
  tiny.normalizer =
      "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"NFKC\"}]}";
  assert_refused (&tiny, "*normalizer \"NFKC\"*");
  tiny.normalizer = "\"NFC\"";
  assert_refused (&tiny, "*normalizer*");
}

#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"
#define SPLIT(pattern, rest)                                                                       \
  "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"Isolated\"" rest "}"
#define SEQUENCE(one) "{\"type\":\"Sequence\",\"pretokenizers\":[" one "," BYTE_LEVEL "]}"

static void
test_pre_tokenizer (void)
{
  Tiny tiny = { .merges = merges };

  /* nothing cuts: the whole text is one piece */
  assert_encodes (&tiny, "ab c", "256 32 99");
  tiny.pre_tokenizer = SEQUENCE (SPLIT ("{\"Regex\":\"b\"}", ",\"invert\":false"));
  assert_encodes (&tiny, "abc", "97 98 99");
  tiny.pre_tokenizer = SEQUENCE (SPLIT ("{\"String\":\".\"}", ""));
  assert_encodes (&tiny, "abc", "257");
  assert_encodes (&tiny, "a.bc", "97 46 258");
  /* one after the other */
  tiny.pre_tokenizer = "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT (
      "{\"Regex\":\"x+\"}", "") "," SPLIT ("{\"Regex\":\"a\"}", "") "," BYTE_LEVEL "]}";
  assert_encodes (&tiny, "abcxab", "97 258 120 97 98");
  /* GPT-2's own pattern */
  tiny.pre_tokenizer = "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}";
  assert_encodes (&tiny, "ab abc", "256 32 257");
}

static void
test_pre_tokenizer_refused (void)
{
  Tiny tiny = { .merges = merges };

  tiny.pre_tokenizer = "null";
  assert_refused (&tiny, "*no pre-tokenizer \"ByteLevel\"*");
  tiny.pre_tokenizer = "{\"type\":\"Metaspace\"}";
  assert_refused (&tiny, "*pre-tokenizer \"Metaspace\"*");
  tiny.pre_tokenizer = SEQUENCE ("{\"type\":\"Digits\",\"individual_digits\":true}");
  assert_refused (&tiny, "*pre-tokenizer \"Digits\"*");
  tiny.pre_tokenizer = SPLIT ("{\"Regex\":\"a\"}", "");
  assert_refused (&tiny, "*no pre-tokenizer \"ByteLevel\"*");
  tiny.pre_tokenizer = SEQUENCE (BYTE_LEVEL);
  assert_refused (&tiny, "*not the last one*");
  tiny.pre_tokenizer = "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}";
  assert_refused (&tiny, "*add_prefix_space*");
  tiny.pre_tokenizer = SEQUENCE (SPLIT ("{\"Regex\":\"a\"}", ",\"invert\":true"));
  assert_refused (&tiny, "*\"invert\"*");
  tiny.pre_tokenizer =
      SEQUENCE ("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Removed\"}");
  assert_refused (&tiny, "*behavior \"Removed\"*");
  tiny.pre_tokenizer = SEQUENCE (SPLIT ("{\"Regex\":\"a(\"}", ""));
  assert_refused (&tiny, "*pattern \"a(\"*offset*");
  tiny.pre_tokenizer = SEQUENCE (SPLIT ("7", ""));
  assert_refused (&tiny, "*no pattern*");
}

static void
test_model_refused (void)
{
  static const char *const rows[][2] = {
    { "\"type\":\"WordPiece\"", "*model is \"WordPiece\"*" },
    { "\"type\":\"Unigram\"", "*model is \"Unigram\"*" },
    { "\"dropout\":0.1", "*dropout 0.1*" },
    { "\"continuing_subword_prefix\":\"##\"", "*continuing_subword_prefix is \"##\"*" },
    { "\"end_of_word_suffix\":\"</w>\"", "*end_of_word_suffix is \"</w>\"*" },
    { "\"merges\":[[\"a\",\"q\"]]", "*merges?0?*" },
    { "\"merges\":[[\"a\"]]", "*merges?0? is no pair*" },
    { "\"merges\":[\"a b c\"]", "*merges?0? is no pair*" },
    { "\"merges\":{}", "*model.merges is no list*" },
    { "\"vocab\":[]", "*model.vocab is no object*" },
    { "\"vocab\":{\"a\":0}", "*merges?0?*" },
    { "\"vocab\":{\"a\":-1}", "*\"a\" has no id*" },
    { "\"vocab\":{\"a\":1,\"b\":1}", "*there twice*" },
    { "\"vocab\":{\"a\":99999999}", "*out of range*" },
    { "\"vocab\":{\"a\":0},\"merges\":[]", "*byte 0x00 has no token*" },
  };
  Tiny tiny = { .merges = merges };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    tiny.model = rows[i][0]; /* the last of equal names counts */
    assert_refused (&tiny, rows[i][1]);
  }
  tiny.model = "\"dropout\":null,\"unk_token\":null,\"byte_fallback\":false,\"fuse_unk\":false";
  assert_encodes (&tiny, "abc", "257");
}

static void
test_added (void)
{
  Tiny tiny = { .merges = merges,
                .normalizer = "{\"type\":\"NFC\"}",
                .added = "[{\"id\":259,\"content\":\"<a>\",\"special\":true},"
                         "{\"id\":260,\"content\":\"<a>>\"},"
                         "{\"id\":261,\"content\":\"\u00e9\",\"normalized\":true}]" };

  assert_encodes (&tiny, "ab<a>c", "256 259 99");
  assert_encodes (&tiny, "<a>>>", "260 62");
  /* looked for in the text after NFC */
  assert_encodes (&tiny, "xe\u0301x", "120 261 120");
  /* an added token without "normalized" is found before */
  assert_encodes (&tiny, "<a>\u0338", "259 204 184");
  tiny.added = "[{\"id\":1,\"content\":\"<a>\",\"lstrip\":true}]";
  assert_refused (&tiny, "*\"<a>\" has \"lstrip\"*");
  tiny.added = "[{\"id\":1,\"content\":\"<a>\",\"rstrip\":true}]";
  assert_refused (&tiny, "*\"<a>\" has \"rstrip\"*");
  tiny.added = "[{\"id\":1,\"content\":\"<a>\",\"single_word\":true}]";
  assert_refused (&tiny, "*\"<a>\" has \"single_word\"*");
  tiny.added = "[{\"content\":\"<a>\"}]";
  assert_refused (&tiny, "*no id*");
  /* the reference counts them itself */
  tiny.added = "[{\"id\":4000000000,\"content\":\"<a>\"}]";
  assert_refused (&tiny, "*\"<a>\" has the id 4000000000*give it 259*");
  tiny.added = "[{\"id\":259,\"content\":\"<a>\"},{\"id\":261,\"content\":\"<b>\"}]";
  assert_refused (&tiny, "*\"<b>\" has the id 261*give it 260*");
  tiny.added = "[{\"id\":260,\"content\":\"<a>\"},{\"id\":259,\"content\":\"<b>\"}]";
  assert_refused (&tiny, "*\"<a>\" has the id 260*give it 259*");
  /* one that the model has too */
  tiny.added = "[{\"id\":257,\"content\":\"abc\"},{\"id\":259,\"content\":\"<a>\"}]";
  assert_encodes (&tiny, "<a>xabc", "259 120 257");
  tiny.added = "{}";
  assert_refused (&tiny, "*added_tokens is no list*");
}

static void
test_not_json (void)
{
  static const char *const rows[][2] = {
    { "", "*not JSON*" },
    { "{", "*not JSON*" },
    { "[]", "*no object*" },
    { "{}", "*no \"model\"*" },
    { "{\"model\":7}", "*no \"model\"*" },
    { "{\"model\":{}}", "*model is*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (hr_vocab_load_json (rows[i][0], strlen (rows[i][0]), &error));
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
    g_assert_true (g_pattern_match_simple (rows[i][1], error->message));
  }
}

static void
test_lengths (void)
{
  Tiny tiny = { .merges = merges, .added = "[{\"id\":259,\"content\":\"<a>\"}]" };
  g_autoptr (GError) error = NULL;
  g_autoptr (HrVocab) vocab = load (&tiny, &error);
  guint32 size;

  g_assert_no_error (error);
  g_assert_cmpuint (hr_vocab_get_length (vocab, 257), ==, 3);
  g_assert_cmpuint (hr_vocab_get_length (vocab, 259), ==, 3);
  g_assert_cmpuint (hr_vocab_get_length (vocab, 260), ==, 0);
  g_assert_cmpuint (hr_vocab_get_length (vocab, 5000), ==, 0);
  g_assert_cmpmem (hr_vocab_get_bytes (vocab, 257, &size), 3, "abc", 3);
  g_assert_cmpuint (hr_vocab_find (vocab, (const guint8 *)"abc", 3), ==, 257);
  g_assert_cmpuint (hr_vocab_find (vocab, (const guint8 *)"abcd", 4), ==, HR_NO_TOKEN);
  g_assert_cmpuint (hr_vocab_find_added (vocab, "<a>"), ==, 259);
  g_assert_cmpuint (hr_vocab_find_added (vocab, "<b>"), ==, HR_NO_TOKEN);
}

/* ---- tiktoken ---- */

/* all bytes, then the tokens */
static char *
tiktoken (const char *const *tokens)
{
  GString *text = g_string_new (NULL);

  for (guint byte = 0; byte < 256; byte++) {
    guint8 one = (guint8)byte;
    g_autofree char *base64 = g_base64_encode (&one, 1);

    g_string_append_printf (text, "%s %u\n", base64, byte);
  }
  for (guint i = 0; tokens[i] != NULL; i++) {
    g_autofree char *base64 = g_base64_encode ((const guchar *)tokens[i], strlen (tokens[i]));

    g_string_append_printf (text, "%s %u\r\n", base64, 256 + i);
  }
  return g_string_free (text, FALSE);
}

static void
test_tiktoken (void)
{
  /* "abc" can be cut as "ab" "c" or as "a" "bc": tiktoken takes either */
  static const char *const tokens[] = { "bc", "abc", "xyz", NULL };
  static const char *const added[] = { "<one>", "<two>", NULL };
  g_autofree char *text = tiktoken (tokens);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrVocab) vocab =
      hr_vocab_load_tiktoken (text, strlen (text), HR_VOCAB_QWEN_PATTERN, added, &error);
  g_autofree char *ids = NULL;

  g_assert_no_error (error);
  ids = encode (vocab, "abc<two>aabc xyz xyzz");
  g_assert_cmpstr (ids, ==, "257 260 97 257 32 120 121 122 32 120 121 122 122");
  g_free (ids);
  ids = encode (vocab, "xyz");
  g_assert_cmpstr (ids, ==, "258");
}

static void
test_tiktoken_refused (void)
{
  static const char *const rows[][2] = {
    { "YQ==\n", "line 1 is not *" },
    { "YQ== 0\nYg== x\n", "line 2 is not *" },
    { "YQ== 0\nYg== 0\n", "line 2 *there twice*" },
    { " 0\n", "line 1 *" },
    { "YQ== 0\n\nYg== 1\n", "*byte 0x00 has no token*" },
    { "YQ== 4294967296\n", "line 1 is not *" },
    { "YQ== 99999999\n", "line 1 *out of range*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (hr_vocab_load_tiktoken (rows[i][0], strlen (rows[i][0]), HR_VOCAB_QWEN_PATTERN,
                                           NULL, &error));
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
    if (!g_pattern_match_simple (rows[i][1], error->message))
      g_error ("\"%s\" is not like \"%s\"", error->message, rows[i][1]);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/vocab/merges", test_merges);
  g_test_add_func ("/text/vocab/open-token", test_open_token);
  g_test_add_func ("/text/vocab/normalizer", test_normalizer);
  g_test_add_func ("/text/vocab/pre-tokenizer", test_pre_tokenizer);
  g_test_add_func ("/text/vocab/pre-tokenizer-refused", test_pre_tokenizer_refused);
  g_test_add_func ("/text/vocab/model-refused", test_model_refused);
  g_test_add_func ("/text/vocab/added", test_added);
  g_test_add_func ("/text/vocab/not-json", test_not_json);
  g_test_add_func ("/text/vocab/lengths", test_lengths);
  g_test_add_func ("/text/vocab/tiktoken", test_tiktoken);
  g_test_add_func ("/text/vocab/tiktoken-refused", test_tiktoken_refused);
  return g_test_run ();
}
