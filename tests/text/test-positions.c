/* MRoPE positions, beside a walk token by token; where long samples are cut; how images shrink */
#include "positions.h"
#include <math.h>
#include <string.h>
#include "truncate.h"

/* ---- positions ---- */

/* time, height, width of a token */
typedef gint64 Row[3];

/* one token after the other, as the papers tell it */
static void
fill_simply (const HrMediaRun *runs, guint n, HrTimeAxis axis, gint64 length, Row *rows)
{
  gint64 next = 0;

  for (gint64 at = 0; at < length;) {
    const HrMediaRun *run = NULL;
    gint64 greatest = next - 1;

    for (guint i = 0; i < n; i++)
      if (runs[i].at == at && hr_media_run_length (&runs[i]) > 0)
        run = &runs[i];
    if (run == NULL) {
      rows[at][0] = rows[at][1] = rows[at][2] = next++;
      at++;
      continue;
    }
    for (guint32 frame = 0; frame < run->frames; frame++) {
      if (axis == HR_TIME_QWEN3_VL && frame > 0)
        next = greatest + 1;
      for (guint32 y = 0; y < run->height; y++)
        for (guint32 x = 0; x < run->width; x++, at++) {
          rows[at][0] = axis == HR_TIME_QWEN3_VL ? next : next + (gint64)floor (frame * run->step);
          rows[at][1] = next + y;
          rows[at][2] = next + x;
          for (guint row = 0; row < 3; row++)
            greatest = MAX (greatest, rows[at][row]);
        }
    }
    next = greatest + 1;
  }
}

static void
check_random (HrTimeAxis axis, guint most_frames)
{
  HrMediaRun runs[6];
  guint n = (guint)g_test_rand_int_range (0, 7);
  gint64 length = 0, greatest = -1, delta;
  g_autofree gint64 *wide = NULL;
  g_autofree gint32 *narrow = NULL, *types = NULL;
  Row *expected;

  for (guint i = 0; i < n; i++) {
    length += g_test_rand_int_range (0, 9);
    runs[i] = (HrMediaRun){ .at = length,
                            .frames = (guint32)g_test_rand_int_range (1, (gint)most_frames + 1),
                            .height = (guint32)g_test_rand_int_range (1, 6),
                            .width = (guint32)g_test_rand_int_range (1, 6),
                            .step = g_test_rand_double_range (0, 3),
                            .type = g_test_rand_int_range (1, 3) };
    length += hr_media_run_length (&runs[i]);
  }
  length += g_test_rand_int_range (1, 9);
  expected = g_new0 (Row, length);
  wide = g_new (gint64, 4 * length);
  narrow = g_new (gint32, 3 * length);
  types = g_new (gint32, length);
  fill_simply (runs, n, axis, length, expected);
  delta = hr_positions_fill (runs, n, axis, length, 4, TRUE, wide);
  g_assert_cmpint (hr_positions_fill (runs, n, axis, length, 3, FALSE, narrow), ==, delta);
  hr_positions_fill_types (runs, n, length, types);
  for (gint64 at = 0; at < length; at++) {
    gint32 type = 0;

    g_assert_cmpint (wide[at], ==, at);
    for (guint row = 0; row < 3; row++) {
      g_assert_cmpint (wide[(row + 1) * length + at], ==, expected[at][row]);
      g_assert_cmpint (narrow[row * length + at], ==, expected[at][row]);
      greatest = MAX (greatest, expected[at][row]);
    }
    for (guint i = 0; i < n; i++)
      if (at >= runs[i].at && at < runs[i].at + hr_media_run_length (&runs[i]))
        type = runs[i].type;
    g_assert_cmpint (types[at], ==, type);
  }
  g_assert_cmpint (delta, ==, greatest + 1 - length);
  g_free (expected);
}

static void
test_positions (void)
{
  for (guint i = 0; i < 2000; i++) {
    check_random (HR_TIME_QWEN3_VL, 1);
    check_random (HR_TIME_QWEN3_VL, 4);
    check_random (HR_TIME_QWEN2_VL, 4);
  }
}

