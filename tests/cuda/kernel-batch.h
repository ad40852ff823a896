/* kernel-batch.h: images of random pixels, the arguments of a launch over them, and what it must
 * write */
#pragma once
#include <glib.h>
#include "kernel-params.h"
#include "patch.h"

/**
 * KernelBatch:
 * @params: pointers are the CPU's
 * @expected: what hr_patch_write() makes of the images, one after the other
 *
 * A batch of images as it lies in a device's memory.
 */
typedef struct {
  HrPatchParams params;
  HrPatchTable table;
  HrPatchImage *images;
  guint8 *pixels;
  gsize n_pixel_bytes;
  guint8 *expected;
  gsize n_bytes;
} KernelBatch;

/* @gap: bytes between images and in front of the first one */
void kernel_batch_init (KernelBatch *batch, const HrPatchShape *shape, const HrPatchTable *table,
                        guint n_images, gsize gap, GRand *rand);
void kernel_batch_clear (KernelBatch *batch);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (KernelBatch, kernel_batch_clear)
