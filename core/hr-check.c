/* hr-check.c: is a finished graph sound? Pads, circles, required properties, tables' own checks,
 * and what orders and sinks exclude. The fields have their own file. */
#include "hr-check-private.h"
#include "hr-link.h"
#include "hr-secrets.h"
#include <string.h>

const char *
hr_check_label (const HrCheck *check, HrElement *element)
{
  const char *factory = hr_element_get_factory (element);
  guint same = 0;

  for (guint i = 0; i < check->n; i++)
    same += g_str_equal (hr_element_get_factory (hr_pipeline_get_nth_element (check->pipeline, i)),
                         factory);
  return same > 1 ? hr_element_get_name (element) : factory;
}

gboolean
hr_check_fail (HrCheck *check, HrElement *culprit, HrParseError code, GError **error,
               const char *format, ...)
{
  g_autofree char *message = NULL;
  g_autofree char *shown = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  check->culprit = culprit;
  shown = hr_secrets_hide (message, HR_SECRETS_IN_TEXT);
  g_set_error_literal (error, HR_PARSE_ERROR, (gint)code, shown);
  return FALSE;
}

/* ---- pads ---- */

static guint
count_pads (const GPtrArray *links)
{
  guint n = 0;

  for (guint i = 0; i < links->len; i++)
    n += g_ptr_array_index (links, i) != NULL;
  return n;
}

static gboolean
is_source (const HrElementDef *def)
{
  return def->create != NULL || def->pushable;
}

static gboolean
is_sink (const HrElementDef *def)
{
  return def->consume != NULL || def->pullable;
}

/* Nothing is linked to it: what to write depends on what stands beside it. */
static gboolean
fail_unlinked (HrCheck *check, HrElement *element, gboolean output, GError **error)
{
  const char *label = hr_check_label (check, element);
  HrElement *next = output && element->index + 1 < check->n
                        ? hr_pipeline_get_nth_element (check->pipeline, element->index + 1)
                        : NULL;

  if (next != NULL && count_pads (next->inputs) == 0 && !is_source (next->def))
    return hr_check_fail (check, element, HR_PARSE_ERROR_LINK, error,
                          "the output of \"%s\" is not linked\nput \"!\" between \"%s\" and \"%s\"",
                          label, label, hr_check_label (check, next));
  if (output)
    return hr_check_fail (
        check, element, HR_PARSE_ERROR_LINK, error,
        "the output of \"%s\" is not linked\na chain ends in a sink: … ! fakesink", label);
  return hr_check_fail (
      check, element, HR_PARSE_ERROR_LINK, error,
      "the input of \"%s\" is not linked\na chain begins with a source: fakesrc ! …", label);
}

/* the parser allows no second link to a pad; graphs built otherwise may have one */
static gboolean
check_pads (HrCheck *check, GError **error)
{
  for (guint i = 0; i < check->n; i++) {
    HrElement *element = hr_pipeline_get_nth_element (check->pipeline, i);
    const HrElementDef *def = element->def;
    guint inputs = count_pads (element->inputs), outputs = count_pads (element->outputs);
    const char *label = hr_check_label (check, element);

    if (is_source (def) && inputs > 0)
      return hr_check_fail (check, element, HR_PARSE_ERROR_LINK, error,
                            "\"%s\" is a source: it has no input", label);
    if (is_sink (def) && outputs > 0)
      return hr_check_fail (check, element, HR_PARSE_ERROR_LINK, error,
                            "\"%s\" is a sink: it has no output", label);
    if (!is_source (def) && inputs == 0)
      return fail_unlinked (check, element, FALSE, error);
    if (!is_sink (def) && outputs == 0)
      return fail_unlinked (check, element, TRUE, error);
    if (inputs > 1 && !hr_element_def_joins (def))
      return hr_check_fail (check, element, HR_PARSE_ERROR_LINK, error,
                            "\"%s\" has one input, not %u", label, inputs);
    if (outputs > 1 && def->route == NULL)
      return hr_check_fail (check, element, HR_PARSE_ERROR_LINK, error,
                            "\"%s\" has one output, not %u", label, outputs);
    if (inputs != element->inputs->len || outputs != element->outputs->len)
      return hr_check_fail (check, element, HR_PARSE_ERROR_LINK, error,
                            "a pad of \"%s\" is not linked, though one of a higher number is",
                            label);
  }
  return TRUE;
}

