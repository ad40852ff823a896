/* bpe.h: a piece of text becomes tokens */
#pragma once
#include "ids.h"
#include "vocab.h"

G_BEGIN_DECLS

/* One worker's scratch memory and its cache of pieces, which has a fixed size (about 2 MiB). */
typedef struct _HrBpe HrBpe;

HrBpe *hr_bpe_new (const HrVocab *vocab);
void hr_bpe_free (HrBpe *bpe);

/**
 * hr_bpe_encode:
 * @piece: not empty, less than 2 GiB
 * @size: its bytes
 * @readable: behind the last byte that may be read; at or behind the piece's end
 * @ids: where to append the tokens
 *
 * Merges the neighbours of lowest rank, the leftmost first, until none can be. Takes n log n
 * steps.
 */
void hr_bpe_encode (HrBpe *bpe, const guint8 *piece, gsize size, const guint8 *readable,
                    HrIds *ids);

/* how often a symbol or an entry of the heap was looked at so far: for tests of what it costs */
guint64 hr_bpe_get_steps (const HrBpe *bpe);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrBpe, hr_bpe_free)

G_END_DECLS
