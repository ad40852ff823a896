/* added.h: finds added tokens in text: the leftmost, of those the longest */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef struct _HrAdded HrAdded;

HrAdded *hr_added_new (void);
void hr_added_free (HrAdded *added);
/* @value is what hr_added_find() gives for it; of two with the same content the first stays */
void hr_added_add (HrAdded *added, const char *content, guint32 value);
gboolean hr_added_is_empty (const HrAdded *added);

/**
 * hr_added_find:
 * @text: where to look
 * @size: its bytes
 * @at: (out): offset of the first one
 * @length: (out): its bytes
 * @value: (out): what was added with it
 *
 * Returns: %FALSE if there is none
 */
gboolean hr_added_find (const HrAdded *added, const guint8 *text, gsize size, gsize *at,
                        gsize *length, guint32 *value);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrAdded, hr_added_free)

G_END_DECLS
