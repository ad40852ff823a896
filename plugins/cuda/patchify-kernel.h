/* patchify-kernel.h: the kernel's body, for the threads of a GPU and for loops of a CPU
 *
 * kernel-params.h says what it does. The same text is compiled by nvcc and by the C compiler, so
 * the arithmetic of places that the tests run is the device's. docs/gpu.md says why threads are
 * shared out as they are. For processors whose bytes go from low to high, as those of all GPUs. */
#pragma once
#include <stdint.h>
#include "kernel-params.h"

#ifdef __CUDACC__
#define HR_PATCH_CODE static __device__ __forceinline__
#define HR_PATCH_UNROLL _Pragma ("unroll")
#define HR_PATCH_KEEP_LOOP _Pragma ("unroll 1")
#else
#include <string.h>
#define HR_PATCH_CODE static inline
#define HR_PATCH_UNROLL
#define HR_PATCH_KEEP_LOOP
#endif

#define HR_PATCH_TABLE_SIZE (3 * 256)

/* ---- memory, by as many bytes at once as there are ---- */

/* @size is 4, 8 or 16; @from a multiple of it */
HR_PATCH_CODE void
hr_patch_load (const uint8_t *from, uint32_t *words, unsigned int size)
{
#ifdef __CUDACC__
  if (size == 16) {
    uint4 value = __ldg ((const uint4 *)from);

    words[0] = value.x;
    words[1] = value.y;
    words[2] = value.z;
    words[3] = value.w;
  } else if (size == 8) {
    uint2 value = __ldg ((const uint2 *)from);

    words[0] = value.x;
    words[1] = value.y;
  } else
    words[0] = __ldg ((const unsigned int *)from);
#else
  memcpy (words, from, size);
#endif
}

/* @size is 1, 2, 4, 8 or 16; @at a multiple of it */
HR_PATCH_CODE void
hr_patch_store (uint8_t *at, const uint32_t *words, unsigned int size)
{
#ifdef __CUDACC__
  if (size == 16)
    *(uint4 *)at = make_uint4 (words[0], words[1], words[2], words[3]);
  else if (size == 8)
    *(uint2 *)at = make_uint2 (words[0], words[1]);
  else if (size == 4)
    *(unsigned int *)at = words[0];
  else if (size == 2)
    *(unsigned short *)at = (unsigned short)words[0];
  else
    *at = (uint8_t)words[0];
#else
  memcpy (at, words, size);
#endif
}

/* ---- one thread's pixels ---- */

/* @n pixels that lie one after the other, each word of them at a multiple of @n bytes */
HR_PATCH_CODE void
hr_patch_load_run (const uint8_t *pixels, uint32_t *words, unsigned int n)
{
  HR_PATCH_UNROLL
  for (unsigned int i = 0; i < 3; i++)
    hr_patch_load (pixels + i * n, words + i * n / 4, n);
}

/* @n pixels of a patch from its pixel @first on, which may go on in its next line */
HR_PATCH_CODE void
hr_patch_load_bytes (const uint8_t *patch, uint32_t *words, unsigned int n, unsigned int first,
                     unsigned int side, uint64_t stride)
{
  unsigned int x = first % side;
  const uint8_t *line = patch + first / side * stride;

  HR_PATCH_UNROLL
  for (unsigned int i = 0; i < (3 * n + 3) / 4; i++)
    words[i] = 0;
  HR_PATCH_UNROLL
  for (unsigned int i = 0; i < n; i++) {
    HR_PATCH_UNROLL
    for (unsigned int c = 0; c < 3; c++)
      words[(3 * i + c) / 4] |= (uint32_t)line[3 * x + c] << (3 * i + c) % 4 * 8;
    if (++x == side) {
      x = 0;
      line += stride;
    }
  }
}

/* what the byte of channel @c is in the output, in its lowest @size bytes */
HR_PATCH_CODE uint32_t
hr_patch_look_up (const void *table, unsigned int c, uint32_t byte, unsigned int size)
{
  if (size == 4)
    return ((const uint32_t *)table)[c * 256 + byte];
  if (size == 2)
    return ((const uint16_t *)table)[c * 256 + byte];
  return byte;
}

/* all channels of @n pixels, at all times; @at is for the first channel and time */
HR_PATCH_CODE void
hr_patch_write_run (const void *table, const uint32_t *words, unsigned int n, unsigned int size,
                    uint8_t *at, uint64_t plane, unsigned int temporal)
{
  HR_PATCH_UNROLL
  for (unsigned int c = 0; c < 3; c++) {
    uint32_t numbers[4] = { 0, 0, 0, 0 };

    HR_PATCH_UNROLL
    for (unsigned int i = 0; i < n; i++) {
      uint32_t byte = words[(3 * i + c) / 4] >> (3 * i + c) % 4 * 8 & 0xFF;

      numbers[i * size / 4] |= hr_patch_look_up (table, c, byte, size) << i * size % 4 * 8;
    }
    HR_PATCH_KEEP_LOOP
    for (unsigned int t = 0; t < temporal; t++, at += plane)
      hr_patch_store (at, numbers, n * size);
  }
}

