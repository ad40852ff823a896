/* collate.c: tensors of samples become tensors of a batch */
#include "collate.h"
#include <string.h>

/* what fills the rest of a row */
typedef enum { FILL_ZERO, FILL_PAD_ID, FILL_IGNORED } Fill;

typedef struct {
  const char *name;
  gboolean planes; /* [planes, length], not [length] */
  Fill fill;
  gboolean padded_only;
} TokenField;

static const TokenField token_fields[] = {
  { "input_ids", FALSE, FILL_PAD_ID, FALSE },   { "labels", FALSE, FILL_IGNORED, FALSE },
  { "attention_mask", FALSE, FILL_ZERO, TRUE }, { "mm_token_type_ids", FALSE, FILL_ZERO, FALSE },
  { "position_ids", TRUE, FILL_ZERO, FALSE },
};

/* a row an image, or many rows an image */
static const char *const image_fields[] = { "image_grid_thw", "image_sizes", "image_targets",
                                            "pixel_values", NULL };

const char *const hr_collate_fields[] = {
  "input_ids",      "labels",      "attention_mask", "mm_token_type_ids", "position_ids",
  "image_grid_thw", "image_sizes", "image_targets",  "pixel_values",      NULL
};

/* ---- one field ---- */

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

static gsize
item_size (const HrTensor *tensor)
{
  return hr_tensor_get_dtype (tensor).bits / 8;
}

/* dimension @dim may differ, nothing else */
static gboolean
check_alike (const HrTensor *one, const HrTensor *other, guint dim, const char *name,
             GError **error)
{
  HrDType a = hr_tensor_get_dtype (one), b = hr_tensor_get_dtype (other);
  gboolean alike = a.code == b.code && a.bits == b.bits && hr_tensor_is_contiguous (other)
                   && hr_tensor_get_n_dims (one) == hr_tensor_get_n_dims (other);

  for (guint i = 0; alike && i < hr_tensor_get_n_dims (one); i++)
    alike = i == dim || hr_tensor_get_dim (one, i) == hr_tensor_get_dim (other, i);
  if (!alike)
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "the samples' \"%s\" do not go together: they differ in type or shape", name);
  return alike;
}

static gint64
length_of (const HrBuffer *sample)
{
  HrTensor *ids = hr_buffer_get_tensor (sample, "input_ids");

  return ids != NULL && hr_tensor_get_n_dims (ids) == 1 ? hr_tensor_get_dim (ids, 0) : 0;
}

static void
fill (guint8 *into, gsize n, gsize width, gint64 value)
{
  if (value == 0)
    memset (into, 0, n * width);
  else
    for (gsize i = 0; i < n; i++)
      if (width == 8)
        ((gint64 *)(gpointer)into)[i] = value;
      else
        ((gint32 *)(gpointer)into)[i] = (gint32)value;
}

static gint64
fill_value (Fill kind, gint64 pad_id)
{
  return kind == FILL_PAD_ID ? pad_id : kind == FILL_IGNORED ? -100 : 0;
}

/* where a sample's tokens go */
typedef struct {
  gsize width;  /* of a number */
  guint planes; /* 1, or those of position_ids */
  gsize plane;  /* bytes of one */
  guint8 *into;
} Target;

/* @length numbers of each plane, to @at numbers from its begin */
static void
copy_tokens (const Target *target, const HrTensor *tensor, gint64 at, HrOut *out)
{
  gsize row = hr_tensor_get_n_bytes (tensor) / target->planes;
  const guint8 *from = hr_tensor_get_data (tensor);

  for (guint plane = 0; plane < target->planes; plane++)
    memcpy (target->into + plane * target->plane + (gsize)at * target->width, from + plane * row,
            row);
  hr_out_count_copy (out, hr_tensor_get_n_bytes (tensor));
}

/* memory for [planes,] rows, length */
static HrMemory *
begin_field (Target *target, const TokenField *field, const HrTensor *example, gint64 rows,
             gint64 length, HrOut *out, GError **error)
{
  HrMemory *memory;

  target->width = item_size (example);
  target->planes = field->planes ? (guint)hr_tensor_get_dim (example, 0) : 1;
  target->plane = (gsize)(rows * length) * target->width;
  memory = hr_out_alloc (out, field->name, MAX (target->plane * target->planes, 1), error);
  target->into = memory != NULL ? memory->data : NULL;
  return memory;
}

static void
end_field (HrBuffer *batch, const TokenField *field, const Target *target, const HrTensor *example,
           HrMemory *memory, gint64 rows, gint64 length)
{
  const gint64 shape[] = { target->planes, rows, length };
  guint skip = field->planes ? 0 : 1;

  hr_buffer_set_tensor (
      batch, field->name,
      hr_tensor_new (memory, 0, hr_tensor_get_dtype (example), 3 - skip, shape + skip));
}

