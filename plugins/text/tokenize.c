/* tokenize.c: conversations become what a model learns from: ids, labels, positions */
#include <string.h>
#include "headrace.h"
#include "hr-checksum.h"
#include "layout.h"
#include "load.h"
#include "s3-props.h"
#include "sizing.h"
#include "vocab-load.h"

typedef struct {
  char *tokenizer;
  char *pattern;
  char **added_tokens;
  gint template;
  gint boundary;
  gboolean add_vision_id;
  gboolean label_newline;
  gint specials_in_text;
  gint media_tokens_in_text;
  guint64 max_length;
  gint overlong;
  gint ids;
  guint64 position_rows;
  HR_SIZING_FIELDS
  HR_S3_FIELDS
} Tokenize;

/* in the order of the enumerations */
static const char *const templates[] = { "qwen3-vl", "qwen2-vl", NULL };
static const char *const boundaries[] = { "joint", "split", NULL };
static const char *const in_text[] = { "encode", "plain", "error", NULL };
static const char *const overlongs[] = { "drop", "truncate-right", "shrink", "error", NULL };
static const char *const widths[] = { "int64", "int32", NULL };

#define MOST_TOKENS (1 << 28)
#define MOST_VOCAB_BYTES (1 << 28)

static const HrProp props[] = {
  HR_PROP_STRING (Tokenize, tokenizer, NULL,
                  "A tokenizer.json of Hugging Face's, or a *.tiktoken: a path or URI",
                  .flags = HR_PROP_STREAM | HR_PROP_REQUIRED),
  HR_PROP_STRING (
      Tokenize, pattern, HR_VOCAB_QWEN_PATTERN,
      "For a *.tiktoken, which does not hold it: the pattern that cuts text into pieces",
      .flags = HR_PROP_STREAM),
  HR_PROP_STRV (Tokenize, added_tokens, HR_VOCAB_QWEN_ADDED,
                "For a *.tiktoken: added tokens, whose ids follow the ranks",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Tokenize, template, templates, HR_TEMPLATE_QWEN3_VL,
                "Chat template: qwen3-vl; or qwen2-vl, which puts \"You are a helpful assistant.\" "
                "in front of a conversation without a system turn",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Tokenize, boundary, boundaries, HR_BOUNDARY_JOINT,
                "Header and answer are tokenised as one text (joint), or each for itself (split)",
                .flags = HR_PROP_STREAM),
  HR_PROP_BOOL (Tokenize, add_vision_id, FALSE,
                "Write \"Picture 1: \" in front of the first image, …", .flags = HR_PROP_STREAM),
  HR_PROP_BOOL (Tokenize, label_newline, FALSE, "Learn the newline behind an answer as well",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Tokenize, specials_in_text, in_text, HR_IN_TEXT_ENCODE,
                "What an added token is that stands in a record's text: that token (encode), text "
                "like any other (plain), or a bad record (error)",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Tokenize, media_tokens_in_text, in_text, HR_IN_TEXT_ERROR,
                "The same for those that stand for images and videos", .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Tokenize, max_length, 0, MOST_TOKENS, 0, "Most tokens of a sample; 0: no limit",
                .flags = HR_PROP_STREAM, .unit = "tokens"),
  HR_PROP_ENUM (Tokenize, overlong, overlongs, HR_OVERLONG_DROP,
                "What becomes of a longer sample: it is left out (drop), loses its end but no part "
                "of an image (truncate-right), gets smaller images (shrink), or is bad (error)",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Tokenize, ids, widths, 0, "Type of ids, labels, mask and positions",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Tokenize, position_rows, 3, 4, 3,
                "Rows of position_ids: time, height and width; 4: the plain position before them",
                .flags = HR_PROP_STREAM, .unit = "rows"),
  HR_SIZING_PROPS (Tokenize),
  HR_S3_PROPS (Tokenize),
  HR_PROP_END
};

typedef struct {
  HrVocab *vocab;
  guint64 checksum; /* of its file */
  HrTemplate template;
  guint patch_size;
  guint merge_size;
} Shared;

typedef struct {
  const Shared *shared;
  HrEncoder *encoder;
  HrRendered rendered;
  HrLayout layout;
} Worker;

/* ---- before the run ---- */

