/* layout.h: rendered tokens become the tensors of a sample */
#pragma once
#include "headrace.h"
#include "positions.h"
#include "template.h"
#include "truncate.h"

G_BEGIN_DECLS

/**
 * HrLayout: where everything is once each pad stands for all tokens of its image
 * @length: tokens
 * @n_images: those that are whole before @length
 * @runs: (element-type HrMediaRun): the tokens of each image
 * @spans: (element-type HrMediaSpan): the same from its start token to behind its end token
 *
 * Reused from one sample to the next.
 */
typedef struct {
  gint64 length;
  guint n_images;
  GArray *runs;
  GArray *spans;
  /*< private >*/
  GArray *ids;    /* gint32 */
  GArray *labels; /* gint32 */
} HrLayout;

#define HR_IGNORED -100 /* a label that is not learned */

void hr_layout_init (HrLayout *layout);
void hr_layout_clear (HrLayout *layout);

/* tokens of an image of which both sides are multiples of @factor */
gint64 hr_layout_image_tokens (const gint32 *target, guint factor);

/* @targets: height and width of each image, multiples of @factor */
void hr_layout_set (HrLayout *layout, const HrRendered *rendered, const gint32 *targets,
                    guint factor);

/* cuts the end off; images that are cut are gone */
void hr_layout_cut (HrLayout *layout, gint64 most);

/* labelled tokens that are left */
gint64 hr_layout_count_labels (HrLayout *layout, const HrRendered *rendered);

/**
 * HrLayoutForm:
 * @wide: ids, labels, mask and positions are int64, else int32
 * @position_rows: 3 or 4
 * @patch_size: pixels
 * @targets: as above
 */
typedef struct {
  gboolean wide;
  guint position_rows;
  guint patch_size;
  const gint32 *targets;
} HrLayoutForm;

/**
 * hr_layout_store:
 * @sample: writable
 *
 * Sets input_ids, labels, attention_mask [length], mm_token_type_ids int32 [length], position_ids
 * [rows, length] and, if there are images, image_grid_thw int64 [images, 3]. All lie in one block
 * of memory. FALSE with hr_out_alloc()'s error.
 */
gboolean hr_layout_store (HrLayout *layout, const HrRendered *rendered, const HrLayoutForm *form,
                          HrBuffer *sample, HrOut *out, GError **error);

G_END_DECLS
