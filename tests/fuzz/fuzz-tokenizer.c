/* fuzz-tokenizer.c: a tokenizer.json from a stranger; if it loads, it encodes */
#include <string.h>
#include "encode.h"
#include "hr-error.h"
#include "vocab-load.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
try_out (const HrVocab *vocab)
{
  static const HrEncodeRules rules = { HR_IN_TEXT_ENCODE, HR_IN_TEXT_ENCODE, NULL };
  static const char text[] = "abc <|im_end|> e\xcc\x81 12 \xe4\xb8\xad\n\nabcabc";
  g_autoptr (HrEncoder) encoder = hr_encoder_new (vocab, &rules);
  g_autoptr (GError) error = NULL;
  HrIds ids = { 0 };

  if (hr_encoder_encode (encoder, text, strlen (text), &ids, &error))
    for (gsize i = 0; i < ids.n; i++)
      g_assert_cmpuint (ids.data[i], <, vocab->n_ids);
  else
    g_assert_nonnull (error);
  hr_ids_clear (&ids);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const char *const added[] = { "<|im_end|>", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (HrVocab) vocab = NULL;

  /* the first byte chooses the kind of file */
  if (size == 0)
    return 0;
  if (data[0] & 1)
    vocab = hr_vocab_load_tiktoken ((const char *)data + 1, size - 1, HR_VOCAB_QWEN_PATTERN, added,
                                    &error);
  else
    vocab = hr_vocab_load_json ((const char *)data + 1, size - 1, &error);
  if (vocab != NULL)
    try_out (vocab);
  else
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  return 0;
}
