/* vocab.h: the tokens of a byte-level BPE vocabulary, and what merges with what */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

#define HR_NO_TOKEN G_MAXUINT32

/* a and b, side by side, become id; the lowest rank first */
typedef struct {
  guint64 pair; /* a << 32 | b; HR_NO_PAIR: the place is free */
  guint32 rank;
  guint32 id;
} HrMerge;

#define HR_NO_PAIR G_MAXUINT64

/* a token that is found in the text before anything else is done with it */
typedef struct {
  char *content;
  guint32 id;
  gboolean special;
  gboolean normalized; /* looked for in the text after NFC, not before */
} HrAddedToken;

/**
 * HrVocab:
 * @n_ids: greatest id + 1
 * @byte_ids: of each single byte
 * @whole_pieces: a piece that is a token needs no merges to become it
 * @nfc: the text is brought into NFC first
 * @added: (element-type HrAddedToken)
 * @patterns: (element-type HrPattern): cut the text one after the other
 *
 * Made by a loader, then read-only: all workers share it.
 */
typedef struct {
  guint32 n_ids;
  guint32 byte_ids[256];
  gboolean whole_pieces;
  gboolean nfc;
  GArray *added;
  GPtrArray *patterns;

  /*< private >*/
  GByteArray *bytes; /* of all tokens */
  GArray *starts;    /* guint32, by id */
  GArray *lengths;   /* guint32, by id; 0: no such token, or one no text leads to */
  guint32 *slots;    /* id + 1 by hash of the bytes, 0: free */
  guint32 slot_mask;
  HrMerge *merges;
  guint32 merge_mask;
  guint32 n_merges;
  guint8 *checked; /* by id: do its own bytes become it? bpe.c */
} HrVocab;

HrVocab *hr_vocab_new (void);
void hr_vocab_free (HrVocab *vocab);

/* ---- for loaders ---- */

/* FALSE if the id has a token already, or is out of range */
gboolean hr_vocab_add_token (HrVocab *vocab, guint32 id, const guint8 *bytes, gsize size);
/* call after all tokens; makes room for @n merges */
void hr_vocab_begin_merges (HrVocab *vocab, guint32 n);
/* a later one of the same pair replaces it */
void hr_vocab_add_merge (HrVocab *vocab, guint32 a, guint32 b, guint32 rank, guint32 id);
void hr_vocab_add_added (HrVocab *vocab, const char *content, guint32 id, gboolean special,
                         gboolean normalized);
/* last of all: FALSE, with HR_RESOURCE_ERROR, if a byte has no token */
gboolean hr_vocab_finish (HrVocab *vocab, GError **error);

/* ---- for readers ---- */

/* the token with these bytes, HR_NO_TOKEN if there is none */
guint32 hr_vocab_find (const HrVocab *vocab, const guint8 *bytes, gsize size);
/* bytes of a token, of added ones as well; 0 for no token */
guint32 hr_vocab_get_length (const HrVocab *vocab, guint32 id);
/* (transfer none) (nullable): not NUL-terminated */
const guint8 *hr_vocab_get_bytes (const HrVocab *vocab, guint32 id, guint32 *size);
/* HR_NO_TOKEN if there is no added token with this content */
guint32 hr_vocab_find_added (const HrVocab *vocab, const char *content);

static inline const HrMerge *
hr_vocab_find_merge (const HrVocab *vocab, guint32 a, guint32 b)
{
  guint64 pair = (guint64)a << 32 | b;
  guint32 at = (guint32)((pair * G_GUINT64_CONSTANT (0x9E3779B97F4A7C15)) >> 40);

  for (;; at++) {
    const HrMerge *merge = &vocab->merges[at & vocab->merge_mask];

    if (merge->pair == pair)
      return merge;
    if (merge->pair == HR_NO_PAIR)
      return NULL;
  }
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrVocab, hr_vocab_free)

G_END_DECLS
