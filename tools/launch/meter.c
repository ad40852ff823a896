/* meter.c */
#include "meter.h"
#include <math.h>
#include <string.h>
#include "words.h"

/* rates are those of the last so many seconds … */
#define WINDOW 30
/* … once there are so many; before that of the run so far */
#define LEAST_WINDOW 1.0
#define BAR 20
#define SHORT_BAR 10 /* below so many columns: */
#define NARROW 100

typedef struct {
  gdouble working;
  gint64 items;
} Part;

typedef struct {
  gdouble time;
  gint64 steps; /* that have come in this process */
  gint64 done;  /* of what is to be done */
  gint64 samples, images;
  GArray *parts; /* Part: elements */
} Look;

struct _LaunchMeter {
  LaunchGoal goal;
  GQueue looks;      /* Look, the oldest first */
  JsonObject *stats; /* of the last */
  gint64 total;      /* 0: not known */
};

static void
look_free (Look *look)
{
  g_array_unref (look->parts);
  g_free (look);
}

LaunchMeter *
launch_meter_new (LaunchGoal goal)
{
  LaunchMeter *meter = g_new0 (LaunchMeter, 1);

  meter->goal = goal;
  g_queue_init (&meter->looks);
  meter->stats = json_object_new ();
  return meter;
}

void
launch_meter_free (LaunchMeter *meter)
{
  g_queue_clear_full (&meter->looks, (GDestroyNotify)look_free);
  json_object_unref (meter->stats);
  g_free (meter);
}

/* ---- looking ---- */

static gint64
count_skipped (JsonObject *stats)
{
  return launch_append_kinds (NULL, launch_get_object (stats, "skipped"));
}

/* what there is to do in all, and what has been done of it, by earlier runs too */
static gint64
find_total (LaunchMeter *meter, JsonObject *stats, gint64 *done)
{
  JsonObject *headspace = launch_get_object (stats, "headspace");
  gint64 total = launch_get_whole (stats, "n_steps");

  *done = launch_get_whole (stats, "first_step") + launch_get_whole (stats, "steps");
  if (headspace != NULL) {
    *done += launch_get_whole (headspace, "steps");
    if (total == 0)
      total = 2 * launch_get_whole (headspace, "wanted_steps");
  } else if (total == 0) {
    total = (gint64)meter->goal.steps;
  }
  if (total > 0 || meter->goal.limit == 0)
    return total;
  *done = launch_get_whole (stats, "samples") + count_skipped (stats)
          + launch_append_kinds (NULL, launch_get_object (stats, "dropped"));
  return (gint64)(meter->goal.limit / MAX (meter->goal.world, 1));
}

static GArray *
read_parts (JsonObject *stats)
{
  GArray *parts = g_array_new (FALSE, FALSE, sizeof (Part));
  JsonArray *elements = launch_get_array (stats, "elements");

  for (guint i = 0; elements != NULL && i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);
    gdouble working = launch_get_number (element, "working_s");
    Part part = { isnan (working) ? 0 : working, launch_get_whole (element, "items") };

    g_array_append_val (parts, part);
  }
  return parts;
}

void
launch_meter_look (LaunchMeter *meter, JsonObject *stats, gdouble now)
{
  Look *look = g_new0 (Look, 1);
  const Look *second;

  json_object_ref (stats);
  json_object_unref (meter->stats);
  meter->stats = stats;
  look->time = now;
  look->steps = launch_get_whole (stats, "steps");
  look->samples = launch_get_whole (stats, "samples");
  look->images = launch_get_whole (stats, "images");
  meter->total = find_total (meter, stats, &look->done);
  look->parts = read_parts (stats);
  g_queue_push_tail (&meter->looks, look);
  while ((second = g_queue_peek_nth (&meter->looks, 1)) != NULL && second->time <= now - WINDOW)
    look_free (g_queue_pop_head (&meter->looks));
}

/* the oldest look of the window that counts: the wait for the first step says nothing of what
 * comes. NULL: none is old enough */
static const Look *
find_base (LaunchMeter *meter, gboolean started)
{
  const Look *last = g_queue_peek_tail (&meter->looks);
  const GList *item = meter->looks.head;

  while (item != NULL && started && ((const Look *)item->data)->steps == 0)
    item = item->next;
  return item != NULL && last->time - ((const Look *)item->data)->time >= LEAST_WINDOW ? item->data
                                                                                       : NULL;
}

/* ---- the line ---- */

typedef enum { PART, REPLAY, AMOUNTS, RATE, WAITING, ERRORS, TIMES } Group;

/* what a line is made of; the higher its rank, the sooner it is left out */
typedef struct {
  guint rank;
  Group group;
  char *text;
} Segment;

static void
add (GArray *segments, guint rank, Group group, char *text)
{
  Segment segment = { rank, group, text };

  g_array_append_val (segments, segment);
}

static void
clear_segment (gpointer segment)
{
  g_free (((Segment *)segment)->text);
}

