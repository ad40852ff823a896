/* send.c: puts all tensors of a batch on a device, and makes patches of its images there
 *
 * Three blocks on the device: pixels, which the next batch overwrites as soon as the kernel is
 * done; pixel_values; and all other fields, one behind the other, each at a multiple of 256 bytes.
 * What lies in page-locked memory is copied from where it is, the rest is put together in one
 * page-locked block before. */
#include "send.h"
#include <string.h>
#include "patching.h"

#define ALIGNMENT 256

/* a tensor that goes as it is */
typedef struct {
  const char *name;
  gint index; /* in the list of that name; -1: the field itself */
  HrTensor *tensor;
  gsize at; /* in the block of fields */
} Item;

typedef struct {
  HrCudaTarget *target;
  HrBuffer *batch;
  GPtrArray *sources;
  HrOut *out;
  HrCudaUpload *upload;
  GArray *items;      /* Item: those to stage come first */
  gsize staged, size; /* bytes of them, and of all, of the block of fields */
  HrMemory *fields;
  GArray *images; /* HrPatchImage; NULL: there are none */
  gsize images_at;
  gsize n_rows;
} Send;

static gsize
aligned (gsize size)
{
  return (size + ALIGNMENT - 1) & ~(gsize)(ALIGNMENT - 1);
}

static gboolean
is_pinned (const Send *send, const HrTensor *tensor)
{
  return hr_memory_is_from (hr_tensor_get_memory (tensor), send->target->device->pinned);
}

static HrMemory *
on_device (Send *send, gsize size, GError **error)
{
  HrMemory *memory = hr_memory_new_from_allocator (&send->target->device->parent, size, error);

  if (memory != NULL)
    hr_cuda_memory_set_upload (memory, send->upload);
  return memory;
}

/* page-locked, and kept until the upload is over */
static guint8 *
staging (Send *send, gsize size, GError **error)
{
  HrMemory *memory = hr_memory_new_from_allocator (send->target->device->pinned, size, error);

  if (memory == NULL)
    return NULL;
  g_ptr_array_add (send->sources, memory);
  hr_out_count_copy (send->out, size);
  return memory->data;
}

static gboolean
copy (Send *send, HrMemory *into, gsize at, const void *from, gsize size, GError **error)
{
  HrCudaDevice *device = send->target->device;
  guint8 *address = hr_cuda_memory_get_address (into);

  return size == 0
         || hr_cuda_device_check (device,
                                  device->cudart->MemcpyAsync (address + at, from, size,
                                                               HR_CUDA_HOST_TO_DEVICE,
                                                               device->stream),
                                  "copying to it", error);
}

/* ---- what there is ---- */

static gboolean
add_item (Send *send, const char *name, gint index, HrTensor *tensor, GError **error)
{
  Item item = { name, index, tensor, 0 };

  if (hr_tensor_get_data (tensor) == NULL) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "\"%s\" is on a device already: one element that copies there is enough", name);
    return FALSE;
  }
  if (!hr_tensor_is_contiguous (tensor)) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "\"%s\" is not contiguous: whoever makes it must copy it", name);
    return FALSE;
  }
  g_array_append_val (send->items, item);
  return TRUE;
}

