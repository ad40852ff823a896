/* vocab-json.c: vocabularies from tokenizer.json */
#include <string.h>
#include "hr-error.h"
#include "json-value.h"
#include "pattern.h"
#include "vocab-load.h"

#define MOST_DEPTH 64

typedef struct {
  HrJson json;
  HrVocab *vocab;
  GError **error;
  guint32 n_tokens;   /* of the model */
  guint32 end;        /* its greatest id + 1 */
  guint32 next_added; /* greatest id of an added token + 1 */
} Loader;

static gboolean fail (Loader *loader, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
fail (Loader *loader, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (loader->error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, message);
  return FALSE;
}

/* ---- looking at values ---- */

static guint
get (const Loader *loader, guint object, const char *name)
{
  return hr_json_get (&loader->json, object, name);
}

static gboolean
is_type (const Loader *loader, guint value, HrJsonType type)
{
  return value != 0 && hr_json_type (&loader->json, value) == type;
}

static char *
dup_string (const Loader *loader, guint value)
{
  return is_type (loader, value, HR_JSON_STRING) ? hr_json_dup_string (&loader->json, value, NULL)
                                                 : NULL;
}

static gboolean
is_true (const Loader *loader, guint object, const char *name)
{
  return is_type (loader, get (loader, object, name), HR_JSON_TRUE);
}

/* a whole number from 0 on */
static gboolean
get_id (const Loader *loader, guint value, guint32 *id)
{
  g_autofree char *text = NULL;
  guint64 number;

  if (!is_type (loader, value, HR_JSON_NUMBER))
    return FALSE;
  text = hr_json_dup_text (&loader->json, value);
  if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32 - 1, &number, NULL))
    return FALSE;
  *id = (guint32)number;
  return TRUE;
}

/* ---- bytes as letters ---- */

/* GPT-2's way to write bytes: those that can be seen as themselves, the others from U+0100 on */
static void
fill_letters (gint16 *bytes)
{
  gint next = 0;

  memset (bytes, 0xff, 512 * sizeof (gint16));
  for (gint byte = 0; byte < 256; byte++) {
    gboolean itself =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;

    bytes[itself ? byte : 256 + next++] = (gint16)byte;
  }
}

/* in place; -1: it is no text of such letters, so no bytes lead to it */
static gssize
letters_to_bytes (const gint16 *letters, char *text)
{
  char *first = text, *into = text;

  while (*text != '\0') {
    gunichar c = g_utf8_get_char (text);

    text = g_utf8_next_char (text); /* its bytes are overwritten */
    if (c >= 512 || letters[c] < 0)
      return -1;
    *into++ = (char)letters[c];
  }
  return into - first;
}

/* ---- model ---- */

static gboolean
check_model (Loader *loader, guint model)
{
  static const char *const affixes[] = { "continuing_subword_prefix", "end_of_word_suffix", NULL };
  g_autofree char *type = dup_string (loader, get (loader, model, "type"));
  guint dropout = get (loader, model, "dropout");

  if (type == NULL || !g_str_equal (type, "BPE"))
    return fail (loader, "the model is \"%s\"; only \"BPE\" is known here",
                 type != NULL ? type : "without a type");
  if (dropout != 0) {
    g_autofree char *text = hr_json_dup_text (&loader->json, dropout);

    if (g_ascii_strtod (text, NULL) != 0)
      return fail (loader, "the model has dropout %s, which is not done here", text);
  }
  for (guint i = 0; affixes[i] != NULL; i++) {
    g_autofree char *affix = dup_string (loader, get (loader, model, affixes[i]));

    if (affix != NULL && *affix != '\0')
      return fail (loader, "the model's %s is \"%s\", which byte-level vocabularies do not have",
                   affixes[i], affix);
  }
  loader->vocab->whole_pieces = is_true (loader, model, "ignore_merges");
  return TRUE;
}