/* the field of a sample, which must be like the others' and as long as its ids */
static gboolean
get_tokens (const HrBuffer *sample, const TokenField *field, const HrTensor *example,
            HrTensor **tensor, GError **error)
{
  guint dim = field->planes ? 1 : 0;

  *tensor = hr_buffer_get_tensor (sample, field->name);
  if (*tensor == NULL) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "a sample has no \"%s\": tokenize gives it", field->name);
    return FALSE;
  }
  if (hr_tensor_get_n_dims (*tensor) == dim + 1
      && hr_tensor_get_dim (*tensor, dim) == length_of (sample))
    return check_alike (example, *tensor, dim, field->name, error);
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
               "a sample's \"%s\" is not as long as its ids", field->name);
  return FALSE;
}

/* ---- padded ---- */

static gboolean
pad_field (HrBuffer *batch, const TokenField *field, gint64 rows, gint64 length, gint64 pad_id,
           HrOut *out, GError **error)
{
  HrTensor *example = find_example (batch, field->name);
  g_autoptr (HrMemory) memory = NULL;
  Target target;

  if (example == NULL)
    return TRUE;
  memory = begin_field (&target, field, example, rows, length, out, error);
  if (memory == NULL)
    return FALSE;
  fill (target.into, (gsize)(rows * length) * target.planes, target.width,
        fill_value (field->fill, pad_id));
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    HrBuffer *sample = hr_buffer_get_member (batch, i);
    HrTensor *tensor;

    if (sample->flags & HR_BUFFER_HOLE)
      continue;
    if (!get_tokens (sample, field, example, &tensor, error))
      return FALSE;
    copy_tokens (&target, tensor, i * length, out);
  }
  end_field (batch, field, &target, example, g_steal_pointer (&memory), rows, length);
  return TRUE;
}

gboolean
hr_collate_padded (HrBuffer *batch, guint rows, gint64 pad_id, HrOut *out, GError **error)
{
  gint64 length = 1;

  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++)
    length = MAX (length, length_of (hr_buffer_get_member (batch, i)));
  for (guint f = 0; f < G_N_ELEMENTS (token_fields); f++)
    if (!pad_field (batch, &token_fields[f], rows, length, pad_id, out, error))
      return FALSE;
  return TRUE;
}

/* ---- packed ---- */

static gboolean
join_field (HrBuffer *row, const TokenField *field, gint64 length, HrOut *out, GError **error)
{
  HrTensor *example = find_example (row, field->name);
  g_autoptr (HrMemory) memory = NULL;
  Target target;
  gint64 at = 0;

  if (example == NULL)
    return TRUE;
  memory = begin_field (&target, field, example, 1, length, out, error);
  if (memory == NULL)
    return FALSE;
  for (guint i = 0; i < hr_buffer_get_n_members (row); i++) {
    HrBuffer *sample = hr_buffer_get_member (row, i);
    HrTensor *tensor;

    if (!get_tokens (sample, field, example, &tensor, error))
      return FALSE;
    copy_tokens (&target, tensor, at, out);
    at += length_of (sample);
  }
  end_field (row, field, &target, example, g_steal_pointer (&memory), 1, length);
  return TRUE;
}

gboolean
hr_collate_packed (HrBuffer *row, HrOut *out, GError **error)
{
  guint n = hr_buffer_get_n_members (row);
  HrMemory *borders = hr_memory_new ((n + 1) * sizeof (gint32)),
           *most = hr_memory_new (sizeof (gint32));
  gint32 *cu = (gint32 *)(gpointer)borders->data, longest = 0;
  gint64 shape = n + 1;

  cu[0] = 0;
  for (guint i = 0; i < n; i++) {
    gint32 length = (gint32)length_of (hr_buffer_get_member (row, i));

    cu[i + 1] = cu[i] + length;
    longest = MAX (longest, length);
  }
  memcpy (most->data, &longest, sizeof (longest));
  hr_buffer_set_tensor (row, "cu_seqlens", hr_tensor_new (borders, 0, HR_INT32, 1, &shape));
  hr_buffer_set_tensor (row, "max_length_q", hr_tensor_new (most, 0, HR_INT32, 0, NULL));
  for (guint f = 0; f < G_N_ELEMENTS (token_fields); f++)
    if (!token_fields[f].padded_only && !join_field (row, &token_fields[f], cu[n], out, error))
      return FALSE;
  return TRUE;
}

/* ---- images ---- */

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
    if (hr_tensor_get_n_dims (tensor) != 2 || !check_alike (example, tensor, 0, name, error))
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
  if (!has_images (batch) && find_example (batch, "image_grid_thw") != NULL)
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
