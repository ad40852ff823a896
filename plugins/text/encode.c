/* encode.c: text becomes tokens
 *
 * The order is that of Hugging Face's tokenizers: added tokens are cut out of the text as it is,
 * what is left is brought into NFC, those added tokens that want that are cut out of the result,
 * the patterns cut the rest into pieces, and each piece is merged. */
#include "encode.h"
#include <string.h>
#include "added.h"
#include "bpe.h"
#include "hr-error.h"
#include "nfc.h"
#include "pattern.h"

#define MOST_BYTES (1 << 30)

struct _HrEncoder {
  const HrVocab *vocab;
  HrAdded *raw;        /* value: index of vocab->added */
  HrAdded *normalized; /* the same */
  guint8 *refused;     /* by index */
  guint8 *is_media;
  HrMatcher **matchers; /* by pattern */
  guint n_matchers;
  HrBpe *bpe;
  GByteArray *nfc;
};

static void
add_tokens (HrEncoder *encoder, const HrEncodeRules *rules)
{
  const HrVocab *vocab = encoder->vocab;

  for (guint i = 0; i < vocab->added->len; i++) {
    const HrAddedToken *token = &g_array_index (vocab->added, HrAddedToken, i);
    gboolean is_media =
        rules->media_tokens != NULL && g_strv_contains (rules->media_tokens, token->content);
    HrInText rule = is_media ? rules->media : rules->specials;

    encoder->is_media[i] = is_media;
    encoder->refused[i] = rule == HR_IN_TEXT_ERROR;
    if (rule == HR_IN_TEXT_PLAIN)
      continue;
    if (!token->normalized) {
      hr_added_add (encoder->raw, token->content, i);
    } else if (!vocab->nfc) {
      hr_added_add (encoder->normalized, token->content, i);
    } else {
      g_autoptr (GByteArray) nfc = g_byte_array_new ();

      hr_nfc_append (nfc, (const guint8 *)token->content, strlen (token->content));
      g_byte_array_append (nfc, (const guint8 *)"", 1);
      hr_added_add (encoder->normalized, (const char *)nfc->data, i);
    }
  }
}

HrEncoder *
hr_encoder_new (const HrVocab *vocab, const HrEncodeRules *rules)
{
  HrEncoder *encoder = g_new0 (HrEncoder, 1);

  encoder->vocab = vocab;
  encoder->raw = hr_added_new ();
  encoder->normalized = hr_added_new ();
  encoder->refused = g_new0 (guint8, vocab->added->len + 1);
  encoder->is_media = g_new0 (guint8, vocab->added->len + 1);
  add_tokens (encoder, rules);
  encoder->n_matchers = vocab->patterns->len;
  encoder->matchers = g_new0 (HrMatcher *, encoder->n_matchers + 1);
  for (guint i = 0; i < encoder->n_matchers; i++)
    encoder->matchers[i] = hr_matcher_new (g_ptr_array_index (vocab->patterns, i));
  encoder->bpe = hr_bpe_new (vocab);
  encoder->nfc = g_byte_array_new ();
  return encoder;
}

void
hr_encoder_free (HrEncoder *encoder)
{
  if (encoder == NULL)
    return;
  hr_added_free (encoder->raw);
  hr_added_free (encoder->normalized);
  g_free (encoder->refused);
  g_free (encoder->is_media);
  for (guint i = 0; i < encoder->n_matchers; i++)
    hr_matcher_free (encoder->matchers[i]);
  g_free (encoder->matchers);
  hr_bpe_free (encoder->bpe);
  g_byte_array_unref (encoder->nfc);
  g_free (encoder);
}

const HrVocab *
hr_encoder_get_vocab (const HrEncoder *encoder)
{
  return encoder->vocab;
}

guint64
hr_encoder_get_steps (const HrEncoder *encoder)
{
  return hr_bpe_get_steps (encoder->bpe);
}

