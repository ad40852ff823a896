/* hr-pool.h: what the pipeline's budget knows of its pools (hr_allocator_pool_new(); excess: of any
 * allocator) */
#pragma once
#include "hr-memory.h"

G_BEGIN_DECLS

/* called by whoever finds no idle block that would do, before it takes a new one */
void hr_pool_set_make_room (HrAllocator *pool, void (*make_room) (gpointer data), gpointer data);
/* frees the oldest idle blocks until no more than @max_idle bytes are idle; returns how many are */
gsize hr_pool_trim (HrAllocator *pool, gsize max_idle);
/* A recycled block may have more bytes of memory than were asked for. How many; 0 for others */
gsize hr_pool_get_excess (const HrMemory *memory);
/* … they are given back to the system, in whole pages */
void hr_pool_drop_excess (HrMemory *memory);

G_END_DECLS
