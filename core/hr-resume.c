/* hr-resume.c: does a checkpoint fit this pipeline and its data, and where does it go on? */
#include "hr-checkpoint.h"
#include "hr-json.h"
#include "hr-packer.h"
#include "hr-registry.h"
#include <string.h>

/* braces and brackets within each other; a checkpoint has four */
#define MAX_DEPTH 16

/* ---- reading; the document may be anything ---- */

/* One object from the first byte to the last, not too deep for a parser that recurses; what is in
 * it is that parser's affair. */
static gboolean
is_one_object (const char *text)
{
  gboolean quoted = FALSE;
  guint depth = 0;

  for (text += strspn (text, " \t\r\n"); *text != '\0'; text++) {
    if (quoted) {
      quoted = *text != '"';
      text += *text == '\\' && text[1] != '\0';
    } else if (*text == '{' || *text == '[') {
      if (depth++ == MAX_DEPTH)
        return FALSE;
    } else if (depth == 0) {
      return FALSE;
    } else if (*text == '}' || *text == ']') {
      if (--depth == 0)
        return text[1 + strspn (text + 1, " \t\r\n")] == '\0';
    } else {
      quoted = *text == '"';
    }
  }
  return FALSE;
}

static JsonObject *
as_object (JsonNode *node)
{
  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static JsonArray *
as_array (JsonNode *node)
{
  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

static JsonNode *
member (JsonObject *object, const char *name)
{
  return object != NULL ? json_object_get_member (object, name) : NULL;
}

/* -1: null, missing, no whole number, or below 0 */
static gint64
get_int (JsonObject *object, const char *name)
{
  JsonNode *node = member (object, name);

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_INT64)
    return -1;
  return MAX (json_node_get_int (node), -1);
}

static const char *
get_string (JsonObject *object, const char *name)
{
  JsonNode *node = member (object, name);

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_STRING)
    return NULL;
  return json_node_get_string (node);
}

static gboolean
bad_document (GError **error, const char *what)
{
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE, "this is no checkpoint: %s", what);
  return FALSE;
}

/* A number that is none would be taken for 0, and the run go on somewhere else. */
static gboolean
check_numbers (JsonObject *object, const char *const *names, GError **error)
{
  for (; *names != NULL; names++)
    if (get_int (object, *names) < 0) {
      g_autofree char *what = g_strdup_printf ("\"%s\" is missing or no number", *names);

      return bad_document (error, what);
    }
  return TRUE;
}

static gboolean
check_sources (JsonArray *data, GError **error)
{
  static const char *const numbers[] = { "unit", "byte", "first", NULL };

  for (guint i = 0; i < json_array_get_length (data); i++) {
    JsonObject *source = as_object (json_array_get_element (data, i));
    JsonNode *lines = member (source, "lines");

    if (get_string (source, "identity") == NULL || lines == NULL)
      return bad_document (error, "\"data\" does not say of which data");
    if (!JSON_NODE_HOLDS_NULL (lines) && get_int (source, "lines") < 0)
      return bad_document (error, "\"lines\" is no number");
    if (!check_numbers (source, numbers, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
check_document (JsonObject *root, GError **error)
{
  static const char *const numbers[] = {
    "epoch", "step", "steps", "row", "samples_per_step", NULL
  };
  gint64 format = get_int (root, "checkpoint");

  if (root == NULL || format < 0)
    return bad_document (error, "\"checkpoint\", its format's number, is missing");
  if (format != HR_CHECKPOINT_FORMAT) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                 "the checkpoint has format %" G_GINT64_FORMAT ", written by headrace %s; this is "
                 "headrace %s, which reads format %d",
                 format,
                 get_string (root, "headrace") != NULL ? get_string (root, "headrace") : "?",
                 HR_VERSION, HR_CHECKPOINT_FORMAT);
    return FALSE;
  }
  if (!check_numbers (root, numbers, error))
    return FALSE;
  if (as_array (member (root, "elements")) == NULL || as_object (member (root, "pipeline")) == NULL
      || as_array (member (root, "data")) == NULL)
    return bad_document (error, "\"elements\", \"pipeline\" or \"data\" is missing");
  if (as_array (member (root, "skipped")) == NULL)
    return bad_document (error, "\"skipped\" is missing");
  return check_sources (as_array (member (root, "data")), error);
}

gboolean
hr_pipeline_resume (HrPipeline *pipeline, const char *checkpoint, gboolean force, GError **error)
{
  g_autoptr (GError) syntax = NULL;
  g_autoptr (JsonNode) node = NULL;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && checkpoint != NULL, FALSE);
  if (hr_pipeline_get_state (pipeline) != HR_STATE_STOPPED) {
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                         "a checkpoint is set before the pipeline is started");
    return FALSE;
  }
  if (!is_one_object (checkpoint))
    return bad_document (error, *checkpoint == '\0' ? "it is empty" : "it is not one whole object");
  node = json_from_string (checkpoint, &syntax);
  if (node == NULL)
    return bad_document (error, syntax->message);
  if (!check_document (as_object (node), error))
    return FALSE;
  g_clear_pointer (&pipeline->resume, json_node_unref);
  pipeline->resume = g_steal_pointer (&node);
  pipeline->resume_force = force;
  pipeline->first_step = get_int (as_object (pipeline->resume), "steps");
  return TRUE;
}

