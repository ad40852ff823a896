/* kernel.c: the kernel that makes patches of pixels, on one device */
#include "kernel.h"
#include <dlfcn.h>
#include <string.h>

/* what plugins/cuda/kernel/meson.build compiles for */
#define ARCHITECTURES "sm_80, sm_90, sm_100, and PTX from sm_80 on"
#define FILE_NAME "hrpatchify.fatbin"

struct _HrPatchKernelOn {
  HrCudaDevice *device;
  HrCudaLibrary library;
  HrCudaKernel kernel;
  GMappedFile *file;
  HrMemory *table;   /* NULL: uint8 has none */
  HrMemory *staging; /* page-locked: what the table is copied from */
  HrPatchShape shape;
  HrPatchType type;
};

/* beside the plugin where it is installed, in a folder below it where it is built */
static GMappedFile *
open_file (GError **error)
{
  const char *named = g_getenv ("HR_CUDA_KERNEL");
  g_autofree char *folder = NULL, *beside = NULL, *below = NULL;
  Dl_info info;

  if (named != NULL && *named != '\0') {
    GMappedFile *file = g_mapped_file_new (named, FALSE, error);

    g_prefix_error (error, "HR_CUDA_KERNEL: ");
    return file;
  }
  if (dladdr ((void *)hr_patch_kernel_load, &info) != 0 && info.dli_fname != NULL) {
    folder = g_path_get_dirname (info.dli_fname);
    beside = g_build_filename (folder, FILE_NAME, NULL);
    below = g_build_filename (folder, "cuda", "kernel", FILE_NAME, NULL);
    if (g_file_test (beside, G_FILE_TEST_EXISTS))
      return g_mapped_file_new (beside, FALSE, error);
    if (g_file_test (below, G_FILE_TEST_EXISTS))
      return g_mapped_file_new (below, FALSE, error);
  }
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
               "this build has no kernel for GPUs: %s is not beside the plugin: build with nvcc of "
               "CUDA 12.8 or newer in PATH, or make patches on the CPU: patchify ! cudaupload",
               FILE_NAME);
  return NULL;
}

static gboolean
check_image (const HrCudaDevice *device, int code, const char *doing, GError **error)
{
  if (code != HR_CUDA_NO_KERNEL_IMAGE && code != HR_CUDA_INVALID_IMAGE
      && code != HR_CUDA_UNSUPPORTED_PTX)
    return hr_cuda_device_check (device, code, doing, error);
  device->cudart->GetLastError ();
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "device %d is sm_%d%d, and the kernel does not run there (%s); this build has %s: "
               "install a newer driver, rebuild for it, or make patches on the CPU: patchify ! "
               "cudaupload",
               device->index, device->major, device->minor, device->cudart->GetErrorName (code),
               ARCHITECTURES);
  return FALSE;
}

/* in the stream, as all copies are: nobody waits for it */
static gboolean
copy_table (HrPatchKernelOn *kernel, const HrPatchTable *table, GError **error)
{
  HrCudaDevice *device = kernel->device;
  const void *from = table->type == HR_PATCH_FLOAT32 ? (const void *)table->values : table->halves;
  gsize size = 3 * 256 * hr_patch_type_size (table->type);

  if (table->type == HR_PATCH_UINT8)
    return TRUE;
  kernel->staging = hr_memory_new_from_allocator (device->pinned, size, error);
  if (kernel->staging == NULL)
    return FALSE;
  memcpy (kernel->staging->data, from, size);
  kernel->table = hr_memory_new_from_allocator (&device->parent, size, error);
  return kernel->table != NULL
         && hr_cuda_device_check (
             device,
             device->cudart->MemcpyAsync (hr_cuda_memory_get_address (kernel->table),
                                          kernel->staging->data, size, HR_CUDA_HOST_TO_DEVICE,
                                          device->stream),
             "copying a table", error);
}

HrPatchKernelOn *
hr_patch_kernel_load (HrCudaDevice *device, const HrPatchShape *shape, const HrPatchTable *table,
                      GError **error)
{
  const HrCudart *cudart = device->cudart;
  HrPatchKernelOn *kernel = g_new0 (HrPatchKernelOn, 1);

  kernel->device = (HrCudaDevice *)hr_allocator_ref (&device->parent);
  kernel->shape = *shape;
  kernel->type = table->type;
  kernel->file = open_file (error);
  if (kernel->file != NULL
      && check_image (device,
                      cudart->LibraryLoadData (&kernel->library,
                                               g_mapped_file_get_contents (kernel->file), NULL,
                                               NULL, 0, NULL, NULL, 0),
                      "loading the kernel", error)
      && check_image (device,
                      cudart->LibraryGetKernel (&kernel->kernel, kernel->library, HR_PATCH_KERNEL),
                      "finding the kernel " HR_PATCH_KERNEL, error)
      && copy_table (kernel, table, error))
    return kernel;
  hr_patch_kernel_free (kernel);
  return NULL;
}

void
hr_patch_kernel_free (HrPatchKernelOn *kernel)
{
  HrCudaDevice *device = kernel->device;

  hr_cuda_device_settle (device); /* what is in it still runs it */
  if (kernel->library != NULL)
    device->cudart->LibraryUnload (kernel->library);
  hr_memory_unref (kernel->table);
  hr_memory_unref (kernel->staging);
  g_clear_pointer (&kernel->file, g_mapped_file_unref);
  hr_allocator_unref (&device->parent);
  g_free (kernel);
}

gboolean
hr_patch_kernel_launch (const HrPatchKernelOn *kernel, HrPatchParams *params, GError **error)
{
  HrCudaDevice *device = kernel->device;
  void *arguments[] = { params };
  unsigned int blocks;
  int code;

  params->table = kernel->table != NULL ? hr_cuda_memory_get_address (kernel->table) : NULL;
  params->patch = kernel->shape.size;
  params->merge = kernel->shape.merge;
  params->temporal = kernel->shape.temporal;
  params->type = (unsigned int)kernel->type;
  blocks = hr_patch_blocks (params);
  if (device->cudart->launch_by_driver != NULL)
    code = device->cudart->launch_by_driver (kernel->kernel, blocks, 1, 1, HR_PATCH_THREADS, 1, 1,
                                             0, device->stream, arguments, NULL);
  else
    code = device->cudart->LaunchKernel (kernel->kernel, (HrCudaSize){ blocks, 1, 1 },
                                         (HrCudaSize){ HR_PATCH_THREADS, 1, 1 }, arguments, 0,
                                         device->stream);
  return check_image (device, code, "starting the kernel", error);
}