static gboolean
tokenize_check (gconstpointer data, GError **error)
{
  const Tokenize *self = data;

  if (self->overlong != HR_OVERLONG_DROP && self->max_length == 0) {
    g_set_error (
        error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
        "overlong=%s says what to do with samples longer than max-length, which is not set",
        overlongs[self->overlong]);
    return FALSE;
  }
  return hr_sizing_check (self->min_pixels, self->max_pixels, error);
}

static gboolean
is_tiktoken (const Tokenize *self)
{
  return g_str_has_suffix (self->tokenizer, ".tiktoken");
}

/* what would do nothing: a tokenizer.json has its own */
static gboolean
check_of_tiktoken (const Tokenize *self, HrElement *element, GError **error)
{
  static const char *const names[] = { "pattern", "added-tokens" };

  for (guint i = 0; i < G_N_ELEMENTS (names) && !is_tiktoken (self); i++)
    if (hr_element_is_set (element, names[i])) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                   "%s is for a *.tiktoken, and tokenizer=%s is none\n"
                   "leave it out: a tokenizer.json has its own",
                   names[i], self->tokenizer);
      return FALSE;
    }
  return TRUE;
}

static gboolean
tokenize_check_place (gconstpointer data, HrElement *element, GError **error)
{
  const Tokenize *self = data;
  HrElement *first = hr_sizing_find_first (element);

  if (!check_of_tiktoken (self, element, error))
    return FALSE;
  if (self->overlong == HR_OVERLONG_SHRINK && first != element) {
    g_set_error (
        error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
        "overlong=shrink decides the sizes of images, which \"%s\" before it has done\n"
        "put tokenize first: … ! jsonlparse ! imagefetch ! tokenize ! imagedecode ! resize "
        "! batch ! prefetchqueue ! patchify ! …",
        hr_element_get_factory (first));
    return FALSE;
  }
  return hr_sizing_check_place (element, error);
}

static HrVocab *
load_vocab (const Tokenize *self, Shared *shared, HrElement *element, GError **error)
{
  HrS3Settings settings = HR_S3_SETTINGS (self);
  HrHttpOptions options = HR_S3_HTTP_OPTIONS (self, 1);
  gsize size;
  g_autoptr (HrMemory) file = hr_io_load (self->tokenizer, &settings, &options, MOST_VOCAB_BYTES,
                                          hr_element_get_stop_fd (element), &size, error);
  HrVocab *vocab;

  if (file == NULL)
    return NULL;
  shared->checksum = hr_checksum64 (file->data, size);
  if (is_tiktoken (self))
    vocab = hr_vocab_load_tiktoken ((const char *)file->data, size, self->pattern,
                                    (const char *const *)self->added_tokens, error);
  else
    vocab = hr_vocab_load_json ((const char *)file->data, size, error);
  if (vocab == NULL)
    g_prefix_error (error, "%s: ", self->tokenizer);
  return vocab;
}

static gboolean
tokenize_start (gconstpointer data, gpointer shared_data, HrElement *element, GError **error)
{
  const Tokenize *self = data;
  Shared *shared = shared_data;

  shared->template = (HrTemplate){ .kind = (HrTemplateKind)self->template,
                                   .boundary = (HrBoundary)self->boundary,
                                   .add_vision_id = self->add_vision_id,
                                   .label_newline = self->label_newline };
  shared->patch_size = (guint)hr_sizing_get_uint (element, "patch-size");
  shared->merge_size = (guint)hr_sizing_get_uint (element, "merge-size");
  shared->vocab = load_vocab (self, shared, element, error);
  if (shared->vocab == NULL)
    return FALSE;
  if (hr_template_init (&shared->template, shared->vocab, error))
    return TRUE;
  g_prefix_error (error, "%s: ", self->tokenizer);
  g_clear_pointer (&shared->vocab, hr_vocab_free);
  return FALSE;
}

static char *
tokenize_identify (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  return g_strdup_printf ("%016" G_GINT64_MODIFIER "x", ((const Shared *)shared)->checksum);
}

static void
tokenize_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  g_clear_pointer (&((Shared *)shared)->vocab, hr_vocab_free);
}

