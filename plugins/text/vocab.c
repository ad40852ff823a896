/* vocab.c: the tokens of a byte-level BPE vocabulary, and what merges with what */
#include "vocab.h"
#include <string.h>
#include "hr-error.h"
#include "pattern.h"

/* no vocabulary is near; ids are an index */
#define MOST_IDS (1u << 24)

static void
added_clear (gpointer data)
{
  g_free (((HrAddedToken *)data)->content);
}

HrVocab *
hr_vocab_new (void)
{
  HrVocab *vocab = g_new0 (HrVocab, 1);

  vocab->added = g_array_new (FALSE, FALSE, sizeof (HrAddedToken));
  g_array_set_clear_func (vocab->added, added_clear);
  vocab->patterns = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_pattern_free);
  vocab->bytes = g_byte_array_new ();
  vocab->starts = g_array_new (FALSE, TRUE, sizeof (guint32));
  vocab->lengths = g_array_new (FALSE, TRUE, sizeof (guint32));
  return vocab;
}

void
hr_vocab_free (HrVocab *vocab)
{
  if (vocab == NULL)
    return;
  g_array_unref (vocab->added);
  g_ptr_array_unref (vocab->patterns);
  g_byte_array_unref (vocab->bytes);
  g_array_unref (vocab->starts);
  g_array_unref (vocab->lengths);
  g_free (vocab->slots);
  g_free (vocab->merges);
  g_free (vocab->checked);
  g_free (vocab);
}

static void
make_room (HrVocab *vocab, guint32 id)
{
  if (id < vocab->n_ids)
    return;
  vocab->n_ids = id + 1;
  g_array_set_size (vocab->starts, vocab->n_ids);
  g_array_set_size (vocab->lengths, vocab->n_ids);
}

gboolean
hr_vocab_add_token (HrVocab *vocab, guint32 id, const guint8 *bytes, gsize size)
{
  if (id >= MOST_IDS || size > G_MAXINT32 - vocab->bytes->len)
    return FALSE;
  make_room (vocab, id);
  if (g_array_index (vocab->lengths, guint32, id) > 0)
    return FALSE;
  g_array_index (vocab->starts, guint32, id) = vocab->bytes->len;
  g_array_index (vocab->lengths, guint32, id) = (guint32)size;
  g_byte_array_append (vocab->bytes, bytes, (guint)size);
  return TRUE;
}

void
hr_vocab_add_added (HrVocab *vocab, const char *content, guint32 id, gboolean special,
                    gboolean normalized)
{
  HrAddedToken token = { g_strdup (content), id, special, normalized };

  g_array_append_val (vocab->added, token);
}

/* ---- bytes to token ---- */

static guint32
hash_bytes (const guint8 *bytes, gsize size)
{
  guint64 hash = size * G_GUINT64_CONSTANT (0x9E3779B97F4A7C15);

  for (; size >= 8; bytes += 8, size -= 8) {
    guint64 eight;

    memcpy (&eight, bytes, 8);
    hash = (hash ^ eight) * G_GUINT64_CONSTANT (0xD6E8FEB86659FD93);
    hash ^= hash >> 32;
  }
  if (size > 0) {
    guint64 rest = 0;

    memcpy (&rest, bytes, size);
    hash = (hash ^ rest) * G_GUINT64_CONSTANT (0xD6E8FEB86659FD93);
    hash ^= hash >> 32;
  }
  return (guint32)((hash * G_GUINT64_CONSTANT (0xD6E8FEB86659FD93)) >> 32);
}

static gboolean
has_bytes (const HrVocab *vocab, guint32 id, const guint8 *bytes, gsize size)
{
  return g_array_index (vocab->lengths, guint32, id) == size
         && memcmp (vocab->bytes->data + g_array_index (vocab->starts, guint32, id), bytes, size)
                == 0;
}

guint32
hr_vocab_find (const HrVocab *vocab, const guint8 *bytes, gsize size)
{
  if (vocab->slots == NULL || size == 0)
    return HR_NO_TOKEN;
  for (guint32 at = hash_bytes (bytes, size);; at++) {
    guint32 slot = vocab->slots[at & vocab->slot_mask];

    if (slot == 0)
      return HR_NO_TOKEN;
    if (has_bytes (vocab, slot - 1, bytes, size))
      return slot - 1;
  }
}

static guint32
table_size (guint32 n)
{
  guint32 size = 16;

  while (size < n + n / 2)
    size *= 2;
  return size;
}

