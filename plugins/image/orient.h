/* orient.h: puts the rows of a decoded image where its EXIF orientation wants them */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * HrOrient:
 *
 * A picture being written: uint8 [H, W, 3] at @out, H and W after orientation, while rows come
 * as they are stored, from the top.
 */
typedef struct {
  guint8 *out;
  guint32 width; /* as stored */
  guint32 height;
  guint8 orientation; /* 1 to 8 */
} HrOrient;

/* where stored row @y may be written as it is; NULL if it must be turned */
guint8 *hr_orient_row (const HrOrient *orient, guint32 y);
/* @n stored rows from @y on, each width * 3 bytes, one behind the other. Some rows at once cost
 * less than one by one when columns become rows. */
void hr_orient_put (const HrOrient *orient, guint32 y, guint n, const guint8 *rows);

G_END_DECLS
