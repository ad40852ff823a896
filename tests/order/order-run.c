/* order-run: runs pipelines for tests of their order, many in one process.
 *
 * A line of JSON in: {"text": a pipeline that ends in appsink, "take": buffers, -1: all, "mark":
 * whose checkpoint is wanted, counted from 1, -1: that of the last that is done with, "resume": a
 * checkpoint, "force": true, "requests": [[epoch, slice] …], "environment": {…}, "stats": true}. A
 * line out: {"error", "steps": [[epoch, place, number, digest, [member …]] …], "n_steps",
 * "checkpoint", "checkpoints": [of messages], "skipped": n, "scans": n, "stats": if asked for}. A
 * member is [key, byte, line, place, digest], the digest null for holes, the key for padding. */
#include "headrace.h"
#include <stdio.h>
#include <string.h>

typedef struct {
  HrPipeline *pipeline;
  JsonBuilder *answer;
  char *checkpoint;
  GError *error;
} Run;

static void
add_member (JsonBuilder *into, HrBuffer *member)
{
  HrOrigin *origin = hr_buffer_get_origin (member);

  json_builder_begin_array (into);
  if (origin != NULL && origin->uri != NULL) {
    gsize skip = origin->root != NULL && g_str_has_prefix (origin->uri, origin->root)
                     ? strlen (origin->root)
                     : 0;

    json_builder_add_string_value (into, origin->uri + skip);
    json_builder_add_int_value (into, origin->byte);
    json_builder_add_int_value (into, origin->line);
  } else {
    for (guint i = 0; i < 3; i++)
      json_builder_add_null_value (into);
  }
  json_builder_add_int_value (into, member->place);
  if (member->flags & HR_BUFFER_HOLE) {
    json_builder_add_null_value (into);
  } else {
    g_autofree char *digest = hr_buffer_get_digest (member);

    json_builder_add_string_value (into, digest);
  }
  json_builder_end_array (into);
}

static void
add_step (JsonBuilder *into, HrBuffer *buffer)
{
  g_autofree char *digest = hr_buffer_get_digest (buffer);

  json_builder_begin_array (into);
  json_builder_add_int_value (into, buffer->epoch);
  json_builder_add_int_value (into, buffer->place);
  json_builder_add_int_value (into, buffer->number);
  json_builder_add_string_value (into, digest);
  json_builder_begin_array (into);
  if (!(buffer->flags & HR_BUFFER_BATCH))
    add_member (into, buffer);
  for (guint i = 0; i < hr_buffer_get_n_members (buffer); i++)
    add_member (into, hr_buffer_get_member (buffer, i));
  json_builder_end_array (into);
  json_builder_end_array (into);
}

static void
take_steps (Run *run, gint64 take, gint64 mark)
{
  HrBuffer *buffer;

  json_builder_set_member_name (run->answer, "steps");
  json_builder_begin_array (run->answer);
  for (gint64 n = 1;
       (take < 0 || n <= take) && (buffer = hr_pipeline_pull (run->pipeline, &run->error)) != NULL;
       n++) {
    add_step (run->answer, buffer);
    if (n == mark)
      run->checkpoint = hr_pipeline_get_checkpoint (run->pipeline, buffer, &run->error);
    hr_buffer_unref (buffer);
  }
  json_builder_end_array (run->answer);
}

static void
add_messages (Run *run)
{
  HrMessage *message;
  gint64 n_skipped = 0, n_scans = 0;

  json_builder_set_member_name (run->answer, "checkpoints");
  json_builder_begin_array (run->answer);
  while ((message = hr_pipeline_pop_message (run->pipeline, 0)) != NULL) {
    n_skipped += message->type == HR_MESSAGE_SKIPPED;
    n_scans += message->type == HR_MESSAGE_SCAN;
    if (message->type == HR_MESSAGE_CHECKPOINT)
      json_builder_add_string_value (run->answer, message->text);
    hr_message_unref (message);
  }
  json_builder_end_array (run->answer);
  json_builder_set_member_name (run->answer, "skipped");
  json_builder_add_int_value (run->answer, n_skipped);
  json_builder_set_member_name (run->answer, "scans");
  json_builder_add_int_value (run->answer, n_scans);
}