/* ---- the pipeline ---- */

static gboolean differs (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
differs (GError **error, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "the checkpoint is of another stream: %s", what);
  return FALSE;
}

/* FALSE with what differs first */
static gboolean
compare_properties (const char *of, JsonObject *then, JsonObject *now, GError **error)
{
  g_autoptr (GList) names = now != NULL ? json_object_get_members (now) : NULL;

  for (GList *node = names; node != NULL; node = node->next) {
    const char *name = node->data, *was = get_string (then, name), *is = get_string (now, name);

    if (was == NULL)
      return differs (error, "it does not know %s of %s", name, of);
    if (g_strcmp0 (was, is) != 0)
      return differs (error, "%s of %s was %s and is %s", name, of, *was != '\0' ? was : "not set",
                      *is != '\0' ? is : "not set");
  }
  return TRUE;
}

static const char *
element_at (JsonArray *array, guint index, JsonObject **object)
{
  *object = index < json_array_get_length (array)
                ? as_object (json_array_get_element (array, index))
                : NULL;
  return get_string (*object, "element");
}

/* the order is made by the sources (and mix), what is delivered by the others too */
static gboolean
makes_the_order (const char *factory)
{
  const HrElementDef *def = hr_registry_find (factory, NULL);

  return def == NULL || def->plans || def->mixes != NULL;
}

/* of several sources the name alone does not say which */
static char *
describe_element (const char *name, JsonObject *properties)
{
  const char *location = get_string (properties, "location");

  return location != NULL ? g_strdup_printf ("%s location=%s", name, location) : g_strdup (name);
}

static gboolean
compare_elements (HrPipeline *pipeline, JsonArray *then, JsonArray *now, GError **error)
{
  guint n = MAX (json_array_get_length (then), json_array_get_length (now));

  for (guint i = 0; i < n; i++) {
    JsonObject *was, *is;
    const char *was_name = element_at (then, i, &was), *is_name = element_at (now, i, &is);
    g_autoptr (GError) why = NULL;

    if (g_strcmp0 (was_name, is_name) != 0) {
      differs (&why, "where %s was is %s now", was_name != NULL ? was_name : "nothing",
               is_name != NULL ? is_name : "nothing");
    } else {
      JsonObject *properties = as_object (member (is, "properties"));
      g_autofree char *of = describe_element (is_name, properties);

      if (compare_properties (of, as_object (member (was, "properties")), properties, &why))
        continue;
    }
    if (pipeline->resume_force && (is_name == NULL || !makes_the_order (is_name))
        && (was_name == NULL || !makes_the_order (was_name))) {
      g_prefix_error (&why, "going on as told, although ");
      hr_pipeline_post (pipeline, HR_MESSAGE_WARNING, NULL, why, NULL);
      if (g_strcmp0 (was_name, is_name) != 0)
        return TRUE; /* what follows has moved */
      continue;
    }
    g_propagate_error (error, g_steal_pointer (&why));
    return FALSE;
  }
  return TRUE;
}

static gboolean
compare_versions (JsonObject *root, gboolean force, GError **error)
{
  const char *version = get_string (root, "headrace");

  if (force || g_strcmp0 (version, HR_VERSION) == 0)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "the checkpoint was written by headrace %s, this is %s, which may deliver other "
               "bytes; force goes on all the same",
               version != NULL ? version : "?", HR_VERSION);
  return FALSE;
}

