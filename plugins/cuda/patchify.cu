/* patchify.cu: the kernel hr_patchify; its body is patchify-kernel.h */
#include "patchify-kernel.h"

extern "C" __global__ void
__launch_bounds__ (HR_PATCH_THREADS, 6) hr_patchify (const __grid_constant__ HrPatchParams params)
{
  __shared__ uint32_t table[HR_PATCH_TABLE_SIZE];

  hr_patch_share_table (&params, table, threadIdx.x, blockDim.x);
  __syncthreads ();
  hr_patch_write_rows (&params, table, blockIdx.x, gridDim.x, threadIdx.x, blockDim.x);
}
