/* batch.c: N samples in one buffer, or as many as fit into a row of tokens */
#include "collate.h"
#include "columns.h"
#include "rows.h"

typedef struct {
  guint64 size;
  gint mode;
  gboolean drop_last;
  guint64 pad_id;
  guint64 pad_to_multiple;
  guint64 max_bytes;
  guint64 max_tokens;
  guint64 max_image_tokens;
  guint64 pack_window;
} Batch;

typedef enum { MODE_LIST, MODE_PADDED, MODE_PACKED } Mode;

typedef struct {
  HrTokenForm form;
  HrBuffer *open;   /* list, padded: members so far */
  GPtrArray *block; /* packed: HrBuffer, holes too */
  gint64 dropped;
  gint64 rows; /* packed, and what is in them */
  gint64 tokens;
} State;

static const char *const modes[] = { "list", "padded", "packed", NULL };

static const HrProp props[] = {
  HR_PROP_UINT (Batch, size, 1, 1 << 20, 32, "Samples in a batch; for mode=list and padded",
                .flags = HR_PROP_STREAM | HR_PROP_SHARE, .unit = "samples"),
  HR_PROP_ENUM (
      Batch, mode, modes, MODE_LIST,
      "list: each field becomes a list over the samples; padded: one row a sample, filled "
      "up to the longest; packed: samples one after the other in a row of max-tokens",
      .flags = HR_PROP_STREAM),
  HR_PROP_BOOL (Batch, drop_last, FALSE,
                "Leave out the last batch if it is not full; for mode=list and padded",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Batch, pad_id, 0, G_MAXINT32, 151643, "What fills input_ids, for mode=padded",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Batch, pad_to_multiple, 1, 65536, 1,
                "The length of rows is rounded up to a multiple of it, for mode=padded",
                .flags = HR_PROP_STREAM, .unit = "tokens"),
  HR_PROP_SIZE (Batch, max_bytes, 1, 1024 * HR_GIB, HR_GIB,
                "Most bytes of the tokens of a batch, for mode=padded; a larger one ends the run "
                "before memory is taken for it"),
  HR_PROP_UINT (Batch, max_tokens, 1, G_MAXINT32, 8192, "Most tokens of a row, for mode=packed",
                .flags = HR_PROP_STREAM, .unit = "tokens"),
  HR_PROP_UINT (Batch, max_image_tokens, 0, G_MAXINT32, 0,
                "Most tokens of images in a row, for mode=packed; 0: any", .flags = HR_PROP_STREAM,
                .unit = "tokens"),
  HR_PROP_UINT (Batch, pack_window, 1, 8192, 512,
                "Samples that are packed together, for mode=packed: none leaves its block",
                .flags = HR_PROP_STREAM, .unit = "samples"),
  HR_PROP_END
};

/* ---- before the run ---- */

#define IN(mode) (1u << (mode))

/* what does nothing in a mode, and what to do instead */
static const struct {
  const char *property;
  guint modes; /* in which it counts */
  const char *instead;
} uses[] = {
  { "size", IN (MODE_LIST) | IN (MODE_PADDED),
    "max-tokens says how much a row takes, pack-window how many samples are packed together" },
  { "drop-last", IN (MODE_LIST) | IN (MODE_PADDED),
    "the last block, however short, is packed as any other, and rows are never quite full" },
  { "pad-id", IN (MODE_PADDED), "only mode=padded fills rows up" },
  { "pad-to-multiple", IN (MODE_PADDED), "only mode=padded fills rows up" },
  { "max-bytes", IN (MODE_PADDED), "only mode=padded makes rows of one length" },
  { "max-tokens", IN (MODE_PACKED), "tokenize max-length=… bounds the length of a sample" },
  { "max-image-tokens", IN (MODE_PACKED), "max-pixels=… bounds the tokens of an image" },
  { "pack-window", IN (MODE_PACKED), "size=… says how many samples a batch has" },
};

static HrWalk
end_at_batch (HrElement *element, gpointer data G_GNUC_UNUSED)
{
  return g_str_equal (hr_element_get_factory (element), "batch") ? HR_WALK_END : HR_WALK_ON;
}

