/* history.c: what the run was like over time, a row a second, and the last lines of errors. Both
 * are rings: what is older is dropped. */
#include "history.h"
#include "hr-json.h"
#include "hr-sync.h"
#include <string.h>

#define MAX_ROWS 600 /* ten minutes */
#define MAX_NOTES 100

/* sums since the start; the page takes differences */
typedef struct {
  gdouble wall, prepare, transfer, transfer_wait, train, cpu;
  gint64 steps, samples;
} Row;

typedef struct {
  gint64 at; /* µs since 1970 */
  char *kind, *text;
} Note;

struct _History {
  HrMutex lock;
  GArray *rows;
  GQueue notes; /* Note, the newest last */
  guint64 n_notes;
};

static void
note_free (Note *note)
{
  g_free (note->kind);
  g_free (note->text);
  g_free (note);
}

History *
history_new (void)
{
  History *history = g_new0 (History, 1);

  hr_mutex_init (&history->lock);
  history->rows = g_array_new (FALSE, FALSE, sizeof (Row));
  g_queue_init (&history->notes);
  return history;
}

void
history_free (History *history)
{
  g_array_unref (history->rows);
  g_queue_clear_full (&history->notes, (GDestroyNotify)note_free);
  hr_mutex_clear (&history->lock);
  g_free (history);
}

static gdouble
number (JsonObject *object, const char *key)
{
  return json_object_get_double_member_with_default (object, key, 0);
}

/* numbers that came before: of a run that is over, or whose program is busy */
static gboolean
is_last (const History *history, const Row *row)
{
  guint n = history->rows->len;

  return n > 0 && g_array_index (history->rows, Row, n - 1).wall >= row->wall;
}

void
history_add (History *history, JsonObject *stats)
{
  Row row = { .wall = number (stats, "wall_s"),
              .prepare = number (stats, "prepare_s"),
              .transfer = number (stats, "transfer_s"),
              .transfer_wait = number (stats, "transfer_wait_s"),
              .train = number (stats, "train_s"),
              .cpu = number (stats, "cpu_s"),
              .steps = json_object_get_int_member_with_default (stats, "steps", 0),
              .samples = json_object_get_int_member_with_default (stats, "samples", 0) };

  hr_mutex_lock (&history->lock);
  if (!is_last (history, &row)) {
    if (history->rows->len == MAX_ROWS)
      g_array_remove_index (history->rows, 0);
    g_array_append_val (history->rows, row);
  }
  hr_mutex_unlock (&history->lock);
}

void
history_note (History *history, const char *kind, const char *text)
{
  Note *note = g_new (Note, 1);

  note->at = g_get_real_time ();
  note->kind = g_strdup (kind);
  note->text = g_utf8_make_valid (text, -1);
  hr_mutex_lock (&history->lock);
  if (g_queue_get_length (&history->notes) == MAX_NOTES)
    note_free (g_queue_pop_head (&history->notes));
  g_queue_push_tail (&history->notes, note);
  history->n_notes++;
  hr_mutex_unlock (&history->lock);
}

void
history_write (History *history, JsonBuilder *json)
{
  hr_mutex_lock (&history->lock);
  json_builder_set_member_name (json, "history");
  json_builder_begin_array (json);
  for (guint i = 0; i < history->rows->len; i++) {
    const Row *row = &g_array_index (history->rows, Row, i);

    json_builder_begin_object (json);
    hr_json_add_double (json, "wall_s", row->wall);
    hr_json_add_double (json, "prepare_s", row->prepare);
    hr_json_add_double (json, "transfer_s", row->transfer);
    hr_json_add_double (json, "transfer_wait_s", row->transfer_wait);
    hr_json_add_double (json, "train_s", row->train);
    hr_json_add_double (json, "cpu_s", row->cpu);
    hr_json_add_int (json, "steps", row->steps);
    hr_json_add_int (json, "samples", row->samples);
    json_builder_end_object (json);
  }
  json_builder_end_array (json);
  hr_json_add_int (json, "n_notes", (gint64)history->n_notes);
  json_builder_set_member_name (json, "notes");
  json_builder_begin_array (json);
  for (const GList *item = history->notes.head; item != NULL; item = item->next) {
    const Note *note = item->data;

    json_builder_begin_object (json);
    hr_json_add_double (json, "at", (gdouble)note->at / 1e6);
    hr_json_add_string (json, "kind", note->kind);
    hr_json_add_string (json, "text", note->text);
    json_builder_end_object (json);
  }
  json_builder_end_array (json);
  hr_mutex_unlock (&history->lock);
}
