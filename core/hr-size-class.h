/* hr-size-class.h: sizes that share their free blocks; private to the core */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

#define HR_N_SIZE_CLASSES (4 * 64)
/* from here on a block has address space for twice its bytes */
#define HR_LARGE_BLOCK (1u << 20)

/* Four classes an octave: at most a quarter of a block is unused, and images of about one size
 * share a class. Large blocks have one an octave, so that batches of any size recycle the same few:
 * memory that was never written is not there. Gives the class's size, a multiple of 64, in
 * *@capacity, 0 if no block can be that large. */
guint hr_size_class (gsize size, gsize *capacity);

G_END_DECLS