/* its samples would be batches, and what counts samples would count those */
static gboolean
check_alone (HrElement *element, GError **error)
{
  HrElement *first = hr_element_walk_upstream (element, end_at_batch, NULL);

  if (first == NULL)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "it would put the batches of \"%s\" into batches\nkeep one of them, with the size "
               "of both together",
               hr_element_get_name (first));
  return FALSE;
}

/* a property that would do nothing: whoever wrote it expects something */
static gboolean
batch_check_place (gconstpointer data, HrElement *element, GError **error)
{
  const Batch *self = data;

  for (guint i = 0; i < G_N_ELEMENTS (uses); i++) {
    if ((uses[i].modes & IN ((guint)self->mode)) || !hr_element_is_set (element, uses[i].property))
      continue;
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                 "%s does nothing in mode=%s\nleave it out: %s", uses[i].property,
                 modes[self->mode], uses[i].instead);
    return FALSE;
  }
  return check_alone (element, error);
}

static const char *
batch_needs_of (gconstpointer data)
{
  const Batch *self = data;

  return self->mode == MODE_LIST ? NULL : "input_ids";
}

/* a list holds what the samples have */
static const char *const *
batch_rewrites_of (gconstpointer data)
{
  return ((const Batch *)data)->mode == MODE_LIST ? NULL : hr_collate_fields;
}

static gboolean
batch_start (gconstpointer self G_GNUC_UNUSED, gpointer shared, HrElement *element,
             GError **error G_GNUC_UNUSED)
{
  State *state = shared;

  hr_token_form_init (&state->form, element);
  return TRUE;
}

/* ---- list and padded ---- */

/* the longest sample's, rounded up; of a batch of holes as few as there can be */
static gboolean
find_length (const Batch *self, State *state, const HrBuffer *batch, gint64 *length, GError **error)
{
  gint64 multiple = (gint64)self->pad_to_multiple;

  *length = 1;
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    const HrBuffer *sample = hr_buffer_get_member (batch, i);

    if (sample->flags & HR_BUFFER_HOLE)
      continue;
    if (!hr_token_form_check (&state->form, sample, error))
      return FALSE;
    *length = MAX (*length, hr_tokens_count (sample));
  }
  *length = (*length + multiple - 1) / multiple * multiple;
  return TRUE;
}

/* one long sample makes all rows as long: what that takes is known before it is taken */
static gboolean
check_bytes (const Batch *self, const State *state, guint rows, gint64 length, GError **error)
{
  guint64 bytes = 0;
  g_autofree char *takes = NULL, *limit = NULL;

  for (guint field = 0; field < HR_N_TOKEN_FIELDS; field++)
    if (state->form.has[field])
      bytes += (guint64)rows * (guint64)length * (state->form.dtypes[field].bits / 8)
               * (field == HR_TOKENS_POSITIONS ? state->form.planes : 1);
  if (bytes <= self->max_bytes)
    return TRUE;
  takes = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  limit = g_format_size_full (self->max_bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
               "a padded batch of %u rows of %" G_GINT64_FORMAT
               " tokens takes %s, and max-bytes is %s; a smaller size, tokenize max-length=, "
               "mode=packed or a larger max-bytes would do",
               rows, length, takes, limit);
  return FALSE;
}

static gboolean
finish_batch (const Batch *self, State *state, HrBuffer *batch, HrOut *out, GError **error)
{
  guint rows = (guint)self->size;
  gint64 length;

  if (self->mode == MODE_LIST) {
    hr_columns_set (batch, FALSE, 0, NULL);
    return TRUE;
  }
  if (!find_length (self, state, batch, &length, error)
      || !check_bytes (self, state, rows, length, error)
      || !hr_collate_padded (batch, &state->form, rows, length, (gint64)self->pad_id, out, error)
      || !hr_collate_images (batch, rows, out, error))
    return FALSE;
  hr_columns_set (batch, TRUE, rows, hr_collate_fields);
  hr_collate_forget (batch);
  return TRUE;
}