static gboolean
read_tokens (Loader *loader, guint model, const gint16 *letters)
{
  const HrJson *json = &loader->json;
  guint tokens = get (loader, model, "vocab");

  if (!is_type (loader, tokens, HR_JSON_OBJECT))
    return fail (loader, "model.vocab is no object");
  for (guint name = hr_json_first (json, tokens); name != 0;
       name = hr_json_next (json, tokens, name)) {
    g_autofree char *text = dup_string (loader, name);
    guint32 id;
    gssize size;

    if (!get_id (loader, name + 1, &id))
      return fail (loader, "model.vocab: the token \"%s\" has no id", text);
    loader->n_tokens++;
    loader->end = MAX (loader->end, id + 1);
    size = letters_to_bytes (letters, text);
    if (size > 0 && !hr_vocab_add_token (loader->vocab, id, (const guint8 *)text, size))
      return fail (loader, "model.vocab: the id %u is out of range, or there twice", id);
  }
  return TRUE;
}

/* "a b" or ["a", "b"] */
static gboolean
read_pair (Loader *loader, guint value, char **first, char **second)
{
  const HrJson *json = &loader->json;
  char *blank;

  if (is_type (loader, value, HR_JSON_ARRAY) && hr_json_length (json, value) == 2) {
    guint item = hr_json_first (json, value);

    *first = dup_string (loader, item);
    *second = dup_string (loader, hr_json_next (json, value, item));
    return *first != NULL && *second != NULL;
  }
  *first = dup_string (loader, value);
  blank = *first != NULL ? strchr (*first, ' ') : NULL;
  if (blank == NULL || strchr (blank + 1, ' ') != NULL)
    return FALSE;
  *blank = '\0';
  *second = g_strdup (blank + 1);
  return TRUE;
}

static gboolean
add_merge (Loader *loader, const gint16 *letters, guint32 rank, char *first, char *second)
{
  HrVocab *vocab = loader->vocab;
  gssize a = letters_to_bytes (letters, first), b = letters_to_bytes (letters, second);
  g_autofree guint8 *both = NULL;
  guint32 left, right, sum;

  if (a <= 0 || b <= 0)
    return FALSE;
  both = g_malloc (a + b);
  memcpy (both, first, a);
  memcpy (both + a, second, b);
  left = hr_vocab_find (vocab, both, a);
  right = hr_vocab_find (vocab, both + a, b);
  sum = hr_vocab_find (vocab, both, a + b);
  if (left == HR_NO_TOKEN || right == HR_NO_TOKEN || sum == HR_NO_TOKEN)
    return FALSE;
  hr_vocab_add_merge (vocab, left, right, rank, sum);
  return TRUE;
}

static gboolean
read_merges (Loader *loader, guint model, const gint16 *letters)
{
  const HrJson *json = &loader->json;
  guint merges = get (loader, model, "merges");
  guint32 rank = 0;

  if (!is_type (loader, merges, HR_JSON_ARRAY))
    return fail (loader, "model.merges is no list");
  hr_vocab_begin_merges (loader->vocab, hr_json_length (json, merges));
  for (guint item = hr_json_first (json, merges); item != 0;
       item = hr_json_next (json, merges, item), rank++) {
    g_autofree char *first = NULL, *second = NULL;

    if (!read_pair (loader, item, &first, &second))
      return fail (loader, "model.merges[%u] is no pair of tokens", rank);
    if (!add_merge (loader, letters, rank, first, second))
      return fail (loader,
                   "model.merges[%u]: its tokens, or what they become, are not in the vocab", rank);
  }
  return TRUE;
}

static gboolean
read_model (Loader *loader)
{
  guint model = get (loader, 0, "model");
  gint16 letters[512];

  if (!is_type (loader, model, HR_JSON_OBJECT))
    return fail (loader, "there is no \"model\": is this a tokenizer.json?");
  fill_letters (letters);
  return check_model (loader, model) && read_tokens (loader, model, letters)
         && read_merges (loader, model, letters);
}