/* by hand: two tokens of text, an image of 2 x 3, one of text */
static void
test_positions_by_hand (void)
{
  static const HrMediaRun image = { .at = 2, .frames = 1, .height = 2, .width = 3, .type = 1 };
  static const gint32 expected[] = { 0, 1, 2, 2, 2, 2, 2, 2, 5,   /* time */
                                     0, 1, 2, 2, 2, 3, 3, 3, 5,   /* height */
                                     0, 1, 2, 3, 4, 2, 3, 4, 5 }; /* width */
  gint32 rows[27];

  g_assert_cmpint (hr_positions_fill (&image, 1, HR_TIME_QWEN3_VL, 9, 3, FALSE, rows), ==, -3);
  g_assert_cmpmem (rows, sizeof (rows), expected, sizeof (expected));
}

/* by hand: Qwen2.5-VL, 2 frames of 1 x 2 at one frame a second and 2 tokens a second; then Qwen3-VL
 */
static void
test_video_by_hand (void)
{
  static const HrMediaRun video = {
    .at = 1, .frames = 2, .height = 1, .width = 2, .step = 2, .type = 2
  };
  static const gint32 together[] = { 0, 1, 1, 3, 3, 4, 0, 1, 1, 1, 1, 4, 0, 1, 2, 1, 2, 4 };
  static const gint32 apart[] = { 0, 1, 1, 3, 3, 5, 0, 1, 1, 3, 3, 5, 0, 1, 2, 3, 4, 5 };
  gint32 rows[18];

  hr_positions_fill (&video, 1, HR_TIME_QWEN2_VL, 6, 3, FALSE, rows);
  g_assert_cmpmem (rows, sizeof (rows), together, sizeof (together));
  hr_positions_fill (&video, 1, HR_TIME_QWEN3_VL, 6, 3, FALSE, rows);
  g_assert_cmpmem (rows, sizeof (rows), apart, sizeof (apart));
}

/* ---- cutting ---- */