static gboolean
flush (const Batch *self, State *state, HrOut *out, GError **error)
{
  g_autoptr (HrBuffer) batch = g_steal_pointer (&state->open);

  if (!finish_batch (self, state, batch, out, error))
    return FALSE;
  hr_out_push (out, g_steal_pointer (&batch));
  return TRUE;
}

static gboolean
add_to_batch (const Batch *self, State *state, HrBuffer *in, HrOut *out, GError **error)
{
  if (state->open == NULL)
    state->open = hr_buffer_new ();
  hr_buffer_add_member (state->open, in);
  return hr_buffer_get_n_members (state->open) < self->size || flush (self, state, out, error);
}

/* ---- packed ---- */

/* where rows are numbered, a block is one, whatever has become of its samples */
static gboolean
make_one_row (const Batch *self, State *state, GPtrArray *rows, HrOut *out, GError **error)
{
  HrBuffer *row;

  if (rows->len == 1)
    return TRUE;
  if (rows->len > 1) {
    g_set_error_literal (
        error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
        "the samples of a row do not fit into it: they are not what they were when "
        "their lengths were found out");
    return FALSE;
  }
  row = hr_rows_make_padding (&state->form, (gint64)self->pad_id, out, error);
  if (row != NULL)
    g_ptr_array_add (rows, row);
  return row != NULL;
}

static gboolean
pack_block (const Batch *self, State *state, HrOut *out, GError **error)
{
  const HrRowLimits limits = { (gint64)self->max_tokens, (gint64)self->max_image_tokens };
  g_autoptr (GPtrArray) block = g_steal_pointer (&state->block);
  g_autoptr (GPtrArray) rows = hr_rows_make (block, &limits, &state->form, out, error);
  gint64 tokens = state->tokens;

  if (rows == NULL
      || (hr_out_has_numbered_rows (out) && !make_one_row (self, state, rows, out, error)))
    return FALSE;
  for (guint i = 0; i < rows->len; i++) {
    tokens += hr_tensor_get_dim (hr_buffer_get_tensor (rows->pdata[i], "input_ids"), 1);
    hr_out_push (out, g_steal_pointer (&rows->pdata[i]));
  }
  __atomic_store_n (&state->tokens, tokens, __ATOMIC_RELAXED);
  __atomic_store_n (&state->rows, state->rows + rows->len, __ATOMIC_RELAXED);
  return TRUE;
}

static gboolean
add_to_block (const Batch *self, State *state, HrBuffer *in, HrOut *out, GError **error)
{
  gboolean ends = (in->flags & HR_BUFFER_BLOCK_END) != 0;

  if (state->block == NULL)
    state->block = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  g_ptr_array_add (state->block, in);
  if (hr_out_has_numbered_rows (out) ? !ends : state->block->len < self->pack_window)
    return TRUE;
  return pack_block (self, state, out, error);
}

/* ---- the element ---- */

static gboolean
batch_process (gconstpointer data, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  const Batch *self = data;

  return self->mode == MODE_PACKED ? add_to_block (self, worker, in, out, error)
                                   : add_to_batch (self, worker, in, out, error);
}

static gboolean
batch_finish (gconstpointer data, gpointer worker, HrOut *out, GError **error)
{
  const Batch *self = data;
  State *state = worker;

  if (state->block != NULL)
    return pack_block (self, state, out, error);
  if (state->open == NULL)
    return TRUE;
  if (!self->drop_last)
    return flush (self, state, out, error);
  __atomic_store_n (&state->dropped, hr_buffer_get_n_members (state->open), __ATOMIC_RELAXED);
  return TRUE;
}

static void
batch_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  State *state = shared;

  g_clear_pointer (&state->open, hr_buffer_unref);
  g_clear_pointer (&state->block, g_ptr_array_unref);
}

static guint
batch_group (gconstpointer data)
{
  const Batch *self = data;

  return self->mode == MODE_PACKED ? 0 : (guint)self->size;
}

static gboolean
batch_drop_last (gconstpointer data)
{
  return ((const Batch *)data)->drop_last;
}

static guint
batch_block (gconstpointer data)
{
  const Batch *self = data;

  return self->mode == MODE_PACKED ? (guint)self->pack_window : 0;
}

