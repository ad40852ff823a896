/* code.c: the functions of the library: code and kernels */
#include <string.h>
#include "call.h"

#define INVALID_CONFIGURATION 9 /* cudaErrorInvalidConfiguration */
/* a runtime before 12.8 leaves these to the driver */
#ifdef STANDIN_BEFORE_12_8
#define LIBRARY_FUNCTION(name) cu##name
int cuLaunchKernel (HrCudaKernel kernel, unsigned int grid_x, unsigned int grid_y,
                    unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                    unsigned int block_z, unsigned int shared, HrCudaStream stream,
                    void **arguments, void **extra);
#else
#define LIBRARY_FUNCTION(name) cuda##name
#endif
#define X(name, arguments) int LIBRARY_FUNCTION (name) arguments;
HR_CUDA_LIBRARY_FUNCTIONS (X)
#undef X

struct CUlib_st {
  gboolean unloaded;
  gboolean fits;
};

struct CUkern_st {
  HrCudaLibrary library;
};

static GPtrArray *libraries, *kernels; /* for ever */

void
standin_code_list_left (GPtrArray *lines)
{
  for (guint i = 0; libraries != NULL && i < libraries->len; i++)
    if (!((HrCudaLibrary)libraries->pdata[i])->unloaded)
      g_ptr_array_add (lines, g_strdup_printf ("code %u", i));
}

#define FATBIN_MAGIC 0xBA55ED50u

/* A fatbin is a header of 16 bytes and entries, each with a header of its own: kind, 1 for PTX and
 * 2 for machine code, its sizes, and the capability it is for. Seen in what nvcc 13 writes. */
typedef struct {
  guint16 kind, version;
  guint32 header_size;
  guint64 size;
  guint32 reserved[3];
  guint32 capability; /* 90 */
} FatbinEntry;

static gboolean
fits (const FatbinEntry *entry)
{
  int major = (int)entry->capability / 10, minor = (int)entry->capability % 10;

  if (entry->kind == 1)
    return major * 10 + minor <= standin_config.major * 10 + standin_config.minor;
  return entry->kind == 2 && major == standin_config.major && minor <= standin_config.minor;
}

int
LIBRARY_FUNCTION (LibraryLoadData) (HrCudaLibrary *library, const void *code, int *jit_options,
                                    void **jit_values, unsigned int n_jit_options,
                                    int *library_options, void **library_values,
                                    unsigned int n_library_options)
{
  const guint8 *at = code;
  guint32 magic;
  guint64 size;
  gboolean found = FALSE;

  (void)jit_options;
  (void)jit_values;
  (void)library_options;
  (void)library_values;
  ENTER_DEVICE ("LibraryLoadData");
  if (n_jit_options != 0 || n_library_options != 0)
    return standin_leave (HR_CUDA_INVALID_VALUE);
  memcpy (&magic, at, sizeof (magic));
  if (magic != FATBIN_MAGIC)
    return standin_leave (HR_CUDA_INVALID_IMAGE);
  memcpy (&size, at + 8, sizeof (size));
  at += 16;
  for (gsize done = 0; done + sizeof (FatbinEntry) <= size;) {
    FatbinEntry entry;

    memcpy (&entry, at + done, sizeof (entry));
    found = found || fits (&entry);
    done += entry.header_size + entry.size;
  }
  if (!found && !standin_config.lazy)
    return standin_leave (HR_CUDA_NO_KERNEL_IMAGE);
  *library = standin_remember (&libraries, g_new0 (struct CUlib_st, 1));
  (*library)->fits = found;
  return standin_leave (0);
}

int
LIBRARY_FUNCTION (LibraryUnload) (HrCudaLibrary library)
{
  ENTER_DEVICE ("LibraryUnload");
  if (!standin_knows (libraries, library) || library->unloaded) {
    standin_misuse ("bad-library", "%p is no loaded code", (gpointer)library);
    return standin_leave (STANDIN_INVALID_HANDLE);
  }
  library->unloaded = TRUE;
  return standin_leave (0);
}

int
LIBRARY_FUNCTION (LibraryGetKernel) (HrCudaKernel *kernel, HrCudaLibrary library, const char *name)
{
  ENTER_DEVICE ("LibraryGetKernel");
  if (!standin_knows (libraries, library) || library->unloaded)
    return standin_leave (STANDIN_INVALID_HANDLE);
  if (strcmp (name, HR_PATCH_KERNEL) != 0)
    return standin_leave (HR_CUDA_NOT_FOUND);
  *kernel = standin_remember (&kernels, g_new0 (struct CUkern_st, 1));
  (*kernel)->library = library;
  return standin_leave (0);
}

int
cudaLaunchKernel (const void *function, HrCudaSize grid, HrCudaSize block, void **arguments,
                  size_t shared, HrCudaStream handle)
{
  const struct CUkern_st *kernel = function;
  StandinStream *stream;
  StandinWork *work;

  ENTER_DEVICE ("LaunchKernel");
  stream = standin_stream_get (handle, standin_device, TRUE);
  if (stream == NULL)
    return standin_leave (STANDIN_INVALID_HANDLE);
  if (!standin_knows (kernels, function) || kernel->library->unloaded) {
    standin_misuse ("bad-kernel", "%p is no kernel of loaded code", function);
    return standin_leave (STANDIN_INVALID_HANDLE);
  }
  if (!kernel->library->fits)
    return standin_leave (HR_CUDA_NO_KERNEL_IMAGE);
  if (grid.x == 0 || grid.y != 1 || grid.z != 1 || block.x == 0 || block.x > HR_PATCH_THREADS
      || block.y != 1 || block.z != 1 || shared != 0)
    return standin_leave (INVALID_CONFIGURATION);
  work = standin_work_new (STANDIN_KERNEL, stream);
  work->params = *(const HrPatchParams *)arguments[0];
  work->n_blocks = grid.x;
  work->n_threads = block.x;
  standin_kernel_prepare (work);
  standin_work_give (work);
  return standin_leave (0);
}

#ifdef STANDIN_BEFORE_12_8
int
cuLaunchKernel (HrCudaKernel kernel, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                unsigned int block_x, unsigned int block_y, unsigned int block_z,
                unsigned int shared, HrCudaStream stream, void **arguments, void **extra)
{
  if (extra != NULL)
    return HR_CUDA_INVALID_VALUE;
  return cudaLaunchKernel (kernel, (HrCudaSize){ grid_x, grid_y, grid_z },
                           (HrCudaSize){ block_x, block_y, block_z }, arguments, shared, stream);
}
#endif
