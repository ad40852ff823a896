/* kernel-batch.c: images of random pixels, the arguments of a launch over them, and what it must
 * write */
#include "kernel-batch.h"

static void
place_images (KernelBatch *batch, const HrPatchShape *shape, guint n_images, gsize gap, GRand *rand)
{
  guint block = shape->size * shape->merge;
  gsize at = gap, row = 0;

  for (guint i = 0; i < n_images; i++) {
    HrPatchImage *image = &batch->images[i];

    image->height = block * (guint)g_rand_int_range (rand, 1, 6);
    image->width = block * (guint)g_rand_int_range (rand, 1, 6);
    image->source = at;
    image->row = row;
    at += (gsize)image->height * image->width * 3 + gap;
    row += hr_patch_rows (shape, image->height, image->width);
  }
  batch->n_pixel_bytes = at;
  batch->params.n_rows = row;
}

void
kernel_batch_init (KernelBatch *batch, const HrPatchShape *shape, const HrPatchTable *table,
                   guint n_images, gsize gap, GRand *rand)
{
  gsize row = hr_patch_columns (shape) * hr_patch_type_size (table->type);

  memset (batch, 0, sizeof (*batch));
  batch->table = *table;
  batch->images = g_new0 (HrPatchImage, n_images);
  place_images (batch, shape, n_images, gap, rand);
  batch->pixels = g_malloc (batch->n_pixel_bytes);
  for (gsize i = 0; i < batch->n_pixel_bytes; i++)
    batch->pixels[i] = (guint8)g_rand_int (rand);
  batch->n_bytes = batch->params.n_rows * row;
  batch->expected = g_malloc (batch->n_bytes);
  for (guint i = 0; i < n_images; i++)
    hr_patch_write (shape, table, batch->pixels + batch->images[i].source, batch->images[i].height,
                    batch->images[i].width, batch->expected + batch->images[i].row * row);
  batch->params.pixels = batch->pixels;
  batch->params.images = batch->images;
  batch->params.table = table->type == HR_PATCH_FLOAT32 ? (gconstpointer)batch->table.values
                        : table->type == HR_PATCH_UINT8 ? NULL
                                                        : (gconstpointer)batch->table.halves;
  batch->params.n_images = n_images;
  batch->params.patch = shape->size;
  batch->params.merge = shape->merge;
  batch->params.temporal = shape->temporal;
  batch->params.type = (unsigned int)table->type;
}

void
kernel_batch_clear (KernelBatch *batch)
{
  g_clear_pointer (&batch->images, g_free);
  g_clear_pointer (&batch->pixels, g_free);
  g_clear_pointer (&batch->expected, g_free);
}
