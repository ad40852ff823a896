/* metrics.c: the stats as Prometheus reads them: base units, totals that only grow, one family a
 * name. docs/dashboard.md lists them. */
#include "metrics.h"
#include "hr-value.h"
#include <math.h>
#include <string.h>

typedef struct {
  const char *name, *type, *help;
  const char *key; /* of the stats, or of an element */
} Family;

static const Family of_run[] = {
  { "headrace_steps_total", "counter", "Buffers that the sink took.", "steps" },
  { "headrace_samples_total", "counter", "Samples in them, without holes.", "samples" },
  { "headrace_images_total", "counter", "Images in those samples.", "images" },
  { "headrace_prepare_seconds_total", "counter", "Time the trainer waited for data.", "prepare_s" },
  { "headrace_transfer_seconds_total", "counter", "Time of copies to the device.", "transfer_s" },
  { "headrace_transfer_wait_seconds_total", "counter",
    "Time the trainer waited for those copies, part of its own.", "transfer_wait_s" },
  { "headrace_train_seconds_total", "counter", "Time the trainer took for itself.", "train_s" },
  { "headrace_cpu_seconds_total", "counter", "Processor time since the start of the run.",
    "cpu_s" },
  { "headrace_wall_seconds_total", "counter", "Time since the start of the run.", "wall_s" },
  { "headrace_wait_ratio", "gauge", "Share of its time the trainer waited, of the whole run.",
    "wait_ratio" },
  { "headrace_cold_start_seconds", "gauge", "Time until the first buffer was there.",
    "cold_start_s" },
  { "headrace_peak_resident_bytes", "gauge", "Largest resident size of the process.",
    "peak_rss_bytes" },
  { "headrace_budget_peak_bytes", "gauge", "Most bytes of samples under way.",
    "budget_peak_bytes" },
};

static const Family of_element[] = {
  { "headrace_element_items_total", "counter", "Buffers the element began.", "items" },
  { "headrace_element_bytes_total", "counter", "Bytes of their tensors.", "bytes" },
  { "headrace_element_copied_bytes_total", "counter", "Sample bytes it copied.", "bytes_copied" },
  { "headrace_element_working_seconds_total", "counter", "Time its workers worked.", "working_s" },
  { "headrace_element_workers", "gauge", "Its threads.", "workers" },
  { "headrace_http_requests_total", "counter", "HTTP requests that were sent.", "requests" },
  { "headrace_http_retries_total", "counter", "Further tries among them.", "retries" },
  { "headrace_http_throttled_total", "counter", "Answers that asked for less.", "throttled" },
  { "headrace_http_hedged_total", "counter", "Second requests for late answers.", "hedged" },
};

/* {"blocked_in_s": input}, one family with a label */
static const struct {
  const char *key, *reason;
} blocked[] = { { "blocked_in_s", "input" },
                { "blocked_out_s", "output" },
                { "blocked_cpu_s", "processor" } };

static const struct {
  const char *name, *help, *key;
} of_queue[] = {
  { "headrace_queue_items", "Buffers that stand in front of the element.", "now" },
  { "headrace_queue_room_items", "Buffers that may stand there.", "room" },
};

/* NAN if it is not there, or null */
static gdouble
number (JsonObject *object, const char *key)
{
  return json_object_get_double_member_with_default (object, key, NAN);
}

