/* kernel.c: the one kernel, run by loops of its own body */
#include <string.h>
#include "patchify-kernel.h"
#include "standin.h"

static gsize
row_size (const HrPatchParams *params)
{
  return (gsize)3 * params->temporal * params->patch * params->patch
         * hr_patch_number_size (params->type);
}

static gsize
table_size (const HrPatchParams *params)
{
  return params->type == HR_PATCH_OUT_UINT8
             ? 0
             : HR_PATCH_TABLE_SIZE * (gsize)hr_patch_number_size (params->type);
}

/* what the kernel relies on; NULL: all is well */
static const char *
find_fault (const StandinWork *work)
{
  const HrPatchParams *params = &work->params;
  gsize row = 0;

  if (params->n_rows == 0 || params->n_images == 0 || params->patch == 0 || params->merge == 0
      || params->temporal == 0)
    return "there are no rows, images, or sides";
  if (params->type > HR_PATCH_OUT_UINT8)
    return "its type is none";
  if ((guintptr)params->out % 256 != 0)
    return "its output is not aligned to 256 bytes";
  for (guint i = 0; work->images != NULL && i < params->n_images; i++) {
    const HrPatchImage *image = &work->images[i];
    guint block = params->patch * params->merge;

    if (image->row != row || image->height == 0 || image->width == 0 || image->height % block != 0
        || image->width % block != 0)
      return "an image has other rows or sides than it can have";
    row += (gsize)(image->height / params->patch) * (image->width / params->patch);
  }
  return work->images == NULL || row == params->n_rows ? NULL : "rows and images are not as many";
}

static gboolean
check (StandinWork *work)
{
  const char *fault = find_fault (work);

  if (fault != NULL) {
    standin_misuse ("bad-launch", "%s", fault);
    work->dead = TRUE;
  }
  return fault == NULL;
}

void
standin_kernel_prepare (StandinWork *work)
{
  const HrPatchParams *params = &work->params;
  gsize images_size = params->n_images * sizeof (HrPatchImage);

  if (!check (work))
    return;
  standin_work_touch (work, params->images, images_size, FALSE, "the kernel's list of images");
  if (table_size (params) > 0)
    standin_work_touch (work, params->table, table_size (params), FALSE, "the kernel's table");
  standin_work_touch (work, params->out, params->n_rows * row_size (params), TRUE,
                      "the kernel's rows");
  if (work->dead)
    return;
  work->images = g_memdup2 (standin_work_foresee (params->images, images_size), images_size);
  if (!check (work))
    return;
  for (guint i = 0; i < params->n_images && !work->dead; i++)
    standin_work_touch (work, params->pixels + work->images[i].source,
                        (gsize)work->images[i].height * work->images[i].width * 3, FALSE,
                        "the kernel's pixels");
  work->size = params->n_rows * row_size (params);
}

static gboolean
is_gone (const void *memory)
{
  const StandinBlock *block = standin_memory_find (memory);

  return block == NULL || block->freed;
}

void
standin_kernel_do (StandinWork *work)
{
  HrPatchParams params = work->params;
  gsize images_size = params.n_images * sizeof (HrPatchImage);

  if (is_gone (params.images) || is_gone (params.out)
      || is_gone (params.pixels + work->images[0].source)
      || (table_size (&params) > 0 && is_gone (params.table)))
    return;
  if (memcmp (standin_memory_reach (params.images), work->images, images_size) != 0) {
    standin_misuse ("unwritten", "the kernel's list of images was not there when it ran");
    return;
  }
  params.images = work->images;
  /* one address for all images, so that it may lie outside of any block */
  params.pixels =
      standin_memory_reach (params.pixels + work->images[0].source) - work->images[0].source;
  params.table = table_size (&params) > 0 ? standin_memory_reach (params.table) : NULL;
  params.out = standin_memory_reach (params.out);
  hr_patch_launch (&params, work->n_blocks, work->n_threads);
}
