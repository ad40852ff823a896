/* report.c: what a run was like, in words. All it knows is the stats document, docs/stats.md. */
#include "report.h"
#include <math.h>
#include <string.h>
#include "headrace.h"

/* ---- reading: a missing or null member is NAN ---- */

static gdouble
number (JsonObject *object, const char *name)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, name) : NULL;

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node))
    return NAN;
  return json_node_get_double (node);
}

static gint64
whole (JsonObject *object, const char *name)
{
  gdouble value = number (object, name);

  return isnan (value) ? 0 : (gint64)value;
}

static const char *
string (JsonObject *object, const char *name)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, name) : NULL;

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;
}

static JsonObject *
object_of (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static JsonArray *
array_of (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

/* ---- writing ---- */

static const char *
plural (gint64 n)
{
  return n == 1 ? "" : "s";
}

static void
append_seconds (GString *text, gdouble seconds)
{
  if (seconds < 0.0995)
    g_string_append_printf (text, "%.1f ms", seconds * 1000);
  else if (seconds < 99.5)
    g_string_append_printf (text, "%.2f s", seconds);
  else
    g_string_append_printf (text, "%.0f s", seconds);
}

static void
append_bytes (GString *text, gdouble bytes)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
  guint unit = 0;

  while (bytes >= 1023.5 && unit + 1 < G_N_ELEMENTS (units)) {
    bytes /= 1024;
    unit++;
  }
  g_string_append_printf (text, unit == 0 || bytes >= 99.5 ? "%.0f %s" : "%.1f %s", bytes,
                          units[unit]);
}

/* "3 media-not-found, 1 bad-json", the most frequent first */
static gint64
append_kinds (GString *text, JsonObject *kinds)
{
  g_autoptr (GList) names = kinds != NULL ? json_object_get_members (kinds) : NULL;
  gint64 sum = 0, below = G_MAXINT64;
  guint n = 0;

  for (GList *name = names; name != NULL; name = name->next)
    sum += whole (kinds, name->data);
  if (text == NULL)
    return sum;
  /* few kinds: the next largest each time */
  while (below > 0) {
    gint64 next = 0;

    for (GList *name = names; name != NULL; name = name->next)
      if (whole (kinds, name->data) < below)
        next = MAX (next, whole (kinds, name->data));
    for (GList *name = names; name != NULL && next > 0; name = name->next)
      if (whole (kinds, name->data) == next)
        g_string_append_printf (text, "%s%" G_GINT64_FORMAT " %s", n++ > 0 ? ", " : "", next,
                                (const char *)name->data);
    below = next;
  }
  return sum;
}

int
launch_exit_of (JsonObject *stats)
{
  return append_kinds (NULL, object_of (stats, "skipped")) > 0 ? 3 : 0;
}

/* TRUE: its steps are batches, not samples */
static gboolean
has_batches (JsonObject *stats)
{
  JsonArray *elements = array_of (stats, "elements");

  for (guint i = 0; elements != NULL && i < json_array_get_length (elements); i++) {
    const char *factory = string (json_array_get_object_element (elements, i), "factory");
    const HrElementDef *def = factory != NULL ? hr_registry_find (factory, NULL) : NULL;

    if (def != NULL && def->group != NULL)
      return TRUE;
  }
  return FALSE;
}

/* "12 batches, 384 samples, 612 images in 4.81 s" */
static void
append_amounts (GString *text, JsonObject *stats)
{
  gint64 steps = whole (stats, "steps"), samples = whole (stats, "samples");
  gint64 images = whole (stats, "images");

  if (has_batches (stats))
    g_string_append_printf (text, "%" G_GINT64_FORMAT " batch%s, ", steps, steps == 1 ? "" : "es");
  g_string_append_printf (text, "%" G_GINT64_FORMAT " sample%s", samples, plural (samples));
  if (images > 0)
    g_string_append_printf (text, ", %" G_GINT64_FORMAT " image%s", images, plural (images));
}

static void
append_rates (GString *text, JsonObject *stats)
{
  gdouble wall = number (stats, "wall_s"), images = number (stats, "images_per_s");
  gdouble cpu = number (stats, "cpu_ms_per_image"), used = number (stats, "cpu_s");
  gdouble rss = number (stats, "peak_rss_bytes");

  if (!isnan (wall)) {
    g_string_append (text, " in ");
    append_seconds (text, wall);
  }
  if (whole (stats, "images") > 0 && !isnan (images))
    g_string_append_printf (text, ": %.1f images/s", images);
  else if (wall > 0)
    g_string_append_printf (text, ": %.1f samples/s", (gdouble)whole (stats, "samples") / wall);
  if (whole (stats, "images") > 0 && !isnan (cpu))
    g_string_append_printf (text, ", %.1f ms CPU an image", cpu);
  else if (!isnan (used)) {
    g_string_append (text, ", ");
    append_seconds (text, used);
    g_string_append (text, " CPU");
  }
  if (!isnan (rss)) {
    g_string_append (text, ", at most ");
    append_bytes (text, rss);
    g_string_append (text, " of memory");
  }
  g_string_append_c (text, '\n');
}

static void
append_waiting (GString *text, JsonObject *stats)
{
  gdouble ratio = number (stats, "wait_ratio"), cold = number (stats, "cold_start_s");
  gdouble prepare = number (stats, "prepare_s"), transfer = number (stats, "transfer_s");
  gdouble train = number (stats, "train_s");

  if (isnan (ratio) && isnan (cold))
    return;
  if (isnan (ratio)) {
    g_string_append (text, "wait ratio unknown");
  } else {
    g_string_append_printf (text, "wait ratio %.3f: ", ratio);
    append_seconds (text, (isnan (prepare) ? 0 : prepare) + (isnan (transfer) ? 0 : transfer));
    g_string_append (text, " waiting, ");
    append_seconds (text, isnan (train) ? 0 : train);
    g_string_append (text, " in steps");
  }
  if (!isnan (cold)) {
    g_string_append (text, "; cold start ");
    append_seconds (text, cold);
  }
  g_string_append_c (text, '\n');
}

/* ---- the table ---- */

enum { N_COLUMNS = 9 };

static void
cell_seconds (GString **cells, guint column, gdouble seconds)
{
  cells[column] = g_string_new (NULL);
  if (isnan (seconds))
    g_string_append_c (cells[column], '-');
  else
    append_seconds (cells[column], seconds);
}

static void
make_row (GString **cells, JsonObject *element)
{
  JsonObject *queue = object_of (element, "queue");
  const char *name = string (element, "name"), *factory = string (element, "factory");

  cells[0] = g_string_new (name);
  if (name != NULL && factory != NULL && !g_str_has_prefix (name, factory))
    g_string_append_printf (cells[0], " (%s)", factory);
  cells[1] = g_string_new (NULL);
  g_string_printf (cells[1], "%" G_GINT64_FORMAT, whole (element, "workers"));
  cells[2] = g_string_new (NULL);
  g_string_printf (cells[2], "%" G_GINT64_FORMAT, whole (element, "items"));
  cells[3] = g_string_new (NULL);
  append_bytes (cells[3], (gdouble)whole (element, "bytes"));
  cells[4] = g_string_new (NULL);
  append_bytes (cells[4], (gdouble)whole (element, "bytes_copied"));
  cell_seconds (cells, 5, number (element, "blocked_in_s"));
  cell_seconds (cells, 6, number (element, "working_s"));
  cell_seconds (cells, 7, number (element, "blocked_out_s"));
  cells[8] = g_string_new (NULL);
  if (queue != NULL && !isnan (number (queue, "mean")))
    g_string_printf (cells[8], "%.1f, %.0f", number (queue, "mean"), number (queue, "max"));
  else
    g_string_append_c (cells[8], '-');
}

static void
append_table (GString *text, JsonObject *stats)
{
  static const char *const titles[N_COLUMNS] = { "element", "workers",      "items",
                                                 "bytes",   "copied",       "waits input",
                                                 "works",   "waits output", "queue mean, max" };
  JsonArray *elements = array_of (stats, "elements");
  guint n = elements != NULL ? json_array_get_length (elements) : 0;
  g_autofree GString **cells = g_new0 (GString *, (n + 1) * N_COLUMNS);
  glong widths[N_COLUMNS] = { 0 };

  if (n == 0)
    return;
  for (guint c = 0; c < N_COLUMNS; c++)
    cells[c] = g_string_new (titles[c]);
  for (guint i = 0; i < n; i++)
    make_row (cells + (i + 1) * N_COLUMNS, json_array_get_object_element (elements, i));
  for (guint i = 0; i < (n + 1) * N_COLUMNS; i++)
    widths[i % N_COLUMNS] = MAX (widths[i % N_COLUMNS], g_utf8_strlen (cells[i]->str, -1));
  for (guint i = 0; i < (n + 1) * N_COLUMNS; i++) {
    guint c = i % N_COLUMNS;
    glong pad = widths[c] - g_utf8_strlen (cells[i]->str, -1);

    if (c == 0)
      g_string_append_printf (text, "%s%*s", cells[i]->str, (int)pad, "");
    else
      g_string_append_printf (text, "  %*s%s", (int)pad, "", cells[i]->str);
    if (c + 1 == N_COLUMNS)
      g_string_append_c (text, '\n');
    g_string_free (cells[i], TRUE);
  }
}

static void
append_verdict (GString *text, JsonObject *stats)
{
  JsonObject *bottleneck = object_of (stats, "bottleneck");
  const char *element = string (bottleneck, "element"), *kind = string (bottleneck, "kind");
  const char *advice = string (object_of (stats, "advice"), "text");

  if (element == NULL || kind == NULL)
    return;
  g_string_append_printf (text, "bottleneck: %s (%s)%s%s\n", element, kind,
                          advice != NULL ? ": " : "", advice != NULL ? advice : "");
}

static void
append_headspace (GString *text, JsonObject *stats)
{
  JsonObject *headspace = object_of (stats, "headspace");
  const char *words = headspace != NULL ? string (headspace, "text") : NULL;

  if (headspace == NULL)
    return;
  g_string_append_printf (text,
                          "headspace: %s; %" G_GINT64_FORMAT " steps again, of %" //
                          G_GINT64_FORMAT " that hold ",
                          words != NULL ? words : "too few steps to tell",
                          whole (headspace, "steps"), whole (headspace, "cached_steps"));
  append_bytes (text, number (headspace, "cached_bytes"));
  g_string_append_c (text, '\n');
}

/* the last line: what happened, and what is missing */
static void
append_end (GString *text, JsonObject *stats, const LaunchEnd *end)
{
  g_autoptr (GString) skipped = g_string_new (NULL);
  g_autoptr (GString) dropped = g_string_new (NULL);
  gint64 n_skipped = append_kinds (skipped, object_of (stats, "skipped"));
  gint64 n_dropped = append_kinds (dropped, object_of (stats, "dropped"));
  gint64 n_read = whole (stats, "samples") + n_skipped + n_dropped;

  if (end->error != NULL)
    g_string_append (text, "failed after ");
  else if (end->signal != NULL)
    g_string_append_printf (text, "stopped by %s after ", end->signal);
  else
    g_string_append (text, "done: ");
  append_amounts (text, stats);
  if (n_skipped == 0 && n_dropped == 0 && end->error == NULL)
    g_string_append (text, ", none skipped");
  if (n_skipped > 0)
    g_string_append_printf (text,
                            "; %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " skipped for errors: %s",
                            n_skipped, n_read, skipped->str);
  if (n_dropped > 0)
    g_string_append_printf (text, "; %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " dropped: %s",
                            n_dropped, n_read, dropped->str);
  if (end->error != NULL)
    g_string_append_printf (text, ": %s", end->error);
  g_string_append_c (text, '\n');
}

char *
launch_summary (JsonObject *stats, const LaunchEnd *end)
{
  GString *text = g_string_new (NULL);

  append_table (text, stats);
  append_amounts (text, stats);
  append_rates (text, stats);
  append_waiting (text, stats);
  if (string (stats, "sha256") != NULL)
    g_string_append_printf (text, "sha256 %s\n", string (stats, "sha256"));
  append_verdict (text, stats);
  append_headspace (text, stats);
  append_end (text, stats, end);
  return g_string_free (text, FALSE);
}

/* how much of the run is done, and of that in this process; 0: not known */
static gdouble
get_part (JsonObject *stats, guint64 limit, gint64 seen, gdouble *own)
{
  gint64 first = whole (stats, "first_step"), n_steps = whole (stats, "n_steps");
  gint64 steps = whole (stats, "steps");

  *own = 0;
  if (n_steps > 0) {
    *own = (gdouble)steps / (gdouble)n_steps;
    return MIN (1, (gdouble)(first + steps) / (gdouble)n_steps);
  }
  if (limit == 0)
    return 0;
  return *own = MIN (1, (gdouble)seen / (gdouble)limit);
}

char *
launch_progress_line (JsonObject *stats, guint64 limit, guint width)
{
  GString *text = g_string_new (NULL);
  gdouble wall = number (stats, "wall_s"), ratio = number (stats, "wait_ratio");
  gint64 samples = whole (stats, "samples"), images = whole (stats, "images");
  gint64 skipped = append_kinds (NULL, object_of (stats, "skipped"));
  gint64 seen = samples + skipped + append_kinds (NULL, object_of (stats, "dropped"));
  gdouble own, part = get_part (stats, limit, seen, &own);

  if (limit > 0 || whole (stats, "n_steps") > 0) {
    const guint bar = 20;

    g_string_append_c (text, '[');
    for (guint i = 0; i < bar; i++)
      g_string_append_c (text, i < (guint)(part * bar) ? '#' : ' ');
    g_string_append_printf (text, "] %3.0f %%  ", part * 100);
  }
  append_amounts (text, stats);
  if (wall > 0 && images > 0)
    g_string_append_printf (text, "  %.1f images/s", (gdouble)images / wall);
  else if (wall > 0)
    g_string_append_printf (text, "  %.1f samples/s", (gdouble)samples / wall);
  if (!isnan (ratio))
    g_string_append_printf (text, "  waiting %.1f %%", ratio * 100);
  if (skipped > 0)
    g_string_append_printf (text, "  %" G_GINT64_FORMAT " skipped", skipped);
  if (wall > 0) {
    g_string_append (text, "  ");
    append_seconds (text, wall);
  }
  if (own > 0 && part < 1 && wall > 0) {
    g_string_append (text, ", ");
    append_seconds (text, wall / own * (1 - part));
    g_string_append (text, " left");
  }
  if (width > 0 && g_utf8_strlen (text->str, -1) > (glong)width)
    g_string_truncate (text,
                       (gsize)(g_utf8_offset_to_pointer (text->str, (glong)width) - text->str));
  return g_string_free (text, FALSE);
}

static void
append_node (GString *text, const char *path, JsonNode *node)
{
  if (JSON_NODE_HOLDS_OBJECT (node)) {
    JsonObject *object = json_node_get_object (node);
    g_autoptr (GList) names = json_object_get_members (object);

    for (GList *name = names; name != NULL; name = name->next) {
      g_autofree char *inner =
          g_strdup_printf ("%s%s%s", path, *path != '\0' ? "." : "", (const char *)name->data);

      append_node (text, inner, json_object_get_member (object, name->data));
    }
  } else if (JSON_NODE_HOLDS_ARRAY (node)) {
    JsonArray *array = json_node_get_array (node);

    for (guint i = 0; i < json_array_get_length (array); i++) {
      JsonNode *item = json_array_get_element (array, i);
      const char *name =
          JSON_NODE_HOLDS_OBJECT (item) ? string (json_node_get_object (item), "name") : NULL;
      g_autofree char *inner =
          name != NULL ? g_strdup_printf ("%s.%s", path, name) : g_strdup_printf ("%s.%u", path, i);

      append_node (text, inner, item);
    }
  } else {
    g_autofree char *value = json_node_get_value_type (node) == G_TYPE_STRING
                                 ? g_strdup (json_node_get_string (node))
                                 : hr_json_write (node, FALSE);

    g_string_append_printf (text, "%-40s %s\n", path, value);
  }
}

char *
launch_stats_text (JsonNode *stats)
{
  GString *text = g_string_new (NULL);

  append_node (text, "", stats);
  return g_string_free (text, FALSE);
}