static gboolean
ask (Run *run, JsonArray *requests)
{
  for (guint i = 0; i < json_array_get_length (requests); i++) {
    JsonArray *one = json_array_get_array_element (requests, i);

    if (!hr_pipeline_request (run->pipeline, (guint64)json_array_get_int_element (one, 0),
                              (guint64)json_array_get_int_element (one, 1), &run->error))
      return FALSE;
  }
  hr_pipeline_end_requests (run->pipeline);
  return TRUE;
}

static void
run_pipeline (Run *run, JsonObject *request)
{
  const char *resume = json_object_get_string_member_with_default (request, "resume", NULL);
  gint64 mark;

  run->pipeline = hr_parse_launch (json_object_get_string_member (request, "text"), &run->error);
  if (run->pipeline == NULL)
    return;
  if (resume != NULL
      && !hr_pipeline_resume (run->pipeline, resume,
                              json_object_get_boolean_member_with_default (request, "force", FALSE),
                              &run->error))
    return;
  if (!hr_pipeline_start (run->pipeline, &run->error))
    return;
  if (json_object_has_member (request, "requests")
      && !ask (run, json_object_get_array_member (request, "requests")))
    return;
  mark = json_object_get_int_member_with_default (request, "mark", 0);
  take_steps (run, json_object_get_int_member_with_default (request, "take", -1), mark);
  if (mark < 0 && run->error == NULL)
    run->checkpoint = hr_pipeline_get_checkpoint (run->pipeline, NULL, &run->error);
  json_builder_set_member_name (run->answer, "n_steps");
  json_builder_add_int_value (run->answer, hr_pipeline_get_n_steps (run->pipeline));
  hr_pipeline_stop (run->pipeline);
  hr_pipeline_wait (run->pipeline, run->error == NULL ? &run->error : NULL);
  add_messages (run);
  if (json_object_get_boolean_member_with_default (request, "stats", FALSE)) {
    g_autofree char *stats = hr_pipeline_get_stats (run->pipeline);

    json_builder_set_member_name (run->answer, "stats");
    json_builder_add_value (run->answer, json_from_string (stats, NULL));
  }
}

static void
set_variable (JsonObject *object G_GNUC_UNUSED, const char *name, JsonNode *value,
              gpointer data G_GNUC_UNUSED)
{
  if (JSON_NODE_HOLDS_NULL (value))
    g_unsetenv (name);
  else
    g_setenv (name, json_node_get_string (value), TRUE);
}

static void
add_text (Run *run, const char *name, const char *text)
{
  json_builder_set_member_name (run->answer, name);
  if (text != NULL)
    json_builder_add_string_value (run->answer, text);
  else
    json_builder_add_null_value (run->answer);
}

static void
answer (const char *line)
{
  g_autoptr (JsonNode) request = json_from_string (line, NULL), root = NULL;
  Run run = { .answer = json_builder_new () };
  g_autofree char *text = NULL;

  json_builder_begin_object (run.answer);
  if (json_object_has_member (json_node_get_object (request), "environment"))
    json_object_foreach_member (
        json_object_get_object_member (json_node_get_object (request), "environment"), set_variable,
        NULL);
  run_pipeline (&run, json_node_get_object (request));
  add_text (&run, "error", run.error != NULL ? run.error->message : NULL);
  add_text (&run, "checkpoint", run.checkpoint);
  json_builder_end_object (run.answer);
  root = json_builder_get_root (run.answer);
  text = json_to_string (root, FALSE);
  puts (text);
  fflush (stdout);
  g_clear_object (&run.pipeline);
  g_clear_error (&run.error);
  g_free (run.checkpoint);
  g_object_unref (run.answer);
}

int
main (void)
{
  char *line = NULL;
  size_t room = 0;

  while (getline (&line, &room, stdin) > 0)
    answer (line);
  free (line);
  return 0;
}