/* pattern after pattern, then the merges; @readable is behind the text that the piece is cut of */
static gboolean
encode_pieces (HrEncoder *encoder, guint pattern, const guint8 *text, gsize size,
               const guint8 *readable, HrIds *ids, GError **error)
{
  HrMatcher *matcher;
  const guint8 *p = text, *next;
  gboolean last = pattern + 1 == encoder->n_matchers;

  if (pattern == encoder->n_matchers) {
    hr_bpe_encode (encoder->bpe, text, size, readable, ids);
    return TRUE;
  }
  matcher = encoder->matchers[pattern];
  hr_matcher_begin (matcher, text, size);
  for (;;) {
    if (!hr_matcher_next (matcher, &next, error))
      return FALSE;
    if (next == NULL)
      return TRUE;
    if (last)
      hr_bpe_encode (encoder->bpe, p, next - p, readable, ids);
    else if (!encode_pieces (encoder, pattern + 1, p, next - p, readable, ids, error))
      return FALSE;
    p = next;
  }
}

static gboolean
append_added (HrEncoder *encoder, guint32 index, HrIds *ids, GError **error)
{
  const HrAddedToken *token = &g_array_index (encoder->vocab->added, HrAddedToken, index);

  if (!encoder->refused[index]) {
    hr_ids_append (ids, token->id);
    return TRUE;
  }
  if (encoder->is_media[index])
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_TOKEN_IN_TEXT,
                       "\"%s\" stands in the text and would be taken for media; "
                       "media-tokens-in-text=plain makes text of it",
                       token->content);
  else
    hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD,
                       "\"%s\" stands in the text, which specials-in-text=error refuses",
                       token->content);
  return FALSE;
}

typedef gboolean (*EncodeRest) (HrEncoder *encoder, const guint8 *text, gsize size, HrIds *ids,
                                GError **error);

/* cuts out what @added finds, and gives @rest what lies between */
static gboolean
split (HrEncoder *encoder, const HrAdded *added, EncodeRest rest, const guint8 *text, gsize size,
       HrIds *ids, GError **error)
{
  gsize at, length;
  guint32 index;

  if (hr_added_is_empty (added))
    return size == 0 || rest (encoder, text, size, ids, error);
  while (hr_added_find (added, text, size, &at, &length, &index)) {
    if (at > 0 && !rest (encoder, text, at, ids, error))
      return FALSE;
    if (!append_added (encoder, index, ids, error))
      return FALSE;
    text += at + length;
    size -= at + length;
  }
  return size == 0 || rest (encoder, text, size, ids, error);
}

static gboolean
encode_normalized (HrEncoder *encoder, const guint8 *text, gsize size, HrIds *ids, GError **error)
{
  return encode_pieces (encoder, 0, text, size, text + size, ids, error);
}

static gboolean
encode_raw (HrEncoder *encoder, const guint8 *text, gsize size, HrIds *ids, GError **error)
{
  if (encoder->vocab->nfc && !hr_nfc_is_certain (text, size)) {
    g_byte_array_set_size (encoder->nfc, 0);
    hr_nfc_append (encoder->nfc, text, size);
    text = encoder->nfc->data;
    size = encoder->nfc->len;
  }
  return split (encoder, encoder->normalized, encode_normalized, text, size, ids, error);
}

gboolean
hr_encoder_encode (HrEncoder *encoder, const char *text, gsize size, HrIds *ids, GError **error)
{
  if (size >= MOST_BYTES) {
    hr_set_data_error (error, HR_DATA_ERROR_OVERLONG, "a text of %" G_GSIZE_FORMAT " bytes", size);
    return FALSE;
  }
  if (!g_utf8_validate_len (text, size, NULL)) {
    /* g_utf8_validate_len() objects to NUL, which is a character like others here */
    for (gsize at = 0; at < size;) {
      const char *bad;

      if (g_utf8_validate_len (text + at, size - at, &bad))
        break;
      if (*bad != '\0') {
        hr_set_data_error (error, HR_DATA_ERROR_BAD_ENCODING,
                           "byte %" G_GSIZE_FORMAT " of a text is no UTF-8", (gsize)(bad - text));
        return FALSE;
      }
      at = bad - text + 1;
    }
  }
  hr_ids_reserve (ids, size);
  return split (encoder, encoder->raw, encode_raw, (const guint8 *)text, size, ids, error);
}
