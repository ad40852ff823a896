/* orient.c: puts the rows of a decoded image where its EXIF orientation wants them */
#include "orient.h"
#include <string.h>

guint8 *
hr_orient_row (const HrOrient *o, guint32 y)
{
  gsize stride = (gsize)o->width * 3;
  if (o->orientation == 1)
    return o->out + y * stride;
  if (o->orientation == 4)
    return o->out + (o->height - 1 - y) * stride;
  return NULL;
}

void
hr_orient_put (const HrOrient *o, guint32 y, guint n, const guint8 *rows)
{
  gssize w = o->width, h = o->height;
  gssize row = w * 3;                                /* of what is stored */
  gssize out_row = (o->orientation < 5 ? w : h) * 3; /* of what is written */
  /* Pixel (x, y) goes to out[origin + x * across + y * down]; Exif 2.3, 4.6.4, tag 274. */
  gssize origin = 0, across = 3, down = out_row;
  switch (o->orientation) {
  case 2:
    origin = (w - 1) * 3, across = -3;
    break;
  case 3:
    origin = (h - 1) * out_row + (w - 1) * 3, across = -3, down = -out_row;
    break;
  case 4:
    origin = (h - 1) * out_row, down = -out_row;
    break;
  case 5:
    across = out_row, down = 3;
    break;
  case 6:
    origin = (h - 1) * 3, across = out_row, down = -3;
    break;
  case 7:
    origin = (w - 1) * out_row + (h - 1) * 3, across = -out_row, down = -3;
    break;
  case 8:
    origin = (w - 1) * out_row, across = -out_row, down = 3;
    break;
  default:
    break;
  }
  guint8 *out = o->out + origin + (gssize)y * down;
  if (across == 3) {
    for (guint r = 0; r < n; r++)
      memcpy (out + (gssize)r * down, rows + r * row, row);
    return;
  }
  for (gssize x = 0; x < w; x++) {
    const guint8 *from = rows + x * 3;
    guint8 *to = out + x * across;
    for (guint r = 0; r < n; r++, from += row, to += down) {
      to[0] = from[0];
      to[1] = from[1];
      to[2] = from[2];
    }
  }
}
