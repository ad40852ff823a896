/* sizing.h: the size of each image is decided once, by the first element that has a say in it
 *
 * It is written into the sample as "image_targets", int32 [n, 2] of height and width; every later
 * element obeys. So tokenize can count tokens before a pixel is decoded, and resize does what
 * tokenize counted on. */
#pragma once
#include "headrace.h"
#include "smart-resize.h"

/* in the element's struct */
#define HR_SIZING_FIELDS                                                                           \
  guint64 min_pixels;                                                                              \
  guint64 max_pixels;                                                                              \
  guint64 patch_size;                                                                              \
  guint64 merge_size;                                                                              \
  gint smart_resize;

#define HR_SIZING_MOST_PIXELS (1 << 30)
/* of HrSmartResizeMode, in its order */
#define HR_SIZING_RULES ((const char *const[]){ "hf", "qwen-vl-utils", NULL })

#define HR_SIZING_PATCH_PROPS(T)                                                                   \
  HR_PROP_UINT (T, patch_size, 1, 1024, 16, "Side of the model's patches",                         \
                .flags = HR_PROP_STREAM, .unit = "pixels"),                                        \
      HR_PROP_UINT (T, merge_size, 1, 64, 2,                                                       \
                    "Patches a side that become one token: sides are multiples of patch-size "     \
                    "times it",                                                                    \
                    .flags = HR_PROP_STREAM, .unit = "patches")

/* in its table */
#define HR_SIZING_PROPS(T)                                                                         \
  HR_PROP_UINT (T, min_pixels, 1, HR_SIZING_MOST_PIXELS, 65536,                                    \
                "Fewest pixels of a resized image", .flags = HR_PROP_STREAM, .unit = "pixels"),    \
      HR_PROP_UINT (T, max_pixels, 1, HR_SIZING_MOST_PIXELS, 16777216,                             \
                    "Most pixels of a resized image; very long ones may end a little above",       \
                    .flags = HR_PROP_STREAM, .unit = "pixels"),                                    \
      HR_SIZING_PATCH_PROPS (T),                                                                   \
      HR_PROP_ENUM (T, smart_resize, HR_SIZING_RULES, 0,                                           \
                    "Whose rule for the size: transformers', or qwen-vl-utils', which rounds "     \
                    "otherwise",                                                                   \
                    .flags = HR_PROP_STREAM)

#define HR_SIZING_RULE(self)                                                                       \
  ((HrSmartResize){ (HrSmartResizeMode)(self)->smart_resize,                                       \
                    (guint)((self)->patch_size * (self)->merge_size), (self)->min_pixels,          \
                    (self)->max_pixels })

G_BEGIN_DECLS

/* HR_PARSE_ERROR_CONFLICT */
gboolean hr_sizing_check (guint64 min_pixels, guint64 max_pixels, GError **error);

/**
 * hr_sizing_check_place:
 * @element: one that has some of the properties above
 * @error: #HR_PARSE_ERROR_CONFLICT
 *
 * An element before this one may have decided already: what is set here must then be the same.
 */
gboolean hr_sizing_check_place (HrElement *element, GError **error);

/**
 * hr_sizing_check_lists:
 * @element: one that needs the sizes
 * @error: #HR_PARSE_ERROR_CONFLICT
 *
 * In a batch of lists, sizes that were decided before are a list of one array a sample, which no
 * element behind it reads.
 */
gboolean hr_sizing_check_lists (HrElement *element, GError **error);

/**
 * hr_sizing_find_first:
 *
 * Returns: (transfer none): the element that decides: the first one on the way to @element, perhaps
 *   itself, that has the property min-pixels
 */
HrElement *hr_sizing_find_first (HrElement *element);

/* whether it does so where nobody before it has */
gboolean hr_sizing_decides (HrElement *element);

/* the value of patch-size or another whole number as the first element before @element has it that
 * has it at all, or @element itself */
guint64 hr_sizing_get_uint (HrElement *element, const char *property);

/**
 * hr_sizing_is_turned:
 * @element: one that tells sizes before the images are decoded
 * @turned: (out): whether the imagedecode behind it turns images as EXIF says; so if there is none
 * @error: #HR_PARSE_ERROR_CONFLICT if there are several that differ
 *
 * Sizes told early are those of the pixels that will come: imagedecode's exif= decides about both.
 */
gboolean hr_sizing_is_turned (HrElement *element, gboolean *turned, GError **error);

/**
 * hr_sizing_get_size:
 * @index: of the sample's images
 *
 * Height and width as they will be decoded: imagefetch read them in the header; else as decoded.
 */
gboolean hr_sizing_get_size (const HrBuffer *sample, guint index, guint32 *height, guint32 *width,
                             GError **error);

/**
 * hr_sizing_get_cost:
 * @index: of the sample's images
 *
 * What an element's cost() tells: decoding and resizing take as long as there are pixels.
 *
 * Returns: pixels of the image; 0: neither imagefetch nor imagedecode has told its size
 */
guint64 hr_sizing_get_cost (gconstpointer self, const HrBuffer *sample, guint index);

/**
 * hr_sizing_decide:
 * @sample: writable
 * @error: #HR_DATA_ERROR_ASPECT_RATIO and others, naming the image
 *
 * Writes "image_targets" unless it is there, or there are no images.
 */
gboolean hr_sizing_decide (const HrSmartResize *rule, HrBuffer *sample, GError **error);

/* puts the image's link in front of the error, where it is known */
void hr_sizing_name_image (const HrBuffer *sample, guint index, GError **error);

G_END_DECLS