/* ---- circles ---- */

/* an element before it that is in a circle or behind one */
static HrElement *
waited_for (HrElement *element, const guint *waiting)
{
  for (guint pad = 0; pad < element->inputs->len; pad++) {
    HrElement *from = ((HrLink *)g_ptr_array_index (element->inputs, pad))->from;

    if (waiting[from->index] > 0)
      return from;
  }
  g_return_val_if_reached (NULL);
}

static gboolean
fail_circle (HrCheck *check, const guint *waiting, GError **error)
{
  g_autoptr (GString) path = g_string_new (NULL);
  HrElement *element = NULL, *first, *at;

  for (guint i = 0; i < check->n && element == NULL; i++)
    if (waiting[i] > 0)
      element = hr_pipeline_get_nth_element (check->pipeline, i);
  /* each waits for another one, so upstream for long enough there is the circle */
  for (guint i = 0; i < check->n; i++)
    element = waited_for (element, waiting);
  first = element;
  for (at = waited_for (element, waiting); at != element; at = waited_for (at, waiting))
    if (at->index < first->index)
      first = at;
  g_string_append_printf (path, "\"%s\"", hr_element_get_name (first));
  at = first;
  do {
    g_autofree char *step = NULL;

    at = waited_for (at, waiting);
    step = g_strdup_printf ("\"%s\" → ", hr_element_get_name (at));
    g_string_prepend (path, step);
  } while (at != first);
  return hr_check_fail (
      check, first, HR_PARSE_ERROR_LINK, error,
      "the links make a circle: %s\nwhat flows never comes back; take one of these links away",
      path->str);
}

/* sorts the elements, sources first */
static gboolean
check_circles (HrCheck *check, GError **error)
{
  g_autofree guint *waiting =
      g_new0 (guint, check->n + 1); /* inputs whose element is not in order yet */
  guint done = 0;

  for (guint i = 0; i < check->n; i++) {
    HrElement *element = hr_pipeline_get_nth_element (check->pipeline, i);

    waiting[i] = element->inputs->len;
    if (waiting[i] == 0)
      check->order[done++] = element;
  }
  for (guint k = 0; k < done; k++)
    for (guint pad = 0; pad < check->order[k]->outputs->len; pad++) {
      HrElement *to = ((HrLink *)g_ptr_array_index (check->order[k]->outputs, pad))->to;

      if (--waiting[to->index] == 0)
        check->order[done++] = to;
    }
  return done == check->n || fail_circle (check, waiting, error);
}

/* ---- properties ---- */

static gboolean
check_properties (HrCheck *check, HrElement *element, GError **error)
{
  const HrElementDef *def = element->def;
  const char *label = hr_check_label (check, element);
  g_autoptr (GError) wrong = NULL;
  gint code;

  for (const HrProp *prop = def->props; prop != NULL && prop->field != NULL; prop++) {
    g_autofree char *value = NULL;
    const char *name = hr_prop_name (prop);

    if ((prop->flags & HR_PROP_REQUIRED) == 0)
      continue;
    value = hr_prop_get_string (element->self, prop);
    if (value == NULL || *value == '\0')
      return hr_check_fail (check, element, HR_PARSE_ERROR_REQUIRED, error,
                            "\"%s\" needs its property \"%s\"\nwrite %s %s=…   %s: %s", label, name,
                            def->name, name, name, prop->doc);
  }
  if (hr_element_is_auto (element, "workers") && def->parallel == HR_PARALLEL_NO)
    return hr_check_fail (check, element, HR_PARSE_ERROR_CONFLICT, error,
                          "\"%s\" works in one thread, so workers=auto cannot be\nleave workers "
                          "out, or set it on an element that is parallel",
                          label);
  if (hr_live_uint (&element->common.workers) > 1 && def->parallel == HR_PARALLEL_NO)
    return hr_check_fail (check, element, HR_PARSE_ERROR_CONFLICT, error,
                          "\"%s\" works in one thread, so workers=%" G_GUINT64_FORMAT
                          " cannot be\nleave workers out, or set it on an element that is parallel",
                          label, hr_live_uint (&element->common.workers));
  if ((def->check == NULL || def->check (element->self, &wrong))
      && (def->check_place == NULL || def->check_place (element->self, element, &wrong)))
    return TRUE;
  code = wrong != NULL && wrong->domain == HR_PARSE_ERROR ? wrong->code : HR_PARSE_ERROR_CONFLICT;
  return hr_check_fail (check, element, (HrParseError)code, error, "\"%s\": %s", label,
                        wrong != NULL ? wrong->message : "its properties do not go together");
}

