/* report.c: what a run was like, in words. All it knows is the stats document, docs/stats.md. */
#include "report.h"
#include <math.h>
#include <string.h>
#include "headrace.h"
#include "words.h"

int
launch_exit_of (JsonObject *stats)
{
  return launch_append_kinds (NULL, launch_get_object (stats, "skipped")) > 0 ? 3 : 0;
}

/* "12 batches, 384 samples, 612 images in 4.81 s" */
static void
append_amounts (GString *text, JsonObject *stats)
{
  gint64 steps = launch_get_whole (stats, "steps"), samples = launch_get_whole (stats, "samples");
  gint64 images = launch_get_whole (stats, "images");

  if (launch_has_batches (stats))
    g_string_append_printf (text, "%" G_GINT64_FORMAT " batch%s, ", steps, steps == 1 ? "" : "es");
  g_string_append_printf (text, "%" G_GINT64_FORMAT " sample%s", samples, launch_plural (samples));
  if (images > 0)
    g_string_append_printf (text, ", %" G_GINT64_FORMAT " image%s", images, launch_plural (images));
}

static void
append_rates (GString *text, JsonObject *stats)
{
  gdouble wall = launch_get_number (stats, "wall_s"),
          images = launch_get_number (stats, "images_per_s");
  gdouble cpu = launch_get_number (stats, "cpu_ms_per_image"),
          used = launch_get_number (stats, "cpu_s");
  gdouble rss = launch_get_number (stats, "peak_rss_bytes");

  if (!isnan (wall)) {
    g_string_append (text, " in ");
    launch_append_seconds (text, wall);
  }
  if (launch_get_whole (stats, "images") > 0 && !isnan (images))
    g_string_append_printf (text, ": %.1f images/s", images);
  else if (wall > 0)
    g_string_append_printf (text, ": %.1f samples/s",
                            (gdouble)launch_get_whole (stats, "samples") / wall);
  if (launch_get_whole (stats, "images") > 0 && !isnan (cpu))
    g_string_append_printf (text, ", %.1f ms CPU an image", cpu);
  else if (!isnan (used)) {
    g_string_append (text, ", ");
    launch_append_seconds (text, used);
    g_string_append (text, " CPU");
  }
  if (!isnan (rss)) {
    g_string_append (text, ", at most ");
    launch_append_bytes (text, rss);
    g_string_append (text, " of memory");
  }
  g_string_append_c (text, '\n');
}

