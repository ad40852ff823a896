/* pinned.h: CPU memory that a device copies from while we do something else */
#pragma once
#include "cudart.h"
#include "headrace.h"

G_BEGIN_DECLS

/**
 * hr_pinned_new:
 * @max_idle: most bytes of free blocks that are kept
 *
 * An allocator whose blocks are page-locked, for all devices. It recycles them, because making one
 * costs more than filling it; it dies with its last block. Thread safe.
 *
 * Returns: (transfer full): the allocator
 */
HrAllocator *hr_pinned_new (const HrCudart *cudart, gsize max_idle);

G_END_DECLS