static gboolean
check_pullable (HrCheck *check, GError **error)
{
  HrElement *first = NULL;

  for (guint i = 0; i < check->n; i++) {
    HrElement *element = hr_pipeline_get_nth_element (check->pipeline, i);

    if (!element->def->pullable)
      continue;
    if (first != NULL)
      return hr_check_fail (
          check, element, HR_PARSE_ERROR_CONFLICT, error,
          "\"%s\" and \"%s\" would both be pulled\na program pulls from one sink; bring the "
          "chains together with a join, or end one in another sink",
          hr_element_get_name (first), hr_element_get_name (element));
    first = element;
  }
  return TRUE;
}

/* Behind an unordered element samples have new numbers. With a tee there is no one order of samples
 * that both branches could be counted in, and a zip would pair what does not belong together. */
static gboolean
check_unordered (HrCheck *check, GError **error)
{
  g_autofree gboolean *behind_tee = g_new0 (gboolean, check->n + 1);
  g_autofree gboolean *stamps =
      g_new0 (gboolean, check->n + 1); /* it numbers samples, or one below it */
  gboolean branches = FALSE;

  for (guint k = check->n; k > 0; k--) {
    HrElement *element = check->order[k - 1];

    branches |= element->outputs->len > 1;
    stamps[element->index] = element->def->stamps;
    for (guint pad = 0; pad < element->outputs->len; pad++)
      stamps[element->index] |=
          stamps[((HrLink *)g_ptr_array_index (element->outputs, pad))->to->index];
  }
  for (guint k = 0; branches && k < check->n; k++) {
    HrElement *element = check->order[k];
    const HrElementDef *def = element->def;
    guint at = element->index;

    for (guint pad = 0; pad < element->inputs->len; pad++) {
      HrElement *from = ((HrLink *)g_ptr_array_index (element->inputs, pad))->from;

      behind_tee[at] |= behind_tee[from->index] || from->outputs->len > 1;
    }
    if (element->common.ordered || is_source (def) || is_sink (def) || def->group != NULL
        || (def->merge != NULL && def->join != NULL && def->join (element->self) != HR_JOIN_ZIP))
      continue;
    /* blocks of text may come in any order before they are cut into samples, but not in one branch
     * only */
    if (behind_tee[at] || !stamps[at])
      return hr_check_fail (
          check, element, HR_PARSE_ERROR_CONFLICT, error,
          "\"%s\" with ordered=false in a pipeline with a tee: its branches would not hold the "
          "same samples\nleave ordered=false out",
          hr_check_label (check, element));
  }
  return TRUE;
}

/* How many rows a block makes is known when it is packed: behind it nothing can be calculated with
 * numbers, and no two streams have equal ones. */
