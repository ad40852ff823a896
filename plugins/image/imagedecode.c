/* imagedecode.c: the bytes of images become pixels */
#include "headrace.h"
#include "decode.h"
#include "sizing.h"

typedef struct {
  gint exif;
  gint alpha;
  gint truncated;
  guint64 pixel_limit;
  gboolean exact;
} ImageDecode;

typedef struct {
  gint64 n_decoded;
  gboolean sized_next; /* the next element decides about sizes, if nobody has */
} Shared;

typedef struct {
  HrDecoder decoder;
  Shared *shared;
} Worker;

static const char *const exif_names[] = { "apply", "ignore", NULL };
static const char *const alpha_names[] = { "white", "drop", NULL };
static const char *const truncated_names[] = { "error", "fill", NULL };

static const HrProp props[] = {
  HR_PROP_ENUM (ImageDecode, exif, exif_names, 0,
                "Turn images as their EXIF orientation says, or leave them as stored; imagefetch "
                "before it tells sizes accordingly",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (ImageDecode, alpha, alpha_names, 0,
                "Compose transparency on white, or drop it and take the colours behind it",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (ImageDecode, truncated, truncated_names, 0,
                "A file that ends early is a bad sample, or what is missing is filled, mostly gray",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (ImageDecode, pixel_limit, 1, 1e10, 178956970,
                "Most pixels of an image; larger ones are refused by their header, before any "
                "memory is taken",
                .flags = HR_PROP_STREAM, .unit = "pixels"),
  HR_PROP_BOOL (ImageDecode, exact, TRUE,
                "false lets JPEGs be decoded at half, a quarter or an eighth of their size where "
                "the size they will be resized to is known: faster, and not the same pixels",
                .flags = HR_PROP_STREAM),
  HR_PROP_END
};

/* the decoder's own reduction that leaves the resize something to do in both directions */
static guint
find_shrink (const HrBuffer *sample, guint index, guint32 height, guint32 width)
{
  HrTensor *targets = hr_buffer_get_tensor (sample, "image_targets");
  if (targets == NULL || index >= hr_tensor_get_shape (targets)[0])
    return 1;
  const gint32 *target = (const gint32 *)hr_tensor_get_data (targets) + 2 * index;
  guint shrink = 1;
  while (shrink < 8 && height / (shrink * 2) >= (guint32)target[0]
         && width / (shrink * 2) >= (guint32)target[1])
    shrink *= 2;
  return shrink;
}

/* Of an image that the element behind refuses for its shape no pixel is needed: it goes on as it
 * is, and is refused there, under that element's on-error. */
static gboolean
is_refused_behind (const Shared *shared, const HrBuffer *sample, guint32 height, guint32 width)
{
  return shared->sized_next && hr_buffer_get_tensor (sample, "image_sizes") != NULL
         && hr_buffer_get_tensor (sample, "image_targets") == NULL
         && !hr_smart_resize_has_shape (height, width);
}

static gboolean
imagedecode_start (gconstpointer self G_GNUC_UNUSED, gpointer shared, HrElement *element,
                   GError **error G_GNUC_UNUSED)
{
  HrElement *next = hr_element_get_next (element, 0);

  ((Shared *)shared)->sized_next =
      next != NULL && hr_element_get_next (element, 1) == NULL && hr_sizing_decides (next);
  return TRUE;
}

static gboolean
imagedecode_each (gconstpointer data, gpointer worker, const HrBuffer *sample, guint index,
                  HrTensor **member, HrOut *out, GError **error)
{
  const ImageDecode *self = data;
  HrDecodeOptions options = {
    .exif = self->exif == 0, .white = self->alpha == 0, .fill = self->truncated == 1, .shrink = 1
  };
  const guint8 *bytes = hr_tensor_get_data (*member);
  gsize size = hr_tensor_get_n_bytes (*member);
  HrImageHeader header;
  guint32 height, width;
  if (!hr_image_header_read (bytes, size, self->pixel_limit, &header, error))
    return FALSE;
  hr_decode_get_size (&header, &options, &height, &width);
  if (is_refused_behind (((Worker *)worker)->shared, sample, height, width))
    return TRUE;
  if (!self->exact)
    options.shrink = find_shrink (sample, index, height, width);
  hr_decode_get_size (&header, &options, &height, &width);
  HrMemory *pixels = hr_out_alloc (out, "images", (gsize)height * width * 3, error);
  if (pixels == NULL)
    return FALSE;
  __atomic_fetch_add (&((Worker *)worker)->shared->n_decoded, 1, __ATOMIC_RELAXED);
  if (!hr_decode (&((Worker *)worker)->decoder, bytes, size, &header, &options, pixels->data,
                  error)) {
    hr_memory_unref (pixels);
    return FALSE;
  }
  hr_tensor_unref (*member);
  *member = hr_tensor_new (pixels, 0, HR_UINT8, 3, (const gint64[]){ height, width, 3 });
  return TRUE;
}

static gboolean
imagedecode_worker_start (gconstpointer self G_GNUC_UNUSED, gpointer shared, gpointer worker,
                          GError **error G_GNUC_UNUSED)
{
  ((Worker *)worker)->shared = shared;
  return TRUE;
}

/* how many were begun, good or bad: what is left out before costs nothing here */
static void
imagedecode_metrics (gconstpointer self G_GNUC_UNUSED, gpointer shared, JsonBuilder *into)
{
  json_builder_set_member_name (into, "images_decoded");
  json_builder_add_int_value (into,
                              __atomic_load_n (&((Shared *)shared)->n_decoded, __ATOMIC_RELAXED));
}

static void
imagedecode_worker_stop (gconstpointer self, gpointer worker)
{
  (void)self;
  hr_decoder_clear (&((Worker *)worker)->decoder);
}

HR_ELEMENT (
    imagedecode, ImageDecode, .summary = "Decode images to RGB pixels",
    .description =
        "Turns each image of a sample, the bytes of a JPEG, PNG, WebP, GIF, TIFF or BMP file told "
        "apart by content, into uint8 [height, width, 3], RGB. The first picture of a file counts. "
        "EXIF orientation is applied, transparency composed on white, 16 bits a sample become the "
        "high 8, gray, palettes and CMYK become RGB; colour profiles are ignored. Pixels are those "
        "of Pillow, to the bit. Files of another kind or broken ones are media-undecodable, cut "
        "ones "
        "media-truncated, too large ones image-too-large, and what no rule is known for (a TIFF of "
        "floats) unsupported. See docs/images.md.",
    .examples = (const char *const[]){ "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! "
                                       "imagedecode on-error=skip ! fakesink",
                                       NULL },
    .needs = "images:encoded, batch?", .gives = "images:pixels", .shared_size = sizeof (Shared),
    .worker_size = sizeof (Worker), .props = props, .parallel = HR_PARALLEL_YES,
    .each_field = "images", .each_names = "image_links", .each = imagedecode_each,
    .cost = hr_sizing_get_cost, .start = imagedecode_start,
    .worker_start = imagedecode_worker_start, .worker_stop = imagedecode_worker_stop,
    .metrics = imagedecode_metrics)
