/* layout.c: rendered tokens become the tensors of a sample */
#include "layout.h"
#include <string.h>

void
hr_layout_init (HrLayout *layout)
{
  layout->runs = g_array_new (FALSE, FALSE, sizeof (HrMediaRun));
  layout->spans = g_array_new (FALSE, FALSE, sizeof (HrMediaSpan));
  layout->ids = g_array_new (FALSE, FALSE, sizeof (gint32));
  layout->labels = g_array_new (FALSE, FALSE, sizeof (gint32));
}

void
hr_layout_clear (HrLayout *layout)
{
  g_clear_pointer (&layout->runs, g_array_unref);
  g_clear_pointer (&layout->spans, g_array_unref);
  g_clear_pointer (&layout->ids, g_array_unref);
  g_clear_pointer (&layout->labels, g_array_unref);
}

gint64
hr_layout_image_tokens (const gint32 *target, guint factor)
{
  return (gint64)(target[0] / (gint32)factor) * (target[1] / (gint32)factor);
}

void
hr_layout_set (HrLayout *layout, const HrRendered *rendered, const gint32 *targets, guint factor)
{
  gint64 more = 0; /* tokens that the images so far have besides their pads */

  layout->n_images = rendered->images->len;
  g_array_set_size (layout->runs, 0);
  g_array_set_size (layout->spans, 0);
  for (guint i = 0; i < layout->n_images; i++) {
    HrMediaRun run = { .at = (gint64)g_array_index (rendered->images, gsize, i) + more,
                       .frames = 1,
                       .height = (guint32)targets[2 * i] / factor,
                       .width = (guint32)targets[2 * i + 1] / factor,
                       .type = 1 };
    HrMediaSpan span = { run.at - 1, run.at + hr_media_run_length (&run) + 1 };

    g_array_append_val (layout->runs, run);
    g_array_append_val (layout->spans, span);
    more += hr_media_run_length (&run) - 1;
  }
  layout->length = (gint64)rendered->ids.n + more;
}

void
hr_layout_cut (HrLayout *layout, gint64 most)
{
  layout->length = hr_truncate_cut ((const HrMediaSpan *)(gpointer)layout->spans->data,
                                    layout->spans->len, MIN (most, layout->length));
  while (layout->n_images > 0
         && g_array_index (layout->spans, HrMediaSpan, layout->n_images - 1).end > layout->length)
    layout->n_images--;
  g_array_set_size (layout->runs, layout->n_images);
  g_array_set_size (layout->spans, layout->n_images);
}

/* where token @index of the rendered ones is */
static gint64
place_of (const HrLayout *layout, const HrRendered *rendered, gsize index)
{
  gint64 more = 0;

  for (guint i = 0; i < layout->n_images; i++) {
    if (g_array_index (rendered->images, gsize, i) >= index)
      break;
    more += hr_media_run_length (&g_array_index (layout->runs, HrMediaRun, i)) - 1;
  }
  return (gint64)index + more;
}

gint64
hr_layout_count_labels (HrLayout *layout, const HrRendered *rendered)
{
  gint64 n = 0;

  for (guint i = 0; i < rendered->learned->len; i++) {
    const HrTokenSpan *span = &g_array_index (rendered->learned, HrTokenSpan, i);
    gint64 from = place_of (layout, rendered, span->from);
    gint64 to = MIN (place_of (layout, rendered, span->to), layout->length);

    n += MAX (to - from, 0);
  }
  return n;
}

/* ---- ids and labels ---- */

static void
expand_ids (HrLayout *layout, const HrRendered *rendered)
{
  gint32 *into;
  const guint32 *ids = rendered->ids.data;
  gint64 at = 0;

  g_array_set_size (layout->ids, (guint)layout->length);
  into = (gint32 *)(gpointer)layout->ids->data;
  for (guint i = 0; i < layout->n_images; i++) {
    const HrMediaRun *run = &g_array_index (layout->runs, HrMediaRun, i);
    gint64 n = hr_media_run_length (run);

    memcpy (into + at, ids, (gsize)(run->at - at) * sizeof (gint32));
    ids += run->at - at;
    for (gint64 k = 0; k < n; k++)
      into[run->at + k] = (gint32)*ids;
    ids++;
    at = run->at + n;
  }
  memcpy (into + at, ids, (gsize)(layout->length - at) * sizeof (gint32));
}