static gboolean
add_list (Send *send, const char *name, const HrList *list, GError **error)
{
  for (guint i = 0; i < hr_list_get_length (list); i++) {
    HrTensor *tensor = hr_list_get_tensor (list, i);

    if (tensor != NULL && !add_item (send, name, (gint)i, tensor, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
collect_items (Send *send, GError **error)
{
  for (guint i = 0; i < hr_buffer_get_n_fields (send->batch); i++) {
    const char *name = hr_buffer_get_field (send->batch, i, NULL);
    HrTensor *tensor = hr_buffer_get_tensor (send->batch, name);
    HrList *list = hr_buffer_get_list (send->batch, name);

    if (tensor != NULL && !add_item (send, name, -1, tensor, error))
      return FALSE;
    if (list != NULL && !g_str_equal (name, "images") && !add_list (send, name, list, error))
      return FALSE;
  }
  return TRUE;
}

static void
lay_out (Send *send, gboolean pinned)
{
  for (guint i = 0; i < send->items->len; i++) {
    Item *item = &g_array_index (send->items, Item, i);

    if (is_pinned (send, item->tensor) != pinned)
      continue;
    item->at = send->size;
    send->size += aligned (hr_tensor_get_n_bytes (item->tensor));
  }
}

/* the kernel's list of images: where each begins, in pixels and in rows */
static void
list_images (Send *send, const HrList *images)
{
  gsize row = 0, source = 0;

  send->images = g_array_new (FALSE, TRUE, sizeof (HrPatchImage));
  for (guint i = 0; i < hr_list_get_length (images); i++) {
    const HrTensor *tensor = hr_list_get_tensor (images, i);
    HrPatchImage image = { .source = source,
                           .row = row,
                           .height = (guint32)hr_tensor_get_dim (tensor, 0),
                           .width = (guint32)hr_tensor_get_dim (tensor, 1) };

    g_array_append_val (send->images, image);
    row += hr_patch_rows (&send->target->shape, image.height, image.width);
    source += aligned (hr_tensor_get_n_bytes (tensor));
  }
}

/* ---- the copies ---- */

static gboolean
copy_fields (Send *send, GError **error)
{
  guint8 *block;

  if (send->size == 0)
    return TRUE;
  send->fields = on_device (send, send->size, error);
  block = send->fields != NULL && send->staged > 0 ? staging (send, send->staged, error) : NULL;
  if (send->fields == NULL || (send->staged > 0 && block == NULL))
    return FALSE;
  for (guint i = 0; i < send->items->len; i++) {
    const Item *item = &g_array_index (send->items, Item, i);
    gsize size = hr_tensor_get_n_bytes (item->tensor);

    if (!is_pinned (send, item->tensor)) {
      if (size > 0)
        memcpy (block + item->at, hr_tensor_get_data (item->tensor), size);
      continue;
    }
    g_ptr_array_add (send->sources, hr_memory_ref (hr_tensor_get_memory (item->tensor)));
    if (!copy (send, send->fields, item->at, hr_tensor_get_data (item->tensor), size, error))
      return FALSE;
  }
  if (send->images != NULL)
    memcpy (block + send->images_at, send->images->data, send->images->len * sizeof (HrPatchImage));
  return copy (send, send->fields, 0, block, send->staged, error);
}

/* uint8, an eighth of what float32 patches are */
static gboolean
copy_pixels (Send *send, const HrList *images, HrMemory *pixels, GError **error)
{
  for (guint i = 0; i < send->images->len; i++) {
    HrTensor *tensor = hr_list_get_tensor (images, i);
    gsize size = hr_tensor_get_n_bytes (tensor);
    const guint8 *from = hr_tensor_get_data (tensor);

    if (is_pinned (send, tensor)) {
      g_ptr_array_add (send->sources, hr_memory_ref (hr_tensor_get_memory (tensor)));
    } else {
      guint8 *block = staging (send, size, error);

      if (block == NULL)
        return FALSE;
      memcpy (block, from, size);
      from = block;
    }
    if (!copy (send, pixels, g_array_index (send->images, HrPatchImage, i).source, from, size,
               error))
      return FALSE;
  }
  return TRUE;
}

static gsize
count_pixels (const Send *send, const HrList *images)
{
  const HrPatchImage *last = &g_array_index (send->images, HrPatchImage, send->images->len - 1);

  return last->source + hr_tensor_get_n_bytes (hr_list_get_tensor (images, send->images->len - 1));
}

static gboolean
make_patches (Send *send, const HrList *images, GError **error)
{
  HrCudaTarget *target = send->target;
  gint64 shape[2] = { (gint64)send->n_rows, (gint64)hr_patch_columns (&target->shape) };
  g_autoptr (HrMemory) pixels = on_device (send, count_pixels (send, images), error);
  HrMemory *values;
  HrPatchParams params = { .n_rows = send->n_rows, .n_images = send->images->len };

  if (pixels == NULL || !copy_pixels (send, images, pixels, error))
    return FALSE;
  values = on_device (
      send, send->n_rows * (gsize)shape[1] * hr_patch_type_size (target->table.type), error);
  if (values == NULL)
    return FALSE;
  params.pixels = hr_cuda_memory_get_address (pixels);
  params.images =
      (const HrPatchImage *)(const void *)((guint8 *)hr_cuda_memory_get_address (send->fields)
                                           + send->images_at);
  params.out = hr_cuda_memory_get_address (values);
  hr_buffer_set_tensor (
      send->batch, "pixel_values",
      hr_tensor_new (values, 0, hr_patching_get_dtype (target->table.type), 2, shape));
  return hr_patch_kernel_launch (target->kernel, &params, error);
}

/* ---- a batch ---- */

static void
replace_tensors (Send *send)
{
  for (guint i = 0; i < send->items->len; i++) {
    const Item *item = &g_array_index (send->items, Item, i);
    HrTensor *tensor =
        hr_tensor_new (hr_memory_ref (send->fields), item->at, hr_tensor_get_dtype (item->tensor),
                       hr_tensor_get_n_dims (item->tensor), hr_tensor_get_shape (item->tensor));

    if (item->index < 0)
      hr_buffer_set_tensor (send->batch, item->name, tensor);
    else
      hr_list_set_tensor (hr_buffer_get_list (send->batch, item->name), (guint)item->index, tensor);
  }
}

/* others may have the lists of a batch too, though not the batch */
static void
own_lists (HrBuffer *batch)
{
  for (guint i = 0; i < hr_buffer_get_n_fields (batch); i++) {
    const char *name = hr_buffer_get_field (batch, i, NULL);
    HrList *list = hr_buffer_get_list (batch, name), *own;

    if (list == NULL || g_str_equal (name, "images"))
      continue;
    own = hr_list_new (hr_list_get_length (list));
    hr_list_append_list (own, list);
    hr_buffer_set_list (batch, name, own);
  }
}

static gboolean
prepare_images (Send *send, HrList *images, GError **error)
{
  HrCudaTarget *target = send->target;
  HrTensor *grids = hr_patching_make_grids (&target->shape, images, &send->n_rows, error);

  if (grids == NULL)
    return FALSE;
  hr_buffer_set_tensor (send->batch, "image_grid_thw", grids);
  if (target->kernel == NULL)
    target->kernel = hr_patch_kernel_load (target->device, &target->shape, &target->table, error);
  return target->kernel != NULL;
}

static gboolean
send_all (Send *send, GError **error)
{
  HrList *images = hr_buffer_get_list (send->batch, "images");
  g_autoptr (HrList) held = NULL;

  if (images != NULL && hr_list_get_length (images) > 0) {
    held = hr_list_ref (images);
    if (!prepare_images (send, held, error))
      return FALSE;
    list_images (send, held);
  }
  own_lists (send->batch);
  if (!collect_items (send, error))
    return FALSE;
  if (send->images != NULL) {
    send->images_at = send->size;
    send->size += aligned (send->images->len * sizeof (HrPatchImage));
  }
  lay_out (send, FALSE);
  send->staged = send->size;
  lay_out (send, TRUE);
  if (!copy_fields (send, error) || (held != NULL && !make_patches (send, held, error)))
    return FALSE;
  replace_tensors (send);
  hr_buffer_remove (send->batch, "images");
  if (held != NULL)
    hr_patching_forget_pixels (send->batch);
  return hr_cuda_upload_end (send->upload, error);
}

HrCudaUpload *
hr_cuda_send (HrCudaTarget *target, HrBuffer *batch, GPtrArray *sources, HrOut *out, GError **error)
{
  Send send = { .target = target, .batch = batch, .sources = sources, .out = out };
  gboolean ok;

  send.upload = hr_cuda_upload_begin (target->device, target->meter, error);
  if (send.upload == NULL)
    return NULL;
  send.items = g_array_new (FALSE, FALSE, sizeof (Item));
  ok = send_all (&send, error);
  if (!ok) /* some may be on its way: sources are free when the stream has come so far */
    hr_cuda_device_settle (target->device);
  g_array_unref (send.items);
  g_clear_pointer (&send.images, g_array_unref);
  hr_memory_unref (send.fields);
  if (ok)
    return send.upload;
  hr_cuda_upload_unref (send.upload);
  return NULL;
}
