/* batch.c: N samples in one buffer, or as many as fit into a row of tokens */
#include "collate.h"
#include "columns.h"
#include "headrace.h"
#include "pack.h"

typedef struct {
  guint64 size;
  gint mode;
  gboolean drop_last;
  guint64 pad_id;
  guint64 max_tokens;
  guint64 max_image_tokens;
  guint64 pack_window;
} Batch;

typedef enum { MODE_LIST, MODE_PADDED, MODE_PACKED } Mode;

typedef struct {
  HrBuffer *open;   /* list, padded: members so far */
  GPtrArray *block; /* packed: HrBuffer */
  guint n_block;    /* samples of it so far, skipped ones too */
  gint64 dropped;
  gint64 rows; /* packed, and what is in them */
  gint64 tokens;
} State;

static const char *const modes[] = { "list", "padded", "packed", NULL };

static const HrProp props[] = {
  HR_PROP_UINT (Batch, size, 1, 1 << 20, 32, "Samples in a batch; not for mode=packed",
                .flags = HR_PROP_STREAM, .unit = "samples"),
  HR_PROP_ENUM (
      Batch, mode, modes, MODE_LIST,
      "list: each field becomes a list over the samples; padded: one row a sample, filled "
      "up to the longest; packed: samples one after the other in a row of max-tokens",
      .flags = HR_PROP_STREAM),
  HR_PROP_BOOL (Batch, drop_last, FALSE, "Leave out the last batch if it is not full",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Batch, pad_id, 0, G_MAXINT32, 151643, "What fills input_ids, for mode=padded",
                .flags = HR_PROP_STREAM),
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

/* ---- list and padded ---- */

static gboolean
finish_batch (const Batch *self, HrBuffer *batch, HrOut *out, GError **error)
{
  if (self->mode == MODE_LIST) {
    hr_columns_set (batch, FALSE, 0, NULL);
    return TRUE;
  }
  if (!hr_collate_padded (batch, (guint)self->size, (gint64)self->pad_id, out, error)
      || !hr_collate_images (batch, (guint)self->size, out, error))
    return FALSE;
  hr_columns_set (batch, TRUE, (guint)self->size, hr_collate_fields);
  hr_collate_forget (batch);
  return TRUE;
}

static gboolean
flush (const Batch *self, State *state, HrOut *out, GError **error)
{
  g_autoptr (HrBuffer) batch = g_steal_pointer (&state->open);

  if (!finish_batch (self, batch, out, error))
    return FALSE;
  hr_out_push (out, g_steal_pointer (&batch));
  return TRUE;
}

static gboolean
add_to_batch (const Batch *self, State *state, HrBuffer *in, HrOut *out, GError **error)
{
  if (state->open == NULL)
    state->open = hr_buffer_new ();
  state->open->flags |= in->flags & HR_BUFFER_EPOCH_END;
  hr_buffer_add_member (state->open, in);
  return hr_buffer_get_n_members (state->open) < self->size || flush (self, state, out, error);
}

/* ---- packed ---- */

static HrPackSize
size_of (const HrBuffer *sample)
{
  HrTensor *ids = hr_buffer_get_tensor (sample, "input_ids");
  HrTensor *types = hr_buffer_get_tensor (sample, "mm_token_type_ids");
  HrPackSize size = { ids != NULL ? hr_tensor_get_dim (ids, 0) : 0, 0 };
  const gint32 *type = types != NULL ? hr_tensor_get_data (types) : NULL;

  for (gint64 i = 0; type != NULL && i < hr_tensor_get_dim (types, 0); i++)
    size.image_tokens += type[i] != 0;
  return size;
}

/* TRUE: it can be in a row at all */
static gboolean
fits (const Batch *self, const HrPackSize *size)
{
  return size->tokens <= (gint64)self->max_tokens
         && (self->max_image_tokens == 0 || size->image_tokens <= (gint64)self->max_image_tokens);
}

static void
drop (const Batch *self, HrBuffer *sample, const HrPackSize *size, HrOut *out)
{
  GError *why = NULL;

  if (size->tokens > (gint64)self->max_tokens)
    hr_set_data_error (&why, HR_DATA_ERROR_OVERLONG,
                       "%" G_GINT64_FORMAT " tokens, max-tokens of a row is %" G_GUINT64_FORMAT
                       "; tokenize max-length=%" G_GUINT64_FORMAT " can cut or shrink it",
                       size->tokens, self->max_tokens, self->max_tokens);
  else
    hr_set_data_error (&why, HR_DATA_ERROR_OVERLONG,
                       "%" G_GINT64_FORMAT " tokens of images, max-image-tokens of a row is "
                       "%" G_GUINT64_FORMAT,
                       size->image_tokens, self->max_image_tokens);
  hr_buffer_unref (hr_out_note_drop (out, sample, why));
}

static gboolean
push_row (State *state, GPtrArray *samples, const guint *rows, guint row, HrOut *out,
          GError **error)
{
  g_autoptr (HrBuffer) buffer = hr_buffer_new ();
  gint64 tokens = state->tokens;

  for (guint i = 0; i < samples->len; i++)
    if (rows[i] == row) {
      HrBuffer *sample = g_steal_pointer (&samples->pdata[i]);

      buffer->flags |= sample->flags & HR_BUFFER_EPOCH_END;
      tokens += size_of (sample).tokens;
      hr_buffer_add_member (buffer, sample);
    }
  __atomic_store_n (&state->tokens, tokens, __ATOMIC_RELAXED);
  if (!hr_collate_packed (buffer, out, error)
      || !hr_collate_images (buffer, hr_buffer_get_n_members (buffer), out, error))
    return FALSE;
  hr_columns_set (buffer, FALSE, 0, hr_collate_fields);
  hr_collate_forget (buffer);
  hr_out_push (out, g_steal_pointer (&buffer));
  return TRUE;
}

static gboolean
pack_block (const Batch *self, State *state, HrOut *out, GError **error)
{
  g_autoptr (GPtrArray) samples = g_steal_pointer (&state->block);
  guint n = samples->len;
  g_autofree HrPackSize *sizes = g_new (HrPackSize, n + 1);
  g_autofree guint *rows = g_new (guint, n + 1);
  guint n_rows;

  for (guint i = 0; i < n; i++)
    sizes[i] = size_of (samples->pdata[i]);
  n_rows = hr_pack_block (sizes, n, (gint64)self->max_tokens, (gint64)self->max_image_tokens, rows);
  for (guint row = 0; row < n_rows; row++)
    if (!push_row (state, samples, rows, row, out, error))
      return FALSE;
  __atomic_store_n (&state->rows, state->rows + n_rows, __ATOMIC_RELAXED);
  return TRUE;
}

static gboolean
add_to_block (const Batch *self, State *state, HrBuffer *in, HrOut *out, GError **error)
{
  HrPackSize size = size_of (in);

  if (state->block == NULL)
    state->block = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  state->n_block++;
  if (in->flags & HR_BUFFER_HOLE)
    hr_buffer_unref (in);
  else if (fits (self, &size))
    g_ptr_array_add (state->block, in);
  else
    drop (self, in, &size, out);
  if (state->n_block < self->pack_window)
    return TRUE;
  state->n_block = 0;
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

static guint
batch_block (gconstpointer data)
{
  const Batch *self = data;

  return self->mode == MODE_PACKED ? (guint)self->pack_window : 0;
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
        "mode=padded: the same samples, but what tokenize gives becomes [size, length of the "
        "longest], position_ids [3, size, length]; the rest of a row is pad-id in input_ids, -100 "
        "in labels, else 0. A skipped sample, and what the last batch lacks, is a row of padding. "
        "image_grid_thw, int64 [images, 3], image_sizes, image_targets and pixel_values are "
        "joined. "
        "\n\n"
        "mode=packed: blocks of pack-window samples are packed into rows of at most max-tokens, "
        "best fit decreasing; no sample is split or leaves its block, and in a row they keep their "
        "order. input_ids, labels, mm_token_type_ids [1, length], position_ids [3, 1, length], "
        "\"cu_seqlens\", int32 [samples + 1]: where each begins, \"max_length_q\", int32: the "
        "longest. "
        "Skipped samples take no room; one that is longer than a row is dropped (overlong). The "
        "metrics tell how full the rows are. Put imagedecode behind it: a block then holds encoded "
        "images, not pixels.",
    .examples =
        (const char *const[]){
            "fakesrc num-buffers=10 ! batch size=4 ! fakesink",
            "fakesrc num-buffers=10 ! batch size=4 drop-last=true ! fakesink",
            "fakesrc num-buffers=10 ! batch mode=padded size=4 ! fakesink",
            "fakesrc num-buffers=10 ! batch mode=packed pack-window=4 ! fakesink", NULL },
    .gives = "batch", .props = props, .shared_size = sizeof (State), .light = TRUE,
    .takes_holes = TRUE, .process = batch_process, .finish = batch_finish, .stop = batch_stop,
    .group = batch_group, .block = batch_block, .metrics = batch_metrics)
