/* hr-memfd.h: memory that other processes can map */
#pragma once
#include "hr-memory.h"

G_BEGIN_DECLS

/**
 * HrMemfdPlace:
 * @fd: the descriptor to pass on; it is the pool's: do not close it. Sealed: it neither shrinks nor
 *   grows
 * @id: of the memory behind @fd, and of no other that this process has ever made: what a reader may
 *   remember its mapping by
 * @length: bytes behind @fd, most of them holes: what to map
 * @offset: where the block begins in them
 *
 * Where another process finds a block.
 */
typedef struct {
  int fd;
  guint64 id;
  guint64 length;
  guint64 offset;
} HrMemfdPlace;

/**
 * HrMemfdStats:
 * @n_descriptors: open now
 * @n_blocks: that somebody holds
 * @idle_bytes: memory that waits for the next block
 *
 * What an allocator of hr_allocator_memfd_new() holds.
 */
typedef struct {
  guint n_descriptors;
  guint n_blocks;
  gsize idle_bytes;
} HrMemfdStats;

HrAllocator *hr_allocator_memfd_new (gsize max_idle);
gboolean hr_memory_get_memfd (const HrMemory *memory, HrMemfdPlace *place);
void hr_allocator_memfd_get_stats (HrAllocator *allocator, HrMemfdStats *stats);

G_END_DECLS