static gboolean
check_rows (HrCheck *check, GError **error)
{
  g_autofree HrElement **packers = g_new0 (HrElement *, check->n + 1);

  for (guint k = 0; k < check->n; k++) {
    HrElement *element = check->order[k];
    const HrElementDef *def = element->def;
    const char *label = hr_check_label (check, element);
    guint at = element->index;

    for (guint pad = 0; pad < element->inputs->len && packers[at] == NULL; pad++)
      packers[at] = packers[((HrLink *)g_ptr_array_index (element->inputs, pad))->from->index];
    if (packers[at] != NULL && (def->group != NULL || def->merge != NULL))
      return hr_check_fail (check, element, HR_PARSE_ERROR_CONFLICT, error,
                            "\"%s\" cannot stand behind the packed rows of \"%s\": they have no "
                            "numbers by which it could put them together\nput it before \"%s\"",
                            label, hr_check_label (check, packers[at]),
                            hr_check_label (check, packers[at]));
    if (packers[at] != NULL && !element->common.ordered && !is_sink (def))
      return hr_check_fail (
          check, element, HR_PARSE_ERROR_CONFLICT, error,
          "\"%s\" with ordered=false behind the packed rows of \"%s\": they would "
          "have no position any more\nleave ordered=false out",
          label, hr_check_label (check, packers[at]));
    if (def->block != NULL && def->block (element->self) > 0)
      packers[at] = element;
  }
  return TRUE;
}

/* what a mix says of all its members, and what only they can say */
static gboolean
check_member (HrCheck *check, HrElement *source, gboolean mixed, GError **error)
{
  static const char *const ours[] = { "weight", "repeat" };

  if (mixed && hr_element_is_set (source, "epochs"))
    return hr_check_fail (
        check, source, HR_PARSE_ERROR_CONFLICT, error,
        "\"%s\": epochs are the mix's\nset epochs there; repeat=false here gives a "
        "member once in each of them",
        hr_check_label (check, source));
  for (guint i = 0; !mixed && i < G_N_ELEMENTS (ours); i++)
    if (hr_element_is_set (source, ours[i]))
      return hr_check_fail (check, source, HR_PARSE_ERROR_CONFLICT, error,
                            "\"%s\": %s is for members of a mix, and it is none\nlink it to one: "
                            "mix name=m ! … %s … ! m.",
                            hr_check_label (check, source), ours[i], source->def->name);
  return TRUE;
}

static gboolean
check_mixes (HrCheck *check, GError **error)
{
  for (guint k = 0; k < check->n; k++) {
    HrElement *element = check->order[k];
    const HrElement *to =
        element->outputs->len > 0 ? ((HrLink *)g_ptr_array_index (element->outputs, 0))->to : NULL;

    for (guint pad = 0; element->def->mixes != NULL && pad < element->inputs->len; pad++) {
      HrElement *from = ((HrLink *)g_ptr_array_index (element->inputs, pad))->from;

      if (!from->def->plans)
        return hr_check_fail (
            check, from, HR_PARSE_ERROR_LINK, error,
            "\"%s\" cannot be a member of \"%s\": the order of what it gives is "
            "not known beforehand\nmembers are sources of lines (filesrc, s3src), "
            "linked to the mix without anything between",
            hr_check_label (check, from), hr_check_label (check, element));
    }
    if (element->def->plans
        && !check_member (check, element, to != NULL && to->def->mixes != NULL, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
check_all (HrCheck *check, GError **error)
{
  if (!check_pads (check, error) || !check_circles (check, error))
    return FALSE;
  for (guint i = 0; i < check->n; i++)
    if (!check_properties (check, hr_pipeline_get_nth_element (check->pipeline, i), error))
      return FALSE;
  return check_mixes (check, error) && check_pullable (check, error)
         && check_unordered (check, error) && check_rows (check, error)
         && hr_check_fields (check, error);
}

gboolean
hr_pipeline_check (HrPipeline *pipeline, HrElement **culprit, GError **error)
{
  guint n = hr_pipeline_get_n_elements (pipeline);
  g_autofree HrElement **order = g_new0 (HrElement *, n + 1);
  HrCheck check = { pipeline, n, order, NULL };
  gboolean good = check_all (&check, error);

  if (culprit != NULL)
    *culprit = check.culprit;
  return good;
}
