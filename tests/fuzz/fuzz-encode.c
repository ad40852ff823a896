/* fuzz-encode.c: a text from a stranger: pieces, NFC, merges; no byte may get lost */
#include <string.h>
#include "encode.h"
#include "hr-error.h"
#include "nfc.h"
#include "scanner.h"
#include "tiny.h"
#include "vocab-load.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static HrVocab *
make_vocab (const char *normalizer)
{
  static const char *const merges[] = { "a b",   "ab c",          "b c", "e r",   "i n", "in g",
                                        "\n \n", "\xe4\xb8 \xad", "a a", "aa aa", "1 2", NULL };
  Tiny tiny = {
    .merges = merges,
    .normalizer = normalizer,
    .vocab = "\"\xc3\xa4\xc2\xb8\":600", /* half of a character */
    .pre_tokenizer =
        "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"
        "\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| "
        "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},"
        "\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
        "\"use_regex\":false}]}",
    .added = "[{\"id\":500,\"content\":\"<|x|>\"},{\"id\":501,\"content\":\"<|x|>>\"}]"
  };
  g_autofree char *json = NULL;
  g_autoptr (GError) error = NULL;
  HrVocab *vocab;

  json = tiny_to_json (&tiny);
  vocab = hr_vocab_load_json (json, strlen (json), &error);
  g_assert_no_error (error);
  return vocab;
}

/* the tokens' bytes, one after the other, are the text */
static void
check_whole (const HrVocab *vocab, const HrIds *ids, const guint8 *text, gsize size)
{
  gsize at = 0;

  for (gsize i = 0; i < ids->n; i++) {
    guint32 length;
    const guint8 *bytes = hr_vocab_get_bytes (vocab, ids->data[i], &length);

    g_assert_nonnull (bytes);
    g_assert_true (length <= size - at && memcmp (text + at, bytes, length) == 0);
    at += length;
  }
  g_assert_cmpuint (at, ==, size);
}

static void
check_pieces (const guint8 *text, gsize size, guint digits)
{
  HrScanner scanner = { digits };
  const guint8 *p = text, *end = text + size;

  while (p < end) {
    const guint8 *next = hr_scanner_next (&scanner, p, end);

    g_assert_true (next > p && next <= end);
    p = next;
  }
}

/* NFC of NFC is NFC */
static void
check_nfc (const guint8 *text, gsize size)
{
  g_autoptr (GByteArray) once = g_byte_array_new (), twice = g_byte_array_new ();

  hr_nfc_append (once, text, size);
  if (hr_nfc_is_certain (text, size))
    g_assert_cmpmem (once->data, once->len, text, size);
  hr_nfc_append (twice, once->data, once->len);
  g_assert_cmpmem (twice->data, twice->len, once->data, once->len);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const HrEncodeRules all = { HR_IN_TEXT_ENCODE, HR_IN_TEXT_ENCODE, NULL };
  static const HrEncodeRules plain = { HR_IN_TEXT_PLAIN, HR_IN_TEXT_PLAIN, NULL };
  static HrVocab *raw, *nfc;
  static HrEncoder *encoders[3];
  g_autoptr (GError) error = NULL;
  HrIds ids = { 0 };
  guint which;

  if (raw == NULL) {
    raw = make_vocab ("null");
    nfc = make_vocab ("{\"type\":\"NFC\"}");
    encoders[0] = hr_encoder_new (raw, &all);
    encoders[1] = hr_encoder_new (raw, &plain);
    encoders[2] = hr_encoder_new (nfc, &all);
  }
  if (size == 0)
    return 0;
  which = data[0] % 3;
  data++;
  size--;
  check_pieces (data, size, which == 0 ? 3 : 1);
  if (hr_encoder_encode (encoders[which], (const char *)data, size, &ids, &error)) {
    check_nfc (data, size);
    if (which < 2)
      check_whole (raw, &ids, data, size);
  } else {
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_BAD_ENCODING);
  }
  hr_ids_clear (&ids);
  return 0;
}