static gboolean
compare_pipelines (HrPipeline *pipeline, JsonObject *root, GError **error)
{
  g_autoptr (JsonNode) elements = hr_checkpoint_describe_elements (pipeline);
  g_autoptr (JsonNode) settings = hr_checkpoint_describe_pipeline (pipeline);

  return compare_versions (root, pipeline->resume_force, error)
         && compare_properties ("the pipeline", as_object (member (root, "pipeline")),
                                as_object (settings), error)
         && compare_elements (pipeline, as_array (member (root, "elements")), as_array (elements),
                              error);
}

/* ---- the data ---- */

static gboolean
is_same_object (JsonObject *then, const HrObject *now)
{
  const char *etag = get_string (then, "etag");

  return g_strcmp0 (get_string (then, "key"), now->key) == 0
         && get_int (then, "size") == hr_object_get_bytes (now)
         && g_strcmp0 (etag, now->etag != NULL ? now->etag : "") == 0;
}

/* the first object that is not what it was */
static char *
name_change (JsonArray *then, const HrPlan *plan)
{
  guint n = hr_plan_get_n_objects (plan);

  for (guint i = 0; then != NULL && i < MAX (n, json_array_get_length (then)); i++) {
    JsonObject *was =
        i < json_array_get_length (then) ? as_object (json_array_get_element (then, i)) : NULL;
    const HrObject *is = i < n ? hr_plan_get_object (plan, i) : NULL;
    gint order = was == NULL ? 1 : is == NULL ? -1 : g_strcmp0 (get_string (was, "key"), is->key);

    if (order < 0)
      return g_strdup_printf ("%s is not there any more", get_string (was, "key"));
    if (order > 0)
      return g_strdup_printf ("%s is new", is->key);
    if (!is_same_object (was, is))
      return g_strdup_printf ("%s had %" G_GINT64_FORMAT " bytes and identity %s, and has %" //
                              G_GINT64_FORMAT " and %s",
                              is->key, get_int (was, "size"), get_string (was, "etag"),
                              hr_object_get_bytes (is), is->etag != NULL ? is->etag : "none");
  }
  return g_strdup_printf ("of %u objects some have changed", n);
}

/* of a mix each has an entry of its own */
static JsonObject *
get_data (const HrRun *source, JsonObject *root)
{
  JsonArray *data = as_array (member (root, "data"));
  guint index = source->orders.mix != NULL ? source->orders.member : 0;

  return index < json_array_get_length (data) ? as_object (json_array_get_element (data, index))
                                              : NULL;
}

/* no force: what stands where is another thing with other data */
static gboolean
check_data (gpointer data, const HrPlan *plan, GError **error)
{
  const HrRun *run = data;
  JsonObject *then = get_data (run, as_object (run->pipeline->resume));
  g_autofree char *change = NULL;

  if (g_strcmp0 (get_string (then, "identity"), hr_plan_get_identity (plan)) == 0)
    return TRUE;
  change = name_change (as_array (member (then, "objects")), plan);
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
               "%s%sthe data is not what it was at the checkpoint: %s; a run cannot go on exactly "
               "with other data",
               run->orders.mix != NULL ? run->orders.name : "", run->orders.mix != NULL ? ": " : "",
               change);
  return FALSE;
}

/* ---- where to go on ---- */

#define PACKED_RANKS                                                                               \
  "the blocks of each rank make their own number of rows, which that rank alone knows: go on "     \
  "with "                                                                                          \
  "as many ranks, each from its own checkpoint; a run with scan=lengths numbers rows for all "     \
  "ranks, and its checkpoints are for any number of them"