void
hr_vocab_begin_merges (HrVocab *vocab, guint32 n)
{
  guint32 size = table_size (vocab->n_ids);

  vocab->slots = g_new0 (guint32, size);
  vocab->slot_mask = size - 1;
  for (guint32 id = 0; id < vocab->n_ids; id++) {
    guint32 length = g_array_index (vocab->lengths, guint32, id);
    const guint8 *bytes = vocab->bytes->data + g_array_index (vocab->starts, guint32, id);
    guint32 at;

    if (length == 0 || hr_vocab_find (vocab, bytes, length) != HR_NO_TOKEN)
      continue;
    at = hash_bytes (bytes, length);
    while (vocab->slots[at & vocab->slot_mask] != 0)
      at++;
    vocab->slots[at & vocab->slot_mask] = id + 1;
  }
  size = table_size (n);
  vocab->merges = g_new (HrMerge, size);
  vocab->merge_mask = size - 1;
  for (guint32 i = 0; i < size; i++)
    vocab->merges[i].pair = HR_NO_PAIR;
}

static void
grow_merges (HrVocab *vocab)
{
  g_autofree HrMerge *old = g_steal_pointer (&vocab->merges);
  guint32 old_size = vocab->merge_mask + 1;

  vocab->merges = g_new (HrMerge, old_size * 2);
  vocab->merge_mask = old_size * 2 - 1;
  vocab->n_merges = 0;
  for (guint32 i = 0; i < old_size * 2; i++)
    vocab->merges[i].pair = HR_NO_PAIR;
  for (guint32 i = 0; i < old_size; i++)
    if (old[i].pair != HR_NO_PAIR)
      hr_vocab_add_merge (vocab, old[i].pair >> 32, (guint32)old[i].pair, old[i].rank, old[i].id);
}

void
hr_vocab_add_merge (HrVocab *vocab, guint32 a, guint32 b, guint32 rank, guint32 id)
{
  HrMerge merge = { (guint64)a << 32 | b, rank, id };
  const HrMerge *known = hr_vocab_find_merge (vocab, a, b);
  guint32 at;

  if (known != NULL) {
    vocab->merges[known - vocab->merges] = merge;
    return;
  }
  if (vocab->n_merges + vocab->n_merges / 2 >= vocab->merge_mask)
    grow_merges (vocab);
  vocab->n_merges++;
  at = (guint32)((merge.pair * G_GUINT64_CONSTANT (0x9E3779B97F4A7C15)) >> 40);
  while (vocab->merges[at & vocab->merge_mask].pair != HR_NO_PAIR)
    at++;
  vocab->merges[at & vocab->merge_mask] = merge;
}

gboolean
hr_vocab_finish (HrVocab *vocab, GError **error)
{
  for (guint i = 0; i < vocab->added->len; i++) {
    const HrAddedToken *token = &g_array_index (vocab->added, HrAddedToken, i);

    if (token->id >= MOST_IDS) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                   "added token \"%s\" has the id %u, which is out of range", token->content,
                   token->id);
      return FALSE;
    }
    make_room (vocab, token->id);
  }
  for (guint byte = 0; byte < 256; byte++) {
    guint8 one = (guint8)byte;

    vocab->byte_ids[byte] = hr_vocab_find (vocab, &one, 1);
    if (vocab->byte_ids[byte] != HR_NO_TOKEN)
      continue;
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "the byte 0x%02x has no token, so this is no byte-level vocabulary", byte);
    return FALSE;
  }
  vocab->checked = g_new0 (guint8, vocab->n_ids);
  return TRUE;
}

guint32
hr_vocab_find_added (const HrVocab *vocab, const char *content)
{
  for (guint i = 0; i < vocab->added->len; i++)
    if (g_str_equal (g_array_index (vocab->added, HrAddedToken, i).content, content))
      return g_array_index (vocab->added, HrAddedToken, i).id;
  return HR_NO_TOKEN;
}

const guint8 *
hr_vocab_get_bytes (const HrVocab *vocab, guint32 id, guint32 *size)
{
  *size = 0;
  for (guint i = 0; i < vocab->added->len; i++) {
    const HrAddedToken *token = &g_array_index (vocab->added, HrAddedToken, i);

    if (token->id == id) {
      *size = (guint32)strlen (token->content);
      return (const guint8 *)token->content;
    }
  }
  if (id >= vocab->n_ids)
    return NULL;
  *size = g_array_index (vocab->lengths, guint32, id);
  return *size > 0 ? vocab->bytes->data + g_array_index (vocab->starts, guint32, id) : NULL;
}

guint32
hr_vocab_get_length (const HrVocab *vocab, guint32 id)
{
  guint32 length = id < vocab->n_ids ? g_array_index (vocab->lengths, guint32, id) : 0;

  if (length == 0)
    hr_vocab_get_bytes (vocab, id, &length);
  return length;
}
