/* bpe.c: a piece of text becomes tokens
 *
 * Most pieces are words seen before: two small caches answer for them. The rest is merged: by
 * looking at all symbols again and again as long as they are few, with a heap when they are many.
 */
#include "bpe.h"
#include <string.h>

#define FEW 256 /* symbols, up to here without a heap */

/* pieces of up to 15 bytes that are up to 3 tokens */
#define SHORT_BYTES 15
#define SHORT_IDS 3
#define N_SHORT (1u << 14)
typedef struct {
  guint64 low;
  guint64 high; /* the top byte is the size, so that 0 is no entry */
  guint32 n;
  guint32 ids[SHORT_IDS];
} ShortEntry;

#define LONG_BYTES 47
#define LONG_IDS 12
#define N_LONG (1u << 14)
typedef struct {
  guint8 size; /* 0: no entry */
  guint8 bytes[LONG_BYTES];
  guint32 n;
  guint32 ids[LONG_IDS];
} LongEntry;

/* what is known of a token: is it what its own bytes become? */
enum { UNKNOWN, CLOSED, OPEN };

/* an entry of the heap: rank, then place */
typedef guint64 Candidate;

struct _HrBpe {
  const HrVocab *vocab;
  ShortEntry *short_cache;
  LongEntry *long_cache;
  guint64 steps;

  /* long pieces */
  gsize room;
  guint32 *ids;
  guint32 *ranks; /* of the pair that begins here; HR_NO_TOKEN: none, or taken */
  guint32 *next;
  guint32 *previous;
  GArray *heap; /* Candidate */
};

HrBpe *
hr_bpe_new (const HrVocab *vocab)
{
  HrBpe *bpe = g_new0 (HrBpe, 1);

  bpe->vocab = vocab;
  bpe->short_cache = g_new0 (ShortEntry, N_SHORT);
  bpe->long_cache = g_new0 (LongEntry, N_LONG);
  bpe->heap = g_array_new (FALSE, FALSE, sizeof (Candidate));
  return bpe;
}

static void
free_room (HrBpe *bpe)
{
  g_clear_pointer (&bpe->ids, g_free);
  g_clear_pointer (&bpe->ranks, g_free);
  g_clear_pointer (&bpe->next, g_free);
  g_clear_pointer (&bpe->previous, g_free);
  bpe->room = 0;
}

void
hr_bpe_free (HrBpe *bpe)
{
  if (bpe == NULL)
    return;
  free_room (bpe);
  g_array_unref (bpe->heap);
  g_free (bpe->short_cache);
  g_free (bpe->long_cache);
  g_free (bpe);
}

guint64
hr_bpe_get_steps (const HrBpe *bpe)
{
  return bpe->steps;
}

static inline guint32
rank_of (const HrVocab *vocab, guint32 a, guint32 b, guint32 *id)
{
  const HrMerge *merge = hr_vocab_find_merge (vocab, a, b);

  if (merge == NULL)
    return HR_NO_TOKEN;
  *id = merge->id;
  return merge->rank;
}

/* ---- few symbols ---- */

static guint
merge_few (HrBpe *bpe, const guint8 *piece, guint n, guint32 *ids)
{
  guint32 ranks[FEW], results[FEW]; /* of the pair that begins at each symbol */

  for (guint i = 0; i < n; i++)
    ids[i] = bpe->vocab->byte_ids[piece[i]];
  for (guint i = 0; i + 1 < n; i++)
    ranks[i] = rank_of (bpe->vocab, ids[i], ids[i + 1], &results[i]);
  bpe->steps += n;
  while (n > 1) {
    guint32 best = HR_NO_TOKEN;
    guint at = 0, rest;

    bpe->steps += n;
    for (guint i = 0; i + 1 < n; i++)
      if (ranks[i] < best) {
        best = ranks[i];
        at = i;
      }
    if (best == HR_NO_TOKEN)
      break;
    ids[at] = results[at];
    n--;
    rest = n - at - 1;
    memmove (ids + at + 1, ids + at + 2, rest * sizeof (guint32));
    if (rest > 0) {
      memmove (ranks + at + 1, ranks + at + 2, (rest - 1) * sizeof (guint32));
      memmove (results + at + 1, results + at + 2, (rest - 1) * sizeof (guint32));
      ranks[at] = rank_of (bpe->vocab, ids[at], ids[at + 1], &results[at]);
    }
    if (at > 0)
      ranks[at - 1] = rank_of (bpe->vocab, ids[at - 1], ids[at], &results[at - 1]);
  }
  return n;
}