static void
expand_labels (HrLayout *layout, const HrRendered *rendered)
{
  const gint32 *ids = (const gint32 *)(gpointer)layout->ids->data;
  gint32 *into;

  g_array_set_size (layout->labels, (guint)layout->length);
  into = (gint32 *)(gpointer)layout->labels->data;
  for (gint64 i = 0; i < layout->length; i++)
    into[i] = HR_IGNORED;
  for (guint i = 0; i < rendered->learned->len; i++) {
    const HrTokenSpan *span = &g_array_index (rendered->learned, HrTokenSpan, i);
    gint64 from = place_of (layout, rendered, span->from);
    gint64 to = MIN (place_of (layout, rendered, span->to), layout->length);

    if (to > from)
      memcpy (into + from, ids + from, (gsize)(to - from) * sizeof (gint32));
  }
}

/* ---- tensors ---- */

typedef struct {
  HrMemory *memory;
  gsize used;
} Block;

static gsize
padded (gsize size)
{
  return (size + 63) & ~(gsize)63;
}

/* the next piece of the block as a tensor */
static gpointer
take (Block *block, HrBuffer *sample, const char *name, HrDType dtype, guint n_dims,
      const gint64 *shape)
{
  HrTensor *tensor =
      hr_tensor_new (hr_memory_ref (block->memory), block->used, dtype, n_dims, shape);

  block->used += padded (hr_tensor_get_n_bytes (tensor));
  hr_buffer_set_tensor (sample, name, tensor);
  return hr_tensor_get_data (tensor);
}

static void
store (gpointer into, gboolean wide, const GArray *values)
{
  const gint32 *from = (const gint32 *)(gpointer)values->data;
  gint64 *numbers = into;

  if (!wide) {
    memcpy (into, from, values->len * sizeof (gint32));
    return;
  }
  for (guint i = 0; i < values->len; i++)
    numbers[i] = from[i];
}

static void
store_ones (gpointer into, gboolean wide, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    if (wide)
      ((gint64 *)into)[i] = 1;
    else
      ((gint32 *)into)[i] = 1;
}

static void
store_grids (gint64 *into, const HrLayoutForm *form, guint n)
{
  for (guint i = 0; i < n; i++) {
    into[3 * i] = 1;
    into[3 * i + 1] = form->targets[2 * i] / (gint32)form->patch_size;
    into[3 * i + 2] = form->targets[2 * i + 1] / (gint32)form->patch_size;
  }
}

gboolean
hr_layout_store (HrLayout *layout, const HrRendered *rendered, const HrLayoutForm *form,
                 HrBuffer *sample, HrOut *out, GError **error)
{
  const HrDType dtype = form->wide ? HR_INT64 : HR_INT32;
  const gint64 row[] = { layout->length }, rows[] = { form->position_rows, layout->length };
  const gint64 grids[] = { layout->n_images, 3 };
  gsize width = form->wide ? 8 : 4, line = padded ((gsize)layout->length * width);
  gsize size = 3 * line + padded ((gsize)layout->length * 4)
               + padded (form->position_rows * (gsize)layout->length * width)
               + padded (layout->n_images * 3 * sizeof (gint64));
  g_autoptr (HrMemory) memory = hr_out_alloc (out, "input_ids", size, error);
  const HrMediaRun *runs = (const HrMediaRun *)(gpointer)layout->runs->data;
  Block block = { memory, 0 };

  if (memory == NULL)
    return FALSE;
  expand_ids (layout, rendered);
  expand_labels (layout, rendered);
  store (take (&block, sample, "input_ids", dtype, 1, row), form->wide, layout->ids);
  store (take (&block, sample, "labels", dtype, 1, row), form->wide, layout->labels);
  store_ones (take (&block, sample, "attention_mask", dtype, 1, row), form->wide, layout->length);
  hr_positions_fill_types (runs, layout->n_images, layout->length,
                           take (&block, sample, "mm_token_type_ids", HR_INT32, 1, row));
  hr_positions_fill (runs, layout->n_images, HR_TIME_QWEN3_VL, layout->length, form->position_rows,
                     form->wide, take (&block, sample, "position_ids", dtype, 2, rows));
  if (layout->n_images > 0)
    store_grids (take (&block, sample, "image_grid_thw", HR_INT64, 2, grids), form,
                 layout->n_images);
  return TRUE;
}