static char *
join (GArray *segments)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < segments->len; i++) {
    const Segment *segment = &g_array_index (segments, Segment, i);

    if (i > 0)
      g_string_append (text, segment->group != segment[-1].group ? "  "
                             : segment->group == PART            ? " "
                                                                 : ", ");
    g_string_append (text, segment->text);
  }
  return g_string_free (text, FALSE);
}

static char *
cut (char *text, guint columns)
{
  if (columns > 0 && g_utf8_strlen (text, -1) > (glong)columns)
    *g_utf8_offset_to_pointer (text, (glong)columns) = '\0';
  return text;
}

static void
leave_one_out (GArray *segments)
{
  guint worst = 0;

  for (guint i = 1; i < segments->len; i++)
    if (g_array_index (segments, Segment, i).rank > g_array_index (segments, Segment, worst).rank)
      worst = i;
  g_array_remove_index (segments, worst);
}

static void
add_part (GArray *segments, LaunchMeter *meter, const Look *last, guint columns)
{
  guint width = columns > 0 && columns < NARROW ? SHORT_BAR : BAR;
  gdouble part;
  GString *bar;

  if (meter->total <= 0)
    return;
  part = CLAMP ((gdouble)last->done / (gdouble)meter->total, 0, 1);
  bar = g_string_new ("[");
  for (guint i = 0; i < width; i++)
    g_string_append_c (bar, i < (guint)(part * width) ? '#' : ' ');
  g_string_append_c (bar, ']');
  add (segments, 7, PART, g_string_free (bar, FALSE));
  /* 100 is for what is done */
  add (segments, 1, PART, g_strdup_printf ("%3.0f %%", floor (part * 100)));
}

static void
add_amounts (GArray *segments, LaunchMeter *meter, const Look *last)
{
  if (launch_has_batches (meter->stats))
    add (segments, 9, AMOUNTS,
         g_strdup_printf ("%" G_GINT64_FORMAT " batch%s", last->steps,
                          last->steps == 1 ? "" : "es"));
  add (segments, 4, AMOUNTS,
       g_strdup_printf ("%" G_GINT64_FORMAT " sample%s", last->samples,
                        launch_plural (last->samples)));
  if (last->images > 0)
    add (segments, 10, AMOUNTS,
         g_strdup_printf ("%" G_GINT64_FORMAT " image%s", last->images,
                          launch_plural (last->images)));
}

/* of what matters most: images, where there are some */
static void
add_rate (GArray *segments, LaunchMeter *meter, const Look *last)
{
  JsonObject *headspace = launch_get_object (meter->stats, "headspace");
  const Look *base = find_base (meter, TRUE);
  const char *unit = last->images > 0 ? "images/s" : "samples/s";
  gdouble rate, wall = launch_get_number (meter->stats, "wall_s");

  if (headspace != NULL && json_object_get_boolean_member (headspace, "replays"))
    rate = launch_get_number (headspace, last->images > 0 ? "images_per_s" : "samples_per_s");
  else if (base != NULL)
    rate = (gdouble)(last->images > 0 ? last->images - base->images : last->samples - base->samples)
           / (last->time - base->time);
  else
    rate = wall > 0 ? (gdouble)(last->images > 0 ? last->images : last->samples) / wall : NAN;
  if (!isnan (rate))
    add (segments, 2, RATE, g_strdup_printf ("%.1f %s", rate, unit));
}

static void
add_errors (GArray *segments, LaunchMeter *meter)
{
  gint64 skipped = count_skipped (meter->stats);

  if (skipped > 0)
    add (segments, 5, ERRORS, g_strdup_printf ("%" G_GINT64_FORMAT " skipped", skipped));
}

/* how long it will take from now on, at the pace of the last while */
static gdouble
find_left (LaunchMeter *meter, const Look *last)
{
  const Look *base = find_base (meter, TRUE);
  gint64 left = meter->total - last->done;
  gdouble wall = launch_get_number (meter->stats, "wall_s"), pace = NAN;

  if (meter->total <= 0 || left <= 0)
    return NAN;
  if (base != NULL)
    pace = (gdouble)(last->done - base->done) / (last->time - base->time);
  else if (wall > 0) /* what was done before is no pace of this run */
    pace = (gdouble)(last->done - launch_get_whole (meter->stats, "first_step")) / wall;
  return pace > 0 ? (gdouble)left / pace : NAN;
}

static void
add_times (GArray *segments, LaunchMeter *meter, const Look *last)
{
  gdouble wall = launch_get_number (meter->stats, "wall_s"), left = find_left (meter, last);

  if (wall > 0) {
    GString *text = g_string_new (NULL);

    launch_append_duration (text, wall);
    add (segments, 8, TIMES, g_string_free (text, FALSE));
  }
  if (!isnan (left)) {
    GString *text = g_string_new (NULL);

    launch_append_duration (text, left);
    g_string_append (text, " left");
    add (segments, 3, TIMES, g_string_free (text, FALSE));
  }
}