/* ---- many ---- */

static void
push (HrBpe *bpe, Candidate candidate)
{
  guint at = bpe->heap->len;
  Candidate *heap;

  g_array_set_size (bpe->heap, at + 1);
  heap = (Candidate *)(gpointer)bpe->heap->data;
  for (; at > 0 && heap[(at - 1) / 2] > candidate; at = (at - 1) / 2) {
    heap[at] = heap[(at - 1) / 2];
    bpe->steps++;
  }
  heap[at] = candidate;
}

static Candidate
pop (HrBpe *bpe)
{
  Candidate *heap = (Candidate *)(gpointer)bpe->heap->data, top = heap[0];
  guint n = bpe->heap->len - 1, at = 0;
  Candidate last = heap[n];

  for (;;) {
    guint child = 2 * at + 1;

    if (child >= n)
      break;
    if (child + 1 < n && heap[child + 1] < heap[child])
      child++;
    if (heap[child] >= last)
      break;
    heap[at] = heap[child];
    at = child;
    bpe->steps++;
  }
  heap[at] = last;
  g_array_set_size (bpe->heap, n);
  return top;
}

static void
look_at_pair (HrBpe *bpe, guint32 at, guint32 n)
{
  guint32 id;

  bpe->steps++;
  bpe->ranks[at] = HR_NO_TOKEN;
  if (bpe->next[at] >= n)
    return;
  bpe->ranks[at] = rank_of (bpe->vocab, bpe->ids[at], bpe->ids[bpe->next[at]], &id);
  if (bpe->ranks[at] != HR_NO_TOKEN)
    push (bpe, (Candidate)bpe->ranks[at] << 32 | at);
}

static void
make_room (HrBpe *bpe, gsize n)
{
  if (bpe->room >= n)
    return;
  free_room (bpe);
  bpe->room = n;
  bpe->ids = g_new (guint32, n);
  bpe->ranks = g_new (guint32, n);
  bpe->next = g_new (guint32, n);
  bpe->previous = g_new (guint32, n);
}

static void
merge_many (HrBpe *bpe, const guint8 *piece, guint32 n, HrIds *ids)
{
  make_room (bpe, n);
  g_array_set_size (bpe->heap, 0);
  for (guint32 i = 0; i < n; i++) {
    bpe->ids[i] = bpe->vocab->byte_ids[piece[i]];
    bpe->next[i] = i + 1;
    bpe->previous[i] = i - 1;
  }
  for (guint32 i = 0; i < n; i++)
    look_at_pair (bpe, i, n);
  while (bpe->heap->len > 0) {
    Candidate best = pop (bpe);
    guint32 at = (guint32)best, gone;

    if (bpe->ranks[at] != best >> 32) /* one of the two has merged meanwhile */
      continue;
    gone = bpe->next[at];
    rank_of (bpe->vocab, bpe->ids[at], bpe->ids[gone], &bpe->ids[at]);
    bpe->ranks[gone] = HR_NO_TOKEN;
    bpe->next[at] = bpe->next[gone];
    if (bpe->next[at] < n)
      bpe->previous[bpe->next[at]] = at;
    look_at_pair (bpe, at, n);
    if (at > 0)
      look_at_pair (bpe, bpe->previous[at], n);
  }
  for (guint32 i = 0; i < n; i = bpe->next[i])
    ids->data[ids->n++] = bpe->ids[i];
  /* what one long piece took must not stay for ever */
  if (bpe->room > (1 << 20)) {
    free_room (bpe);
    g_array_unref (bpe->heap);
    bpe->heap = g_array_new (FALSE, FALSE, sizeof (Candidate));
  }
}

/* ---- whole pieces ---- */

/* Is the token @id what the merges make of its own bytes? Looked up once a token and kept, by
 * whichever worker is first; all find the same. */
static gboolean
is_closed (HrBpe *bpe, guint32 id, const guint8 *piece, guint size)
{
  guint8 *known = &bpe->vocab->checked[id];
  guint8 state = __atomic_load_n (known, __ATOMIC_RELAXED);

  if (state == UNKNOWN) {
    guint32 ids[FEW];

    state = merge_few (bpe, piece, size, ids) == 1 && ids[0] == id ? CLOSED : OPEN;
    __atomic_store_n (known, state, __ATOMIC_RELAXED);
  }
  return state == CLOSED;
}

