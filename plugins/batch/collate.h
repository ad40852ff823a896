/* collate.h: tensors of samples become tensors of a batch: padded, or one row after the other
 *
 * Samples have been checked with hr_token_form_check(); holes among them have no fields. */
#pragma once
#include "tokens.h"

G_BEGIN_DECLS

/* names of the fields that are collated; NULL-terminated */
extern const char *const hr_collate_fields[];

/**
 * hr_collate_padded:
 * @batch: has its members; gets the tensors
 * @rows: at least as many as members; those of skipped samples, and those behind the last, are
 *   padding
 * @length: tokens of a row, at least those of the longest
 * @pad_id: fills input_ids
 * @error: hr_out_alloc()'s
 *
 * input_ids, labels, attention_mask, mm_token_type_ids [rows, length], position_ids [3 or 4, rows,
 * length]. Padding: labels -100, all else 0.
 */
gboolean hr_collate_padded (HrBuffer *batch, const HrTokenForm *form, guint rows, gint64 length,
                            gint64 pad_id, HrOut *out, GError **error);

/* sets cu_seqlens: where the members begin, and behind them @padding tokens, if any; max_length_q
 * and max_length_k: the longest. Returns: tokens in all */
gint64 hr_collate_set_borders (HrBuffer *row, gint64 padding);

/**
 * hr_collate_packed:
 * @row: has its members, none of them skipped; gets the tensors
 * @error: as above
 *
 * input_ids, labels, mm_token_type_ids [1, length], position_ids [3 or 4, 1, length], one sample
 * after the other; cu_seqlens int32 [samples + 1]: where they begin; max_length_q and max_length_k,
 * int32 scalars: the longest. There is no attention_mask.
 */
gboolean hr_collate_packed (HrBuffer *row, const HrTokenForm *form, HrOut *out, GError **error);

/**
 * hr_collate_images:
 * @rows: at least as many as members
 * @error: #HR_CORE_ERROR: samples whose images do not go together, or hr_out_alloc()'s
 *
 * For both: image_grid_thw, image_sizes, image_targets and pixel_values of all samples become one
 * tensor each, rows in the order of the samples; none if there is no row. Where no sample has a
 * list of images, "image_cu", int32 [rows + 1], is made here: whose images are whose.
 */
gboolean hr_collate_images (HrBuffer *batch, guint rows, HrOut *out, GError **error);

/* the members let go of what the batch has now */
void hr_collate_forget (HrBuffer *batch);

G_END_DECLS
