/* rows.c: a block of samples becomes packed rows */
#include "rows.h"
#include "collate.h"
#include "columns.h"
#include "hr-pack.h"

static void
drop (HrBuffer *sample, const HrPackSize *size, const HrRowLimits *limits, HrOut *out)
{
  GError *why = NULL;

  if (size->tokens > limits->max_tokens)
    hr_set_data_error (&why, HR_DATA_ERROR_OVERLONG,
                       "%" G_GINT64_FORMAT " tokens, and a row has max-tokens=%" G_GINT64_FORMAT
                       "; tokenize max-length=%" G_GINT64_FORMAT " can cut or shrink it",
                       size->tokens, limits->max_tokens, limits->max_tokens);
  else
    hr_set_data_error (&why, HR_DATA_ERROR_OVERLONG,
                       "%" G_GINT64_FORMAT
                       " tokens of images, and a row has max-image-tokens=%" G_GINT64_FORMAT,
                       size->image_tokens, limits->max_image_tokens);
  hr_buffer_unref (hr_out_note_drop (out, sample, why));
}

/* what fits into a row at all; @sizes as long as @block */
static GPtrArray *
pick (GPtrArray *block, const HrRowLimits *limits, HrTokenForm *form, HrPackSize *sizes, HrOut *out,
      GError **error)
{
  g_autoptr (GPtrArray) picked = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);

  for (guint i = 0; i < block->len; i++) {
    const HrBuffer *sample = block->pdata[i];
    HrPackSize size;

    if (sample->flags & HR_BUFFER_HOLE)
      continue;
    if (!hr_token_form_check (form, sample, error))
      return NULL;
    size = (HrPackSize){ hr_tokens_count (sample), hr_tokens_count_images (sample) };
    if (size.tokens > limits->max_tokens
        || (limits->max_image_tokens > 0 && size.image_tokens > limits->max_image_tokens)) {
      drop (g_steal_pointer (&block->pdata[i]), &size, limits, out);
      continue;
    }
    sizes[picked->len] = size;
    g_ptr_array_add (picked, g_steal_pointer (&block->pdata[i]));
  }
  return g_steal_pointer (&picked);
}

static gboolean
finish_row (HrBuffer *row, const HrTokenForm *form, HrOut *out, GError **error)
{
  if (!hr_collate_packed (row, form, out, error)
      || !hr_collate_images (row, hr_buffer_get_n_members (row), out, error))
    return FALSE;
  hr_columns_set (row, FALSE, 0, hr_collate_fields);
  hr_collate_forget (row);
  return TRUE;
}

GPtrArray *
hr_rows_make (GPtrArray *block, const HrRowLimits *limits, HrTokenForm *form, HrOut *out,
              GError **error)
{
  g_autoptr (GPtrArray) samples = NULL;
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  g_autofree HrPackSize *sizes = g_new (HrPackSize, block->len + 1);
  g_autofree guint *row_of = g_new (guint, block->len + 1);
  guint n_rows;

  samples = pick (block, limits, form, sizes, out, error);
  if (samples == NULL)
    return NULL;
  n_rows =
      hr_pack_block (sizes, samples->len, limits->max_tokens, limits->max_image_tokens, row_of);
  for (guint row = 0; row < n_rows; row++)
    g_ptr_array_add (rows, hr_buffer_new ());
  for (guint i = 0; i < samples->len; i++)
    hr_buffer_add_member (rows->pdata[row_of[i]], g_steal_pointer (&samples->pdata[i]));
  for (guint row = 0; row < n_rows; row++)
    if (!finish_row (rows->pdata[row], form, out, error))
      return NULL;
  return g_steal_pointer (&rows);
}

HrBuffer *
hr_rows_make_padding (const HrTokenForm *form, gint64 pad_id, HrOut *out, GError **error)
{
  g_autoptr (HrBuffer) row = hr_buffer_new ();

  row->flags |= HR_BUFFER_BATCH;
  if (!hr_collate_padded (row, form, 1, 1, pad_id, out, error)
      || !hr_collate_images (row, 1, out, error))
    return NULL;
  hr_buffer_remove (row, "attention_mask"); /* rows have none */
  hr_collate_set_borders (row, 1);
  hr_columns_set (row, TRUE, 1, hr_collate_fields);
  return g_steal_pointer (&row);
}
