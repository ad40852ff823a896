/* collate.c: tensors of samples become tensors of a batch */
#include "collate.h"
#include <string.h>

/* a row an image, or many rows an image */
static const char *const image_fields[] = { "image_grid_thw", "image_sizes", "image_targets",
                                            "pixel_values", NULL };

const char *const hr_collate_fields[] = {
  "input_ids",      "labels",      "attention_mask", "mm_token_type_ids", "position_ids",
  "image_grid_thw", "image_sizes", "image_targets",  "pixel_values",      NULL
};

/* ---- tokens ---- */

/* a field of the batch while it is made: [planes,] rows, length */
typedef struct {
  const char *name;
  HrDType dtype;
  guint planes; /* those of position_ids; else 1 */
  gint64 rows, length;
  gsize width; /* bytes of a number */
  gsize plane; /* bytes of a plane */
  HrMemory *memory;
} Target;

static gboolean
begin_field (Target *target, const HrTokenForm *form, guint field, gint64 rows, gint64 length,
             HrOut *out, GError **error)
{
  target->name = hr_token_fields[field];
  target->dtype = form->dtypes[field];
  target->planes = field == HR_TOKENS_POSITIONS ? form->planes : 1;
  target->rows = rows;
  target->length = length;
  target->width = target->dtype.bits / 8;
  target->plane = (gsize)(rows * length) * target->width;
  target->memory = hr_out_alloc (out, target->name, target->plane * target->planes, error);
  return target->memory != NULL;
}

static void
end_field (HrBuffer *batch, Target *target, gboolean has_planes)
{
  const gint64 shape[] = { target->planes, target->rows, target->length };
  guint skip = has_planes ? 0 : 1;

  hr_buffer_set_tensor (
      batch, target->name,
      hr_tensor_new (g_steal_pointer (&target->memory), 0, target->dtype, 3 - skip, shape + skip));
}

static void
fill (Target *target, gint64 value)
{
  gsize n = (gsize)(target->rows * target->length) * target->planes;

  if (value == 0)
    memset (target->memory->data, 0, n * target->width);
  else
    for (gsize i = 0; i < n; i++)
      if (target->width == 8)
        ((gint64 *)(gpointer)target->memory->data)[i] = value;
      else
        ((gint32 *)(gpointer)target->memory->data)[i] = (gint32)value;
}

/* a sample's numbers, to @at numbers from the begin of each plane */
static void
copy_tokens (Target *target, const HrBuffer *sample, gint64 at, HrOut *out)
{
  HrTensor *tensor = hr_buffer_get_tensor (sample, target->name);
  gsize size = hr_tensor_get_n_bytes (tensor), row = size / target->planes;
  const guint8 *from = hr_tensor_get_data (tensor);
  guint8 *into = target->memory->data + (gsize)at * target->width;

  for (guint plane = 0; plane < target->planes; plane++)
    memcpy (into + plane * target->plane, from + plane * row, row);
  hr_out_count_copy (out, size);
}

gboolean
hr_collate_padded (HrBuffer *batch, const HrTokenForm *form, guint rows, gint64 length,
                   gint64 pad_id, HrOut *out, GError **error)
{
  for (guint field = 0; field < HR_N_TOKEN_FIELDS; field++) {
    Target target;

    if (!form->has[field])
      continue;
    if (!begin_field (&target, form, field, rows, length, out, error))
      return FALSE;
    fill (&target, field == HR_TOKENS_IDS ? pad_id : field == HR_TOKENS_LABELS ? -100 : 0);
    for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
      const HrBuffer *sample = hr_buffer_get_member (batch, i);

      if (!(sample->flags & HR_BUFFER_HOLE))
        copy_tokens (&target, sample, i * length, out);
    }
    end_field (batch, &target, field == HR_TOKENS_POSITIONS);
  }
  return TRUE;
}

gint64
hr_collate_set_borders (HrBuffer *row, gint64 padding)
{
  guint n_members = hr_buffer_get_n_members (row), n = n_members + (padding > 0);
  HrMemory *borders = hr_memory_new ((n + 1) * sizeof (gint32)),
           *most = hr_memory_new (sizeof (gint32));
  gint32 *cu = (gint32 *)(gpointer)borders->data, longest = 0;
  gint64 shape = n + 1, length;

  cu[0] = 0;
  for (guint i = 0; i < n; i++) {
    cu[i + 1] =
        cu[i] + (gint32)(i < n_members ? hr_tokens_count (hr_buffer_get_member (row, i)) : padding);
    longest = MAX (longest, cu[i + 1] - cu[i]);
  }
  length = cu[n];
  memcpy (most->data, &longest, sizeof longest);
  hr_buffer_set_tensor (row, "cu_seqlens", hr_tensor_new (borders, 0, HR_INT32, 1, &shape));
  hr_buffer_set_tensor (row, "max_length_q",
                        hr_tensor_new (hr_memory_ref (most), 0, HR_INT32, 0, NULL));
  hr_buffer_set_tensor (row, "max_length_k", hr_tensor_new (most, 0, HR_INT32, 0, NULL));
  return length;
}

