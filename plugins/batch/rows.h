/* rows.h: a block of samples becomes packed rows */
#pragma once
#include "tokens.h"

G_BEGIN_DECLS

/* of a row; image tokens: 0: any */
typedef struct {
  gint64 max_tokens;
  gint64 max_image_tokens;
} HrRowLimits;

/**
 * hr_rows_make:
 * @block: (element-type HrBuffer): the block's samples in their order, holes too; takes them
 * @limits: of a row
 * @form: of the samples' tokens
 * @error: #HR_CORE_ERROR: samples without tokens or that do not go together, or hr_out_alloc()'s
 *
 * A pure function of the block: nothing is kept from one to the next, so any block can be made
 * alone. Holes take no room; a sample that fits into no row is dropped, which is counted and told
 * with its place. The end of an epoch goes to the last row.
 *
 * Returns: (transfer full) (element-type HrBuffer): the rows, as their first samples come up
 */
GPtrArray *hr_rows_make (GPtrArray *block, const HrRowLimits *limits, HrTokenForm *form, HrOut *out,
                         GError **error);

/* a row in which no sample is left: one token of padding, labels -100, and no images. NULL with the
 * error of hr_out_alloc(). (transfer full) */
HrBuffer *hr_rows_make_padding (const HrTokenForm *form, gint64 pad_id, HrOut *out, GError **error);

G_END_DECLS
