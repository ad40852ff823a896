/* hr-pack.h: which samples of a block share a row; for batch, and for plans that know lengths
 * beforehand */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* tokens of a sample, and those of them that are images */
typedef struct {
  gint64 tokens;
  gint64 image_tokens;
} HrPackSize;

/**
 * hr_pack_block:
 * @sizes: of the block's samples; each fits into an empty row
 * @n: samples
 * @max_tokens: of a row
 * @max_image_tokens: of a row; 0: any
 * @rows: (out): the row of each sample
 *
 * Best fit decreasing: the longest sample first, each into the fullest row that it fits in. Rows
 * are numbered by their first sample. A pure function: equal sizes are taken in order.
 *
 * Returns: the number of rows
 */
guint hr_pack_block (const HrPackSize *sizes, guint n, gint64 max_tokens, gint64 max_image_tokens,
                     guint *rows);

G_END_DECLS
