/* smart-resize.h: the size an image is given, so that its patches fit */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  HR_SMART_RESIZE_HF,           /* Hugging Face transformers */
  HR_SMART_RESIZE_QWEN_VL_UTILS /* the qwen-vl-utils package */
} HrSmartResizeMode;

/* sides that differ by more than this are refused by both; 200 itself is allowed */
#define HR_ASPECT_LIMIT 200

/**
 * HrSmartResize:
 * @mode: whose rounding
 * @factor: both sides become multiples of it: patch size times merge size
 * @min_pixels: fewest pixels of the result
 * @max_pixels: most; extreme shapes of a few images end above it all the same
 */
typedef struct {
  HrSmartResizeMode mode;
  guint factor;
  guint64 min_pixels;
  guint64 max_pixels;
} HrSmartResize;

/* FALSE: one side is more than 200 times the other, which is refused */
gboolean hr_smart_resize_has_shape (guint32 height, guint32 width);

/* The formula alone, bit for bit: h and w of @mode's own code, which may be 0 with qwen-vl-utils.
 * FALSE if there is no such size for the shape. */
gboolean hr_smart_resize_compute (const HrSmartResize *rule, guint32 height, guint32 width,
                                  gint64 *out_height, gint64 *out_width);

/**
 * hr_smart_resize:
 * @error: #HR_DATA_ERROR_ASPECT_RATIO, naming "WIDTHxHEIGHT", the ratio and the limit;
 *   #HR_DATA_ERROR_IMAGE_TOO_LARGE if the result cannot be addressed
 *
 * Height and width after resizing, both at least @factor.
 */
gboolean hr_smart_resize (const HrSmartResize *rule, guint32 height, guint32 width,
                          gint32 *out_height, gint32 *out_width, GError **error);

G_END_DECLS
