/* metrics.c: the stats as Prometheus reads them: base units, totals that only grow, one family a
 * name. docs/dashboard.md lists them. */
#include "metrics.h"
#include "hr-value.h"
#include <math.h>
#include <string.h>

typedef struct {
  const char *name, *type, *help;
  const char *key; /* of what it is about */
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

static const Family of_queue[] = {
  { "headrace_queue_items", "gauge", "Buffers that stand in front of the element.", "now" },
  { "headrace_queue_room_items", "gauge", "Buffers that may stand there.", "room" },
};

/* of a run that is spread over nodes (docs/ray.md) */
static const Family of_producer[] = {
  { "headrace_producer_units_total", "counter", "Units it made.", "units" },
  { "headrace_producer_bytes_total", "counter", "Bytes of their tensors.", "bytes" },
  { "headrace_producer_making_seconds_total", "counter", "Time it took for them.", "made_s" },
};

static const Family of_its_pipeline[] = {
  { "headrace_producer_cpu_seconds_total", "counter", "Processor time of its process.", "cpu_s" },
  { "headrace_producer_peak_resident_bytes", "gauge", "Largest resident size of its process.",
    "peak_rss_bytes" },
};

static const Family of_link[] = {
  { "headrace_link_units_total", "counter", "Units that came from that node.", "units" },
  { "headrace_link_bytes_total", "counter", "Bytes of their tensors.", "bytes" },
  { "headrace_link_making_seconds_total", "counter", "Time that producers there took for them.",
    "made_s" },
  { "headrace_link_transfer_seconds_total", "counter",
    "Time they were on their way, once they were made and wanted.", "pulled_s" },
};

/* elements that one process runs */
typedef struct {
  JsonArray *elements;
  JsonObject *producer; /* NULL: it is the process of the trainer */
} Group;

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

/* NULL: it is not there, or null */
static JsonObject *
object_of (JsonObject *object, const char *key)
{
  JsonNode *node = json_object_get_member (object, key);

  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static void
add_producer_labels (GString *out, JsonObject *producer)
{
  g_autofree char *index =
      g_strdup_printf ("%" G_GINT64_FORMAT, json_object_get_int_member (producer, "index"));

  add_label (out, "node", text_of (producer, "ip"));
  g_string_append_c (out, ',');
  add_label (out, "producer", index);
}

static void
add_element_labels (GString *out, const Group *group, JsonObject *element)
{
  g_string_append_c (out, '{');
  if (group->producer != NULL) {
    add_producer_labels (out, group->producer);
    g_string_append_c (out, ',');
  }
  add_label (out, "element", text_of (element, "name"));
  g_string_append_c (out, ',');
  add_label (out, "factory", text_of (element, "factory"));
}

/* *@head: whether the family has begun, which it does with its first value */
static void
add_element (GString *out, const Group *group, JsonObject *element, const Family *family,
             const char *in, gboolean *head)
{
  JsonObject *from = in != NULL ? object_of (element, in) : element;
  gdouble value = from != NULL ? number (from, family->key) : NAN;

  if (isnan (value))
    return;
  if (!*head)
    add_head (out, family->name, family->type, family->help);
  *head = TRUE;
  g_string_append (out, family->name);
  add_element_labels (out, group, element);
  g_string_append_c (out, '}');
  add_value (out, value);
}

static void
add_elements (GString *out, const GArray *groups, const Family *family, const char *in)
{
  gboolean head = FALSE;

  for (guint i = 0; i < groups->len; i++) {
    const Group *group = &g_array_index (groups, Group, i);

    for (guint k = 0; k < json_array_get_length (group->elements); k++)
      add_element (out, group, json_array_get_object_element (group->elements, k), family, in,
                   &head);
  }
}

static void
add_blocked_of (GString *out, const char *name, const Group *group, JsonObject *element)
{
  for (guint k = 0; k < G_N_ELEMENTS (blocked); k++) {
    gdouble value = number (element, blocked[k].key);

    if (isnan (value))
      continue;
    g_string_append (out, name);
    add_element_labels (out, group, element);
    g_string_append_c (out, ',');
    add_label (out, "reason", blocked[k].reason);
    g_string_append_c (out, '}');
    add_value (out, value);
  }
}

static void
add_blocked (GString *out, const GArray *groups)
{
  const char *name = "headrace_element_blocked_seconds_total";

  add_head (out, name, "counter", "Time its workers waited, and for what.");
  for (guint i = 0; i < groups->len; i++) {
    const Group *group = &g_array_index (groups, Group, i);

    for (guint k = 0; k < json_array_get_length (group->elements); k++)
      add_blocked_of (out, name, group, json_array_get_object_element (group->elements, k));
  }
}

static void
add_kinds (GString *out, JsonObject *kinds, const char *label, const char *name, const char *help)
{
  g_autoptr (GList) names = json_object_get_members (kinds);

  add_head (out, name, "counter", help);
  for (const GList *item = names; item != NULL; item = item->next) {
    g_string_append_printf (out, "%s{", name);
    add_label (out, label, item->data);
    g_string_append_c (out, '}');
    add_value (out, number (kinds, item->data));
  }
}

/* ---- nodes ---- */

static void
add_producers (GString *out, JsonArray *producers, const Family *family, const char *in)
{
  gboolean head = FALSE;

  for (guint i = 0; i < json_array_get_length (producers); i++) {
    JsonObject *producer = json_array_get_object_element (producers, i);
    JsonObject *from = in != NULL ? object_of (producer, in) : producer;
    gdouble value = from != NULL ? number (from, family->key) : NAN;

    if (isnan (value))
      continue;
    if (!head)
      add_head (out, family->name, family->type, family->help);
    head = TRUE;
    g_string_append_printf (out, "%s{", family->name);
    add_producer_labels (out, producer);
    g_string_append_c (out, '}');
    add_value (out, value);
  }
}

static void
add_answers (GString *out, JsonArray *producers)
{
  const char *name = "headrace_producer_up";

  add_head (out, name, "gauge", "1: it has answered, 0: it has not.");
  for (guint i = 0; i < json_array_get_length (producers); i++) {
    JsonObject *producer = json_array_get_object_element (producers, i);

    g_string_append_printf (out, "%s{", name);
    add_producer_labels (out, producer);
    g_string_append_c (out, '}');
    add_value (out, !json_object_has_member (producer, "error"));
  }
}

static void
add_links (GString *out, JsonObject *links, const Family *family)
{
  g_autoptr (GList) nodes = json_object_get_members (links);

  add_head (out, family->name, family->type, family->help);
  for (const GList *item = nodes; item != NULL; item = item->next) {
    g_string_append_printf (out, "%s{", family->name);
    add_label (out, "node", item->data);
    g_string_append_c (out, '}');
    add_value (out, number (json_object_get_object_member (links, item->data), family->key));
  }
}

static void
add_nodes (GString *out, JsonObject *stats, JsonArray *producers)
{
  add_answers (out, producers);
  for (guint i = 0; i < G_N_ELEMENTS (of_producer); i++)
    add_producers (out, producers, &of_producer[i], NULL);
  for (guint i = 0; i < G_N_ELEMENTS (of_its_pipeline); i++)
    add_producers (out, producers, &of_its_pipeline[i], "pipeline");
  for (guint i = 0; i < G_N_ELEMENTS (of_link); i++)
    add_links (out, json_object_get_object_member (stats, "links"), &of_link[i]);
  add_kinds (out, json_object_get_object_member (stats, "units"), "event", "headrace_units_total",
             "What became of units of this rank.");
}

/* the trainer's process, then those of producers that have answered and have begun */
static GArray *
find_groups (JsonObject *stats, JsonArray *producers)
{
  GArray *groups = g_array_new (FALSE, FALSE, sizeof (Group));
  Group own = { json_object_get_array_member (stats, "elements"), NULL };

  g_array_append_val (groups, own);
  for (guint i = 0; producers != NULL && i < json_array_get_length (producers); i++) {
    JsonObject *producer = json_array_get_object_element (producers, i);
    JsonObject *pipeline = object_of (producer, "pipeline");
    Group its = { pipeline != NULL ? json_object_get_array_member (pipeline, "elements") : NULL,
                  producer };

    if (its.elements != NULL)
      g_array_append_val (groups, its);
  }
  return groups;
}

char *
dashboard_metrics (JsonObject *stats)
{
  GString *out = g_string_new (NULL);
  JsonArray *producers = json_object_has_member (stats, "producers")
                             ? json_object_get_array_member (stats, "producers")
                             : NULL;
  g_autoptr (GArray) groups = find_groups (stats, producers);

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
  add_kinds (out, json_object_get_object_member (stats, "skipped"), "kind",
             "headrace_skipped_samples_total", "Samples that an error left out.");
  add_kinds (out, json_object_get_object_member (stats, "dropped"), "kind",
             "headrace_dropped_samples_total", "Samples that an element's policy left out.");
  for (guint i = 0; i < G_N_ELEMENTS (of_element); i++)
    add_elements (out, groups, &of_element[i], NULL);
  for (guint i = 0; i < G_N_ELEMENTS (of_queue); i++)
    add_elements (out, groups, &of_queue[i], "queue");
  add_blocked (out, groups);
  if (producers != NULL)
    add_nodes (out, stats, producers);
  return g_string_free (out, FALSE);
}