char *
launch_meter_line (LaunchMeter *meter, guint columns)
{
  g_autoptr (GArray) segments = g_array_new (FALSE, FALSE, sizeof (Segment));
  const Look *last = g_queue_peek_tail (&meter->looks);
  JsonObject *headspace = launch_get_object (meter->stats, "headspace");
  gdouble ratio = launch_get_number (meter->stats, "wait_ratio");
  char *text;

  g_array_set_clear_func (segments, clear_segment);
  if (last == NULL)
    return g_strdup ("");
  add_part (segments, meter, last, columns);
  if (headspace != NULL && json_object_get_boolean_member (headspace, "replays"))
    add (segments, 2, REPLAY, g_strdup ("the same again"));
  add_amounts (segments, meter, last);
  add_rate (segments, meter, last);
  if (!isnan (ratio))
    add (segments, 6, WAITING, g_strdup_printf ("waiting %.1f %%", ratio * 100));
  add_errors (segments, meter);
  add_times (segments, meter, last);
  text = join (segments);
  while (columns > 0 && segments->len > 1 && g_utf8_strlen (text, -1) > (glong)columns) {
    g_free (text);
    leave_one_out (segments);
    text = join (segments);
  }
  return cut (text, columns);
}

/* ---- elements ---- */

typedef struct {
  const char *name;
  gdouble busy; /* of its workers' time */
  gdouble rate;
  gint64 workers, now, room; /* room 0: it has no queue */
} Row;

static Row
make_row (LaunchMeter *meter, guint index, JsonObject *element)
{
  const Look *last = g_queue_peek_tail (&meter->looks), *base = find_base (meter, FALSE);
  const Part *part = &g_array_index (last->parts, Part, index);
  JsonObject *queue = launch_get_object (element, "queue");
  JsonArray *inputs = launch_get_array (element, "inputs");
  gdouble wall = launch_get_number (meter->stats, "wall_s");
  Row row = { .name = launch_get_string (element, "name"),
              .workers = MAX (launch_get_whole (element, "workers"), 1) };
  Part before = { 0, 0 };

  if (base != NULL && base->parts->len > index) {
    before = g_array_index (base->parts, Part, index);
    wall = last->time - base->time;
  }
  row.busy =
      wall > 0 ? MIN (1, (part->working - before.working) / (wall * (gdouble)row.workers)) : 0;
  row.rate = wall > 0 ? (gdouble)(part->items - before.items) / wall : 0;
  if (queue != NULL && inputs != NULL && json_array_get_length (inputs) > 0) {
    row.now = launch_get_whole (queue, "now");
    row.room = launch_get_whole (queue, "room");
  }
  return row;
}

static char *
write_row (const Row *row, int width, guint columns)
{
  g_autofree char *queue =
      row->room > 0
          ? g_strdup_printf ("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT, row->now, row->room)
          : g_strdup ("-");
  int pad = width - (int)g_utf8_strlen (row->name, -1);

  return cut (g_strdup_printf ("%s%*s  %3.0f %%  %9s  %9.1f  %7" G_GINT64_FORMAT, row->name,
                               MAX (pad, 0), "", row->busy * 100, queue, row->rate, row->workers),
              columns);
}

static guint
find_least_busy (GArray *rows)
{
  guint least = 0;

  for (guint i = 1; i < rows->len; i++)
    if (g_array_index (rows, Row, i).busy < g_array_index (rows, Row, least).busy)
      least = i;
  return least;
}

GPtrArray *
launch_meter_elements (LaunchMeter *meter, guint columns, guint n_rows, gint *busiest)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (Row));
  JsonArray *elements = launch_get_array (meter->stats, "elements");
  guint n = elements != NULL ? json_array_get_length (elements) : 0, n_left_out = 0;
  int width = (int)strlen ("element");
  gdouble most = 0;

  *busiest = -1;
  for (guint i = 0; i < n; i++) {
    Row row = make_row (meter, i, json_array_get_object_element (elements, i));

    if (row.name != NULL)
      g_array_append_val (rows, row);
  }
  if (rows->len == 0 || (n_rows > 0 && n_rows < 3))
    return lines;
  /* with the line on top, and one for those that are left out */
  while (n_rows > 0 && rows->len + 1 + (n_left_out > 0) > n_rows) {
    g_array_remove_index (rows, find_least_busy (rows));
    n_left_out++;
  }
  for (guint i = 0; i < rows->len; i++)
    width = MAX (width, (int)g_utf8_strlen (g_array_index (rows, Row, i).name, -1));
  g_ptr_array_add (lines, cut (g_strdup_printf ("%-*s  %5s  %9s  %9s  %7s", width, "element",
                                                "busy", "queue", "items/s", "workers"),
                               columns));
  for (guint i = 0; i < rows->len; i++) {
    const Row *row = &g_array_index (rows, Row, i);

    if (row->busy > most) {
      most = row->busy;
      *busiest = (gint)lines->len;
    }
    g_ptr_array_add (lines, write_row (row, width, columns));
  }
  if (n_left_out > 0)
    g_ptr_array_add (lines, cut (g_strdup_printf ("… and %u less busy", n_left_out), columns));
  return lines;
}
