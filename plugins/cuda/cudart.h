/* cudart.h: the functions of CUDA's runtime library that we call, found while the program runs
 *
 * No header of CUDA is needed to build: types and numbers here are those of its ABI, which has been
 * the same from version 11 to 13 for all that is used. Source: CUDA Runtime API reference,
 * https://docs.nvidia.com/cuda/cuda-runtime-api/ */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef struct CUstream_st *HrCudaStream; /* cudaStream_t */
typedef struct CUevent_st *HrCudaEvent;   /* cudaEvent_t */
typedef struct CUlib_st *HrCudaLibrary;   /* cudaLibrary_t */
typedef struct CUkern_st *HrCudaKernel;   /* cudaKernel_t */

/* cudaError_t: an int; those that are told apart */
enum {
  HR_CUDA_SUCCESS = 0,
  HR_CUDA_INVALID_VALUE = 1,
  HR_CUDA_NO_MEMORY = 2,            /* cudaErrorMemoryAllocation */
  HR_CUDA_UNLOADING = 4,            /* cudaErrorCudartUnloading: the process ends */
  HR_CUDA_INSUFFICIENT_DRIVER = 35, /* cudaErrorInsufficientDriver: none, or one too old */
  HR_CUDA_NO_DEVICE = 100,
  HR_CUDA_INVALID_DEVICE = 101,
  HR_CUDA_INVALID_IMAGE = 200,   /* cudaErrorInvalidKernelImage */
  HR_CUDA_NO_KERNEL_IMAGE = 209, /* cudaErrorNoKernelImageForDevice */
  HR_CUDA_UNSUPPORTED_PTX = 222, /* cudaErrorUnsupportedPtxVersion: the driver is too old for it */
  HR_CUDA_NOT_FOUND = 500,       /* cudaErrorSymbolNotFound */
  HR_CUDA_NOT_READY = 600
};

/* cudaHostAlloc: usable from all devices */
#define HR_CUDA_HOST_PORTABLE 0x01u
/* cudaStreamCreateWithFlags: does not wait for the legacy default stream */
#define HR_CUDA_STREAM_NON_BLOCKING 0x01u
/* cudaEventCreateWithFlags */
#define HR_CUDA_EVENT_DEFAULT 0x00u
#define HR_CUDA_EVENT_BLOCKING_SYNC 0x01u /* who waits for it sleeps */
#define HR_CUDA_EVENT_DISABLE_TIMING 0x02u
/* cudaMemcpyKind */
#define HR_CUDA_HOST_TO_DEVICE 1
#define HR_CUDA_DEVICE_TO_HOST 2
/* cudaDeviceAttr */
#define HR_CUDA_ATTRIBUTE_MAJOR 75
#define HR_CUDA_ATTRIBUTE_MINOR 76
/* handles that are streams: cudaStreamLegacy, cudaStreamPerThread; the numbers that the array API
 * standard and DLPack give them too */
#define HR_CUDA_STREAM_LEGACY ((HrCudaStream)0x1)
#define HR_CUDA_STREAM_PER_THREAD ((HrCudaStream)0x2)

/* dim3 */
typedef struct {
  unsigned int x, y, z;
} HrCudaSize;

/* X (name without "cuda", arguments): every function of libcudart that is called, and nothing else.
 * All return cudaError_t but the two that return text. */
