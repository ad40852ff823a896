/* vocab-tiktoken.c: vocabularies from *.tiktoken */
#include <string.h>
#include "hr-error.h"
#include "pattern.h"
#include "vocab-load.h"

static gboolean
fail_line (GError **error, guint line, const char *why)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "line %u %s", line, why);
  return FALSE;
}

/* "BASE64 RANK" */
static gboolean
read_line (HrVocab *vocab, const char *text, gsize size, guint line, GError **error)
{
  g_autofree char *copy = g_strndup (text, size);
  g_autofree guint8 *bytes = NULL;
  char *blank = strchr (g_strstrip (copy), ' ');
  guint64 rank;
  gsize n;

  if (*copy == '\0')
    return TRUE;
  if (blank == NULL || !g_ascii_string_to_unsigned (blank + 1, 10, 0, G_MAXINT32, &rank, NULL))
    return fail_line (error, line, "is not \"BASE64 RANK\"");
  *blank = '\0';
  bytes = g_base64_decode (copy, &n);
  if (n == 0)
    return fail_line (error, line, "holds no bytes");
  if (!hr_vocab_add_token (vocab, (guint32)rank, bytes, n))
    return fail_line (error, line, "has a rank that is out of range, or there twice");
  return TRUE;
}

static gboolean
read_lines (HrVocab *vocab, const char *text, gsize size, GError **error)
{
  const char *end = text + size;
  guint line = 1;

  for (const char *p = text; p < end; line++) {
    const char *stop = memchr (p, '\n', end - p);

    stop = stop != NULL ? stop : end;
    if (!read_line (vocab, p, stop - p, line, error))
      return FALSE;
    p = stop + 1;
  }
  return TRUE;
}

/* tiktoken joins two neighbours when their bytes together are a token, however it is cut */
static void
add_merges (HrVocab *vocab)
{
  hr_vocab_begin_merges (vocab, vocab->n_ids * 2);
  for (guint32 id = 0; id < vocab->n_ids; id++) {
    guint32 size;
    const guint8 *bytes = hr_vocab_get_bytes (vocab, id, &size);

    for (guint32 cut = 1; cut < size; cut++) {
      guint32 left = hr_vocab_find (vocab, bytes, cut);
      guint32 right =
          left != HR_NO_TOKEN ? hr_vocab_find (vocab, bytes + cut, size - cut) : HR_NO_TOKEN;

      if (right != HR_NO_TOKEN)
        hr_vocab_add_merge (vocab, left, right, id, id);
    }
  }
}

HrVocab *
hr_vocab_load_tiktoken (const char *text, gsize size, const char *pattern, const char *const *added,
                        GError **error)
{
  g_autoptr (HrVocab) vocab = hr_vocab_new ();
  HrPattern *cut;
  guint32 next;

  vocab->whole_pieces = TRUE;
  vocab->nfc = TRUE;
  if (!read_lines (vocab, text, size, error))
    return NULL;
  cut = hr_pattern_new (pattern, FALSE, error);
  if (cut == NULL)
    return NULL;
  g_ptr_array_add (vocab->patterns, cut);
  add_merges (vocab);
  next = vocab->n_ids;
  for (guint i = 0; added != NULL && added[i] != NULL; i++)
    hr_vocab_add_added (vocab, added[i], next++, TRUE, FALSE);
  return hr_vocab_finish (vocab, error) ? g_steal_pointer (&vocab) : NULL;
}
