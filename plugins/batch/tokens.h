/* tokens.h: the form of what a sample holds for each of its tokens */
#pragma once
#include "headrace.h"

G_BEGIN_DECLS

/* in the order of hr_token_fields */
typedef enum {
  HR_TOKENS_IDS,
  HR_TOKENS_LABELS,
  HR_TOKENS_MASK,
  HR_TOKENS_TYPES,
  HR_TOKENS_POSITIONS,
  HR_N_TOKEN_FIELDS
} HrTokenField;

extern const char *const hr_token_fields[HR_N_TOKEN_FIELDS];

/**
 * HrTokenForm:
 * @fixed: known; else the first sample will say it
 * @has: which fields samples have
 * @dtypes: int32 or int64
 * @planes: rows of position_ids: 3, or 4
 *
 * The same for all samples of a run, so that all batches have the same fields and types, also those
 * in which no sample is left.
 */
typedef struct {
  gboolean fixed;
  gboolean has[HR_N_TOKEN_FIELDS];
  HrDType dtypes[HR_N_TOKEN_FIELDS];
  guint planes;
} HrTokenForm;

/* What the element upstream that makes tokens says it gives. Without one, as if it were tokenize
 * with its defaults, until there is a sample. */
void hr_token_form_init (HrTokenForm *form, HrElement *element);

/**
 * hr_token_form_check:
 * @error: #HR_CORE_ERROR: the sample has no tokens, or others than the samples before
 *
 * After this its fields may be read as the form says: contiguous, as long as its input_ids.
 */
gboolean hr_token_form_check (HrTokenForm *form, const HrBuffer *sample, GError **error);

/* of a sample that has been checked */
gint64 hr_tokens_count (const HrBuffer *sample);
/* … those that stand for images */
gint64 hr_tokens_count_images (const HrBuffer *sample);

G_END_DECLS