static void
test_cut (void)
{
  static const HrMediaSpan spans[] = { { 3, 9 }, { 9, 12 }, { 20, 30 } };
  static const gint64 rows[][2] = { { 0, 0 },   { 3, 3 },   { 4, 3 },   { 8, 3 },   { 9, 9 },
                                    { 10, 9 },  { 12, 12 }, { 13, 13 }, { 20, 20 }, { 21, 20 },
                                    { 29, 20 }, { 30, 30 }, { 99, 99 } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_cmpint (hr_truncate_cut (spans, 3, rows[i][0]), ==, rows[i][1]);
  g_assert_cmpint (hr_truncate_cut (NULL, 0, 7), ==, 7);
}

/* ---- shrinking ---- */

static gint64
tokens_with (const HrSmartResize *rule, const guint32 *sizes, guint n, guint64 max_pixels)
{
  HrSmartResize lower = *rule;
  gint64 sum = 0;

  lower.max_pixels = max_pixels;
  for (guint i = 0; i < n; i++) {
    gint64 height, width;

    if (!hr_smart_resize_compute (&lower, sizes[2 * i], sizes[2 * i + 1], &height, &width)
        || height == 0 || width == 0)
      return -1;
    sum += height / rule->factor * (width / rule->factor);
  }
  return sum;
}

/* beside trying every max_pixels from the top */
static void
check_shrink (const HrSmartResize *rule, const guint32 *sizes, guint n, gint64 most)
{
  gint32 targets[8];
  guint64 got = hr_truncate_shrink (rule, sizes, n, most, targets), expected = 0;
  HrSmartResize found = *rule;

  for (guint64 max = rule->max_pixels; max >= rule->min_pixels && expected == 0; max--) {
    gint64 tokens = tokens_with (rule, sizes, n, max);

    if (tokens >= 0 && tokens <= most)
      expected = max;
  }
  g_assert_cmpuint (got, ==, expected);
  if (got == 0)
    return;
  found.max_pixels = got;
  for (guint i = 0; i < n; i++) {
    gint64 height, width;

    hr_smart_resize_compute (&found, sizes[2 * i], sizes[2 * i + 1], &height, &width);
    g_assert_cmpint (targets[2 * i], ==, height);
    g_assert_cmpint (targets[2 * i + 1], ==, width);
  }
}

static void
test_shrink (void)
{
  for (guint i = 0; i < 400; i++) {
    HrSmartResize rule = { (HrSmartResizeMode)g_test_rand_int_range (0, 2), 8, 0, 0 };
    guint n = (guint)g_test_rand_int_range (1, 5);
    guint32 sizes[8];
    gint64 full;

    rule.min_pixels = (guint64)g_test_rand_int_range (64, 400);
    rule.max_pixels = rule.min_pixels + (guint64)g_test_rand_int_range (0, 9000);
    for (guint k = 0; k < 2 * n; k++)
      sizes[k] = (guint32)g_test_rand_int_range (1, k % 3 == 0 ? 30 : 150);
    if (i % 2 == 0) { /* one that is hardly higher than a patch, and fits just as it is */
      gint64 height, width;

      sizes[0] = (guint32)g_test_rand_int_range (5, 8);
      sizes[1] = (guint32)g_test_rand_int_range (100, 900);
      rule.max_pixels = 1 << 20;
      hr_smart_resize_compute (&rule, sizes[0], sizes[1], &height, &width);
      rule.max_pixels = MAX (rule.min_pixels, (guint64)(height * width))
                        + (guint64)g_test_rand_int_range (0, 300);
    }
    full = tokens_with (&rule, sizes, n, rule.max_pixels);
    check_shrink (&rule, sizes, n, full > 0 ? g_test_rand_int_range (0, (gint)full + 2) : 5);
  }
}

/* More tokens with fewer pixels: 17 x 3200 has 100 as it is, and 135 just below its area. */
static void
test_shrink_not_monotone (void)
{
  static const guint32 sizes[] = { 17, 3200 };
  HrSmartResize rule = { HR_SMART_RESIZE_HF, 32, 4096, 262144 };
  gint32 targets[2];

  g_assert_cmpint (tokens_with (&rule, sizes, 1, 102400), ==, 100);
  g_assert_cmpint (tokens_with (&rule, sizes, 1, 102399), >, 130);
  g_assert_cmpuint (hr_truncate_shrink (&rule, sizes, 1, 100, targets), ==, 262144);
  g_assert_cmpint (targets[1], ==, 3200);
  g_assert_cmpuint (hr_truncate_shrink (&rule, sizes, 1, 99, targets), <, 102400);
  /* so halving the whole range would miss it */
  rule.max_pixels = 110000;
  g_assert_cmpuint (hr_truncate_shrink (&rule, sizes, 1, 100, targets), ==, 110000);
}

static void
test_shrink_none (void)
{
  static const guint32 sizes[] = { 100, 100 };
  HrSmartResize rule = { HR_SMART_RESIZE_HF, 32, 4096, 262144 };
  gint32 targets[2];

  g_assert_cmpuint (hr_truncate_shrink (&rule, sizes, 1, 3, targets), ==, 0);
  g_assert_cmpuint (hr_truncate_shrink (&rule, sizes, 1, -1, targets), ==, 0);
  g_assert_cmpuint (hr_truncate_shrink (&rule, sizes, 0, 0, targets), ==, 262144);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/positions/random", test_positions);
  g_test_add_func ("/text/positions/by-hand", test_positions_by_hand);
  g_test_add_func ("/text/positions/video-by-hand", test_video_by_hand);
  g_test_add_func ("/text/truncate/cut", test_cut);
  g_test_add_func ("/text/truncate/shrink", test_shrink);
  g_test_add_func ("/text/truncate/shrink-not-monotone", test_shrink_not_monotone);
  g_test_add_func ("/text/truncate/shrink-none", test_shrink_none);
  return g_test_run ();
}
