/* commands.c: what a loader asks of its pipeline, beside batches, which
 * come by shared memory. Every request is an object whose
 * "do" names a row of the table below; every answer is one with what that row adds, or "error". */
#include "answers.h"
#include "worker.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

typedef gboolean (*Command) (Worker *worker, JsonObject *request, JsonBuilder *into,
                             GError **error);

/* NULL: missing, or null */
static const char *
get_string (JsonObject *request, const char *name)
{
  return json_object_get_string_member_with_default (request, name, NULL);
}

/* of this thread, and of those that it starts */
static gboolean
set_nice (JsonObject *request, GError **error)
{
  int nice = (int)json_object_get_int_member_with_default (request, "nice", 0);

  if (nice == 0 || setpriority (PRIO_PROCESS, 0, nice) == 0)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN,
               "nice=%d for the pipeline's process: %s", nice, g_strerror (errno));
  return FALSE;
}

static gboolean
start (Worker *worker, JsonObject *request, JsonBuilder *into G_GNUC_UNUSED, GError **error)
{
  const char *version = get_string (request, "version"), *text = get_string (request, "text");
  const char *checkpoint = get_string (request, "checkpoint");
  gboolean force = json_object_get_boolean_member_with_default (request, "force", FALSE);
  g_autoptr (HrPipeline) pipeline = NULL;

  if (g_strcmp0 (version, HR_VERSION) != 0) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                 "the pipeline's process is of version " HR_VERSION ", the loader of %s: install "
                 "both from one",
                 version != NULL ? version : "another");
    return FALSE;
  }
  if (!set_nice (request, error))
    return FALSE;
  pipeline = hr_parse_launch (text != NULL ? text : "", error);
  if (pipeline == NULL
      || (checkpoint != NULL && !hr_pipeline_resume (pipeline, checkpoint, force, error)))
    return FALSE;
  hr_mutex_lock (&worker->lock);
  worker->pipeline = g_object_ref (pipeline); /* who finds the loader gone stops it */
  hr_mutex_unlock (&worker->lock);
  if (!hr_pipeline_start (pipeline, error))
    return FALSE;
  hr_mutex_lock (&worker->lock);
  worker->started = TRUE;
  hr_mutex_unlock (&worker->lock);
  worker_run (worker);
  return TRUE;
}

static gboolean
set (Worker *worker, JsonObject *request, JsonBuilder *into G_GNUC_UNUSED, GError **error)
{
  const char *name = get_string (request, "element"), *property = get_string (request, "property");
  const char *value = get_string (request, "value");
  HrElement *element;

  if (name == NULL)
    return hr_pipeline_set_from_string (worker->pipeline, property, value, error);
  element = hr_pipeline_get_element (worker->pipeline, name);
  if (element != NULL)
    return hr_element_set_from_string (element, property, value, error);
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_UNKNOWN_NAME,
               "there is no element \"%s\" in the pipeline", name);
  return FALSE;
}

static gboolean
stats (Worker *worker, JsonObject *request G_GNUC_UNUSED, JsonBuilder *into,
       GError **error G_GNUC_UNUSED)
{
  g_autofree char *text = hr_pipeline_get_stats (worker->pipeline);

  answers_add_text (into, "stats", text);
  return TRUE;
}

static gboolean
n_steps (Worker *worker, JsonObject *request G_GNUC_UNUSED, JsonBuilder *into,
         GError **error G_GNUC_UNUSED)
{
  json_builder_set_member_name (into, "n_steps");
  json_builder_add_int_value (into, hr_pipeline_get_n_steps (worker->pipeline));
  return TRUE;
}

static gboolean
stop (Worker *worker, JsonObject *request G_GNUC_UNUSED, JsonBuilder *into G_GNUC_UNUSED,
      GError **error G_GNUC_UNUSED)
{
  hr_pipeline_stop (worker->pipeline);
  return TRUE;
}

static gboolean
wait_for_end (Worker *worker, JsonObject *request G_GNUC_UNUSED, JsonBuilder *into G_GNUC_UNUSED,
              GError **error)
{
  const GError *failure = worker_join (worker);

  if (failure != NULL)
    g_propagate_error (error, g_error_copy (failure));
  return failure == NULL;
}

static const struct {
  const char *name;
  Command run;
} commands[] = { { "start", start },     { "set", set },   { "stats", stats },
                 { "n_steps", n_steps }, { "stop", stop }, { "wait", wait_for_end } };

static gboolean
run (Worker *worker, JsonObject *request, JsonBuilder *into, GError **error)
{
  const char *name = get_string (request, "do");

  for (guint i = 0; name != NULL && i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i].name, name) == 0) {
      if (commands[i].run == start || worker_get_pipeline (worker) != NULL)
        return commands[i].run (worker, request, into, error);
      g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                   "%s: the pipeline has not been started", name);
      return FALSE;
    }
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
               "the pipeline's process does not know \"%s\"", name != NULL ? name : "");
  return FALSE;
}

char *
worker_answer (Worker *worker, const char *text)
{
  g_autoptr (JsonNode) request = json_from_string (text, NULL);
  g_autoptr (JsonBuilder) into = json_builder_new ();
  g_autoptr (JsonNode) answer = NULL;
  g_autoptr (GError) error = NULL;

  json_builder_begin_object (into);
  if (request == NULL || !JSON_NODE_HOLDS_OBJECT (request))
    g_set_error_literal (&error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                         "a request to the pipeline's process is a JSON object");
  else
    run (worker, json_node_get_object (request), into, &error);
  if (error != NULL) {
    json_builder_set_member_name (into, "error");
    answers_add_error (into, error);
  }
  json_builder_end_object (into);
  answer = json_builder_get_root (into);
  return hr_json_write (answer, FALSE);
}