static gboolean
set_start (HrRun *source, JsonObject *root, GError **error)
{
  JsonObject *then = get_data (source, root);
  HrShard *shard = &source->orders.shard;
  gboolean rows = source->orders.rows.window > 0;
  gint64 size = rows ? 1 : (gint64)hr_shard_step_size (shard); /* of what `step` counts */
  gint64 was = get_int (root, "samples_per_step");
  const char *sum = get_string (root, "lengths");
  JsonNode *drop_last = member (root, "drop_last");

  if (then == NULL)
    return bad_document (error, "\"data\" does not say of which data");
  if ((was == 0) != rows)
    return differs (error, rows ? "packed rows were not numbered, and are now (scan=lengths)"
                                : "packed rows were numbered (scan=lengths), and are not now");
  if (was != size && !rows && hr_packer_find (source->pipeline) != NULL)
    return differs (error,
                    "the blocks of all ranks together had %" G_GINT64_FORMAT
                    " samples and have %" G_GINT64_FORMAT ": " PACKED_RANKS,
                    was, size);
  if (was != size && !rows)
    return differs (error,
                    "a step had %" G_GINT64_FORMAT " samples of all ranks together and has "
                    "%" G_GINT64_FORMAT ": world x size must stay what it was",
                    was, size);
  if (drop_last == NULL || !JSON_NODE_HOLDS_VALUE (drop_last)
      || json_node_get_boolean (drop_last) != shard->drop_last)
    return differs (error, "drop-last has changed");
  if (get_int (root, "epoch") > G_MAXINT32 || get_int (root, "step") > G_MAXINT64 / size
      || (source->orders.mix == NULL && get_int (then, "first") > get_int (root, "step") * size)
      || (get_int (then, "lines") >= 0 && get_int (then, "first") > get_int (then, "lines")))
    return bad_document (error, "its numbers are those of no run");
  source->start = (HrPlanStart){ .epoch = (guint)get_int (root, "epoch"),
                                 .place = get_int (root, "step") * size,
                                 .n_lines = get_int (then, "lines"),
                                 .unit = (guint64)get_int (then, "unit"),
                                 .byte = get_int (then, "byte"),
                                 .first = get_int (then, "first") };
  source->orders.check_data = check_data;
  source->orders.check_user = source;
  if (sum != NULL && (rows || source->orders.balance))
    source->orders.lengths_sum = g_ascii_strtoull (sum, NULL, 16);
  return TRUE;
}

/* a block of which only some rows have been taken is made again, as it was then */
static gboolean
set_block (HrPipeline *pipeline, JsonObject *root, GError **error)
{
  JsonArray *skipped = as_array (member (root, "skipped"));
  gint64 row = get_int (root, "row");

  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;

    if (!hr_packer_is (run)
        || run->numbered_rows) /* whose place is any rank's, behind a whole row */
      continue;
    if (get_int (root, "rank") != (gint64)pipeline->settings.rank)
      return differs (error,
                      "it is of packed rows of rank %" G_GINT64_FORMAT ", this is rank "
                      "%" G_GUINT64_FORMAT ": " PACKED_RANKS,
                      get_int (root, "rank"), pipeline->settings.rank);
    run->delivered_rows = (guint)row;
    run->known_skipped = g_array_new (FALSE, FALSE, sizeof (gint64));
    for (guint k = 0; k < json_array_get_length (skipped); k++) {
      JsonNode *node = json_array_get_element (skipped, k);
      gint64 place = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_int (node) : -1;

      g_array_append_val (run->known_skipped, place);
    }
  }
  return TRUE;
}

/* all sources, and the mix that they are members of, begin at the same place */
static gboolean
set_starts (HrPipeline *pipeline, JsonObject *root, GError **error)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (element->inputs->len > 0)
      continue;
    if (!set_start (element->run, root, error))
      return FALSE;
    if (element->run->mix != NULL)
      hr_mix_run_set_start (element->run->mix, &element->run->start,
                            element->run->orders.lengths_sum);
  }
  return TRUE;
}

gboolean
hr_resume_apply (HrPipeline *pipeline, GError **error)
{
  JsonObject *root = as_object (pipeline->resume);
  HrRun *source = NULL;

  if (root == NULL)
    return TRUE;
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;

    if (run->element->inputs->len > 0)
      continue;
    if (run->orders.shard.group == 0
        || (source != NULL && (run->mix == NULL || run->mix != source->mix))) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                   "cannot go on from a checkpoint: %s \"%s\" has no order that is known "
                   "beforehand, or is one of several sources without a mix",
                   run->def->name, run->element->common.name);
      return FALSE;
    }
    source = run;
  }
  return source != NULL && compare_pipelines (pipeline, root, error)
         && set_starts (pipeline, root, error) && set_block (pipeline, root, error);
}
