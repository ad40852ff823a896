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

/* threads in a block; blocks take patches in turn, so that any number of blocks is right */
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

/* blocks of HR_PATCH_THREADS threads, in one dimension; none for a batch without rows */
static inline unsigned int
hr_patch_blocks (const HrPatchParams *params)
{
  return params->n_rows < HR_PATCH_MAX_BLOCKS ? (unsigned int)params->n_rows : HR_PATCH_MAX_BLOCKS;
}
