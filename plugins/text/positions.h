/* positions.h: what a token is and where it stands: MRoPE's time, height and width */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * HrTimeAxis:
 * @HR_TIME_QWEN3_VL: each frame is an image of its own: its time is where it begins
 * @HR_TIME_QWEN2_VL: the frames of a video share one place; frame i has the time i steps after its
 *   begin. A step is 1 for Qwen2-VL; seconds a frame times tokens a second, rounded down frame by
 *   frame, for Qwen2.5-VL
 *
 * A still image, one frame, is the same in both.
 */
typedef enum { HR_TIME_QWEN3_VL, HR_TIME_QWEN2_VL } HrTimeAxis;

/**
 * HrMediaRun:
 * @at: its first token
 * @frames: grid_t
 * @height: in tokens: grid_h / merge size
 * @width: in tokens
 * @step: time from one frame to the next, for %HR_TIME_QWEN2_VL
 * @type: 1 for an image, 2 for a video
 *
 * The tokens of one image or video, one after the other.
 */
typedef struct {
  gint64 at;
  guint32 frames;
  guint32 height;
  guint32 width;
  double step;
  gint32 type;
} HrMediaRun;

/* tokens of a run */
static inline gint64
hr_media_run_length (const HrMediaRun *run)
{
  return (gint64)run->frames * run->height * run->width;
}

/**
 * hr_positions_fill:
 * @runs: in order, not overlapping, all inside the tokens
 * @length: tokens
 * @rows: 3: time, height, width; 4: the plain position in front of them
 * @wide: gint64, else gint32
 * @into: [rows, length], C-contiguous
 *
 * Text counts on from the greatest position so far. Returns: that of the last token + 1 - @length,
 * which generation needs (rope_delta)
 */
gint64 hr_positions_fill (const HrMediaRun *runs, guint n_runs, HrTimeAxis axis, gint64 length,
                          guint rows, gboolean wide, gpointer into);

/* mm_token_type_ids, int32 [length]: 0 text, 1 image, 2 video */
void hr_positions_fill_types (const HrMediaRun *runs, guint n_runs, gint64 length, gint32 *into);

G_END_DECLS