/* the token that the whole piece is without further ado */
static guint32
find_whole (HrBpe *bpe, const guint8 *piece, gsize size)
{
  guint32 id;

  if (size > FEW && !bpe->vocab->whole_pieces)
    return HR_NO_TOKEN;
  id = hr_vocab_find (bpe->vocab, piece, size);
  if (id == HR_NO_TOKEN || bpe->vocab->whole_pieces)
    return id;
  return is_closed (bpe, id, piece, (guint)size) ? id : HR_NO_TOKEN;
}

static void
encode_new (HrBpe *bpe, const guint8 *piece, gsize size, HrIds *ids)
{
  guint32 whole = find_whole (bpe, piece, size);

  hr_ids_reserve (ids, size);
  if (whole != HR_NO_TOKEN)
    ids->data[ids->n++] = whole;
  else if (size <= FEW)
    ids->n += merge_few (bpe, piece, (guint)size, ids->data + ids->n);
  else
    merge_many (bpe, piece, (guint32)size, ids);
}

/* ---- seen before? ---- */

static inline guint64
mix (guint64 a, guint64 b)
{
  unsigned __int128 product = (unsigned __int128)(a ^ G_GUINT64_CONSTANT (0x9E3779B97F4A7C15))
                              * (b ^ G_GUINT64_CONSTANT (0xD6E8FEB86659FD93));

  return (guint64)product ^ (guint64)(product >> 64);
}

/* 1 to 8 bytes as a number */
static inline guint64
load (const guint8 *p, gsize n, const guint8 *readable)
{
  guint64 value = 0;

  if (readable - p < 8) {
    memcpy (&value, p, n);
    return value;
  }
  memcpy (&value, p, 8);
#if G_BYTE_ORDER == G_BIG_ENDIAN
  value = GUINT64_SWAP_LE_BE (value);
#endif
  return value & (~G_GUINT64_CONSTANT (0) >> (64 - 8 * n));
}

static inline void
encode_short (HrBpe *bpe, const guint8 *piece, gsize size, const guint8 *readable, HrIds *ids)
{
  guint64 low = load (piece, MIN (size, 8), readable);
  guint64 high = (size > 8 ? load (piece + 8, size - 8, readable) : 0) | (guint64)size << 56;
  ShortEntry *entry = &bpe->short_cache[mix (low, high) & (N_SHORT - 1)];
  gsize before = ids->n, n;

  if (entry->low == low && entry->high == high) {
    hr_ids_reserve (ids, SHORT_IDS);
    memcpy (ids->data + ids->n, entry->ids, sizeof (entry->ids));
    ids->n += entry->n;
    return;
  }
  encode_new (bpe, piece, size, ids);
  n = ids->n - before;
  if (n > SHORT_IDS)
    return;
  *entry = (ShortEntry){ low, high, (guint32)n, { 0 } };
  memcpy (entry->ids, ids->data + before, n * sizeof (guint32));
}

static void
encode_long (HrBpe *bpe, const guint8 *piece, gsize size, HrIds *ids)
{
  guint64 hash = size;
  LongEntry *entry;
  gsize before = ids->n, n;

  for (gsize at = 0; at + 8 <= size; at += 8)
    hash = mix (hash, load (piece + at, 8, piece + size));
  hash = mix (hash, load (piece + size - 8, 8, piece + size));
  entry = &bpe->long_cache[hash & (N_LONG - 1)];
  if (entry->size == size && memcmp (entry->bytes, piece, size) == 0) {
    hr_ids_reserve (ids, LONG_IDS);
    memcpy (ids->data + ids->n, entry->ids, entry->n * sizeof (guint32));
    ids->n += entry->n;
    return;
  }
  encode_new (bpe, piece, size, ids);
  n = ids->n - before;
  if (n > LONG_IDS)
    return;
  entry->size = (guint8)size;
  memcpy (entry->bytes, piece, size);
  entry->n = (guint32)n;
  memcpy (entry->ids, ids->data + before, n * sizeof (guint32));
}

void
hr_bpe_encode (HrBpe *bpe, const guint8 *piece, gsize size, const guint8 *readable, HrIds *ids)
{
  if (size == 1)
    hr_ids_append (ids, bpe->vocab->byte_ids[*piece]);
  else if (size <= SHORT_BYTES)
    encode_short (bpe, piece, size, readable, ids);
  else if (size <= LONG_BYTES)
    encode_long (bpe, piece, size, ids);
  else
    encode_new (bpe, piece, size, ids);
}