static void
append_waiting (GString *text, JsonObject *stats)
{
  gdouble ratio = launch_get_number (stats, "wait_ratio"),
          cold = launch_get_number (stats, "cold_start_s");
  gdouble prepare = launch_get_number (stats, "prepare_s"),
          transfer = launch_get_number (stats, "transfer_s");
  gdouble train = launch_get_number (stats, "train_s");

  if (isnan (ratio) && isnan (cold))
    return;
  if (isnan (ratio)) {
    g_string_append (text, "wait ratio unknown");
  } else {
    g_string_append_printf (text, "wait ratio %.3f: ", ratio);
    launch_append_seconds (text,
                           (isnan (prepare) ? 0 : prepare) + (isnan (transfer) ? 0 : transfer));
    g_string_append (text, " waiting, ");
    launch_append_seconds (text, isnan (train) ? 0 : train);
    g_string_append (text, " in steps");
  }
  if (!isnan (cold)) {
    g_string_append (text, "; cold start ");
    launch_append_seconds (text, cold);
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
    launch_append_seconds (cells[column], seconds);
}

static void
make_row (GString **cells, JsonObject *element)
{
  JsonObject *queue = launch_get_object (element, "queue");
  const char *name = launch_get_string (element, "name"),
             *factory = launch_get_string (element, "factory");

  cells[0] = g_string_new (name);
  if (name != NULL && factory != NULL && !g_str_has_prefix (name, factory))
    g_string_append_printf (cells[0], " (%s)", factory);
  cells[1] = g_string_new (NULL);
  g_string_printf (cells[1], "%" G_GINT64_FORMAT, launch_get_whole (element, "workers"));
  cells[2] = g_string_new (NULL);
  g_string_printf (cells[2], "%" G_GINT64_FORMAT, launch_get_whole (element, "items"));
  cells[3] = g_string_new (NULL);
  launch_append_bytes (cells[3], (gdouble)launch_get_whole (element, "bytes"));
  cells[4] = g_string_new (NULL);
  launch_append_bytes (cells[4], (gdouble)launch_get_whole (element, "bytes_copied"));
  cell_seconds (cells, 5, launch_get_number (element, "blocked_in_s"));
  cell_seconds (cells, 6, launch_get_number (element, "working_s"));
  cell_seconds (cells, 7, launch_get_number (element, "blocked_out_s"));
  cells[8] = g_string_new (NULL);
  if (queue != NULL && !isnan (launch_get_number (queue, "mean")))
    g_string_printf (cells[8], "%.1f, %.0f", launch_get_number (queue, "mean"),
                     launch_get_number (queue, "max"));
  else
    g_string_append_c (cells[8], '-');
}

static void
append_table (GString *text, JsonObject *stats)
{
  static const char *const titles[N_COLUMNS] = { "element", "workers",      "items",
                                                 "bytes",   "copied",       "waits input",
                                                 "works",   "waits output", "queue mean, max" };
  JsonArray *elements = launch_get_array (stats, "elements");
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
  JsonObject *bottleneck = launch_get_object (stats, "bottleneck");
  const char *element = launch_get_string (bottleneck, "element"),
             *kind = launch_get_string (bottleneck, "kind");
  const char *advice = launch_get_string (launch_get_object (stats, "advice"), "text");

  if (element == NULL || kind == NULL)
    return;
  g_string_append_printf (text, "bottleneck: %s (%s)%s%s\n", element, kind,
                          advice != NULL ? ": " : "", advice != NULL ? advice : "");
}

static void
append_headspace (GString *text, JsonObject *stats)
{
  JsonObject *headspace = launch_get_object (stats, "headspace");
  const char *words = headspace != NULL ? launch_get_string (headspace, "text") : NULL;

  if (headspace == NULL)
    return;
  g_string_append_printf (text,
                          "headspace: %s; %" G_GINT64_FORMAT " steps again, of %" //
                          G_GINT64_FORMAT " that hold ",
                          words != NULL ? words : "too few steps to tell",
                          launch_get_whole (headspace, "steps"),
                          launch_get_whole (headspace, "cached_steps"));
  launch_append_bytes (text, launch_get_number (headspace, "cached_bytes"));
  g_string_append_c (text, '\n');
}

/* what has been found, as a text would set it */
static void
append_auto (GString *text, JsonObject *stats)
{
  JsonObject *automatic = launch_get_object (stats, "auto");
  JsonArray *settings = automatic != NULL ? launch_get_array (automatic, "settings") : NULL;
  gdouble settled = automatic != NULL ? launch_get_number (automatic, "settled_s") : NAN;
  guint n = 0;

  if (settings == NULL)
    return;
  g_string_append (text, "auto: ");
  for (guint i = 0; i < json_array_get_length (settings); i++) {
    JsonObject *setting = json_array_get_object_element (settings, i);

    if (launch_get_whole (setting, "changes") > 0)
      g_string_append_printf (text, "%s%s %s=%" G_GINT64_FORMAT, n++ > 0 ? ", " : "",
                              launch_get_string (setting, "element"),
                              launch_get_string (setting, "property"),
                              launch_get_whole (setting, "value"));
  }
  if (n == 0)
    g_string_append (text, "nothing was changed");
  if (isnan (settled))
    g_string_append (text, "; not settled yet\n");
  else
    g_string_append_printf (text, "; settled after %.1f s\n", settled);
}

/* the last line: what happened, and what is missing */
static void
append_end (GString *text, JsonObject *stats, const LaunchEnd *end)
{
  g_autoptr (GString) skipped = g_string_new (NULL);
  g_autoptr (GString) dropped = g_string_new (NULL);
  gint64 n_skipped = launch_append_kinds (skipped, launch_get_object (stats, "skipped"));
  gint64 n_dropped = launch_append_kinds (dropped, launch_get_object (stats, "dropped"));
  gint64 n_read = launch_get_whole (stats, "samples") + n_skipped + n_dropped;

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
  if (launch_get_string (stats, "sha256") != NULL)
    g_string_append_printf (text, "sha256 %s\n", launch_get_string (stats, "sha256"));
  append_verdict (text, stats);
  append_auto (text, stats);
  append_headspace (text, stats);
  append_end (text, stats, end);
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
      const char *name = JSON_NODE_HOLDS_OBJECT (item)
                             ? launch_get_string (json_node_get_object (item), "name")
                             : NULL;
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