/* ---- where they are ---- */

/* the image that row @row belongs to */
HR_PATCH_CODE const HrPatchImage *
hr_patch_find_image (const HrPatchParams *params, uint64_t row)
{
  unsigned int low = 0, high = params->n_images;

  while (high - low > 1) {
    unsigned int middle = low + (high - low) / 2;

    if (params->images[middle].row <= row)
      low = middle;
    else
      high = middle;
  }
  return &params->images[low];
}

/* the first pixel of patch @q of an image */
HR_PATCH_CODE uint64_t
hr_patch_find_patch (const HrPatchParams *params, const HrPatchImage *image, uint32_t q)
{
  uint32_t merge = params->merge, tokens = image->width / (params->patch * merge);
  uint32_t token = q / (merge * merge), within = q % (merge * merge);
  uint64_t y = (uint64_t)(token / tokens * merge + within / merge) * params->patch;
  uint32_t x = (token % tokens * merge + within % merge) * params->patch;

  return image->source + (y * image->width + x) * 3;
}

/* @n pixels of row @row from pixel @first on; @n and @size are known when this is compiled */
HR_PATCH_CODE void
hr_patch_do_run (const HrPatchParams *params, const void *table, uint64_t row, unsigned int first,
                 unsigned int n, unsigned int size)
{
  const HrPatchImage *image = hr_patch_find_image (params, row);
  const uint8_t *patch =
      params->pixels + hr_patch_find_patch (params, image, (uint32_t)(row - image->row));
  unsigned int side = params->patch;
  uint64_t plane = (uint64_t)side * side * size, stride = (uint64_t)image->width * 3;
  uint8_t *at =
      (uint8_t *)params->out + row * 3 * params->temporal * plane + (uint64_t)first * size;
  uint32_t words[12];

  if (n >= 4 && side % n == 0 && (uintptr_t)patch % n == 0 && stride % n == 0)
    hr_patch_load_run (patch + first / side * stride + first % side * 3, words, n);
  else
    hr_patch_load_bytes (patch, words, n, first, side, stride);
  hr_patch_write_run (table, words, n, size, at, plane, params->temporal);
}

HR_PATCH_CODE void
hr_patch_do (const HrPatchParams *params, const void *table, uint64_t row, unsigned int first,
             unsigned int n, unsigned int size)
{
  if (n == 16 / size)
    hr_patch_do_run (params, table, row, first, 16 / size, size);
  else if (n == 4)
    hr_patch_do_run (params, table, row, first, 4, size);
  else
    hr_patch_do_run (params, table, row, first, 1, size);
}

/* ---- a thread ---- */

/* First all threads of a block do this: @shared, room for HR_PATCH_TABLE_SIZE floats, is the
 * table where all of them are near it. Then they wait for each other. */
HR_PATCH_CODE void
hr_patch_share_table (const HrPatchParams *params, void *shared, unsigned int thread,
                      unsigned int n_threads)
{
  unsigned int size = hr_patch_number_size (params->type);

  for (unsigned int i = thread; i < HR_PATCH_TABLE_SIZE; i += n_threads)
    if (size == 4)
      ((uint32_t *)shared)[i] = ((const uint32_t *)params->table)[i];
    else if (size == 2)
      ((uint16_t *)shared)[i] = ((const uint16_t *)params->table)[i];
}

/* Then this. A block takes a group of rows at a time, a thread a run of one row's pixels. */
HR_PATCH_CODE void
hr_patch_write_rows (const HrPatchParams *params, const void *shared, unsigned int block,
                     unsigned int n_blocks, unsigned int thread, unsigned int n_threads)
{
  unsigned int n = hr_patch_run_length (params), size = hr_patch_number_size (params->type);
  unsigned int runs = params->patch * params->patch / n, group = hr_patch_group_size (params);

  for (uint64_t first = (uint64_t)block * group; first < params->n_rows;
       first += (uint64_t)n_blocks * group)
    for (unsigned int i = thread; i < group * runs; i += n_threads) {
      uint64_t row = first + i / runs;
      unsigned int pixel = i % runs * n;

      if (row >= params->n_rows)
        break;
      if (size == 4)
        hr_patch_do (params, shared, row, pixel, n, 4);
      else if (size == 2)
        hr_patch_do (params, shared, row, pixel, n, 2);
      else
        hr_patch_do (params, shared, row, pixel, n, 1);
    }
}

#ifndef __CUDACC__
/* a whole launch, one thread after the other */
static inline void
hr_patch_launch (const HrPatchParams *params, unsigned int n_blocks, unsigned int n_threads)
{
  uint32_t shared[HR_PATCH_TABLE_SIZE];

  for (unsigned int block = 0; block < n_blocks; block++) {
    memset (shared, 0xA5, sizeof (shared)); /* as undefined as a GPU's */
    for (unsigned int thread = 0; thread < n_threads; thread++)
      hr_patch_share_table (params, shared, thread, n_threads);
    for (unsigned int thread = 0; thread < n_threads; thread++)
      hr_patch_write_rows (params, shared, block, n_blocks, thread, n_threads);
  }
}
#endif
