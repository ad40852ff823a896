/* hr-restart: what a restart costs, for bench/plan
 *
 * usage: hr-restart PIPELINE walk [STEP CHECKPOINT]…     runs up to STEP and writes its checkpoint,
 *                                                        on to the next; the steps ascend
 *        hr-restart PIPELINE resume CHECKPOINT           goes on from it, up to its first batch
 *
 * PIPELINE ends with appsink. A line of JSON for each CHECKPOINT: "digest" of the batch behind it.
 * resume says besides what it has cost to get that batch: "begun", when the plugins had been
 * loaded, and "got" are each [seconds of the monotonic clock, processor seconds and bytes read
 * since the process began]; and what the sources say that they have read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "headrace.h"

static void
fail (const GError *error)
{
  fprintf (stderr, "hr-restart: %s\n", error != NULL ? error->message : "the run has ended");
  exit (1);
}

static double
get_clock (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* that all threads have asked for with read() and its like; bench/plan-peer.py counts the same */
static guint64
get_bytes_read (void)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  if (!g_file_get_contents ("/proc/self/io", &text, NULL, &error))
    fail (error);
  return g_ascii_strtoull (strstr (text, "rchar:") + strlen ("rchar:"), NULL, 10);
}

static void
add_cost (JsonBuilder *into, const char *name)
{
  json_builder_set_member_name (into, name);
  json_builder_begin_array (into);
  json_builder_add_double_value (into, get_clock (CLOCK_MONOTONIC));
  json_builder_add_double_value (into, get_clock (CLOCK_PROCESS_CPUTIME_ID));
  json_builder_add_int_value (into, (gint64)get_bytes_read ());
  json_builder_end_array (into);
}

static HrBuffer *
pull (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;
  HrBuffer *buffer = hr_pipeline_pull (pipeline, &error);

  if (buffer == NULL)
    fail (error);
  return buffer;
}

static void
add_digest (JsonBuilder *into, HrBuffer *buffer)
{
  g_autofree char *digest = hr_buffer_get_digest (buffer);

  json_builder_set_member_name (into, "digest");
  json_builder_add_string_value (into, digest);
}

static void
add_again (JsonBuilder *into, HrPipeline *pipeline)
{
  g_autofree char *text = hr_pipeline_get_stats (pipeline);
  g_autoptr (JsonNode) node = json_from_string (text, NULL);
  JsonArray *elements = json_object_get_array_member (json_node_get_object (node), "elements");
  gint64 n_lines = 0, n_bytes = 0;

  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);

    n_lines += json_object_get_int_member_with_default (element, "reread_lines", 0);
    n_bytes += json_object_get_int_member_with_default (element, "reread_bytes", 0);
  }
  json_builder_set_member_name (into, "reread_lines");
  json_builder_add_int_value (into, n_lines);
  json_builder_set_member_name (into, "reread_bytes");
  json_builder_add_int_value (into, n_bytes);
}

/* takes @into */
static void
say (JsonBuilder *into)
{
  g_autoptr (JsonBuilder) builder = into;
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *text = NULL;

  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  text = json_to_string (root, FALSE);
  puts (text);
}

static JsonBuilder *
begin_line (void)
{
  JsonBuilder *builder = json_builder_new ();

  json_builder_begin_object (builder);
  return builder;
}

static void
walk (HrPipeline *pipeline, char **marks)
{
  g_autoptr (GError) error = NULL;
  guint64 n = 0;

  if (!hr_pipeline_start (pipeline, &error))
    fail (error);
  for (; marks[0] != NULL && marks[1] != NULL; marks += 2) {
    guint64 step = g_ascii_strtoull (marks[0], NULL, 10);
    g_autoptr (HrBuffer) last = NULL, next = NULL;
    g_autofree char *checkpoint = NULL;
    JsonBuilder *line = begin_line ();

    for (; n < step; n++) {
      g_clear_pointer (&last, hr_buffer_unref);
      last = pull (pipeline);
    }
    if (last == NULL)
      g_error ("step %s is not behind the one before", marks[0]);
    checkpoint = hr_pipeline_get_checkpoint (pipeline, last, &error);
    if (checkpoint == NULL || !g_file_set_contents (marks[1], checkpoint, -1, &error))
      fail (error);
    next = pull (pipeline);
    n++;
    add_digest (line, next);
    say (line);
  }
}

static void
resume (HrPipeline *pipeline, const char *file)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *checkpoint = NULL;
  g_autoptr (HrBuffer) first = NULL;
  JsonBuilder *line = begin_line ();

  add_cost (line, "begun");
  if (!g_file_get_contents (file, &checkpoint, NULL, &error)
      || !hr_pipeline_resume (pipeline, checkpoint, FALSE, &error)
      || !hr_pipeline_start (pipeline, &error))
    fail (error);
  first = pull (pipeline);
  add_cost (line, "got");
  add_digest (line, first);
  add_again (line, pipeline);
  say (line);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;

  if (argc < 4)
    g_error ("usage: hr-restart PIPELINE walk [STEP CHECKPOINT]… | resume CHECKPOINT");
  pipeline = hr_parse_launch (argv[1], &error);
  if (pipeline == NULL)
    fail (error);
  if (strcmp (argv[2], "walk") == 0)
    walk (pipeline, argv + 3);
  else
    resume (pipeline, argv[3]);
  hr_pipeline_stop (pipeline);
  if (!hr_pipeline_wait (pipeline, &error))
    fail (error);
  return 0;
}