static gboolean
tokenize_worker_start (gconstpointer data, gpointer shared, gpointer worker_data,
                       GError **error G_GNUC_UNUSED)
{
  const Tokenize *self = data;
  Worker *worker = worker_data;
  HrEncodeRules rules = { (HrInText)self->specials_in_text, (HrInText)self->media_tokens_in_text,
                          hr_template_media_tokens };

  worker->shared = shared;
  worker->encoder = hr_encoder_new (worker->shared->vocab, &rules);
  hr_rendered_init (&worker->rendered);
  hr_layout_init (&worker->layout);
  return TRUE;
}

static void
tokenize_worker_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker_data)
{
  Worker *worker = worker_data;

  g_clear_pointer (&worker->encoder, hr_encoder_free);
  hr_rendered_clear (&worker->rendered);
  hr_layout_clear (&worker->layout);
}

/* ---- images ---- */

static guint
count_images (const HrBuffer *sample)
{
  HrList *images = hr_buffer_get_list (sample, "images");

  return images != NULL ? hr_list_get_length (images) : 0;
}

/* height and width of each image as it will be; NULL if there are none */
static const gint32 *
get_targets (const HrBuffer *sample)
{
  HrTensor *targets = hr_buffer_get_tensor (sample, "image_targets");

  return targets != NULL ? hr_tensor_get_data (targets) : NULL;
}

/* an element before this one may have written them */
static gboolean
check_targets (const HrBuffer *sample, guint n, guint factor, GError **error)
{
  HrTensor *targets = hr_buffer_get_tensor (sample, "image_targets");
  const gint32 *sides = get_targets (sample);

  if (n > 0 && hr_tensor_get_dim (targets, 0) != n) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "image_targets has %" G_GINT64_FORMAT " sizes for %u images",
                 hr_tensor_get_dim (targets, 0), n);
    return FALSE;
  }
  for (guint i = 0; i < 2 * n; i++)
    if (sides[i] < (gint32)factor || sides[i] % (gint32)factor != 0) {
      g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                   "image %u is to have a side of %d pixels, which is no multiple of patch-size "
                   "times merge-size, %u",
                   i / 2, sides[i], factor);
      return FALSE;
    }
  return TRUE;
}

static gboolean
check_places (const HrBuffer *sample, const HrRendered *rendered, GError **error)
{
  guint n = count_images (sample);

  if (n == rendered->images->len)
    return TRUE;
  hr_set_data_error (error, HR_DATA_ERROR_PLACEHOLDER_MISMATCH,
                     "the conversation has %u placeholder(s) for %u image(s)",
                     rendered->images->len, n);
  return FALSE;
}

static HrList *
first_items (const HrList *list, guint n)
{
  HrList *first = hr_list_new (n);

  for (guint i = 0; i < n; i++)
    switch (hr_list_get_item_type (list, i)) {
    case HR_FIELD_TENSOR:
      hr_list_append_tensor (first, hr_tensor_ref (hr_list_get_tensor (list, i)));
      break;
    case HR_FIELD_STRING:
      hr_list_append_string (first, hr_list_get_string (list, i));
      break;
    default:
      hr_list_append_json (first, json_node_ref (hr_list_get_json (list, i)));
    }
  return first;
}

/* what was cut off has no pixels either */
static void
keep_images (HrBuffer *sample, guint n)
{
  static const char *const lists[] = { "images", "image_links" };
  static const char *const tensors[] = { "image_sizes", "image_targets" };

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++) {
    HrList *list = hr_buffer_get_list (sample, lists[i]);

    if (list != NULL && hr_list_get_length (list) > n)
      hr_buffer_set_list (sample, lists[i], first_items (list, n));
  }
  for (guint i = 0; i < G_N_ELEMENTS (tensors); i++) {
    HrTensor *tensor = hr_buffer_get_tensor (sample, tensors[i]);
    gint64 shape[] = { n, 2 };

    if (tensor != NULL && hr_tensor_get_dim (tensor, 0) > n)
      hr_buffer_set_tensor (sample, tensors[i],
                            hr_tensor_new (hr_memory_ref (hr_tensor_get_memory (tensor)),
                                           hr_tensor_get_offset (tensor),
                                           hr_tensor_get_dtype (tensor), 2, shape));
  }
}

/* ---- too long ---- */