/* ---- normalizer ---- */

static gboolean
read_normalizer (Loader *loader, guint value)
{
  const HrJson *json = &loader->json;
  g_autofree char *type = NULL;

  if (value == 0)
    return TRUE;
  type = is_type (loader, value, HR_JSON_OBJECT) ? dup_string (loader, get (loader, value, "type"))
                                                 : NULL;
  if (g_strcmp0 (type, "NFC") == 0) {
    loader->vocab->nfc = TRUE;
    return TRUE;
  }
  if (g_strcmp0 (type, "Sequence") == 0) {
    guint list = get (loader, value, "normalizers");

    if (is_type (loader, list, HR_JSON_ARRAY)) {
      for (guint item = hr_json_first (json, list); item != 0;
           item = hr_json_next (json, list, item))
        if (!read_normalizer (loader, item))
          return FALSE;
      return TRUE;
    }
  }
  return fail (loader, "the normalizer \"%s\" is not known here; NFC is",
               type != NULL ? type : "without a type");
}

/* ---- pre-tokenizer ---- */

/* what ByteLevel cuts by itself */
static const char byte_level_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static gboolean
add_pattern (Loader *loader, const char *text, gboolean literal)
{
  HrPattern *pattern = hr_pattern_new (text, literal, loader->error);

  if (pattern != NULL)
    g_ptr_array_add (loader->vocab->patterns, pattern);
  return pattern != NULL;
}

static gboolean
read_split (Loader *loader, guint value)
{
  guint pattern = get (loader, value, "pattern");
  g_autofree char *behavior = dup_string (loader, get (loader, value, "behavior"));
  g_autofree char *regex = NULL, *string = NULL;

  if (is_type (loader, pattern, HR_JSON_OBJECT)) {
    regex = dup_string (loader, get (loader, pattern, "Regex"));
    string = dup_string (loader, get (loader, pattern, "String"));
  }
  if (regex == NULL && string == NULL)
    return fail (loader, "pre-tokenizer \"Split\": it has no pattern");
  if (g_strcmp0 (behavior, "Isolated") != 0)
    return fail (loader, "pre-tokenizer \"Split\": the behavior \"%s\" is not known here",
                 behavior != NULL ? behavior : "(none)");
  if (is_true (loader, value, "invert"))
    return fail (loader, "pre-tokenizer \"Split\": \"invert\" is not done here");
  return add_pattern (loader, regex != NULL ? regex : string, regex == NULL);
}

static gboolean
read_byte_level (Loader *loader, guint value, gboolean *has_bytes)
{
  *has_bytes = TRUE;
  if (is_true (loader, value, "add_prefix_space"))
    return fail (loader, "pre-tokenizer \"ByteLevel\": \"add_prefix_space\" is not done here");
  /* missing means true */
  if (is_type (loader, get (loader, value, "use_regex"), HR_JSON_FALSE))
    return TRUE;
  return add_pattern (loader, byte_level_pattern, FALSE);
}

static gboolean
read_pre_tokenizer (Loader *loader, guint value, gboolean *has_bytes)
{
  const HrJson *json = &loader->json;
  g_autofree char *type = is_type (loader, value, HR_JSON_OBJECT)
                              ? dup_string (loader, get (loader, value, "type"))
                              : NULL;
  guint list;

  if (*has_bytes)
    return fail (loader, "pre-tokenizer \"ByteLevel\" is not the last one");
  if (g_strcmp0 (type, "Split") == 0)
    return read_split (loader, value);
  if (g_strcmp0 (type, "ByteLevel") == 0)
    return read_byte_level (loader, value, has_bytes);
  list = g_strcmp0 (type, "Sequence") == 0 ? get (loader, value, "pretokenizers") : 0;
  if (!is_type (loader, list, HR_JSON_ARRAY))
    return fail (loader, "the pre-tokenizer \"%s\" is not known here; Split and ByteLevel are",
                 type != NULL ? type : "(none)");
  for (guint item = hr_json_first (json, list); item != 0; item = hr_json_next (json, list, item))
    if (!read_pre_tokenizer (loader, item, has_bytes))
      return FALSE;
  return TRUE;
}