static void
add_head (GString *out, const char *name, const char *type, const char *help)
{
  g_string_append_printf (out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* in quotes, as a label's value */
static void
add_label (GString *out, const char *name, const char *value)
{
  g_string_append_printf (out, "%s=\"", name);
  for (; *value != '\0'; value++)
    switch (*value) {
    case '\\':
      g_string_append (out, "\\\\");
      break;
    case '"':
      g_string_append (out, "\\\"");
      break;
    case '\n':
      g_string_append (out, "\\n");
      break;
    default:
      g_string_append_c (out, *value);
    }
  g_string_append_c (out, '"');
}

static void
add_value (GString *out, gdouble value)
{
  g_autofree char *text = hr_value_format_double (value);

  g_string_append_printf (out, " %s\n", text);
}

static const char *
text_of (JsonObject *object, const char *key)
{
  return json_object_get_string_member_with_default (object, key, "");
}

static void
add_element_labels (GString *out, JsonObject *element)
{
  g_string_append_c (out, '{');
  add_label (out, "element", text_of (element, "name"));
  g_string_append_c (out, ',');
  add_label (out, "factory", text_of (element, "factory"));
}

static void
add_elements (GString *out, JsonArray *elements, const char *name, const char *type,
              const char *help, const char *key, const char *in)
{
  gboolean head = FALSE;

  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);
    JsonObject *from = element;
    gdouble value;

    if (in != NULL) {
      if (!json_object_has_member (element, in))
        continue;
      from = json_object_get_object_member (element, in);
    }
    value = number (from, key);
    if (isnan (value))
      continue;
    if (!head)
      add_head (out, name, type, help);
    head = TRUE;
    g_string_append (out, name);
    add_element_labels (out, element);
    g_string_append_c (out, '}');
    add_value (out, value);
  }
}

static void
add_blocked (GString *out, JsonArray *elements)
{
  const char *name = "headrace_element_blocked_seconds_total";

  add_head (out, name, "counter", "Time its workers waited, and for what.");
  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);

    for (guint k = 0; k < G_N_ELEMENTS (blocked); k++) {
      gdouble value = number (element, blocked[k].key);

      if (isnan (value))
        continue;
      g_string_append (out, name);
      add_element_labels (out, element);
      g_string_append_c (out, ',');
      add_label (out, "reason", blocked[k].reason);
      g_string_append_c (out, '}');
      add_value (out, value);
    }
  }
}

static void
add_kinds (GString *out, JsonObject *stats, const char *key, const char *name, const char *help)
{
  JsonObject *kinds = json_object_get_object_member (stats, key);
  g_autoptr (GList) names = json_object_get_members (kinds);

  add_head (out, name, "counter", help);
  for (const GList *item = names; item != NULL; item = item->next) {
    g_string_append_printf (out, "%s{", name);
    add_label (out, "kind", item->data);
    g_string_append_c (out, '}');
    add_value (out, number (kinds, item->data));
  }
}

char *
dashboard_metrics (JsonObject *stats)
{
  GString *out = g_string_new (NULL);
  JsonArray *elements = json_object_get_array_member (stats, "elements");

  add_head (out, "headrace_build_info", "gauge", "Always 1; the version is a label.");
  g_string_append (out, "headrace_build_info{");
  add_label (out, "version", HR_VERSION);
  g_string_append (out, "} 1\n");
  add_head (out, "headrace_running", "gauge", "1 while the pipeline runs, else 0.");
  g_string_append (out, "headrace_running");
  add_value (out, strcmp (text_of (stats, "status"), "running") == 0);
  for (guint i = 0; i < G_N_ELEMENTS (of_run); i++) {
    gdouble value = number (stats, of_run[i].key);

    if (isnan (value))
      continue;
    add_head (out, of_run[i].name, of_run[i].type, of_run[i].help);
    g_string_append (out, of_run[i].name);
    add_value (out, value);
  }
  add_kinds (out, stats, "skipped", "headrace_skipped_samples_total",
             "Samples that an error left out.");
  add_kinds (out, stats, "dropped", "headrace_dropped_samples_total",
             "Samples that an element's policy left out.");
  for (guint i = 0; i < G_N_ELEMENTS (of_element); i++)
    add_elements (out, elements, of_element[i].name, of_element[i].type, of_element[i].help,
                  of_element[i].key, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (of_queue); i++)
    add_elements (out, elements, of_queue[i].name, "gauge", of_queue[i].help, of_queue[i].key,
                  "queue");
  add_blocked (out, elements);
  return g_string_free (out, FALSE);
}