/* TRUE: the images are smaller now, and the sample fits */
static gboolean
shrink (const Tokenize *self, Worker *worker, HrBuffer *sample)
{
  HrSmartResize rule = HR_SIZING_RULE (self);
  guint n = count_images (sample);
  g_autofree guint32 *sizes = g_new (guint32, 2 * n + 1);
  gint64 text = (gint64)worker->rendered.ids.n - n;
  g_autoptr (HrMemory) memory = NULL;
  gint64 shape[] = { n, 2 };

  if (n == 0 || text >= (gint64)self->max_length)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!hr_sizing_get_size (sample, i, &sizes[2 * i], &sizes[2 * i + 1], NULL))
      return FALSE;
  memory = hr_memory_new (n * 2 * sizeof (gint32));
  if (hr_truncate_shrink (&rule, sizes, n, (gint64)self->max_length - text, (gint32 *)memory->data)
      == 0)
    return FALSE;
  hr_buffer_set_tensor (sample, "image_targets",
                        hr_tensor_new (g_steal_pointer (&memory), 0, HR_INT32, 2, shape));
  hr_layout_set (&worker->layout, &worker->rendered, get_targets (sample), rule.factor);
  return TRUE;
}

static GError *
overlong_error (const Tokenize *self, const HrBuffer *sample, gint64 length, const char *more)
{
  const HrOrigin *origin = hr_buffer_get_origin (sample);
  gboolean has_id = origin != NULL && origin->id != NULL;
  GError *error = NULL;

  hr_set_data_error (&error, HR_DATA_ERROR_OVERLONG,
                     "%s%s%s%" G_GINT64_FORMAT " tokens, max-length is %" G_GUINT64_FORMAT "%s",
                     has_id ? "id \"" : "", has_id ? origin->id : "", has_id ? "\": " : "", length,
                     self->max_length, more);
  return error;
}

typedef enum { KEPT, DROPPED, FAILED } Fate;

/* @dropped says why, if it is */
static Fate
judge_length (const Tokenize *self, Worker *worker, HrBuffer *sample, gboolean decided,
              GError **dropped, GError **error)
{
  HrLayout *layout = &worker->layout;
  gint64 length = layout->length;

  if (self->max_length == 0 || length <= (gint64)self->max_length)
    return KEPT;
  switch ((HrOverlong)self->overlong) {
  case HR_OVERLONG_ERROR:
    g_propagate_error (error, overlong_error (self, sample, length, ""));
    return FAILED;
  case HR_OVERLONG_TRUNCATE_RIGHT:
    hr_layout_cut (layout, (gint64)self->max_length);
    keep_images (sample, layout->n_images);
    return KEPT;
  case HR_OVERLONG_SHRINK:
    if (decided && shrink (self, worker, sample))
      return KEPT;
    *dropped = overlong_error (self, sample, length, ", even with the smallest images");
    return DROPPED;
  case HR_OVERLONG_DROP:
    break;
  }
  *dropped = overlong_error (self, sample, length, "");
  return DROPPED;
}

static GError *
no_label_error (const HrBuffer *sample)
{
  const HrOrigin *origin = hr_buffer_get_origin (sample);
  gboolean has_id = origin != NULL && origin->id != NULL;
  GError *error = NULL;

  hr_set_data_error (&error, HR_DATA_ERROR_NO_LABEL, "%s%s%sno token is left to learn",
                     has_id ? "id \"" : "", has_id ? origin->id : "", has_id ? "\": " : "");
  return error;
}

/* ---- a sample ---- */

static gboolean
prepare (const Tokenize *self, Worker *worker, HrBuffer *sample, GError **error)
{
  JsonNode *conversation = hr_buffer_get_json (sample, "conversation");
  HrSmartResize rule = HR_SIZING_RULE (self);
  guint factor = worker->shared->patch_size * worker->shared->merge_size;

  if (conversation == NULL) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "the sample has no conversation: jsonlparse gives it");
    return FALSE;
  }
  if (!hr_template_render (&worker->shared->template, worker->encoder, conversation,
                           &worker->rendered, error)
      || !check_places (sample, &worker->rendered, error)
      || !hr_sizing_decide (&rule, sample, error)
      || !check_targets (sample, worker->rendered.images->len, factor, error))
    return FALSE;
  hr_layout_set (&worker->layout, &worker->rendered, get_targets (sample), factor);
  return TRUE;
}

