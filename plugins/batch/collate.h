/* collate.h: tensors of samples become tensors of a batch: padded, or one row after the other */
#pragma once
#include "headrace.h"

G_BEGIN_DECLS

/* names of the fields that are collated; NULL-terminated */
extern const char *const hr_collate_fields[];

/**
 * hr_collate_padded:
 * @batch: has its members; gets the tensors
 * @rows: at least as many as members; those of skipped samples, and those behind the last, are
 *   padding
 * @pad_id: fills input_ids
 * @error: #HR_CORE_ERROR: samples that do not go together, or hr_out_alloc()'s
 *
 * input_ids, labels, attention_mask, mm_token_type_ids [rows, length], position_ids [3 or 4, rows,
 * length], length being that of the longest. Padding: labels -100, all else 0.
 */
gboolean hr_collate_padded (HrBuffer *batch, guint rows, gint64 pad_id, HrOut *out, GError **error);

/**
 * hr_collate_packed:
 * @row: has its members, none of them skipped; gets the tensors
 * @error: as above
 *
 * input_ids, labels, mm_token_type_ids [1, length], position_ids [3 or 4, 1, length], one sample
 * after the other; cu_seqlens int32 [samples + 1]: where they begin; max_length_q, int32: the
 * longest. There is no attention_mask.
 */
gboolean hr_collate_packed (HrBuffer *row, HrOut *out, GError **error);

/**
 * hr_collate_images:
 *
 * @rows: at least as many as members
 *
 * For both: image_grid_thw, image_sizes, image_targets and pixel_values of all samples become one
 * tensor each, rows in the order of the samples. Where the images themselves are gone, "image_cu",
 * int32 [rows + 1], is made here: whose images are whose.
 */
gboolean hr_collate_images (HrBuffer *batch, guint rows, HrOut *out, GError **error);

/* the members let go of what the batch has now */
void hr_collate_forget (HrBuffer *batch);

G_END_DECLS