gboolean
hr_collate_packed (HrBuffer *row, const HrTokenForm *form, HrOut *out, GError **error)
{
  gint64 length = hr_collate_set_borders (row, 0);

  for (guint field = 0; field < HR_N_TOKEN_FIELDS; field++) {
    Target target;
    gint64 at = 0;

    if (!form->has[field] || field == HR_TOKENS_MASK)
      continue;
    if (!begin_field (&target, form, field, 1, length, out, error))
      return FALSE;
    for (guint i = 0; i < hr_buffer_get_n_members (row); i++) {
      const HrBuffer *sample = hr_buffer_get_member (row, i);

      copy_tokens (&target, sample, at, out);
      at += hr_tokens_count (sample);
    }
    end_field (row, &target, field == HR_TOKENS_POSITIONS);
  }
  return TRUE;
}

/* ---- images ---- */

/* a sample that has the field; NULL: none */
static HrTensor *
find_example (const HrBuffer *batch, const char *name)
{
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    HrTensor *tensor = hr_buffer_get_tensor (hr_buffer_get_member (batch, i), name);

    if (tensor != NULL)
      return tensor;
  }
  return NULL;
}

/* tables that can be put one below the other */
static gboolean
check_alike (const HrTensor *one, const HrTensor *other, const char *name, GError **error)
{
  HrDType a = hr_tensor_get_dtype (one), b = hr_tensor_get_dtype (other);

  if (a.code == b.code && a.bits == b.bits && a.lanes == b.lanes && hr_tensor_get_n_dims (one) == 2
      && hr_tensor_get_n_dims (other) == 2 && hr_tensor_is_contiguous (other)
      && hr_tensor_get_dim (one, 1) == hr_tensor_get_dim (other, 1))
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
               "the samples' \"%s\" do not go together: they differ in type or shape", name);
  return FALSE;
}

static gboolean
join_images (HrBuffer *batch, const char *name, HrOut *out, GError **error)
{
  HrTensor *example = find_example (batch, name);
  g_autoptr (HrMemory) memory = NULL;
  gint64 shape[2] = { 0, 0 };
  gsize size = 0, at = 0;

  if (example == NULL)
    return TRUE;
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    HrTensor *tensor = hr_buffer_get_tensor (hr_buffer_get_member (batch, i), name);

    if (tensor == NULL)
      continue;
    if (!check_alike (example, tensor, name, error))
      return FALSE;
    shape[0] += hr_tensor_get_dim (tensor, 0);
    size += hr_tensor_get_n_bytes (tensor);
  }
  if (shape[0] == 0)
    return TRUE;
  shape[1] = hr_tensor_get_dim (example, 1);
  memory = hr_out_alloc (out, name, size, error);
  if (memory == NULL)
    return FALSE;
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    HrTensor *tensor = hr_buffer_get_tensor (hr_buffer_get_member (batch, i), name);

    if (tensor == NULL)
      continue;
    memcpy (memory->data + at, hr_tensor_get_data (tensor), hr_tensor_get_n_bytes (tensor));
    at += hr_tensor_get_n_bytes (tensor);
  }
  hr_out_count_copy (out, size);
  hr_buffer_set_tensor (
      batch, name,
      hr_tensor_new (g_steal_pointer (&memory), 0, hr_tensor_get_dtype (example), 2, shape));
  return TRUE;
}

static void
set_image_ranges (HrBuffer *batch, guint rows)
{
  HrMemory *memory = hr_memory_new ((rows + 1) * sizeof (gint32));
  gint32 *cu = (gint32 *)(gpointer)memory->data;
  gint64 shape = rows + 1;

  cu[0] = 0;
  for (guint i = 0; i < rows; i++) {
    HrTensor *grids = i < hr_buffer_get_n_members (batch)
                          ? hr_buffer_get_tensor (hr_buffer_get_member (batch, i), "image_grid_thw")
                          : NULL;

    cu[i + 1] = cu[i] + (grids != NULL ? (gint32)hr_tensor_get_dim (grids, 0) : 0);
  }
  hr_buffer_set_tensor (batch, "image_cu", hr_tensor_new (memory, 0, HR_INT32, 1, &shape));
}

static gboolean
has_images (const HrBuffer *batch)
{
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++)
    if (hr_buffer_get_list (hr_buffer_get_member (batch, i), "images") != NULL)
      return TRUE;
  return FALSE;
}

gboolean
hr_collate_images (HrBuffer *batch, guint rows, HrOut *out, GError **error)
{
  for (guint i = 0; image_fields[i] != NULL; i++)
    if (!join_images (batch, image_fields[i], out, error))
      return FALSE;
  if (!has_images (batch))
    set_image_ranges (batch, rows);
  return TRUE;
}

void
hr_collate_forget (HrBuffer *batch)
{
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    HrBuffer *member = hr_buffer_get_member (batch, i);

    if (!hr_buffer_is_writable (member))
      continue;
    for (guint f = 0; hr_collate_fields[f] != NULL; f++)
      hr_buffer_remove (member, hr_collate_fields[f]);
    hr_buffer_remove (member, "images");
  }
}
