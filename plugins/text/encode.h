/* encode.h: text becomes tokens: added tokens, NFC, pieces, merges */
#pragma once
#include "ids.h"
#include "vocab.h"

G_BEGIN_DECLS

/**
 * HrInText:
 * @HR_IN_TEXT_ENCODE: an added token that stands in a text is one
 * @HR_IN_TEXT_PLAIN: it is text like any other
 * @HR_IN_TEXT_ERROR: it is refused
 */
typedef enum { HR_IN_TEXT_ENCODE, HR_IN_TEXT_PLAIN, HR_IN_TEXT_ERROR } HrInText;

/**
 * HrEncodeRules:
 * @specials: what added tokens in a text are
 * @media: what those in @media_tokens are
 * @media_tokens: (nullable): those that stand for images and videos
 */
typedef struct {
  HrInText specials;
  HrInText media;
  const char *const *media_tokens;
} HrEncodeRules;

/* One worker's. */
typedef struct _HrEncoder HrEncoder;

HrEncoder *hr_encoder_new (const HrVocab *vocab, const HrEncodeRules *rules);
void hr_encoder_free (HrEncoder *encoder);
/* (transfer none) */
const HrVocab *hr_encoder_get_vocab (const HrEncoder *encoder);

/**
 * hr_encoder_encode:
 * @text: UTF-8
 * @size: its bytes, less than 1 GiB
 * @ids: where to append the tokens
 * @error: #HR_DATA_ERROR: MEDIA_TOKEN_IN_TEXT or BAD_RECORD for what the rules refuse;
 *   BAD_ENCODING; OTHER if the tokenizer's pattern gives up
 *
 * No tokens are put in front of or behind the text.
 */
gboolean hr_encoder_encode (HrEncoder *encoder, const char *text, gsize size, HrIds *ids,
                            GError **error);

/* as hr_bpe_get_steps() */
guint64 hr_encoder_get_steps (const HrEncoder *encoder);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrEncoder, hr_encoder_free)

G_END_DECLS
