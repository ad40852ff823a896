/* record.c: a run's numbers in a file, for hr-report: docs/report.md has the format */
#include "record.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL G_USEC_PER_SEC
#define FORMAT 1

struct _LaunchRecord {
  char *path;
  HrPipeline *pipeline;
  FILE *file;
  gint64 next;
  int wrong; /* errno of the first write that failed */
};

static void
write_line (LaunchRecord *record, JsonNode *node)
{
  g_autofree char *line = hr_json_write (node, FALSE);

  if (record->wrong != 0)
    return;
  if (fprintf (record->file, "%s\n", line) < 0 || fflush (record->file) != 0)
    record->wrong = errno != 0 ? errno : EIO;
}

/* {"record": 1, "version": …, "pipeline": …, "started": …, "host": …, "processors": …} */
static void
write_head (LaunchRecord *record)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *when = g_date_time_format_iso8601 (now);
  g_autofree char *text = hr_pipeline_to_shown_string (record->pipeline);

  json_builder_begin_object (json);
  hr_json_add_int (json, "record", FORMAT);
  hr_json_add_string (json, "version", HR_VERSION);
  hr_json_add_string (json, "pipeline", text);
  hr_json_add_string (json, "started", when);
  hr_json_add_string (json, "host", g_get_host_name ());
  hr_json_add_int (json, "processors", g_get_num_processors ());
  json_builder_end_object (json);
  root = json_builder_get_root (json);
  write_line (record, root);
}

/* {"row": {…}} or {"end": {…}} */
static void
write_stats (LaunchRecord *record, const char *name, JsonNode *stats)
{
  g_autoptr (JsonNode) root = json_node_new (JSON_NODE_OBJECT);
  JsonObject *object = json_object_new ();

  json_object_set_member (object, name, json_node_ref (stats));
  json_node_take_object (root, object);
  write_line (record, root);
}

LaunchRecord *
launch_record_new (const char *path, HrPipeline *pipeline, GError **error)
{
  LaunchRecord *record;
  /* of a pipe that nobody reads open() would wait, and no signal would end that */
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  FILE *file = fd >= 0 && fcntl (fd, F_SETFL, 0) == 0 ? fdopen (fd, "w") : NULL;

  if (file == NULL && errno == ENXIO) {
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NXIO,
                 "--record: %s: nobody reads this pipe; start its reader first", path);
    return NULL;
  }
  if (file == NULL) {
    g_set_error (error, G_FILE_ERROR, (gint)g_file_error_from_errno (errno), "--record: %s: %s",
                 path, g_strerror (errno));
    return NULL;
  }
  record = g_new0 (LaunchRecord, 1);
  record->path = g_strdup (path);
  record->pipeline = pipeline;
  record->file = file;
  write_head (record);
  return record;
}

void
launch_record_tick (LaunchRecord *record)
{
  gint64 now = g_get_monotonic_time ();
  g_autofree char *text = NULL;
  g_autoptr (JsonNode) stats = NULL;

  if (now < record->next)
    return;
  record->next = now + INTERVAL;
  text = hr_pipeline_get_stats (record->pipeline);
  stats = json_from_string (text, NULL);
  write_stats (record, "row", stats);
}

gboolean
launch_record_end (LaunchRecord *record, JsonNode *stats, GError **error)
{
  write_stats (record, "end", stats);
  if (record->wrong == 0)
    return TRUE;
  g_set_error (error, G_FILE_ERROR, (gint)g_file_error_from_errno (record->wrong),
               "--record: %s: %s; its last lines are missing", record->path,
               g_strerror (record->wrong));
  return FALSE;
}

void
launch_record_free (LaunchRecord *record)
{
  fclose (record->file);
  g_free (record->path);
  g_free (record);
}