static void
batch_row_limits (gconstpointer data, gint64 *tokens, gint64 *image_tokens)
{
  const Batch *self = data;

  *tokens = (gint64)self->max_tokens;
  *image_tokens = (gint64)self->max_image_tokens;
}

static void
batch_metrics (gconstpointer data, gpointer shared, JsonBuilder *into)
{
  const Batch *self = data;
  State *state = shared;
  gint64 rows = __atomic_load_n (&state->rows, __ATOMIC_RELAXED);

  json_builder_set_member_name (into, "dropped_last");
  json_builder_add_int_value (into, __atomic_load_n (&state->dropped, __ATOMIC_RELAXED));
  if (self->mode != MODE_PACKED || rows == 0)
    return;
  json_builder_set_member_name (into, "rows");
  json_builder_add_int_value (into, rows);
  json_builder_set_member_name (into, "fill");
  json_builder_add_double_value (into, (double)__atomic_load_n (&state->tokens, __ATOMIC_RELAXED)
                                           / ((double)rows * (double)self->max_tokens));
}

HR_ELEMENT (
    batch, Batch, .summary = "Put N samples into one batch",
    .description =
        "mode=list: a batch holds its samples, skipped ones too, and refers to their data; nothing "
        "is copied. Batch k is made of the samples k*N to k*N+N-1 of the order, so a skipped "
        "sample makes it one shorter and never moves a later one up; a batch of skipped samples "
        "is delivered as well. Each field of the samples that are left becomes a list of one "
        "item a sample; lists (\"images\") are flattened in the order of the samples, and "
        "\"image_cu\", int32 [samples + 1], says which images are whose: sample i has "
        "image_cu[i] to image_cu[i+1]-1. A list whose lengths differ from those of \"images\" "
        "has a field NAME_cu of its own.\n\n"
        "mode=padded: the same samples, but what tokenize gives becomes a row a sample: input_ids, "
        "labels, attention_mask, mm_token_type_ids [size, length of the longest], position_ids [3, "
        "size, length]; the rest of a row is pad-id in input_ids, -100 in labels, else 0. A "
        "skipped "
        "sample, and what the last batch lacks, is a row of padding; a batch of skipped samples "
        "has "
        "the same fields as any other.\n\n"
        "mode=packed: blocks of pack-window samples are packed into rows of at most max-tokens, "
        "best fit decreasing; no sample is split or leaves its block, and in a row they keep their "
        "order. input_ids, labels, mm_token_type_ids [1, length], position_ids [3, 1, length], "
        "beginning anew with each sample; \"cu_seqlens\", int32 [samples + 1]: where each begins; "
        "\"max_length_q\", \"max_length_k\", int32: the longest. Skipped samples take no room; "
        "one that is longer than a row is dropped (overlong). The metrics tell how full the rows "
        "are.\n\n"
        "Both: image_grid_thw, image_sizes, image_targets, pixel_values of all samples one below "
        "the other, and image_cu, int32 [rows or samples + 1], always; without any image the "
        "others "
        "are not there. Types are those of tokenize. Both need \"input_ids\". See "
        "docs/batching.md.",
    .examples =
        (const char *const[]){
            "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! tokenize "
            "tokenizer=tokenizer.json ! imagedecode ! resize ! batch size=4 ! fakesink",
            "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! tokenize "
            "tokenizer=tokenizer.json ! imagedecode ! resize ! batch mode=padded size=4 "
            "pad-to-multiple=8 ! patchify ! fakesink",
            "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! tokenize "
            "tokenizer=tokenizer.json ! batch mode=packed max-tokens=8192 ! prefetchqueue ! "
            "imagedecode ! resize ! patchify ! fakesink",
            NULL },
    .gives = "batch", .props = props, .shared_size = sizeof (State), .light = TRUE,
    .takes_holes = TRUE, .check_place = batch_check_place, .needs_of = batch_needs_of,
    .rewrites_of = batch_rewrites_of, .start = batch_start, .process = batch_process,
    .finish = batch_finish, .stop = batch_stop, .group = batch_group, .drop_last = batch_drop_last,
    .block = batch_block, .row_limits = batch_row_limits, .metrics = batch_metrics)
