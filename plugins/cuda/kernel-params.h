/* kernel-params.h: what the kernel hr_patchify is called with, and over how many threads
 *
 * Plain C: read by nvcc, by the plugin and by the stand-in of the tests alike.
 *
 * The kernel does what hr_patch_write() of plugins/image/patch.h does, for all images of a batch in
 * one launch. Of row r of the output, with the image i that has rows[i] <= r < rows[i + 1],
 * P = patch, M = merge, T = temporal, W = width / P:
 *   q = r - row of the image; mx = q % M; my = q / M % M;
 *   bx = q / (M * M) % (W / M); by = q / (M * M) / (W / M);
 *   the patch begins at y = (by * M + my) * P, x = (bx * M + mx) * P.
 * Column ((c * T + t) * P + y) * P + x is table[c][pixels[source + ((Y + y) * width + X + x) * 3 +
 * c]], for all t the same. The table has rounded already: the kernel calculates nothing but places.
 * Patches are so many that rows need 64 bits, an image's sides and rows of it 32. */
#pragma once

#define HR_PATCH_KERNEL "hr_patchify"

/* threads in a block; blocks take rows in turn, so that any number of blocks is right */
#define HR_PATCH_THREADS 256
#define HR_PATCH_MAX_BLOCKS (1u << 20)

/* type: the order of HrPatchType in plugins/image/patch.h */
enum { HR_PATCH_OUT_FLOAT32, HR_PATCH_OUT_BFLOAT16, HR_PATCH_OUT_FLOAT16, HR_PATCH_OUT_UINT8 };

/* one image: uint8 [height, width, 3], C-contiguous; sides are multiples of patch * merge */
typedef struct {
  unsigned long long source; /* its first byte, counted from `pixels` */
  unsigned long long row;    /* its first row in the output */
  unsigned int height;
  unsigned int width;
} HrPatchImage;

/* All pointers are the device's; passed by value. */
typedef struct {
  const unsigned char *pixels;
  const HrPatchImage *images; /* n_images of them, in the order of their rows, without gaps */
  const void *table;          /* [3][256] of the output's type: float or 16 bits; uint8: NULL */
  void *out;                  /* [n_rows, 3 * temporal * patch * patch], aligned to 256 bytes */
  unsigned long long n_rows;
  unsigned int n_images;
  unsigned int patch;
  unsigned int merge;
  unsigned int temporal;
  unsigned int type;
} HrPatchParams;

/* Both for the host and for the kernel: how a launch is shared out. */
#ifdef __CUDACC__
#define HR_PATCH_BOTH static __host__ __device__ __forceinline__
#else
#define HR_PATCH_BOTH static inline
#endif

/* bytes of a number of the output */
HR_PATCH_BOTH unsigned int
hr_patch_number_size (unsigned int type)
{
  return type == HR_PATCH_OUT_FLOAT32 ? 4 : type == HR_PATCH_OUT_UINT8 ? 1 : 2;
}

/* pixels that a thread takes at a time: 16 bytes of the output if a line of a patch is a multiple
 * of that, else 4 or 1, so that what it writes is aligned */
HR_PATCH_BOTH unsigned int
hr_patch_run_length (const HrPatchParams *params)
{
  unsigned int n = 16 / hr_patch_number_size (params->type);

  return params->patch % n == 0 ? n : params->patch % 2 == 0 ? 4 : 1;
}

/* rows that a block takes at a time: as many as it has threads for */
HR_PATCH_BOTH unsigned int
hr_patch_group_size (const HrPatchParams *params)
{
  unsigned int runs = params->patch * params->patch / hr_patch_run_length (params);

  return runs < HR_PATCH_THREADS ? HR_PATCH_THREADS / runs : 1;
}

/* blocks of HR_PATCH_THREADS threads, in one dimension; none for a batch without rows */
HR_PATCH_BOTH unsigned int
hr_patch_blocks (const HrPatchParams *params)
{
  unsigned int group = hr_patch_group_size (params);
  unsigned long long blocks = (params->n_rows + group - 1) / group;

  return blocks < HR_PATCH_MAX_BLOCKS ? (unsigned int)blocks : HR_PATCH_MAX_BLOCKS;
}