static gboolean
finish (const Tokenize *self, Worker *worker, HrBuffer *sample, HrOut *out, GError **error)
{
  HrLayoutForm form = { .wide = self->ids == 0,
                        .position_rows = (guint)self->position_rows,
                        .patch_size = worker->shared->patch_size,
                        .targets = get_targets (sample) };

  if (!hr_layout_store (&worker->layout, &worker->rendered, &form, sample, out, error))
    return FALSE;
  hr_buffer_remove (sample, "conversation");
  return TRUE;
}

static gboolean
tokenize_process (gconstpointer data, gpointer worker_data, HrBuffer *in, HrOut *out,
                  GError **error)
{
  const Tokenize *self = data;
  Worker *worker = worker_data;
  g_autoptr (HrBuffer) sample = hr_buffer_make_writable (in);
  gboolean decided = hr_buffer_get_tensor (sample, "image_targets") == NULL;
  GError *dropped = NULL;

  if (!prepare (self, worker, sample, error))
    return FALSE;
  switch (judge_length (self, worker, sample, decided, &dropped, error)) {
  case FAILED:
    return FALSE;
  case KEPT:
    if (hr_layout_count_labels (&worker->layout, &worker->rendered) == 0)
      dropped = no_label_error (sample);
    break;
  case DROPPED:
    break;
  }
  if (dropped != NULL) {
    hr_out_drop (out, g_steal_pointer (&sample), NULL, dropped);
    return TRUE;
  }
  if (!finish (self, worker, sample, out, error))
    return FALSE;
  hr_out_push (out, g_steal_pointer (&sample));
  return TRUE;
}

HR_ELEMENT (
    tokenize, Tokenize, .summary = "Turn conversations into token ids, labels and positions",
    .description =
        "Renders \"conversation\" with a chat template and gives \"input_ids\", \"labels\" (-100: "
        "not "
        "learned), \"attention_mask\" (all ones), each int64 [length]; \"mm_token_type_ids\", "
        "int32 "
        "[length]: 0 text, 1 image; \"position_ids\", int64 [3, length]: time, height, width; and, "
        "if "
        "there are images, \"image_grid_thw\", int64 [images, 3]: frames, rows and columns of "
        "patches. Learned are the tokens that lie wholly inside an answer and the token that ends "
        "it. "
        "\n\n"
        "An image has as many tokens as its size says, so this element decides the sizes, as "
        "resize "
        "does, unless one before it has: it writes \"image_targets\". Sizes come from "
        "\"image_sizes\", "
        "which imagefetch reads from the headers, so it can stand before imagedecode and leave "
        "samples out (max-length, overlong) before a pixel is decoded.\n\n"
        "The tokenizer is byte-level BPE: normalizer NFC or none, pre-tokenizer Split or "
        "ByteLevel; "
        "others are refused by name. A post-processor is not applied: what stands around the text "
        "is "
        "the template's business. Samples in which nothing is to learn are dropped (no-label). Bad "
        "are records with a token that stands for media in their text (media-token-in-text), with "
        "other images than placeholders (placeholder-mismatch), without an answer "
        "(no-assistant-turn), with what the template has no place for (unsupported), with an added "
        "token that specials-in-text=error refuses, or a conversation that is none (bad-record), "
        "with texts that are no UTF-8 (bad-encoding), are too long (overlong) or cannot be cut by "
        "the tokenizer's pattern (other). See docs/text.md.",
    .examples =
        (const char *const[]){ "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! "
                               "tokenize tokenizer=tokenizer.json max-length=4096 ! fakesink",
                               NULL },
    .needs = "conversation",
    .gives = "input_ids, labels, attention_mask, mm_token_type_ids, position_ids, image_grid_thw, "
             "image_targets",
    .takes = "conversation", .shared_size = sizeof (Shared), .worker_size = sizeof (Worker),
    .props = props, .parallel = HR_PARALLEL_YES, .check = tokenize_check,
    .check_place = tokenize_check_place, .start = tokenize_start, .stop = tokenize_stop,
    .identify = tokenize_identify, .worker_start = tokenize_worker_start,
    .worker_stop = tokenize_worker_stop, .process = tokenize_process)