/* ---- added tokens ---- */

/* Hugging Face's tokenizers do not read the id of an added token: it is that of the model's token
 * of that name, or the next one. A file that says otherwise would give other ids here than there.
 */
static gboolean
check_added_id (Loader *loader, const char *content, guint32 id)
{
  guint32 next = MAX (loader->n_tokens, loader->next_added);

  if (id >= loader->end && id != next)
    return fail (loader,
                 "the added token \"%s\" has the id %u, but Hugging Face's "
                 "tokenizers give it %u, the next one, whatever the file says",
                 content, id, next);
  loader->next_added = MAX (loader->next_added, id + 1);
  return TRUE;
}

static gboolean
read_added_token (Loader *loader, guint item)
{
  static const char *const unknown[] = { "single_word", "lstrip", "rstrip", NULL };
  g_autofree char *content = NULL;
  guint32 id;

  if (is_type (loader, item, HR_JSON_OBJECT))
    content = dup_string (loader, get (loader, item, "content"));
  if (content == NULL || *content == '\0' || !get_id (loader, get (loader, item, "id"), &id))
    return fail (loader, "added_tokens: one has no content or no id");
  for (guint i = 0; unknown[i] != NULL; i++)
    if (is_true (loader, item, unknown[i]))
      return fail (loader, "the added token \"%s\" has \"%s\", which is not done here", content,
                   unknown[i]);
  if (!check_added_id (loader, content, id))
    return FALSE;
  hr_vocab_add_added (loader->vocab, content, id, is_true (loader, item, "special"),
                      is_true (loader, item, "normalized"));
  return TRUE;
}

static gboolean
read_added (Loader *loader)
{
  const HrJson *json = &loader->json;
  guint list = get (loader, 0, "added_tokens");

  if (list == 0)
    return TRUE;
  if (!is_type (loader, list, HR_JSON_ARRAY))
    return fail (loader, "added_tokens is no list");
  for (guint item = hr_json_first (json, list); item != 0; item = hr_json_next (json, list, item))
    if (!read_added_token (loader, item))
      return FALSE;
  return TRUE;
}

/* ---- all of it ---- */

static gboolean
read_all (Loader *loader)
{
  guint pre_tokenizer;
  gboolean has_bytes = FALSE;

  if (hr_json_type (&loader->json, 0) != HR_JSON_OBJECT)
    return fail (loader, "it is no object: is this a tokenizer.json?");
  if (!read_model (loader) || !read_normalizer (loader, get (loader, 0, "normalizer")))
    return FALSE;
  pre_tokenizer = get (loader, 0, "pre_tokenizer");
  if (pre_tokenizer != 0 && !read_pre_tokenizer (loader, pre_tokenizer, &has_bytes))
    return FALSE;
  if (!has_bytes)
    return fail (loader,
                 "there is no pre-tokenizer \"ByteLevel\": only byte-level BPE is known here");
  return read_added (loader) && hr_vocab_finish (loader->vocab, loader->error);
}

HrVocab *
hr_vocab_load_json (const char *json, gsize size, GError **error)
{
  g_autoptr (HrVocab) vocab = hr_vocab_new ();
  Loader loader = { .vocab = vocab, .error = error };
  g_autoptr (GError) wrong = NULL;
  gboolean good;

  good = hr_json_scan (&loader.json, json, size, MOST_DEPTH, NULL, &wrong);
  if (!good)
    fail (&loader, "it is not JSON: %s", wrong->message);
  good = good && read_all (&loader);
  hr_json_clear (&loader.json);
  return good ? g_steal_pointer (&vocab) : NULL;
}
