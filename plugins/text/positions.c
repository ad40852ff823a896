/* positions.c: what a token is and where it stands
 *
 * transformers' get_rope_index of Qwen3-VL and Qwen2.5-VL; text, and what it calls vision_start and
 * vision_end, count on by one in all rows. */
#include "positions.h"
#include <math.h>
#include <string.h>

/* One row function for both widths of numbers: what belongs to the row is chosen outside. */
#define DEFINE_ROW(name, type)                                                                     \
  static void name##_text (type *into, gint64 from, gint64 to, gint64 position)                    \
  {                                                                                                \
    for (gint64 i = from; i < to; i++)                                                             \
      into[i] = (type)(position + (i - from));                                                     \
  }                                                                                                \
  static void name##_plane (type *time, type *height, type *width, gint64 at, guint32 h,           \
                            guint32 w, gint64 position, gint64 now)                                \
  {                                                                                                \
    for (guint32 y = 0; y < h; y++)                                                                \
      for (guint32 x = 0; x < w; x++, at++) {                                                      \
        time[at] = (type)now;                                                                      \
        height[at] = (type)(position + y);                                                         \
        width[at] = (type)(position + x);                                                          \
      }                                                                                            \
  }

DEFINE_ROW (wide, gint64)
DEFINE_ROW (narrow, gint32)

typedef struct {
  gboolean is_wide;
  gpointer row[3];
} Rows;

static void
fill_text (const Rows *rows, gint64 from, gint64 to, gint64 position)
{
  for (guint row = 0; row < 3; row++)
    if (rows->is_wide)
      wide_text (rows->row[row], from, to, position);
    else
      narrow_text (rows->row[row], from, to, position);
}

static void
fill_plane (const Rows *rows, gint64 at, const HrMediaRun *run, gint64 position, gint64 now)
{
  if (rows->is_wide)
    wide_plane (rows->row[0], rows->row[1], rows->row[2], at, run->height, run->width, position,
                now);
  else
    narrow_plane (rows->row[0], rows->row[1], rows->row[2], at, run->height, run->width, position,
                  now);
}

/* returns the first position behind it */
static gint64
fill_run (const Rows *rows, const HrMediaRun *run, HrTimeAxis axis, gint64 position)
{
  gint64 plane = (gint64)run->height * run->width, side = MAX (run->height, run->width);
  gint64 last = 0;

  for (guint32 frame = 0; frame < run->frames; frame++) {
    gint64 at = run->at + frame * plane;

    if (axis == HR_TIME_QWEN3_VL) {
      fill_plane (rows, at, run, position, position);
      position += side;
    } else {
      last = (gint64)floor (frame * run->step);
      fill_plane (rows, at, run, position, position + last);
    }
  }
  return axis == HR_TIME_QWEN3_VL ? position : position + MAX (side, last + 1);
}

gint64
hr_positions_fill (const HrMediaRun *runs, guint n_runs, HrTimeAxis axis, gint64 length, guint rows,
                   gboolean wide, gpointer into)
{
  gsize row_size = (gsize)length * (wide ? sizeof (gint64) : sizeof (gint32));
  Rows three = { wide, { NULL, NULL, NULL } };
  gint64 position = 0, at = 0;

  if (rows == 4) { /* where plain text would stand */
    if (wide)
      wide_text (into, 0, length, 0);
    else
      narrow_text (into, 0, length, 0);
    into = (guint8 *)into + row_size;
  }
  for (guint row = 0; row < 3; row++)
    three.row[row] = (guint8 *)into + row * row_size;
  for (guint i = 0; i < n_runs; i++) {
    fill_text (&three, at, runs[i].at, position);
    position += runs[i].at - at;
    position = fill_run (&three, &runs[i], axis, position);
    at = runs[i].at + hr_media_run_length (&runs[i]);
  }
  fill_text (&three, at, length, position);
  return position + (length - at) - length;
}

void
hr_positions_fill_types (const HrMediaRun *runs, guint n_runs, gint64 length, gint32 *into)
{
  memset (into, 0, (gsize)length * sizeof (gint32));
  for (guint i = 0; i < n_runs; i++) {
    gint64 end = runs[i].at + hr_media_run_length (&runs[i]);

    for (gint64 at = runs[i].at; at < end; at++)
      into[at] = runs[i].type;
  }
}
