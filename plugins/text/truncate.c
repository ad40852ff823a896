/* truncate.c: what to do with samples that are too long */
#include "truncate.h"

gint64
hr_truncate_cut (const HrMediaSpan *spans, guint n_spans, gint64 most)
{
  for (guint i = 0; i < n_spans; i++)
    if (spans[i].begin < most && most < spans[i].end)
      return spans[i].begin;
  return most;
}

/* ---- smaller images ---- */

typedef struct {
  const HrSmartResize *rule;
  const guint32 *sizes;
  guint n;
} Images;

/* FALSE if an image cannot have a size within these bounds */
static gboolean
get_target (const Images *images, guint index, guint64 max_pixels, gint64 *height, gint64 *width)
{
  HrSmartResize rule = *images->rule;

  rule.max_pixels = max_pixels;
  return hr_smart_resize_compute (&rule, images->sizes[2 * index], images->sizes[2 * index + 1],
                                  height, width);
}

/* -1: one cannot be resized */
static gint64
count_tokens (const Images *images, guint64 max_pixels)
{
  gint64 factor = images->rule->factor, sum = 0;

  for (guint i = 0; i < images->n; i++) {
    gint64 height, width;

    if (!get_target (images, i, max_pixels, &height, &width))
      return -1;
    sum += (height / factor) * (width / factor);
  }
  return sum;
}

static gint
compare_pixels (gconstpointer a, gconstpointer b)
{
  guint64 one = *(const guint64 *)a, other = *(const guint64 *)b;

  return one < other ? -1 : one > other;
}

/* Where the number of tokens may fall while max_pixels rises: at the area that an image has when it
 * is only rounded. In between it never falls. */
static GArray *
find_edges (const Images *images)
{
  const HrSmartResize *rule = images->rule;
  GArray *edges = g_array_new (FALSE, FALSE, sizeof (guint64));

  g_array_append_val (edges, rule->min_pixels);
  for (guint i = 0; i < images->n; i++) {
    gint64 height, width;
    guint64 area;

    if (!get_target (images, i, G_MAXINT64, &height, &width))
      continue;
    area = (guint64)height * width;
    if (area > rule->min_pixels && area <= rule->max_pixels)
      g_array_append_val (edges, area);
  }
  g_array_sort (edges, compare_pixels);
  return edges;
}

/* the largest from @low on, before @high, with which they fit; they do with @low */
static guint64
find_largest (const Images *images, guint64 low, guint64 high, gint64 most)
{
  while (high - low > 1) {
    guint64 middle = low + (high - low) / 2;

    if (count_tokens (images, middle) <= most)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static gboolean
set_targets (const Images *images, guint64 max_pixels, gint32 *targets)
{
  for (guint i = 0; i < images->n; i++) {
    gint64 height, width;

    /* qwen-vl-utils' rule may leave nothing of a side */
    if (!get_target (images, i, max_pixels, &height, &width) || height < 1 || width < 1
        || height > G_MAXINT32 || width > G_MAXINT32)
      return FALSE;
    targets[2 * i] = (gint32)height;
    targets[2 * i + 1] = (gint32)width;
  }
  return TRUE;
}

guint64
hr_truncate_shrink (const HrSmartResize *rule, const guint32 *sizes, guint n, gint64 most,
                    gint32 *targets)
{
  Images images = { rule, sizes, n };
  g_autoptr (GArray) edges = NULL;
  guint64 high = rule->max_pixels + 1;

  if (most < 0 || count_tokens (&images, rule->min_pixels) < 0)
    return 0;
  edges = find_edges (&images);
  for (guint i = edges->len; i > 0; i--) {
    guint64 low = g_array_index (edges, guint64, i - 1);

    if (low < high && count_tokens (&images, low) <= most) {
      guint64 largest = find_largest (&images, low, high, most);

      if (set_targets (&images, largest, targets))
        return largest;
    }
    high = low;
  }
  return 0;
}