#define HR_CUDA_FUNCTIONS(X, T)                                                                    \
  X (RuntimeGetVersion, (int *version))                                                            \
  X (DriverGetVersion, (int *version))                                                             \
  X (GetDeviceCount, (int *count))                                                                 \
  X (GetDevice, (int *device))                                                                     \
  X (SetDevice, (int device))                                                                      \
  X (DeviceGetAttribute, (int *value, int attribute, int device))                                  \
  X (MemGetInfo, (size_t * free, size_t * total))                                                  \
  X (GetLastError, (void))                                                                         \
  X (HostAlloc, (void **memory, size_t size, unsigned int flags))                                  \
  X (FreeHost, (void *memory))                                                                     \
  X (Malloc, (void **memory, size_t size))                                                         \
  X (Free, (void *memory))                                                                         \
  X (MemcpyAsync, (void *into, const void *from, size_t size, int kind, HrCudaStream stream))      \
  X (StreamCreateWithFlags, (HrCudaStream * stream, unsigned int flags))                           \
  X (StreamDestroy, (HrCudaStream stream))                                                         \
  X (StreamSynchronize, (HrCudaStream stream))                                                     \
  X (StreamWaitEvent, (HrCudaStream stream, HrCudaEvent event, unsigned int flags))                \
  X (EventCreateWithFlags, (HrCudaEvent * event, unsigned int flags))                              \
  X (EventDestroy, (HrCudaEvent event))                                                            \
  X (EventRecord, (HrCudaEvent event, HrCudaStream stream))                                        \
  X (EventQuery, (HrCudaEvent event))                                                              \
  X (EventSynchronize, (HrCudaEvent event))                                                        \
  X (EventElapsedTime, (float *milliseconds, HrCudaEvent begin, HrCudaEvent end))                  \
  X (LaunchKernel, (const void *kernel, HrCudaSize grid, HrCudaSize block, void **arguments,       \
                    size_t shared, HrCudaStream stream))                                           \
  T (GetErrorName, (int error))                                                                    \
  T (GetErrorString, (int error))

/* The runtime has these from 12.8 on; before that the driver's of the same names, with "cu", of
 * libcuda.so.1 are called, and cuLaunchKernel instead of cudaLaunchKernel. Arguments and handles
 * are the same, CUresult has the numbers of cudaError_t. */
#define HR_CUDA_LIBRARY_FUNCTIONS(X)                                                               \
  X (LibraryLoadData, (HrCudaLibrary * library, const void *code, int *jit_options,                \
                       void **jit_values, unsigned int n_jit_options, int *library_options,        \
                       void **library_values, unsigned int n_library_options))                     \
  X (LibraryUnload, (HrCudaLibrary library))                                                       \
  X (LibraryGetKernel, (HrCudaKernel * kernel, HrCudaLibrary library, const char *name))

/**
 * HrCudart:
 * @path: the library, for messages
 * @version: of the runtime: 12040, 13000
 *
 * The functions, by their names without "cuda".
 */
typedef struct {
  char *path;
  int version;
#define X(name, arguments) int (*name) arguments;
#define T(name, arguments) const char *(*name)arguments;
  HR_CUDA_FUNCTIONS (X, T)
  HR_CUDA_LIBRARY_FUNCTIONS (X)
#undef X
#undef T
  /* cuLaunchKernel; NULL: the runtime's own is used */
  int (*launch_by_driver) (HrCudaKernel kernel, unsigned int grid_x, unsigned int grid_y,
                           unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                           unsigned int block_z, unsigned int shared, HrCudaStream stream,
                           void **arguments, void **extra);
} HrCudart;

/**
 * hr_cudart_get:
 * @error: #HR_RESOURCE_ERROR_FAILED: there is no library, or it is not the runtime of CUDA 12 or
 *   13; says where it was looked for
 *
 * Loads the library once: the one that HR_CUDART names, else the one that the process has already
 * (torch's), else libcudart.so.13 or .12 from where the loader looks. It is never unloaded.
 *
 * Returns: (transfer none) (nullable): the functions
 */
const HrCudart *hr_cudart_get (GError **error);

/**
 * hr_cudart_check:
 * @code: what a function returned
 * @doing: "copying 12 bytes to device 0"
 * @error: #HR_RESOURCE_ERROR_NO_MEMORY, or #HR_RESOURCE_ERROR_FAILED: one line that says what to do
 *
 * Takes the error back from the thread's last one, where others would find it.
 *
 * Returns: %TRUE if @code is none
 */
gboolean hr_cudart_check (const HrCudart *cudart, int code, const char *doing, GError **error);

G_END_DECLS
